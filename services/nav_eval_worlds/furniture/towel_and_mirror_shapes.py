"""Further shapes of mirrors and towels."""

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    make_parts,
    make_piece,
    register_shape,
)
from nav_eval_worlds.materials import make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    make_box,
    make_cylinder,
    make_lathe,
    make_picture,
    make_rod,
    make_round_picture,
    make_rounded_box,
)


@register_shape("mirror", "round")
def make_round_mirror(draw: RandomStream) -> Piece:
    radius = draw.between(0.28, 0.4)
    made = make_parts(BODY, make_cylinder(radius, 0.025, sides=28).tilt(90).translate((0, radius, -0.012)))
    made += make_parts("glass", make_round_picture(radius - 0.015, (0, radius, 0.0145)))
    return make_piece(
        "mirror", made, make_finishes(draw, body=("wood", "brass", "metal"), glass="mirror"), rule=PlacementRule.ON_WALL
    )


@register_shape("mirror", "cabinet")
def make_mirror_cabinet(draw: RandomStream) -> Piece:
    """A shallow cupboard with mirror doors."""
    width, height, depth = draw.between(0.55, 0.8), draw.between(0.6, 0.7), 0.13
    made = make_parts(BODY, make_box((width, height, depth)))
    for side in (-1, 1):
        made += make_parts(
            "glass", make_picture(width / 2 - 0.008, height - 0.01, (side * width / 4, 0.005, depth / 2 + 0.002))
        )
    return make_piece(
        "mirror", made, make_finishes(draw, body=("lacquer", "metal"), glass="mirror"), rule=PlacementRule.ON_WALL
    )


@register_shape("mirror", "frameless")
def make_frameless_mirror(draw: RandomStream) -> Piece:
    """A wide pane with a small shelf."""
    width, height = draw.between(0.6, 0.9), draw.between(0.6, 0.75)
    made = make_parts(
        BODY, make_box((width, height - 0.1, 0.012), (0, 0.1, -0.05)), make_box((width, 0.015, 0.11), (0, 0.03, 0))
    )
    made += make_parts("glass", make_picture(width - 0.006, height - 0.108, (0, 0.104, -0.0425)))
    return make_piece("mirror", made, make_finishes(draw, body="chrome", glass="mirror"), rule=PlacementRule.ON_WALL)


@register_shape("towel", "ring")
def make_towel_ring(draw: RandomStream) -> Piece:
    """A small towel through a ring."""
    width, length = draw.between(0.26, 0.32), draw.between(0.4, 0.5)
    made = make_parts(
        "rail",
        make_rod((-0.09, length, 0.03), (0.09, length, 0.03), 0.008),
        make_rod((0, length + 0.05, -0.03), (0, length + 0.05, 0.03), 0.012),
        *(make_rod((s * 0.09, length, 0.03), (0, length + 0.06, 0.03), 0.008) for s in (-1, 1)),
    )
    made += make_parts(
        BODY,
        make_rounded_box((width * 0.8, length, 0.03), 0.012, (0, 0.01, 0.045)),
        make_rounded_box((width * 0.8, length * 0.8, 0.02), 0.008, (0, length * 0.2, 0.012)),
    )
    return make_piece("towel", made, make_finishes(draw, body="cloth", rail="chrome"), rule=PlacementRule.ON_WALL)


@register_shape("towel", "radiator")
def make_towel_radiator(draw: RandomStream) -> Piece:
    """A heated ladder with a towel over one rung."""
    width, height = draw.between(0.45, 0.55), draw.between(0.7, 0.9)
    made = make_parts(
        "rail",
        *(make_rod((s * width / 2, 0, 0), (s * width / 2, height, 0), 0.015) for s in (-1, 1)),
        *(
            make_rod(
                (-width / 2, 0.04 + n * (height - 0.08) / 8, 0), (width / 2, 0.04 + n * (height - 0.08) / 8, 0), 0.011
            )
            for n in range(9)
        ),
    )
    drop = height * 0.5
    made += make_parts(
        BODY,
        make_rounded_box((width * 0.75, drop, 0.02), 0.008, (0, height * 0.93 - drop, 0.028)),
        make_rounded_box((width * 0.75, drop * 0.7, 0.02), 0.008, (0, height * 0.93 - drop * 0.7, -0.026)),
    )
    return make_piece(
        "towel",
        made,
        make_finishes(draw, body="cloth", rail={"enamel": ("white", "black", "light grey")}),
        rule=PlacementRule.ON_WALL,
    )


@register_shape("towel", "hooks")
def make_towel_hooks(draw: RandomStream) -> Piece:
    """Two towels on hooks."""
    length = draw.between(0.6, 0.75)
    made = make_parts(
        "rail",
        make_box((0.5, 0.07, 0.015), (0, length, -0.05)),
        *(make_rod((x, length + 0.02, -0.045), (x, length + 0.03, 0.0), 0.008) for x in (-0.14, 0.14)),
    )
    for x, slot, long in ((-0.14, BODY, length), (0.14, "second", length * 0.85)):
        towel = make_lathe(
            [(0.1, 0.0), (0.085, long * 0.5), (0.05, long * 0.85), (0.012, long)], sides=9, stretch=(1, 0.38)
        )
        made += make_parts(slot, towel.translate((x, length - long + 0.02, -0.005)))
    return make_piece(
        "towel",
        made,
        make_finishes(draw, body="cloth", second="cloth", rail=("wood", "chrome")),
        rule=PlacementRule.ON_WALL,
    )
