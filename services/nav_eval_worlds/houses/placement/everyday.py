"""Which small things lie on which surface of which room, since the second generator."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nav_eval_worlds.furniture import everyday_pieces, small, small_shapes
from nav_eval_worlds.furniture.piece import PieceMaker
from nav_eval_worlds.houses.plan.model import (
    BATHROOM,
    BEDROOM,
    BREAK,
    GARAGE,
    LIVING,
    MEETING,
    OFFICE,
    OPEN_OFFICE,
    RECEPTION,
    STORAGE,
    TREATMENT,
    WAITING,
)
from nav_eval_worlds.randomness import RandomStream


class Likely(NamedTuple):
    """A thing, and how often it is there."""

    maker: PieceMaker
    chance: float


_WORK = (OFFICE, OPEN_OFFICE, MEETING, RECEPTION, TREATMENT)

#: by kind of surface; a thing is looked for in the rooms named, or everywhere where none is
_THINGS: Mapping[str, Sequence[tuple[Likely, Sequence[str]]]] = {
    "desk": (
        (Likely(everyday_pieces.make_computer_mouse, 0.75), ()),
        (Likely(everyday_pieces.make_document, 0.7), ()),
        (Likely(everyday_pieces.make_pen_holder, 0.6), ()),
        (Likely(everyday_pieces.make_phone, 0.4), ()),
        (Likely(everyday_pieces.make_desk_phone, 0.6), (OFFICE, OPEN_OFFICE, RECEPTION, TREATMENT)),
    ),
    "coffee": (
        (Likely(everyday_pieces.make_remote_control, 0.7), (LIVING,)),
        (Likely(small_shapes.make_magazine, 0.5), ()),
        (Likely(everyday_pieces.make_apple, 0.15), (LIVING, BREAK)),
        (Likely(everyday_pieces.make_phone, 0.15), ()),
        (Likely(small.make_cup, 0.3), (LIVING, BREAK)),
    ),
    "side": (
        (Likely(everyday_pieces.make_remote_control, 0.2), (LIVING,)),
        (Likely(everyday_pieces.make_phone, 0.2), ()),
        (Likely(small_shapes.make_magazine, 0.3), ()),
    ),
    "dining": (
        (Likely(everyday_pieces.make_teapot, 0.3), ()),
        (Likely(everyday_pieces.make_apple, 0.25), ()),
        (Likely(everyday_pieces.make_document, 0.15), ()),
        (Likely(everyday_pieces.make_phone, 0.15), ()),
    ),
    "counter": (
        (Likely(everyday_pieces.make_cutting_board, 0.35), ()),
        (Likely(small.make_bottle, 0.25), ()),
        (Likely(small.make_cup, 0.25), ()),
        (Likely(everyday_pieces.make_knife_block, 0.2), ()),
        (Likely(everyday_pieces.make_apple, 0.2), ()),
        (Likely(everyday_pieces.make_teapot, 0.12), ()),
    ),
    "dishes": ((Likely(everyday_pieces.make_teapot, 0.3), ()),),
    "console": (
        (Likely(everyday_pieces.make_phone, 0.2), ()),
        (Likely(everyday_pieces.make_document, 0.25), ()),
        (Likely(everyday_pieces.make_remote_control, 0.25), (LIVING,)),
    ),
    "dresser": (
        (Likely(everyday_pieces.make_phone, 0.15), ()),
        (Likely(small.make_folded_clothes, 0.2), (BEDROOM,)),
    ),
    "nightstand": (
        (Likely(everyday_pieces.make_phone, 0.35), ()),
        (Likely(small.make_cup, 0.2), ()),
    ),
    "workbench": (
        (Likely(everyday_pieces.make_hammer, 0.7), ()),
        (Likely(everyday_pieces.make_screwdriver, 0.7), ()),
        (Likely(everyday_pieces.make_wrench, 0.6), ()),
        (Likely(everyday_pieces.make_paint_can, 0.5), ()),
    ),
    "storage": (
        (Likely(everyday_pieces.make_paint_can, 0.5), (GARAGE, STORAGE)),
        (Likely(everyday_pieces.make_hammer, 0.15), (GARAGE, STORAGE)),
        (Likely(everyday_pieces.make_folder, 0.3), (STORAGE,)),
    ),
    "vanity": (
        (Likely(everyday_pieces.make_toothbrush_cup, 0.8), (BATHROOM,)),
        (Likely(everyday_pieces.make_glove_box, 0.5), (TREATMENT,)),
    ),
    "medical": (
        (Likely(everyday_pieces.make_glove_box, 0.6), ()),
        (Likely(everyday_pieces.make_document, 0.2), ()),
    ),
    "toys": ((Likely(everyday_pieces.make_toy_train, 0.3), (BEDROOM, LIVING, WAITING)),),
    "books": ((Likely(everyday_pieces.make_folder, 0.4), _WORK),),
    "office shelf": ((Likely(everyday_pieces.make_document, 0.3), ()),),
    "reception": (
        (Likely(everyday_pieces.make_desk_phone, 0.8), ()),
        (Likely(everyday_pieces.make_computer_mouse, 0.5), ()),
        (Likely(everyday_pieces.make_document, 0.7), ()),
        (Likely(everyday_pieces.make_pen_holder, 0.5), ()),
    ),
    "counter top": (
        (Likely(everyday_pieces.make_document, 0.3), ()),
        (Likely(everyday_pieces.make_pen_holder, 0.5), ()),
    ),
    "meeting": (
        (Likely(everyday_pieces.make_document, 0.8), ()),
        (Likely(everyday_pieces.make_phone, 0.4), ()),
        (Likely(everyday_pieces.make_remote_control, 0.4), ()),
    ),
}


def choose_small_things(surface: str, room: str, draw: RandomStream) -> list[PieceMaker]:
    """What lies on a surface of this kind in a room of this kind."""
    return [
        thing.maker
        for thing, rooms in _THINGS.get(surface, ())
        if draw.chance(thing.chance) and (not rooms or room in rooms)
    ]
