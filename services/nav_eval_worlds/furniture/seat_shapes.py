"""Further shapes of sofas, armchairs, poufs and benches."""

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
    register_shape,
)
from nav_eval_worlds.materials import Finish, make_finish
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_cylinder,
    make_lathe,
    make_rod,
    make_rounded_box,
)


def choose_cover(draw: RandomStream) -> Finish:
    return make_finish(draw.choose_weighted([("fabric", 0.75), ("leather", 0.25)]), draw)


def choose_frame(draw: RandomStream) -> Finish:
    return make_finish(draw.choose_weighted([("wood", 0.7), ("metal", 0.3)]), draw)


def _make_lounge(inner: float, depth: float, back: float, seat: float) -> SupportSurface:
    """The part of a seat where a cushion may lie."""
    return SupportSurface(x=(-inner / 2, inner / 2), z=(-depth / 2 + back, depth / 2 - 0.05), y=seat, kind="seat")


def _make_rolled_seat(draw: RandomStream, category: str, width: float) -> Piece:
    """Round arms as high as the back, buttons in the back."""
    depth, seat, rim = draw.between(0.84, 0.94), draw.between(0.4, 0.45), draw.between(0.72, 0.78)
    arm, leg = 0.2, 0.09
    made = make_parts(
        BODY,
        make_rounded_box((width - 0.04, seat - 0.16 - leg, depth - 0.04), 0.02, (0, leg, 0)),
        make_rounded_box((width - 0.1, rim - leg - 0.08, 0.16), 0.03, (0, leg, -depth / 2 + 0.1)),
        make_rod(
            (-width / 2 + 0.06, rim - 0.09, -depth / 2 + 0.09), (width / 2 - 0.06, rim - 0.09, -depth / 2 + 0.09), 0.09
        ),
    )
    for side in (-1, 1):
        x = side * (width / 2 - arm / 2)
        made += make_parts(
            BODY,
            make_rounded_box((arm - 0.06, rim - leg - 0.08, depth - 0.06), 0.02, (x, leg, 0)),
            make_rod((x, rim - 0.1, -depth / 2 + 0.05), (x, rim - 0.1, depth / 2 - 0.01), 0.1, sides=12),
        )
    inner = width - 2 * arm
    count = max(1, round(inner / 0.65))
    for n in range(count):
        x = -inner / 2 + inner * (n + 0.5) / count
        made += make_parts(
            "cushions", make_rounded_box((inner / count - 0.006, 0.17, depth - 0.2), 0.04, (x, seat - 0.16, 0.09))
        )
    for n in range(max(3, round(inner / 0.2))):
        x = -inner / 2 + inner * (n + 0.5) / max(3, round(inner / 0.2))
        made += make_parts(
            "buttons", make_cylinder(0.014, 0.012, sides=7).tilt(90).translate((x, seat + 0.17, -depth / 2 + 0.178))
        )
    made += make_parts(
        "legs",
        *(
            make_cylinder(0.03, leg, (sx * (width / 2 - 0.09), 0, sz * (depth / 2 - 0.09)), top=0.04, sides=10)
            for sx in (-1, 1)
            for sz in (-1, 1)
        ),
    )
    cover = make_finish(draw.choose_weighted([("leather", 0.6), ("fabric", 0.4)]), draw)
    finishes = {
        BODY: cover,
        "cushions": cover,
        "buttons": cover,
        "legs": make_finish("wood", draw, ("brown", "dark brown")),
    }
    return make_piece(category, made, finishes, surfaces=[_make_lounge(inner, depth, 0.2, seat + 0.01)], clearance=0.5)


@register_shape("sofa", "chesterfield")
def make_chesterfield_sofa(draw: RandomStream) -> Piece:
    return _make_rolled_seat(draw, "sofa", draw.between(1.75, 2.25))


@register_shape("armchair", "club")
def make_club_chair(draw: RandomStream) -> Piece:
    return _make_rolled_seat(draw, "armchair", draw.between(0.86, 0.96))


def _make_framed_seat(draw: RandomStream, category: str, width: float) -> Piece:
    """Cushions in an open wooden frame on thin legs."""
    depth, seat, height = draw.between(0.76, 0.86), draw.between(0.4, 0.44), draw.between(0.74, 0.84)
    made = make_parts("frame", make_box((width - 0.06, 0.05, depth - 0.12), (0, seat - 0.2, 0)))
    for side in (-1, 1):
        x = side * (width / 2 - 0.025)
        made += make_parts(
            "frame",
            make_rod((x, 0, depth / 2 - 0.06), (x, seat + 0.2, depth / 2 - 0.1), 0.02),
            make_rod((x, 0, -depth / 2 + 0.03), (x, seat + 0.2, -depth / 2 + 0.1), 0.02),
            make_box((0.05, 0.03, depth - 0.08), (x, seat + 0.19, 0)),
            make_box((0.03, 0.04, depth - 0.14), (x, seat - 0.19, 0)),
        )
    inner = width - 0.12
    count = max(1, round(inner / 0.68))
    each = inner / count
    for n in range(count):
        x = -inner / 2 + each * (n + 0.5)
        pad = make_rounded_box((each - 0.012, height - seat + 0.06, 0.14), 0.045).tilt(-13)
        made += make_parts(
            BODY,
            make_rounded_box((each - 0.008, 0.15, depth - 0.16), 0.04, (x, seat - 0.15, 0.05)),
            pad.translate((x, seat - 0.02, -depth / 2 + 0.22)),
        )
    cover = make_finish("fabric", draw)
    finishes = {BODY: cover, "frame": make_finish("wood", draw)}
    return make_piece(category, made, finishes, surfaces=[_make_lounge(inner, depth, 0.34, seat)], clearance=0.5)


@register_shape("sofa", "framed")
def make_framed_sofa(draw: RandomStream) -> Piece:
    return _make_framed_seat(draw, "sofa", draw.between(1.6, 2.1))


@register_shape("armchair", "framed")
def make_lounge_chair(draw: RandomStream) -> Piece:
    return _make_framed_seat(draw, "armchair", draw.between(0.7, 0.8))


@register_shape("sofa", "low")
def make_low_sofa(draw: RandomStream) -> Piece:
    """Wide arms, a low back, a plinth instead of legs."""
    width, depth, seat = draw.between(1.9, 2.4), draw.between(0.88, 0.98), draw.between(0.38, 0.42)
    arm, back, height = draw.between(0.24, 0.3), 0.24, draw.between(0.62, 0.7)
    inner = width - 2 * arm
    made = make_parts("plinth", make_box((width - 0.1, 0.05, depth - 0.1)))
    made += make_parts(
        BODY,
        make_rounded_box((width, seat - 0.18 - 0.05, depth), 0.02, (0, 0.05, 0)),
        make_rounded_box((width, height - 0.05, back), 0.03, (0, 0.05, -depth / 2 + back / 2)),
        *(make_rounded_box((arm, seat + 0.12, depth), 0.03, (side * (width - arm) / 2, 0.05, 0)) for side in (-1, 1)),
    )
    for n in range(2):
        x = (n - 0.5) * inner / 2
        made += make_parts(
            BODY,
            make_rounded_box((inner / 2 - 0.01, 0.18, depth - back), 0.05, (x, seat - 0.18, back / 2)),
            make_rounded_box((inner / 2 - 0.02, 0.34, 0.16), 0.07)
            .tilt(-8)
            .translate((x, seat, -depth / 2 + back + 0.06)),
        )
    finishes = {BODY: make_finish("fabric", draw), "plinth": make_finish("wood", draw, ("dark brown",))}
    return make_piece("sofa", made, finishes, surfaces=[_make_lounge(inner, depth, back + 0.18, seat)], clearance=0.5)


@register_shape("armchair", "tub")
def make_tub_chair(draw: RandomStream) -> Piece:
    """One round shell around the seat."""
    radius, seat, height = draw.between(0.36, 0.4), draw.between(0.4, 0.44), draw.between(0.7, 0.76)
    made: list[SolidPart] = []
    for n in range(9):
        turn = 90 + 180 * n / 8
        panel = make_rounded_box(
            (radius * 0.44, height - 0.12 - 0.02 * abs(n - 4), 0.09), 0.03, (0, 0.12, radius - 0.05)
        )
        made += make_parts(BODY, panel.rotate(turn))
    made += make_parts(BODY, make_cylinder(radius - 0.06, seat - 0.26, (0, 0.12, 0), sides=18))
    made += make_parts("cushions", make_cylinder(radius - 0.08, 0.14, (0, seat - 0.14, 0.02), sides=18))
    made += make_parts("legs", *make_splayed_legs(radius * 1.5, radius * 1.5, 0.13, 0.018))
    cover = choose_cover(draw)
    finishes = {BODY: cover, "cushions": cover, "legs": choose_frame(draw)}
    return make_piece("armchair", made, finishes, clearance=0.5)


@register_shape("armchair", "wing")
def make_wing_chair(draw: RandomStream) -> Piece:
    """A high back with wings."""
    width, depth, seat, height = draw.between(0.74, 0.82), draw.between(0.78, 0.86), 0.44, draw.between(1.0, 1.12)
    made = make_parts(
        BODY,
        make_rounded_box((width - 0.1, 0.16, depth - 0.1), 0.03, (0, 0.14, 0)),
        make_rounded_box((width - 0.12, height - 0.26, 0.14), 0.05, (0, 0.26, 0))
        .tilt(-7)
        .translate((0, 0, -depth / 2 + 0.14)),
        *(
            make_rounded_box((0.1, 0.44, depth - 0.14), 0.045, (side * (width / 2 - 0.07), 0.2, 0.02))
            for side in (-1, 1)
        ),
        *(
            make_rounded_box((0.07, 0.42, 0.24), 0.03, (side * (width / 2 - 0.08), height - 0.46, -depth / 2 + 0.2))
            for side in (-1, 1)
        ),
    )
    made += make_parts("cushions", make_rounded_box((width - 0.22, 0.15, depth - 0.22), 0.05, (0, seat - 0.14, 0.06)))
    made += make_parts("legs", *make_splayed_legs(width - 0.12, depth - 0.14, 0.15, 0.018))
    cover = choose_cover(draw)
    finishes = {BODY: cover, "cushions": cover, "legs": make_finish("wood", draw)}
    return make_piece("armchair", made, finishes, clearance=0.5)


@register_shape("pouf", "knit")
def make_knit_pouf(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.23, 0.28), draw.between(0.34, 0.4)
    ball = make_lathe(
        [
            (0, 0),
            (radius * 0.8, 0),
            (radius, height * 0.35),
            (radius, height * 0.6),
            (radius * 0.75, height * 0.95),
            (0, height),
        ],
        sides=18,
        smooth=True,
    )
    return make_piece("pouf", make_parts(BODY, ball), {BODY: make_finish("fabric", draw)}, rule=PlacementRule.MIDDLE)


@register_shape("pouf", "square")
def make_square_pouf(draw: RandomStream) -> Piece:
    side, height = draw.between(0.42, 0.5), draw.between(0.38, 0.44)
    made = make_parts(BODY, make_rounded_box((side, height - 0.06, side), 0.04, (0, 0.06, 0)))
    made += make_parts("legs", *make_four_legs(side, side, 0.07, 0.04, inset=0.03))
    return make_piece(
        "pouf", made, {BODY: choose_cover(draw), "legs": make_finish("wood", draw)}, rule=PlacementRule.MIDDLE
    )


@register_shape("bench", "slatted")
def make_slatted_bench(draw: RandomStream) -> Piece:
    """Open slats on a metal frame."""
    width, depth, height = draw.between(0.85, 1.2), draw.between(0.34, 0.4), draw.between(0.43, 0.47)
    slats: list[SolidMesh] = [
        make_box((width, 0.025, depth / 5 - 0.015), (0, height - 0.025, -depth / 2 + depth * (n + 0.5) / 5))
        for n in range(5)
    ]
    made = make_parts(BODY, *slats)
    for side in (-1, 1):
        x = side * (width / 2 - 0.1)
        made += make_parts(
            "legs",
            *(make_box((0.03, height - 0.025, 0.03), (x, 0, z * (depth / 2 - 0.03))) for z in (-1, 1)),
            make_box((0.03, 0.03, depth - 0.06), (x, height - 0.055, 0)),
        )
    seat = SupportSurface(
        x=(-width / 2 + 0.06, width / 2 - 0.06), z=(-depth / 2 + 0.03, depth / 2 - 0.03), y=height, kind="bench"
    )
    return make_piece(
        "bench", made, {BODY: make_finish("wood", draw), "legs": make_finish("metal", draw)}, surfaces=[seat]
    )
