"""Further shapes of stoves, refrigerators and range hoods."""

from nav_eval.records.geometry import Vec3
from nav_eval_worlds.furniture.kitchen import DEPTH, HEIGHT, KitchenStyle
from nav_eval_worlds.furniture.kitchen_shapes import FRONT, finish_unit, make_carcass, make_worktop, register_unit
from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    SupportSurface,
    make_parts,
    make_piece,
)
from nav_eval_worlds.materials import make_finish
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    make_box,
    make_cylinder,
    make_lathe,
    make_rod,
    make_rounded_box,
)


def _make_hob_surface() -> SupportSurface:
    return SupportSurface(x=(-0.22, 0.22), z=(-0.2, 0.2), y=HEIGHT + 0.03, kind="hob")


def _make_burners() -> list[SolidPart]:
    """Four gas rings under cast grates, so close that a pot stands on them anywhere."""
    rings = [make_cylinder(0.045, 0.018, (x, HEIGHT, z), sides=12) for x in (-0.14, 0.14) for z in (-0.13, 0.13)]
    bars = [make_box((0.01, 0.01, 0.44), (-0.24 + 0.03 * n, HEIGHT + 0.02, 0)) for n in range(17)]
    feet = [make_box((0.01, 0.02, 0.01), (x, HEIGHT, z)) for x in (-0.24, 0.24) for z in (-0.21, 0.21)]
    return make_parts("rings", *rings, *bars, *feet)


@register_unit("O", "stove", "gas")
def make_gas_stove(draw: RandomStream, style: KitchenStyle) -> Piece:
    """Gas rings, knobs in front, two oven doors one above the other."""
    width = 0.6
    made = make_parts(
        BODY,
        make_box((width, HEIGHT, DEPTH - 0.02), (0, 0, -0.01)),
        make_box((width - 0.01, 0.1, 0.03), (0, 0.79, FRONT - 0.015)),
    )
    made += make_parts("glass", make_box((width - 0.14, 0.2, 0.012), (0, 0.5, FRONT + 0.008)))
    made += make_parts(
        BODY,
        make_box((width - 0.02, 0.42, 0.03), (0, 0.34, FRONT - 0.015)),
        make_box((width - 0.02, 0.2, 0.03), (0, 0.1, FRONT - 0.015)),
    )
    for y in (0.72, 0.27):
        made += make_parts(
            "handle",
            make_rod((-0.22, y, FRONT + 0.04), (0.22, y, FRONT + 0.04), 0.01),
            *(make_rod((x, y, FRONT), (x, y, FRONT + 0.04), 0.007, sides=6) for x in (-0.2, 0.2)),
        )
    made += make_parts(
        "handle",
        *(make_cylinder(0.02, 0.03, sides=10).tilt(90).translate((-0.22 + 0.11 * n, 0.84, FRONT)) for n in range(5)),
    )
    made += _make_burners()
    finishes = {
        BODY: style.appliance,
        "glass": make_finish("plastic", draw, ("black",)),
        "handle": make_finish("chrome", draw),
        "rings": make_finish("plastic", draw, ("black",)),
    }
    return make_piece("stove", made, finishes, surfaces=[_make_hob_surface()], clearance=0.6)


@register_unit("O", "stove", "induction")
def make_induction_stove(draw: RandomStream, style: KitchenStyle) -> Piece:
    """A pane of black glass in the worktop over a built-in oven."""
    width = 0.6
    made = make_carcass(width) + make_worktop(width)
    made += make_parts(BODY, make_box((width - 0.01, 0.11, 0.02), (0, 0.11, FRONT - 0.01)))
    made += make_parts(
        "glass",
        make_box((width - 0.01, 0.6, 0.025), (0, 0.235, FRONT - 0.008)),
        make_box((width - 0.04, 0.006, 0.5), (0, HEIGHT, 0)),
    )
    made += make_parts(
        "handle",
        make_rod((-0.22, 0.7, FRONT + 0.045), (0.22, 0.7, FRONT + 0.045), 0.01),
        *(make_rod((x, 0.7, FRONT), (x, 0.7, FRONT + 0.045), 0.007, sides=6) for x in (-0.2, 0.2)),
        make_box((0.14, 0.03, 0.004), (0, 0.77, FRONT + 0.005)),
    )
    ring = make_lathe([(0.07, 0), (0.076, 0), (0.076, 0.001), (0.07, 0.001), (0.07, 0)], sides=18)
    made += make_parts("rings", *(ring.translate((x, HEIGHT + 0.006, z)) for x in (-0.14, 0.14) for z in (-0.12, 0.12)))
    finishes = finish_unit(
        style,
        glass=make_finish("plastic", draw, ("black",)),
        handle=make_finish("metal", draw, ("light grey", "grey")),
        rings=make_finish("plastic", draw, ("grey",)),
    )
    hob = SupportSurface(x=(-0.22, 0.22), z=(-0.2, 0.2), y=HEIGHT + 0.007, kind="hob")
    return make_piece("stove", made, finishes, surfaces=[hob], clearance=0.6)


@register_unit("O", "stove", "range")
def make_range_stove(draw: RandomStream, style: KitchenStyle) -> Piece:
    """A free-standing cooker with a panel at the back and a drawer below."""
    width = 0.6
    made = make_parts(
        BODY,
        make_box((width, HEIGHT - 0.02, DEPTH - 0.03), (0, 0, -0.015)),
        make_box((width, 0.2, 0.05), (0, HEIGHT, -FRONT + 0.025)),
        make_box((width - 0.02, 0.16, 0.03), (0, 0.06, FRONT - 0.02)),
        make_box((width - 0.02, 0.56, 0.03), (0, 0.24, FRONT - 0.02)),
    )
    made += make_parts(
        "glass",
        make_box((width, 0.02, DEPTH - 0.02), (0, HEIGHT - 0.02, -0.01)),
        make_box((width - 0.16, 0.28, 0.01), (0, 0.36, FRONT + 0.0)),
        make_box((0.16, 0.08, 0.01), (0, HEIGHT + 0.07, -FRONT + 0.052)),
    )
    made += make_parts(
        "handle",
        make_rod((-0.24, 0.75, FRONT + 0.03), (0.24, 0.75, FRONT + 0.03), 0.012),
        *(make_rod((x, 0.75, FRONT - 0.01), (x, 0.75, FRONT + 0.03), 0.008, sides=6) for x in (-0.22, 0.22)),
        *(
            make_cylinder(0.018, 0.025, sides=10).tilt(90).translate((x, HEIGHT + 0.11, -FRONT + 0.05))
            for x in (-0.24, -0.16, 0.16, 0.24)
        ),
    )
    coil = make_lathe([(0.03, 0), (0.08, 0), (0.08, 0.008), (0.03, 0.008), (0.03, 0)], sides=18)
    made += make_parts("rings", *(coil.translate((x, HEIGHT, z + 0.02)) for x in (-0.14, 0.14) for z in (-0.12, 0.13)))
    finishes = {
        BODY: style.appliance,
        "glass": make_finish("plastic", draw, ("black",)),
        "handle": make_finish("chrome", draw),
        "rings": make_finish("plastic", draw, ("grey",)),
    }
    hob = SupportSurface(x=(-0.22, 0.22), z=(-0.16, 0.22), y=HEIGHT + 0.008, kind="hob")
    return make_piece("stove", made, finishes, surfaces=[hob], clearance=0.6)


def _make_fridge(
    draw: RandomStream,
    style: KitchenStyle,
    *,
    size: Vec3,
    doors: list[tuple[float, float, float, float]],
    soft: float = 0.012,
) -> Piece:
    """A body with doors as (x, y, width, height) and a bar on each."""
    width, height, depth = size
    made = make_parts("shell", make_rounded_box((width, height, depth - 0.06), soft, (0, 0, -0.03)))
    for x, y, wide, tall in doors:
        made += make_parts(BODY, make_rounded_box((wide - 0.006, tall - 0.006, 0.06), soft, (x, y, depth / 2 - 0.03)))
        side = -1 if x > 0.01 else 1
        grip = x + side * (wide / 2 - 0.05)
        low, high = (y + tall * 0.12, y + tall * 0.62) if y > height * 0.3 else (y + tall * 0.38, y + tall * 0.9)
        made += make_parts(
            "handles",
            make_rod((grip, low, depth / 2 + 0.035), (grip, high, depth / 2 + 0.035), 0.011),
            *(
                make_rod((grip, h, depth / 2 - 0.005), (grip, h, depth / 2 + 0.035), 0.008, sides=6)
                for h in (low + 0.03, high - 0.03)
            ),
        )
    finishes = {
        BODY: style.appliance,
        "shell": style.appliance,
        "handles": make_finish(draw.choice(("chrome", "metal")), draw),
    }
    return make_piece("refrigerator", made, finishes, clearance=0.65)


@register_unit("F", "refrigerator", "side by side")
def make_wide_refrigerator(draw: RandomStream, style: KitchenStyle) -> Piece:
    """Two doors side by side."""
    width, height, depth = draw.between(0.84, 0.92), draw.between(1.75, 1.82), 0.68
    doors = [(-width / 4, 0.05, width / 2, height - 0.06), (width / 4, 0.05, width / 2, height - 0.06)]
    return _make_fridge(draw, style, size=(width, height, depth), doors=doors)


@register_unit("F", "refrigerator", "top freezer")
def make_top_freezer(draw: RandomStream, style: KitchenStyle) -> Piece:
    width, height, depth = draw.between(0.58, 0.68), draw.between(1.6, 1.75), 0.64
    return _make_fridge(
        draw,
        style,
        size=(width, height, depth),
        doors=[(0.0, 0.06, width, height * 0.68 - 0.06), (0.0, height * 0.68, width, height * 0.31)],
    )


@register_unit("F", "refrigerator", "retro")
def make_retro_refrigerator(draw: RandomStream, style: KitchenStyle) -> Piece:
    """One round door in a colour of its own."""
    width, height, depth = draw.between(0.58, 0.62), draw.between(1.45, 1.55), 0.66
    made = _make_fridge(draw, style, size=(width, height, depth), doors=[(0.0, 0.08, width, height - 0.1)], soft=0.05)
    paint = make_finish("enamel", draw)
    return make_piece("refrigerator", made.parts, {**made.finishes, BODY: paint, "shell": paint}, clearance=0.65)


@register_unit("H", "range_hood", "slanted")
def make_slanted_hood(draw: RandomStream, style: KitchenStyle) -> Piece:
    """A pane that leans away from the cook."""
    pane = make_box((0.58, 0.42, 0.025)).tilt(-38).translate((0, 0.04, 0.14))
    made = make_parts("glass", pane) + make_parts(
        BODY, make_box((0.58, 0.05, 0.3), (0, 0, -0.08)), make_box((0.28, 0.7, 0.22), (0, 0.05, -0.12))
    )
    finishes = {
        BODY: make_finish("metal", draw, ("light grey", "grey")),
        "glass": make_finish("plastic", draw, ("black",)),
    }
    return make_piece("range hood", made, finishes, rule=PlacementRule.ON_WALL)


@register_unit("H", "range_hood", "box")
def make_box_hood(draw: RandomStream, style: KitchenStyle) -> Piece:
    """A flat box behind a front like those of the cabinets."""
    made = make_parts("metal", make_box((0.6, 0.05, 0.46), (0, 0, 0.0))) + make_parts(
        BODY, make_box((0.6, 0.6, 0.33), (0, 0.05, -0.065))
    )
    return make_piece(
        "range hood",
        made,
        {BODY: style.front, "metal": make_finish("metal", draw, ("light grey", "grey"))},
        rule=PlacementRule.ON_WALL,
    )
