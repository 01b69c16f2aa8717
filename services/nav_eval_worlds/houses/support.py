"""Does everything stand on something? Measured on the finished house, by rays from the undersides of things.

What stands on the floor must touch the floor, what stands on furniture must touch that furniture, what hangs must touch
its wall or ceiling; each within a centimetre.
"""

from collections.abc import Iterator

import numpy as np

from nav_eval_worlds.furniture.piece import PlacementRule, SolidPart
from nav_eval_worlds.houses.house import GeneratedHouse, get_world_parts
from nav_eval_worlds.houses.placement import PlacedPiece
from nav_eval_worlds.houses.plan.model import HALF_WALL
from nav_eval_worlds.houses.ray_tree import STACK, Array, find_hit, make_ray_tree

TOUCHING = 0.01  #: metres
_START = 0.006  #: metres above its underside at which a thing looks down
_FEET = 24  #: lowest vertices that are tried,
_INWARDS = (0.1, 0.37, 0.64)  #: and how far from them towards the middle: grates and slats have gaps


def find_floating(house: GeneratedHouse) -> Iterator[str]:
    """One sentence per thing in the air."""
    for placed in house.furniture:
        gap = _measure_gap(house, placed)
        if gap > TOUCHING:
            yield f"{placed.piece.category} in {placed.room}: {100 * gap:.1f} cm away from what carries it"


def _measure_gap(house: GeneratedHouse, placed: PlacedPiece) -> float:
    room = house.plan.room(placed.room)
    floor = house.plan.floor_of(room) / 1000
    points = _join_points(get_world_parts(placed))
    if placed.piece.rule is PlacementRule.CEILING:
        return abs(floor + house.plan.ceiling / 1000 - float(points[:, 1].max()))
    if placed.piece.rule is PlacementRule.ON_WALL and placed.on is None:
        return _measure_to_walls(house, placed, points)
    if placed.on is None:
        return abs(float(points[:, 1].min()) - floor)
    return measure_to_support(points, get_world_parts(house.furniture[placed.on]))


def _measure_to_walls(house: GeneratedHouse, placed: PlacedPiece, points: Array) -> float:
    """From the nearest side of the thing's box to the nearest face of a wall of its room."""
    gaps = []
    for ax, az, _, bz in _list_outline(house, placed.room):
        across, line = (2, az) if az == bz else (0, ax)
        gaps.append(
            min(
                abs(abs(float(value) - line) - HALF_WALL / 1000)
                for value in (points[:, across].min(), points[:, across].max())
            )
        )
    return min(gaps)


def _list_outline(house: GeneratedHouse, room_id: str) -> list[tuple[float, float, float, float]]:
    corners = [(x / 1000, z / 1000) for x, z in house.plan.room(room_id).outline]
    return [(*a, *b) for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)]


def measure_to_support(points: Array, parts: list[SolidPart]) -> float:
    """The shortest way down from the underside to the triangles of what carries the thing."""
    tree = make_ray_tree(np.concatenate([part.mesh.positions[part.mesh.triangles] for part in parts]))
    stack, down = np.empty(STACK, np.int64), np.array([0.0, -1.0, 0.0])
    low = points[:, 1].min()
    lowest = points[points[:, 1] < low + 0.002]
    middle = lowest.mean(axis=0)
    feet = np.concatenate([[middle], *(lowest[:_FEET] + part * (middle - lowest[:_FEET]) for part in _INWARDS)])
    ways = [find_hit(tree, stack, foot + np.array([0.0, _START, 0.0]), down, 10.0) for foot in feet]
    return max(0.0, min(ways) - _START)


def _join_points(parts: list[SolidPart]) -> Array:
    return np.concatenate([part.mesh.positions for part in parts])
