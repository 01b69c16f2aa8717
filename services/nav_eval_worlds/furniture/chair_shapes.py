"""Further shapes of chairs, office chairs and stools."""

import itertools

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    make_four_legs,
    make_parts,
    make_piece,
    make_splayed_legs,
    register_shape,
)
from nav_eval_worlds.furniture.seat_shapes import choose_cover, choose_frame
from nav_eval_worlds.materials import make_finish
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_box_pair,
    make_cylinder,
    make_lathe,
    make_rod,
    make_rounded_box,
)


@register_shape("chair", "shell")
def make_shell_chair(draw: RandomStream) -> Piece:
    """A moulded seat on thin legs."""
    width, seat, height = draw.between(0.44, 0.48), draw.between(0.43, 0.46), draw.between(0.78, 0.84)
    made = make_parts(
        BODY,
        make_rounded_box((width, 0.035, 0.42), 0.015, (0, seat - 0.03, 0.02)),
        make_rounded_box((width - 0.03, height - seat, 0.03), 0.012).tilt(-14).translate((0, seat - 0.01, -0.16)),
        *(
            make_rounded_box((0.025, 0.12, 0.3), 0.01, (side * (width / 2 - 0.012), seat - 0.02, -0.02))
            for side in (-1, 1)
        ),
    )
    made += make_parts("legs", *make_splayed_legs(width - 0.04, 0.46, seat - 0.02, 0.014))
    finishes = {BODY: make_finish("plastic", draw), "legs": choose_frame(draw)}
    return make_piece("chair", made, finishes, rule=PlacementRule.MIDDLE)


@register_shape("chair", "upholstered")
def make_upholstered_chair(draw: RandomStream) -> Piece:
    width, depth, seat, height = draw.between(0.44, 0.5), draw.between(0.48, 0.55), 0.47, draw.between(0.88, 1.02)
    made = make_parts(
        BODY,
        make_rounded_box((width, 0.1, depth - 0.04), 0.03, (0, seat - 0.1, 0.02)),
        make_rounded_box((width - 0.02, height - seat + 0.08, 0.07), 0.03)
        .tilt(-5)
        .translate((0, seat - 0.08, -depth / 2 + 0.06)),
    )
    made += make_parts("legs", *make_four_legs(width - 0.02, depth - 0.06, seat - 0.08, 0.038))
    finishes = {BODY: make_finish("fabric", draw), "legs": make_finish("wood", draw)}
    return make_piece("chair", made, finishes, rule=PlacementRule.MIDDLE)


@register_shape("chair", "bentwood")
def make_bentwood_chair(draw: RandomStream) -> Piece:
    """A round seat and a bow of bent wood."""
    radius, seat, height = draw.between(0.2, 0.22), draw.between(0.44, 0.47), draw.between(0.84, 0.9)
    made = make_parts("seat", make_cylinder(radius, 0.03, (0, seat - 0.03, 0), sides=18))
    made += make_parts(BODY, *make_splayed_legs(2 * radius, 2 * radius, seat - 0.03, 0.015))
    bow = [
        (-radius * 0.9, seat - 0.03),
        (-radius * 0.85, height - 0.12),
        (-radius * 0.45, height),
        (radius * 0.45, height),
        (radius * 0.85, height - 0.12),
        (radius * 0.9, seat - 0.03),
    ]
    for (ax, ay), (bx, by) in itertools.pairwise(bow):
        made += make_parts(BODY, make_rod((ax, ay, _compute_lean(ay, seat)), (bx, by, _compute_lean(by, seat)), 0.013))
    inner = [
        (-radius * 0.45, seat),
        (-radius * 0.3, height - 0.16),
        (radius * 0.3, height - 0.16),
        (radius * 0.45, seat),
    ]
    for (ax, ay), (bx, by) in itertools.pairwise(inner):
        made += make_parts(BODY, make_rod((ax, ay, _compute_lean(ay, seat)), (bx, by, _compute_lean(by, seat)), 0.01))
    frame = make_finish("wood", draw)
    seat_finish = make_finish("wicker", draw) if draw.chance(0.4) else frame
    return make_piece("chair", made, {BODY: frame, "seat": seat_finish}, rule=PlacementRule.MIDDLE)


def _compute_lean(height: float, seat: float) -> float:
    """How far back a point of a chair's back is."""
    return round(-0.16 - 0.14 * max(0.0, height - seat), 4)


@register_shape("chair", "windsor")
def make_windsor_chair(draw: RandomStream) -> Piece:
    """Turned spindles under a curved rail."""
    width, depth, seat, height = draw.between(0.42, 0.47), draw.between(0.42, 0.46), 0.45, draw.between(0.86, 0.95)
    made = make_parts(BODY, make_rounded_box((width, 0.04, depth), 0.015, (0, seat - 0.04, 0)))
    made += make_parts(BODY, *make_splayed_legs(width, depth, seat - 0.04, 0.018))
    for n in range(6):
        x = (n - 2.5) * width * 0.16
        made += make_parts(
            BODY,
            make_rod(
                (x * 0.9, seat - 0.01, -depth / 2 + 0.04), (x * 1.08, height - 0.05, -depth / 2 - 0.03), 0.008, sides=6
            ),
        )
    made += make_parts(BODY, make_rounded_box((width * 1.02, 0.07, 0.03), 0.012, (0, height - 0.07, -depth / 2 - 0.03)))
    return make_piece(
        "chair",
        made,
        {BODY: make_finish(draw.choose_weighted([("wood", 0.7), ("lacquer", 0.3)]), draw)},
        rule=PlacementRule.MIDDLE,
    )


def _make_star_foot(height: float, reach: float = 0.28) -> list[SolidMesh]:
    """Five arms on castors and a column up to `height`."""
    made: list[SolidMesh] = [make_cylinder(0.028, height - 0.1, (0, 0.1, 0), sides=10)]
    for step in range(5):
        made.append(make_rod((0, 0.09, 0), (0, 0.07, reach), 0.018, sides=6).rotate(72 * step))
        made.append(make_cylinder(0.028, 0.056, (0, 0, reach), sides=8).rotate(72 * step))
    return made


@register_shape("office_chair", "mesh")
def make_mesh_chair(draw: RandomStream) -> Piece:
    """A high back of mesh with a head rest."""
    seat, width = draw.between(0.46, 0.5), draw.between(0.46, 0.5)
    made = make_parts(BODY, make_rounded_box((width, 0.07, width), 0.03, (0, seat - 0.05, 0)))
    made += make_parts(
        BODY,
        make_rounded_box((width * 0.92, 0.54, 0.025), 0.01).tilt(-8).translate((0, seat + 0.08, -width / 2 + 0.02)),
        make_rounded_box((width * 0.56, 0.15, 0.05), 0.02, (0, seat + 0.66, -width / 2 - 0.06)),
    )
    made += make_parts(
        "frame",
        make_box((0.05, 0.76, 0.02)).tilt(-8).translate((0, seat - 0.02, -width / 2 - 0.015)),
        *_make_star_foot(seat - 0.04),
    )
    for side in (-1, 1):
        made += make_parts(
            "frame",
            make_box((0.06, 0.025, 0.24), (side * (width / 2 + 0.02), seat + 0.19, 0.02)),
            make_box((0.03, 0.22, 0.05), (side * (width / 2 + 0.02), seat - 0.02, 0.0)),
        )
    finishes = {
        BODY: make_finish("fabric", draw, ("black", "dark grey", "grey")),
        "frame": make_finish("plastic", draw, ("black", "grey")),
    }
    return make_piece("office chair", made, finishes, rule=PlacementRule.MIDDLE)


@register_shape("office_chair", "executive")
def make_executive_chair(draw: RandomStream) -> Piece:
    """Thick leather pads."""
    seat, width = draw.between(0.47, 0.51), draw.between(0.52, 0.58)
    made = make_parts(BODY, make_rounded_box((width, 0.13, width - 0.04), 0.05, (0, seat - 0.08, 0)))
    for n in range(3):
        made += make_parts(
            BODY,
            make_rounded_box(
                (width - 0.06, 0.24, 0.12), 0.05, (0, seat + 0.05 + 0.225 * n, -width / 2 + 0.03 - 0.02 * n)
            ),
        )
    for side in (-1, 1):
        made += make_parts(BODY, make_rounded_box((0.07, 0.06, 0.3), 0.025, (side * width / 2, seat + 0.17, 0.0)))
        made += make_parts("frame", make_box((0.04, 0.2, 0.05), (side * width / 2, seat - 0.03, 0.02)))
    made += make_parts("frame", *_make_star_foot(seat - 0.07, 0.3))
    finishes = {
        BODY: make_finish("leather", draw, ("black", "brown", "dark brown")),
        "frame": make_finish("metal", draw),
    }
    return make_piece("office chair", made, finishes, rule=PlacementRule.MIDDLE)


@register_shape("office_chair", "task")
def make_task_chair(draw: RandomStream) -> Piece:
    """A small chair without arms."""
    seat, width = draw.between(0.44, 0.48), draw.between(0.42, 0.46)
    made = make_parts(
        BODY,
        make_rounded_box((width, 0.06, width), 0.025, (0, seat - 0.04, 0)),
        make_rounded_box((width * 0.86, 0.3, 0.05), 0.02, (0, seat + 0.16, -width / 2 + 0.0)),
    )
    made += make_parts(
        "frame", make_box((0.04, 0.26, 0.02), (0, seat - 0.02, -width / 2 - 0.02)), *_make_star_foot(seat - 0.03, 0.25)
    )
    finishes = {BODY: make_finish("fabric", draw), "frame": make_finish("plastic", draw, ("black", "grey", "white"))}
    return make_piece("office chair", made, finishes, rule=PlacementRule.MIDDLE)


@register_shape("stool", "square")
def make_square_stool(draw: RandomStream) -> Piece:
    height, side = draw.choice((0.46, 0.62)) + draw.between(0, 0.05), draw.between(0.32, 0.36)
    made = make_parts(BODY, make_box((side, 0.035, side), (0, height - 0.035, 0)))
    made += make_parts(
        "legs",
        *make_four_legs(side, side, height - 0.035, 0.032),
        *(make_box((side - 0.04, 0.025, 0.02), (0, height * 0.3, z * (side / 2 - 0.016))) for z in (-1, 1)),
    )
    wood = make_finish("wood", draw)
    return make_piece("stool", made, {BODY: wood, "legs": wood}, rule=PlacementRule.MIDDLE)


@register_shape("stool", "swivel")
def make_swivel_stool(draw: RandomStream) -> Piece:
    """A padded seat on a column with a foot rest."""
    height, radius = draw.between(0.62, 0.72), draw.between(0.17, 0.19)
    made = make_parts(BODY, make_cylinder(radius, 0.07, (0, height - 0.07, 0), sides=18))
    ring = make_lathe(
        [(radius - 0.02, 0), (radius, 0), (radius, 0.016), (radius - 0.02, 0.016), (radius - 0.02, 0)], sides=16
    )
    made += make_parts(
        "legs",
        make_cylinder(0.024, height - 0.08, (0, 0.01, 0), sides=10),
        make_cylinder(0.19, 0.02, sides=18),
        ring.translate((0, 0.24, 0)),
        *(make_rod((0, 0.248, 0), (x, 0.248, 0), 0.008, sides=6) for x in (-radius + 0.01, radius - 0.01)),
    )
    finishes = {BODY: make_finish("leather", draw), "legs": make_finish("chrome", draw)}
    return make_piece("stool", made, finishes, rule=PlacementRule.MIDDLE)


@register_shape("stool", "backed")
def make_backed_stool(draw: RandomStream) -> Piece:
    """A stool with a low back."""
    height, side = draw.between(0.62, 0.68), draw.between(0.36, 0.4)
    made = make_parts(
        BODY,
        make_rounded_box((side, 0.06, side), 0.02, (0, height - 0.06, 0)),
        make_rounded_box((side, 0.18, 0.04), 0.015, (0, height + 0.08, -side / 2 + 0.03)),
    )
    made += make_parts(
        "legs",
        *make_four_legs(side - 0.02, side - 0.02, height - 0.05, 0.024),
        *make_box_pair((0.02, 0.16, 0.02), (side / 2 - 0.05, height - 0.03, -side / 2 + 0.02)),
    )
    made += make_parts("legs", make_box((side - 0.04, 0.02, 0.02), (0, height * 0.32, side / 2 - 0.03)))
    finishes = {BODY: choose_cover(draw), "legs": choose_frame(draw)}
    return make_piece("stool", made, finishes, rule=PlacementRule.MIDDLE)
