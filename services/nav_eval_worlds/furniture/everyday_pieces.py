"""What people leave lying about: remote controls, fruit, papers, tools. Later generators only."""

import itertools

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    make_parts,
    make_piece,
    register_maker,
    register_shape,
)
from nav_eval_worlds.materials import make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    make_box,
    make_cylinder,
    make_ellipsoid,
    make_lathe,
    make_prism,
    make_rod,
    make_rounded_box,
)

SURFACE = PlacementRule.SURFACE
_DARK = {"plastic": ("black", "grey")}


@register_maker("remote_control")
def make_remote_control(draw: RandomStream) -> Piece:
    width, length, thick = draw.between(0.042, 0.055), draw.between(0.155, 0.21), draw.between(0.016, 0.022)
    made = make_parts(BODY, make_rounded_box((width, thick, length), 0.006))
    keys = [
        make_box((0.007, 0.002, 0.007), ((column - 1) * width * 0.26, thick, (row - 2) * length * 0.13))
        for row in range(5)
        for column in range(3)
        if row != 1
    ]
    made += make_parts("keys", *keys, make_box((width * 0.4, 0.002, width * 0.4), (0, thick, -length * 0.13)))
    finishes = make_finishes(draw, body={"plastic": ("black", "grey", "white")}, keys={"rubber": ("dark grey",)})
    return make_piece("remote control", made, finishes, rule=SURFACE)


@register_maker("phone")
def make_phone(draw: RandomStream) -> Piece:
    """A telephone of today, lying on its back."""
    width, length = draw.between(0.068, 0.078), draw.between(0.14, 0.162)
    made = make_parts(BODY, make_box((width, 0.007, length)))
    made += make_parts("screen", make_box((width - 0.006, 0.001, length - 0.008), (0, 0.007, 0)))
    finishes = make_finishes(draw, body=_DARK, screen={"plastic": ("black",)})
    return make_piece("phone", made, finishes, rule=SURFACE)


@register_maker("desk_phone")
def make_desk_phone(draw: RandomStream) -> Piece:
    """A telephone with a receiver and keys."""
    width, depth = draw.between(0.19, 0.22), draw.between(0.18, 0.22)
    wedge = [(-depth / 2, 0.0), (depth / 2, 0.0), (depth / 2, 0.07), (-depth / 2, 0.025)]
    made = make_parts(BODY, make_prism(wedge, width).rotate(90))
    grip = make_rounded_box((0.05, 0.03, depth * 0.92), 0.012, (-width * 0.3, 0.055, 0))
    keys = make_box((width * 0.42, 0.012, depth * 0.5), (width * 0.16, 0.045, 0))
    made += make_parts("receiver", grip) + make_parts("keys", keys)
    finishes = make_finishes(draw, body=_DARK, receiver={"plastic": ("black",)}, keys={"plastic": ("white", "grey")})
    return make_piece("phone", made, finishes, rule=SURFACE)


@register_maker("computer_mouse")
def make_computer_mouse(draw: RandomStream) -> Piece:
    length = draw.between(0.1, 0.12)
    made = make_parts(BODY, make_rounded_box((0.058, 0.034, length), 0.016))
    made += make_parts("wheel", make_box((0.008, 0.004, 0.022), (0, 0.033, -length * 0.2)))
    finishes = make_finishes(draw, body={"plastic": ("black", "grey", "white")}, wheel="rubber")
    return make_piece("computer mouse", made, finishes, rule=SURFACE)


@register_maker("document")
def make_document(draw: RandomStream) -> Piece:
    """A few sheets of paper, not quite on top of each other."""
    made: list[SolidPart] = []
    for n in range(draw.integer(2, 4)):
        turn, x, z = draw.uniform(-9, 9), draw.uniform(-0.012, 0.012), draw.uniform(-0.012, 0.012)
        made += make_parts(BODY, make_box((0.21, 0.0016, 0.297), (0, 0.0016 * n, 0)).rotate(turn).translate((x, 0, z)))
    lines = [
        make_box((0.13 - 0.03 * (n % 3), 0.0006, 0.004), (-0.01, 0.0016 * (len(made)), 0.018 * n - 0.09))
        for n in range(9)
    ]
    made += make_parts("lines", *lines)
    finishes = {BODY: make_finish("paper", draw), "lines": make_finish("cover", draw, ("black",))}
    return make_piece("document", made, finishes, rule=SURFACE)


@register_shape("document", "notepad")
def make_notepad(draw: RandomStream) -> Piece:
    """A pad with a pen on it."""
    width, length, thick = draw.between(0.145, 0.16), draw.between(0.2, 0.225), draw.between(0.006, 0.014)
    made = make_parts("back", make_box((width, 0.002, length)))
    made += make_parts(BODY, make_box((width, thick, length - 0.014), (0, 0.002, 0.007)))
    made += make_parts("back", make_box((width, thick + 0.003, 0.014), (0, 0.0, -length / 2 + 0.007)))
    top = thick + 0.006
    made += make_parts("pen", make_rod((-0.03, top, -0.05), (0.035, top, 0.06), 0.004, sides=6))
    finishes = make_finishes(draw, body="paper", back="cover", pen={"plastic": ("black", "blue", "red")})
    return make_piece("document", made, finishes, rule=SURFACE, name="notepad")


@register_maker("folder")
def make_folder(draw: RandomStream) -> Piece:
    """Ring binders that stand side by side, their backs to the front."""
    made: list[SolidPart] = []
    x = 0.0
    slots = [BODY, "second", BODY, "third", BODY]
    for n in range(draw.integer(3, 5)):
        thick = draw.between(0.055, 0.08)
        made += make_parts(slots[n], make_box((thick - 0.002, 0.315, 0.24), (x + thick / 2, 0, 0)))
        made += make_parts("label", make_box((thick * 0.6, 0.11, 0.002), (x + thick / 2, 0.16, 0.121)))
        x += thick
    finishes = make_finishes(draw, body="cover", second="cover", third="cover", label="paper")
    return make_piece("folder", made, finishes, rule=SURFACE)


@register_maker("pen_holder")
def make_pen_holder(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.036, 0.045), draw.between(0.09, 0.11)
    made = make_parts(
        BODY,
        make_lathe(
            [(0, 0), (radius, 0), (radius, height), (radius * 0.9, height), (radius * 0.9, 0.01), (0, 0.01)], sides=12
        ),
    )
    for n in range(4):
        angle = draw.uniform(0, 360)
        pen = make_rod((0.006, 0.012, 0), (radius * 0.78, height + 0.045, 0), 0.004, sides=6).rotate(angle)
        made += make_parts(f"pen {n % 2}", pen)
    pens = {f"pen {n}": make_finish("plastic", draw, ("black", "blue", "red", "yellow")) for n in (0, 1)}
    finishes = {BODY: make_finish(draw.choice(("metal", "plastic", "wood")), draw), **pens}
    return make_piece("pen holder", made, finishes, rule=SURFACE)


@register_maker("fruit")
def make_apple(draw: RandomStream) -> Piece:
    size = draw.between(0.068, 0.085)
    made = make_parts(BODY, make_ellipsoid((size, size * 0.9, size), sides=10, rings=6))
    made += make_parts("stalk", make_rod((0, size * 0.85, 0), (0.006, size * 1.05, 0.003), 0.002, sides=5))
    finishes = make_finishes(draw, body={"fruit": ("red", "green", "yellow")}, stalk={"wood": ("brown",)})
    return make_piece("fruit", made, finishes, rule=SURFACE, name="apple")


@register_shape("fruit", "pear")
def make_pear(draw: RandomStream) -> Piece:
    size = draw.between(0.062, 0.072)
    profile = [(0, 0), (0.3, 0.02), (0.5, 0.35), (0.42, 0.75), (0.24, 1.05), (0.2, 1.3), (0, 1.4)]
    made = make_parts(BODY, make_lathe([(size * r, size * y) for r, y in profile], sides=10, smooth=True))
    made += make_parts("stalk", make_rod((0, size * 1.35, 0), (0.008, size * 1.6, 0), 0.002, sides=5))
    finishes = make_finishes(draw, body={"fruit": ("green", "yellow")}, stalk={"wood": ("brown",)})
    return make_piece("fruit", made, finishes, rule=SURFACE, name="pear")


@register_shape("fruit", "banana")
def make_banana(draw: RandomStream) -> Piece:
    """Three of a bunch, lying on their side."""
    made: list[SolidPart] = []
    size = draw.between(0.92, 1.08)
    for n in range(3):
        bend = [(-0.08, 0.045), (-0.045, 0.012), (0.0, 0.0), (0.045, 0.012), (0.08, 0.045)]
        points = [(size * x, 0.017, size * z + 0.034 * n) for x, z in bend]
        for (a, b), radius in zip(itertools.pairwise(points), (0.013, 0.017, 0.017, 0.013), strict=True):
            made += make_parts(BODY, make_rod(a, b, radius, sides=7))
    made += make_parts("stalk", make_box((0.016, 0.016, 0.09), (0.082 * size, 0.01, 0.08)))
    finishes = make_finishes(draw, body={"fruit": ("yellow",)}, stalk={"wood": ("brown",)})
    return make_piece("fruit", made, finishes, rule=SURFACE, name="banana")


@register_maker("teapot")
def make_teapot(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.07, 0.085), draw.between(0.115, 0.14)
    profile = [(0, 0), (0.6, 0), (1.0, 0.4), (0.9, 0.75), (0.5, 0.93), (0, 1.0)]
    made = make_parts(BODY, make_lathe([(radius * r, height * y) for r, y in profile], sides=14, smooth=True))
    spout = make_rod((radius * 0.8, height * 0.35, 0), (radius * 1.6, height * 0.82, 0), radius * 0.16, sides=7)
    loop = [(-0.85, 0.78), (-1.45, 0.72), (-1.45, 0.32), (-0.9, 0.28)]
    bars = [
        make_rod((radius * ax, height * ay, 0), (radius * bx, height * by, 0), 0.007, sides=6)
        for (ax, ay), (bx, by) in itertools.pairwise(loop)
    ]
    made += make_parts(BODY, spout, *bars)
    made += make_parts(BODY, make_ellipsoid((0.024, 0.024, 0.024), (0, height * 0.96, 0), sides=8, rings=5))
    finishes = {BODY: make_finish(draw.choice(("pottery", "chrome")), draw)}
    return make_piece("teapot", made, finishes, rule=SURFACE)


@register_maker("cutting_board")
def make_cutting_board(draw: RandomStream) -> Piece:
    """With a knife, or with bread on it."""
    width, depth = draw.between(0.3, 0.4), draw.between(0.2, 0.26)
    made = make_parts(BODY, make_rounded_box((width, 0.02, depth), 0.006))
    if draw.chance(0.5):
        made += make_parts("knife", make_box((0.18, 0.003, 0.026), (-0.03, 0.02, depth * 0.2)))
        made += make_parts("handle", make_rounded_box((0.11, 0.016, 0.022), 0.006, (0.1, 0.02, depth * 0.2)))
    else:
        made += make_parts(
            "handle", make_ellipsoid((width * 0.6, 0.085, depth * 0.5), (0, 0.012, 0), sides=10, rings=6)
        )
    finishes = make_finishes(draw, body="wood", knife="chrome", handle={"wood": ("brown", "light brown")})
    used = {part.slot for part in made}
    return make_piece("cutting board", made, {s: f for s, f in finishes.items() if s in used}, rule=SURFACE)


@register_maker("knife_block")
def make_knife_block(draw: RandomStream) -> Piece:
    height = draw.between(0.19, 0.23)
    block = make_prism([(-0.06, 0), (0.06, 0), (0.06, height), (-0.06, height * 0.62)], 0.11).rotate(90)
    made = make_parts(BODY, block)
    for n in range(5):
        z, x = 0.035 - 0.025 * (n // 2), -0.028 + 0.056 * (n % 2)
        foot = height * (0.81 - 0.19 * (z / 0.06)) - 0.012
        made += make_parts("handles", make_rounded_box((0.022, 0.085, 0.016), 0.005, (x, foot, z)))
    finishes = make_finishes(draw, body="wood", handles=_DARK)
    return make_piece("knife block", made, finishes, rule=SURFACE)


@register_maker("tool")
def make_hammer(draw: RandomStream) -> Piece:
    length = draw.between(0.28, 0.33)
    made = make_parts(BODY, make_rod((0, 0.014, -length / 2 + 0.03), (0, 0.014, length / 2), 0.014, sides=8))
    made += make_parts("head", make_box((0.11, 0.03, 0.03), (0, 0, -length / 2 + 0.03)))
    finishes = make_finishes(draw, body={"wood": ("light brown", "brown")}, head={"metal": ("grey", "black")})
    return make_piece("tool", made, finishes, rule=SURFACE, name="hammer")


@register_shape("tool", "screwdriver")
def make_screwdriver(draw: RandomStream) -> Piece:
    length = draw.between(0.2, 0.26)
    made = make_parts(BODY, make_rod((0, 0.015, 0.02), (0, 0.015, length / 2), 0.015, sides=8))
    made += make_parts("blade", make_rod((0, 0.015, -length / 2), (0, 0.015, 0.03), 0.004, sides=6))
    finishes = make_finishes(draw, body={"plastic": ("red", "yellow", "blue", "black")}, blade="chrome")
    return make_piece("tool", made, finishes, rule=SURFACE, name="screwdriver")


@register_shape("tool", "wrench")
def make_wrench(draw: RandomStream) -> Piece:
    length = draw.between(0.19, 0.26)
    made = make_parts(BODY, make_box((0.018, 0.008, length * 0.8)))
    for side in (-1, 1):
        z = side * length * 0.42
        made += make_parts(BODY, make_box((0.042, 0.01, 0.024), (0, 0, z)))
        made += make_parts(BODY, *(make_box((0.012, 0.01, 0.022), (s * 0.015, 0, z + side * 0.022)) for s in (-1, 1)))
    return make_piece("tool", made, {BODY: make_finish("chrome", draw)}, rule=SURFACE, name="wrench")


@register_maker("paint_can")
def make_paint_can(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.07, 0.1), draw.between(0.15, 0.21)
    made = make_parts("tin", make_cylinder(radius, height, sides=14))
    made += make_parts(BODY, make_cylinder(radius * 1.005, height * 0.62, (0, height * 0.16, 0), sides=14))
    made += make_parts("tin", make_cylinder(radius * 0.9, 0.008, (0, height, 0), sides=14))
    finishes = make_finishes(draw, body="cover", tin={"metal": ("light grey", "grey")})
    return make_piece("paint can", made, finishes, rule=SURFACE)


@register_maker("toothbrush_cup")
def make_toothbrush_cup(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.034, 0.04), draw.between(0.09, 0.11)
    made = make_parts(
        BODY,
        make_lathe(
            [(0, 0), (radius, 0), (radius, height), (radius * 0.9, height), (radius * 0.9, 0.008), (0, 0.008)], sides=12
        ),
    )
    for n in range(draw.integer(1, 3)):
        brush = make_rod((-0.01, 0.01, 0), (radius * 0.8, height + 0.05, 0), 0.0035, sides=5)
        made += make_parts("brush", brush.rotate(40 + 130 * n))
    finishes = make_finishes(draw, body=("pottery", "plastic"), brush={"plastic": ("white", "blue", "red", "green")})
    return make_piece("cup", made, finishes, rule=SURFACE, name="toothbrush cup")


@register_maker("glove_box")
def make_glove_box(draw: RandomStream) -> Piece:
    """Gloves for single use, one looking out."""
    made = make_parts(BODY, make_box((0.24, 0.08, 0.125)))
    made += make_parts("label", make_box((0.242, 0.03, 0.127), (0, 0.02, 0)))
    made += make_parts("glove", make_rounded_box((0.07, 0.045, 0.05), 0.018, (0, 0.06, 0)))
    finishes = make_finishes(
        draw,
        body={"cover": ("white", "blue", "teal")},
        label={"cover": ("blue", "green", "white")},
        glove={"plastic": ("white", "blue")},
    )
    return make_piece("box", made, finishes, rule=SURFACE, name="glove box")


@register_maker("toy_train")
def make_toy_train(draw: RandomStream) -> Piece:
    """An engine and a waggon of wood."""
    made: list[SolidPart] = []
    for n, slot in enumerate((BODY, "waggon")):
        z = 0.17 * n - 0.085
        made += make_parts(slot, make_box((0.06, 0.03, 0.14), (0, 0.02, z)))
        wheel = make_cylinder(0.02, 0.014, sides=8).tilt(90, axis=2)
        made += make_parts(
            "wheels", *(wheel.translate((x, 0.02, z + dz)) for x in (-0.024, 0.038) for dz in (-0.045, 0.045))
        )
    made += make_parts(BODY, make_box((0.056, 0.05, 0.05), (0, 0.05, -0.045)))
    made += make_parts("chimney", make_cylinder(0.014, 0.045, (0, 0.05, -0.13), sides=8))
    finishes = make_finishes(
        draw, body="bright lacquer", waggon="bright lacquer", wheels="rubber", chimney={"lacquer": ("black",)}
    )
    return make_piece("toy", made, finishes, rule=SURFACE, name="toy train")
