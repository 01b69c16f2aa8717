"""What stands in offices and clinics."""

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
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
    make_box,
    make_box_pair,
    make_cylinder,
    make_lathe,
    make_rod,
    make_rounded_box,
)


@register_maker("meeting_table")
def make_meeting_table(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(2.0, 2.8), draw.between(1.0, 1.2), draw.between(0.72, 0.76)
    made = make_parts(BODY, make_rounded_box((width, 0.04, depth), 0.01, (0, height - 0.04, 0)))
    for x in (-width * 0.3, width * 0.3):
        made += make_parts("legs", make_box((0.1, height - 0.04, depth * 0.4), (x, 0, 0)))
        made += make_parts("legs", make_box((0.3, 0.03, depth * 0.6), (x, 0, 0)))
    surface = make_top_surface((width, height, depth), "meeting", margin=0.1)
    finishes = make_finishes(draw, body=("wood", "lacquer"), legs="metal")
    return make_piece("meeting table", made, finishes, rule=PlacementRule.MIDDLE, surfaces=[surface])


@register_maker("reception_desk")
def make_reception_desk(draw: RandomStream) -> Piece:
    """A counter to speak over, a lower desk behind it; people stand at its front."""
    width, depth, height = draw.between(1.6, 2.2), draw.between(0.7, 0.8), draw.between(1.05, 1.12)
    made = make_parts(
        BODY,
        make_box((width, height - 0.04, 0.06), (0, 0, depth / 2 - 0.12)),
        *make_box_pair((0.05, height - 0.04, depth - 0.12), (width / 2 - 0.025, 0, -0.06)),
    )
    made += make_parts(
        "top",
        make_box((width + 0.02, 0.04, 0.32), (0, height - 0.04, depth / 2 - 0.16)),
        make_box((width - 0.1, 0.03, depth - 0.18), (0, 0.71, -0.08)),
    )
    inner = SupportSurface(
        x=(-width / 2 + 0.1, width / 2 - 0.1), z=(-depth / 2 + 0.03, depth / 2 - 0.36), y=0.74, kind="reception"
    )
    outer = SupportSurface(
        x=(-width / 2 + 0.05, width / 2 - 0.05), z=(depth / 2 - 0.3, depth / 2 - 0.03), y=height, kind="counter top"
    )
    finishes = make_finishes(draw, body=("wood", "lacquer"), top=("stone", "wood"))
    return make_piece("reception desk", made, finishes, surfaces=[outer, inner], rule=PlacementRule.MIDDLE)


@register_maker("examination_table")
def make_examination_table(draw: RandomStream) -> Piece:
    """A couch for patients with a raised head and a strip of paper; its head is at −x, its back at the wall."""
    width, depth, height = draw.between(1.85, 1.98), draw.between(0.62, 0.7), draw.between(0.7, 0.8)
    made = make_parts(
        "frame",
        *make_four_legs(width - 0.2, depth - 0.06, height - 0.1, 0.05),
        make_box((width - 0.1, 0.04, depth - 0.06), (0, height - 0.13, 0)),
    )
    made += make_parts(BODY, make_rounded_box((width * 0.66, 0.09, depth), 0.03, (width * 0.16, height - 0.09, 0)))
    head = make_rounded_box((width * 0.36, 0.09, depth), 0.03, (-width * 0.18, 0, 0)).tilt(-28, axis=2)
    made += make_parts(BODY, head.translate((-width * 0.17, height - 0.09, 0)))
    made += make_parts("paper", make_box((width * 0.64, 0.004, depth * 0.75), (width * 0.16, height, 0)))
    finishes = make_finishes(draw, body={"leather": ("black", "beige", "white")}, frame="metal", paper="paper")
    return make_piece("examination table", made, finishes, clearance=0.6)


@register_maker("trolley")
def make_trolley(draw: RandomStream) -> Piece:
    """Trays on wheels."""
    width, depth, height = draw.between(0.6, 0.75), draw.between(0.4, 0.48), draw.between(0.82, 0.95)
    posts = [
        make_rod(
            (sx * (width / 2 - 0.02), 0.08, sz * (depth / 2 - 0.02)),
            (sx * (width / 2 - 0.02), height, sz * (depth / 2 - 0.02)),
            0.011,
        )
        for sx in (-1, 1)
        for sz in (-1, 1)
    ]
    wheels = [
        make_cylinder(0.04, 0.025, sides=10)
        .tilt(90, axis=2)
        .translate((sx * (width / 2 - 0.02) + 0.012, 0.04, sz * (depth / 2 - 0.02)))
        for sx in (-1, 1)
        for sz in (-1, 1)
    ]
    made = make_parts(BODY, *posts, *(make_box((width, 0.02, depth), (0, y, 0)) for y in (0.2, height - 0.12)))
    made += make_parts("wheels", *wheels)
    made += make_parts(
        BODY,
        *(
            make_box((0.02, 0.05, 0.02), (sx * (width / 2 - 0.02), 0.06, sz * (depth / 2 - 0.02)))
            for sx in (-1, 1)
            for sz in (-1, 1)
        ),
    )
    surfaces = [
        make_top_surface((width, height, depth), kind, y=y + 0.02, margin=0.05, headroom=0.4)
        for y, kind in ((0.2, "medical"), (height - 0.12, "medical"))
    ]
    return make_piece(
        "trolley", made, make_finishes(draw, body="metal", wheels={"rubber": ("black",)}), surfaces=surfaces
    )


@register_maker("printer")
def make_printer(draw: RandomStream) -> Piece:
    """A large copier on the floor."""
    width, depth, height = draw.between(0.58, 0.68), draw.between(0.58, 0.66), draw.between(1.0, 1.15)
    made = make_parts(
        BODY,
        make_rounded_box((width, height - 0.12, depth), 0.02),
        make_rounded_box((width, 0.08, depth - 0.08), 0.02, (0, height - 0.1, -0.04)),
    )
    made += make_parts(
        "panel",
        make_box((0.2, 0.1, 0.03)).tilt(-30).translate((width * 0.2, height - 0.13, depth / 2 - 0.03)),
        *(make_box((width - 0.06, 0.16, 0.012), (0, 0.08 + 0.19 * n, depth / 2 - 0.002)) for n in range(3)),
    )
    return make_piece(
        "printer",
        made,
        make_finishes(draw, body={"plastic": ("white", "grey")}, panel={"plastic": ("grey", "black")}),
        clearance=0.5,
    )


@register_maker("water_cooler")
def make_water_cooler(draw: RandomStream) -> Piece:
    side, height = draw.between(0.3, 0.34), draw.between(0.95, 1.05)
    made = make_parts(BODY, make_rounded_box((side, height, side), 0.02))
    made += make_parts(
        "bottle",
        make_lathe([(0, 0), (0.05, 0), (0.13, 0.08), (0.13, 0.34), (0, 0.36)], sides=16).translate(
            (0, height - 0.005, 0)
        ),
    )
    made += make_parts(
        "taps",
        *(make_box((0.03, 0.05, 0.05), (x, height * 0.72, side / 2)) for x in (-0.06, 0.06)),
        make_box((side * 0.7, 0.02, 0.06), (0, height * 0.6, side / 2)),
    )
    finishes = make_finishes(
        draw,
        body={"plastic": ("white", "grey")},
        bottle={"glassware": ("light blue",)},
        taps={"plastic": ("blue", "red")},
    )
    return make_piece("water cooler", made, finishes)


@register_maker("whiteboard")
def make_whiteboard(draw: RandomStream) -> Piece:
    width, height = draw.between(1.2, 1.8), draw.between(0.9, 1.0)
    made = make_parts(
        "rim", make_box((width, height, 0.015), (0, 0.03, -0.02)), make_box((width * 0.6, 0.02, 0.07), (0, 0.02, 0.01))
    )
    made += make_parts(BODY, make_box((width - 0.04, height - 0.04, 0.006), (0, 0.05, -0.01)))
    for n in range(draw.integer(3, 6)):
        x, y = draw.uniform(-width * 0.35, width * 0.2), draw.uniform(0.2, height - 0.15)
        made += make_parts(f"ink {n % 2}", make_box((draw.uniform(0.12, 0.4), 0.012, 0.002), (x, y, -0.006)))
    finishes = {
        BODY: make_finish("paper", draw),
        "rim": make_finish("metal", draw, ("light grey", "grey")),
        "ink 0": make_finish("plastic", draw, ("blue",)),
        "ink 1": make_finish("plastic", draw, ("red", "green", "black")),
    }
    return make_piece("whiteboard", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("fire_extinguisher")
def make_fire_extinguisher(draw: RandomStream) -> Piece:
    made: list[SolidPart] = make_parts(
        BODY, make_lathe([(0, 0), (0.075, 0), (0.075, 0.36), (0.03, 0.42), (0, 0.42)], sides=14)
    )
    made += make_parts(
        "valve",
        make_cylinder(0.02, 0.05, (0, 0.42, 0), sides=8),
        make_box((0.03, 0.02, 0.12), (0, 0.46, 0.03)),
        make_box((0.06, 0.1, 0.02), (0, 0.2, -0.08)),
    )
    finishes = {BODY: make_finish("car paint", draw, ("red",)), "valve": make_finish("plastic", draw, ("black",))}
    return make_piece("fire extinguisher", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("waiting_chairs")
def make_waiting_chairs(draw: RandomStream) -> Piece:
    """Three or four seats on one beam."""
    seats = draw.integer(3, 4)
    width, seat = seats * 0.55, 0.44
    made = make_parts(
        "beam",
        make_box((width - 0.1, 0.05, 0.07), (0, seat - 0.1, 0)),
        *(make_box((0.05, seat - 0.08, 0.05), (s * (width / 2 - 0.25), 0.02, 0)) for s in (-1, 1)),
        *(make_box((0.06, 0.02, 0.5), (s * (width / 2 - 0.25), 0, 0)) for s in (-1, 1)),
    )
    for n in range(seats):
        x = -width / 2 + 0.55 * (n + 0.5)
        made += make_parts(
            BODY,
            make_rounded_box((0.48, 0.06, 0.46), 0.02, (x, seat - 0.05, 0.02)),
            make_rounded_box((0.48, 0.4, 0.05), 0.02).tilt(-10).translate((x, seat + 0.06, -0.2)),
        )
        made += make_parts("beam", make_box((0.04, 0.16, 0.03), (x, seat - 0.06, -0.2)))
    finishes = {
        BODY: make_finish(draw.choice(("plastic", "fabric")), draw, ("blue", "grey", "dark grey", "black")),
        "beam": make_finish("metal", draw),
    }
    return make_piece("bench", made, finishes, clearance=0.5, name="waiting chairs")
