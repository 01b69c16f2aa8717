"""Kitchen units on a common grid, and the appliances between them.

Units of one kitchen share their fronts and worktop, so makers take a `KitchenStyle`; the catalogue
entries draw a style of their own.
"""

from dataclasses import dataclass

from nav_eval.scene.houses.finishes import Finish, finish
from nav_eval.scene.houses.furniture.piece import BODY, Part, Piece, Rule, Surface, maker, parts, piece
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import box, cylinder, lathe, rod, rounded_box

DEPTH, HEIGHT, TOP = 0.6, 0.9, 0.04  #: of all floor units


@dataclass(frozen=True, slots=True)
class KitchenStyle:
    """What all units of one kitchen have in common."""

    front: Finish
    top: Finish
    handles: Finish
    appliance: Finish


def kitchen_style(draw: Draw) -> KitchenStyle:
    front = finish(draw.weighted([("lacquer", 0.55), ("wood", 0.45)]), draw)
    top = finish(draw.choice(("stone", "wood")), draw)
    return KitchenStyle(front, top, finish(draw.choice(("chrome", "metal", "brass")), draw), finish("enamel", draw))


@maker
def kitchen_cabinet(draw: Draw) -> Piece:
    return base_unit(draw, kitchen_style(draw), width=0.6)


@maker
def kitchen_sink(draw: Draw) -> Piece:
    return sink_unit(draw, kitchen_style(draw))


@maker
def stove(draw: Draw) -> Piece:
    return stove_unit(draw, kitchen_style(draw))


@maker
def dishwasher(draw: Draw) -> Piece:
    return dishwasher_unit(draw, kitchen_style(draw))


@maker
def refrigerator(draw: Draw) -> Piece:
    return refrigerator_unit(draw, kitchen_style(draw))


@maker
def wall_cabinet(draw: Draw) -> Piece:
    return wall_unit(draw, kitchen_style(draw), width=0.6)


@maker
def range_hood(draw: Draw) -> Piece:
    return hood_unit(draw, kitchen_style(draw))


def base_unit(draw: Draw, style: KitchenStyle, *, width: float) -> Piece:
    """A floor unit with a drawer above a door, or three drawers."""
    made = _carcass(width) + _worktop(width)
    if draw.chance(0.35):
        made += _fronts(width, ((0.11, 0.24), (0.36, 0.24), (0.61, 0.24)))
    else:
        made += _fronts(width, ((0.11, 0.55), (0.67, 0.18)))
    return _unit("kitchen cabinet", made, style, surfaces=[_counter(width)])


def sink_unit(draw: Draw, style: KitchenStyle) -> Piece:
    """A unit with a basin let into the worktop and a tap."""
    width = 0.8
    made = (
        _carcass(width, height=0.68)
        + _fronts(width / 2, ((0.11, 0.74),), x=-width / 4)
        + _fronts(width / 2, ((0.11, 0.74),), x=width / 4)
    )
    rim, deep = 0.06, 0.42
    made += parts(
        "top", *(box((0.13, TOP, DEPTH + 0.02), (side * (width / 2 - 0.065), HEIGHT - TOP, 0.01)) for side in (-1, 1))
    )
    made += parts(
        "top", *(box((width - 0.26, TOP, 0.1), (0, HEIGHT - TOP, z)) for z in (-DEPTH / 2 + 0.05, DEPTH / 2 - 0.03))
    )
    made += parts("basin", box((width - 0.26, 0.015, deep), (0, HEIGHT - 0.2, 0.0)))
    made += parts(
        "basin", *(box((0.02, 0.2, deep), (side * (width / 2 - 0.14), HEIGHT - 0.195, 0.0)) for side in (-1, 1))
    )
    made += parts(
        "basin", *(box((width - 0.26, 0.2, 0.02), (0, HEIGHT - 0.195, side * (deep / 2 - 0.01))) for side in (-1, 1))
    )
    made += _tap((0, HEIGHT, -DEPTH / 2 + rim), reach=0.2, rise=0.3)
    basin = finish(draw.choice(("chrome", "ceramic")), draw)
    return _unit("sink", made, style, extra={"basin": basin, "tap": finish("chrome", draw)}, name="kitchen sink")


def stove_unit(draw: Draw, style: KitchenStyle) -> Piece:
    """An oven with a hob."""
    width, shell = 0.6, style.appliance
    made = parts(
        BODY,
        box((width, HEIGHT - 0.02, DEPTH - 0.02), (0, 0, -0.01)),
        box((width - 0.02, 0.12, 0.03), (0, 0.76, DEPTH / 2 - 0.015)),
    )
    made += parts(
        "glass",
        box((width - 0.04, 0.5, 0.025), (0, 0.2, DEPTH / 2 - 0.012)),
        box((width, 0.02, DEPTH + 0.01), (0, HEIGHT - 0.02, 0.005)),
    )
    made += parts(
        "handle", rod((-width / 2 + 0.06, 0.69, DEPTH / 2 + 0.03), (width / 2 - 0.06, 0.69, DEPTH / 2 + 0.03), 0.011)
    )
    for n in range(4):
        made += parts("handle", cylinder(0.02, 0.025, sides=10).tilted(90).moved((-0.21 + 0.14 * n, 0.82, DEPTH / 2)))
        x, z = (-0.14 if n % 2 else 0.14), (-0.13 if n < 2 else 0.13)
        made += parts("rings", cylinder(0.09 if n in (0, 3) else 0.07, 0.008, (x, HEIGHT, z), sides=18))
    finishes = {
        BODY: shell,
        "glass": finish("plastic", draw, ("black",)),
        "handle": finish("chrome", draw),
        "rings": finish("plastic", draw, ("grey",)),
    }
    hob = Surface(x=(-0.22, 0.22), z=(-0.2, 0.2), y=HEIGHT + 0.008, kind="hob")
    return piece("stove", made, finishes, surfaces=[hob], clearance=0.6)


def dishwasher_unit(draw: Draw, style: KitchenStyle) -> Piece:
    width = 0.6
    made = parts(
        BODY,
        box((width, HEIGHT - TOP - 0.1, DEPTH - 0.02), (0, 0.1, -0.01)),
        box((width - 0.012, 0.62, 0.02), (0, 0.11, DEPTH / 2 - 0.01)),
    )
    made += parts(
        "panel", box((width - 0.012, 0.11, 0.022), (0, 0.74, DEPTH / 2 - 0.01)), box((width - 0.04, 0.1, DEPTH - 0.1))
    )
    made += parts("handles", box((0.3, 0.02, 0.03), (0, 0.68, DEPTH / 2 + 0.012))) + _worktop(width)
    finishes = {
        BODY: style.appliance,
        "panel": finish("plastic", draw, ("black", "grey")),
        "handles": style.handles,
        "top": style.top,
    }
    return piece("dishwasher", made, finishes, surfaces=[_counter(width)], clearance=0.6)


def refrigerator_unit(draw: Draw, style: KitchenStyle) -> Piece:
    width, depth, height = draw.between(0.6, 0.72), 0.64, draw.between(1.7, 1.95)
    split = height * draw.between(0.3, 0.4)
    made = parts("shell", box((width, height, depth - 0.06), (0, 0, -0.03)))
    made += parts(BODY, rounded_box((width, split - 0.08, 0.06), 0.012, (0, 0.06, depth / 2 - 0.03)))
    made += parts(BODY, rounded_box((width, height - split - 0.01, 0.06), 0.012, (0, split, depth / 2 - 0.03)))
    side = draw.choice((-1, 1)) * (width / 2 - 0.06)
    made += parts("handles", rod((side, split + 0.06, depth / 2 + 0.03), (side, split + 0.5, depth / 2 + 0.03), 0.012))
    made += parts("handles", rod((side, split - 0.4, depth / 2 + 0.03), (side, split - 0.08, depth / 2 + 0.03), 0.012))
    finishes = {BODY: style.appliance, "shell": style.appliance, "handles": finish("chrome", draw)}
    return piece("refrigerator", made, finishes, clearance=0.65)


def wall_unit(draw: Draw, style: KitchenStyle, *, width: float) -> Piece:
    """A cupboard above the worktop."""
    height, depth = 0.7, 0.34
    made = parts("carcass", box((width, height, depth - 0.02), (0, 0, -0.01)))
    made += parts(BODY, box((width - 0.008, height - 0.008, 0.018), (0, 0.004, depth / 2 - 0.01)))
    made += parts("handles", box((0.015, 0.16, 0.02), (width / 2 - 0.05, 0.06, depth / 2 + 0.01)))
    finishes = {BODY: style.front, "carcass": style.front, "handles": style.handles}
    return piece("kitchen cabinet", made, finishes, rule=Rule.ON_WALL, name="wall cabinet")


def hood_unit(draw: Draw, style: KitchenStyle) -> Piece:
    made = parts(
        BODY, box((0.6, 0.06, 0.48)), box((0.42, 0.1, 0.36), (0, 0.06, -0.06)), box((0.24, 0.6, 0.24), (0, 0.16, -0.12))
    )
    return piece("range hood", made, {BODY: finish("metal", draw, ("light grey", "grey"))}, rule=Rule.ON_WALL)


@maker
def microwave(draw: Draw) -> Piece:
    made = parts(BODY, rounded_box((0.48, 0.28, 0.34), 0.01)) + parts(
        "window", box((0.32, 0.2, 0.01), (-0.06, 0.04, 0.17))
    )
    made += parts("window", box((0.08, 0.2, 0.01), (0.17, 0.04, 0.17))) + parts(
        "handle", box((0.015, 0.2, 0.03), (0.115, 0.04, 0.18))
    )
    return piece(
        "microwave",
        made,
        {BODY: finish("enamel", draw), "window": finish("plastic", draw, ("black",)), "handle": finish("chrome", draw)},
        rule=Rule.SURFACE,
    )


@maker
def kettle(draw: Draw) -> Piece:
    made = parts(
        BODY,
        lathe(
            [(0, 0), (0.085, 0), (0.09, 0.03), (0.065, 0.2), (0.02, 0.215), (0.018, 0.235), (0, 0.235)],
            sides=14,
            smooth=False,
        ),
    )
    made += parts(
        "handle",
        rod((0.06, 0.2, 0), (0.13, 0.17, 0), 0.01),
        rod((0.13, 0.17, 0), (0.085, 0.05, 0), 0.01),
        rod((-0.06, 0.12, 0), (-0.12, 0.19, 0), 0.014),
    )
    return piece(
        "kettle",
        made,
        {
            BODY: finish(draw.choice(("chrome", "enamel", "plastic")), draw),
            "handle": finish("plastic", draw, ("black",)),
        },
        rule=Rule.SURFACE,
    )


@maker
def toaster(draw: Draw) -> Piece:
    made = parts(BODY, rounded_box((0.28, 0.18, 0.17), 0.03)) + parts(
        "slots", *(box((0.2, 0.004, 0.025), (0, 0.178, z)) for z in (-0.035, 0.035))
    )
    made += parts("slots", box((0.02, 0.03, 0.03), (0.145, 0.1, 0)))
    return piece(
        "toaster",
        made,
        {
            BODY: finish(draw.choice(("chrome", "plastic", "enamel")), draw),
            "slots": finish("plastic", draw, ("black",)),
        },
        rule=Rule.SURFACE,
    )


@maker
def pot(draw: Draw) -> Piece:
    radius, height = draw.between(0.09, 0.12), draw.between(0.1, 0.16)
    made = parts(
        BODY,
        cylinder(radius, height, sides=18),
        cylinder(radius + 0.004, 0.015, (0, height, 0), sides=18, top=radius * 0.8),
    )
    made += parts(
        "handles",
        cylinder(0.018, 0.03, (0, height + 0.015, 0), sides=8),
        *(box((0.04, 0.015, 0.05), (side * (radius + 0.015), height * 0.7, 0)) for side in (-1, 1)),
    )
    return piece(
        "pot",
        made,
        {
            BODY: finish(draw.choice(("metal", "enamel", "pottery")), draw),
            "handles": finish("plastic", draw, ("black",)),
        },
        rule=Rule.SURFACE,
    )


@maker
def trash_can(draw: Draw) -> Piece:
    radius, height = draw.between(0.13, 0.18), draw.between(0.35, 0.6)
    made = parts(BODY, cylinder(radius * 0.85, height * 0.9, top=radius, sides=16)) + parts(
        "lid", lathe([(radius, height * 0.9), (radius * 0.9, height * 0.96), (0, height)], sides=16, smooth=True)
    )
    return piece(
        "trash can",
        made,
        {
            BODY: finish(draw.choice(("metal", "plastic", "enamel")), draw),
            "lid": finish("plastic", draw, ("black", "grey", "white")),
        },
    )


@maker
def washing_machine(draw: Draw) -> Piece:
    return _drum_machine(draw, "washing machine", door="glass")


@maker
def dryer(draw: Draw) -> Piece:
    return _drum_machine(draw, "dryer", door="metal")


def _drum_machine(draw: Draw, category: str, *, door: str) -> Piece:
    width, height, depth = draw.between(0.58, 0.62), draw.between(0.84, 0.88), draw.between(0.56, 0.62)
    made = parts(BODY, rounded_box((width, height, depth), 0.012))
    ring = lathe([(0.13, 0), (0.2, 0), (0.19, 0.04), (0.15, 0.05), (0.13, 0.02)], sides=20).tilted(90)
    made += parts("ring", ring.moved((0, 0.4, depth / 2)))
    made += parts(
        "door",
        lathe([(0.15, 0.0), (0.12, 0.025), (0, 0.03)], sides=20, smooth=True).tilted(90).moved((0, 0.4, depth / 2)),
    )
    made += parts("panel", box((width - 0.04, 0.12, 0.01), (0, height - 0.14, depth / 2)))
    made += parts("ring", cylinder(0.035, 0.03, sides=14).tilted(90).moved((0.14, height - 0.08, depth / 2)))
    glass = (
        finish("glassware", draw, ("dark green", "blue"))
        if door == "glass"
        else finish("enamel", draw, ("light grey",))
    )
    finishes = {
        BODY: finish("enamel", draw, ("white", "light grey", "dark grey")),
        "ring": finish("chrome", draw),
        "door": glass,
        "panel": finish("plastic", draw, ("grey", "black")),
    }
    surface = Surface(x=(-0.24, 0.24), z=(-0.22, 0.22), y=height, kind="laundry")
    return piece(category, made, finishes, surfaces=[surface], clearance=0.55)


def _carcass(width: float, *, height: float = HEIGHT - TOP - 0.1) -> list[Part]:
    return parts("carcass", box((width, height, DEPTH - 0.02), (0, 0.1, -0.01))) + parts(
        "plinth", box((width, 0.1, DEPTH - 0.08), (0, 0, -0.04))
    )


def _worktop(width: float) -> list[Part]:
    return parts("top", box((width, TOP, DEPTH + 0.02), (0, HEIGHT - TOP, 0.01)))


def _fronts(width: float, fields: tuple[tuple[float, float], ...], *, x: float = 0.0) -> list[Part]:
    made = []
    for y, height in fields:
        made += parts(BODY, box((width - 0.01, height - 0.006, 0.02), (x, y, DEPTH / 2 - 0.01)))
        made += parts("handles", box((min(0.18, width * 0.4), 0.014, 0.025), (x, y + height - 0.06, DEPTH / 2 + 0.01)))
    return made


def _tap(at: tuple[float, float, float], *, reach: float, rise: float) -> list[Part]:
    x, y, z = at
    return parts(
        "tap",
        cylinder(0.022, 0.02, at, sides=10),
        rod(at, (x, y + rise, z), 0.011),
        rod((x, y + rise, z), (x, y + rise, z + reach), 0.011),
        rod((x, y + rise, z + reach), (x, y + rise - 0.06, z + reach), 0.011),
        rod((x, y + 0.06, z), (x + 0.07, y + 0.09, z), 0.007),
    )


def _counter(width: float) -> Surface:
    return Surface(
        x=(-width / 2 + 0.03, width / 2 - 0.03),
        z=(-DEPTH / 2 + 0.05, DEPTH / 2 - 0.08),
        y=HEIGHT,
        kind="counter",
        headroom=0.42,
    )


def _unit(
    category: str,
    made: list[Part],
    style: KitchenStyle,
    *,
    surfaces: list[Surface] | None = None,
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
    return piece(category, made, finishes, surfaces=surfaces or [], clearance=0.6, name=name)
