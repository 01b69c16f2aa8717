"""Furnishing: from an empty floor plan to a list of things and where they are."""

from dataclasses import replace

from nav_eval.scene.houses.placement.arranging import Placed, RoomWork
from nav_eval.scene.houses.placement.hanging import decorate
from nav_eval.scene.houses.placement.rooms import ESSENTIALS, furnish, missing_essentials
from nav_eval.scene.houses.placement.space import room_space
from nav_eval.scene.houses.placement.tabletop import fill_surfaces
from nav_eval.scene.houses.placement.tidying import tidied
from nav_eval.scene.houses.plan.model import Plan, Room
from nav_eval.scene.houses.randomness import Draw

__all__ = ["Placed", "furnish_house"]


ATTEMPTS = 8  #: other arrangements of a room that lacks something essential


def furnish_house(plan: Plan, draw: Draw) -> list[Placed]:
    """All furniture of the house, room by room, each room from its own stream."""
    placed: list[Placed] = []
    for room in plan.rooms:
        first = len(placed)
        for one in _furnished(plan, room, draw.fork(room.room_id)):
            placed.append(replace(one, on=None if one.on is None else one.on + first))
    return placed


def _furnished(plan: Plan, room: Room, draw: Draw) -> list[Placed]:
    """The first arrangement that has all essentials, otherwise the one that lacks least."""
    best: list[Placed] = []
    least = len(ESSENTIALS[room.kind]) + 1
    for attempt in range(ATTEMPTS):
        work = RoomWork(plan, room, room_space(plan, room), draw.fork(attempt))
        furnish(work)
        decorate(work)
        fill_surfaces(work)
        found = tidied(work)
        missing = missing_essentials(room.kind, [one.piece.category for one in found])
        if len(missing) < least:
            best, least = found, len(missing)
        if not missing:
            break
    return best
