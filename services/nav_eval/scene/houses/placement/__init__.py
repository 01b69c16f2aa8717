"""Furnishing: from an empty floor plan to a list of things and where they are."""

from dataclasses import replace

from nav_eval.scene.houses.placement.arranging import Placed, RoomWork
from nav_eval.scene.houses.placement.hanging import decorate
from nav_eval.scene.houses.placement.rooms import furnish
from nav_eval.scene.houses.placement.space import room_space
from nav_eval.scene.houses.placement.tabletop import fill_surfaces
from nav_eval.scene.houses.placement.tidying import tidied
from nav_eval.scene.houses.plan.model import Plan
from nav_eval.scene.houses.randomness import Draw

__all__ = ["Placed", "furnish_house"]


def furnish_house(plan: Plan, draw: Draw) -> list[Placed]:
    """All furniture of the house, room by room, each room from its own stream."""
    placed: list[Placed] = []
    for room in plan.rooms:
        work = RoomWork(plan, room, room_space(plan, room), draw.fork(room.room_id))
        furnish(work)
        decorate(work)
        fill_surfaces(work)
        first = len(placed)
        placed += [replace(one, on=None if one.on is None else one.on + first) for one in tidied(work)]
    return placed
