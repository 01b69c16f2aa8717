"""Places beside a thing: on the ground, in its room, and with the thing in sight.

Snapping the middle of a thing to the nearest ground may lead through a wall, and gives a bed one side only.
So we look at a lattice around the thing and keep what a person would accept as "there".
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from nav_eval.dataset.episode import Vec3
from nav_eval.scene.model import Region, SceneObject, Semantics
from nav_eval.scene.navigation import Ground

RING = 0.25  #: places this much farther than the nearest one are as good
APART = 0.5  #: metres between the places that are kept


class Beside(NamedTuple):
    """A place near a thing."""

    metres: float
    """To the thing's footprint."""
    place: Vec3


class Lattice:
    """Regularly spaced places to stand, looked up once each."""

    def __init__(self, ground: Ground, semantics: Semantics, *, spacing: float) -> None:
        self.spacing = spacing
        self._ground = ground
        self._regions = {region.region_id: region for region in semantics.regions}
        self._at = cache(self._look_up)

    def around(self, thing: SceneObject, *, within: float) -> list[Beside]:
        """Places in the thing's room, no farther from its footprint than this; the nearest first."""
        floor = self._floor_below(thing)
        if floor is None:
            return []
        region = self._regions.get(thing.region or "")
        found = []
        for i, j in self._cells(thing, within):
            metres = outside(thing, *self._xz(i, j))
            place = self._at(i, j, floor) if metres <= within else None
            if place is not None and (region is None or is_inside(region, place)):
                found.append(Beside(metres, place))
        return sorted(found)

    def _look_up(self, i: int, j: int, floor: float) -> Vec3 | None:
        """A place on the ground; None off it, and on islands that nobody starts from."""
        x, z = self._xz(i, j)
        point = (x, floor, z)
        return self._ground.snap_point(point) if self._ground.island(point) == 0 else None

    def _xz(self, i: int, j: int) -> tuple[float, float]:
        """Short numbers: files of view points are mostly these."""
        return round(i * self.spacing, 6), round(j * self.spacing, 6)

    def _floor_below(self, thing: SceneObject) -> float | None:
        """The height of the floor that the thing is on or above."""
        region = self._regions.get(thing.region or "")
        if region is not None:
            return region.lower[1]
        place = self._ground.snap_point(thing.center)
        return None if place is None else place[1]

    def _cells(self, thing: SceneObject, within: float) -> Iterator[tuple[int, int]]:
        (x, _, z), (width, _, depth) = thing.center, thing.size
        first, last = x - width / 2 - within, x + width / 2 + within
        top, bottom = z - depth / 2 - within, z + depth / 2 + within
        for i in range(math.ceil(first / self.spacing), math.floor(last / self.spacing) + 1):
            for j in range(math.ceil(top / self.spacing), math.floor(bottom / self.spacing) + 1):
                yield i, j


def spread_out(seen: Sequence[Beside]) -> tuple[Vec3, ...]:
    """A few of the places, all around the thing."""
    kept: list[Vec3] = []
    for _, place in seen:
        if all(math.dist(place, other) >= APART for other in kept):
            kept.append(place)
    return tuple(kept)


def outside(thing: SceneObject, x: float, z: float) -> float:
    """Horizontal metres from a point to the thing's footprint."""
    x = max(0.0, abs(x - thing.center[0]) - thing.size[0] / 2)
    z = max(0.0, abs(z - thing.center[2]) - thing.size[2] / 2)
    return math.sqrt(x * x + z * z)


def is_inside(region: Region, point: Vec3) -> bool:
    """Whether a place on the ground belongs to a room."""
    if not region.lower[1] - 0.5 <= point[1] < region.upper[1] - 0.5:
        return False
    x, z = point[0], point[2]
    if len(region.floor_polygon) < 3:
        return region.lower[0] <= x <= region.upper[0] and region.lower[2] <= z <= region.upper[2]
    inside = False
    corners = region.floor_polygon
    for (ax, az), (bx, bz) in zip(corners, (*corners[1:], corners[0]), strict=True):
        if (az > z) != (bz > z) and x < (bx - ax) * (z - az) / (bz - az) + ax:
            inside = not inside
    return inside
