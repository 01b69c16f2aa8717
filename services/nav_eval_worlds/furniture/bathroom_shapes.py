"""Further shapes of toilets and wash basins."""

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    SolidPart,
    SupportSurface,
    make_four_legs,
    make_parts,
    make_piece,
    register_shape,
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


def _make_bowl_and_seat(lift: float, z: float, *, closed: bool) -> list[SolidPart]:
    """The bowl of a toilet from `lift` up to 0.4 m, its seat, and its lid if closed."""
    bowl = make_lathe(
        [(0, 0), (0.09, 0), (0.14, 0.12), (0.185, 0.4 - lift - 0.02)], sides=18, stretch=(1, 1.3), smooth=True
    )
    made = make_parts(BODY, bowl.translate((0, lift, z)))
    if closed:
        lid = make_lathe([(0, 0), (0.19, 0), (0.19, 0.025), (0.17, 0.04), (0, 0.045)], sides=18, stretch=(1, 1.28))
        return made + make_parts("seat", lid.translate((0, 0.38, z)))
    seat = make_lathe([(0.1, 0), (0.19, 0), (0.19, 0.025), (0.1, 0.025), (0.1, 0)], sides=18, stretch=(1, 1.25))
    made += make_parts(
        "seat",
        seat.translate((0, 0.38, z)),
        make_lathe([(0, 0), (0.19, 0), (0.19, 0.02), (0, 0.025)], sides=18, stretch=(1, 1.2))
        .tilt(-84)
        .translate((0, 0.6, z - 0.25)),
    )
    return made + make_parts("water", make_cylinder(0.1, 0.01, (0, 0.33, z), sides=14))


def _finish_toilet(draw: RandomStream, made: list[SolidPart]) -> Piece:
    finishes = make_finishes(
        draw,
        body="ceramic",
        seat={"plastic": ("white",)},
        water={"glassware": ("light blue",)},
        button="chrome",
        wood={"wood": ("brown", "dark brown")},
    )
    return make_piece("toilet", made, finishes, clearance=0.55)


@register_shape("toilet", "wall hung")
def make_hung_toilet(draw: RandomStream) -> Piece:
    """A bowl that hangs on a boxed-in tank."""
    wide, high = draw.between(0.5, 0.62), draw.between(1.0, 1.15)
    made = make_parts(
        "panel", make_box((wide, high, 0.14), (0, 0, -0.3)), make_box((wide + 0.02, 0.02, 0.16), (0, high, -0.3))
    )
    made += _make_bowl_and_seat(0.1, 0.03, closed=draw.chance(0.6))
    made += make_parts(BODY, make_rounded_box((0.3, 0.26, 0.2), 0.04, (0, 0.12, -0.15)))
    made += make_parts("button", make_box((0.22, 0.14, 0.012), (0, high - 0.22, -0.226)))
    toilet = _finish_toilet(draw, made[2:])
    finishes = {**toilet.finishes, "panel": make_finish("wall tiles", draw)}
    return make_piece("toilet", made, finishes, clearance=0.55)


@register_shape("toilet", "one piece")
def make_one_piece_toilet(draw: RandomStream) -> Piece:
    """A skirted body that runs into its low tank."""
    wide, high = draw.between(0.36, 0.4), draw.between(0.68, 0.74)
    made = make_parts(
        BODY,
        make_rounded_box((0.26, 0.36, 0.5), 0.05, (0, 0, -0.02)),
        make_rounded_box((wide, high - 0.06, 0.2), 0.05, (0, 0.06, -0.24)),
    )
    made += _make_bowl_and_seat(0.0, 0.12, closed=draw.chance(0.7))
    made += make_parts("button", make_cylinder(0.03, 0.012, (0, high, -0.24), sides=12))
    return _finish_toilet(draw, made)


@register_shape("toilet", "high tank")
def make_high_tank_toilet(draw: RandomStream) -> Piece:
    """An old toilet: a tank near the ceiling, a pipe and a chain."""
    high = draw.between(1.75, 1.9)
    made = make_parts(
        BODY,
        make_rounded_box((0.22, 0.36, 0.24), 0.03, (0, 0, -0.14)),
        make_rounded_box((0.44, 0.3, 0.19), 0.03, (0, high - 0.3, -0.24)),
    )
    made += _make_bowl_and_seat(0.0, 0.12, closed=False)
    made += make_parts(
        "button",
        make_rod((0, 0.36, -0.24), (0, high - 0.29, -0.24), 0.022),
        make_rod((0.17, high - 0.28, -0.15), (0.17, 1.15, -0.15), 0.004, sides=5),
        make_cylinder(0.014, 0.07, (0.17, 1.09, -0.15), sides=8),
    )
    return _finish_toilet(draw, made)


def _make_basin_tap(y: float, z: float, *, rise: float = 0.18) -> list[SolidPart]:
    return make_parts(
        "tap",
        make_rod((0, y, z), (0, y + rise, z), 0.013),
        make_rod((0, y + rise - 0.01, z), (0, y + rise - 0.03, z + 0.13), 0.011),
        make_rod((0, y + rise, z), (0.0, y + rise + 0.03, z - 0.02), 0.008, sides=6),
    )


@register_shape("vanity", "pedestal")
def make_pedestal_sink(draw: RandomStream) -> Piece:
    """A basin on a ceramic column."""
    width, depth, height = draw.between(0.52, 0.62), draw.between(0.42, 0.48), draw.between(0.82, 0.87)
    foot = make_lathe([(0, 0), (0.13, 0), (0.1, 0.06), (0.075, 0.3), (0.1, height - 0.2)], sides=16, smooth=True)
    bowl = make_lathe(
        [(0.1, 0), (0.4, 0.13), (0.5, 0.2), (0.46, 0.2), (0.3, 0.09), (0, 0.07)],
        sides=20,
        stretch=(width, depth - 0.06),
    )
    made = make_parts(
        BODY,
        foot.translate((0, 0, -0.04)),
        bowl.translate((0, height - 0.2, 0.02)),
        make_rounded_box((width * 0.8, 0.05, 0.14), 0.015, (0, height - 0.05, -depth / 2 + 0.07)),
    )
    made += _make_basin_tap(height, -depth / 2 + 0.07, rise=0.15)
    return make_piece(
        "sink", made, make_finishes(draw, body="ceramic", tap="chrome"), clearance=0.55, name="bathroom sink"
    )


@register_shape("vanity", "wall hung")
def make_hung_vanity(draw: RandomStream) -> Piece:
    """Drawers that do not reach the floor, a square basin on top."""
    width, depth, height = draw.between(0.6, 0.95), draw.between(0.44, 0.48), draw.between(0.82, 0.87)
    made = make_parts(
        "cabinet",
        make_box((width, 0.42, depth - 0.02), (0, height - 0.54, -0.01)),
        *(make_box((width - 0.01, 0.24, 0.018), (0, y, depth / 2 - 0.012)) for y in (height - 0.535, height - 0.285)),
        make_box((width * 0.6, 0.05, 0.03), (0, 0, -depth / 2 + 0.015)),
        make_box((0.08, height - 0.5, 0.03), (0, 0.02, -depth / 2 + 0.015)),
    )
    half = width / 2
    basin = min(0.46, width - 0.14)
    made += make_parts(
        BODY,
        make_box((width + 0.01, 0.02, depth), (0, height - 0.12, 0)),
        *make_box_pair((half - basin / 2, 0.1, depth), ((half + basin / 2) / 2, height - 0.1, 0)),
        *(make_box((basin, 0.1, 0.07), (0, height - 0.1, z)) for z in (-depth / 2 + 0.035, depth / 2 - 0.035)),
    )
    made += _make_basin_tap(height, -depth / 2 + 0.035)
    made += make_parts(
        "tap", *(make_box((0.24, 0.012, 0.02), (0, y, depth / 2 + 0.006)) for y in (height - 0.33, height - 0.1))
    )
    finishes = {
        BODY: make_finish("ceramic", draw),
        "cabinet": make_finish(draw.choice(("wood", "lacquer")), draw),
        "tap": make_finish("chrome", draw),
    }
    surfaces = []
    if half - basin / 2 > 0.12:
        surfaces.append(
            SupportSurface(
                x=(basin / 2 + 0.015, half - 0.01),
                z=(-depth / 2 + 0.03, depth / 2 - 0.03),
                y=height,
                kind="vanity",
                headroom=0.3,
            )
        )
    return make_piece("sink", made, finishes, surfaces=surfaces, clearance=0.55, name="bathroom sink")


@register_shape("vanity", "bowl")
def make_bowl_sink(draw: RandomStream) -> Piece:
    """A bowl on a wooden board with open shelves."""
    width, depth, height = draw.between(0.65, 0.95), draw.between(0.44, 0.5), draw.between(0.86, 0.92)
    board = height - 0.13
    bowl = make_lathe([(0, 0), (0.1, 0), (0.19, 0.13), (0.175, 0.13), (0.09, 0.02), (0, 0.018)], sides=20)
    made = make_parts(BODY, bowl.translate((-0.06, board, 0.02)))
    made += make_parts(
        "cabinet",
        make_box((width, 0.04, depth), (0, board - 0.04, 0)),
        make_box((width - 0.04, 0.025, depth - 0.04), (0, 0.2, 0)),
        *make_four_legs(width, depth, board - 0.04, 0.045),
    )
    made += make_parts(
        "tap",
        make_rod((-0.06, board, -depth / 2 + 0.06), (-0.06, board + 0.27, -depth / 2 + 0.06), 0.014),
        make_rod((-0.06, board + 0.26, -depth / 2 + 0.06), (-0.06, board + 0.24, -depth / 2 + 0.2), 0.011),
    )
    finishes = make_finishes(
        draw, body={"pottery": ("white", "beige", "black")}, cabinet="wood", tap=("chrome", "brass")
    )
    surfaces = [
        SupportSurface(
            x=(0.15, width / 2 - 0.02), z=(-depth / 2 + 0.04, depth / 2 - 0.04), y=board, kind="vanity", headroom=0.35
        ),
        SupportSurface(
            x=(-width / 2 + 0.08, width / 2 - 0.08),
            z=(-depth / 2 + 0.06, depth / 2 - 0.06),
            y=0.225,
            kind="laundry",
            headroom=0.3,
        ),
    ]
    return make_piece("sink", made, finishes, surfaces=surfaces, clearance=0.55, name="bathroom sink")
