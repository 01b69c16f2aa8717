"""Further shapes of cabinets, shelves and baskets."""

from nav_eval.records.geometry import Vec3
from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    SupportSurface,
    make_four_legs,
    make_parts,
    make_piece,
    make_splayed_legs,
    make_top_surface,
    register_shape,
)
from nav_eval_worlds.materials import Finish, make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_box_pair,
    make_cylinder,
    make_lathe,
)


def choose_boards(draw: RandomStream) -> Finish:
    return make_finish(draw.choose_weighted([("wood", 0.65), ("lacquer", 0.35)]), draw)


def make_knob(at: Vec3) -> SolidMesh:
    return make_cylinder(0.013, 0.024, sides=8).tilt(90).translate(at)


def make_shell(size: Vec3, *, lift: float = 0.0, shelves: tuple[float, ...] = ()) -> list[SolidMesh]:
    """An open box with a back; shelves at the given heights."""
    width, height, depth = size
    return [
        *make_box_pair((0.02, height - lift, depth), (width / 2 - 0.01, lift, 0)),
        make_box((width, 0.022, depth), (0, height - 0.022, 0)),
        make_box((width - 0.04, 0.022, depth), (0, lift, 0)),
        make_box((width - 0.04, height - lift - 0.02, 0.01), (0, lift + 0.01, -depth / 2 + 0.005)),
        *(make_box((width - 0.04, 0.02, depth - 0.02), (0, y, 0.01)) for y in shelves),
    ]


def _make_low_cabinet(draw: RandomStream, category: str, size: Vec3, *, shape: str, surface: str) -> Piece:
    """Sideboards and television stands."""
    width, height, depth = size
    body = choose_boards(draw)
    front = body if draw.chance(0.7) else make_finish("lacquer", draw)
    finishes = {
        BODY: body,
        "front": front,
        "handles": make_finish(draw.choice(("metal", "brass")), draw),
        "legs": make_finish(draw.choice(("wood", "metal")), draw),
    }
    surfaces = [make_top_surface(size, surface, margin=0.03)]
    leg = min(0.16, height * 0.3)
    if shape == "open":
        third = width / 3
        made = make_parts(
            BODY,
            *make_shell(size, lift=0.06),
            *make_box_pair((0.02, height - 0.1, depth - 0.02), (third / 2, 0.07, 0)),
            make_box((width - 0.06, 0.06, depth - 0.06)),
        )
        made += make_parts(
            "front", *make_box_pair((third - 0.02, height - 0.1, 0.018), (third, 0.075, depth / 2 - 0.01))
        )
        made += make_parts("handles", *(make_knob((s * (third / 2 + 0.06), height * 0.6, depth / 2)) for s in (-1, 1)))
        inner = SupportSurface(
            x=(-third / 2 + 0.02, third / 2 - 0.02),
            z=(-depth / 2 + 0.03, depth / 2 - 0.04),
            y=0.082,
            kind="books",
            headroom=height - 0.13,
        )
        surfaces.append(inner)
    elif shape == "legged":
        made = make_parts(BODY, make_box((width, height - leg, depth - 0.02), (0, leg, -0.01)))
        doors = max(2, round(width / 0.48))
        for n in range(doors):
            x = -width / 2 + width * (n + 0.5) / doors
            made += make_parts(
                "front",
                make_box((width / doors - 0.014, height - leg - 0.03, 0.018), (x, leg + 0.015, depth / 2 - 0.01)),
            )
        made += make_parts("legs", *make_splayed_legs(width - 0.06, depth - 0.04, leg, 0.018))
    else:
        made = make_parts(
            BODY,
            make_box((width, height - 0.05, depth - 0.02), (0, 0.05, -0.01)),
            make_box((width - 0.06, 0.05, depth - 0.08)),
        )
        columns = max(2, round(width / 0.55))
        for column in range(columns):
            for row in range(2):
                x, tall = -width / 2 + width * (column + 0.5) / columns, (height - 0.07) / 2
                made += make_parts(
                    "front",
                    make_box((width / columns - 0.012, tall - 0.012, 0.018), (x, 0.06 + row * tall, depth / 2 - 0.01)),
                )
                made += make_parts(
                    "handles", make_box((0.12, 0.012, 0.02), (x, 0.06 + (row + 0.8) * tall, depth / 2 + 0.008))
                )
    return make_piece(category, made, finishes, surfaces=surfaces, clearance=0.45)


@register_shape("sideboard", "open")
def make_open_sideboard(draw: RandomStream) -> Piece:
    return _make_low_cabinet(
        draw,
        "cabinet",
        (draw.between(1.2, 1.6), draw.between(0.74, 0.84), draw.between(0.4, 0.45)),
        shape="open",
        surface="console",
    )


@register_shape("sideboard", "legged")
def make_legged_sideboard(draw: RandomStream) -> Piece:
    return _make_low_cabinet(
        draw,
        "cabinet",
        (draw.between(1.2, 1.7), draw.between(0.72, 0.82), draw.between(0.4, 0.45)),
        shape="legged",
        surface="console",
    )


@register_shape("sideboard", "drawers")
def make_drawer_sideboard(draw: RandomStream) -> Piece:
    return _make_low_cabinet(
        draw,
        "cabinet",
        (draw.between(1.1, 1.5), draw.between(0.74, 0.86), draw.between(0.4, 0.45)),
        shape="drawers",
        surface="console",
    )


@register_shape("tv_stand", "open")
def make_open_tv_stand(draw: RandomStream) -> Piece:
    return _make_low_cabinet(
        draw,
        "tv stand",
        (draw.between(1.3, 1.8), draw.between(0.42, 0.52), draw.between(0.38, 0.44)),
        shape="open",
        surface="tv",
    )


@register_shape("tv_stand", "legged")
def make_legged_tv_stand(draw: RandomStream) -> Piece:
    return _make_low_cabinet(
        draw,
        "tv stand",
        (draw.between(1.3, 1.8), draw.between(0.45, 0.54), draw.between(0.38, 0.44)),
        shape="legged",
        surface="tv",
    )


@register_shape("tv_stand", "drawers")
def make_drawer_tv_stand(draw: RandomStream) -> Piece:
    return _make_low_cabinet(
        draw,
        "tv stand",
        (draw.between(1.3, 1.7), draw.between(0.42, 0.5), draw.between(0.4, 0.44)),
        shape="drawers",
        surface="tv",
    )


@register_shape("tall_cabinet", "vitrine")
def make_vitrine(draw: RandomStream) -> Piece:
    """Glass doors over shelves with dishes."""
    width, depth, height = draw.between(0.7, 0.9), draw.between(0.36, 0.42), draw.between(1.65, 1.9)
    step = (height - 0.14) / 4
    made = make_parts(
        BODY,
        *make_shell((width, height, depth - 0.02), lift=0.08, shelves=tuple(0.1 + step * n for n in (1, 2, 3))),
        *make_four_legs(width, depth - 0.02, 0.08, 0.05),
    )
    for side in (-1, 1):
        x, each = side * width / 4, width / 2 - 0.008
        made += make_parts("glass", make_box((each - 0.06, height - 0.2, 0.006), (x, 0.14, depth / 2 - 0.012)))
        made += make_parts(
            BODY,
            *(
                make_box((0.035, height - 0.12, 0.02), (x + s * (each / 2 - 0.0175), 0.09, depth / 2 - 0.01))
                for s in (-1, 1)
            ),
            *(make_box((each - 0.07, 0.035, 0.02), (x, y, depth / 2 - 0.01)) for y in (0.09, height - 0.065)),
        )
        made += make_parts("handles", make_knob((side * 0.04, height * 0.5, depth / 2 + 0.005)))
    surfaces = [
        SupportSurface(
            x=(-width / 2 + 0.05, width / 2 - 0.05),
            z=(-depth / 2 + 0.04, depth / 2 - 0.06),
            y=0.12 + step * n,
            kind="dishes",
            headroom=step - 0.06,
        )
        for n in (1, 2, 3)
    ]
    return make_piece(
        "cabinet",
        made,
        make_finishes(draw, body=("wood", "lacquer"), glass="glass", handles=("brass", "metal")),
        surfaces=surfaces,
        clearance=0.5,
    )


@register_shape("tall_cabinet", "mixed")
def make_mixed_cabinet(draw: RandomStream) -> Piece:
    """Doors below, open shelves above."""
    width, depth, height = draw.between(0.8, 1.0), draw.between(0.36, 0.42), draw.between(1.75, 1.95)
    step = (height - 0.8) / 3
    made = make_parts(
        BODY,
        *make_shell((width, height, depth), lift=0.0, shelves=tuple(0.74 + step * n for n in range(3))),
        make_box((width - 0.04, 0.72, depth - 0.04), (0, 0.02, -0.01)),
    )
    made += make_parts(
        "front", *make_box_pair((width / 2 - 0.03, 0.68, 0.018), (width / 4 - 0.005, 0.04, depth / 2 - 0.01))
    )
    made += make_parts("handles", *(make_knob((s * 0.05, 0.5, depth / 2)) for s in (-1, 1)))
    surfaces = [
        make_top_surface((width, height, depth), "books", y=0.76 + step * n, margin=(0.04, 0.03), headroom=step - 0.05)
        for n in range(3)
    ]
    body = choose_boards(draw)
    return make_piece(
        "cabinet",
        made,
        {BODY: body, "front": body, "handles": make_finish("metal", draw)},
        surfaces=surfaces,
        clearance=0.5,
    )


@register_shape("bookshelf", "ladder")
def make_ladder_bookcase(draw: RandomStream) -> Piece:
    """Boards between two frames of metal."""
    width, height, depth, count = draw.between(0.7, 0.95), draw.between(1.6, 1.9), draw.between(0.3, 0.35), 5
    made = make_parts("frame", *make_four_legs(width, depth, height, 0.022))
    step = (height - 0.1) / count
    levels = [0.08 + step * n for n in range(count)] + [height - 0.02]
    made += make_parts(BODY, *(make_box((width - 0.004, 0.02, depth - 0.004), (0, y, 0)) for y in levels))
    made += make_parts(
        "frame", *(make_box((width - 0.04, 0.015, 0.015), (0, y + 0.08, -depth / 2 + 0.011)) for y in levels[:-1])
    )
    surfaces = [
        make_top_surface((width, height, depth), "books", y=y + 0.02, margin=(0.035, 0.03), headroom=step - 0.05)
        for y in levels[:-1]
    ]
    return make_piece(
        "bookshelf",
        made,
        make_finishes(draw, body="wood", frame={"metal": ("black", "grey")}),
        surfaces=surfaces,
        clearance=0.45,
    )


@register_shape("bookshelf", "cubes")
def make_cube_bookcase(draw: RandomStream) -> Piece:
    """A grid of square compartments."""
    cell, depth, columns, rows = (
        draw.between(0.34, 0.37),
        draw.between(0.34, 0.38),
        draw.integer(2, 3),
        draw.integer(4, 5),
    )
    width, height = columns * cell + 0.03, rows * cell + 0.03
    made = make_parts(
        BODY,
        *make_shell((width, height, depth), shelves=tuple(cell * n for n in range(1, rows))),
        *(
            make_box((0.018, height - 0.03, depth - 0.01), (-width / 2 + 0.015 + cell * n, 0.01, 0))
            for n in range(1, columns)
        ),
    )
    surfaces = [
        SupportSurface(
            x=(-width / 2 + 0.03 + cell * c, -width / 2 + cell * (c + 1)),
            z=(-depth / 2 + 0.02, depth / 2 - 0.03),
            y=round(max(0.022, cell * r + 0.02), 4),
            kind="books" if draw.chance(0.6) else "display",
            headroom=cell - 0.06,
        )
        for c in range(columns)
        for r in range(rows)
    ]
    return make_piece(
        "bookshelf",
        made,
        {BODY: make_finish(draw.choice(("lacquer", "wood")), draw)},
        surfaces=surfaces,
        clearance=0.45,
    )


@register_shape("bookshelf", "framed")
def make_framed_bookshelf(draw: RandomStream) -> Piece:
    """A cornice, a plinth, and drawers at the foot."""
    width, height, depth = draw.between(0.8, 1.0), draw.between(1.8, 2.1), draw.between(0.3, 0.36)
    step = (height - 0.52) / 4
    made = make_parts(
        BODY,
        *make_shell((width - 0.04, height - 0.04, depth - 0.03), shelves=tuple(0.42 + step * n for n in range(4))),
        make_box((width, 0.05, depth), (0, height - 0.05, 0)),
        make_box((width - 0.02, 0.08, depth - 0.01)),
        make_box((width - 0.08, 0.38, depth - 0.06), (0, 0.04, -0.01)),
    )
    made += make_parts(
        "front", *make_box_pair((width / 2 - 0.06, 0.28, 0.016), (width / 4 - 0.01, 0.1, depth / 2 - 0.03))
    )
    made += make_parts("handles", *(make_knob((s * width / 4, 0.24, depth / 2 - 0.02)) for s in (-1, 1)))
    surfaces = [
        make_top_surface(
            (width - 0.04, height, depth - 0.03), "books", y=0.44 + step * n, margin=(0.04, 0.03), headroom=step - 0.06
        )
        for n in range(4)
    ]
    body = choose_boards(draw)
    return make_piece(
        "bookshelf",
        made,
        {BODY: body, "front": body, "handles": make_finish("brass", draw)},
        surfaces=surfaces,
        clearance=0.45,
    )


@register_shape("basket", "square")
def make_square_basket(draw: RandomStream) -> Piece:
    """A laundry hamper with a lid."""
    side, height = draw.between(0.36, 0.42), draw.between(0.5, 0.6)
    made = make_parts(BODY, make_box((side, height - 0.04, side))) + make_parts(
        "lid", make_box((side + 0.02, 0.04, side + 0.02), (0, height - 0.04, 0))
    )
    body = make_finish(draw.choice(("wicker", "linen")), draw)
    return make_piece("basket", made, {BODY: body, "lid": body}, rule=PlacementRule.MIDDLE)


@register_shape("basket", "rope")
def make_rope_basket(draw: RandomStream) -> Piece:
    """Soft rings of rope with a blanket in it."""
    radius, height = draw.between(0.18, 0.23), draw.between(0.3, 0.4)
    profile = [
        (0.0, 0.0),
        (radius * 0.9, 0.0),
        (radius, height * 0.4),
        (radius * 0.94, height),
        (radius * 0.86, height),
        (radius * 0.86, height - 0.06),
        (0, height - 0.06),
    ]
    made: list[SolidPart] = make_parts(BODY, make_lathe(profile, sides=18))
    made += make_parts(
        "blanket",
        make_lathe(
            [(radius * 0.84, height - 0.06), (radius * 0.5, height + 0.03), (0, height + 0.05)], sides=10, smooth=True
        ),
    )
    return make_piece("basket", made, make_finishes(draw, body="fabric", blanket="cloth"), rule=PlacementRule.MIDDLE)
