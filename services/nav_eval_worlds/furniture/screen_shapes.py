"""Further shapes of televisions and bins."""

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    make_parts,
    make_piece,
    register_shape,
)
from nav_eval_worlds.materials import make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    make_box,
    make_cylinder,
    make_ellipsoid,
    make_lathe,
    make_picture,
    make_rounded_box,
)

SURFACE = PlacementRule.SURFACE


@register_shape("trash_can", "pedal")
def make_pedal_bin(draw: RandomStream) -> Piece:
    radius, height = draw.between(0.12, 0.15), draw.between(0.36, 0.62)
    lid = make_lathe([(radius + 0.004, 0), (radius * 0.95, 0.03), (0, 0.045)], sides=18, smooth=True)
    made = make_parts(BODY, make_cylinder(radius, height - 0.05, (0, 0.01, 0), sides=18)) + make_parts(
        "lid",
        lid.translate((0, height - 0.045, 0)),
        make_cylinder(radius + 0.006, 0.03, sides=18),
        make_box((0.07, 0.015, 0.06), (0, 0.0, radius + 0.02)),
    )
    return make_piece(
        "trash can", made, make_finishes(draw, body=("metal", "enamel"), lid={"plastic": ("black", "grey")})
    )


@register_shape("trash_can", "mesh")
def make_paper_bin(draw: RandomStream) -> Piece:
    """An open basket for paper."""
    radius, height = draw.between(0.12, 0.15), draw.between(0.28, 0.36)
    cone = make_lathe(
        [(0, 0), (radius * 0.78, 0), (radius, height), (radius - 0.006, height), (radius * 0.76, 0.008), (0, 0.008)],
        sides=18,
    )
    made = make_parts(BODY, cone) + make_parts(
        "paper",
        make_ellipsoid((0.1, 0.09, 0.1), (0.03, 0.01, 0), sides=7, rings=4),
        make_ellipsoid((0.09, 0.08, 0.09), (-0.04, 0.02, 0.02), sides=7, rings=4),
    )
    return make_piece("trash can", made, make_finishes(draw, body=("metal", "wicker", "plastic"), paper="paper"))


@register_shape("trash_can", "swing")
def make_swing_bin(draw: RandomStream) -> Piece:
    """A square bin with a flap."""
    width, depth, height = draw.between(0.26, 0.34), draw.between(0.24, 0.3), draw.between(0.45, 0.65)
    made = make_parts(BODY, make_rounded_box((width, height - 0.1, depth), 0.02)) + make_parts(
        "lid",
        make_rounded_box((width + 0.01, 0.1, depth + 0.01), 0.03, (0, height - 0.1, 0)),
        make_box((width * 0.7, 0.07, 0.01)).tilt(-20).translate((0, height - 0.09, depth / 2 + 0.01)),
    )
    return make_piece(
        "trash can",
        made,
        make_finishes(draw, body={"plastic": ("white", "grey", "black")}, lid={"plastic": ("grey", "black", "white")}),
    )


def _make_screen(draw: RandomStream, width: float, *, bezel: float, base: float) -> list[SolidPart]:
    height = round(width * 0.57, 4)
    made = make_parts(BODY, make_box((width, height, 0.03), (0, base, 0)))
    return made + make_parts("screen", make_picture(width - 2 * bezel, height - 2 * bezel, (0, base + bezel, 0.0162)))


def _finish_tv(draw: RandomStream, made: list[SolidPart], foot: str) -> Piece:
    finishes = {
        BODY: make_finish("plastic", draw, ("black",)),
        "screen": make_finish("screen", draw, patterns=("programme",)),
        "foot": make_finish(foot, draw),
    }
    return make_piece("tv", made, finishes, rule=SURFACE)


@register_shape("tv", "two feet")
def make_two_feet_tv(draw: RandomStream) -> Piece:
    width = draw.between(0.95, 1.25)
    made = _make_screen(draw, width, bezel=0.008, base=0.07)
    made += make_parts(
        "foot",
        *(make_box((0.02, 0.08, 0.03), (x, 0.01, 0)) for x in (-width * 0.36, width * 0.36)),
        *(make_box((0.025, 0.012, 0.22), (x, 0, 0)) for x in (-width * 0.36, width * 0.36)),
    )
    return _finish_tv(draw, made, "metal")


@register_shape("tv", "sound bar")
def make_sound_bar_tv(draw: RandomStream) -> Piece:
    """A screen over a bar of loudspeakers."""
    width = draw.between(0.95, 1.25)
    made = _make_screen(draw, width, bezel=0.01, base=0.1)
    made += make_parts(
        "foot",
        make_rounded_box((width * 0.8, 0.07, 0.09), 0.02, (0, 0, 0.05)),
        make_box((0.3, 0.012, 0.2), (0, 0, -0.02)),
        make_box((0.08, 0.1, 0.02), (0, 0.01, -0.03)),
    )
    return _finish_tv(draw, made, "plastic")


@register_shape("tv", "thick rim")
def make_thick_tv(draw: RandomStream) -> Piece:
    """An older set with a wide rim."""
    width = draw.between(0.85, 1.05)
    made = _make_screen(draw, width, bezel=0.035, base=0.09)
    made += make_parts(
        "foot", make_rounded_box((width * 0.45, 0.02, 0.22), 0.008), make_box((0.12, 0.09, 0.04), (0, 0.015, -0.01))
    )
    return _finish_tv(draw, made, "plastic")
