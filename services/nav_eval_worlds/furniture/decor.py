"""Plants, pictures, rugs and what else makes a room look lived in."""

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    SupportSurface,
    make_parts,
    make_piece,
    make_top_surface,
    register_maker,
)
from nav_eval_worlds.materials import make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_box_pair,
    make_cylinder,
    make_double_sided,
    make_ellipsoid,
    make_folds,
    make_lathe,
    make_level_picture,
    make_picture,
    make_quad,
    make_rod,
    make_round_picture,
    make_rounded_box,
)


@register_maker("plant")
def make_plant(draw: RandomStream) -> Piece:
    """A large plant in a pot on the floor."""
    radius, pot = draw.between(0.14, 0.2), draw.between(0.26, 0.36)
    made = _make_pot(radius, pot)
    if draw.chance(0.5):
        made += make_parts(BODY, *_make_blades(draw, pot - 0.03, draw.between(0.6, 0.9), draw.integer(10, 14)))
    else:
        made += _make_bush(draw, pot, draw.between(0.55, 0.9))
    finishes = make_finishes(draw, body="leaf", pot=("pottery", "wicker"), soil="soil", stem={"wood": ("brown",)})
    return make_piece("plant", made, finishes, rule=PlacementRule.CORNER)


@register_maker("small_plant")
def make_small_plant(draw: RandomStream) -> Piece:
    radius, pot = draw.between(0.05, 0.08), draw.between(0.08, 0.12)
    made = _make_pot(radius, pot)
    made += make_parts(BODY, *_make_blades(draw, pot - 0.01, draw.between(0.14, 0.24), 9, width=0.025))
    finishes = make_finishes(draw, body="leaf", pot="pottery", soil="soil")
    return make_piece("plant", made, finishes, rule=PlacementRule.SURFACE, name="potted plant")


@register_maker("vase")
def make_vase(draw: RandomStream) -> Piece:
    """A vase, sometimes with flowers."""
    height, radius = draw.between(0.18, 0.34), draw.between(0.05, 0.085)
    neck = radius * draw.between(0.4, 0.8)
    profile = [
        (0, 0),
        (radius * 0.6, 0),
        (radius, height * 0.4),
        (neck, height * 0.8),
        (neck * 1.25, height),
        (neck * 1.1, height),
        (neck * 0.8, height * 0.82),
        (0, height * 0.8),
    ]
    made = make_parts(BODY, make_lathe(profile, sides=16, smooth=True))
    if draw.chance(0.5):
        for _ in range(5):
            tip = (draw.uniform(-0.1, 0.1), height + draw.uniform(0.12, 0.24), draw.uniform(-0.1, 0.1))
            made += make_parts("stem", make_rod((0, height * 0.85, 0), tip, 0.004, sides=5))
            made += make_parts(
                "petals", make_ellipsoid((0.06, 0.045, 0.06), (tip[0], tip[1] - 0.01, tip[2]), sides=7, rings=4)
            )
    finishes = make_finishes(
        draw,
        body=("pottery", "glassware"),
        stem={"leaf": ("green",)},
        petals={"cloth": ("red", "yellow", "pink", "white", "purple", "orange")},
    )
    return make_piece("vase", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("painting")
def make_painting(draw: RandomStream) -> Piece:
    """A framed painting, wide or upright."""
    width, height = draw.choice(((0.9, 0.6), (0.7, 0.5), (1.1, 0.7), (0.5, 0.7), (0.65, 0.65)))
    return _make_framed_picture(
        draw, "painting", width + draw.between(-0.05, 0.05), height + draw.between(-0.05, 0.05), "painting", border=0.03
    )


@register_maker("photo")
def make_photo(draw: RandomStream) -> Piece:
    """A smaller framed picture with a mount."""
    width, height = draw.choice(((0.3, 0.4), (0.4, 0.3), (0.35, 0.35), (0.25, 0.35)))
    return _make_framed_picture(
        draw,
        "picture",
        width + draw.between(-0.02, 0.04),
        height + draw.between(-0.02, 0.04),
        "photo",
        border=0.02,
        mount=0.04,
    )


@register_maker("clock")
def make_clock(draw: RandomStream) -> Piece:
    radius = draw.between(0.13, 0.2)
    rim = make_cylinder(radius, 0.04, sides=24).tilt(90).translate((0, radius, -0.02))
    made = make_parts(BODY, rim) + make_parts("dial", make_round_picture(radius * 0.92, (0, radius, 0.0212)))
    finishes = make_finishes(draw, body=("wood", "plastic", "metal"), dial="dial")
    return make_piece("clock", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("rug")
def make_rug(draw: RandomStream) -> Piece:
    return _make_rug(draw, draw.between(1.5, 2.3), draw.between(1.1, 1.6))


@register_maker("runner")
def make_runner(draw: RandomStream) -> Piece:
    """A long, narrow rug."""
    return _make_rug(draw, draw.between(1.4, 2.2), draw.between(0.55, 0.7))


@register_maker("bath_mat")
def make_bath_mat(draw: RandomStream) -> Piece:
    width, depth = draw.between(0.55, 0.75), draw.between(0.4, 0.5)
    made = make_parts(BODY, make_rounded_box((width, 0.012, depth), 0.005))
    return make_piece("rug", made, {BODY: make_finish("cloth", draw)}, rule=PlacementRule.FLAT, name="bath mat")


@register_maker("curtain")
def make_curtain(draw: RandomStream) -> Piece:
    """One half of a pair; the placer puts one on each side of a window."""
    width, height = draw.between(0.28, 0.4), 2.2
    made = make_parts(BODY, make_folds(width, height - 0.1, depth=0.06, count=4, at=(0, 0.03, 0))) + make_parts(
        "rail", make_rod((-width / 2 - 0.03, height - 0.05, 0), (width / 2 + 0.03, height - 0.05, 0), 0.012)
    )
    finishes = make_finishes(draw, body=("cloth", "striped", "linen"), rail="metal")
    return make_piece("curtain", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("radiator")
def make_radiator(draw: RandomStream) -> Piece:
    width, height = draw.between(0.6, 1.0), draw.between(0.5, 0.62)
    ribs = round(width / 0.07)
    made = make_parts(
        BODY,
        *(
            make_rounded_box((0.05, height, 0.08), 0.015, (-width / 2 + width * (n + 0.5) / ribs, 0.1, 0))
            for n in range(ribs)
        ),
        *(make_box((width - 0.04, 0.03, 0.03), (0, y, 0)) for y in (0.14, height + 0.02)),
        *(
            make_rod((side * (width / 2 - 0.06), 0, 0), (side * (width / 2 - 0.06), 0.14, 0), 0.01, sides=6)
            for side in (-1, 1)
        ),
    )
    return make_piece("radiator", made, {BODY: make_finish("enamel", draw, ("white",))})


@register_maker("fireplace")
def make_fireplace(draw: RandomStream) -> Piece:
    """A chimney piece with a dark opening and logs."""
    width, height, depth = draw.between(1.2, 1.5), draw.between(1.0, 1.15), draw.between(0.35, 0.42)
    side, opening = 0.25, height - 0.32
    made = make_parts(
        BODY,
        *make_box_pair((side, height - 0.06, depth), ((width - side) / 2, 0, 0)),
        make_box((width - 2 * side, height - 0.06 - opening, depth), (0, opening, 0)),
    )
    made += make_parts("mantel", make_box((width + 0.1, 0.06, depth + 0.05), (0, height - 0.06, 0.0)))
    made += make_parts(
        "hearth",
        make_box((width - 2 * side, opening, 0.05), (0, 0, -depth / 2 + 0.025)),
        make_box((width - 2 * side, 0.03, depth), (0, 0, 0)),
    )
    made += make_parts(
        "logs",
        *(
            make_rod((-0.22, 0.07 + 0.07 * n, 0.03 * n), (0.22, 0.07 + 0.05 * n, -0.03 * n), 0.04, sides=7)
            for n in range(3)
        ),
    )
    shelf = make_top_surface((width, height, depth), "console", margin=(0, 0.03))
    finishes = make_finishes(
        draw,
        body=("stone", "brick", "lacquer"),
        mantel=("wood", "stone"),
        hearth={"plastic": ("black",)},
        logs={"wood": ("brown",)},
    )
    return make_piece("fireplace", made, finishes, surfaces=[shelf], clearance=0.6)


@register_maker("piano")
def make_piano(draw: RandomStream) -> Piece:
    """An upright piano."""
    width, height, depth = draw.between(1.35, 1.48), draw.between(1.1, 1.22), 0.6
    body = make_finish(*draw.choice((("wood", draw, ("dark brown", "brown")), ("lacquer", draw, ("black", "white")))))
    made = make_parts(
        BODY,
        make_box((width, height, 0.32), (0, 0, -depth / 2 + 0.16)),
        make_box((width, 0.09, depth - 0.32), (0, 0.62, 0.14)),
        *make_box_pair((0.08, 0.62, 0.08), (width / 2 - 0.05, 0, depth / 2 - 0.06)),
    )
    made += make_parts("white", make_box((width - 0.12, 0.015, 0.15), (0, 0.71, 0.16)))
    made += make_parts(
        "black",
        *(
            make_box((0.014, 0.012, 0.09), (-width / 2 + 0.1 + n * (width - 0.2) / 24, 0.725, 0.13))
            for n in range(25)
            if n % 7 not in (2, 6)
        ),
        *(make_box((0.03, 0.02, 0.08), (x, 0.04, -0.1)) for x in (-0.08, 0.0, 0.08)),
    )
    top = SupportSurface(
        x=(-width / 2 + 0.05, width / 2 - 0.05), z=(-depth / 2 + 0.03, -depth / 2 + 0.28), y=height, kind="console"
    )
    finishes = {BODY: body, "white": make_finish("paper", draw), "black": make_finish("plastic", draw, ("black",))}
    return make_piece("piano", made, finishes, surfaces=[top], clearance=0.7)


def _make_framed_picture(
    draw: RandomStream, category: str, width: float, height: float, kind: str, *, border: float, mount: float = 0.0
) -> Piece:
    made = make_parts(
        BODY,
        *_make_bars(width, height, border),
        make_box((width - border, height - border, 0.01), (0, border / 2, -0.008)),
    )
    inner = (width - 2 * border, height - 2 * border)
    if mount:
        made += make_parts("mount", make_picture(*inner, (0, border, 0.0)))
    made += make_parts("art", make_picture(inner[0] - 2 * mount, inner[1] - 2 * mount, (0, border + mount, 0.004)))
    finishes = {
        BODY: make_finish(draw.choice(("wood", "lacquer", "brass")), draw),
        "mount": make_finish("paper", draw),
        "art": make_finish(kind, draw),
    }
    return make_piece(category, made, finishes, rule=PlacementRule.ON_WALL)


def _make_bars(width: float, height: float, bar: float) -> list[SolidMesh]:
    sides = make_box_pair((bar, height, 0.03), ((width - bar) / 2, 0, 0))
    return sides + [make_box((width - 2 * bar, bar, 0.03), (0, y, 0)) for y in (0, height - bar)]


def _make_rug(draw: RandomStream, width: float, depth: float) -> Piece:
    made = make_parts("rim", make_box((width, 0.008, depth)))
    made += make_parts(BODY, make_level_picture(width, depth, (0, 0.0085, 0)))
    weave = make_finish("rug", draw)
    return make_piece("rug", made, {BODY: weave, "rim": weave}, rule=PlacementRule.FLAT)


def _make_pot(radius: float, height: float) -> list[SolidPart]:
    rim = make_lathe(
        [(0, 0), (radius * 0.7, 0), (radius, height), (radius * 0.88, height), (radius * 0.86, height - 0.04)], sides=16
    )
    return make_parts("pot", rim) + make_parts(
        "soil", make_cylinder(radius * 0.88, 0.01, (0, height - 0.05, 0), sides=14)
    )


def _make_blades(draw: RandomStream, base: float, length: float, count: int, *, width: float = 0.07) -> list[SolidMesh]:
    """Long bent leaves around the stem."""
    leaves: list[SolidMesh] = []
    for n in range(count):
        reach, rise = length * draw.uniform(0.25, 0.5), length * draw.uniform(0.65, 1.0)
        half = width / 2
        lower = make_quad(
            (-half * 0.5, base, 0.01),
            (half * 0.5, base, 0.01),
            (half, base + rise * 0.6, reach * 0.45),
            (-half, base + rise * 0.6, reach * 0.45),
        )
        upper = make_quad(
            (-half, base + rise * 0.6, reach * 0.45),
            (half, base + rise * 0.6, reach * 0.45),
            (half * 0.15, base + rise * 0.92, reach),
            (-half * 0.15, base + rise * 0.92, reach),
        )
        leaves.extend(
            make_double_sided(part).rotate(360 * n / count + draw.uniform(-15, 15)) for part in (lower, upper)
        )
    return leaves


def _make_bush(draw: RandomStream, base: float, height: float) -> list[SolidPart]:
    """A little tree of leafy balls."""
    made = make_parts("stem", make_rod((0, base - 0.05, 0), (0, base + height * 0.5, 0), 0.018, sides=7))
    for n in range(draw.integer(5, 7)):
        size = draw.uniform(0.2, 0.32)
        x, z = draw.uniform(-0.14, 0.14), draw.uniform(-0.14, 0.14)
        made += make_parts(
            BODY, make_ellipsoid((size, size * 0.9, size), (x, base + height * (0.35 + 0.1 * n), z), sides=8, rings=5)
        )
    return made
