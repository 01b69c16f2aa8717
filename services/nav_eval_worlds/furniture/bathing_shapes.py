"""Further shapes of bathtubs and showers."""

import itertools

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    make_parts,
    make_piece,
    register_shape,
)
from nav_eval_worlds.materials import make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_box_pair,
    make_cylinder,
    make_folds,
    make_lathe,
    make_rod,
    make_rounded_box,
)


def _make_oval_tub(width: float, depth: float, height: float, lift: float) -> SolidMesh:
    rise = height - lift
    profile = [
        (0, 0),
        (0.36, 0),
        (0.45, rise * 0.5),
        (0.5, rise),
        (0.47, rise),
        (0.4, rise * 0.45),
        (0.3, 0.08),
        (0, 0.07),
    ]
    return make_lathe(profile, sides=24, stretch=(width, depth)).translate((0, lift, 0))


@register_shape("bathtub", "oval")
def make_oval_bathtub(draw: RandomStream) -> Piece:
    """A free-standing oval tub with a tap on the floor."""
    width, depth, height = draw.between(1.55, 1.7), draw.between(0.72, 0.8), draw.between(0.55, 0.6)
    made = make_parts(BODY, _make_oval_tub(width, depth, height, 0.0))
    x = draw.choice((-1, 1)) * width * 0.36
    made += make_parts(
        "tap",
        make_rod((x, 0, -depth / 2 + 0.03), (x, height + 0.22, -depth / 2 + 0.03), 0.016),
        make_rod((x, height + 0.21, -depth / 2 + 0.03), (x * 0.9, height + 0.19, -depth / 2 + 0.2), 0.014),
    )
    return make_piece("bathtub", made, make_finishes(draw, body="ceramic", tap=("chrome", "brass")), clearance=0.45)


@register_shape("bathtub", "clawfoot")
def make_clawfoot_bathtub(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(1.5, 1.68), draw.between(0.7, 0.76), draw.between(0.58, 0.64)
    made = make_parts(BODY, _make_oval_tub(width, depth, height, 0.12))
    rim = make_lathe([(0.47, 0), (0.51, 0), (0.51, 0.02), (0.47, 0.02), (0.47, 0)], sides=24, stretch=(width, depth))
    made += make_parts(BODY, rim.translate((0, height, 0)))
    made += make_parts(
        "tap",
        *(
            make_lathe([(0, 0), (0.04, 0), (0.03, 0.05), (0.05, 0.15), (0, 0.16)], sides=8).translate(
                (sx * width * 0.26, 0, sz * depth * 0.22)
            )
            for sx in (-1, 1)
            for sz in (-1, 1)
        ),
    )
    made += make_parts(
        "tap",
        make_rod((0, height - 0.1, -depth / 2 + 0.01), (0, height + 0.16, -depth / 2 + 0.01), 0.014),
        make_rod((0, height + 0.15, -depth / 2 + 0.01), (0, height + 0.12, -depth / 2 + 0.16), 0.012),
    )
    return make_piece("bathtub", made, make_finishes(draw, body="ceramic", tap=("brass", "chrome")), clearance=0.45)


@register_shape("bathtub", "panelled")
def make_panelled_bathtub(draw: RandomStream) -> Piece:
    """A tub in a wooden or tiled box, with a glass screen for showering."""
    width, depth, height, rim = draw.between(1.55, 1.72), draw.between(0.7, 0.78), draw.between(0.54, 0.58), 0.08
    made = make_parts(
        BODY,
        *(make_box((width, 0.05, rim), (0, height - 0.05, side * (depth - rim) / 2)) for side in (-1, 1)),
        *make_box_pair((rim, 0.05, depth - 2 * rim), ((width - rim) / 2, height - 0.05, 0)),
        make_box((width - 2 * rim, 0.02, depth - 2 * rim), (0, 0.14, 0)),
        *(make_box((width - 2 * rim, height - 0.16, 0.015), (0, 0.15, side * (depth / 2 - rim))) for side in (-1, 1)),
        *make_box_pair((0.015, height - 0.16, depth - 2 * rim), (width / 2 - rim, 0.15, 0)),
    )
    made += make_parts(
        "panel",
        *(make_box((width - 0.02, height - 0.05, 0.02), (0, 0, side * (depth / 2 - 0.02))) for side in (-1, 1)),
        *make_box_pair((0.02, height - 0.05, depth - 0.04), (width / 2 - 0.02, 0, 0)),
    )
    end = draw.choice((-1, 1))
    x = end * (width / 2 - 0.36)
    made += make_parts("glass", make_box((0.66, 1.35, 0.008), (x, height, depth / 2 - rim / 2)))
    made += make_parts(
        "tap",
        make_box((0.66, 0.02, 0.02), (x, height + 1.35, depth / 2 - rim / 2)),
        make_rod((end * (width / 2 - 0.05), height, 0), (end * (width / 2 - 0.05), height + 1.3, 0), 0.011),
        make_rod((end * (width / 2 - 0.05), height + 1.29, 0), (end * (width / 2 - 0.3), height + 1.29, 0), 0.011),
        make_cylinder(0.08, 0.02, (end * (width / 2 - 0.3), height + 1.25, 0), sides=14),
    )
    return make_piece(
        "bathtub",
        made,
        make_finishes(draw, body="ceramic", panel=("wall tiles", "wood", "lacquer"), glass="glass", tap="chrome"),
        clearance=0.45,
    )


def _make_shower_head(x: float, z: float, height: float) -> list[SolidPart]:
    """Rail, arm, head and valve on the wall behind."""
    return make_parts(
        "frame",
        make_rod((x, 0.9, z), (x, height, z), 0.011),
        make_rod((x, height, z), (x, height, z + 0.26), 0.011),
        make_cylinder(0.1, 0.018, (x, height - 0.03, z + 0.26), sides=16),
        make_box((0.18, 0.05, 0.05), (x, 1.05, z)),
    )


@register_shape("shower", "walk in")
def make_walk_in_shower(draw: RandomStream) -> Piece:
    """A flat tray and one pane."""
    side, height = draw.between(0.85, 1.0), 1.98
    half = side / 2
    made = make_parts(
        BODY, make_rounded_box((side, 0.05, side), 0.01), make_cylinder(0.05, 0.004, (0, 0.05, 0), sides=12)
    )
    made += make_parts("glass", make_box((0.01, height - 0.05, side - 0.02), (half - 0.01, 0.05, 0)))
    made += make_parts(
        "frame",
        make_box((0.02, height - 0.05, 0.02), (half - 0.01, 0.05, -half + 0.01)),
        make_box((side - 0.04, 0.02, 0.02), (0.0, height - 0.02, half - 0.05)),
    )
    made += _make_shower_head(-0.05, -half + 0.04, height - 0.02)
    return make_piece(
        "shower",
        made,
        make_finishes(draw, body={"stone": ("dark grey", "grey", "white")}, glass="glass", frame=("chrome", "metal")),
        rule=PlacementRule.CORNER,
        clearance=0.5,
    )


@register_shape("shower", "quadrant")
def make_quadrant_shower(draw: RandomStream) -> Piece:
    """Round glass across the corner."""
    side, height = draw.between(0.82, 0.92), 1.96
    half = side / 2
    made = make_parts(BODY, make_rounded_box((side, 0.12, side), 0.03))
    turns = (0.0, 18.0, 36.0, 54.0, 72.0, 90.0)
    radius = side - 0.08
    corner = (-half + 0.02, 0.0, -half + 0.02)
    for low, _high in itertools.pairwise(turns):
        pane = make_box((radius * 0.315, height - 0.12, 0.008), (0, 0.12, radius * 0.988)).rotate(low + 9)
        made += make_parts("glass", pane.translate(corner))
        made += make_parts(
            "frame",
            make_box((radius * 0.32, 0.025, 0.02), (0, height, radius * 0.988)).rotate(low + 9).translate(corner),
        )
    made += make_parts(
        "frame",
        *(
            make_box((0.025, height - 0.12, 0.025), (x, 0.12, z))
            for x, z in ((half - 0.07, -half + 0.03), (-half + 0.03, half - 0.07))
        ),
    )
    made += _make_shower_head(-half + 0.2, -half + 0.04, height - 0.04)
    return make_piece(
        "shower",
        made,
        make_finishes(draw, body="ceramic", glass="glass", frame="chrome"),
        rule=PlacementRule.CORNER,
        clearance=0.5,
    )


@register_shape("shower", "curtain")
def make_curtain_shower(draw: RandomStream) -> Piece:
    """A tray with a curtain on a rail, drawn half open."""
    side, height = draw.between(0.8, 0.9), 1.98
    half = side / 2
    made = make_parts("tray", make_rounded_box((side, 0.14, side), 0.02))
    made += make_parts(
        "frame",
        make_rod((-half + 0.01, height, half - 0.03), (half - 0.03, height, half - 0.03), 0.011),
        make_rod((half - 0.03, height, -half + 0.01), (half - 0.03, height, half - 0.03), 0.011),
    )
    made += make_parts(
        BODY, make_folds(side * 0.5, height - 0.24, depth=0.05, count=6, at=(half * 0.45, 0.2, half - 0.04))
    )
    made += make_parts(
        BODY,
        make_folds(side * 0.8, height - 0.24, depth=0.05, count=8, at=(0, 0.2, 0))
        .rotate(90)
        .translate((half - 0.04, 0, -0.02)),
    )
    made += _make_shower_head(-0.05, -half + 0.04, height - 0.06)
    return make_piece(
        "shower",
        made,
        make_finishes(draw, body=("linen", "striped", "cloth"), tray="ceramic", frame="chrome"),
        rule=PlacementRule.CORNER,
        clearance=0.5,
    )
