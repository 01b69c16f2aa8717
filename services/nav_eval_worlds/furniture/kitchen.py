"""Kitchen units on a common grid, and the appliances between them.

Units of one kitchen share their fronts and worktop, so makers take a `KitchenStyle`; the catalogue
entries draw a style of their own.
"""

from dataclasses import dataclass

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.records.geometry import Vec3
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
from nav_eval_worlds.materials import Finish, make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import make_box, make_box_pair, make_cylinder, make_lathe, make_rod, make_rounded_box

DEPTH, HEIGHT, TOP = 0.6, 0.9, 0.04  #: of all floor units


@dataclass(frozen=True, slots=True)
class KitchenStyle:
    """What all units of one kitchen have in common."""

    front: Finish
    top: Finish
    handles: Finish
    appliance: Finish


def make_kitchen_style(draw: RandomStream) -> KitchenStyle:
    front = make_finish(draw.choose_weighted([("lacquer", 0.55), ("wood", 0.45)]), draw)
    top = make_finish(draw.choice(("stone", "wood")), draw)
    return KitchenStyle(
        front, top, make_finish(draw.choice(("chrome", "metal", "brass")), draw), make_finish("enamel", draw)
    )


@register_maker("kitchen_cabinet")
def make_kitchen_cabinet(draw: RandomStream) -> Piece:
    return make_base_unit(draw, make_kitchen_style(draw), width=0.6)


@register_maker("kitchen_sink")
def make_kitchen_sink(draw: RandomStream) -> Piece:
    return make_sink_unit(draw, make_kitchen_style(draw))


@register_maker("stove")
def make_stove(draw: RandomStream) -> Piece:
    return make_stove_unit(draw, make_kitchen_style(draw))


@register_maker("dishwasher")
def make_dishwasher(draw: RandomStream) -> Piece:
    return make_dishwasher_unit(draw, make_kitchen_style(draw))


@register_maker("refrigerator")
def make_refrigerator(draw: RandomStream) -> Piece:
    return make_refrigerator_unit(draw, make_kitchen_style(draw))


@register_maker("wall_cabinet")
def make_wall_cabinet(draw: RandomStream) -> Piece:
    return make_wall_unit(draw, make_kitchen_style(draw), width=0.6)


@register_maker("range_hood")
def make_range_hood(draw: RandomStream) -> Piece:
    return make_hood_unit(draw, make_kitchen_style(draw))


def make_base_unit(draw: RandomStream, style: KitchenStyle, *, width: float) -> Piece:
    """A floor unit with a drawer above a door, or three drawers."""
    made = _make_carcass(width) + _make_worktop(width)
    if draw.chance(0.35):
        made += _make_fronts(width, ((0.11, 0.24), (0.36, 0.24), (0.61, 0.24)))
    else:
        made += _make_fronts(width, ((0.11, 0.55), (0.67, 0.18)))
    return _make_unit("kitchen cabinet", made, style, surfaces=[_make_counter(width)])


def make_sink_unit(draw: RandomStream, style: KitchenStyle) -> Piece:
    """A unit with a basin let into the worktop and a tap."""
    width = 0.8
    is_first = draw.generator == FIRST_GENERATOR
    made = _make_carcass(width, height=0.68) if is_first else make_sink_carcass(width, 0.69)
    made += _make_fronts(width / 2, ((0.11, 0.74),), x=-width / 4)
    made += _make_fronts(width / 2, ((0.11, 0.74),), x=width / 4)
    rim, deep = 0.06, 0.42
    made += make_parts(
        "top",
        *make_box_pair((0.13, TOP, DEPTH + 0.02), (width / 2 - 0.065, HEIGHT - TOP, 0.01)),
        *(make_box((width - 0.26, TOP, 0.1), (0, HEIGHT - TOP, z)) for z in (-DEPTH / 2 + 0.05, DEPTH / 2 - 0.03)),
    )
    made += make_parts(
        "basin",
        make_box((width - 0.26, 0.015, deep), (0, HEIGHT - 0.2, 0.0)),
        *make_box_pair((0.02, 0.2, deep), (width / 2 - 0.14, HEIGHT - 0.195, 0.0)),
        *(make_box((width - 0.26, 0.2, 0.02), (0, HEIGHT - 0.195, side * (deep / 2 - 0.01))) for side in (-1, 1)),
    )
    made += _make_tap((0, HEIGHT, -DEPTH / 2 + rim), reach=0.2, rise=0.3)
    basin = make_finish(draw.choice(("chrome", "ceramic")), draw)
    return _make_unit(
        "sink", made, style, extra={"basin": basin, "tap": make_finish("chrome", draw)}, name="kitchen sink"
    )


def make_stove_unit(draw: RandomStream, style: KitchenStyle) -> Piece:
    """An oven with a hob."""
    width, shell = 0.6, style.appliance
    made = make_parts(
        BODY,
        make_box((width, HEIGHT - 0.02, DEPTH - 0.02), (0, 0, -0.01)),
        make_box((width - 0.02, 0.12, 0.03), (0, 0.76, DEPTH / 2 - 0.015)),
    )
    made += make_parts(
        "glass",
        make_box((width - 0.04, 0.5, 0.025), (0, 0.2, DEPTH / 2 - 0.012)),
        make_box((width, 0.02, DEPTH + 0.01), (0, HEIGHT - 0.02, 0.005)),
    )
    made += make_parts(
        "handle",
        make_rod((-width / 2 + 0.06, 0.69, DEPTH / 2 + 0.03), (width / 2 - 0.06, 0.69, DEPTH / 2 + 0.03), 0.011),
    )
    for n in range(4):
        made += make_parts(
            "handle", make_cylinder(0.02, 0.025, sides=10).tilt(90).translate((-0.21 + 0.14 * n, 0.82, DEPTH / 2))
        )
        x, z = (-0.14 if n % 2 else 0.14), (-0.13 if n < 2 else 0.13)
        made += make_parts("rings", make_cylinder(0.09 if n in (0, 3) else 0.07, 0.008, (x, HEIGHT, z), sides=18))
    finishes = {
        BODY: shell,
        "glass": make_finish("plastic", draw, ("black",)),
        "handle": make_finish("chrome", draw),
        "rings": make_finish("plastic", draw, ("grey",)),
    }
    hob = SupportSurface(x=(-0.22, 0.22), z=(-0.2, 0.2), y=HEIGHT + 0.008, kind="hob")
    return make_piece("stove", made, finishes, surfaces=[hob], clearance=0.6)


def make_dishwasher_unit(draw: RandomStream, style: KitchenStyle) -> Piece:
    width = 0.6
    made = make_parts(
        BODY,
        make_box((width, HEIGHT - TOP - 0.1, DEPTH - 0.02), (0, 0.1, -0.01)),
        make_box((width - 0.012, 0.62, 0.02), (0, 0.11, DEPTH / 2 - 0.01)),
    )
    made += make_parts(
        "panel",
        make_box((width - 0.012, 0.11, 0.022), (0, 0.74, DEPTH / 2 - 0.01)),
        make_box((width - 0.04, 0.1, DEPTH - 0.1)),
    )
    made += make_parts("handles", make_box((0.3, 0.02, 0.03), (0, 0.68, DEPTH / 2 + 0.012))) + _make_worktop(width)
    finishes = {
        BODY: style.appliance,
        "panel": make_finish("plastic", draw, ("black", "grey")),
        "handles": style.handles,
        "top": style.top,
    }
    return make_piece("dishwasher", made, finishes, surfaces=[_make_counter(width)], clearance=0.6)


def make_refrigerator_unit(draw: RandomStream, style: KitchenStyle) -> Piece:
    width, depth, height = draw.between(0.6, 0.72), 0.64, draw.between(1.7, 1.95)
    split = height * draw.between(0.3, 0.4)
    made = make_parts("shell", make_box((width, height, depth - 0.06), (0, 0, -0.03)))
    made += make_parts(
        BODY,
        make_rounded_box((width, split - 0.08, 0.06), 0.012, (0, 0.06, depth / 2 - 0.03)),
        make_rounded_box((width, height - split - 0.01, 0.06), 0.012, (0, split, depth / 2 - 0.03)),
    )
    side = draw.choice((-1, 1)) * (width / 2 - 0.06)
    made += make_parts(
        "handles",
        make_rod((side, split + 0.06, depth / 2 + 0.03), (side, split + 0.5, depth / 2 + 0.03), 0.012),
        make_rod((side, split - 0.4, depth / 2 + 0.03), (side, split - 0.08, depth / 2 + 0.03), 0.012),
    )
    finishes = {BODY: style.appliance, "shell": style.appliance, "handles": make_finish("chrome", draw)}
    return make_piece("refrigerator", made, finishes, clearance=0.65)


def make_wall_unit(draw: RandomStream, style: KitchenStyle, *, width: float) -> Piece:
    """A cupboard above the worktop."""
    height, depth = 0.7, 0.34
    made = make_parts("carcass", make_box((width, height, depth - 0.02), (0, 0, -0.01)))
    made += make_parts(BODY, make_box((width - 0.008, height - 0.008, 0.018), (0, 0.004, depth / 2 - 0.01)))
    made += make_parts("handles", make_box((0.015, 0.16, 0.02), (width / 2 - 0.05, 0.06, depth / 2 + 0.01)))
    finishes = {BODY: style.front, "carcass": style.front, "handles": style.handles}
    return make_piece("kitchen cabinet", made, finishes, rule=PlacementRule.ON_WALL, name="wall cabinet")


def make_hood_unit(draw: RandomStream, style: KitchenStyle) -> Piece:
    made = make_parts(
        BODY,
        make_box((0.6, 0.06, 0.48)),
        make_box((0.42, 0.1, 0.36), (0, 0.06, -0.06)),
        make_box((0.24, 0.6, 0.24), (0, 0.16, -0.12)),
    )
    finishes = {BODY: make_finish("metal", draw, ("light grey", "grey"))}
    return make_piece("range hood", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("kitchen_island")
def make_kitchen_island(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(1.2, 1.7), draw.between(0.65, 0.8), draw.between(0.9, 0.94)
    body = make_finish(draw.choice(("lacquer", "wood")), draw)
    made = make_parts(
        BODY,
        make_box((width - 0.1, height - 0.14, depth - 0.16), (0, 0.1, 0)),
        make_box((width - 0.16, 0.1, depth - 0.22)),
    )
    made += make_parts("top", make_box((width, 0.04, depth), (0, height - 0.04, 0)))
    finishes = {BODY: body, "top": make_finish("stone", draw)}
    top = make_top_surface((width, height, depth), "counter")
    return make_piece("kitchen island", made, finishes, rule=PlacementRule.MIDDLE, surfaces=[top])


@register_maker("pot")
def make_pot(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.09, 0.12), draw.between(0.1, 0.16)
    made = make_parts(
        BODY,
        make_cylinder(radius, height, sides=18),
        make_cylinder(radius + 0.004, 0.015, (0, height, 0), sides=18, top=radius * 0.8),
    )
    made += make_parts(
        "handles",
        make_cylinder(0.018, 0.03, (0, height + 0.015, 0), sides=8),
        *make_box_pair((0.04, 0.015, 0.05), (radius + 0.015, height * 0.7, 0)),
    )
    finishes = make_finishes(draw, body=("metal", "enamel", "pottery"), handles={"plastic": ("black",)})
    return make_piece("pot", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("trash_can")
def make_trash_can(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.13, 0.18), draw.between(0.35, 0.6)
    made = make_parts(BODY, make_cylinder(radius * 0.85, height * 0.9, top=radius, sides=16)) + make_parts(
        "lid", make_lathe([(radius, height * 0.9), (radius * 0.9, height * 0.96), (0, height)], sides=16, smooth=True)
    )
    finishes = make_finishes(draw, body=("metal", "plastic", "enamel"), lid={"plastic": ("black", "grey", "white")})
    return make_piece("trash can", made, finishes)


def _make_carcass(width: float, *, height: float = HEIGHT - TOP - 0.1) -> list[SolidPart]:
    return make_parts("carcass", make_box((width, height, DEPTH - 0.02), (0, 0.1, -0.01))) + make_parts(
        "plinth", make_box((width, 0.1, DEPTH - 0.08), (0, 0, -0.04))
    )


def make_sink_carcass(width: float, top: float) -> list[SolidPart]:
    """Up to below the basin, and beside it up to the worktop."""
    sides = make_box_pair((0.018, HEIGHT - TOP - top, DEPTH - 0.02), (width / 2 - 0.009, top, -0.01))
    return _make_carcass(width, height=top - 0.1) + make_parts("carcass", *sides)


def _make_worktop(width: float) -> list[SolidPart]:
    return make_parts("top", make_box((width, TOP, DEPTH + 0.02), (0, HEIGHT - TOP, 0.01)))


def _make_fronts(width: float, fields: tuple[tuple[float, float], ...], *, x: float = 0.0) -> list[SolidPart]:
    made = []
    for y, height in fields:
        made += make_parts(BODY, make_box((width - 0.01, height - 0.006, 0.02), (x, y, DEPTH / 2 - 0.01)))
        made += make_parts(
            "handles", make_box((min(0.18, width * 0.4), 0.014, 0.025), (x, y + height - 0.06, DEPTH / 2 + 0.01))
        )
    return made


def _make_tap(at: Vec3, *, reach: float, rise: float) -> list[SolidPart]:
    x, y, z = at
    return make_parts(
        "tap",
        make_cylinder(0.022, 0.02, at, sides=10),
        make_rod(at, (x, y + rise, z), 0.011),
        make_rod((x, y + rise, z), (x, y + rise, z + reach), 0.011),
        make_rod((x, y + rise, z + reach), (x, y + rise - 0.06, z + reach), 0.011),
        make_rod((x, y + 0.06, z), (x + 0.07, y + 0.09, z), 0.007),
    )


def _make_counter(width: float) -> SupportSurface:
    return SupportSurface(
        x=(-width / 2 + 0.03, width / 2 - 0.03),
        z=(-DEPTH / 2 + 0.05, DEPTH / 2 - 0.08),
        y=HEIGHT,
        kind="counter",
        headroom=0.42,
    )


def _make_unit(
    category: str,
    made: list[SolidPart],
    style: KitchenStyle,
    *,
    surfaces: list[SupportSurface] | None = None,
    extra: dict[str, Finish] | None = None,
    name: str | None = None,
) -> Piece:
    finishes = {
        BODY: style.front,
        "carcass": style.front,
        "plinth": style.handles,
        "top": style.top,
        "handles": style.handles,
        **(extra or {}),
    }
    return make_piece(category, made, finishes, surfaces=surfaces or [], clearance=0.6, name=name)
