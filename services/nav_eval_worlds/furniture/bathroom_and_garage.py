"""What stands in a bathroom, and what stands in a garage."""

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SupportSurface,
    make_four_legs,
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
    make_lathe,
    make_picture,
    make_prism,
    make_rod,
    make_rounded_box,
)


@register_maker("toilet")
def make_toilet(draw: RandomStream) -> Piece:
    """Bowl, seat, lid leaning on the tank."""
    width, tank = draw.between(0.36, 0.4), draw.between(0.36, 0.42)
    bowl = make_lathe(
        [(0, 0), (0.13, 0), (0.11, 0.12), (0.16, 0.3), (0.185, 0.38)], sides=18, stretch=(1, 1.3), smooth=True
    )
    made = make_parts(
        BODY,
        bowl.translate((0, 0, 0.12)),
        make_rounded_box((width * 0.6, 0.38, 0.3), 0.03, (0, 0, -0.12)),
        make_rounded_box((width, tank, 0.17), 0.025, (0, 0.38, -0.24)),
        make_rounded_box((width + 0.02, 0.03, 0.19), 0.01, (0, 0.38 + tank, -0.24)),
    )
    seat = make_lathe([(0.1, 0), (0.19, 0), (0.19, 0.025), (0.1, 0.025), (0.1, 0)], sides=18, stretch=(1, 1.25))
    made += make_parts("seat", seat.translate((0, 0.38, 0.12)))
    made += make_parts("water", make_cylinder(0.1, 0.01, (0, 0.33, 0.12), sides=14))
    made += make_parts("button", make_cylinder(0.025, 0.012, (0, 0.41 + tank, -0.24), sides=10))
    if draw.chance(0.6):
        lid = make_lathe([(0.19, 0), (0.19, 0.02), (0, 0.025)], sides=18, stretch=(1, 1.2))
        made += make_parts("seat", lid.tilt(-84).translate((0, 0.6, -0.12)))
    else:
        made += make_parts(
            "seat",
            make_lathe([(0.19, 0), (0.185, 0.02), (0, 0.03)], sides=18, stretch=(1, 1.25)).translate((0, 0.406, 0.12)),
        )
    finishes = make_finishes(
        draw, body="ceramic", seat={"plastic": ("white",)}, water={"glassware": ("light blue",)}, button="chrome"
    )
    return make_piece("toilet", made, finishes, clearance=0.55)


@register_maker("vanity")
def make_vanity(draw: RandomStream) -> Piece:
    """A wash basin on a cabinet."""
    width, depth, height = draw.between(0.55, 0.9), draw.between(0.42, 0.48), draw.between(0.8, 0.86)
    front = make_finish(draw.choice(("lacquer", "wood")), draw)
    made = make_parts(
        "cabinet",
        make_box((width, height - 0.24, depth - 0.04), (0, 0.1, -0.02)),
        make_box((width - 0.1, 0.1, depth - 0.12), (0, 0, -0.04)),
        *make_box_pair((width / 2 - 0.015, height - 0.28, 0.015), (width / 4, 0.12, depth / 2 - 0.03)),
    )
    made += make_parts("tap", *make_box_pair((0.012, 0.12, 0.02), (0.04, height * 0.45, depth / 2 - 0.012)))
    basin = make_lathe(
        [(0.12, 0), (0.2, 0.1), (0.21, 0.13), (0.19, 0.13), (0.1, 0.04), (0, 0.035)], sides=18, stretch=(1.1, 0.85)
    )
    made += make_parts(
        BODY,
        make_rounded_box((width, 0.03, depth), 0.01, (0, height - 0.14, 0)),
        basin.translate((0, height - 0.11, 0.01)),
    )
    made += make_parts(
        "tap",
        make_rod((0, height - 0.12, -depth / 2 + 0.05), (0, height + 0.12, -depth / 2 + 0.05), 0.013),
        make_rod((0, height + 0.12, -depth / 2 + 0.05), (0, height + 0.1, -depth / 2 + 0.17), 0.011),
    )
    finishes = {BODY: make_finish("ceramic", draw), "cabinet": front, "tap": make_finish("chrome", draw)}
    side = SupportSurface(
        x=(width / 2 - 0.14, width / 2 - 0.02),
        z=(-depth / 2 + 0.05, depth / 2 - 0.05),
        y=height - 0.11,
        kind="vanity",
        headroom=0.4,
    )
    surfaces = [side] if width > 0.72 else []
    return make_piece("sink", made, finishes, surfaces=surfaces, clearance=0.55, name="bathroom sink")


@register_maker("bathtub")
def make_bathtub(draw: RandomStream) -> Piece:
    """A tub along the wall with water taps at one end."""
    width, depth, height, rim = draw.between(1.55, 1.72), draw.between(0.7, 0.78), draw.between(0.54, 0.6), 0.07
    made = make_parts(
        BODY,
        *(make_rounded_box((width, height, rim), 0.02, (0, 0, side * (depth - rim) / 2)) for side in (-1, 1)),
        *(make_rounded_box((rim, height, depth), 0.02, (side * (width - rim) / 2, 0, 0)) for side in (-1, 1)),
        make_box((width - 0.04, 0.16, depth - 0.04), (0, 0, 0)),
    )
    if draw.chance(0.35):
        made += make_parts("water", make_box((width - 2 * rim, 0.02, depth - 2 * rim), (0, height * 0.6, 0)))
    end = draw.choice((-1, 1)) * (width / 2 - rim / 2)
    made += make_parts(
        "tap",
        make_rod((end, height, 0), (end, height + 0.14, 0), 0.014),
        make_rod((end, height + 0.13, 0), (end * 0.86, height + 0.11, 0), 0.014),
        *(make_cylinder(0.022, 0.05, (end, height, z), sides=8) for z in (-0.1, 0.1)),
    )
    finishes = make_finishes(draw, body="ceramic", water={"glassware": ("light blue",)}, tap="chrome")
    return make_piece("bathtub", made, finishes, clearance=0.45)


@register_maker("shower")
def make_shower(draw: RandomStream) -> Piece:
    """A corner cabin: tray, two glass sides, head."""
    side, height = draw.between(0.8, 0.92), 1.95
    half = side / 2
    made = make_parts(BODY, make_rounded_box((side, 0.1, side), 0.02))
    made += make_parts(
        "glass",
        make_box((0.012, height - 0.1, side - 0.04), (half - 0.02, 0.1, 0)),
        make_box((side - 0.04, height - 0.1, 0.012), (0, 0.1, half - 0.02)),
    )
    posts = [(half - 0.02, half - 0.02), (half - 0.02, -half + 0.02), (-half + 0.02, half - 0.02)]
    made += make_parts(
        "frame",
        *(make_box((0.03, height - 0.1, 0.03), (x, 0.1, z)) for x, z in posts),
        make_box((side, 0.03, 0.03), (0, height, half - 0.02)),
        make_box((0.03, 0.03, side), (half - 0.02, height, 0)),
        make_rod((0, 0.9, -half + 0.04), (0, height - 0.02, -half + 0.04), 0.011),
        make_rod((0, height - 0.02, -half + 0.04), (0, height - 0.02, -half + 0.26), 0.011),
        make_cylinder(0.09, 0.02, (0, height - 0.07, -half + 0.26), sides=16),
        make_box((0.16, 0.05, 0.05), (0, 1.05, -half + 0.05)),
    )
    finishes = make_finishes(draw, body="ceramic", glass="glass", frame="chrome")
    return make_piece("shower", made, finishes, rule=PlacementRule.CORNER, clearance=0.5)


@register_maker("towel")
def make_towel(draw: RandomStream) -> Piece:
    """A towel on a rail."""
    width, length = draw.between(0.4, 0.55), draw.between(0.5, 0.7)
    made = make_parts(
        "rail",
        make_rod((-width / 2 - 0.06, length, 0.03), (width / 2 + 0.06, length, 0.03), 0.009),
        *(
            make_rod((side * (width / 2 + 0.06), length, -0.03), (side * (width / 2 + 0.06), length, 0.03), 0.009)
            for side in (-1, 1)
        ),
    )
    made += make_parts(
        BODY,
        make_rounded_box((width, length, 0.022), 0.01, (0, 0.012, 0.048)),
        make_rounded_box((width, length * 0.7, 0.018), 0.008, (0, length * 0.3, 0.012)),
    )
    made += make_parts("stripe", make_box((width + 0.002, 0.04, 0.026), (0, 0.08, 0.048)))
    finishes = make_finishes(draw, body="cloth", rail="chrome", stripe="linen")
    return make_piece("towel", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("mirror")
def make_mirror(draw: RandomStream) -> Piece:
    width, height = draw.between(0.5, 0.8), draw.between(0.6, 0.95)
    return _make_framed_mirror(draw, width, height)


@register_maker("standing_mirror")
def make_standing_mirror(draw: RandomStream) -> Piece:
    """A tall mirror that leans on the wall."""
    width, height = draw.between(0.42, 0.55), draw.between(1.4, 1.65)
    flat = _make_framed_mirror(draw, width, height)
    made = [
        part for source in flat.parts for part in make_parts(source.slot, source.mesh.tilt(-6).translate((0, 0.01, 0)))
    ]
    return make_piece("mirror", made, flat.finishes, rule=PlacementRule.WALL)


@register_maker("toilet_paper")
def make_toilet_paper(draw: RandomStream) -> Piece:
    roll = make_cylinder(0.055, 0.1, sides=14).tilt(90, axis=2).translate((0.05, 0.06, 0.06))
    made = make_parts(BODY, roll) + make_parts(
        "holder",
        make_rod((-0.07, 0.06, 0.06), (0.07, 0.06, 0.06), 0.008),
        make_rod((0.07, 0.06, 0), (0.07, 0.06, 0.06), 0.008),
    )
    finishes = make_finishes(draw, body="paper", holder="chrome")
    return make_piece("toilet paper", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("soap")
def make_soap(draw: RandomStream) -> Piece:
    made = make_parts(BODY, make_cylinder(0.032, 0.12, sides=12)) + make_parts(
        "pump", make_cylinder(0.01, 0.05, (0, 0.12, 0), sides=8), make_box((0.015, 0.012, 0.05), (0, 0.165, 0.02))
    )
    finishes = make_finishes(draw, body="plastic", pump="chrome")
    return make_piece("soap", made, finishes, rule=PlacementRule.SURFACE)


def _make_framed_mirror(draw: RandomStream, width: float, height: float) -> Piece:
    bar = draw.between(0.02, 0.05)
    made = make_parts(BODY, make_box((width, height, 0.02)))
    glass = make_picture(width - 2 * bar, height - 2 * bar, (0, bar, 0.013))
    made += make_parts("glass", glass)
    finishes = make_finishes(draw, body=("wood", "lacquer", "brass", "chrome"), glass="mirror")
    return make_piece("mirror", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("car")
def make_car(draw: RandomStream) -> Piece:
    """A small hatchback, its front towards +z."""
    length, width, height = draw.between(3.3, 3.8), draw.between(1.5, 1.62), draw.between(1.42, 1.5)
    half, belt = length / 2, height * 0.58
    hull = [
        (-half, 0.3),
        (half - 0.05, 0.3),
        (half, 0.45),
        (half - 0.05, belt - 0.12),
        (half * 0.45, belt),
        (-half + 0.05, belt),
    ]
    cabin = [
        (-half + 0.1, belt - 0.01),
        (half * 0.42, belt - 0.01),
        (half * 0.08, height - 0.03),
        (-half + 0.35, height - 0.03),
    ]
    eaves = height - 0.04
    roof = [(-half + 0.4, eaves), (half * 0.06, eaves), (half * 0.03, height), (-half + 0.45, height)]
    made = make_parts(
        BODY, _turn_sideways(make_prism(hull, width - 0.08)), _turn_sideways(make_prism(roof, width - 0.3))
    )
    made += make_parts("windows", _turn_sideways(make_prism(cabin, width - 0.2)))
    made += make_parts(BODY, *make_box_pair((0.05, height - belt - 0.03, 0.06), (width / 2 - 0.095, belt, -half * 0.3)))
    wheel = make_lathe([(0.18, 0), (0.3, 0), (0.3, 0.2), (0.18, 0.2), (0.18, 0)], sides=18).tilt(90, axis=2)
    hub = make_cylinder(0.19, 0.17, sides=14).tilt(90, axis=2)
    for side in (-1, 1):
        for z in (-half * 0.62, half * 0.62):
            made += make_parts("tyres", wheel.translate((side * (width / 2 - 0.1) + 0.1, 0.3, z)))
            made += make_parts("chrome", hub.translate((side * (width / 2 - 0.1) + 0.085, 0.3, z)))
        made += make_parts(
            "lights", make_rounded_box((0.28, 0.12, 0.05), 0.02, (side * (width / 2 - 0.24), belt - 0.27, half - 0.04))
        )
        made += make_parts("brakes", make_box((0.2, 0.14, 0.03), (side * (width / 2 - 0.16), belt - 0.22, -half)))
    made += make_parts(
        "tyres",
        make_box((width - 0.1, 0.1, 0.06), (0, 0.3, half - 0.02)),
        make_box((width - 0.1, 0.1, 0.06), (0, 0.3, -half)),
    )
    finishes = make_finishes(
        draw,
        body="car paint",
        windows={"glassware": ("dark green", "blue")} if draw.generator == FIRST_GENERATOR else {"metal": ("black",)},
        tyres={"rubber": ("black",)},
        chrome="chrome",
        lights="bulb",
        brakes={"plastic": ("red",)},
    )
    return make_piece("car", made, finishes, rule=PlacementRule.MIDDLE)


@register_maker("bicycle")
def make_bicycle(draw: RandomStream) -> Piece:
    """A bicycle that stands along the wall (its length along x)."""
    radius = draw.between(0.3, 0.34)
    rear, front = (-0.5, radius, 0.0), (0.52, radius, 0.0)
    crank, saddle, head = (-0.08, radius * 0.85, 0.0), (-0.2, 0.82, 0.0), (0.36, 0.8, 0.0)
    made = make_parts("tyres", *(_make_ring(radius).translate(at) for at in (rear, front)))
    pairs = [(rear, crank), (crank, saddle), (saddle, rear), (crank, head), (saddle, head), (head, front)]
    made += make_parts(BODY, *(make_rod(a, b, 0.016, sides=7) for a, b in pairs))
    made += make_parts(
        "metal",
        make_rod(head, (0.34, 0.98, 0), 0.014, sides=7),
        make_rod((0.34, 0.98, -0.26), (0.34, 0.98, 0.26), 0.013, sides=7),
        make_rod(saddle, (-0.21, 0.9, 0), 0.013, sides=7),
        make_cylinder(0.09, 0.02, sides=12).tilt(90).translate(crank),
    )
    made += make_parts(
        "tyres",
        make_rounded_box((0.26, 0.05, 0.14), 0.02, (-0.22, 0.9, 0)),
        *(make_box((0.09, 0.02, 0.05), (-0.08, crank[1] + side * 0.12, side * 0.08)) for side in (-1, 1)),
    )
    finishes = make_finishes(draw, body="car paint", tyres={"rubber": ("black",)}, metal="chrome")
    return make_piece("bicycle", made, finishes)


@register_maker("toolbox")
def make_toolbox(draw: RandomStream) -> Piece:
    width = draw.between(0.38, 0.48)
    made = make_parts(BODY, make_rounded_box((width, 0.2, 0.2), 0.01)) + make_parts(
        "handle",
        make_rod((-0.1, 0.26, 0), (0.1, 0.26, 0), 0.012, sides=7),
        *(make_rod((side * 0.1, 0.19, 0), (side * 0.1, 0.26, 0), 0.01, sides=6) for side in (-1, 1)),
    )
    made += make_parts("handle", *make_box_pair((0.04, 0.06, 0.012), (width * 0.3, 0.11, 0.1)))
    finishes = make_finishes(
        draw, body={"car paint": ("red", "blue", "dark green", "yellow")}, handle={"plastic": ("black",)}
    )
    return make_piece("toolbox", made, finishes, rule=PlacementRule.SURFACE)


@register_maker("workbench")
def make_workbench(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(1.3, 1.8), draw.between(0.55, 0.68), draw.between(0.86, 0.94)
    made = make_parts(
        BODY,
        make_box((width, 0.06, depth), (0, height - 0.06, 0)),
        make_box((width - 0.1, 0.03, depth - 0.1), (0, 0.22, 0)),
        *make_four_legs(width, depth, height - 0.06, 0.08, inset=0.02),
        make_box((width, 0.5, 0.02), (0, height, -depth / 2 + 0.01)),
    )
    wood = make_finish("wood", draw, ("light brown", "brown"))
    lower = make_top_surface((width, height, depth), "storage", margin=(0.15, 0.1), y=0.25, headroom=0.5)
    finishes = {BODY: wood}
    surfaces = [make_top_surface((width, height, depth), "workbench", y=height), lower]
    return make_piece("workbench", made, finishes, surfaces=surfaces, clearance=0.6)


@register_maker("ladder")
def make_ladder(draw: RandomStream) -> Piece:
    """A step ladder that leans on the wall."""
    height, width = draw.between(1.7, 2.0), draw.between(0.4, 0.48)
    sides: list[SolidMesh] = make_box_pair((0.03, height, 0.06), (width / 2, 0, 0))
    rungs: list[SolidMesh] = [
        make_box((width, 0.025, 0.06), (0, 0.25 + 0.28 * n, 0)) for n in range(int((height - 0.3) / 0.28) + 1)
    ]
    made = make_parts(BODY, *(mesh.tilt(-7) for mesh in (*sides, *rungs)))
    return make_piece("ladder", made, {BODY: make_finish(draw.choice(("metal", "wood", "bright lacquer")), draw)})


@register_maker("tyres")
def make_tyres(draw: RandomStream) -> Piece:
    """A stack of tyres."""
    ring = make_lathe([(0.18, 0), (0.27, 0.0), (0.3, 0.05), (0.3, 0.15), (0.27, 0.2), (0.18, 0.2), (0.18, 0)], sides=18)
    count = draw.integer(2, 4)
    made = make_parts(BODY, *(ring.translate((0, 0.2 * n, 0)) for n in range(count)))
    finishes = {BODY: make_finish("rubber", draw)}
    return make_piece("tyres", made, finishes, rule=PlacementRule.CORNER)


def _turn_sideways(mesh: SolidMesh) -> SolidMesh:
    """From an outline in (x, y) to one in (z, y)."""
    return mesh.rotate(-90)


def _make_ring(radius: float) -> SolidMesh:
    """A thin wheel in the plane of x and y."""
    return make_lathe(
        [(radius - 0.03, -0.015), (radius, -0.015), (radius, 0.015), (radius - 0.03, 0.015), (radius - 0.03, -0.015)],
        sides=20,
    ).tilt(90)
