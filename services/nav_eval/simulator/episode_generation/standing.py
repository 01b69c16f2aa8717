"""Places beside a thing: on the ground, in its room, and with the thing in sight.

Snapping the middle of a thing to the nearest ground may lead through a wall, and gives a bed one side only.
So we look at a lattice around the thing and keep what a person would accept as "there".
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nav_eval.dataset.episode import Vec3
from nav_eval.scene.model import Region, SceneObject
from nav_eval.scene.navigation import Ground

if TYPE_CHECKING:
    from nav_eval.simulator.episode_generation.site import Site

LATTICE = 0.125  #: metres
REACH = 1.0  #: metres from the footprint; farther is not beside
RING = 0.25  #: places this much farther than the nearest one are as good
APART = 0.5  #: metres between the places that are kept


def standing_places(thing: SceneObject, site: "Site") -> tuple[Vec3, ...]:
    """A few places all around the thing, the nearest first."""
    near = sorted(
        ((outside(thing, place), place) for place in places_around(thing, site, within=REACH, lattice=LATTICE)),
    )
    seen = ((metres, place) for metres, place in near if site.sees(place, thing))
    kept: list[Vec3] = []
    closest: float | None = None
    for metres, place in seen:
        closest = metres if closest is None else closest
        if metres > closest + RING:
            break
        if all(math.dist(place, other) >= APART for other in kept):
            kept.append(place)
    return tuple(kept)


def places_around(thing: SceneObject, site: "Site", *, within: float, lattice: float) -> Iterator[Vec3]:
    """Lattice points on the ground of the thing's room, no farther from its footprint than this."""
    region = site.around.regions.get(thing.region or "")
    floor = floor_below(thing, region, site.ground)
    if floor is None:
        return
    for x, z in _lattice(thing, within, lattice):
        point = (x, floor, z)
        if outside(thing, point) > within or (region is not None and not is_inside(region, point)):
            continue
        if site.ground.is_navigable(point) and site.ground.island(point) == 0:
            place = site.ground.snap_point(point)
            if place is not None:
                yield place


def outside(thing: SceneObject, point: Vec3) -> float:
    """Horizontal metres from a point to the thing's footprint."""
    x = max(0.0, abs(point[0] - thing.center[0]) - thing.size[0] / 2)
    z = max(0.0, abs(point[2] - thing.center[2]) - thing.size[2] / 2)
    return math.sqrt(x * x + z * z)


def floor_below(thing: SceneObject, region: Region | None, ground: Ground) -> float | None:
    """The height of the floor that the thing is on or above."""
    if region is not None:
        return region.lower[1]
    place = ground.snap_point(thing.center)
    return None if place is None else place[1]


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


def _lattice(thing: SceneObject, within: float, lattice: float) -> Iterator[tuple[float, float]]:
    (x, _, z), (width, _, depth) = thing.center, thing.size
    columns = range(math.ceil((x - width / 2 - within) / lattice), math.floor((x + width / 2 + within) / lattice) + 1)
    rows = range(math.ceil((z - depth / 2 - within) / lattice), math.floor((z + depth / 2 + within) / lattice) + 1)
    for i in columns:
        for j in rows:
            yield i * lattice, j * lattice
