"""Tables of all heights."""

from nav_eval.scene.houses.finishes import finish
from nav_eval.scene.houses.furniture.piece import (
    BODY,
    Piece,
    Rule,
    Surface,
    four_legs,
    maker,
    parts,
    piece,
    splayed_legs,
    top_surface,
)
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import box, cylinder, lathe


@maker
def dining_table(draw: Draw) -> Piece:
    return _long_table(draw, draw.between(1.3, 1.9), draw.between(0.78, 0.95))


@maker
def small_dining_table(draw: Draw) -> Piece:
    return _long_table(draw, draw.between(0.85, 1.15), draw.between(0.7, 0.82))


@maker
def round_table(draw: Draw) -> Piece:
    """A round dining table on one foot."""
    radius, height = draw.between(0.45, 0.6), draw.between(0.72, 0.76)
    foot = lathe([(0, 0), (radius * 0.55, 0), (radius * 0.5, 0.03), (0.06, 0.07), (0.045, height - 0.04)], sides=16)
    made = parts(BODY, cylinder(radius, 0.035, (0, height - 0.035, 0), sides=24)) + parts("foot", foot)
    top = finish(draw.choice(("wood", "lacquer", "stone")), draw)
    reach = radius * 0.68
    surface = Surface(x=(-reach, reach), z=(-reach, reach), y=height, kind="dining")
    return piece(
        "dining table",
        made,
        {BODY: top, "foot": finish(draw.choice(("wood", "metal")), draw)},
        rule=Rule.MIDDLE,
        surfaces=[surface],
    )


@maker
def coffee_table(draw: Draw) -> Piece:
    width, depth, height = draw.between(0.8, 1.2), draw.between(0.45, 0.65), draw.between(0.36, 0.45)
    top = finish(draw.choice(("wood", "lacquer", "stone")), draw)
    made = parts(BODY, box((width, 0.035, depth), (0, height - 0.035, 0)))
    surfaces = [top_surface((width, height, depth), "coffee")]
    if draw.chance(0.5):
        made += parts("legs", *four_legs(width, depth, height - 0.035, 0.045, inset=0.02))
        made += parts(BODY, box((width - 0.12, 0.02, depth - 0.12), (0, 0.12, 0)))
    else:
        made += parts("legs", *splayed_legs(width * 0.9, depth * 0.9, height - 0.035, 0.02))
    return piece(
        "coffee table",
        made,
        {BODY: top, "legs": finish(draw.choice(("wood", "metal")), draw)},
        rule=Rule.MIDDLE,
        surfaces=surfaces,
    )


@maker
def side_table(draw: Draw) -> Piece:
    radius, height = draw.between(0.2, 0.27), draw.between(0.45, 0.58)
    made = parts(BODY, cylinder(radius, 0.025, (0, height - 0.025, 0), sides=18))
    made += parts("legs", *splayed_legs(radius * 1.5, radius * 1.5, height - 0.025, 0.013))
    reach = radius * 0.68
    surface = Surface(x=(-reach, reach), z=(-reach, reach), y=height, kind="side")
    return piece(
        "side table",
        made,
        {BODY: finish(draw.choice(("wood", "lacquer", "stone")), draw), "legs": finish("metal", draw)},
        surfaces=[surface],
    )


@maker
def console_table(draw: Draw) -> Piece:
    """A narrow table for hallways."""
    width, depth, height = draw.between(0.75, 1.1), draw.between(0.26, 0.32), draw.between(0.76, 0.86)
    wood = finish(draw.choice(("wood", "lacquer")), draw)
    made = parts(
        BODY,
        box((width, 0.03, depth), (0, height - 0.03, 0)),
        box((width - 0.06, 0.1, depth - 0.04), (0, height - 0.13, 0)),
    )
    made += parts(BODY, *four_legs(width, depth, height - 0.03, 0.04))
    made += parts(
        "handles",
        *(box((0.08, 0.015, 0.015), (side * width / 4, height - 0.085, depth / 2 - 0.015)) for side in (-1, 1)),
    )
    return piece(
        "console table",
        made,
        {BODY: wood, "handles": finish("chrome", draw)},
        surfaces=[top_surface((width, height, depth), "console", margin=0.03)],
    )


@maker
def desk(draw: Draw) -> Piece:
    """A writing desk with a chest of drawers on one side."""
    width, depth, height = draw.between(1.15, 1.55), draw.between(0.58, 0.7), draw.between(0.72, 0.76)
    side, top = draw.choice((-1, 1)), finish(draw.choice(("wood", "lacquer")), draw)
    chest_x = side * (width / 2 - 0.22)
    made = parts(
        BODY,
        box((width, 0.03, depth), (0, height - 0.03, 0)),
        box((0.38, height - 0.03, depth - 0.06), (chest_x, 0, -0.02)),
    )
    made += parts("front", *(box((0.34, 0.18, 0.015), (chest_x, 0.06 + n * 0.21, depth / 2 - 0.045)) for n in range(3)))
    made += parts(
        "handles", *(box((0.12, 0.015, 0.02), (chest_x, 0.14 + n * 0.21, depth / 2 - 0.035)) for n in range(3))
    )
    made += parts(
        "legs",
        *(box((0.045, height - 0.03, 0.045), (-side * (width / 2 - 0.03), 0, z * (depth / 2 - 0.03))) for z in (-1, 1)),
    )
    front = top if draw.chance(0.5) else finish("lacquer", draw)
    finishes = {BODY: top, "front": front, "legs": finish("metal", draw), "handles": finish("chrome", draw)}
    return piece("desk", made, finishes, surfaces=[top_surface((width, height, depth), "desk")], clearance=0.6)


@maker
def kitchen_island(draw: Draw) -> Piece:
    width, depth, height = draw.between(1.2, 1.7), draw.between(0.65, 0.8), draw.between(0.9, 0.94)
    body = finish(draw.choice(("lacquer", "wood")), draw)
    made = parts(
        BODY, box((width - 0.1, height - 0.14, depth - 0.16), (0, 0.1, 0)), box((width - 0.16, 0.1, depth - 0.22))
    )
    made += parts("top", box((width, 0.04, depth), (0, height - 0.04, 0)))
    return piece(
        "kitchen island",
        made,
        {BODY: body, "top": finish("stone", draw)},
        rule=Rule.MIDDLE,
        surfaces=[top_surface((width, height, depth), "counter")],
    )


@maker
def workbench(draw: Draw) -> Piece:
    width, depth, height = draw.between(1.3, 1.8), draw.between(0.55, 0.68), draw.between(0.86, 0.94)
    made = parts(
        BODY, box((width, 0.06, depth), (0, height - 0.06, 0)), box((width - 0.1, 0.03, depth - 0.1), (0, 0.22, 0))
    )
    made += parts(
        BODY,
        *four_legs(width, depth, height - 0.06, 0.08, inset=0.02),
        box((width, 0.5, 0.02), (0, height, -depth / 2 + 0.01)),
    )
    wood = finish("wood", draw, ("light brown", "brown"))
    lower = Surface(
        x=(-width / 2 + 0.15, width / 2 - 0.15),
        z=(-depth / 2 + 0.1, depth / 2 - 0.1),
        y=0.25,
        kind="storage",
        headroom=0.5,
    )
    return piece(
        "workbench",
        made,
        {BODY: wood},
        surfaces=[top_surface((width, height, depth), "workbench", y=height), lower],
        clearance=0.6,
    )


def _long_table(draw: Draw, width: float, depth: float) -> Piece:
    height, leg = draw.between(0.72, 0.76), draw.between(0.05, 0.08)
    top = finish(draw.weighted([("wood", 0.75), ("lacquer", 0.25)]), draw)
    legs = top if draw.chance(0.7) else finish("metal", draw)
    made = parts(BODY, box((width, 0.04, depth), (0, height - 0.04, 0)))
    made += parts("legs", *four_legs(width, depth, height - 0.04, leg, inset=0.03))
    made += parts(
        "legs", *(box((width - 0.2, 0.08, 0.02), (0, height - 0.12, side * (depth / 2 - 0.06))) for side in (-1, 1))
    )
    return piece(
        "dining table",
        made,
        {BODY: top, "legs": legs},
        rule=Rule.MIDDLE,
        surfaces=[top_surface((width, height, depth), "dining", margin=0.08)],
    )
