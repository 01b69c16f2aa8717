"""A kitchen: a row of units at one wall, wall units above, a second row if there is space."""

from nav_eval.scene.houses.furniture import kitchen
from nav_eval.scene.houses.furniture.piece import Piece
from nav_eval.scene.houses.placement import groups
from nav_eval.scene.houses.placement.arranging import RoomWork, put_on_wall
from nav_eval.scene.houses.placement.hanging import hang_above
from nav_eval.scene.houses.randomness import Draw

#: from generous to minimal; F refrigerator, C cabinet, N narrow cabinet, S sink, O stove, D dishwasher
_ROWS = ("FCSDCOC", "FCSCOC", "FCSOC", "CSCOC", "FSCO", "FSOC", "CSOC", "SCO", "SO")


def furnish_kitchen(work: RoomWork) -> None:
    draw = work.draw.fork("kitchen")
    style = kitchen.kitchen_style(draw.fork("style"))
    row = _row(work, draw, style)
    if not work.has("refrigerator"):
        for pattern in ("FCC", "FC", "F"):
            if _put(work, pattern, draw.fork("cold", pattern), style):
                break
    elif draw.chance(0.5):
        _put(work, draw.choice(("CC", "CCC", "NC")), draw.fork("second"), style)
    for missing, category in (("S", "sink"), ("O", "stove")):
        if not work.has(category):
            _put(work, missing, draw.fork("missing", missing), style)
    for index in list(range(len(work.placed))) if row else []:
        _hang_over(work, index, draw.fork("above", index), style)


def _row(work: RoomWork, draw: Draw, style: kitchen.KitchenStyle) -> bool:
    for pattern in _ROWS:
        order = pattern if draw.chance(0.5) else pattern[::-1]
        if _put(work, order, draw.fork("row", pattern), style):
            return True
    return False


def _put(work: RoomWork, pattern: str, draw: Draw, style: kitchen.KitchenStyle) -> bool:
    pieces = [_unit(letter, draw.fork(place), style) for place, letter in enumerate(pattern)]
    return bool(put_on_wall(work, groups.side_by_side(pieces), like="corner"))


def _unit(letter: str, draw: Draw, style: kitchen.KitchenStyle) -> Piece:
    if letter == "C":
        return kitchen.base_unit(draw, style, width=0.6)
    if letter == "N":
        return kitchen.base_unit(draw, style, width=0.4)
    maker = {
        "F": kitchen.refrigerator_unit,
        "S": kitchen.sink_unit,
        "O": kitchen.stove_unit,
        "D": kitchen.dishwasher_unit,
    }[letter]
    return maker(draw, style)


def _hang_over(work: RoomWork, index: int, draw: Draw, style: kitchen.KitchenStyle) -> None:
    """Wall units over floor units, a hood over the stove."""
    below = work.placed[index].piece
    if below.category == "stove":
        hang_above(work, index, kitchen.hood_unit(draw, style), bottom=1.6, margin=0)
    elif below.category in ("kitchen cabinet", "dishwasher", "sink"):
        hang_above(work, index, kitchen.wall_unit(draw, style, width=below.size[0]), bottom=1.45, margin=0)
