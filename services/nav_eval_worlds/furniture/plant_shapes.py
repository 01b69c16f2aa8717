"""Further shapes of plants and vases."""

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
    make_cylinder,
    make_double_sided,
    make_ellipsoid,
    make_lathe,
    make_quad,
    make_rod,
    merge_meshes,
)


def _make_leaf(length: float, width: float, *, rise: float, turn: float, base: float) -> SolidMesh:
    """A flat leaf of four triangles that leaves the stem at `base` and bends outwards."""
    half, reach = width / 2, length * (1 - 0.4 * rise)
    middle, tip = (0.0, base + length * rise * 0.8, reach * 0.55), (0.0, base + length * rise * 0.7, reach)
    lower = make_quad(
        (-half * 0.3, base, 0.0), (half * 0.3, base, 0.0), (half, middle[1], middle[2]), (-half, middle[1], middle[2])
    )
    upper = make_quad(
        (-half, middle[1], middle[2]),
        (half, middle[1], middle[2]),
        (half * 0.1, tip[1], tip[2]),
        (-half * 0.1, tip[1], tip[2]),
    )
    meshes = [make_double_sided(part).rotate(turn) for part in (lower, upper)]
    return merge_meshes(meshes)


def _make_pot(radius: float, height: float, *, square: bool = False) -> list[SolidPart]:
    if square:
        side = radius * 1.7
        made = make_parts("pot", make_box((side, height - 0.03, side)), *_make_rim(side, height))
    else:
        made = make_parts(
            "pot",
            make_lathe(
                [(0, 0), (radius * 0.85, 0), (radius, height), (radius * 0.9, height), (radius * 0.88, height - 0.03)],
                sides=16,
            ),
        )
    return made + make_parts(
        "soil", make_cylinder(radius * (0.8 if square else 0.89), 0.01, (0, height - 0.04, 0), sides=14)
    )


def _make_rim(side: float, height: float) -> list[SolidMesh]:
    """The rim of a square pot."""
    bar = 0.015
    return [make_box((side, 0.03, bar), (0, height - 0.03, s * (side - bar) / 2)) for s in (-1, 1)] + [
        make_box((bar, 0.03, side - 2 * bar), (s * (side - bar) / 2, height - 0.03, 0)) for s in (-1, 1)
    ]


def _finish_plant(draw: RandomStream, made: list[SolidPart], *, rule: PlacementRule, name: str | None = None) -> Piece:
    finishes = make_finishes(
        draw, body="leaf", pot=("pottery", "wicker", "ceramic"), soil="soil", stem={"wood": ("brown", "light brown")}
    )
    return make_piece("plant", made, finishes, rule=rule, name=name)


@register_shape("plant", "broad leaves")
def make_broad_plant(draw: RandomStream) -> Piece:
    """Large leaves on single stems."""
    radius, pot, count = draw.between(0.14, 0.19), draw.between(0.26, 0.34), draw.integer(8, 11)
    made = _make_pot(radius, pot, square=draw.chance(0.3))
    for n in range(count):
        turn, up = 360 * n / count + draw.uniform(-12, 12), draw.uniform(0.25, 0.75)
        base = pot + up * 0.75
        out = 0.06 + 0.12 * draw.unit()
        made += make_parts("stem", make_rod((0, pot - 0.04, 0), (0, base, out), 0.006, sides=5).rotate(turn))
        leaf = (
            _make_leaf(0.3, draw.uniform(0.16, 0.24), rise=0.35, turn=0, base=0).translate((0, base, out)).rotate(turn)
        )
        made += make_parts(BODY, leaf)
    return _finish_plant(draw, made, rule=PlacementRule.CORNER)


@register_shape("plant", "snake plant")
def make_snake_plant(draw: RandomStream) -> Piece:
    """Upright blades."""
    radius, pot, count = draw.between(0.12, 0.16), draw.between(0.22, 0.3), draw.integer(9, 13)
    made = _make_pot(radius, pot, square=draw.chance(0.4))
    for n in range(count):
        tall, lean = draw.uniform(0.4, 0.75), draw.uniform(2, 12)
        blade = make_double_sided(
            merge_meshes(
                [
                    make_quad((-0.03, 0, 0), (0.03, 0, 0), (0.035, tall * 0.6, 0), (-0.035, tall * 0.6, 0)),
                    make_quad((-0.035, tall * 0.6, 0), (0.035, tall * 0.6, 0), (0.004, tall, 0), (-0.004, tall, 0)),
                ]
            )
        )
        made += make_parts(
            BODY,
            blade.tilt(lean)
            .translate((0, pot - 0.03, radius * 0.35 * draw.unit()))
            .rotate(360 * n / count + draw.uniform(-20, 20)),
        )
    return _finish_plant(draw, made, rule=PlacementRule.CORNER)


@register_shape("plant", "palm")
def make_palm(draw: RandomStream) -> Piece:
    """A thin trunk with fronds that hang over."""
    radius, pot, trunk, count = (
        draw.between(0.15, 0.2),
        draw.between(0.26, 0.34),
        draw.between(0.5, 0.8),
        draw.integer(10, 13),
    )
    made = _make_pot(radius, pot)
    made += make_parts("stem", make_cylinder(0.028, trunk, (0, pot - 0.04, 0), top=0.02, sides=8))
    for n in range(count):
        leaf = _make_leaf(
            draw.uniform(0.4, 0.52),
            0.09,
            rise=draw.uniform(0.15, 0.6),
            turn=360 * n / count + draw.uniform(-10, 10),
            base=pot + trunk - 0.06,
        )
        made += make_parts(BODY, leaf)
    return _finish_plant(draw, made, rule=PlacementRule.CORNER)


@register_shape("small_plant", "cactus")
def make_cactus(draw: RandomStream) -> Piece:
    radius, pot = draw.between(0.045, 0.065), draw.between(0.07, 0.1)
    made = _make_pot(radius, pot)
    tall = draw.between(0.1, 0.18)
    made += make_parts(
        BODY,
        make_ellipsoid((radius * 1.1, tall, radius * 1.1), (0, pot - 0.04, 0), sides=10, rings=7),
        make_ellipsoid(
            (radius * 0.6, tall * 0.5, radius * 0.6), (radius * 0.45, pot + tall * 0.2, 0), sides=8, rings=5
        ),
    )
    return _finish_plant(draw, made, rule=PlacementRule.SURFACE, name="potted plant")


@register_shape("small_plant", "herb")
def make_herb(draw: RandomStream) -> Piece:
    """A round bush of small leaves."""
    radius, pot = draw.between(0.05, 0.07), draw.between(0.08, 0.11)
    made = _make_pot(radius, pot)
    for _ in range(7):
        size = draw.uniform(0.05, 0.08)
        made += make_parts(
            BODY,
            make_ellipsoid(
                (size, size * 0.9, size),
                (draw.uniform(-0.04, 0.04), pot - 0.02 + draw.uniform(0.0, 0.08), draw.uniform(-0.04, 0.04)),
                sides=7,
                rings=4,
            ),
        )
    return _finish_plant(draw, made, rule=PlacementRule.SURFACE, name="potted plant")


@register_shape("small_plant", "succulent")
def make_succulent(draw: RandomStream) -> Piece:
    """A rosette of thick leaves in a bowl."""
    radius, pot = draw.between(0.06, 0.08), draw.between(0.05, 0.07)
    made = _make_pot(radius, pot)
    for ring, count in ((1, 8), (2, 6)):
        for n in range(count):
            leaf = make_ellipsoid((0.03, 0.014, 0.08), (0, 0, 0.045), sides=6, rings=4).tilt(-20 * ring)
            made += make_parts(
                BODY, leaf.translate((0, pot + 0.006 * ring - 0.02, 0)).rotate(360 * n / count + 20 * ring)
            )
    return _finish_plant(draw, made, rule=PlacementRule.SURFACE, name="potted plant")


def _turn_vase(draw: RandomStream, profile: list[tuple[float, float]], *, inner: float) -> Piece:
    """A vase from the outer half of its section; flowers or dry twigs now and then."""
    radius, height = profile[-1]
    wall = [(radius * 0.88, height), (max(0.005, radius * 0.8), height - inner), (0, height - inner)]
    made = make_parts(BODY, make_lathe([(0, 0), *profile, *wall], sides=18, smooth=True))
    if draw.chance(0.4):
        for _ in range(4):
            tip = (draw.uniform(-0.09, 0.09), height + draw.uniform(0.1, 0.22), draw.uniform(-0.09, 0.09))
            made += make_parts("stem", make_rod((0, height - inner, 0), tip, 0.003, sides=5))
            made += make_parts(
                "petals", make_ellipsoid((0.05, 0.04, 0.05), (tip[0], tip[1] - 0.01, tip[2]), sides=7, rings=4)
            )
    finishes = make_finishes(
        draw,
        body=("pottery", "glassware", "ceramic"),
        stem={"leaf": ("green",)},
        petals={"cloth": ("white", "pink", "yellow", "red", "purple")},
    )
    return make_piece("vase", made, finishes, rule=PlacementRule.SURFACE)


@register_shape("vase", "bottle")
def make_bottle_vase(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.24, 0.36), draw.between(0.06, 0.085)
    return _turn_vase(
        draw,
        [
            (radius * 0.7, 0),
            (radius, height * 0.22),
            (radius * 0.85, height * 0.42),
            (radius * 0.28, height * 0.6),
            (radius * 0.25, height),
        ],
        inner=0.05,
    )


@register_shape("vase", "cylinder")
def make_cylinder_vase(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.2, 0.3), draw.between(0.045, 0.06)
    return _turn_vase(draw, [(radius * 0.95, 0), (radius, 0.02), (radius, height)], inner=0.06)


@register_shape("vase", "ball")
def make_ball_vase(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.14, 0.2), draw.between(0.075, 0.1)
    return _turn_vase(
        draw,
        [
            (radius * 0.5, 0),
            (radius * 0.95, height * 0.3),
            (radius, height * 0.5),
            (radius * 0.8, height * 0.8),
            (radius * 0.4, height),
        ],
        inner=0.04,
    )
