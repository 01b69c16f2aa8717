"""Furnishing: from an empty floor plan to a list of things and where they are."""

from dataclasses import replace

from nav_eval_worlds.houses.placement.arrangement import PlacedPiece, RoomState, tidy_room
from nav_eval_worlds.houses.placement.rooms import ESSENTIALS, find_missing_essentials, furnish_room
from nav_eval_worlds.houses.placement.space import make_room_space
from nav_eval_worlds.houses.placement.tabletop import fill_surfaces
from nav_eval_worlds.houses.placement.wall_pieces import decorate_room
from nav_eval_worlds.houses.plan.model import FloorPlan, Room
from nav_eval_worlds.randomness import RandomStream

__all__ = ["PlacedPiece", "furnish_house"]


ATTEMPTS = 8  #: other arrangements of a room that lacks something essential


def furnish_house(plan: FloorPlan, draw: RandomStream) -> list[PlacedPiece]:
    """All furniture of the house, room by room, each room from its own stream."""
    placed: list[PlacedPiece] = []
    for room in plan.rooms:
        first = len(placed)
        for one in _furnish_with_retries(plan, room, draw.fork(room.room_id)):
            placed.append(replace(one, on=None if one.on is None else one.on + first))
    return placed


def _furnish_with_retries(plan: FloorPlan, room: Room, draw: RandomStream) -> list[PlacedPiece]:
    """The first arrangement that has all essentials, otherwise the one that lacks least."""
    best: list[PlacedPiece] = []
    least = len(ESSENTIALS[room.kind]) + 1
    for attempt in range(ATTEMPTS):
        work = RoomState(plan, room, make_room_space(plan, room), draw.fork(attempt))
        furnish_room(work)
        decorate_room(work)
        fill_surfaces(work)
        found = tidy_room(work)
        missing = find_missing_essentials(room.kind, [one.piece.category for one in found])
        if len(missing) < least:
            best, least = found, len(missing)
        if not missing:
            break
    return best
