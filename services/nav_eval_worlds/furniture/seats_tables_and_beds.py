"""Things to sit and to lie on, tables of all heights, and what stands beside a bed."""

from nav_eval.records.geometry import Vec3
from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    SupportSurface,
    make_four_legs,
    make_parts,
    make_piece,
    make_splayed_legs,
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
    make_rod,
    make_rounded_box,
)


@register_maker("sofa")
def make_sofa(draw: RandomStream) -> Piece:
    return _make_upholstered_seat(draw, "sofa", width=draw.between(1.65, 2.35), seats=draw.integer(2, 3))


@register_maker("armchair")
def make_armchair(draw: RandomStream) -> Piece:
    return _make_upholstered_seat(draw, "armchair", width=draw.between(0.78, 0.98), seats=1)


@register_maker("chair")
def make_chair(draw: RandomStream) -> Piece:
    """A dining or kitchen chair."""
    width, depth = draw.between(0.40, 0.46), draw.between(0.42, 0.48)
    seat, height, leg = draw.between(0.43, 0.47), draw.between(0.84, 1.0), draw.between(0.032, 0.045)
    frame = make_finish(draw.choice(("wood", "lacquer", "bright lacquer")), draw)
    back_z = -depth / 2 + leg / 2
    made = make_parts("body", *make_four_legs(width, depth, seat - 0.03, leg))
    made += make_parts("seat", make_rounded_box((width, 0.045, depth), 0.015, (0, seat - 0.03, 0)))
    posts = make_box_pair((leg, height - seat, leg), ((width - leg) / 2, seat, back_z))
    made += make_parts("body", *posts, *_make_chair_back(draw, width, height - seat, (0, seat, back_z)))
    cushion = make_finish("fabric", draw) if draw.chance(0.4) else frame
    return make_piece("chair", made, {BODY: frame, "seat": cushion}, rule=PlacementRule.MIDDLE)


@register_maker("office_chair")
def make_office_chair(draw: RandomStream) -> Piece:
    """A swivel chair on castors."""
    seat, width = draw.between(0.46, 0.5), draw.between(0.46, 0.52)
    cover = make_finish(
        draw.choice(("fabric", "leather")), draw, ("black", "dark grey", "grey", "blue", "red", "white")
    )
    made = make_parts(
        BODY,
        make_rounded_box((width, 0.09, width), 0.03, (0, seat - 0.05, 0)),
        make_rounded_box((width * 0.92, draw.between(0.5, 0.62), 0.08), 0.035, (0, seat + 0.1, -width / 2 + 0.02)),
    )
    made += make_parts(
        "frame",
        make_cylinder(0.03, seat - 0.16, (0, 0.1, 0), sides=10),
        make_box((0.05, 0.2, 0.02), (0, seat - 0.02, -width / 2 + 0.0)),
    )
    for step in range(5):
        arm = make_rod((0, 0.09, 0), (0, 0.06, 0.28), 0.02, sides=6).rotate(72 * step)
        made += make_parts("frame", arm, make_cylinder(0.03, 0.06, (0, 0, 0.28), sides=8).rotate(72 * step))
    for side in (-1, 1):
        made += make_parts(
            "frame",
            make_box((0.05, 0.03, 0.26), (side * (width / 2 + 0.03), seat + 0.18, 0.02)),
            make_box((0.03, 0.2, 0.04), (side * (width / 2 + 0.03), seat - 0.02, 0.02)),
        )
    frame = make_finish("plastic", draw, ("black", "grey"))
    return make_piece("office chair", made, {BODY: cover, "frame": frame}, rule=PlacementRule.MIDDLE)


@register_maker("stool")
def make_stool(draw: RandomStream) -> Piece:
    """A bar stool or a low stool."""
    height, radius = draw.choice((0.46, 0.64)) + draw.between(0, 0.04), draw.between(0.16, 0.19)
    body = make_finish(draw.choice(("wood", "bright lacquer", "leather")), draw)
    made = make_parts(BODY, make_cylinder(radius, 0.05, (0, height - 0.05, 0)))
    made += make_parts(
        "legs",
        *make_splayed_legs(radius * 2, radius * 2, height - 0.05, 0.014),
        *(
            make_rod(
                (sx * radius * 0.8, height * 0.35, -radius * 0.8),
                (sx * radius * 0.8, height * 0.35, radius * 0.8),
                0.009,
                sides=6,
            )
            for sx in (-1, 1)
        ),
    )
    finishes = {BODY: body, "legs": make_finish(draw.choice(("metal", "wood")), draw)}
    return make_piece("stool", made, finishes, rule=PlacementRule.MIDDLE)


@register_maker("bench")
def make_bench(draw: RandomStream) -> Piece:
    """A hallway bench with room for shoes."""
    width, depth, height = draw.between(0.8, 1.2), draw.between(0.32, 0.38), draw.between(0.42, 0.48)
    wood = make_finish(draw.choice(("wood", "lacquer")), draw)
    made = make_parts(
        BODY,
        *make_box_pair((0.03, height - 0.07, depth), (width / 2 - 0.015, 0, 0)),
        make_box((width, 0.03, depth), (0, height - 0.07, 0)),
        make_box((width - 0.06, 0.02, depth), (0, 0.12, 0)),
    )
    made += make_parts("cushion", make_rounded_box((width - 0.02, 0.05, depth - 0.02), 0.02, (0, height - 0.04, 0)))
    shelf = make_top_surface((width, height, depth), "shoes", margin=(0.06, 0), y=0.14, headroom=0.2)
    seat = make_top_surface((width, height, depth), "bench", margin=(0.06, 0.03), y=height + 0.01)
    return make_piece("bench", made, {BODY: wood, "cushion": make_finish("fabric", draw)}, surfaces=[shelf, seat])


@register_maker("pouf")
def make_pouf(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.22, 0.3), draw.between(0.34, 0.44)
    cover = make_finish(draw.choice(("fabric", "leather", "striped")), draw)
    body = make_cylinder(radius, height - 0.06, (0, 0.03, 0), sides=18)
    rims = [make_cylinder(radius - 0.03, 0.03, (0, y, 0), sides=18, top=radius) for y in (0.0,)]
    lid = make_cylinder(radius, 0.03, (0, height - 0.03, 0), sides=18, top=radius - 0.04)
    return make_piece("pouf", make_parts(BODY, body, lid, *rims), {BODY: cover}, rule=PlacementRule.MIDDLE)


def _make_upholstered_seat(draw: RandomStream, category: str, *, width: float, seats: int) -> Piece:
    """Base, arms, back and loose cushions."""
    depth, height, seat = draw.between(0.8, 0.95), draw.between(0.74, 0.9), draw.between(0.4, 0.45)
    arm, back, leg = draw.between(0.12, 0.22), draw.between(0.18, 0.24), draw.between(0.06, 0.12)
    arm_height = seat + draw.between(0.14, 0.22)
    inner, front = width - 2 * arm, depth - back
    made = make_parts(
        BODY,
        make_rounded_box((width, seat - 0.14 - leg, depth), 0.03, (0, leg, 0)),
        make_rounded_box((width - 0.02, height - leg, back), 0.05, (0, leg, -depth / 2 + back / 2)),
        *(
            make_rounded_box((arm, arm_height - leg, depth - 0.02), 0.05, (side * (width - arm) / 2, leg, 0.01))
            for side in (-1, 1)
        ),
    )
    each = inner / seats
    for n in range(seats):
        x = -inner / 2 + each * (n + 0.5)
        made += make_parts(
            "cushions", make_rounded_box((each - 0.008, 0.16, front + 0.01), 0.045, (x, seat - 0.15, back / 2))
        )
        pad = make_rounded_box((each - 0.02, height - seat + 0.02, 0.15), 0.06).tilt(-10)
        made += make_parts("cushions", pad.translate((x, seat + 0.01, -depth / 2 + back + 0.05)))
    made += make_parts("legs", *make_four_legs(width, depth, leg, 0.05, inset=0.05))
    cover = make_finish(draw.choose_weighted([("fabric", 0.7), ("leather", 0.3)]), draw)
    lounge = SupportSurface(
        x=(-inner / 2, inner / 2), z=(-depth / 2 + back + 0.16, depth / 2 - 0.05), y=seat + 0.01, kind="seat"
    )
    finishes = {BODY: cover, "cushions": cover, "legs": make_finish(draw.choice(("wood", "metal")), draw)}
    return make_piece(category, made, finishes, surfaces=[lounge], clearance=0.5)


def _make_chair_back(draw: RandomStream, width: float, height: float, at: Vec3) -> list[SolidMesh]:
    x, y, z = at
    style = draw.below(3)
    if style == 0:  # one board
        return [make_box((width * 0.96, height * 0.55, 0.018), (x, y + height * 0.42, z))]
    if style == 1:  # rails
        return [make_box((width * 0.94, 0.05, 0.018), (x, y + height * part, z)) for part in (0.3, 0.58, 0.86)]
    slats = [
        make_box((0.025, height * 0.7, 0.015), (x + width * part, y + height * 0.22, z))
        for part in (-0.24, -0.08, 0.08, 0.24)
    ]
    return [
        *slats,
        make_box((width * 0.96, 0.06, 0.02), (x, y + height - 0.06, z)),
        make_box((width * 0.94, 0.04, 0.02), (x, y + height * 0.2, z)),
    ]


@register_maker("double_bed")
def make_double_bed(draw: RandomStream) -> Piece:
    return _make_bed(draw, width=draw.between(1.45, 1.85), pillows=2)


@register_maker("single_bed")
def make_single_bed(draw: RandomStream) -> Piece:
    return _make_bed(draw, width=draw.between(0.92, 1.1), pillows=1)


@register_maker("nightstand")
def make_nightstand(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(0.38, 0.48), draw.between(0.34, 0.42), draw.between(0.44, 0.56)
    wood = make_finish(draw.choice(("wood", "lacquer")), draw)
    made = make_parts(
        BODY, make_box((width, height - 0.1, depth), (0, 0.1, 0)), *make_four_legs(width, depth, 0.1, 0.04)
    )
    for n in range(2):
        y = 0.13 + n * (height - 0.14) / 2
        made += make_parts("front", make_box((width - 0.04, (height - 0.2) / 2, 0.015), (0, y, depth / 2)))
        made += make_parts("handles", make_box((0.08, 0.015, 0.02), (0, y + (height - 0.2) / 4, depth / 2 + 0.012)))
    finishes = {BODY: wood, "front": wood, "handles": make_finish(draw.choice(("chrome", "brass")), draw)}
    top = make_top_surface((width, height, depth), "nightstand", margin=0.02)
    return make_piece("nightstand", made, finishes, surfaces=[top])


def _make_bed(draw: RandomStream, *, width: float, pillows: int) -> Piece:
    """Frame with head board, mattress, blanket turned down, pillows."""
    length, top = draw.between(1.98, 2.12), draw.between(0.5, 0.6)
    head, frame_height = draw.between(0.9, 1.15), draw.between(0.26, 0.34)
    frame = make_finish(draw.choose_weighted([("wood", 0.6), ("lacquer", 0.2), ("fabric", 0.2)]), draw)
    made = make_parts(
        "frame",
        make_rounded_box((width + 0.06, frame_height - 0.08, length), 0.015, (0, 0.08, 0)),
        make_rounded_box((width + 0.1, head, 0.07), 0.02, (0, 0, -length / 2 - 0.03)),
        *make_four_legs(width, length, 0.08, 0.07),
    )
    made += make_parts(
        "mattress", make_rounded_box((width, top - frame_height, length - 0.03), 0.06, (0, frame_height, 0.0))
    )
    cover = length * draw.between(0.6, 0.7)
    made += make_parts(
        BODY, make_rounded_box((width + 0.05, 0.14, cover), 0.05, (0, top - 0.1, length / 2 - cover / 2 + 0.01))
    )
    made += make_parts(
        "fold", make_rounded_box((width + 0.055, 0.05, 0.3), 0.025, (0, top + 0.005, length / 2 - cover + 0.14))
    )
    made += _make_pillows(width, top, length, pillows)
    spread = make_finish(draw.choice(("cloth", "striped", "fabric")), draw)
    linen = make_finish("linen", draw)
    finishes = {
        BODY: spread,
        "frame": frame,
        "mattress": make_finish("linen", draw, ("white",)),
        "fold": linen,
        "pillows": linen,
    }
    surface = SupportSurface(
        x=(-width / 2 + 0.1, width / 2 - 0.1), z=(-0.1, length / 2 - 0.2), y=top + 0.04, kind="bed"
    )
    return make_piece("bed", made, finishes, surfaces=[surface], clearance=0.4)


def _make_pillows(width: float, top: float, length: float, count: int) -> list[SolidPart]:
    made = []
    each = min(0.68, (width - 0.1) / count)
    for n in range(count):
        x = (n - (count - 1) / 2) * (width / count)
        pillow = make_rounded_box((each, 0.14, 0.42), 0.065).tilt(14)
        made += make_parts("pillows", pillow.translate((x, top + 0.04, -length / 2 + 0.26)))
    return made


@register_maker("dining_table")
def make_dining_table(draw: RandomStream) -> Piece:
    return _make_long_table(draw, draw.between(1.3, 1.9), draw.between(0.78, 0.95))


@register_maker("small_dining_table")
def make_small_dining_table(draw: RandomStream) -> Piece:
    return _make_long_table(draw, draw.between(0.85, 1.15), draw.between(0.7, 0.82))


@register_maker("round_table")
def make_round_table(draw: RandomStream) -> Piece:
    """A round dining table on one foot."""
    radius, height = draw.between(0.45, 0.6), draw.between(0.72, 0.76)
    foot = make_lathe(
        [(0, 0), (radius * 0.55, 0), (radius * 0.5, 0.03), (0.06, 0.07), (0.045, height - 0.04)], sides=16
    )
    made = make_parts(BODY, make_cylinder(radius, 0.035, (0, height - 0.035, 0), sides=24)) + make_parts("foot", foot)
    top = make_finish(draw.choice(("wood", "lacquer", "stone")), draw)
    reach = radius * 0.68
    surface = SupportSurface(x=(-reach, reach), z=(-reach, reach), y=height, kind="dining")
    finishes = {BODY: top, "foot": make_finish(draw.choice(("wood", "metal")), draw)}
    return make_piece("dining table", made, finishes, rule=PlacementRule.MIDDLE, surfaces=[surface])


@register_maker("coffee_table")
def make_coffee_table(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(0.8, 1.2), draw.between(0.45, 0.65), draw.between(0.36, 0.45)
    top = make_finish(draw.choice(("wood", "lacquer", "stone")), draw)
    made = make_parts(BODY, make_box((width, 0.035, depth), (0, height - 0.035, 0)))
    surfaces = [make_top_surface((width, height, depth), "coffee")]
    if draw.chance(0.5):
        made += make_parts("legs", *make_four_legs(width, depth, height - 0.035, 0.045, inset=0.02))
        made += make_parts(BODY, make_box((width - 0.12, 0.02, depth - 0.12), (0, 0.12, 0)))
    else:
        made += make_parts("legs", *make_splayed_legs(width * 0.9, depth * 0.9, height - 0.035, 0.02))
    finishes = {BODY: top, "legs": make_finish(draw.choice(("wood", "metal")), draw)}
    return make_piece("coffee table", made, finishes, rule=PlacementRule.MIDDLE, surfaces=surfaces)


@register_maker("side_table")
def make_side_table(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.2, 0.27), draw.between(0.45, 0.58)
    made = make_parts(BODY, make_cylinder(radius, 0.025, (0, height - 0.025, 0), sides=18))
    made += make_parts("legs", *make_splayed_legs(radius * 1.5, radius * 1.5, height - 0.025, 0.013))
    reach = radius * 0.68
    surface = SupportSurface(x=(-reach, reach), z=(-reach, reach), y=height, kind="side")
    finishes = make_finishes(draw, body=("wood", "lacquer", "stone"), legs="metal")
    return make_piece("side table", made, finishes, surfaces=[surface])


@register_maker("console_table")
def make_console_table(draw: RandomStream) -> Piece:
    """A narrow table for hallways."""
    width, depth, height = draw.between(0.75, 1.1), draw.between(0.26, 0.32), draw.between(0.76, 0.86)
    wood = make_finish(draw.choice(("wood", "lacquer")), draw)
    made = make_parts(
        BODY,
        make_box((width, 0.03, depth), (0, height - 0.03, 0)),
        make_box((width - 0.06, 0.1, depth - 0.04), (0, height - 0.13, 0)),
        *make_four_legs(width, depth, height - 0.03, 0.04),
    )
    made += make_parts("handles", *make_box_pair((0.08, 0.015, 0.015), (width / 4, height - 0.085, depth / 2 - 0.015)))
    finishes = {BODY: wood, "handles": make_finish("chrome", draw)}
    top = make_top_surface((width, height, depth), "console", margin=0.03)
    return make_piece("console table", made, finishes, surfaces=[top])


@register_maker("desk")
def make_desk(draw: RandomStream) -> Piece:
    """A writing desk with a chest of drawers on one side."""
    width, depth, height = draw.between(1.15, 1.55), draw.between(0.58, 0.7), draw.between(0.72, 0.76)
    side, top = draw.choice((-1, 1)), make_finish(draw.choice(("wood", "lacquer")), draw)
    chest_x = side * (width / 2 - 0.22)
    made = make_parts(
        BODY,
        make_box((width, 0.03, depth), (0, height - 0.03, 0)),
        make_box((0.38, height - 0.03, depth - 0.06), (chest_x, 0, -0.02)),
    )
    made += make_parts(
        "front", *(make_box((0.34, 0.18, 0.015), (chest_x, 0.06 + n * 0.21, depth / 2 - 0.045)) for n in range(3))
    )
    made += make_parts(
        "handles", *(make_box((0.12, 0.015, 0.02), (chest_x, 0.14 + n * 0.21, depth / 2 - 0.035)) for n in range(3))
    )
    made += make_parts(
        "legs",
        *(
            make_box((0.045, height - 0.03, 0.045), (-side * (width / 2 - 0.03), 0, z * (depth / 2 - 0.03)))
            for z in (-1, 1)
        ),
    )
    front = top if draw.chance(0.5) else make_finish("lacquer", draw)
    finishes = {BODY: top, "front": front, "legs": make_finish("metal", draw), "handles": make_finish("chrome", draw)}
    surfaces = [make_top_surface((width, height, depth), "desk")]
    return make_piece("desk", made, finishes, surfaces=surfaces, clearance=0.6)


def _make_long_table(draw: RandomStream, width: float, depth: float) -> Piece:
    height, leg = draw.between(0.72, 0.76), draw.between(0.05, 0.08)
    top = make_finish(draw.choose_weighted([("wood", 0.75), ("lacquer", 0.25)]), draw)
    legs = top if draw.chance(0.7) else make_finish("metal", draw)
    made = make_parts(BODY, make_box((width, 0.04, depth), (0, height - 0.04, 0)))
    made += make_parts(
        "legs",
        *make_four_legs(width, depth, height - 0.04, leg, inset=0.03),
        *(make_box((width - 0.2, 0.08, 0.02), (0, height - 0.12, side * (depth / 2 - 0.06))) for side in (-1, 1)),
    )
    finishes = {BODY: top, "legs": legs}
    surfaces = [make_top_surface((width, height, depth), "dining", margin=0.08)]
    return make_piece("dining table", made, finishes, rule=PlacementRule.MIDDLE, surfaces=surfaces)
