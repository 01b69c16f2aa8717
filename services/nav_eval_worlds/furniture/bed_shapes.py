"""Further shapes of beds: low platforms, upholstered heads, metal bars, posts."""

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
from nav_eval_worlds.materials import Finish, make_finish
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import make_box, make_box_pair, make_cylinder, make_rod, make_rounded_box


def _make_bedding(draw: RandomStream, *, width: float, length: float, base: float, top: float) -> list[SolidPart]:
    """Mattress, a blanket that hangs over its sides, and pillows; the body is the blanket."""
    made = make_parts("mattress", make_rounded_box((width, top - base, length - 0.04), 0.05, (0, base, 0)))
    cover = length * draw.between(0.62, 0.74)
    made += make_parts(
        BODY,
        make_rounded_box((width + 0.04, 0.11, cover), 0.045, (0, top - 0.07, length / 2 - cover / 2 + 0.005)),
        *make_box_pair((0.014, 0.17, cover - 0.06), (width / 2 + 0.014, top - 0.2, length / 2 - cover / 2)),
    )
    made += make_parts(
        "fold", make_rounded_box((width + 0.045, 0.045, 0.26), 0.02, (0, top + 0.01, length / 2 - cover + 0.12))
    )
    count = 2 if width > 1.2 else 1
    for n in range(count):
        x = (n - (count - 1) / 2) * width / count
        pillow = make_rounded_box((min(0.66, width / count - 0.08), 0.13, 0.42), 0.06)
        made += make_parts("pillows", pillow.tilt(draw.uniform(10, 22)).translate((x, top + 0.03, -length / 2 + 0.26)))
    if count == 2 and draw.chance(0.5):
        throw = make_rounded_box((width + 0.07, 0.02, 0.42), 0.008, (0, top + 0.038, length / 2 - 0.34))
        made += make_parts(
            "throw", throw, *make_box_pair((0.014, 0.28, 0.42), (width / 2 + 0.03, top - 0.24, length / 2 - 0.34))
        )
    return made


def _finish_bed(draw: RandomStream, made: list[SolidPart], frame: Finish, *, size: tuple[float, float, float]) -> Piece:
    width, length, top = size
    linen = make_finish("linen", draw)
    finishes = {
        BODY: make_finish(draw.choose_weighted([("cloth", 0.6), ("linen", 0.2), ("striped", 0.2)]), draw),
        "frame": frame,
        "mattress": make_finish("linen", draw, ("white",)),
        "fold": linen,
        "pillows": linen,
        "throw": make_finish("fabric", draw),
    }
    surface = SupportSurface(
        x=(-width / 2 + 0.1, width / 2 - 0.1), z=(-0.1, length / 2 - 0.6), y=top + 0.038, kind="bed"
    )
    return make_piece("bed", made, finishes, surfaces=[surface], clearance=0.4)


def _make_platform_bed(draw: RandomStream, width: float) -> Piece:
    length, top = draw.between(2.0, 2.1), draw.between(0.42, 0.48)
    made = make_parts(
        "frame",
        make_box((width + 0.16, 0.1, length + 0.06), (0, 0.14, 0)),
        make_box((width - 0.3, 0.14, length - 0.4)),
        make_box((width + 0.16, draw.between(0.72, 0.85), 0.05), (0, 0, -length / 2 - 0.04)),
    )
    made += _make_bedding(draw, width=width, length=length, base=0.22, top=top)
    return _finish_bed(draw, made, make_finish("wood", draw), size=(width, length, top))


def _make_upholstered_bed(draw: RandomStream, width: float) -> Piece:
    length, top, head = draw.between(2.0, 2.12), draw.between(0.52, 0.6), draw.between(1.1, 1.3)
    made = make_parts(
        "frame",
        make_rounded_box((width + 0.12, 0.26, length + 0.04), 0.04, (0, 0.06, 0)),
        *make_four_legs(width, length, 0.07, 0.06, inset=0.03),
    )
    count = max(2, round(width / 0.36))
    for n in range(count):
        each = (width + 0.14) / count
        made += make_parts(
            "frame",
            make_rounded_box(
                (each - 0.004, head, 0.11), 0.035, (-(width + 0.14) / 2 + each * (n + 0.5), 0.0, -length / 2 - 0.06)
            ),
        )
    made += _make_bedding(draw, width=width, length=length, base=0.3, top=top)
    return _finish_bed(draw, made, make_finish("fabric", draw), size=(width, length, top))


def _make_metal_bed(draw: RandomStream, width: float) -> Piece:
    """Bars at head and foot."""
    length, top, head = draw.between(1.98, 2.08), draw.between(0.54, 0.6), draw.between(1.0, 1.15)
    made: list[SolidPart] = make_parts("frame", make_box((width, 0.03, length - 0.02), (0, 0.3, 0)))
    for z, height in ((-length / 2 - 0.02, head), (length / 2 + 0.02, 0.5)):
        made += make_parts(
            "frame",
            *(
                make_rod((side * (width / 2 + 0.01), 0, z), (side * (width / 2 + 0.01), height, z), 0.018)
                for side in (-1, 1)
            ),
        )
        made += make_parts(
            "frame", *(make_rod((-width / 2, y, z), (width / 2, y, z), 0.014) for y in (0.34, height - 0.03))
        )
        bars = max(5, round(width / 0.16))
        made += make_parts(
            "frame",
            *(
                make_rod(
                    (-width / 2 + width * n / bars, 0.34, z),
                    (-width / 2 + width * n / bars, height - 0.03, z),
                    0.008,
                    sides=6,
                )
                for n in range(1, bars)
            ),
        )
    made += _make_bedding(draw, width=width - 0.02, length=length, base=0.33, top=top)
    return _finish_bed(draw, made, make_finish("metal", draw, ("black", "grey")), size=(width, length, top))


def _make_panel_bed(draw: RandomStream, width: float) -> Piece:
    """Posts and panels of wood at both ends."""
    length, top, head = draw.between(2.0, 2.1), draw.between(0.54, 0.6), draw.between(1.05, 1.25)
    made = make_parts("frame", make_box((width + 0.04, 0.16, length), (0, 0.2, 0)))
    for z, height in ((-length / 2 - 0.03, head), (length / 2 + 0.03, 0.62)):
        made += make_parts(
            "frame",
            *make_box_pair((0.07, height, 0.07), (width / 2 + 0.03, 0, z)),
            make_box((width, height - 0.32, 0.03), (0, 0.22, z)),
            make_box((width + 0.04, 0.06, 0.06), (0, height - 0.1, z)),
        )
        made += make_parts(
            "frame",
            *(
                make_cylinder(0.035, 0.05, (side * (width / 2 + 0.03), height, z), sides=10, top=0.015)
                for side in (-1, 1)
            ),
        )
    made += _make_bedding(draw, width=width, length=length - 0.02, base=0.34, top=top)
    return _finish_bed(draw, made, make_finish("wood", draw), size=(width, length, top))


@register_shape("double_bed", "platform")
def make_double_platform_bed(draw: RandomStream) -> Piece:
    return _make_platform_bed(draw, draw.between(1.4, 1.8))


@register_shape("double_bed", "upholstered")
def make_double_upholstered_bed(draw: RandomStream) -> Piece:
    return _make_upholstered_bed(draw, draw.between(1.4, 1.8))


@register_shape("double_bed", "metal")
def make_double_metal_bed(draw: RandomStream) -> Piece:
    return _make_metal_bed(draw, draw.between(1.4, 1.6))


@register_shape("double_bed", "panel")
def make_double_panel_bed(draw: RandomStream) -> Piece:
    return _make_panel_bed(draw, draw.between(1.4, 1.8))


@register_shape("single_bed", "platform")
def make_single_platform_bed(draw: RandomStream) -> Piece:
    return _make_platform_bed(draw, draw.between(0.9, 1.0))


@register_shape("single_bed", "upholstered")
def make_single_upholstered_bed(draw: RandomStream) -> Piece:
    return _make_upholstered_bed(draw, draw.between(0.9, 1.1))


@register_shape("single_bed", "metal")
def make_single_metal_bed(draw: RandomStream) -> Piece:
    return _make_metal_bed(draw, draw.between(0.9, 1.0))


@register_shape("single_bed", "panel")
def make_single_panel_bed(draw: RandomStream) -> Piece:
    return _make_panel_bed(draw, draw.between(0.9, 1.1))
