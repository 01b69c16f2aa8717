"""Lamps, screens and machines with a plug, in all rooms; candles too."""

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    SupportSurface,
    make_parts,
    make_piece,
    register_maker,
)
from nav_eval_worlds.materials import Finish, make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_cylinder,
    make_double_sided,
    make_ellipsoid,
    make_lathe,
    make_level_picture,
    make_picture,
    make_rod,
    make_rounded_box,
)


@register_maker("tv")
def make_tv(draw: RandomStream) -> Piece:
    """A television on its foot."""
    width = draw.between(0.9, 1.3)
    height = width * 0.57
    made = make_parts(
        BODY,
        make_box((width, height, 0.04), (0, 0.06, 0)),
        make_box((0.06, 0.08, 0.03), (0, 0.0, -0.01)),
        make_rounded_box((width * 0.4, 0.015, 0.2), 0.005),
    )
    made += make_parts("screen", make_picture(width - 0.03, height - 0.03, (0, 0.075, 0.0212)))
    finishes = {BODY: make_finish("plastic", draw, ("black",)), "screen": _choose_programme(draw)}
    return make_piece("tv", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("wall_tv")
def make_wall_tv(draw: RandomStream) -> Piece:
    width = draw.between(0.9, 1.3)
    height = width * 0.57
    made = make_parts(BODY, make_box((width, height, 0.045)))
    made += make_parts("screen", make_picture(width - 0.03, height - 0.03, (0, 0.015, 0.0237)))
    finishes = {BODY: make_finish("plastic", draw, ("black",)), "screen": _choose_programme(draw)}
    return make_piece("tv", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("monitor")
def make_monitor(draw: RandomStream) -> Piece:
    width = draw.between(0.5, 0.62)
    height = width * 0.6
    made = make_parts(
        BODY,
        make_box((width, height, 0.03), (0, 0.12, 0)),
        make_box((0.05, 0.2, 0.02), (0, 0.01, -0.03)),
        make_rounded_box((0.24, 0.015, 0.18), 0.005),
    )
    made += make_parts("screen", make_picture(width - 0.02, height - 0.02, (0, 0.13, 0.0162)))
    finishes = {
        BODY: make_finish("plastic", draw, ("black", "grey", "white")),
        "screen": make_finish("screen", draw, patterns=("desktop",)),
    }
    return make_piece("computer monitor", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("keyboard")
def make_keyboard(draw: RandomStream) -> Piece:
    keys: list[SolidMesh] = [
        make_box((0.025, 0.008, 0.02), (-0.18 + 0.03 * n, 0.015, -0.04 + 0.027 * row))
        for row in range(4)
        for n in range(13)
    ]
    made = make_parts(BODY, make_rounded_box((0.43, 0.018, 0.14), 0.005)) + make_parts("keys", *keys)
    body = make_finish("plastic", draw, ("black", "white", "grey"))
    finishes = {BODY: body, "keys": make_finish("plastic", draw, ("grey", "black"))}
    return make_piece("keyboard", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("laptop")
def make_laptop(draw: RandomStream) -> Piece:
    lid = make_box((0.34, 0.23, 0.012)).tilt(-15).translate((0, 0.012, -0.115))
    shown = make_picture(0.32, 0.205, (0, 0.012, 0.0075)).tilt(-15).translate((0, 0.012, -0.115))
    made = make_parts(BODY, make_rounded_box((0.34, 0.018, 0.24), 0.005), lid) + make_parts("screen", shown)
    made += make_parts("keys", make_level_picture(0.29, 0.11, (0, 0.0185, -0.02)))
    finishes = {
        BODY: make_finish("metal", draw, ("light grey", "grey")),
        "screen": make_finish("screen", draw, patterns=("desktop",)),
        "keys": make_finish("plastic", draw, ("black",)),
    }
    return make_piece("laptop", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("radio")
def make_radio(draw: RandomStream) -> Piece:
    width, height = draw.between(0.26, 0.36), draw.between(0.16, 0.2)
    made = make_parts(BODY, make_rounded_box((width, height, 0.12), 0.02))
    made += make_parts("grille", make_box((width * 0.5, height * 0.7, 0.006), (-width * 0.18, height * 0.15, 0.06)))
    made += make_parts(
        "knob", make_cylinder(0.025, 0.02, sides=12).tilt(90).translate((width * 0.28, height * 0.6, 0.06))
    )
    finishes = make_finishes(draw, body=("wood", "plastic"), grille={"plastic": ("black", "grey")}, knob="chrome")
    return make_piece("radio", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("speaker")
def make_speaker(draw: RandomStream) -> Piece:
    width, height = draw.between(0.2, 0.26), draw.between(0.75, 1.0)
    made = make_parts(BODY, make_box((width, height, 0.26)))
    made += make_parts(
        "cones",
        *(
            make_cylinder(size, 0.01, sides=16).tilt(90).translate((0, height * y, 0.13))
            for size, y in ((0.08, 0.35), (0.08, 0.6), (0.04, 0.82))
        ),
    )
    finishes = make_finishes(draw, body=("wood", "lacquer"), cones={"plastic": ("grey", "black")})
    return make_piece("speaker", made, finishes)


def _choose_programme(draw: RandomStream) -> Finish:
    return make_finish("screen", draw, patterns=("programme",))


@register_maker("microwave")
def make_microwave(draw: RandomStream) -> Piece:
    made = make_parts(BODY, make_rounded_box((0.48, 0.28, 0.34), 0.01))
    made += make_parts("window", make_box((0.32, 0.2, 0.01), (-0.06, 0.04, 0.17)))
    made += make_parts("window", make_box((0.08, 0.2, 0.01), (0.17, 0.04, 0.17)))
    made += make_parts("handle", make_box((0.015, 0.2, 0.03), (0.115, 0.04, 0.18)))
    finishes = make_finishes(draw, body="enamel", window={"plastic": ("black",)}, handle="chrome")
    return make_piece("microwave", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("kettle")
def make_kettle(draw: RandomStream) -> Piece:
    made = make_parts(
        BODY,
        make_lathe(
            [(0, 0), (0.085, 0), (0.09, 0.03), (0.065, 0.2), (0.02, 0.215), (0.018, 0.235), (0, 0.235)], sides=14
        ),
    )
    made += make_parts(
        "handle",
        make_rod((0.06, 0.2, 0), (0.13, 0.17, 0), 0.01),
        make_rod((0.13, 0.17, 0), (0.085, 0.05, 0), 0.01),
        make_rod((-0.06, 0.12, 0), (-0.12, 0.19, 0), 0.014),
    )
    finishes = make_finishes(draw, body=("chrome", "enamel", "plastic"), handle={"plastic": ("black",)})
    return make_piece("kettle", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("toaster")
def make_toaster(draw: RandomStream) -> Piece:
    made = make_parts(BODY, make_rounded_box((0.28, 0.18, 0.17), 0.03))
    made += make_parts("slots", *(make_box((0.2, 0.004, 0.025), (0, 0.178, z)) for z in (-0.035, 0.035)))
    made += make_parts("slots", make_box((0.02, 0.03, 0.03), (0.145, 0.1, 0)))
    finishes = make_finishes(draw, body=("chrome", "plastic", "enamel"), slots={"plastic": ("black",)})
    return make_piece("toaster", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("washing_machine")
def make_washing_machine(draw: RandomStream) -> Piece:
    return _make_drum_machine(draw, "washing machine", door="glass")


@register_maker("dryer")
def make_dryer(draw: RandomStream) -> Piece:
    return _make_drum_machine(draw, "dryer", door="metal")


def _make_drum_machine(draw: RandomStream, category: str, *, door: str) -> Piece:
    width, height, depth = draw.between(0.58, 0.62), draw.between(0.84, 0.88), draw.between(0.56, 0.62)
    made = make_parts(BODY, make_rounded_box((width, height, depth), 0.012))
    ring = make_lathe([(0.13, 0), (0.2, 0), (0.19, 0.04), (0.15, 0.05), (0.13, 0.02)], sides=20).tilt(90)
    made += make_parts("ring", ring.translate((0, 0.4, depth / 2)))
    lid = make_lathe([(0.15, 0.0), (0.12, 0.025), (0, 0.03)], sides=20, smooth=True).tilt(90)
    made += make_parts("door", lid.translate((0, 0.4, depth / 2)))
    made += make_parts("panel", make_box((width - 0.04, 0.12, 0.01), (0, height - 0.14, depth / 2)))
    made += make_parts(
        "ring", make_cylinder(0.035, 0.03, sides=14).tilt(90).translate((0.14, height - 0.08, depth / 2))
    )
    kind, colours = ("glassware", ("dark green", "blue")) if door == "glass" else ("enamel", ("light grey",))
    if door == "glass" and draw.generator != FIRST_GENERATOR:
        kind, colours = "plastic", ("black", "grey")  # as dark as drums are behind their glass
    pane = make_finish(kind, draw, colours)
    finishes = {
        BODY: make_finish("enamel", draw, ("white", "light grey", "dark grey")),
        "ring": make_finish("chrome", draw),
        "door": pane,
        "panel": make_finish("plastic", draw, ("grey", "black")),
    }
    surface = SupportSurface(x=(-0.24, 0.24), z=(-0.22, 0.22), y=height, kind="laundry")
    return make_piece(category, made, finishes, surfaces=[surface], clearance=0.55)


@register_maker("pendant_lamp")
def make_pendant_lamp(draw: RandomStream) -> Piece:
    """A shade on a cable; its origin is the lower rim, so it hangs by its height."""
    radius, height, cable = draw.between(0.18, 0.28), draw.between(0.16, 0.26), draw.between(0.25, 0.4)
    made = make_parts(BODY, _make_shade(radius, radius * draw.between(0.35, 0.8), height))
    made += make_parts("bulb", make_ellipsoid((0.09, 0.11, 0.09), (0, height * 0.25, 0), sides=8, rings=5))
    made += make_parts(
        "cable",
        make_rod((0, height - 0.03, 0), (0, height + cable, 0), 0.006, sides=6),
        make_cylinder(0.05, 0.03, (0, height + cable - 0.03, 0), sides=10),
    )
    return _make_lamp("ceiling lamp", made, draw, rule=PlacementRule.CEILING, glow_at=height * 0.1)


@register_maker("ceiling_disc")
def make_ceiling_disc(draw: RandomStream) -> Piece:
    """A flat lamp directly under the ceiling."""
    radius = draw.between(0.16, 0.26)
    made = make_parts(BODY, make_lathe([(0, 0), (radius * 0.9, 0.02), (radius, 0.08)], sides=20, smooth=True))
    made += make_parts("cable", make_cylinder(radius + 0.015, 0.025, (0, 0.08, 0), sides=20))
    made += make_parts("bulb", make_cylinder(0.02, 0.01, (0, 0.085, 0), sides=6))
    return _make_lamp("ceiling lamp", made, draw, rule=PlacementRule.CEILING, glow_at=0.0)


@register_maker("floor_lamp")
def make_floor_lamp(draw: RandomStream) -> Piece:
    height, radius = draw.between(1.45, 1.7), draw.between(0.16, 0.22)
    made = make_parts(BODY, _make_shade(radius, radius * 0.72, 0.26).translate((0, height - 0.26, 0)))
    made += make_parts("bulb", make_ellipsoid((0.08, 0.1, 0.08), (0, height - 0.2, 0), sides=8, rings=5))
    made += make_parts(
        "cable", make_cylinder(0.14, 0.025, sides=16), make_rod((0, 0.02, 0), (0, height - 0.18, 0), 0.012)
    )
    return _make_lamp("floor lamp", made, draw, rule=PlacementRule.CORNER, glow_at=height - 0.15)


@register_maker("table_lamp")
def make_table_lamp(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.34, 0.48), draw.between(0.09, 0.13)
    shade = height * 0.45
    made = make_parts(BODY, _make_shade(radius, radius * 0.65, shade).translate((0, height - shade, 0)))
    made += make_parts("bulb", make_ellipsoid((0.06, 0.08, 0.06), (0, height - shade * 0.7, 0), sides=8, rings=4))
    foot = make_lathe(
        [(0, 0), (0.07, 0), (0.06, 0.03), (0.02, 0.06), (0.045, 0.14), (0.012, height - shade), (0, height - shade)],
        sides=12,
        smooth=True,
    )
    return _make_lamp(
        "table lamp", made + make_parts("cable", foot), draw, rule=PlacementRule.SURFACE, glow_at=height - shade / 2
    )


@register_maker("desk_lamp")
def make_desk_lamp(draw: RandomStream) -> Piece:
    """A jointed reading lamp."""
    made = make_parts(
        "cable",
        make_cylinder(0.08, 0.02, sides=14),
        make_rod((0, 0.02, 0), (-0.08, 0.24, 0), 0.008),
        make_rod((-0.08, 0.24, 0), (0.08, 0.4, 0), 0.008),
    )
    made += make_parts(BODY, make_lathe([(0.07, 0), (0.03, 0.09), (0, 0.09)], sides=12).translate((0.1, 0.33, 0)))
    made += make_parts("bulb", make_ellipsoid((0.05, 0.05, 0.05), (0.1, 0.335, 0), sides=8, rings=4))
    lamp = _make_lamp("table lamp", made, draw, rule=PlacementRule.SURFACE, glow_at=0.33)
    colour = make_finish("plastic", draw)
    return make_piece(
        "table lamp",
        lamp.parts,
        {BODY: colour, "bulb": make_finish("bulb", draw), "cable": colour},
        rule=PlacementRule.SURFACE,
        name="desk lamp",
    )


@register_maker("candle")
def make_candle(draw: RandomStream) -> Piece:
    height, radius = draw.between(0.08, 0.2), draw.between(0.02, 0.035)
    made = make_parts(BODY, make_cylinder(radius, height, (0, 0.012, 0), sides=12))
    made += make_parts("plate", make_cylinder(radius * 1.8, 0.012, sides=14))
    made += make_parts("wick", make_cylinder(0.003, 0.015, (0, height + 0.012, 0), sides=5))
    finishes = make_finishes(draw, body="wax", plate="brass", wick={"plastic": ("black",)})
    return make_piece("candle", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("wall_lamp")
def make_wall_lamp(draw: RandomStream) -> Piece:
    made = make_parts(
        "cable", make_box((0.08, 0.14, 0.02), (0, 0, -0.06)), make_rod((0, 0.07, -0.05), (0, 0.07, 0.03), 0.01)
    )
    made += make_parts(BODY, _make_shade(0.09, 0.06, 0.16).translate((0, 0.04, 0.04)))
    made += make_parts("bulb", make_ellipsoid((0.05, 0.07, 0.05), (0, 0.08, 0.04), sides=8, rings=4))
    return _make_lamp("wall lamp", made, draw, rule=PlacementRule.ON_WALL, glow_at=0.1)


def _make_shade(radius: float, top: float, height: float) -> SolidMesh:
    """An open cone, seen from both sides."""
    return make_double_sided(make_lathe([(radius, 0), (top, height)], sides=18))


def _make_lamp(
    category: str, made: list[SolidPart], draw: RandomStream, *, rule: PlacementRule, glow_at: float
) -> Piece:
    finishes = make_finishes(draw, body="shade", bulb="bulb", cable=("metal", "brass", "chrome"))
    return make_piece(category, made, finishes, rule=rule, glows=(0.0, glow_at, 0.0))
