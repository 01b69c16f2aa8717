"""Bathroom fittings."""

from nav_eval.scene.houses.finishes import finish
from nav_eval.scene.houses.furniture.piece import BODY, Piece, Rule, Surface, maker, parts, piece
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import box, cylinder, lathe, picture, rod, rounded_box


@maker
def toilet(draw: Draw) -> Piece:
    """Bowl, seat, lid leaning on the tank."""
    width, tank = draw.between(0.36, 0.4), draw.between(0.36, 0.42)
    bowl = lathe([(0, 0), (0.13, 0), (0.11, 0.12), (0.16, 0.3), (0.185, 0.38)], sides=18, stretch=(1, 1.3), smooth=True)
    made = parts(BODY, bowl.moved((0, 0, 0.12)), rounded_box((width * 0.6, 0.38, 0.3), 0.03, (0, 0, -0.12)))
    made += parts(
        BODY,
        rounded_box((width, tank, 0.17), 0.025, (0, 0.38, -0.24)),
        rounded_box((width + 0.02, 0.03, 0.19), 0.01, (0, 0.38 + tank, -0.24)),
    )
    seat = lathe([(0.1, 0), (0.19, 0), (0.19, 0.025), (0.1, 0.025), (0.1, 0)], sides=18, stretch=(1, 1.25))
    made += parts("seat", seat.moved((0, 0.38, 0.12)))
    made += parts("water", cylinder(0.1, 0.01, (0, 0.33, 0.12), sides=14))
    made += parts("button", cylinder(0.025, 0.012, (0, 0.41 + tank, -0.24), sides=10))
    if draw.chance(0.6):
        lid = lathe([(0.19, 0), (0.19, 0.02), (0, 0.025)], sides=18, stretch=(1, 1.2))
        made += parts("seat", lid.tilted(-84).moved((0, 0.6, -0.12)))
    else:
        made += parts(
            "seat", lathe([(0.19, 0), (0.185, 0.02), (0, 0.03)], sides=18, stretch=(1, 1.25)).moved((0, 0.406, 0.12))
        )
    finishes = {
        BODY: finish("ceramic", draw),
        "seat": finish("plastic", draw, ("white",)),
        "water": finish("glassware", draw, ("light blue",)),
        "button": finish("chrome", draw),
    }
    return piece("toilet", made, finishes, clearance=0.55)


@maker
def vanity(draw: Draw) -> Piece:
    """A wash basin on a cabinet."""
    width, depth, height = draw.between(0.55, 0.9), draw.between(0.42, 0.48), draw.between(0.8, 0.86)
    front = finish(draw.choice(("lacquer", "wood")), draw)
    made = parts(
        "cabinet",
        box((width, height - 0.24, depth - 0.04), (0, 0.1, -0.02)),
        box((width - 0.1, 0.1, depth - 0.12), (0, 0, -0.04)),
    )
    made += parts(
        "cabinet",
        *(
            box((width / 2 - 0.015, height - 0.28, 0.015), (side * width / 4, 0.12, depth / 2 - 0.03))
            for side in (-1, 1)
        ),
    )
    made += parts(
        "tap", *(box((0.012, 0.12, 0.02), (side * 0.04, height * 0.45, depth / 2 - 0.012)) for side in (-1, 1))
    )
    basin = lathe(
        [(0.12, 0), (0.2, 0.1), (0.21, 0.13), (0.19, 0.13), (0.1, 0.04), (0, 0.035)],
        sides=18,
        stretch=(1.1, 0.85),
        smooth=False,
    )
    made += parts(
        BODY, rounded_box((width, 0.03, depth), 0.01, (0, height - 0.14, 0)), basin.moved((0, height - 0.11, 0.01))
    )
    made += parts(
        "tap",
        rod((0, height - 0.12, -depth / 2 + 0.05), (0, height + 0.12, -depth / 2 + 0.05), 0.013),
        rod((0, height + 0.12, -depth / 2 + 0.05), (0, height + 0.1, -depth / 2 + 0.17), 0.011),
    )
    finishes = {BODY: finish("ceramic", draw), "cabinet": front, "tap": finish("chrome", draw)}
    side = Surface(
        x=(width / 2 - 0.14, width / 2 - 0.02),
        z=(-depth / 2 + 0.05, depth / 2 - 0.05),
        y=height - 0.11,
        kind="vanity",
        headroom=0.4,
    )
    surfaces = [side] if width > 0.72 else []
    return piece("sink", made, finishes, surfaces=surfaces, clearance=0.55, name="bathroom sink")


@maker
def bathtub(draw: Draw) -> Piece:
    """A tub along the wall with water taps at one end."""
    width, depth, height, rim = draw.between(1.55, 1.72), draw.between(0.7, 0.78), draw.between(0.54, 0.6), 0.07
    made = parts(BODY, *(rounded_box((width, height, rim), 0.02, (0, 0, side * (depth - rim) / 2)) for side in (-1, 1)))
    made += parts(
        BODY, *(rounded_box((rim, height, depth), 0.02, (side * (width - rim) / 2, 0, 0)) for side in (-1, 1))
    )
    made += parts(BODY, box((width - 0.04, 0.16, depth - 0.04), (0, 0, 0)))
    if draw.chance(0.35):
        made += parts("water", box((width - 2 * rim, 0.02, depth - 2 * rim), (0, height * 0.6, 0)))
    end = draw.choice((-1, 1)) * (width / 2 - rim / 2)
    made += parts(
        "tap",
        rod((end, height, 0), (end, height + 0.14, 0), 0.014),
        rod((end, height + 0.13, 0), (end * 0.86, height + 0.11, 0), 0.014),
    )
    made += parts("tap", *(cylinder(0.022, 0.05, (end, height, z), sides=8) for z in (-0.1, 0.1)))
    finishes = {
        BODY: finish("ceramic", draw),
        "water": finish("glassware", draw, ("light blue",)),
        "tap": finish("chrome", draw),
    }
    return piece("bathtub", made, finishes, clearance=0.45)


@maker
def shower(draw: Draw) -> Piece:
    """A corner cabin: tray, two glass sides, head."""
    side, height = draw.between(0.8, 0.92), 1.95
    half = side / 2
    made = parts(BODY, rounded_box((side, 0.1, side), 0.02))
    made += parts(
        "glass",
        box((0.012, height - 0.1, side - 0.04), (half - 0.02, 0.1, 0)),
        box((side - 0.04, height - 0.1, 0.012), (0, 0.1, half - 0.02)),
    )
    posts = [(half - 0.02, half - 0.02), (half - 0.02, -half + 0.02), (-half + 0.02, half - 0.02)]
    made += parts("frame", *(box((0.03, height - 0.1, 0.03), (x, 0.1, z)) for x, z in posts))
    made += parts(
        "frame", box((side, 0.03, 0.03), (0, height, half - 0.02)), box((0.03, 0.03, side), (half - 0.02, height, 0))
    )
    made += parts(
        "frame",
        rod((0, 0.9, -half + 0.04), (0, height - 0.02, -half + 0.04), 0.011),
        rod((0, height - 0.02, -half + 0.04), (0, height - 0.02, -half + 0.26), 0.011),
    )
    made += parts(
        "frame",
        cylinder(0.09, 0.02, (0, height - 0.07, -half + 0.26), sides=16),
        box((0.16, 0.05, 0.05), (0, 1.05, -half + 0.05)),
    )
    finishes = {BODY: finish("ceramic", draw), "glass": finish("glass", draw), "frame": finish("chrome", draw)}
    return piece("shower", made, finishes, rule=Rule.CORNER, clearance=0.5)


@maker
def towel(draw: Draw) -> Piece:
    """A towel on a rail."""
    width, length = draw.between(0.4, 0.55), draw.between(0.5, 0.7)
    made = parts(
        "rail",
        rod((-width / 2 - 0.06, length, 0.03), (width / 2 + 0.06, length, 0.03), 0.009),
        *(
            rod((side * (width / 2 + 0.06), length, -0.03), (side * (width / 2 + 0.06), length, 0.03), 0.009)
            for side in (-1, 1)
        ),
    )
    made += parts(
        BODY,
        rounded_box((width, length, 0.022), 0.01, (0, 0.012, 0.048)),
        rounded_box((width, length * 0.7, 0.018), 0.008, (0, length * 0.3, 0.012)),
    )
    made += parts("stripe", box((width + 0.002, 0.04, 0.026), (0, 0.08, 0.048)))
    finishes = {BODY: finish("cloth", draw), "rail": finish("chrome", draw), "stripe": finish("linen", draw)}
    return piece("towel", made, finishes, rule=Rule.ON_WALL)


@maker
def mirror(draw: Draw) -> Piece:
    width, height = draw.between(0.5, 0.8), draw.between(0.6, 0.95)
    return _framed_mirror(draw, width, height)


@maker
def standing_mirror(draw: Draw) -> Piece:
    """A tall mirror that leans on the wall."""
    width, height = draw.between(0.42, 0.55), draw.between(1.4, 1.65)
    flat = _framed_mirror(draw, width, height)
    made = [part for source in flat.parts for part in parts(source.slot, source.mesh.tilted(-6).moved((0, 0.01, 0)))]
    return piece("mirror", made, flat.finishes, rule=Rule.WALL)


@maker
def toilet_paper(draw: Draw) -> Piece:
    roll = cylinder(0.055, 0.1, sides=14).tilted(90, axis=2).moved((0.05, 0.06, 0.06))
    made = parts(BODY, roll) + parts(
        "holder", rod((-0.07, 0.06, 0.06), (0.07, 0.06, 0.06), 0.008), rod((0.07, 0.06, 0), (0.07, 0.06, 0.06), 0.008)
    )
    return piece(
        "toilet paper", made, {BODY: finish("paper", draw), "holder": finish("chrome", draw)}, rule=Rule.ON_WALL
    )


@maker
def soap(draw: Draw) -> Piece:
    made = parts(BODY, cylinder(0.032, 0.12, sides=12)) + parts(
        "pump", cylinder(0.01, 0.05, (0, 0.12, 0), sides=8), box((0.015, 0.012, 0.05), (0, 0.165, 0.02))
    )
    return piece("soap", made, {BODY: finish("plastic", draw), "pump": finish("chrome", draw)}, rule=Rule.SURFACE)


def _framed_mirror(draw: Draw, width: float, height: float) -> Piece:
    bar = draw.between(0.02, 0.05)
    made = parts(BODY, box((width, height, 0.02)))
    glass = picture(width - 2 * bar, height - 2 * bar, (0, bar, 0.013))
    made += parts("glass", glass)
    finishes = {
        BODY: finish(draw.choice(("wood", "lacquer", "brass", "chrome")), draw),
        "glass": finish("mirror", draw),
    }
    return piece("mirror", made, finishes, rule=Rule.ON_WALL)
