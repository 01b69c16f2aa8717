"""Plants, pictures, rugs and what else makes a room look lived in."""

from dataclasses import replace

import numpy as np

from nav_eval.scene.houses.finishes import finish
from nav_eval.scene.houses.furniture.piece import BODY, Part, Piece, Rule, Surface, maker, parts, piece
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import (
    Mesh,
    both_sides,
    box,
    cylinder,
    ellipsoid,
    folds,
    lathe,
    picture,
    quad,
    rod,
    rounded_box,
    spread,
)


@maker
def plant(draw: Draw) -> Piece:
    """A large plant in a pot on the floor."""
    radius, pot = draw.between(0.14, 0.2), draw.between(0.26, 0.36)
    made = _pot(radius, pot)
    if draw.chance(0.5):
        made += parts(BODY, *_blades(draw, pot - 0.03, draw.between(0.6, 0.9), draw.integer(10, 14)))
    else:
        made += _bush(draw, pot, draw.between(0.55, 0.9))
    finishes = {
        BODY: finish("leaf", draw),
        "pot": finish(draw.choice(("pottery", "wicker")), draw),
        "soil": finish("soil", draw),
        "stem": finish("wood", draw, ("brown",)),
    }
    return piece("plant", made, finishes, rule=Rule.CORNER)


@maker
def small_plant(draw: Draw) -> Piece:
    radius, pot = draw.between(0.05, 0.08), draw.between(0.08, 0.12)
    made = _pot(radius, pot) + parts(BODY, *_blades(draw, pot - 0.01, draw.between(0.14, 0.24), 9, width=0.025))
    return piece(
        "plant",
        made,
        {BODY: finish("leaf", draw), "pot": finish("pottery", draw), "soil": finish("soil", draw)},
        rule=Rule.SURFACE,
        name="potted plant",
    )


@maker
def vase(draw: Draw) -> Piece:
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
    made = parts(BODY, lathe(profile, sides=16, smooth=True))
    if draw.chance(0.5):
        for _ in range(5):
            tip = (draw.uniform(-0.1, 0.1), height + draw.uniform(0.12, 0.24), draw.uniform(-0.1, 0.1))
            made += parts("stem", rod((0, height * 0.85, 0), tip, 0.004, sides=5))
            made += parts("petals", ellipsoid((0.06, 0.045, 0.06), (tip[0], tip[1] - 0.01, tip[2]), sides=7, rings=4))
    finishes = {
        BODY: finish(draw.choice(("pottery", "glassware")), draw),
        "stem": finish("leaf", draw, ("green",)),
        "petals": finish("cloth", draw, ("red", "yellow", "pink", "white", "purple", "orange")),
    }
    return piece("vase", made, finishes, rule=Rule.SURFACE)


@maker
def painting(draw: Draw) -> Piece:
    """A framed painting, wide or upright."""
    width, height = draw.choice(((0.9, 0.6), (0.7, 0.5), (1.1, 0.7), (0.5, 0.7), (0.65, 0.65)))
    return _framed(
        draw, "painting", width + draw.between(-0.05, 0.05), height + draw.between(-0.05, 0.05), "painting", border=0.03
    )


@maker
def photo(draw: Draw) -> Piece:
    """A smaller framed picture with a mount."""
    width, height = draw.choice(((0.3, 0.4), (0.4, 0.3), (0.35, 0.35), (0.25, 0.35)))
    return _framed(
        draw,
        "picture",
        width + draw.between(-0.02, 0.04),
        height + draw.between(-0.02, 0.04),
        "photo",
        border=0.02,
        mount=0.04,
    )


@maker
def clock(draw: Draw) -> Piece:
    radius = draw.between(0.13, 0.2)
    rim = cylinder(radius, 0.04, sides=24).tilted(90).moved((0, radius, -0.02))
    made = parts(BODY, rim) + parts("dial", _dial(radius * 0.92, (0, radius, 0.0212)))
    return piece(
        "clock",
        made,
        {BODY: finish(draw.choice(("wood", "plastic", "metal")), draw), "dial": finish("dial", draw)},
        rule=Rule.ON_WALL,
    )


@maker
def rug(draw: Draw) -> Piece:
    return _rug(draw, draw.between(1.5, 2.3), draw.between(1.1, 1.6))


@maker
def runner(draw: Draw) -> Piece:
    """A long, narrow rug."""
    return _rug(draw, draw.between(1.4, 2.2), draw.between(0.55, 0.7))


@maker
def bath_mat(draw: Draw) -> Piece:
    width, depth = draw.between(0.55, 0.75), draw.between(0.4, 0.5)
    made = parts(BODY, rounded_box((width, 0.012, depth), 0.005))
    return piece("rug", made, {BODY: finish("cloth", draw)}, rule=Rule.FLAT, name="bath mat")


@maker
def curtain(draw: Draw) -> Piece:
    """One half of a pair; the placer puts one on each side of a window."""
    width, height = draw.between(0.28, 0.4), 2.2
    made = parts(BODY, folds(width, height - 0.1, depth=0.06, count=4, at=(0, 0.03, 0))) + parts(
        "rail", rod((-width / 2 - 0.03, height - 0.05, 0), (width / 2 + 0.03, height - 0.05, 0), 0.012)
    )
    return piece(
        "curtain",
        made,
        {BODY: finish(draw.choice(("cloth", "striped", "linen")), draw), "rail": finish("metal", draw)},
        rule=Rule.ON_WALL,
    )


@maker
def radiator(draw: Draw) -> Piece:
    width, height = draw.between(0.6, 1.0), draw.between(0.5, 0.62)
    ribs = round(width / 0.07)
    made = parts(
        BODY,
        *(
            rounded_box((0.05, height, 0.08), 0.015, (-width / 2 + width * (n + 0.5) / ribs, 0.1, 0))
            for n in range(ribs)
        ),
    )
    made += parts(
        BODY,
        *(box((width - 0.04, 0.03, 0.03), (0, y, 0)) for y in (0.14, height + 0.02)),
        *(
            rod((side * (width / 2 - 0.06), 0, 0), (side * (width / 2 - 0.06), 0.14, 0), 0.01, sides=6)
            for side in (-1, 1)
        ),
    )
    return piece("radiator", made, {BODY: finish("enamel", draw, ("white",))})


@maker
def fireplace(draw: Draw) -> Piece:
    """A chimney piece with a dark opening and logs."""
    width, height, depth = draw.between(1.2, 1.5), draw.between(1.0, 1.15), draw.between(0.35, 0.42)
    side, opening = 0.25, height - 0.32
    made = parts(
        BODY,
        *(box((side, height - 0.06, depth), (end * (width - side) / 2, 0, 0)) for end in (-1, 1)),
        box((width - 2 * side, height - 0.06 - opening, depth), (0, opening, 0)),
    )
    made += parts("mantel", box((width + 0.1, 0.06, depth + 0.05), (0, height - 0.06, 0.0)))
    made += parts(
        "hearth",
        box((width - 2 * side, opening, 0.05), (0, 0, -depth / 2 + 0.025)),
        box((width - 2 * side, 0.03, depth), (0, 0, 0)),
    )
    made += parts(
        "logs",
        *(rod((-0.22, 0.07 + 0.07 * n, 0.03 * n), (0.22, 0.07 + 0.05 * n, -0.03 * n), 0.04, sides=7) for n in range(3)),
    )
    shelf = Surface(x=(-width / 2, width / 2), z=(-depth / 2 + 0.03, depth / 2 - 0.03), y=height, kind="console")
    finishes = {
        BODY: finish(draw.choice(("stone", "brick", "lacquer")), draw),
        "mantel": finish(draw.choice(("wood", "stone")), draw),
        "hearth": finish("plastic", draw, ("black",)),
        "logs": finish("wood", draw, ("brown",)),
    }
    return piece("fireplace", made, finishes, surfaces=[shelf], clearance=0.6)


@maker
def piano(draw: Draw) -> Piece:
    """An upright piano."""
    width, height, depth = draw.between(1.35, 1.48), draw.between(1.1, 1.22), 0.6
    body = finish(*draw.choice((("wood", draw, ("dark brown", "brown")), ("lacquer", draw, ("black", "white")))))
    made = parts(
        BODY,
        box((width, height, 0.32), (0, 0, -depth / 2 + 0.16)),
        box((width, 0.09, depth - 0.32), (0, 0.62, 0.14)),
        *(box((0.08, 0.62, 0.08), (side * (width / 2 - 0.05), 0, depth / 2 - 0.06)) for side in (-1, 1)),
    )
    made += parts("white", box((width - 0.12, 0.015, 0.15), (0, 0.71, 0.16)))
    made += parts(
        "black",
        *(
            box((0.014, 0.012, 0.09), (-width / 2 + 0.1 + n * (width - 0.2) / 24, 0.725, 0.13))
            for n in range(25)
            if n % 7 not in (2, 6)
        ),
    )
    made += parts("black", *(box((0.03, 0.02, 0.08), (x, 0.04, -0.1)) for x in (-0.08, 0.0, 0.08)))
    top = Surface(
        x=(-width / 2 + 0.05, width / 2 - 0.05), z=(-depth / 2 + 0.03, -depth / 2 + 0.28), y=height, kind="console"
    )
    return piece(
        "piano",
        made,
        {BODY: body, "white": finish("paper", draw), "black": finish("plastic", draw, ("black",))},
        surfaces=[top],
        clearance=0.7,
    )


def _framed(
    draw: Draw, category: str, width: float, height: float, kind: str, *, border: float, mount: float = 0.0
) -> Piece:
    made = parts(
        BODY, *_bars(width, height, border), box((width - border, height - border, 0.01), (0, border / 2, -0.008))
    )
    inner = (width - 2 * border, height - 2 * border)
    if mount:
        made += parts("mount", picture(*inner, (0, border, 0.0)))
    made += parts("art", picture(inner[0] - 2 * mount, inner[1] - 2 * mount, (0, border + mount, 0.004)))
    finishes = {
        BODY: finish(draw.choice(("wood", "lacquer", "brass")), draw),
        "mount": finish("paper", draw),
        "art": finish(kind, draw),
    }
    return piece(category, made, finishes, rule=Rule.ON_WALL)


def _bars(width: float, height: float, bar: float) -> list[Mesh]:
    sides = [box((bar, height, 0.03), (side * (width - bar) / 2, 0, 0)) for side in (-1, 1)]
    return sides + [box((width - 2 * bar, bar, 0.03), (0, y, 0)) for y in (0, height - bar)]


def _rug(draw: Draw, width: float, depth: float) -> Piece:
    made = parts("rim", box((width, 0.008, depth))) + parts(BODY, spread(width, depth, (0, 0.0085, 0)))
    weave = finish("rug", draw)
    return piece("rug", made, {BODY: weave, "rim": weave}, rule=Rule.FLAT)


def _pot(radius: float, height: float) -> list[Part]:
    rim = lathe(
        [(0, 0), (radius * 0.7, 0), (radius, height), (radius * 0.88, height), (radius * 0.86, height - 0.04)], sides=16
    )
    return parts("pot", rim) + parts("soil", cylinder(radius * 0.88, 0.01, (0, height - 0.05, 0), sides=14))


def _blades(draw: Draw, base: float, length: float, count: int, *, width: float = 0.07) -> list[Mesh]:
    """Long bent leaves around the stem."""
    leaves: list[Mesh] = []
    for n in range(count):
        reach, rise = length * draw.uniform(0.25, 0.5), length * draw.uniform(0.65, 1.0)
        half = width / 2
        lower = quad(
            (-half * 0.5, base, 0.01),
            (half * 0.5, base, 0.01),
            (half, base + rise * 0.6, reach * 0.45),
            (-half, base + rise * 0.6, reach * 0.45),
        )
        upper = quad(
            (-half, base + rise * 0.6, reach * 0.45),
            (half, base + rise * 0.6, reach * 0.45),
            (half * 0.15, base + rise * 0.92, reach),
            (-half * 0.15, base + rise * 0.92, reach),
        )
        leaves.extend(both_sides(part).turned(360 * n / count + draw.uniform(-15, 15)) for part in (lower, upper))
    return leaves


def _bush(draw: Draw, base: float, height: float) -> list[Part]:
    """A little tree of leafy balls."""
    made = parts("stem", rod((0, base - 0.05, 0), (0, base + height * 0.5, 0), 0.018, sides=7))
    for n in range(draw.integer(5, 7)):
        size = draw.uniform(0.2, 0.32)
        x, z = draw.uniform(-0.14, 0.14), draw.uniform(-0.14, 0.14)
        made += parts(
            BODY, ellipsoid((size, size * 0.9, size), (x, base + height * (0.35 + 0.1 * n), z), sides=8, rings=5)
        )
    return made


def _dial(radius: float, at: tuple[float, float, float]) -> Mesh:
    """A round picture towards +z."""
    disc = lathe([(radius, 0), (0, 0)], sides=24).tilted(90)
    uvs = np.column_stack([0.5 + disc.positions[:, 0] / (2 * radius), 0.5 - disc.positions[:, 1] / (2 * radius)])
    return replace(disc, uvs=uvs, fit=True).moved(at)
