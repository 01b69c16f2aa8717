"""Things that stand and lie on furniture."""

from nav_eval.scene.houses.colours import VIVID
from nav_eval.scene.houses.finishes import finish
from nav_eval.scene.houses.furniture.piece import BODY, Piece, Rule, maker, parts, piece
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import both_sides, box, cylinder, ellipsoid, lathe, rod, rounded_box


@maker
def book(draw: Draw) -> Piece:
    """A lying book."""
    width, depth, thick = draw.between(0.14, 0.18), draw.between(0.2, 0.25), draw.between(0.02, 0.045)
    made = parts(
        BODY,
        box((width, 0.004, depth)),
        box((width, 0.004, depth), (0, thick - 0.004, 0)),
        box((0.005, thick, depth), (-width / 2 + 0.0025, 0, 0)),
    )
    made += parts("pages", box((width - 0.012, thick - 0.008, depth - 0.01), (0.001, 0.004, 0)))
    return piece("book", made, {BODY: finish("cover", draw), "pages": finish("paper", draw)}, rule=Rule.SURFACE)


@maker
def book_row(draw: Draw) -> Piece:
    """Books that stand side by side on a shelf."""
    made, x = [], 0.0
    for n in range(draw.integer(6, 11)):
        thick, height, depth = draw.between(0.02, 0.05), draw.between(0.17, 0.25), draw.between(0.13, 0.17)
        slot = BODY if n % 4 == 0 else f"cover {n % 4}"
        made += parts(slot, box((thick - 0.002, height, depth), (x + thick / 2, 0, 0.085 - depth / 2)))
        x += thick
    finishes = {BODY: finish("cover", draw), **{f"cover {n}": finish("cover", draw) for n in (1, 2, 3)}}
    return piece("books", made, finishes, rule=Rule.SURFACE)


@maker
def cup(draw: Draw) -> Piece:
    height, radius = draw.between(0.08, 0.11), draw.between(0.035, 0.045)
    made = parts(
        BODY,
        lathe(
            [(0, 0), (radius * 0.8, 0), (radius, height), (radius * 0.9, height), (radius * 0.75, 0.01), (0, 0.01)],
            sides=14,
        ),
    )
    made += parts(
        BODY,
        rod((radius * 0.9, height * 0.8, 0), (radius * 1.6, height * 0.6, 0), 0.006, sides=6),
        rod((radius * 1.6, height * 0.6, 0), (radius * 0.85, height * 0.25, 0), 0.006, sides=6),
    )
    return piece("cup", made, {BODY: finish("pottery", draw)}, rule=Rule.SURFACE)


@maker
def plate(draw: Draw) -> Piece:
    radius = draw.between(0.1, 0.135)
    made = parts(
        BODY,
        lathe(
            [(0, 0), (radius * 0.6, 0), (radius, 0.02), (radius * 0.98, 0.024), (radius * 0.6, 0.008), (0, 0.008)],
            sides=18,
        ),
    )
    return piece("plate", made, {BODY: finish("pottery", draw)}, rule=Rule.SURFACE)


@maker
def bowl(draw: Draw) -> Piece:
    """A bowl of fruit."""
    radius, height = draw.between(0.11, 0.15), draw.between(0.06, 0.09)
    profile = [
        (0, 0),
        (radius * 0.5, 0),
        (radius * 0.85, height * 0.5),
        (radius, height),
        (radius * 0.94, height),
        (radius * 0.75, height * 0.5),
        (0, height * 0.3),
    ]
    made = parts(BODY, lathe(profile, sides=18, smooth=True))
    spots = [(0.45, 0), (-0.25, 0.4), (-0.25, -0.4), (0.05, 0.05)]
    for n, (x, z) in enumerate(spots):
        size = radius * 0.62
        made += parts(
            f"fruit {n % 2}",
            ellipsoid(
                (size, size, size), (x * radius, height * (0.35 if n < 3 else 0.85), z * radius), sides=9, rings=6
            ),
        )
    fruits = {f"fruit {n}": finish("plastic", draw, ("red", "orange", "yellow", "green")) for n in (0, 1)}
    return piece("bowl", made, {BODY: finish(draw.choice(("pottery", "wood")), draw), **fruits}, rule=Rule.SURFACE)


@maker
def bottle(draw: Draw) -> Piece:
    height, radius = draw.between(0.22, 0.32), draw.between(0.032, 0.042)
    profile = [
        (0, 0),
        (radius, 0),
        (radius, height * 0.55),
        (radius * 0.35, height * 0.75),
        (radius * 0.35, height * 0.95),
        (0, height * 0.95),
    ]
    made = parts(BODY, lathe(profile, sides=12)) + parts(
        "cap", cylinder(radius * 0.4, height * 0.06, (0, height * 0.94, 0), sides=8)
    )
    made += parts("label", lathe([(radius * 1.02, height * 0.16), (radius * 1.02, height * 0.45)], sides=12))
    return piece(
        "bottle",
        made,
        {BODY: finish("glassware", draw), "cap": finish("plastic", draw), "label": finish("paper", draw)},
        rule=Rule.SURFACE,
    )


@maker
def jar(draw: Draw) -> Piece:
    height, radius = draw.between(0.12, 0.18), draw.between(0.045, 0.06)
    made = parts(
        BODY,
        lathe(
            [(0, 0), (radius, 0), (radius, height * 0.8), (radius * 0.85, height * 0.86), (0, height * 0.86)], sides=14
        ),
    )
    made += parts("lid", cylinder(radius * 0.9, height * 0.14, (0, height * 0.86, 0), sides=14))
    return piece(
        "jar",
        made,
        {BODY: finish("pottery", draw), "lid": finish(draw.choice(("wood", "metal")), draw)},
        rule=Rule.SURFACE,
    )


@maker
def cardboard_box(draw: Draw) -> Piece:
    width, height, depth = draw.between(0.26, 0.4), draw.between(0.18, 0.3), draw.between(0.24, 0.34)
    made = parts(BODY, box((width, height, depth))) + parts("tape", box((0.05, height + 0.002, depth + 0.002)))
    return piece(
        "box",
        made,
        {BODY: finish("cardboard", draw), "tape": finish("plastic", draw, ("white", "yellow"))},
        rule=Rule.SURFACE,
    )


@maker
def storage_box(draw: Draw) -> Piece:
    width, height, depth = draw.between(0.24, 0.36), draw.between(0.16, 0.24), draw.between(0.22, 0.3)
    made = parts(BODY, box((width, height - 0.025, depth))) + parts(
        "lid", box((width + 0.015, 0.025, depth + 0.015), (0, height - 0.025, 0))
    )
    return piece(
        "box",
        made,
        {BODY: finish("plastic", draw), "lid": finish("plastic", draw, ("white", "grey"))},
        rule=Rule.SURFACE,
        name="storage box",
    )


@maker
def ball(draw: Draw) -> Piece:
    size = draw.between(0.14, 0.24)
    return piece(
        "toy",
        parts(BODY, ellipsoid((size, size, size), sides=14, rings=10)),
        {BODY: finish("plastic", draw, VIVID)},
        rule=Rule.SURFACE,
        name="ball",
    )


@maker
def toy_blocks(draw: Draw) -> Piece:
    """A pile of building blocks."""
    side = draw.between(0.05, 0.07)
    places = [(-0.6, 0, 0), (0.6, 0, 0.1), (0, 0, 0.9), (0, 1, 0.1), (0.9, 0, 1.2)]
    made = []
    for n, (x, y, z) in enumerate(places):
        made += parts(
            BODY if n % 3 == 0 else f"block {n % 3}",
            box((side, side, side)).turned(17 * n).moved((x * side, y * side, z * side)),
        )
    return piece(
        "toy",
        made,
        {
            BODY: finish("bright lacquer", draw),
            "block 1": finish("bright lacquer", draw),
            "block 2": finish("bright lacquer", draw),
        },
        rule=Rule.SURFACE,
        name="building blocks",
    )


@maker
def teddy_bear(draw: Draw) -> Piece:
    size = draw.between(0.22, 0.34)
    made = parts(
        BODY,
        ellipsoid((size * 0.6, size * 0.6, size * 0.5)),
        ellipsoid((size * 0.45, size * 0.42, size * 0.42), (0, size * 0.52, 0)),
    )
    for side in (-1, 1):
        made += parts(
            BODY,
            ellipsoid((size * 0.16, size * 0.16, size * 0.08), (side * size * 0.18, size * 0.84, 0), sides=8, rings=5),
        )
        made += parts(
            BODY, ellipsoid((size * 0.2, size * 0.2, size * 0.4), (side * size * 0.2, 0, size * 0.22), sides=8, rings=5)
        )
        made += parts(
            BODY,
            ellipsoid(
                (size * 0.16, size * 0.34, size * 0.18),
                (side * size * 0.32, size * 0.22, size * 0.08),
                sides=8,
                rings=5,
            ),
        )
        made += parts(
            "face", ellipsoid((size * 0.05,) * 3, (side * size * 0.09, size * 0.74, size * 0.19), sides=6, rings=4)
        )
    made += parts("face", ellipsoid((size * 0.08,) * 3, (0, size * 0.62, size * 0.2), sides=6, rings=4))
    return piece(
        "toy",
        made,
        {
            BODY: finish("fabric", draw, ("brown", "beige", "pink", "white")),
            "face": finish("plastic", draw, ("black",)),
        },
        rule=Rule.SURFACE,
        name="teddy bear",
    )


@maker
def toy_car(draw: Draw) -> Piece:
    made = parts(
        BODY,
        rounded_box((0.09, 0.05, 0.2), 0.015, (0, 0.02, 0)),
        rounded_box((0.08, 0.045, 0.1), 0.015, (0, 0.065, -0.01)),
    )
    wheel = cylinder(0.025, 0.02, sides=10).tilted(90, axis=2)
    made += parts("wheels", *(wheel.moved((x, 0.025, z)) for x in (-0.035, 0.055) for z in (-0.06, 0.06)))
    return piece(
        "toy",
        made,
        {BODY: finish("car paint", draw), "wheels": finish("rubber", draw)},
        rule=Rule.SURFACE,
        name="toy car",
    )


@maker
def shoes(draw: Draw) -> Piece:
    """A pair."""
    made = []
    for side in (-1, 1):
        made += parts(
            BODY,
            rounded_box((0.09, 0.06, 0.25), 0.025, (side * 0.06, 0.02, 0)),
            rounded_box((0.085, 0.06, 0.12), 0.02, (side * 0.06, 0.06, -0.06)),
        )
        made += parts("sole", box((0.095, 0.022, 0.27), (side * 0.06, 0, 0)))
    return piece(
        "shoes",
        made,
        {BODY: finish(draw.choice(("leather", "fabric")), draw), "sole": finish("rubber", draw)},
        rule=Rule.SURFACE,
    )


@maker
def bag(draw: Draw) -> Piece:
    """A hand bag."""
    width, height = draw.between(0.28, 0.38), draw.between(0.22, 0.28)
    made = parts(BODY, rounded_box((width, height, 0.12), 0.03))
    made += parts(
        BODY,
        rod((-width * 0.25, height - 0.01, 0), (-width * 0.2, height + 0.12, 0), 0.009, sides=6),
        rod((width * 0.25, height - 0.01, 0), (width * 0.2, height + 0.12, 0), 0.009, sides=6),
        rod((-width * 0.2, height + 0.12, 0), (width * 0.2, height + 0.12, 0), 0.009, sides=6),
    )
    made += parts("clasp", box((0.04, 0.03, 0.01), (0, height * 0.7, 0.06)))
    return piece(
        "bag",
        made,
        {BODY: finish(draw.choice(("leather", "fabric")), draw), "clasp": finish("brass", draw)},
        rule=Rule.SURFACE,
    )


@maker
def cushion(draw: Draw) -> Piece:
    """A throw pillow that leans back."""
    side = draw.between(0.36, 0.44)
    pad = rounded_box((side, side, 0.13), 0.06).tilted(-22).moved((0, 0.03, 0))
    return piece(
        "cushion",
        parts(BODY, pad),
        {BODY: finish(draw.choice(("cloth", "striped", "fabric")), draw)},
        rule=Rule.SURFACE,
    )


@maker
def folded_clothes(draw: Draw) -> Piece:
    width, depth = draw.between(0.28, 0.36), draw.between(0.22, 0.28)
    made = []
    for n in range(draw.integer(2, 4)):
        made += parts(
            BODY if n == 0 else f"cloth {n % 2}",
            rounded_box((width - 0.01 * n, 0.035, depth), 0.012, (0, 0.034 * n, 0)),
        )
    return piece(
        "clothes",
        made,
        {BODY: finish("cloth", draw), "cloth 0": finish("cloth", draw), "cloth 1": finish("cloth", draw)},
        rule=Rule.SURFACE,
        name="folded clothes",
    )


@maker
def folded_towels(draw: Draw) -> Piece:
    cloth = finish("cloth", draw)
    made = parts(BODY, *(rounded_box((0.3, 0.05, 0.2), 0.02, (0, 0.048 * n, 0)) for n in range(draw.integer(2, 3))))
    return piece("towel", made, {BODY: cloth}, rule=Rule.SURFACE, name="folded towels")


@maker
def umbrella_stand(draw: Draw) -> Piece:
    made = parts(BODY, both_sides(lathe([(0.1, 0), (0.12, 0.45)], sides=14)), cylinder(0.1, 0.01, sides=14))
    made += parts(
        "umbrella",
        lathe([(0.005, 0.02), (0.04, 0.5), (0.01, 0.75)], sides=8).tilted(6),
        rod((0.0, 0.7, 0), (0.0, 0.85, 0), 0.012, sides=6).tilted(6),
    )
    return piece(
        "umbrella stand",
        made,
        {BODY: finish(draw.choice(("metal", "pottery", "wicker")), draw), "umbrella": finish("cloth", draw)},
        rule=Rule.CORNER,
    )
