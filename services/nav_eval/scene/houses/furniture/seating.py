"""Things to sit on."""

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
)
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import Mesh, box, cylinder, rod, rounded_box


@maker
def sofa(draw: Draw) -> Piece:
    return _upholstered(draw, "sofa", width=draw.between(1.65, 2.35), seats=draw.integer(2, 3))


@maker
def armchair(draw: Draw) -> Piece:
    return _upholstered(draw, "armchair", width=draw.between(0.78, 0.98), seats=1)


@maker
def chair(draw: Draw) -> Piece:
    """A dining or kitchen chair."""
    width, depth = draw.between(0.40, 0.46), draw.between(0.42, 0.48)
    seat, height, leg = draw.between(0.43, 0.47), draw.between(0.84, 1.0), draw.between(0.032, 0.045)
    frame = finish(draw.choice(("wood", "lacquer", "bright lacquer")), draw)
    back_z = -depth / 2 + leg / 2
    made = parts("body", *four_legs(width, depth, seat - 0.03, leg))
    made += parts("seat", rounded_box((width, 0.045, depth), 0.015, (0, seat - 0.03, 0)))
    posts = [box((leg, height - seat, leg), (side * (width - leg) / 2, seat, back_z)) for side in (-1, 1)]
    made += parts("body", *posts, *_chair_back(draw, width, height - seat, (0, seat, back_z)))
    cushion = finish("fabric", draw) if draw.chance(0.4) else frame
    return piece("chair", made, {BODY: frame, "seat": cushion}, rule=Rule.MIDDLE)


@maker
def office_chair(draw: Draw) -> Piece:
    """A swivel chair on castors."""
    seat, width = draw.between(0.46, 0.5), draw.between(0.46, 0.52)
    cover = finish(draw.choice(("fabric", "leather")), draw, ("black", "dark grey", "grey", "blue", "red", "white"))
    made = parts(BODY, rounded_box((width, 0.09, width), 0.03, (0, seat - 0.05, 0)))
    made += parts(
        BODY, rounded_box((width * 0.92, draw.between(0.5, 0.62), 0.08), 0.035, (0, seat + 0.1, -width / 2 + 0.02))
    )
    made += parts(
        "frame",
        cylinder(0.03, seat - 0.16, (0, 0.1, 0), sides=10),
        box((0.05, 0.2, 0.02), (0, seat - 0.02, -width / 2 + 0.0)),
    )
    for step in range(5):
        arm = rod((0, 0.09, 0), (0, 0.06, 0.28), 0.02, sides=6).turned(72 * step)
        made += parts("frame", arm, cylinder(0.03, 0.06, (0, 0, 0.28), sides=8).turned(72 * step))
    for side in (-1, 1):
        made += parts("frame", box((0.05, 0.03, 0.26), (side * (width / 2 + 0.03), seat + 0.18, 0.02)))
        made += parts("frame", box((0.03, 0.2, 0.04), (side * (width / 2 + 0.03), seat - 0.02, 0.02)))
    frame = finish("plastic", draw, ("black", "grey"))
    return piece("office chair", made, {BODY: cover, "frame": frame}, rule=Rule.MIDDLE)


@maker
def stool(draw: Draw) -> Piece:
    """A bar stool or a low stool."""
    height, radius = draw.choice((0.46, 0.64)) + draw.between(0, 0.04), draw.between(0.16, 0.19)
    body = finish(draw.choice(("wood", "bright lacquer", "leather")), draw)
    made = parts(BODY, cylinder(radius, 0.05, (0, height - 0.05, 0)))
    made += parts("legs", *splayed_legs(radius * 2, radius * 2, height - 0.05, 0.014))
    made += parts(
        "legs",
        *(
            rod(
                (sx * radius * 0.8, height * 0.35, -radius * 0.8),
                (sx * radius * 0.8, height * 0.35, radius * 0.8),
                0.009,
                sides=6,
            )
            for sx in (-1, 1)
        ),
    )
    return piece("stool", made, {BODY: body, "legs": finish(draw.choice(("metal", "wood")), draw)}, rule=Rule.MIDDLE)


@maker
def bench(draw: Draw) -> Piece:
    """A hallway bench with room for shoes."""
    width, depth, height = draw.between(0.8, 1.2), draw.between(0.32, 0.38), draw.between(0.42, 0.48)
    wood = finish(draw.choice(("wood", "lacquer")), draw)
    made = parts(BODY, *(box((0.03, height - 0.07, depth), (side * (width / 2 - 0.015), 0, 0)) for side in (-1, 1)))
    made += parts(
        BODY, box((width, 0.03, depth), (0, height - 0.07, 0)), box((width - 0.06, 0.02, depth), (0, 0.12, 0))
    )
    made += parts("cushion", rounded_box((width - 0.02, 0.05, depth - 0.02), 0.02, (0, height - 0.04, 0)))
    shelf = Surface(
        x=(-width / 2 + 0.06, width / 2 - 0.06), z=(-depth / 2, depth / 2), y=0.14, kind="shoes", headroom=0.2
    )
    seat = Surface(
        x=(-width / 2 + 0.06, width / 2 - 0.06), z=(-depth / 2 + 0.03, depth / 2 - 0.03), y=height + 0.01, kind="bench"
    )
    return piece("bench", made, {BODY: wood, "cushion": finish("fabric", draw)}, surfaces=[shelf, seat])


@maker
def pouf(draw: Draw) -> Piece:
    radius, height = draw.between(0.22, 0.3), draw.between(0.34, 0.44)
    cover = finish(draw.choice(("fabric", "leather", "striped")), draw)
    body = cylinder(radius, height - 0.06, (0, 0.03, 0), sides=18)
    rims = [cylinder(radius - 0.03, 0.03, (0, y, 0), sides=18, top=radius) for y in (0.0,)]
    lid = cylinder(radius, 0.03, (0, height - 0.03, 0), sides=18, top=radius - 0.04)
    return piece("pouf", parts(BODY, body, lid, *rims), {BODY: cover}, rule=Rule.MIDDLE)


def _upholstered(draw: Draw, category: str, *, width: float, seats: int) -> Piece:
    """Base, arms, back and loose cushions."""
    depth, height, seat = draw.between(0.8, 0.95), draw.between(0.74, 0.9), draw.between(0.4, 0.45)
    arm, back, leg = draw.between(0.12, 0.22), draw.between(0.18, 0.24), draw.between(0.06, 0.12)
    arm_height = seat + draw.between(0.14, 0.22)
    inner, front = width - 2 * arm, depth - back
    made = parts(BODY, rounded_box((width, seat - 0.14 - leg, depth), 0.03, (0, leg, 0)))
    made += parts(BODY, rounded_box((width - 0.02, height - leg, back), 0.05, (0, leg, -depth / 2 + back / 2)))
    made += parts(
        BODY,
        *(
            rounded_box((arm, arm_height - leg, depth - 0.02), 0.05, (side * (width - arm) / 2, leg, 0.01))
            for side in (-1, 1)
        ),
    )
    each = inner / seats
    for n in range(seats):
        x = -inner / 2 + each * (n + 0.5)
        made += parts("cushions", rounded_box((each - 0.008, 0.16, front + 0.01), 0.045, (x, seat - 0.15, back / 2)))
        pad = rounded_box((each - 0.02, height - seat + 0.02, 0.15), 0.06).tilted(-10)
        made += parts("cushions", pad.moved((x, seat + 0.01, -depth / 2 + back + 0.05)))
    made += parts("legs", *four_legs(width, depth, leg, 0.05, inset=0.05))
    cover = finish(draw.weighted([("fabric", 0.7), ("leather", 0.3)]), draw)
    lounge = Surface(
        x=(-inner / 2, inner / 2), z=(-depth / 2 + back + 0.16, depth / 2 - 0.05), y=seat + 0.01, kind="seat"
    )
    finishes = {BODY: cover, "cushions": cover, "legs": finish(draw.choice(("wood", "metal")), draw)}
    return piece(category, made, finishes, surfaces=[lounge], clearance=0.5)


def _chair_back(draw: Draw, width: float, height: float, at: tuple[float, float, float]) -> list[Mesh]:
    x, y, z = at
    style = draw.below(3)
    if style == 0:  # one board
        return [box((width * 0.96, height * 0.55, 0.018), (x, y + height * 0.42, z))]
    if style == 1:  # rails
        return [box((width * 0.94, 0.05, 0.018), (x, y + height * part, z)) for part in (0.3, 0.58, 0.86)]
    slats = [
        box((0.025, height * 0.7, 0.015), (x + width * part, y + height * 0.22, z))
        for part in (-0.24, -0.08, 0.08, 0.24)
    ]
    return [
        *slats,
        box((width * 0.96, 0.06, 0.02), (x, y + height - 0.06, z)),
        box((width * 0.94, 0.04, 0.02), (x, y + height * 0.2, z)),
    ]
