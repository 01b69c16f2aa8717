"""Further shapes of dining, coffee and side tables."""

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SupportSurface,
    make_four_legs,
    make_parts,
    make_piece,
    make_splayed_legs,
    make_top_surface,
    register_shape,
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
)


def _make_hairpin_legs(width: float, depth: float, height: float) -> list[SolidMesh]:
    """Two thin rods that meet at the floor, at each corner."""
    rods: list[SolidMesh] = []
    for sx in (-1, 1):
        for sz in (-1, 1):
            foot = (sx * (width / 2 - 0.03), 0.0, sz * (depth / 2 - 0.03))
            for dx, dz in ((0.09, 0.0), (0.0, 0.09)):
                rods.append(make_rod(foot, (foot[0] - sx * dx, height, foot[2] - sz * dz), 0.007, sides=6))
    return rods


def make_round_surface(radius: float, height: float, kind: str) -> SupportSurface:
    reach = radius * 0.68
    return SupportSurface(x=(-reach, reach), z=(-reach, reach), y=height, kind=kind)


def _make_dining(draw: RandomStream, width: float, depth: float, *, shape: str) -> Piece:
    height = draw.between(0.72, 0.76)
    top = make_finish(draw.choose_weighted([("wood", 0.8), ("lacquer", 0.2)]), draw)
    legs = top if shape == "trestle" else make_finish(draw.choose_weighted([("metal", 0.7), ("wood", 0.3)]), draw)
    made = make_parts(BODY, make_box((width, 0.045, depth), (0, height - 0.045, 0)))
    if shape == "trestle":
        for side in (-1, 1):
            x = side * (width / 2 - 0.22)
            made += make_parts(
                "legs",
                make_box((0.07, height - 0.045, 0.1), (x, 0, 0)),
                make_box((0.08, 0.06, depth - 0.12), (x, 0, 0)),
                make_box((0.08, 0.05, depth - 0.2), (x, height - 0.095, 0)),
            )
        made += make_parts("legs", make_box((width - 0.44, 0.09, 0.035), (0, 0.24, 0)))
    elif shape == "frames":
        for x in (-width / 2 + 0.14, width / 2 - 0.14):
            bars = [make_box((0.05, 0.03, depth - 0.19), (x, y, 0)) for y in (0, height - 0.075)]
            posts = [make_box((0.05, height - 0.045, 0.05), (x, 0, z * (depth / 2 - 0.07))) for z in (-1, 1)]
            made += make_parts("legs", *bars, *posts)
    else:
        made += make_parts("legs", *make_splayed_legs(width - 0.06, depth - 0.06, height - 0.045, 0.03))
    surfaces = [make_top_surface((width, height, depth), "dining", margin=0.08)]
    return make_piece("dining table", made, {BODY: top, "legs": legs}, rule=PlacementRule.MIDDLE, surfaces=surfaces)


@register_shape("dining_table", "trestle")
def make_trestle_table(draw: RandomStream) -> Piece:
    return _make_dining(draw, draw.between(1.4, 2.0), draw.between(0.8, 0.95), shape="trestle")


@register_shape("dining_table", "frames")
def make_framed_table(draw: RandomStream) -> Piece:
    return _make_dining(draw, draw.between(1.4, 2.0), draw.between(0.8, 0.95), shape="frames")


@register_shape("dining_table", "splayed")
def make_splayed_table(draw: RandomStream) -> Piece:
    return _make_dining(draw, draw.between(1.3, 1.8), draw.between(0.78, 0.9), shape="splayed")


@register_shape("small_dining_table", "splayed")
def make_small_splayed_table(draw: RandomStream) -> Piece:
    return _make_dining(draw, draw.between(0.85, 1.15), draw.between(0.7, 0.8), shape="splayed")


@register_shape("small_dining_table", "frames")
def make_small_framed_table(draw: RandomStream) -> Piece:
    return _make_dining(draw, draw.between(0.9, 1.15), draw.between(0.7, 0.8), shape="frames")


@register_shape("round_table", "four legs")
def make_round_leg_table(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.45, 0.58), draw.between(0.72, 0.76)
    made = make_parts(BODY, make_cylinder(radius, 0.035, (0, height - 0.035, 0), sides=24))
    made += make_parts("foot", *make_splayed_legs(radius * 1.4, radius * 1.4, height - 0.035, 0.024))
    finishes = make_finishes(draw, body=("wood", "lacquer"), foot="wood")
    surfaces = [make_round_surface(radius, height, "dining")]
    return make_piece("dining table", made, finishes, rule=PlacementRule.MIDDLE, surfaces=surfaces)


@register_shape("round_table", "tulip")
def make_tulip_table(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.48, 0.6), draw.between(0.72, 0.75)
    foot = make_lathe(
        [(0, 0), (radius * 0.52, 0), (radius * 0.45, 0.015), (0.07, 0.1), (0.04, height * 0.5), (0.1, height - 0.025)],
        sides=20,
        smooth=True,
    )
    made = make_parts(
        BODY, make_cylinder(radius - 0.02, 0.03, (0, height - 0.03, 0), sides=28, top=radius)
    ) + make_parts("foot", foot)
    finishes = make_finishes(draw, body=("stone", "lacquer"), foot={"enamel": ("white", "black")})
    surfaces = [make_round_surface(radius, height, "dining")]
    return make_piece("dining table", made, finishes, rule=PlacementRule.MIDDLE, surfaces=surfaces)


@register_shape("coffee_table", "drum")
def make_drum_table(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.36, 0.46), draw.between(0.34, 0.42)
    made = make_parts(
        BODY,
        make_cylinder(radius, 0.03, (0, height - 0.03, 0), sides=24),
        make_cylinder(radius * 0.82, height - 0.03, sides=24),
    )
    surfaces = [make_round_surface(radius, height, "coffee")]
    return make_piece(
        "coffee table",
        made,
        {BODY: make_finish(draw.choice(("wood", "stone", "wicker")), draw)},
        rule=PlacementRule.MIDDLE,
        surfaces=surfaces,
    )


@register_shape("coffee_table", "hairpin")
def make_hairpin_table(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(0.9, 1.2), draw.between(0.5, 0.6), draw.between(0.38, 0.44)
    made = make_parts(BODY, make_box((width, 0.04, depth), (0, height - 0.04, 0)))
    made += make_parts("legs", *_make_hairpin_legs(width, depth, height - 0.04))
    surfaces = [make_top_surface((width, height, depth), "coffee")]
    return make_piece(
        "coffee table",
        made,
        make_finishes(draw, body="wood", legs={"metal": ("black", "grey")}),
        rule=PlacementRule.MIDDLE,
        surfaces=surfaces,
    )


@register_shape("coffee_table", "glass")
def make_glass_table(draw: RandomStream) -> Piece:
    """A pane on a frame with a board below."""
    width, depth, height = draw.between(0.9, 1.2), draw.between(0.5, 0.65), draw.between(0.4, 0.46)
    made = make_parts("pane", make_box((width, 0.012, depth), (0, height - 0.012, 0)))
    made += make_parts(
        BODY,
        *make_four_legs(width - 0.02, depth - 0.02, height - 0.012, 0.035),
        *make_box_pair((0.03, 0.03, depth - 0.06), (width / 2 - 0.03, height - 0.042, 0)),
        *(make_box((width - 0.06, 0.03, 0.03), (0, height - 0.042, z * (depth / 2 - 0.03))) for z in (-1, 1)),
    )
    made += make_parts("board", make_box((width - 0.06, 0.02, depth - 0.06), (0, 0.12, 0)))
    surfaces = [
        make_top_surface((width, height, depth), "coffee"),
        make_top_surface((width, height, depth), "magazines", y=0.14, margin=0.1, headroom=0.2),
    ]
    return make_piece(
        "coffee table",
        made,
        make_finishes(draw, body=("metal", "wood"), pane="glass", board="wood"),
        rule=PlacementRule.MIDDLE,
        surfaces=surfaces,
    )


@register_shape("coffee_table", "oval")
def make_oval_table(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(1.0, 1.25), draw.between(0.52, 0.62), draw.between(0.38, 0.44)
    top = make_lathe([(0, 0), (0.5, 0), (0.5, 0.03), (0, 0.03)], sides=26, stretch=(width, depth)).translate(
        (0, height - 0.03, 0)
    )
    made = make_parts(BODY, top) + make_parts(
        "legs", *make_splayed_legs(width * 0.72, depth * 0.72, height - 0.03, 0.018)
    )
    surface = SupportSurface(x=(-width * 0.33, width * 0.33), z=(-depth * 0.33, depth * 0.33), y=height, kind="coffee")
    return make_piece(
        "coffee table",
        made,
        make_finishes(draw, body=("wood", "lacquer"), legs="wood"),
        rule=PlacementRule.MIDDLE,
        surfaces=[surface],
    )


@register_shape("side_table", "pedestal")
def make_pedestal_table(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.2, 0.25), draw.between(0.48, 0.58)
    made = make_parts(BODY, make_cylinder(radius, 0.02, (0, height - 0.02, 0), sides=20))
    made += make_parts(
        "legs", make_cylinder(0.016, height - 0.02, sides=8), make_cylinder(radius * 0.7, 0.018, sides=18)
    )
    return make_piece(
        "side table",
        made,
        make_finishes(draw, body=("stone", "wood", "lacquer"), legs=("metal", "brass")),
        surfaces=[make_round_surface(radius, height, "side")],
    )


@register_shape("side_table", "cube")
def make_cube_table(draw: RandomStream) -> Piece:
    side, height = draw.between(0.38, 0.44), draw.between(0.42, 0.52)
    size = (side, height, side)
    made = make_parts(
        BODY,
        make_box((side, 0.025, side), (0, height - 0.025, 0)),
        make_box((side, 0.025, side), (0, 0.0, 0)),
        *make_box_pair((0.025, height, side), (side / 2 - 0.0125, 0, 0)),
    )
    surfaces = [
        make_top_surface(size, "side", margin=0.03),
        make_top_surface(size, "magazines", y=0.025, margin=0.06, headroom=height - 0.1),
    ]
    return make_piece(
        "side table", made, {BODY: make_finish(draw.choice(("wood", "lacquer")), draw)}, surfaces=surfaces
    )


@register_shape("side_table", "tray")
def make_tray_table(draw: RandomStream) -> Piece:
    """A round tray with a rim on a folding stand."""
    radius, height = draw.between(0.2, 0.24), draw.between(0.46, 0.55)
    tray = make_lathe(
        [(0, 0), (radius, 0), (radius, 0.04), (radius - 0.01, 0.04), (radius - 0.01, 0.012), (0, 0.012)], sides=20
    )
    made = make_parts(BODY, tray.translate((0, height - 0.04, 0)))
    for sz in (-1, 1):
        made += make_parts(
            "legs",
            make_rod((-radius * 0.8, 0, sz * 0.1), (radius * 0.7, height - 0.04, sz * 0.1), 0.009, sides=6),
            make_rod((radius * 0.8, 0, sz * 0.1), (-radius * 0.7, height - 0.04, sz * 0.1), 0.009, sides=6),
        )
    reach = radius * 0.62
    surface = SupportSurface(x=(-reach, reach), z=(-reach, reach), y=height - 0.028, kind="side")
    return make_piece(
        "side table", made, make_finishes(draw, body=("brass", "enamel", "wood"), legs="wood"), surfaces=[surface]
    )
