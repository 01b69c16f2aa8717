"""Further shapes of small things, and small things that only later generators know."""

import itertools

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    make_parts,
    make_piece,
    register_maker,
    register_shape,
)
from nav_eval_worlds.materials import make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    make_box,
    make_cylinder,
    make_double_sided,
    make_ellipsoid,
    make_lathe,
    make_rod,
    make_rounded_box,
)

SURFACE = PlacementRule.SURFACE


@register_shape("book", "stack")
def make_book_stack(draw: RandomStream) -> Piece:
    """Two or three books on top of each other."""
    made: list[SolidPart] = []
    y = 0.0
    for n in range(draw.integer(2, 3)):
        width, depth, thick = draw.between(0.15, 0.2), draw.between(0.21, 0.26), draw.between(0.018, 0.035)
        turn = draw.uniform(-8, 8)
        made += make_parts(
            BODY if n == 0 else f"cover {n}",
            make_box((width, 0.003, depth), (0, y, 0)).rotate(turn),
            make_box((width, 0.003, depth), (0, y + thick - 0.003, 0)).rotate(turn),
            make_box((0.004, thick, depth), (-width / 2 + 0.002, y, 0)).rotate(turn),
        )
        made += make_parts(
            "pages", make_box((width - 0.01, thick - 0.006, depth - 0.008), (0.001, y + 0.003, 0)).rotate(turn)
        )
        y += thick
    finishes = {
        BODY: make_finish("cover", draw),
        "cover 1": make_finish("cover", draw),
        "cover 2": make_finish("cover", draw),
        "pages": make_finish("paper", draw),
    }
    return make_piece("book", made, finishes, rule=SURFACE)


@register_shape("book", "open")
def make_open_book(draw: RandomStream) -> Piece:
    width, depth = draw.between(0.14, 0.18), draw.between(0.2, 0.24)
    made = make_parts(BODY, make_box((2 * width, 0.003, depth)))
    for side in (-1, 1):
        made += make_parts("pages", make_box((width - 0.006, 0.012, depth - 0.01), (side * width / 2, 0.003, 0)))
    return make_piece("book", made, make_finishes(draw, body="cover", pages="paper"), rule=SURFACE)


@register_shape("book", "upright")
def make_upright_book(draw: RandomStream) -> Piece:
    """Three books that stand between two ends."""
    made: list[SolidPart] = []
    x = 0.0
    for n in range(3):
        thick, height = draw.between(0.025, 0.045), draw.between(0.18, 0.24)
        made += make_parts(
            BODY if n == 1 else f"cover {n}", make_box((thick - 0.001, height, 0.15), (x + thick / 2, 0, 0))
        )
        x += thick
    made += make_parts(
        "ends", make_box((0.012, 0.13, 0.13), (-0.006, 0, 0)), make_box((0.012, 0.13, 0.13), (x + 0.006, 0, 0))
    )
    finishes = {
        BODY: make_finish("cover", draw),
        "cover 0": make_finish("cover", draw),
        "cover 2": make_finish("cover", draw),
        "ends": make_finish(draw.choice(("wood", "metal")), draw),
    }
    return make_piece("book", made, finishes, rule=SURFACE)


def _turn_cup(draw: RandomStream, radius: float, height: float, *, foot: float, kind: str, handle: bool) -> Piece:
    made = make_parts(
        BODY,
        make_lathe(
            [
                (0, 0),
                (radius * foot, 0),
                (radius, height),
                (radius * 0.92, height),
                (radius * foot * 0.85, 0.008),
                (0, 0.008),
            ],
            sides=14,
        ),
    )
    if handle:
        points = [
            (radius * 0.92, height * 0.85),
            (radius * 1.5, height * 0.75),
            (radius * 1.5, height * 0.35),
            (radius * 0.85, height * 0.22),
        ]
        made += make_parts(
            BODY,
            *(make_rod((ax, ay, 0), (bx, by, 0), 0.005, sides=6) for (ax, ay), (bx, by) in itertools.pairwise(points)),
        )
    return make_piece("cup", made, {BODY: make_finish(kind, draw)}, rule=SURFACE)


@register_shape("cup", "mug")
def make_mug(draw: RandomStream) -> Piece:
    return _turn_cup(draw, draw.between(0.038, 0.044), draw.between(0.09, 0.1), foot=1.0, kind="pottery", handle=True)


@register_shape("cup", "tumbler")
def make_tumbler(draw: RandomStream) -> Piece:
    return _turn_cup(
        draw, draw.between(0.034, 0.04), draw.between(0.1, 0.13), foot=0.82, kind="glassware", handle=False
    )


@register_shape("cup", "tea")
def make_tea_cup(draw: RandomStream) -> Piece:
    """With a saucer."""
    cup = _turn_cup(draw, draw.between(0.042, 0.048), draw.between(0.06, 0.07), foot=0.5, kind="pottery", handle=True)
    saucer = make_lathe([(0, 0), (0.04, 0), (0.07, 0.012), (0.068, 0.014), (0.04, 0.006), (0, 0.006)], sides=16)
    made = make_parts(BODY, saucer, *(part.mesh.translate((0, 0.006, 0)) for part in cup.parts))
    return make_piece("cup", made, cup.finishes, rule=SURFACE)


def _turn_bottle(
    draw: RandomStream, profile: list[tuple[float, float]], *, kind: str, cap: str, name: str | None = None
) -> Piece:
    radius, height = profile[-1]
    made = make_parts(BODY, make_lathe([(0, 0), *profile, (0, height)], sides=14))
    made += make_parts("cap", make_cylinder(radius + 0.002, 0.018, (0, height, 0), sides=10))
    label = max(profile[:3], key=lambda point: point[0])[0]
    made += make_parts(
        "label",
        make_double_sided(make_lathe([(label + 0.001, height * 0.2), (label + 0.001, height * 0.42)], sides=14)),
    )
    return make_piece(
        "bottle",
        made,
        {BODY: make_finish(kind, draw), "cap": make_finish(cap, draw), "label": make_finish("paper", draw)},
        rule=SURFACE,
        name=name,
    )


@register_shape("bottle", "wine")
def make_wine_bottle(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.28, 0.31), draw.between(0.036, 0.04)
    return _turn_bottle(
        draw,
        [(radius, 0), (radius, height * 0.6), (radius * 0.38, height * 0.76), (radius * 0.36, height)],
        kind="glassware",
        cap="wax",
    )


@register_shape("bottle", "water")
def make_water_bottle(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.22, 0.28), draw.between(0.033, 0.038)
    return _turn_bottle(
        draw,
        [
            (radius * 0.95, 0),
            (radius, height * 0.1),
            (radius, height * 0.72),
            (radius * 0.45, height * 0.9),
            (radius * 0.42, height),
        ],
        kind="glassware",
        cap="plastic",
    )


@register_shape("bottle", "squat")
def make_squat_bottle(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.18, 0.23), draw.between(0.04, 0.048)
    return _turn_bottle(
        draw,
        [(radius, 0), (radius, height * 0.5), (radius * 0.35, height * 0.7), (radius * 0.32, height)],
        kind="plastic",
        cap="plastic",
    )


@register_shape("bowl", "wide")
def make_wide_bowl(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.13, 0.17), draw.between(0.05, 0.07)
    made = make_parts(
        BODY,
        make_lathe(
            [(0, 0), (radius * 0.45, 0), (radius, height), (radius * 0.96, height), (radius * 0.42, 0.012), (0, 0.012)],
            sides=18,
        ),
    )
    return make_piece("bowl", made, {BODY: make_finish(draw.choice(("wood", "pottery")), draw)}, rule=SURFACE)


@register_shape("bowl", "stack")
def make_bowl_stack(draw: RandomStream) -> Piece:
    radius = draw.between(0.07, 0.085)
    one = make_lathe(
        [(0, 0), (radius * 0.5, 0), (radius, 0.055), (radius * 0.95, 0.055), (radius * 0.46, 0.008), (0, 0.008)],
        sides=16,
    )
    made = make_parts(BODY, *(one.translate((0, 0.016 * n, 0)) for n in range(draw.integer(2, 4))))
    return make_piece("bowl", made, {BODY: make_finish("pottery", draw)}, rule=SURFACE)


@register_shape("bowl", "footed")
def make_footed_bowl(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.11, 0.14), draw.between(0.09, 0.12)
    made = make_parts(
        BODY,
        make_lathe(
            [
                (0, 0),
                (radius * 0.5, 0),
                (radius * 0.2, 0.03),
                (radius, height),
                (radius * 0.95, height),
                (radius * 0.2, 0.05),
                (0, 0.05),
            ],
            sides=18,
        ),
    )
    return make_piece(
        "bowl", made, {BODY: make_finish(draw.choice(("pottery", "glassware", "brass")), draw)}, rule=SURFACE
    )


@register_shape("cushion", "bolster")
def make_bolster(draw: RandomStream) -> Piece:
    long, radius = draw.between(0.36, 0.46), draw.between(0.075, 0.09)
    roll = make_lathe(
        [(0, 0), (radius * 0.8, 0.01), (radius, 0.04), (radius, long - 0.04), (radius * 0.8, long - 0.01), (0, long)],
        sides=14,
        smooth=True,
    )
    return make_piece(
        "cushion",
        make_parts(BODY, roll.tilt(90, axis=2).translate((long / 2, radius, 0))),
        {BODY: make_finish("fabric", draw)},
        rule=SURFACE,
    )


@register_shape("cushion", "oblong")
def make_oblong_cushion(draw: RandomStream) -> Piece:
    width, height = draw.between(0.4, 0.46), draw.between(0.26, 0.3)
    pad = make_rounded_box((width, height, 0.11), 0.05).tilt(-12)
    return make_piece(
        "cushion",
        make_parts(BODY, pad.translate((0, 0.012, 0))),
        {BODY: make_finish(draw.choice(("cloth", "striped", "fabric")), draw)},
        rule=SURFACE,
    )


@register_shape("cushion", "pair")
def make_cushion_pair(draw: RandomStream) -> Piece:
    """Two cushions, the smaller one in front."""
    side = draw.between(0.38, 0.42)
    back = make_rounded_box((side, side, 0.1), 0.045).tilt(-14).translate((0, 0.012, -0.04))
    front = make_rounded_box((side * 0.72, side * 0.72, 0.08), 0.038).tilt(-16).translate((0.03, 0.011, 0.07))
    made = make_parts(BODY, back) + make_parts("small", front)
    return make_piece(
        "cushion",
        made,
        {BODY: make_finish("fabric", draw), "small": make_finish(draw.choice(("striped", "cloth")), draw)},
        rule=SURFACE,
    )


@register_maker("magazine")
def make_magazine(draw: RandomStream) -> Piece:
    """Magazines that lie on top of each other."""
    made: list[SolidPart] = []
    for n in range(draw.integer(2, 4)):
        made += make_parts(
            BODY if n == 0 else f"cover {n % 3}",
            make_box((0.2, 0.004, 0.27), (0, 0.004 * n, 0)).rotate(draw.uniform(-12, 12)),
        )
    finishes = {BODY: make_finish("cover", draw), **{f"cover {n}": make_finish("cover", draw) for n in range(3)}}
    return make_piece("book", made, finishes, rule=SURFACE, name="magazines")


@register_maker("fruit_bowl")
def make_fruit_bowl(draw: RandomStream) -> Piece:
    """A bowl with apples or oranges."""
    bowl = make_wide_bowl(draw)
    radius = bowl.size[0] / 2
    made = list(bowl.parts)
    for n in range(5):
        size = draw.uniform(0.065, 0.08)
        at = (0.0, 0.045, 0.0) if n == 4 else (radius * 0.42, 0.012, 0.0)
        made += make_parts(
            "fruit", make_ellipsoid((size, size, size), at, sides=9, rings=6).rotate(90 * n + draw.uniform(-15, 15))
        )
    finishes = {**bowl.finishes, "fruit": make_finish("cloth", draw, ("red", "orange", "green", "yellow"))}
    return make_piece("bowl", made, finishes, rule=SURFACE, name="fruit bowl")


@register_maker("tissue_box")
def make_tissue_box(draw: RandomStream) -> Piece:
    """A box of paper handkerchiefs."""
    made = make_parts(BODY, make_box((0.23, 0.07, 0.12))) + make_parts(
        "paper", make_lathe([(0.035, 0), (0.05, 0.03), (0.0, 0.05)], sides=7, stretch=(1, 0.4)).translate((0, 0.065, 0))
    )
    return make_piece("box", made, make_finishes(draw, body="cover", paper="paper"), rule=SURFACE, name="tissue box")
