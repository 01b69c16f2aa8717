"""What stands in shops."""

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SupportSurface,
    make_parts,
    make_piece,
    register_maker,
)
from nav_eval_worlds.materials import make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_box_pair,
    make_cylinder,
    make_ellipsoid,
    make_rod,
    make_rounded_box,
)


@register_maker("checkout_counter")
def make_checkout_counter(draw: RandomStream) -> Piece:
    """A shop's counter with a till."""
    width, depth, height = draw.between(1.4, 1.9), draw.between(0.6, 0.7), draw.between(0.88, 0.95)
    made = make_parts(BODY, make_box((width, height - 0.04, depth - 0.04), (0, 0, 0)))
    made += make_parts("top", make_box((width + 0.03, 0.04, depth), (0, height - 0.04, 0)))
    till = [
        make_rounded_box((0.34, 0.1, 0.36), 0.015, (-width * 0.25, height, 0)),
        make_box((0.28, 0.2, 0.02)).tilt(-18).translate((-width * 0.25, height + 0.1, 0.02)),
    ]
    made += make_parts("till", *till)
    top = SupportSurface(
        x=(-width * 0.05, width / 2 - 0.05), z=(-depth / 2 + 0.05, depth / 2 - 0.05), y=height, kind="counter top"
    )
    finishes = make_finishes(draw, body=("wood", "lacquer"), top=("stone", "wood"), till={"plastic": ("black", "grey")})
    return make_piece("counter", made, finishes, surfaces=[top], clearance=0.6, name="checkout counter")


@register_maker("gondola")
def make_gondola(draw: RandomStream) -> Piece:
    """Shop shelves that are open to both sides."""
    width, height, depth = draw.between(1.2, 1.6), draw.between(1.35, 1.55), draw.between(0.7, 0.85)
    made = make_parts(
        BODY, make_box((width, height, 0.03)), make_box((width, 0.14, depth)), *_make_gondola_ends(width, height)
    )
    surfaces = []
    levels = [0.14, 0.48, 0.8, 1.1]
    for level in levels[1:]:
        made += make_parts(
            "boards", *(make_box((width, 0.025, depth / 2 - 0.04), (0, level - 0.025, s * depth / 4)) for s in (-1, 1))
        )
    for number, level in enumerate(levels):
        room = 0.24 if number < 3 else 0.3
        for low, high in ((0.03, depth / 2 - 0.04), (-depth / 2 + 0.04, -0.03)):
            surfaces.append(
                SupportSurface(
                    x=(-width / 2 + 0.04, width / 2 - 0.04), z=(low, high), y=level, kind="products", headroom=room
                )
            )
    finishes = make_finishes(draw, body={"enamel": ("white", "light grey", "dark grey")}, boards=("wood", "enamel"))
    return make_piece("shelf", made, finishes, rule=PlacementRule.MIDDLE, surfaces=surfaces, name="shop shelf")


def _make_gondola_ends(width: float, height: float) -> list[SolidMesh]:
    return make_box_pair((0.03, height, 0.08), (width / 2 - 0.015, 0, 0))


@register_maker("wall_gondola")
def make_wall_gondola(draw: RandomStream) -> Piece:
    """Tall shop shelves at a wall."""
    width, height, depth = draw.between(0.95, 1.3), draw.between(1.9, 2.1), draw.between(0.42, 0.5)
    made = make_parts(
        BODY,
        make_box((width, height, 0.03), (0, 0, -depth / 2 + 0.015)),
        make_box((width, 0.14, depth)),
        *make_box_pair((0.03, height, 0.08), (width / 2 - 0.015, 0, -depth / 2 + 0.04)),
    )
    levels = [0.14, 0.5, 0.86, 1.22, 1.58]
    made += make_parts("boards", *(make_box((width, 0.025, depth - 0.04), (0, y - 0.025, 0.0)) for y in levels[1:]))
    surfaces = [
        SupportSurface(
            x=(-width / 2 + 0.05, width / 2 - 0.05),
            z=(-depth / 2 + 0.06, depth / 2 - 0.04),
            y=y,
            kind="products",
            headroom=0.28,
        )
        for y in levels
    ]
    finishes = make_finishes(draw, body={"enamel": ("white", "light grey", "dark grey")}, boards=("wood", "enamel"))
    return make_piece("shelf", made, finishes, surfaces=surfaces, clearance=0.6, name="shop shelf")


@register_maker("clothes_rack")
def make_clothes_rack(draw: RandomStream) -> Piece:
    """A rail full of clothes."""
    width, height = draw.between(1.1, 1.5), draw.between(1.35, 1.5)
    made = make_parts(
        "frame",
        make_rod((-width / 2 + 0.02, height, 0), (width / 2 - 0.02, height, 0), 0.014),
        *(
            make_rod((side * (width / 2 - 0.02), 0.03, 0), (side * (width / 2 - 0.02), height, 0), 0.014)
            for side in (-1, 1)
        ),
        *(make_box((0.04, 0.03, 0.5), (side * (width / 2 - 0.02), 0, 0)) for side in (-1, 1)),
    )
    count = draw.integer(9, 14)
    for n in range(count):
        x = -width / 2 + 0.1 + (width - 0.2) * (n + 0.5) / count
        long = draw.uniform(0.7, 1.0)
        made += make_parts(
            BODY if n % 4 == 0 else f"clothes {n % 4}",
            make_rounded_box((0.04, long, 0.42), 0.012, (x, height - 0.03 - long, 0)),
        )
    finishes = {
        BODY: make_finish("cloth", draw),
        "frame": make_finish("metal", draw),
        **{f"clothes {n}": make_finish("cloth", draw) for n in (1, 2, 3)},
    }
    return make_piece("clothes rack", made, finishes, rule=PlacementRule.MIDDLE)


@register_maker("display_case")
def make_display_case(draw: RandomStream) -> Piece:
    """A glass case on a base."""
    width, depth, height = draw.between(0.9, 1.3), draw.between(0.45, 0.55), draw.between(1.0, 1.15)
    made = make_parts(
        BODY,
        make_box((width, 0.55, depth)),
        *(
            make_box((0.02, height - 0.55, 0.02), (sx * (width / 2 - 0.01), 0.55, sz * (depth / 2 - 0.01)))
            for sx in (-1, 1)
            for sz in (-1, 1)
        ),
        *(make_box((width, 0.02, 0.02), (0, height - 0.02, sz * (depth / 2 - 0.01))) for sz in (-1, 1)),
    )
    made += make_parts(
        "glass",
        make_box((width - 0.02, height - 0.57, 0.006), (0, 0.55, depth / 2 - 0.008)),
        make_box((width - 0.01, 0.006, depth - 0.01), (0, height - 0.01, 0)),
    )
    inner = SupportSurface(
        x=(-width / 2 + 0.06, width / 2 - 0.06),
        z=(-depth / 2 + 0.06, depth / 2 - 0.06),
        y=0.55,
        kind="display",
        headroom=height - 0.62,
    )
    finishes = make_finishes(draw, body=("wood", "lacquer"), glass="glass")
    return make_piece("display case", made, finishes, surfaces=[inner], clearance=0.5)


@register_maker("vending_machine")
def make_vending_machine(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(0.8, 0.95), draw.between(0.7, 0.8), draw.between(1.75, 1.85)
    made = make_parts(BODY, make_rounded_box((width, height, depth - 0.02), 0.015, (0, 0, -0.01)))
    made += make_parts(
        "window", make_box((width * 0.66, height * 0.6, 0.012), (-width * 0.12, height * 0.32, depth / 2 - 0.01))
    )
    for row in range(5):
        goods: list[SolidMesh] = [
            make_cylinder(
                0.028, 0.1, (-width * 0.38 + 0.085 * n, height * 0.34 + row * height * 0.11, depth / 2 + 0.0), sides=8
            )
            for n in range(6)
        ]
        made += make_parts(f"goods {row % 3}", *goods)
    made += make_parts(
        "panel",
        make_box((width * 0.18, 0.4, 0.02), (width * 0.36, height * 0.5, depth / 2 - 0.01)),
        make_box((width * 0.5, 0.14, 0.02), (-width * 0.1, 0.2, depth / 2 - 0.01)),
    )
    finishes = {
        BODY: make_finish("enamel", draw),
        "window": make_finish("plastic", draw, ("black",)),
        "panel": make_finish("plastic", draw, ("grey",)),
        **{f"goods {n}": make_finish("plastic", draw) for n in range(3)},
    }
    return make_piece("vending machine", made, finishes, clearance=0.6)


@register_maker("product")
def make_product(draw: RandomStream) -> Piece:
    """A packet, a tin or a bottle as shops sell them."""
    kind = draw.below(3)
    if kind == 0:
        made = make_parts(BODY, make_box((draw.between(0.08, 0.2), draw.between(0.12, 0.22), draw.between(0.05, 0.09))))
        return make_piece("box", made, {BODY: make_finish("cover", draw)}, rule=PlacementRule.SURFACE)
    radius, height = draw.between(0.035, 0.05), draw.between(0.1, 0.2)
    made = make_parts(BODY, make_cylinder(radius, height, sides=12)) + make_parts(
        "cap", make_cylinder(radius * 0.8, 0.015, (0, height, 0), sides=10)
    )
    made += make_parts("cap", make_ellipsoid((0.02, 0.01, 0.02), (0, height + 0.01, 0), sides=6, rings=3))
    finishes = {BODY: make_finish(draw.choice(("plastic", "cover")), draw), "cap": make_finish("metal", draw)}
    return make_piece("jar", made, finishes, rule=PlacementRule.SURFACE)
