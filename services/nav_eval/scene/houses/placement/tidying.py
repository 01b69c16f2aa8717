"""The last look at a room: whatever still is in the way goes.

Placement reasons with square agents, which is exact and fast but leaves now and then a nook that a round
agent could stand in without getting there. Here the finished room is sampled; the latest thing beside
such a nook is taken out again, and so is everything small that nobody could come near.
"""

import math
from dataclasses import replace

import numpy as np

from nav_eval.scene.houses.furniture.piece import Rule
from nav_eval.scene.houses.placement.arranging import Placed, RoomWork, mm
from nav_eval.scene.houses.plan.geometry import Point, Rect
from nav_eval.scene.houses.raster import Mask, dilated, distance_to, flooded, middles, slices

RADII = (180, 250)
BODY_HEIGHT = 1.5  #: metres; what is above is in nobody's way
ARM = 900  #: millimetres from walkable floor to everything


def tidied(work: RoomWork) -> list[Placed]:
    """The room's things without those that break a rule; indices of supports are renewed."""
    kept = list(range(len(work.placed)))
    while True:
        offender = _offender(work, kept)
        if offender is None:
            break
        kept = [index for index in kept if index != offender and work.placed[index].on != offender]
    kept = _within_reach(work, kept)
    number = {old: new for new, old in enumerate(kept)}
    return [
        replace(work.placed[index], on=None if work.placed[index].on is None else number[work.placed[index].on])  # type: ignore[index]
        for index in kept
    ]


def footprint(placed: Placed) -> Rect:
    """The floor under or below a thing."""
    along, across, turn = placed.piece.size[0], placed.piece.size[2], math.radians(placed.degrees)
    cos, sin = round(abs(math.cos(turn)), 6), round(abs(math.sin(turn)), 6)
    width, depth = mm(along * cos + across * sin), mm(along * sin + across * cos)
    x, z = round(placed.position[0] * 1000), round(placed.position[2] * 1000)
    return Rect(x - width // 2, z - depth // 2, x + width // 2, z + depth // 2)


def _offender(work: RoomWork, kept: list[int]) -> int | None:
    """The latest thing beside floor that cannot be reached."""
    for radius in RADII:
        free, origin = _free(work, kept, radius)
        reached = _reached(work, free, origin)
        x, z = middles(free & ~reached, origin)
        if len(x):
            nook = Rect(int(x.min()), int(z.min()), int(x.max()), int(z.max())).grown(radius + 150)
            beside = [
                index for index in kept if _in_the_way(work, index) and footprint(work.placed[index]).overlaps(nook)
            ]
            if beside:
                return beside[-1]
    return None


def _within_reach(work: RoomWork, kept: list[int]) -> list[int]:
    """Without small and hung things that are too far from walkable floor."""
    free, origin = _free(work, kept, max(RADII))
    x, z = middles(_reached(work, free, origin), origin)
    gone: set[int] = set()
    for index in kept:
        placed = work.placed[index]
        movable = placed.on is not None or placed.piece.rule is Rule.ON_WALL
        if movable and distance_to(footprint(placed), x, z) > ARM:
            gone.add(index)
    return [index for index in kept if index not in gone and work.placed[index].on not in gone]


def _free(work: RoomWork, kept: list[int], radius: int) -> tuple[Mask, Point]:
    bounds = work.space.bounds
    origin = (bounds.x0, bounds.z0)
    blocked = np.zeros((-(-bounds.depth // 50), -(-bounds.width // 50)), bool)
    for rect in (*work.space.solid, *work.space.leaves):
        blocked[slices(rect, origin, whole=False)] = True
    for index in kept:
        if _in_the_way(work, index):
            blocked[slices(footprint(work.placed[index]), origin, whole=False)] = True
    return ~dilated(blocked, radius), origin


def _in_the_way(work: RoomWork, index: int) -> bool:
    placed = work.placed[index]
    above = placed.position[1] - work.floor
    return placed.piece.rule is not Rule.FLAT and placed.on is None and above < BODY_HEIGHT


def _reached(work: RoomWork, free: Mask, origin: Point) -> Mask:
    x, z = work.space.doors[0]
    return flooded(free, ((z - origin[1]) // 50, (x - origin[0]) // 50))
