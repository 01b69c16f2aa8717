"""Further shapes of wardrobes and chests of drawers."""

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    SupportSurface,
    make_four_legs,
    make_parts,
    make_piece,
    make_splayed_legs,
    make_top_surface,
    register_shape,
)
from nav_eval_worlds.furniture.storage_shapes import choose_boards, make_knob, make_shell
from nav_eval_worlds.materials import make_finish
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    make_box,
    make_cylinder,
    make_picture,
    make_rod,
)


@register_shape("wardrobe", "sliding")
def make_sliding_wardrobe(draw: RandomStream) -> Piece:
    """Two sliding doors, one of them a mirror."""
    width, depth, height = draw.between(1.3, 1.8), draw.between(0.58, 0.64), draw.between(2.0, 2.25)
    made = make_parts(BODY, make_box((width, height, depth - 0.06), (0, 0, -0.03)))
    each = width / 2 + 0.02
    made += make_parts("front", make_box((each, height - 0.08, 0.02), (-width / 4 + 0.01, 0.04, depth / 2 - 0.05)))
    made += make_parts("front", make_box((each, height - 0.08, 0.02), (width / 4 - 0.01, 0.04, depth / 2 - 0.025)))
    made += make_parts("glass", make_picture(each - 0.06, height - 0.16, (width / 4 - 0.01, 0.08, depth / 2 - 0.012)))
    made += make_parts(
        "handles",
        *(
            make_box((0.02, height - 0.1, 0.02), (x, 0.05, depth / 2 - 0.012))
            for x in (-width / 2 + 0.02, width / 2 - 0.02)
        ),
    )
    body = choose_boards(draw)
    return make_piece(
        "wardrobe",
        made,
        {BODY: body, "front": body, "glass": make_finish("mirror", draw), "handles": make_finish("metal", draw)},
        clearance=0.6,
    )


@register_shape("wardrobe", "armoire")
def make_armoire(draw: RandomStream) -> Piece:
    """Two framed doors over drawers, feet and a cornice."""
    width, depth, height = draw.between(1.0, 1.3), draw.between(0.55, 0.62), draw.between(1.9, 2.15)
    made = make_parts(
        BODY,
        make_box((width - 0.06, height - 0.2, depth - 0.04), (0, 0.12, -0.02)),
        make_box((width, 0.08, depth), (0, height - 0.08, 0)),
        make_box((width - 0.02, 0.04, depth - 0.02), (0, 0.1, 0)),
        *make_four_legs(width - 0.06, depth - 0.06, 0.12, 0.07),
    )
    for side in (-1, 1):
        x, each = side * (width - 0.06) / 4, (width - 0.06) / 2 - 0.012
        made += make_parts(
            "front",
            make_box((each, height - 0.62, 0.018), (x, 0.5, depth / 2 - 0.045)),
            *(
                make_box((0.06, height - 0.62, 0.014), (x + s * (each / 2 - 0.03), 0.5, depth / 2 - 0.03))
                for s in (-1, 1)
            ),
            *(
                make_box((each - 0.12, 0.06, 0.014), (x, y, depth / 2 - 0.03))
                for y in (0.5, 0.5 + (height - 0.62) / 2, height - 0.18)
            ),
        )
        made += make_parts("front", make_box((each, 0.28, 0.018), (x, 0.17, depth / 2 - 0.045)))
        made += make_parts(
            "handles",
            make_knob((side * 0.05, height * 0.5, depth / 2 - 0.03)),
            make_knob((x, 0.31, depth / 2 - 0.04)),
        )
    body = make_finish("wood", draw)
    return make_piece(
        "wardrobe", made, {BODY: body, "front": body, "handles": make_finish("brass", draw)}, clearance=0.6
    )


@register_shape("wardrobe", "open")
def make_open_wardrobe(draw: RandomStream) -> Piece:
    """Shelves and a rail with clothes, one door."""
    width, depth, height = draw.between(1.1, 1.4), draw.between(0.52, 0.58), draw.between(1.95, 2.15)
    half = width / 2
    made = make_parts(
        BODY,
        *make_shell((width, height, depth), lift=0.06, shelves=(0.36,)),
        make_box((0.02, height - 0.08, depth - 0.02), (0, 0.06, 0)),
        make_box((width - 0.02, 0.06, depth - 0.06)),
    )
    made += make_parts("front", make_box((half - 0.01, height - 0.08, 0.018), (-half / 2, 0.07, depth / 2 - 0.005)))
    made += make_parts("handles", make_box((0.018, 0.2, 0.02), (-0.06, height * 0.5, depth / 2 + 0.01)))
    made += make_parts("rail", make_rod((0.01, height - 0.14, 0), (half - 0.02, height - 0.14, 0), 0.012))
    count = draw.integer(5, 8)
    for n in range(count):
        x = 0.05 + (half - 0.1) * (n + 0.5) / count
        long = draw.uniform(0.75, 1.1)
        made += make_parts(f"clothes {n % 4}", make_box((0.035, long, 0.4), (x, height - 0.16 - long, 0)))
    body = choose_boards(draw)
    shelf = SupportSurface(
        x=(0.06, half - 0.06), z=(-depth / 2 + 0.05, depth / 2 - 0.05), y=0.082, kind="shoes", headroom=0.25
    )
    finishes = {
        BODY: body,
        "front": body,
        "handles": make_finish("metal", draw),
        "rail": make_finish("metal", draw),
        **{f"clothes {n}": make_finish("cloth", draw) for n in range(4)},
    }
    return make_piece("wardrobe", made, finishes, surfaces=[shelf], clearance=0.6)


@register_shape("narrow_wardrobe", "louvred")
def make_louvred_wardrobe(draw: RandomStream) -> Piece:
    """Doors of slats."""
    width, depth, height = draw.between(0.75, 0.9), draw.between(0.52, 0.58), draw.between(1.9, 2.1)
    made = make_parts(BODY, make_box((width, height, depth - 0.03), (0, 0, -0.015)))
    for side in (-1, 1):
        x, each = side * width / 4, width / 2 - 0.012
        made += make_parts(
            "front",
            *(
                make_box((0.05, height - 0.12, 0.02), (x + s * (each / 2 - 0.025), 0.07, depth / 2 - 0.01))
                for s in (-1, 1)
            ),
        )
        slats = 14
        made += make_parts(
            "front",
            *(
                make_box((each - 0.1, 0.05, 0.012), (x, 0.09 + n * (height - 0.2) / slats, depth / 2 - 0.012))
                for n in range(slats)
            ),
        )
        made += make_parts("handles", make_knob((side * 0.04, height * 0.5, depth / 2 + 0.0)))
    body = choose_boards(draw)
    return make_piece(
        "wardrobe", made, {BODY: body, "front": body, "handles": make_finish("metal", draw)}, clearance=0.6
    )


@register_shape("dresser", "legged")
def make_legged_dresser(draw: RandomStream) -> Piece:
    """Drawers without handles on splayed legs."""
    width, depth, height = draw.between(0.9, 1.3), draw.between(0.42, 0.5), draw.between(0.78, 0.92)
    made = make_parts(BODY, make_box((width, height - 0.2, depth - 0.02), (0, 0.2, -0.01)))
    for column in range(2):
        for row in range(3):
            x, tall = (column - 0.5) * width / 2, (height - 0.24) / 3
            made += make_parts(
                "front", make_box((width / 2 - 0.03, tall - 0.022, 0.018), (x, 0.22 + row * tall, depth / 2 - 0.01))
            )
    made += make_parts("legs", *make_splayed_legs(width - 0.06, depth - 0.04, 0.2, 0.02))
    body = make_finish("wood", draw)
    front = body if draw.chance(0.6) else make_finish("lacquer", draw)
    return make_piece(
        "dresser",
        made,
        {BODY: body, "front": front, "legs": body},
        surfaces=[make_top_surface((width, height, depth), "dresser", margin=0.03)],
        clearance=0.45,
    )


@register_shape("dresser", "tall")
def make_tall_dresser(draw: RandomStream) -> Piece:
    """A narrow chest of five or six drawers."""
    width, depth, height, rows = (
        draw.between(0.5, 0.66),
        draw.between(0.4, 0.46),
        draw.between(1.08, 1.25),
        draw.integer(5, 6),
    )
    made = make_parts(BODY, make_box((width, height, depth - 0.02), (0, 0, -0.01)))
    tall = (height - 0.1) / rows
    for row in range(rows):
        made += make_parts(
            "front", make_box((width - 0.03, tall - 0.015, 0.018), (0, 0.06 + row * tall, depth / 2 - 0.01))
        )
        made += make_parts(
            "handles",
            *(make_knob((x, 0.06 + (row + 0.5) * tall, depth / 2 + 0.0)) for x in (-width * 0.25, width * 0.25)),
        )
    body = choose_boards(draw)
    return make_piece(
        "dresser",
        made,
        {BODY: body, "front": body, "handles": make_finish(draw.choice(("brass", "metal")), draw)},
        surfaces=[make_top_surface((width, height, depth), "dresser", margin=0.03)],
        clearance=0.45,
    )


@register_shape("dresser", "framed")
def make_framed_dresser(draw: RandomStream) -> Piece:
    """Two short drawers over two long ones, a rim on top, turned feet."""
    width, depth, height = draw.between(0.85, 1.1), draw.between(0.44, 0.5), draw.between(0.8, 0.92)
    made = make_parts(
        BODY,
        make_box((width - 0.04, height - 0.13, depth - 0.04), (0, 0.1, -0.01)),
        make_box((width, 0.03, depth), (0, height - 0.03, 0)),
    )
    made += make_parts(
        "legs",
        *(
            make_cylinder(0.025, 0.1, (sx * (width / 2 - 0.06), 0, sz * (depth / 2 - 0.07)), top=0.04, sides=10)
            for sx in (-1, 1)
            for sz in (-1, 1)
        ),
    )
    tall = (height - 0.15) / 3
    fields = [
        (0.0, 0.11, width - 0.08),
        (0.0, 0.11 + tall, width - 0.08),
        (-width / 4 + 0.015, 0.11 + 2 * tall, width / 2 - 0.07),
        (width / 4 - 0.015, 0.11 + 2 * tall, width / 2 - 0.07),
    ]
    for x, y, wide in fields:
        made += make_parts("front", make_box((wide, tall - 0.02, 0.02), (x, y, depth / 2 - 0.03)))
        made += make_parts(
            "handles",
            *(
                make_knob((x + s * wide * 0.3, y + tall / 2, depth / 2 - 0.015))
                for s in ((-1, 1) if wide > 0.5 else (0,))
            ),
        )
    body = choose_boards(draw)
    return make_piece(
        "dresser",
        made,
        {BODY: body, "front": body, "legs": body, "handles": make_finish("brass", draw)},
        surfaces=[make_top_surface((width, height, depth), "dresser", margin=0.03)],
        clearance=0.45,
    )
