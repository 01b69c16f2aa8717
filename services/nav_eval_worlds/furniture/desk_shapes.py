"""Further shapes of desks, nightstands and consoles."""

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
from nav_eval_worlds.furniture.table_shapes import make_round_surface
from nav_eval_worlds.materials import make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    make_box,
    make_box_pair,
    make_cylinder,
    make_rod,
    make_rounded_box,
)


@register_shape("desk", "trestle")
def make_trestle_desk(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(1.2, 1.6), draw.between(0.6, 0.7), draw.between(0.72, 0.76)
    made = make_parts(BODY, make_box((width, 0.03, depth), (0, height - 0.03, 0)))
    for side in (-1, 1):
        x = side * (width / 2 - 0.2)
        made += make_parts(
            "legs",
            *(
                make_rod((x + dx, 0, z * (depth / 2 - 0.06)), (x, height - 0.03, z * (depth / 2 - 0.12)), 0.016)
                for dx in (-0.14, 0.14)
                for z in (-1, 1)
            ),
            make_box((0.05, 0.04, depth - 0.12), (x, height - 0.07, 0)),
        )
    return make_piece(
        "desk",
        made,
        make_finishes(draw, body=("wood", "lacquer"), legs=("wood", "metal")),
        surfaces=[make_top_surface((width, height, depth), "desk")],
        clearance=0.6,
    )


@register_shape("desk", "standing")
def make_standing_desk(draw: RandomStream) -> Piece:
    """T-shaped legs that could be raised."""
    width, depth, height = draw.between(1.2, 1.6), draw.between(0.65, 0.75), draw.between(0.72, 0.78)
    made = make_parts(BODY, make_rounded_box((width, 0.03, depth), 0.008, (0, height - 0.03, 0)))
    for side in (-1, 1):
        x = side * (width / 2 - 0.25)
        made += make_parts(
            "legs",
            make_box((0.07, 0.03, depth - 0.1), (x, 0, 0)),
            make_box((0.06, height - 0.06, 0.09), (x, 0.03, -0.05)),
            make_box((0.05, 0.03, depth - 0.2), (x, height - 0.06, 0)),
        )
    made += make_parts("legs", make_box((width - 0.56, 0.06, 0.03), (0, height - 0.1, -0.05)))
    return make_piece(
        "desk",
        made,
        make_finishes(draw, body=("wood", "lacquer"), legs={"metal": ("black", "light grey")}),
        surfaces=[make_top_surface((width, height, depth), "desk")],
        clearance=0.6,
    )


@register_shape("desk", "pedestals")
def make_pedestal_desk(draw: RandomStream) -> Piece:
    """Drawers on both sides of the knees."""
    width, depth, height = draw.between(1.3, 1.6), draw.between(0.62, 0.7), draw.between(0.74, 0.77)
    made = make_parts(
        BODY,
        make_box((width, 0.035, depth), (0, height - 0.035, 0)),
        *make_box_pair((0.38, height - 0.035, depth - 0.04), (width / 2 - 0.21, 0, 0)),
        make_box((width - 0.8, height * 0.5, 0.02), (0, height * 0.42, -depth / 2 + 0.05)),
    )
    for side in (-1, 1):
        for n in range(3):
            y = 0.07 + n * (height - 0.12) / 3
            made += make_parts(
                "front",
                make_box((0.35, (height - 0.14) / 3 - 0.015, 0.016), (side * (width / 2 - 0.21), y, depth / 2 - 0.02)),
            )
            made += make_parts(
                "handles", make_box((0.09, 0.014, 0.02), (side * (width / 2 - 0.21), y + 0.1, depth / 2 - 0.006))
            )
    body = make_finish("wood", draw)
    return make_piece(
        "desk",
        made,
        {BODY: body, "front": body, "handles": make_finish("brass", draw)},
        surfaces=[make_top_surface((width, height, depth), "desk")],
        clearance=0.6,
    )


def _make_stand(draw: RandomStream, shape: str) -> Piece:
    width, depth, height = draw.between(0.38, 0.48), draw.between(0.35, 0.42), draw.between(0.45, 0.56)
    body = make_finish(draw.choose_weighted([("wood", 0.7), ("lacquer", 0.3)]), draw)
    finishes = {BODY: body, "front": body, "handles": make_finish(draw.choice(("chrome", "brass")), draw), "legs": body}
    size = (width, height, depth)
    surfaces = [make_top_surface(size, "nightstand", margin=0.02)]
    if shape == "open":
        made = make_parts(
            BODY,
            make_box((width, 0.02, depth), (0, height - 0.02, 0)),
            make_box((width, 0.02, depth), (0, 0.1, 0)),
            *make_box_pair((0.02, height - 0.1, depth), (width / 2 - 0.01, 0.1, 0)),
            make_box((width - 0.04, height - 0.12, 0.012), (0, 0.11, -depth / 2 + 0.01)),
        )
        made += make_parts("legs", *make_four_legs(width, depth, 0.1, 0.035))
        surfaces.append(make_top_surface(size, "magazines", y=0.12, margin=0.04, headroom=height - 0.18))
    elif shape == "legged":
        made = make_parts(BODY, make_box((width, 0.2, depth), (0, height - 0.2, 0)))
        made += make_parts("front", make_box((width - 0.03, 0.15, 0.014), (0, height - 0.175, depth / 2)))
        made += make_parts(
            "handles", make_cylinder(0.012, 0.022, sides=8).tilt(90).translate((0, height - 0.1, depth / 2 + 0.006))
        )
        made += make_parts("legs", *make_splayed_legs(width, depth, height - 0.2, 0.016))
    else:
        radius = min(width, depth) / 2
        made = make_parts(BODY, make_cylinder(radius, height, sides=22))
        made += make_parts("handles", make_box((0.01, 0.12, 0.02), (0, height * 0.5, radius - 0.004)))
        surfaces = [make_round_surface(radius, height, "nightstand")]
    return make_piece("nightstand", made, finishes, surfaces=surfaces)


@register_shape("nightstand", "open")
def make_open_nightstand(draw: RandomStream) -> Piece:
    return _make_stand(draw, "open")


@register_shape("nightstand", "legged")
def make_legged_nightstand(draw: RandomStream) -> Piece:
    return _make_stand(draw, "legged")


@register_shape("nightstand", "round")
def make_round_nightstand(draw: RandomStream) -> Piece:
    return _make_stand(draw, "round")


@register_shape("console_table", "metal")
def make_metal_console(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(0.8, 1.15), draw.between(0.28, 0.33), draw.between(0.76, 0.84)
    size = (width, height, depth)
    made = make_parts(
        BODY,
        make_box((width, 0.03, depth), (0, height - 0.03, 0)),
        make_box((width - 0.04, 0.02, depth - 0.02), (0, 0.16, 0)),
    )
    made += make_parts("legs", *make_four_legs(width, depth, height - 0.03, 0.025))
    surfaces = [
        make_top_surface(size, "console", margin=0.03),
        make_top_surface(size, "storage", y=0.18, margin=0.05, headroom=0.4),
    ]
    return make_piece(
        "console table", made, make_finishes(draw, body="wood", legs={"metal": ("black", "grey")}), surfaces=surfaces
    )


@register_shape("console_table", "half round")
def make_half_round_console(draw: RandomStream) -> Piece:
    width, height = draw.between(0.8, 1.0), draw.between(0.76, 0.82)
    depth = width * 0.36
    made = make_parts(
        BODY,
        make_box((width, 0.03, depth * 0.5), (0, height - 0.03, -depth * 0.25)),
        make_box((width * 0.66, 0.03, depth * 0.5), (0, height - 0.03, depth * 0.25)),
    )
    made += make_parts("legs", *make_splayed_legs(width * 0.8, depth * 0.9, height - 0.03, 0.016))
    surface = SupportSurface(x=(-width * 0.3, width * 0.3), z=(-depth * 0.45, depth * 0.42), y=height, kind="console")
    wood = make_finish("wood", draw)
    return make_piece("console table", made, {BODY: wood, "legs": wood}, surfaces=[surface])
