"""Lamps and candles."""

from nav_eval.scene.houses.finishes import finish
from nav_eval.scene.houses.furniture.piece import BODY, Part, Piece, Rule, maker, parts, piece
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import Mesh, both_sides, box, cylinder, ellipsoid, lathe, rod


@maker
def pendant_lamp(draw: Draw) -> Piece:
    """A shade on a cable; its origin is the lower rim, so it hangs by its height."""
    radius, height, cable = draw.between(0.18, 0.28), draw.between(0.16, 0.26), draw.between(0.25, 0.4)
    made = parts(BODY, _shade(radius, radius * draw.between(0.35, 0.8), height)) + parts(
        "bulb", ellipsoid((0.09, 0.11, 0.09), (0, height * 0.25, 0), sides=8, rings=5)
    )
    made += parts(
        "cable",
        rod((0, height - 0.03, 0), (0, height + cable, 0), 0.006, sides=6),
        cylinder(0.05, 0.03, (0, height + cable - 0.03, 0), sides=10),
    )
    return _lamp("ceiling lamp", made, draw, rule=Rule.CEILING, glow_at=height * 0.1)


@maker
def ceiling_disc(draw: Draw) -> Piece:
    """A flat lamp directly under the ceiling."""
    radius = draw.between(0.16, 0.26)
    made = parts(BODY, lathe([(0, 0), (radius * 0.9, 0.02), (radius, 0.08)], sides=20, smooth=True))
    made += parts("cable", cylinder(radius + 0.015, 0.025, (0, 0.08, 0), sides=20)) + parts(
        "bulb", cylinder(0.02, 0.01, (0, 0.085, 0), sides=6)
    )
    return _lamp("ceiling lamp", made, draw, rule=Rule.CEILING, glow_at=0.0)


@maker
def floor_lamp(draw: Draw) -> Piece:
    height, radius = draw.between(1.45, 1.7), draw.between(0.16, 0.22)
    made = parts(BODY, _shade(radius, radius * 0.72, 0.26).moved((0, height - 0.26, 0))) + parts(
        "bulb", ellipsoid((0.08, 0.1, 0.08), (0, height - 0.2, 0), sides=8, rings=5)
    )
    made += parts("cable", cylinder(0.14, 0.025, sides=16), rod((0, 0.02, 0), (0, height - 0.18, 0), 0.012))
    return _lamp("floor lamp", made, draw, rule=Rule.CORNER, glow_at=height - 0.15)


@maker
def table_lamp(draw: Draw) -> Piece:
    height, radius = draw.between(0.34, 0.48), draw.between(0.09, 0.13)
    shade = height * 0.45
    made = parts(BODY, _shade(radius, radius * 0.65, shade).moved((0, height - shade, 0))) + parts(
        "bulb", ellipsoid((0.06, 0.08, 0.06), (0, height - shade * 0.7, 0), sides=8, rings=4)
    )
    foot = lathe(
        [(0, 0), (0.07, 0), (0.06, 0.03), (0.02, 0.06), (0.045, 0.14), (0.012, height - shade), (0, height - shade)],
        sides=12,
        smooth=True,
    )
    return _lamp("table lamp", made + parts("cable", foot), draw, rule=Rule.SURFACE, glow_at=height - shade / 2)


@maker
def desk_lamp(draw: Draw) -> Piece:
    """A jointed reading lamp."""
    made = parts(
        "cable",
        cylinder(0.08, 0.02, sides=14),
        rod((0, 0.02, 0), (-0.08, 0.24, 0), 0.008),
        rod((-0.08, 0.24, 0), (0.08, 0.4, 0), 0.008),
    )
    made += parts(BODY, lathe([(0.07, 0), (0.03, 0.09), (0, 0.09)], sides=12).moved((0.1, 0.33, 0))) + parts(
        "bulb", ellipsoid((0.05, 0.05, 0.05), (0.1, 0.335, 0), sides=8, rings=4)
    )
    lamp = _lamp("table lamp", made, draw, rule=Rule.SURFACE, glow_at=0.33)
    colour = finish("plastic", draw)
    return piece(
        "table lamp",
        lamp.parts,
        {BODY: colour, "bulb": finish("bulb", draw), "cable": colour},
        rule=Rule.SURFACE,
        name="desk lamp",
    )


@maker
def candle(draw: Draw) -> Piece:
    height, radius = draw.between(0.08, 0.2), draw.between(0.02, 0.035)
    made = parts(BODY, cylinder(radius, height, (0, 0.012, 0), sides=12)) + parts(
        "plate", cylinder(radius * 1.8, 0.012, sides=14)
    )
    made += parts("wick", cylinder(0.003, 0.015, (0, height + 0.012, 0), sides=5))
    return piece(
        "candle",
        made,
        {BODY: finish("wax", draw), "plate": finish("brass", draw), "wick": finish("plastic", draw, ("black",))},
        rule=Rule.SURFACE,
    )


@maker
def wall_lamp(draw: Draw) -> Piece:
    made = parts("cable", box((0.08, 0.14, 0.02), (0, 0, -0.06)), rod((0, 0.07, -0.05), (0, 0.07, 0.03), 0.01))
    made += parts(BODY, _shade(0.09, 0.06, 0.16).moved((0, 0.04, 0.04))) + parts(
        "bulb", ellipsoid((0.05, 0.07, 0.05), (0, 0.08, 0.04), sides=8, rings=4)
    )
    return _lamp("wall lamp", made, draw, rule=Rule.ON_WALL, glow_at=0.1)


def _shade(radius: float, top: float, height: float) -> Mesh:
    """An open cone, seen from both sides."""
    return both_sides(lathe([(radius, 0), (top, height)], sides=18))


def _lamp(category: str, made: list[Part], draw: Draw, *, rule: Rule, glow_at: float) -> Piece:
    finishes = {
        BODY: finish("shade", draw),
        "bulb": finish("bulb", draw),
        "cable": finish(draw.choice(("metal", "brass", "chrome")), draw),
    }
    return piece(category, made, finishes, rule=rule, glows=(0.0, glow_at, 0.0))
