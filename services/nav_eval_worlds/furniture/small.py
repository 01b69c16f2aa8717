"""Things that stand and lie on furniture."""

from nav_eval_worlds.colours import VIVID
from nav_eval_worlds.furniture.piece import BODY, Piece, PlacementRule, make_parts, make_piece, register_maker
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


@register_maker("book")
def make_book(draw: RandomStream) -> Piece:
    """A lying book."""
    width, depth, thick = draw.between(0.14, 0.18), draw.between(0.2, 0.25), draw.between(0.02, 0.045)
    made = make_parts(
        BODY,
        make_box((width, 0.004, depth)),
        make_box((width, 0.004, depth), (0, thick - 0.004, 0)),
        make_box((0.005, thick, depth), (-width / 2 + 0.0025, 0, 0)),
    )
    made += make_parts("pages", make_box((width - 0.012, thick - 0.008, depth - 0.01), (0.001, 0.004, 0)))
    finishes = make_finishes(draw, body="cover", pages="paper")
    return make_piece("book", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("book_row")
def make_book_row(draw: RandomStream) -> Piece:
    """Books that stand side by side on a shelf."""
    made, x = [], 0.0
    for n in range(draw.integer(6, 11)):
        thick, height, depth = draw.between(0.02, 0.05), draw.between(0.17, 0.25), draw.between(0.13, 0.17)
        slot = BODY if n % 4 == 0 else f"cover {n % 4}"
        made += make_parts(slot, make_box((thick - 0.002, height, depth), (x + thick / 2, 0, 0.085 - depth / 2)))
        x += thick
    finishes = {BODY: make_finish("cover", draw), **{f"cover {n}": make_finish("cover", draw) for n in (1, 2, 3)}}
    return make_piece("books", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("cup")
def make_cup(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.08, 0.11), draw.between(0.035, 0.045)
    made = make_parts(
        BODY,
        make_lathe(
            [(0, 0), (radius * 0.8, 0), (radius, height), (radius * 0.9, height), (radius * 0.75, 0.01), (0, 0.01)],
            sides=14,
        ),
        make_rod((radius * 0.9, height * 0.8, 0), (radius * 1.6, height * 0.6, 0), 0.006, sides=6),
        make_rod((radius * 1.6, height * 0.6, 0), (radius * 0.85, height * 0.25, 0), 0.006, sides=6),
    )
    return make_piece("cup", made, {BODY: make_finish("pottery", draw)}, rule=PlacementRule.SURFACE)


@register_maker("plate")
def make_plate(draw: RandomStream) -> Piece:
    radius = draw.between(0.1, 0.135)
    made = make_parts(
        BODY,
        make_lathe(
            [(0, 0), (radius * 0.6, 0), (radius, 0.02), (radius * 0.98, 0.024), (radius * 0.6, 0.008), (0, 0.008)],
            sides=18,
        ),
    )
    return make_piece("plate", made, {BODY: make_finish("pottery", draw)}, rule=PlacementRule.SURFACE)


@register_maker("bowl")
def make_bowl(draw: RandomStream) -> Piece:
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
    made = make_parts(BODY, make_lathe(profile, sides=18, smooth=True))
    spots = [(0.45, 0), (-0.25, 0.4), (-0.25, -0.4), (0.05, 0.05)]
    for n, (x, z) in enumerate(spots):
        size = radius * 0.62
        made += make_parts(
            f"fruit {n % 2}",
            make_ellipsoid(
                (size, size, size), (x * radius, height * (0.35 if n < 3 else 0.85), z * radius), sides=9, rings=6
            ),
        )
    fruits = {f"fruit {n}": make_finish("plastic", draw, ("red", "orange", "yellow", "green")) for n in (0, 1)}
    finishes = {BODY: make_finish(draw.choice(("pottery", "wood")), draw), **fruits}
    return make_piece("bowl", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("bottle")
def make_bottle(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.22, 0.32), draw.between(0.032, 0.042)
    profile = [
        (0, 0),
        (radius, 0),
        (radius, height * 0.55),
        (radius * 0.35, height * 0.75),
        (radius * 0.35, height * 0.95),
        (0, height * 0.95),
    ]
    made = make_parts(BODY, make_lathe(profile, sides=12))
    made += make_parts("cap", make_cylinder(radius * 0.4, height * 0.06, (0, height * 0.94, 0), sides=8))
    made += make_parts("label", make_lathe([(radius * 1.02, height * 0.16), (radius * 1.02, height * 0.45)], sides=12))
    finishes = make_finishes(draw, body="glassware", cap="plastic", label="paper")
    return make_piece("bottle", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("jar")
def make_jar(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.12, 0.18), draw.between(0.045, 0.06)
    made = make_parts(
        BODY,
        make_lathe(
            [(0, 0), (radius, 0), (radius, height * 0.8), (radius * 0.85, height * 0.86), (0, height * 0.86)], sides=14
        ),
    )
    made += make_parts("lid", make_cylinder(radius * 0.9, height * 0.14, (0, height * 0.86, 0), sides=14))
    finishes = make_finishes(draw, body="pottery", lid=("wood", "metal"))
    return make_piece("jar", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("cardboard_box")
def make_cardboard_box(draw: RandomStream) -> Piece:
    width, height, depth = draw.between(0.26, 0.4), draw.between(0.18, 0.3), draw.between(0.24, 0.34)
    made = make_parts(BODY, make_box((width, height, depth)))
    made += make_parts("tape", make_box((0.05, height + 0.002, depth + 0.002)))
    finishes = make_finishes(draw, body="cardboard", tape={"plastic": ("white", "yellow")})
    return make_piece("box", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("storage_box")
def make_storage_box(draw: RandomStream) -> Piece:
    width, height, depth = draw.between(0.24, 0.36), draw.between(0.16, 0.24), draw.between(0.22, 0.3)
    made = make_parts(BODY, make_box((width, height - 0.025, depth)))
    made += make_parts("lid", make_box((width + 0.015, 0.025, depth + 0.015), (0, height - 0.025, 0)))
    finishes = make_finishes(draw, body="plastic", lid={"plastic": ("white", "grey")})
    return make_piece("box", made, finishes, rule=PlacementRule.SURFACE, name="storage box")


@register_maker("ball")
def make_ball(draw: RandomStream) -> Piece:
    size = draw.between(0.14, 0.24)
    made = make_parts(BODY, make_ellipsoid((size, size, size), sides=14, rings=10))
    finishes = {BODY: make_finish("plastic", draw, VIVID)}
    return make_piece("toy", made, finishes, rule=PlacementRule.SURFACE, name="ball")


@register_maker("toy_blocks")
def make_toy_blocks(draw: RandomStream) -> Piece:
    """A pile of building blocks."""
    side = draw.between(0.05, 0.07)
    places = [(-0.6, 0, 0), (0.6, 0, 0.1), (0, 0, 0.9), (0, 1, 0.1), (0.9, 0, 1.2)]
    made = []
    for n, (x, y, z) in enumerate(places):
        made += make_parts(
            BODY if n % 3 == 0 else f"block {n % 3}",
            make_box((side, side, side)).rotate(17 * n).translate((x * side, y * side, z * side)),
        )
    finishes = {slot: make_finish("bright lacquer", draw) for slot in (BODY, "block 1", "block 2")}
    return make_piece("toy", made, finishes, rule=PlacementRule.SURFACE, name="building blocks")


@register_maker("teddy_bear")
def make_teddy_bear(draw: RandomStream) -> Piece:
    size = draw.between(0.22, 0.34)
    made = make_parts(
        BODY,
        make_ellipsoid((size * 0.6, size * 0.6, size * 0.5)),
        make_ellipsoid((size * 0.45, size * 0.42, size * 0.42), (0, size * 0.52, 0)),
    )
    for side in (-1, 1):
        made += make_parts(
            BODY,
            make_ellipsoid(
                (size * 0.16, size * 0.16, size * 0.08), (side * size * 0.18, size * 0.84, 0), sides=8, rings=5
            ),
            make_ellipsoid((size * 0.2, size * 0.2, size * 0.4), (side * size * 0.2, 0, size * 0.22), sides=8, rings=5),
            make_ellipsoid(
                (size * 0.16, size * 0.34, size * 0.18),
                (side * size * 0.32, size * 0.22, size * 0.08),
                sides=8,
                rings=5,
            ),
        )
        made += make_parts(
            "face", make_ellipsoid((size * 0.05,) * 3, (side * size * 0.09, size * 0.74, size * 0.19), sides=6, rings=4)
        )
    made += make_parts("face", make_ellipsoid((size * 0.08,) * 3, (0, size * 0.62, size * 0.2), sides=6, rings=4))
    finishes = make_finishes(draw, body={"fabric": ("brown", "beige", "pink", "white")}, face={"plastic": ("black",)})
    return make_piece("toy", made, finishes, rule=PlacementRule.SURFACE, name="teddy bear")


@register_maker("toy_car")
def make_toy_car(draw: RandomStream) -> Piece:
    made = make_parts(
        BODY,
        make_rounded_box((0.09, 0.05, 0.2), 0.015, (0, 0.02, 0)),
        make_rounded_box((0.08, 0.045, 0.1), 0.015, (0, 0.065, -0.01)),
    )
    wheel = make_cylinder(0.025, 0.02, sides=10).tilt(90, axis=2)
    made += make_parts("wheels", *(wheel.translate((x, 0.025, z)) for x in (-0.035, 0.055) for z in (-0.06, 0.06)))
    finishes = make_finishes(draw, body="car paint", wheels="rubber")
    return make_piece("toy", made, finishes, rule=PlacementRule.SURFACE, name="toy car")


@register_maker("shoes")
def make_shoes(draw: RandomStream) -> Piece:
    """A pair."""
    made = []
    for side in (-1, 1):
        made += make_parts(
            BODY,
            make_rounded_box((0.09, 0.06, 0.25), 0.025, (side * 0.06, 0.02, 0)),
            make_rounded_box((0.085, 0.06, 0.12), 0.02, (side * 0.06, 0.06, -0.06)),
        )
        made += make_parts("sole", make_box((0.095, 0.022, 0.27), (side * 0.06, 0, 0)))
    finishes = make_finishes(draw, body=("leather", "fabric"), sole="rubber")
    return make_piece("shoes", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("bag")
def make_bag(draw: RandomStream) -> Piece:
    """A hand bag."""
    width, height = draw.between(0.28, 0.38), draw.between(0.22, 0.28)
    made = make_parts(
        BODY,
        make_rounded_box((width, height, 0.12), 0.03),
        make_rod((-width * 0.25, height - 0.01, 0), (-width * 0.2, height + 0.12, 0), 0.009, sides=6),
        make_rod((width * 0.25, height - 0.01, 0), (width * 0.2, height + 0.12, 0), 0.009, sides=6),
        make_rod((-width * 0.2, height + 0.12, 0), (width * 0.2, height + 0.12, 0), 0.009, sides=6),
    )
    made += make_parts("clasp", make_box((0.04, 0.03, 0.01), (0, height * 0.7, 0.06)))
    finishes = make_finishes(draw, body=("leather", "fabric"), clasp="brass")
    return make_piece("bag", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("cushion")
def make_cushion(draw: RandomStream) -> Piece:
    """A throw pillow that leans back."""
    side = draw.between(0.36, 0.44)
    pad = make_rounded_box((side, side, 0.13), 0.06).tilt(-22).translate((0, 0.03, 0))
    made = make_parts(BODY, pad)
    finishes = {BODY: make_finish(draw.choice(("cloth", "striped", "fabric")), draw)}
    return make_piece("cushion", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("folded_clothes")
def make_folded_clothes(draw: RandomStream) -> Piece:
    width, depth = draw.between(0.28, 0.36), draw.between(0.22, 0.28)
    made = []
    for n in range(draw.integer(2, 4)):
        made += make_parts(
            BODY if n == 0 else f"cloth {n % 2}",
            make_rounded_box((width - 0.01 * n, 0.035, depth), 0.012, (0, 0.034 * n, 0)),
        )
    finishes = {slot: make_finish("cloth", draw) for slot in (BODY, "cloth 0", "cloth 1")}
    return make_piece("clothes", made, finishes, rule=PlacementRule.SURFACE, name="folded clothes")


@register_maker("folded_towels")
def make_folded_towels(draw: RandomStream) -> Piece:
    cloth = make_finish("cloth", draw)
    made = make_parts(
        BODY, *(make_rounded_box((0.3, 0.05, 0.2), 0.02, (0, 0.048 * n, 0)) for n in range(draw.integer(2, 3)))
    )
    return make_piece("towel", made, {BODY: cloth}, rule=PlacementRule.SURFACE, name="folded towels")


@register_maker("umbrella_stand")
def make_umbrella_stand(draw: RandomStream) -> Piece:
    made = make_parts(
        BODY, make_double_sided(make_lathe([(0.1, 0), (0.12, 0.45)], sides=14)), make_cylinder(0.1, 0.01, sides=14)
    )
    made += make_parts(
        "umbrella",
        make_lathe([(0.005, 0.02), (0.04, 0.5), (0.01, 0.75)], sides=8).tilt(6),
        make_rod((0.0, 0.7, 0), (0.0, 0.85, 0), 0.012, sides=6).tilt(6),
    )
    finishes = make_finishes(draw, body=("metal", "pottery", "wicker"), umbrella="cloth")
    return make_piece("umbrella stand", made, finishes, rule=PlacementRule.CORNER)
