"""Further shapes of lamps and clocks."""

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
from nav_eval_worlds.materials import FinishChoice, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_cylinder,
    make_double_sided,
    make_ellipsoid,
    make_lathe,
    make_picture,
    make_rod,
    make_round_picture,
)


def _make_shade(radius: float, top: float, height: float) -> SolidMesh:
    return make_double_sided(make_lathe([(radius, 0), (top, height)], sides=18))


def _make_bulb(size: float, at: tuple[float, float, float]) -> list[SolidPart]:
    return make_parts("bulb", make_ellipsoid((size, size * 1.2, size), at, sides=8, rings=5))


def _make_lamp(
    draw: RandomStream,
    category: str,
    made: list[SolidPart],
    *,
    rule: PlacementRule,
    glow_at: float,
    body: FinishChoice = "shade",
    foot: FinishChoice = ("metal", "brass", "wood"),
) -> Piece:
    finishes = make_finishes(draw, body=body, bulb="bulb", foot=foot)
    return make_piece(category, made, finishes, rule=rule, glows=(0.0, glow_at, 0.0))


@register_shape("table_lamp", "globe")
def make_globe_lamp(draw: RandomStream) -> Piece:
    """A glowing ball on a small foot."""
    size = draw.between(0.18, 0.24)
    made = make_parts(BODY, make_ellipsoid((size, size, size), (0, 0.05, 0), sides=16, rings=9))
    made += make_parts("foot", make_cylinder(0.06, 0.06, top=0.045, sides=14))
    return _make_lamp(draw, "table lamp", made, rule=PlacementRule.SURFACE, glow_at=0.15)


@register_shape("table_lamp", "column")
def make_column_lamp(draw: RandomStream) -> Piece:
    """A drum shade on a straight column."""
    height, radius = draw.between(0.4, 0.5), draw.between(0.11, 0.14)
    made = make_parts(BODY, _make_shade(radius, radius * 0.92, 0.17).translate((0, height - 0.17, 0))) + _make_bulb(
        0.06, (0, height - 0.12, 0)
    )
    made += make_parts("foot", make_cylinder(0.075, 0.02, sides=16), make_cylinder(0.028, height - 0.16, sides=12))
    return _make_lamp(draw, "table lamp", made, rule=PlacementRule.SURFACE, glow_at=height - 0.1)


@register_shape("table_lamp", "jug")
def make_jug_lamp(draw: RandomStream) -> Piece:
    """A round ceramic foot under a cone."""
    height, radius = draw.between(0.38, 0.48), draw.between(0.12, 0.15)
    body = make_lathe(
        [(0, 0), (0.06, 0), (0.1, 0.08), (0.08, 0.17), (0.02, 0.2), (0.012, height - 0.16)], sides=16, smooth=True
    )
    made = make_parts(BODY, _make_shade(radius, radius * 0.55, 0.18).translate((0, height - 0.18, 0))) + _make_bulb(
        0.06, (0, height - 0.13, 0)
    )
    made += make_parts("foot", body)
    return _make_lamp(
        draw, "table lamp", made, rule=PlacementRule.SURFACE, glow_at=height - 0.1, foot=("pottery", "ceramic")
    )


@register_shape("floor_lamp", "arc")
def make_arc_lamp(draw: RandomStream) -> Piece:
    """A bow that carries the shade away from its heavy foot."""
    height, reach = draw.between(1.6, 1.8), draw.between(0.5, 0.65)
    points = [
        (-reach / 2, 0.03),
        (-reach / 2, height * 0.7),
        (-reach * 0.4, height * 0.9),
        (-reach * 0.15, height),
        (reach * 0.2, height * 0.98),
        (reach / 2, height * 0.88),
    ]
    rods = [make_rod((ax, ay, 0), (bx, by, 0), 0.011) for (ax, ay), (bx, by) in itertools.pairwise(points)]
    made = make_parts("foot", make_cylinder(0.15, 0.03, (-reach / 2, 0, 0), sides=18), *rods)
    shade = make_double_sided(make_lathe([(0.15, 0), (0.12, 0.1), (0.03, 0.15)], sides=18, smooth=True))
    made += make_parts(BODY, shade.translate((reach / 2, height * 0.88 - 0.15, 0))) + _make_bulb(
        0.07, (reach / 2, height * 0.88 - 0.13, 0)
    )
    return _make_lamp(
        draw, "floor lamp", made, rule=PlacementRule.CORNER, glow_at=height * 0.8, foot=("metal", "brass", "chrome")
    )


@register_shape("floor_lamp", "tripod")
def make_tripod_lamp(draw: RandomStream) -> Piece:
    height, radius = draw.between(1.4, 1.6), draw.between(0.19, 0.24)
    made = make_parts(BODY, _make_shade(radius, radius * 0.85, 0.28).translate((0, height - 0.28, 0))) + _make_bulb(
        0.08, (0, height - 0.2, 0)
    )
    made += make_parts(
        "foot",
        *(make_rod((0, 0, 0.24), (0, height - 0.26, 0.03), 0.014).rotate(120 * n) for n in range(3)),
        make_cylinder(0.045, 0.04, (0, height - 0.3, 0), sides=10),
    )
    return _make_lamp(draw, "floor lamp", made, rule=PlacementRule.CORNER, glow_at=height - 0.15, foot="wood")


@register_shape("floor_lamp", "uplight")
def make_uplight(draw: RandomStream) -> Piece:
    """A bowl that shines at the ceiling."""
    height = draw.between(1.7, 1.85)
    bowl = make_double_sided(make_lathe([(0.02, 0), (0.1, 0.03), (0.17, 0.1)], sides=18, smooth=True))
    made = make_parts(BODY, bowl.translate((0, height - 0.1, 0))) + _make_bulb(0.06, (0, height - 0.09, 0))
    made += make_parts(
        "foot", make_cylinder(0.13, 0.025, sides=18), make_rod((0, 0.02, 0), (0, height - 0.09, 0), 0.013)
    )
    return _make_lamp(
        draw, "floor lamp", made, rule=PlacementRule.CORNER, glow_at=height - 0.05, foot=("metal", "chrome")
    )


def _hang(made: list[SolidPart], height: float, cable: float) -> list[SolidPart]:
    """With a cable up to the ceiling rose."""
    return made + make_parts(
        "foot",
        make_rod((0, height, 0), (0, height + cable, 0), 0.005, sides=6),
        make_cylinder(0.05, 0.03, (0, height + cable - 0.03, 0), sides=10),
    )


@register_shape("pendant_lamp", "globe")
def make_globe_pendant(draw: RandomStream) -> Piece:
    size = draw.between(0.24, 0.34)
    made = make_parts(BODY, make_ellipsoid((size, size, size), sides=18, rings=10))
    return _make_lamp(
        draw, "ceiling lamp", _hang(made, size - 0.01, draw.between(0.2, 0.3)), rule=PlacementRule.CEILING, glow_at=0.0
    )


@register_shape("pendant_lamp", "drum")
def make_drum_pendant(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.2, 0.28), draw.between(0.18, 0.24)
    made = make_parts(BODY, _make_shade(radius, radius, height)) + _make_bulb(0.09, (0, height * 0.3, 0))
    made += make_parts(
        "foot",
        *(
            make_rod((-radius, height - 0.02, 0), (radius, height - 0.02, 0), 0.004, sides=5).rotate(60 * n)
            for n in range(3)
        ),
    )
    return _make_lamp(
        draw,
        "ceiling lamp",
        _hang(made, height - 0.02, draw.between(0.2, 0.32)),
        rule=PlacementRule.CEILING,
        glow_at=0.02,
    )


@register_shape("pendant_lamp", "chandelier")
def make_chandelier(draw: RandomStream) -> Piece:
    """Five arms with small shades."""
    reach, arms = draw.between(0.24, 0.3), draw.integer(5, 6)
    made: list[SolidPart] = make_parts(
        "foot", make_lathe([(0, 0), (0.03, 0.02), (0.05, 0.06), (0.02, 0.12), (0.015, 0.3)], sides=10, smooth=True)
    )
    for n in range(arms):
        turn = 360 * n / arms
        made += make_parts(
            "foot",
            make_rod((0, 0.06, 0.02), (0, 0.03, reach * 0.6), 0.007, sides=6).rotate(turn),
            make_rod((0, 0.03, reach * 0.6), (0, 0.1, reach), 0.007, sides=6).rotate(turn),
        )
        made += make_parts(BODY, _make_shade(0.055, 0.035, 0.08).translate((0, 0.13, reach)).rotate(turn))
        made += make_parts("bulb", make_ellipsoid((0.03, 0.05, 0.03), (0, 0.11, reach), sides=6, rings=4).rotate(turn))
    return _make_lamp(
        draw,
        "ceiling lamp",
        _hang(made, 0.28, draw.between(0.15, 0.25)),
        rule=PlacementRule.CEILING,
        glow_at=0.1,
        foot=("brass", "metal"),
    )


@register_shape("pendant_lamp", "dome")
def make_dome_pendant(draw: RandomStream) -> Piece:
    """A metal dome that only shines down."""
    radius, height = draw.between(0.18, 0.26), draw.between(0.14, 0.2)
    dome = make_double_sided(
        make_lathe(
            [(radius, 0), (radius * 0.9, height * 0.5), (radius * 0.45, height * 0.9), (0.03, height)],
            sides=18,
            smooth=True,
        )
    )
    made = make_parts(BODY, dome) + _make_bulb(0.09, (0, height * 0.15, 0))
    return _make_lamp(
        draw,
        "ceiling lamp",
        _hang(made, height - 0.01, draw.between(0.25, 0.36)),
        rule=PlacementRule.CEILING,
        glow_at=-0.02,
        body=("lacquer", "metal", "enamel"),
        foot="metal",
    )


@register_shape("ceiling_disc", "square")
def make_square_ceiling_lamp(draw: RandomStream) -> Piece:
    side = draw.between(0.3, 0.42)
    made = make_parts(BODY, make_box((side - 0.04, 0.05, side - 0.04))) + make_parts(
        "foot", make_box((side, 0.03, side), (0, 0.03, 0))
    )
    return _make_lamp(draw, "ceiling lamp", made, rule=PlacementRule.CEILING, glow_at=0.0, foot=("metal", "lacquer"))


@register_shape("ceiling_disc", "spots")
def make_spot_bar(draw: RandomStream) -> Piece:
    """Three spots on a bar."""
    long = draw.between(0.5, 0.7)
    made = make_parts("foot", make_box((long, 0.025, 0.06), (0, 0.13, 0)))
    for n, turn in enumerate((-25, 0, 25)):
        x = (n - 1) * long * 0.38
        cone = make_lathe([(0, 0.09), (0.03, 0.08), (0.045, 0.0), (0.04, 0.0), (0.0, 0.02)][::-1], sides=12)
        made += make_parts(BODY, cone.tilt(turn, axis=2).translate((x, 0.02, 0)))
        made += make_parts("bulb", make_cylinder(0.034, 0.006, sides=10).tilt(turn, axis=2).translate((x, 0.022, 0)))
        made += make_parts("foot", make_rod((x, 0.1, 0), (x, 0.135, 0), 0.006, sides=6))
    return _make_lamp(
        draw, "ceiling lamp", made, rule=PlacementRule.CEILING, glow_at=-0.02, body=("metal", "lacquer"), foot="metal"
    )


@register_shape("ceiling_disc", "bowl")
def make_bowl_ceiling_lamp(draw: RandomStream) -> Piece:
    radius = draw.between(0.15, 0.22)
    made = make_parts(
        BODY, make_lathe([(0, 0), (radius * 0.6, 0.03), (radius * 0.95, 0.1), (radius, 0.14)], sides=20, smooth=True)
    )
    made += make_parts(
        "foot",
        make_cylinder(radius * 0.6, 0.02, (0, 0.14, 0), sides=16),
        make_cylinder(0.012, 0.02, (0, -0.0, 0), sides=8),
    )
    return _make_lamp(draw, "ceiling lamp", made, rule=PlacementRule.CEILING, glow_at=0.0)


@register_shape("wall_lamp", "globe")
def make_globe_wall_lamp(draw: RandomStream) -> Piece:
    size = draw.between(0.12, 0.16)
    made = make_parts(BODY, make_ellipsoid((size, size, size), (0, 0.02, 0.04), sides=12, rings=7)) + make_parts(
        "foot",
        make_cylinder(0.045, 0.02, sides=14).tilt(90).translate((0, 0.08, -0.07)),
        make_rod((0, 0.08, -0.06), (0, 0.08, 0.0), 0.01),
    )
    return _make_lamp(draw, "wall lamp", made, rule=PlacementRule.ON_WALL, glow_at=0.1)


@register_shape("wall_lamp", "up and down")
def make_up_down_lamp(draw: RandomStream) -> Piece:
    height = draw.between(0.18, 0.24)
    made = make_parts(BODY, make_cylinder(0.045, height, (0, 0.0, 0.02), sides=14)) + make_parts(
        "foot", make_box((0.06, 0.09, 0.05), (0, height / 2 - 0.045, -0.03))
    )
    return _make_lamp(draw, "wall lamp", made, rule=PlacementRule.ON_WALL, glow_at=0.1)


@register_shape("clock", "square")
def make_square_clock(draw: RandomStream) -> Piece:
    side = draw.between(0.26, 0.36)
    made = make_parts(BODY, make_box((side, side, 0.035)))
    made += make_parts("dial", make_picture(side * 0.88, side * 0.88, (0, side * 0.06, 0.019)))
    return make_piece(
        "clock", made, make_finishes(draw, body=("wood", "metal", "plastic"), dial="dial"), rule=PlacementRule.ON_WALL
    )


@register_shape("clock", "sunburst")
def make_sunburst_clock(draw: RandomStream) -> Piece:
    """Rays around a small dial."""
    radius, reach = draw.between(0.09, 0.12), draw.between(0.22, 0.28)
    middle = reach + 0.01
    made = make_parts(BODY, make_cylinder(radius, 0.03, sides=24).tilt(90).translate((0, middle, -0.015)))
    made += make_parts(
        BODY,
        *(
            make_rod((0, 0, radius * 0.8), (0, 0, reach if n % 2 else reach * 0.75), 0.007, sides=5)
            .rotate(22.5 * n)
            .tilt(90)
            .translate((0, middle, -0.005))
            for n in range(16)
        ),
    )
    made += make_parts("dial", make_round_picture(radius * 0.9, (0, middle, 0.0165)))
    return make_piece(
        "clock", made, make_finishes(draw, body=("brass", "wood", "metal"), dial="dial"), rule=PlacementRule.ON_WALL
    )


@register_shape("clock", "pendulum")
def make_pendulum_clock(draw: RandomStream) -> Piece:
    """A wooden case with a pendulum behind glass."""
    width, height = draw.between(0.24, 0.3), draw.between(0.55, 0.7)
    made = make_parts(
        BODY,
        make_box((width, height, 0.03), (0, 0, -0.045)),
        *(make_box((0.03, height, 0.1), (s * (width / 2 - 0.015), 0, 0)) for s in (-1, 1)),
        *(make_box((width, 0.04, 0.12), (0, y, 0)) for y in (0, height - 0.04)),
    )
    made += make_parts("dial", make_round_picture(width * 0.4, (0, height - 0.06 - width * 0.4, 0.02)))
    made += make_parts(
        "pendulum",
        make_rod((0, 0.12, 0.0), (0, height * 0.5, 0.0), 0.004, sides=5),
        make_cylinder(0.035, 0.01, sides=14).tilt(90).translate((0, 0.12, 0.0)),
    )
    return make_piece(
        "clock", made, make_finishes(draw, body="wood", dial="dial", pendulum="brass"), rule=PlacementRule.ON_WALL
    )


@register_shape("clock", "rimless")
def make_rimless_clock(draw: RandomStream) -> Piece:
    """A large flat dial with a thin rim."""
    radius = draw.between(0.2, 0.28)
    made = make_parts(
        BODY,
        make_cylinder(radius, 0.02, sides=28).tilt(90).translate((0, radius, -0.01)),
        make_lathe(
            [
                (radius - 0.012, 0),
                (radius + 0.004, 0),
                (radius + 0.004, 0.02),
                (radius - 0.012, 0.02),
                (radius - 0.012, 0),
            ],
            sides=28,
        )
        .tilt(90)
        .translate((0, radius, 0.0)),
    )
    made += make_parts("dial", make_round_picture(radius - 0.012, (0, radius, 0.0115)))
    return make_piece(
        "clock", made, make_finishes(draw, body=("metal", "wood"), dial="dial"), rule=PlacementRule.ON_WALL
    )
