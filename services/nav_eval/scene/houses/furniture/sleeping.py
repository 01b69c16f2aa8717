"""Beds and what stands beside them."""

from nav_eval.scene.houses.finishes import finish
from nav_eval.scene.houses.furniture.piece import (
    BODY,
    Part,
    Piece,
    Surface,
    four_legs,
    maker,
    parts,
    piece,
    top_surface,
)
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import box, rounded_box


@maker
def double_bed(draw: Draw) -> Piece:
    return _bed(draw, width=draw.between(1.45, 1.85), pillows=2)


@maker
def single_bed(draw: Draw) -> Piece:
    return _bed(draw, width=draw.between(0.92, 1.1), pillows=1)


@maker
def nightstand(draw: Draw) -> Piece:
    width, depth, height = draw.between(0.38, 0.48), draw.between(0.34, 0.42), draw.between(0.44, 0.56)
    wood = finish(draw.choice(("wood", "lacquer")), draw)
    made = parts(BODY, box((width, height - 0.1, depth), (0, 0.1, 0)), *four_legs(width, depth, 0.1, 0.04))
    for n in range(2):
        y = 0.13 + n * (height - 0.14) / 2
        made += parts("front", box((width - 0.04, (height - 0.2) / 2, 0.015), (0, y, depth / 2)))
        made += parts("handles", box((0.08, 0.015, 0.02), (0, y + (height - 0.2) / 4, depth / 2 + 0.012)))
    finishes = {BODY: wood, "front": wood, "handles": finish(draw.choice(("chrome", "brass")), draw)}
    return piece(
        "nightstand", made, finishes, surfaces=[top_surface((width, height, depth), "nightstand", margin=0.02)]
    )


def _bed(draw: Draw, *, width: float, pillows: int) -> Piece:
    """Frame with head board, mattress, blanket turned down, pillows."""
    length, top = draw.between(1.98, 2.12), draw.between(0.5, 0.6)
    head, frame_height = draw.between(0.9, 1.15), draw.between(0.26, 0.34)
    frame = finish(draw.weighted([("wood", 0.6), ("lacquer", 0.2), ("fabric", 0.2)]), draw)
    made = parts("frame", rounded_box((width + 0.06, frame_height - 0.08, length), 0.015, (0, 0.08, 0)))
    made += parts("frame", rounded_box((width + 0.1, head, 0.07), 0.02, (0, 0, -length / 2 - 0.03)))
    made += parts("frame", *four_legs(width, length, 0.08, 0.07))
    made += parts("mattress", rounded_box((width, top - frame_height, length - 0.03), 0.06, (0, frame_height, 0.0)))
    cover = length * draw.between(0.6, 0.7)
    made += parts(BODY, rounded_box((width + 0.05, 0.14, cover), 0.05, (0, top - 0.1, length / 2 - cover / 2 + 0.01)))
    made += parts("fold", rounded_box((width + 0.055, 0.05, 0.3), 0.025, (0, top + 0.005, length / 2 - cover + 0.14)))
    made += _pillows(width, top, length, pillows)
    spread = finish(draw.choice(("cloth", "striped", "fabric")), draw)
    linen = finish("linen", draw)
    finishes = {
        BODY: spread,
        "frame": frame,
        "mattress": finish("linen", draw, ("white",)),
        "fold": linen,
        "pillows": linen,
    }
    surface = Surface(x=(-width / 2 + 0.1, width / 2 - 0.1), z=(-0.1, length / 2 - 0.2), y=top + 0.04, kind="bed")
    return piece("bed", made, finishes, surfaces=[surface], clearance=0.4)


def _pillows(width: float, top: float, length: float, count: int) -> list[Part]:
    made = []
    each = min(0.68, (width - 0.1) / count)
    for n in range(count):
        x = (n - (count - 1) / 2) * (width / count)
        pillow = rounded_box((each, 0.14, 0.42), 0.065).tilted(14)
        made += parts("pillows", pillow.moved((x, top + 0.04, -length / 2 + 0.26)))
    return made
