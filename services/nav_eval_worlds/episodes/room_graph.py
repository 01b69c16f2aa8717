"""Which rooms lead into which, and where: every place at which one walks from one room into another.

Found on the ground itself, so that it holds for any annotated scene: two neighbouring places of a lattice in two
different rooms are where one crosses. Crossings that hang together are one opening.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Region, SceneObject, Semantics
from nav_eval.scene.navigation import Ground
from nav_eval_worlds.episodes.footprint import measure_footprint_distance

SPACING = 0.25  #: metres between places; less than a wall and an agent on each of its sides
JOINED = 0.8  #: metres: crossings closer than this belong to one opening
NEAR = 0.9  #: metres from a door to where one crosses
STOREY = 1.0  #: metres of height
OPENINGS = ("door", "doorway")


@dataclass(frozen=True, kw_only=True, slots=True)
class Crossing:
    """An opening between two rooms that one can walk through."""

    position: Vec3  #: its middle
    rooms: frozenset[str]  #: region ids of both sides
    noun: str | None  #: "door" or "doorway" where the scene has one

    def leads_to(self, room: Region) -> str | None:
        """The region on the other side."""
        return next(iter(self.rooms - {room.region_id}), None) if room.region_id in self.rooms else None


class RoomGraph:
    """The openings of one scene."""

    def __init__(self, semantics: Semantics, ground: Ground) -> None:
        self._regions = {region.region_id: region for region in semantics.regions}
        self._doors = [thing for thing in semantics.objects if thing.category in OPENINGS]
        self.crossings = tuple(self._find_crossings(ground))

    def openings_of(self, room: Region) -> list[Crossing]:
        return [crossing for crossing in self.crossings if room.region_id in crossing.rooms]

    def kind_behind(self, crossing: Crossing, room: Region) -> str:
        """What kind of room one gets into from `room`."""
        other = crossing.leads_to(room)
        return "" if other is None else self._regions[other].category

    def find(self, position: Vec3, before: Region, after: Region) -> Crossing | None:
        """The opening between two rooms that is nearest to where a way crosses."""
        rooms = frozenset((before.region_id, after.region_id))
        own = [crossing for crossing in self.crossings if crossing.rooms == rooms]
        return min(own, key=lambda crossing: math.dist(crossing.position, position), default=None)

    def _find_crossings(self, ground: Ground) -> Iterator[Crossing]:
        found: dict[frozenset[str], list[Vec3]] = defaultdict(list)
        for floor in sorted({region.lower[1] for region in self._regions.values()}):
            at = self._list_places(ground, floor)
            for (i, j), (place, room) in at.items():
                for neighbour in ((i + 1, j), (i, j + 1)):
                    other = at.get(neighbour)
                    if other is not None and other[1] != room:
                        x, y, z = ((a + b) / 2 for a, b in zip(place, other[0], strict=True))
                        found[frozenset((room, other[1]))].append((x, y, z))
        for rooms, points in found.items():
            for group in _group_points(points):
                middle = (sum(p[0] for p in group), sum(p[1] for p in group), sum(p[2] for p in group))
                position = (middle[0] / len(group), middle[1] / len(group), middle[2] / len(group))
                yield Crossing(position=position, rooms=rooms, noun=name_opening(self._doors, position))

    def _list_places(self, ground: Ground, floor: float) -> dict[tuple[int, int], tuple[Vec3, str]]:
        found = {}
        for region in (region for region in self._regions.values() if region.lower[1] == floor):
            for i in range(math.floor(region.lower[0] / SPACING), math.ceil(region.upper[0] / SPACING) + 1):
                for j in range(math.floor(region.lower[2] / SPACING), math.ceil(region.upper[2] / SPACING) + 1):
                    point = (i * SPACING, floor, j * SPACING)
                    if (i, j) in found or not region.contains(point) or ground.island(point) != 0:
                        continue
                    found[i, j] = (point, region.region_id)
        return found


def name_opening(doors: Sequence[SceneObject], position: Vec3) -> str | None:
    """The name of what one goes through."""
    near = [
        (measure_footprint_distance(thing, position[0], position[2]), thing.category)
        for thing in doors
        if thing.category in OPENINGS and abs(thing.center[1] - thing.size[1] / 2 - position[1]) < STOREY
    ]
    metres, name = min(near, default=(NEAR, ""))
    return name if metres < NEAR else None


def _group_points(points: Sequence[Vec3]) -> list[list[Vec3]]:
    """Points that hang together, by steps of `JOINED`."""
    groups: list[list[Vec3]] = []
    for point in points:
        near = [group for group in groups if any(math.dist(point, other) < JOINED for other in group)]
        rest = [group for group in groups if group not in near]
        groups = [*rest, [*(other for group in near for other in group), point]]
    return groups
