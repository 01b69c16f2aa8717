"""Further shapes of kitchen units and appliances.

Units share the style of their kitchen, so a shape is a function of a draw and a style. `make_unit` draws one for a
letter of a kitchen's row; the same shapes are in the catalogue with a style of their own.
"""

import itertools
from collections.abc import Callable

from nav_eval.records.geometry import Vec3
from nav_eval_worlds.furniture import kitchen
from nav_eval_worlds.furniture.kitchen import DEPTH, HEIGHT, TOP, KitchenStyle, make_kitchen_style
from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PieceMaker,
    PlacementRule,
    SolidPart,
    SupportSurface,
    make_box_frame,
    make_parts,
    make_piece,
    register_shape,
)
from nav_eval_worlds.materials import Finish, make_finish
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    make_box,
    make_box_pair,
    make_cylinder,
    make_rod,
    make_rounded_box,
)

UnitMaker = Callable[[RandomStream, KitchenStyle], Piece]
FRONT = DEPTH / 2  #: z of the fronts of all floor units

#: makers of a kind of unit, by the letter of a kitchen's row, the first generator's one first
UNITS: dict[str, list[UnitMaker]] = {
    "C": [lambda draw, style: kitchen.make_base_unit(draw, style, width=0.6)],
    "N": [lambda draw, style: kitchen.make_base_unit(draw, style, width=0.4)],
    "F": [kitchen.make_refrigerator_unit],
    "S": [kitchen.make_sink_unit],
    "O": [kitchen.make_stove_unit],
    "D": [kitchen.make_dishwasher_unit],
    "H": [kitchen.make_hood_unit],
}


def make_unit(letter: str, draw: RandomStream, style: KitchenStyle) -> Piece:
    """A unit of this kind in one of its shapes."""
    return draw.fork("shape").choice(UNITS[letter])(draw, style)


def register_unit(letter: str, name: str, shape: str) -> Callable[[UnitMaker], UnitMaker]:
    """Decorator: a shape for rows of units, and for the catalogue in a style of its own."""

    def add(maker: UnitMaker) -> UnitMaker:
        UNITS[letter].append(maker)
        register_shape(name, shape)(_give_own_style(maker))
        return maker

    return add


def _give_own_style(maker: UnitMaker) -> PieceMaker:
    return lambda draw: maker(draw, make_kitchen_style(draw))


def make_carcass(width: float, *, height: float = HEIGHT - TOP - 0.1) -> list[SolidPart]:
    return make_parts("carcass", make_box((width, height, DEPTH - 0.02), (0, 0.1, -0.01))) + make_parts(
        "plinth", make_box((width, 0.1, DEPTH - 0.08), (0, 0, -0.04))
    )


def make_worktop(width: float) -> list[SolidPart]:
    return make_parts("top", make_box((width, TOP, DEPTH + 0.02), (0, HEIGHT - TOP, 0.01)))


def _make_counter(width: float) -> SupportSurface:
    half = width / 2 - 0.03
    return SupportSurface(x=(-half, half), z=(-FRONT + 0.05, FRONT - 0.08), y=HEIGHT, kind="counter", headroom=0.42)


def finish_unit(style: KitchenStyle, **extra: Finish) -> dict[str, Finish]:
    return {
        BODY: style.front,
        "carcass": style.front,
        "plinth": style.handles,
        "top": style.top,
        "handles": style.handles,
        **extra,
    }


@register_unit("C", "kitchen_cabinet", "shaker")
def make_shaker_unit(draw: RandomStream, style: KitchenStyle) -> Piece:
    """A framed door under a framed drawer."""
    width = 0.6
    made = make_carcass(width) + make_worktop(width)
    for y, tall in ((0.11, 0.55), (0.67, 0.18)):
        made += make_parts(
            BODY,
            make_box((width - 0.01, tall - 0.006, 0.012), (0, y, FRONT - 0.014)),
            *make_box_frame((0, y, FRONT - 0.004), (width - 0.01, tall - 0.006), bar=0.055, thick=0.012),
        )
        made += make_parts(
            "handles", make_cylinder(0.016, 0.026, sides=8).tilt(90).translate((0, y + tall - 0.07, FRONT))
        )
    return make_piece("kitchen cabinet", made, finish_unit(style), surfaces=[_make_counter(width)], clearance=0.6)


@register_unit("C", "kitchen_cabinet", "drawers")
def make_drawer_unit(draw: RandomStream, style: KitchenStyle) -> Piece:
    """Two deep drawers and a shallow one, with bar handles."""
    width = 0.6
    made = make_carcass(width) + make_worktop(width)
    for y, tall in ((0.11, 0.3), (0.42, 0.27), (0.70, 0.15)):
        made += make_parts(BODY, make_box((width - 0.008, tall - 0.006, 0.02), (0, y, FRONT - 0.01)))
        made += make_parts(
            "handles",
            make_rod((-0.2, y + tall - 0.05, FRONT + 0.022), (0.2, y + tall - 0.05, FRONT + 0.022), 0.006),
            *(
                make_rod((x, y + tall - 0.05, FRONT), (x, y + tall - 0.05, FRONT + 0.022), 0.005, sides=6)
                for x in (-0.16, 0.16)
            ),
        )
    return make_piece("kitchen cabinet", made, finish_unit(style), surfaces=[_make_counter(width)], clearance=0.6)


@register_unit("C", "kitchen_cabinet", "open")
def make_open_unit(draw: RandomStream, style: KitchenStyle) -> Piece:
    """Open shelves for bowls and jars."""
    width = 0.6
    made = make_parts(
        BODY,
        *make_box_pair((0.02, HEIGHT - TOP - 0.1, DEPTH - 0.02), (width / 2 - 0.01, 0.1, -0.01)),
        make_box((width - 0.04, HEIGHT - TOP - 0.1, 0.012), (0, 0.1, -FRONT + 0.006)),
        *(make_box((width - 0.04, 0.02, DEPTH - 0.04), (0, y, -0.01)) for y in (0.1, 0.46)),
    )
    made += make_parts("plinth", make_box((width, 0.1, DEPTH - 0.08), (0, 0, -0.04))) + make_worktop(width)
    inner = [
        SupportSurface(
            x=(-width / 2 + 0.05, width / 2 - 0.05),
            z=(-FRONT + 0.05, FRONT - 0.08),
            y=y + 0.02,
            kind="dishes",
            headroom=0.3,
        )
        for y in (0.1, 0.46)
    ]
    return make_piece(
        "kitchen cabinet", made, finish_unit(style), surfaces=[_make_counter(width), *inner], clearance=0.6
    )


@register_unit("N", "kitchen_cabinet", "narrow")
def make_narrow_unit(draw: RandomStream, style: KitchenStyle) -> Piece:
    width = 0.4
    made = make_carcass(width) + make_worktop(width)
    made += make_parts(BODY, make_box((width - 0.008, 0.74, 0.02), (0, 0.11, FRONT - 0.01)))
    made += make_parts("handles", make_box((0.012, 0.3, 0.024), (width / 2 - 0.06, 0.45, FRONT + 0.01)))
    return make_piece("kitchen cabinet", made, finish_unit(style), surfaces=[_make_counter(width)], clearance=0.6)


def _make_basin(x: float, width: float, deep: float, rise: float = 0.2) -> list[SolidPart]:
    """A basin let into the worktop, without its rim."""
    return make_parts(
        "basin",
        make_box((width, 0.015, deep), (x, HEIGHT - rise, 0)),
        *(
            make_box((0.012, rise, deep), (x + side * (width / 2 - 0.006), HEIGHT - rise + 0.005, 0))
            for side in (-1, 1)
        ),
        *(make_box((width, rise, 0.012), (x, HEIGHT - rise + 0.005, side * (deep / 2 - 0.006))) for side in (-1, 1)),
    )


def _make_gooseneck(at: Vec3, *, rise: float, reach: float) -> list[SolidPart]:
    """A tap that bends over in an arc."""
    x, y, z = at
    points = [(x, y + rise * t, z) for t in (0.0, 0.75)] + [
        (x, y + rise * 0.95, z + reach * 0.2),
        (x, y + rise, z + reach * 0.5),
        (x, y + rise * 0.92, z + reach * 0.85),
        (x, y + rise * 0.7, z + reach),
    ]
    rods = [make_rod(a, b, 0.011) for a, b in itertools.pairwise(points)]
    return make_parts(
        "tap",
        make_cylinder(0.024, 0.025, at, sides=10),
        *rods,
        make_rod((x, y + 0.07, z), (x + 0.07, y + 0.1, z), 0.007),
    )


def _make_sink_front(width: float) -> list[SolidPart]:
    made = []
    for side in (-1, 1):
        made += make_parts(BODY, make_box((width / 2 - 0.01, 0.734, 0.02), (side * width / 4, 0.11, FRONT - 0.01)))
        made += make_parts("handles", make_box((0.014, 0.16, 0.024), (side * 0.04, 0.62, FRONT + 0.01)))
    return made


@register_unit("S", "kitchen_sink", "double")
def make_double_sink(draw: RandomStream, style: KitchenStyle) -> Piece:
    """Two basins and an arched tap."""
    width = 0.8
    made = kitchen.make_sink_carcass(width, 0.69) + _make_sink_front(width)
    made += make_parts(
        "top",
        *(
            make_box((0.05, TOP, DEPTH + 0.02), (x, HEIGHT - TOP, 0.01))
            for x in (-width / 2 + 0.025, 0, width / 2 - 0.025)
        ),
        *(make_box((width, TOP, 0.1), (0, HEIGHT - TOP, z)) for z in (-FRONT + 0.05, FRONT - 0.03)),
    )
    for x in (-0.1875, 0.1875):
        made += _make_basin(x, 0.325, 0.42)
    made += _make_gooseneck((0, HEIGHT, -FRONT + 0.05), rise=0.34, reach=0.2)
    finishes = finish_unit(style, basin=make_finish("metal", draw, ("light grey",)), tap=make_finish("chrome", draw))
    return make_piece("sink", made, finishes, clearance=0.6, name="kitchen sink")


@register_unit("S", "kitchen_sink", "apron")
def make_apron_sink(draw: RandomStream, style: KitchenStyle) -> Piece:
    """A deep ceramic basin whose front is seen."""
    width = 0.8
    made = make_carcass(width, height=0.52)
    for side in (-1, 1):
        made += make_parts(BODY, make_box((width / 2 - 0.01, 0.5, 0.02), (side * width / 4, 0.11, FRONT - 0.01)))
        made += make_parts("handles", make_box((0.014, 0.14, 0.024), (side * 0.04, 0.44, FRONT + 0.01)))
    made += make_parts(
        "top",
        *make_box_pair((0.08, TOP, DEPTH + 0.02), (width / 2 - 0.04, HEIGHT - TOP, 0.01)),
        make_box((width - 0.16, TOP, 0.1), (0, HEIGHT - TOP, -FRONT + 0.05)),
    )
    made += make_parts("carcass", *make_box_pair((0.08, 0.24, DEPTH - 0.02), (width / 2 - 0.04, 0.62, -0.01)))
    made += _make_basin(0, 0.64, 0.44, 0.22)
    made += make_parts("basin", make_rounded_box((0.64, 0.26, 0.05), 0.015, (0, HEIGHT - 0.255, FRONT)))
    made += _make_gooseneck((0, HEIGHT, -FRONT + 0.05), rise=0.3, reach=0.22)
    finishes = finish_unit(
        style, basin=make_finish("ceramic", draw), tap=make_finish(draw.choice(("chrome", "brass")), draw)
    )
    return make_piece("sink", made, finishes, clearance=0.6, name="kitchen sink")


@register_unit("S", "kitchen_sink", "drainer")
def make_drainer_sink(draw: RandomStream, style: KitchenStyle) -> Piece:
    """A basin on one side, a ribbed drainer on the other."""
    width = 0.8
    made = kitchen.make_sink_carcass(width, 0.69) + _make_sink_front(width)
    made += make_parts(
        "basin",
        make_box((0.38, TOP, 0.44), (0.19, HEIGHT - TOP, 0)),
        *(make_box((0.3, 0.005, 0.012), (0.19, HEIGHT, -0.16 + 0.05 * n)) for n in range(7)),
    )
    made += make_parts(
        "top",
        *(make_box((width, TOP, 0.1), (0, HEIGHT - TOP, z)) for z in (-FRONT + 0.05, FRONT - 0.03)),
        make_box((0.03, TOP, 0.42), (-width / 2 + 0.015, HEIGHT - TOP, 0)),
        make_box((0.02, TOP, 0.42), (width / 2 - 0.01, HEIGHT - TOP, 0)),
    )
    made += _make_basin(-0.185, 0.37, 0.42)
    made += _make_gooseneck((-0.05, HEIGHT, -FRONT + 0.05), rise=0.28, reach=0.18)
    finishes = finish_unit(style, basin=make_finish("metal", draw, ("light grey",)), tap=make_finish("chrome", draw))
    return make_piece("sink", made, finishes, clearance=0.6, name="kitchen sink")


def make_wall_unit(draw: RandomStream, style: KitchenStyle, *, width: float, shape: str) -> Piece:
    """A cupboard above the worktop: flat, framed, with glass, or open."""
    if shape == "flat":
        return kitchen.make_wall_unit(draw, style, width=width)
    height, depth = 0.7, 0.34
    finishes = {BODY: style.front, "handles": style.handles, "glass": make_finish("glass", draw)}
    if shape == "framed":
        made = make_parts(
            BODY,
            make_box((width, height, depth - 0.03), (0, 0, -0.015)),
            *make_box_frame((0, 0.004, depth / 2 - 0.02), (width - 0.008, height - 0.008), bar=0.055, thick=0.018),
        )
        made += make_parts(
            "handles",
            make_cylinder(0.014, 0.024, sides=8).tilt(90).translate((width / 2 - 0.06, 0.08, depth / 2 - 0.005)),
        )
        return make_piece("kitchen cabinet", made, finishes, rule=PlacementRule.ON_WALL, name="wall cabinet")
    shell = [
        *make_box_pair((0.018, height, depth - 0.02), (width / 2 - 0.009, 0, -0.01)),
        *(make_box((width - 0.036, 0.018, depth - 0.03), (0, y, -0.01)) for y in (0.0, 0.34, height - 0.018)),
        make_box((width - 0.036, height, 0.01), (0, 0, -depth / 2 + 0.005)),
    ]
    made = make_parts(BODY, *shell)
    if shape == "glass":
        made += make_parts("glass", make_box((width - 0.1, height - 0.1, 0.005), (0, 0.05, depth / 2 - 0.012)))
        made += make_parts(
            BODY, *make_box_frame((0, 0.004, depth / 2 - 0.012), (width - 0.008, height - 0.008), bar=0.05, thick=0.018)
        )
        made += make_parts(
            "handles",
            make_cylinder(0.012, 0.022, sides=8).tilt(90).translate((width / 2 - 0.03, 0.1, depth / 2 - 0.003)),
        )
    half = width / 2 - 0.04
    surfaces = [
        SupportSurface(
            x=(-half, half), z=(-depth / 2 + 0.03, depth / 2 - 0.05), y=y + 0.018, kind="dishes", headroom=0.27
        )
        for y in (0.0, 0.34)
    ]
    return make_piece(
        "kitchen cabinet", made, finishes, rule=PlacementRule.ON_WALL, name="wall cabinet", surfaces=surfaces
    )


WALL_SHAPES = ("flat", "framed", "glass", "open")


@register_shape("wall_cabinet", "framed")
def make_framed_wall_cabinet(draw: RandomStream) -> Piece:
    return make_wall_unit(draw, make_kitchen_style(draw), width=0.6, shape="framed")


@register_shape("wall_cabinet", "glass")
def make_glass_wall_cabinet(draw: RandomStream) -> Piece:
    return make_wall_unit(draw, make_kitchen_style(draw), width=0.6, shape="glass")


@register_shape("wall_cabinet", "open")
def make_open_wall_cabinet(draw: RandomStream) -> Piece:
    return make_wall_unit(draw, make_kitchen_style(draw), width=0.6, shape="open")
