"""What the things in a scene are, as Habitat tells it: levels, regions, objects, categories.

Ids follow the data set: users take the number after the last `_` of an object's id for the value of its pixels. HM3D's
and our own objects are `category_id`, with an extra `Unknown_0`, so that the place in the list is the value, too;
MP3D's are `level_region_object`, counted from 0.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

import magnum as mn
from habitat_sim.geo import OBB


class SemanticCategory:
    """A category under several names: the mapping "" is the data set's own, "raw" what annotators wrote."""

    def __init__(self, names: Mapping[str, str], index: int = -1, indices: Mapping[str, int] | None = None) -> None:
        self._names, self._index, self._indices = dict(names), index, dict(indices or {})

    def name(self, mapping: str = "") -> str:
        return self._names.get(mapping, self._names.get("", ""))

    def index(self, mapping: str = "") -> int:
        return self._indices.get(mapping, self._index)

    def __repr__(self) -> str:
        return f"SemanticCategory({self.name()!r}, {self.index()})"


class Mp3dObjectCategory(SemanticCategory):
    """Matterport3D's objects: mpcat40 and raw names."""


class Mp3dRegionCategory(SemanticCategory):
    """Matterport3D's rooms."""


class SemanticObject:
    def __init__(self, *, id: str, semantic_id: int, category: SemanticCategory | None, aabb: mn.Range3D) -> None:
        self.id, self.semantic_id, self.category = id, semantic_id, category
        self.region: SemanticRegion | None = None
        self._box = aabb

    @property
    def aabb(self) -> mn.Range3D:
        return self._box

    @property
    def obb(self) -> OBB:
        return OBB(self._box)


class SemanticRegion:
    """A room. A point is in it if it is over its floor plan and between floor and ceiling, where both are known."""

    def __init__(self, *, id: str, category: SemanticCategory | None, aabb: mn.Range3D, index: int = -1) -> None:
        self.id, self.category, self.index = id, category, index
        self.objects: list[SemanticObject] = []
        self.level: SemanticLevel | None = None
        self.poly_loop_points: list[mn.Vector2] = []  #: (x, z)
        self.floor_height, self.extrusion_height = float(aabb.min[1]), float(aabb.size_y)
        self._box = aabb

    @property
    def aabb(self) -> mn.Range3D:
        return self._box

    @property
    def floor_area(self) -> float:
        """In square metres; of the box where no outline is known."""
        corners = [(float(corner[0]), float(corner[1])) for corner in self.poly_loop_points]
        if len(corners) < 3:
            return float(self._box.size_x * self._box.size_z)
        pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
        return abs(sum(ax * bz - bx * az for (ax, az), (bx, bz) in pairs)) / 2

    def contains(self, point: Any) -> bool:
        x, y, z = (float(number) for number in point)
        if not self.floor_height <= y <= self.floor_height + self.extrusion_height:
            return False
        if len(self.poly_loop_points) < 3:
            return self._box.contains((x, y, z))
        return _is_inside((x, z), [(float(corner[0]), float(corner[1])) for corner in self.poly_loop_points])


class SemanticLevel:
    def __init__(self, *, id: str, regions: Sequence[SemanticRegion]) -> None:
        self.id, self.regions = id, list(regions)

    @property
    def objects(self) -> list[SemanticObject]:
        return [thing for region in self.regions for thing in region.objects]

    @property
    def aabb(self) -> mn.Range3D:
        return _enclose([region.aabb for region in self.regions])


class SemanticScene:
    """Never absent; empty where a scene has no annotation."""

    def __init__(
        self,
        objects: Sequence[SemanticObject] = (),
        regions: Sequence[SemanticRegion] = (),
        levels: Sequence[SemanticLevel] = (),
        categories: Sequence[SemanticCategory] = (),
    ) -> None:
        self.objects, self.regions, self.levels = list(objects), list(regions), list(levels)
        self.categories = list(categories)

    @property
    def aabb(self) -> mn.Range3D:
        return _enclose([thing.aabb for thing in self.objects])

    @cached_property
    def _by_pixel(self) -> dict[int, int]:
        return {thing.semantic_id: index for index, thing in enumerate(self.objects)}

    def semantic_index_to_object_index(self, semantic_id: int) -> int:
        """Where the object of a pixel is in the list; −1 for none."""
        return self._by_pixel.get(semantic_id, -1)

    @property
    def semantic_index_map(self) -> dict[int, int]:
        return dict(self._by_pixel)

    def get_regions_for_point(self, point: Any) -> list[int]:
        return [index for index, region in enumerate(self.regions) if region.contains(point)]

    def get_weighted_regions_for_point(self, point: Any) -> list[tuple[int, float]]:
        """Regions around a point, the smallest first: each weighs what the others have of their common floor."""
        found = self.get_regions_for_point(point)
        areas = {index: self.regions[index].floor_area for index in found}
        total = sum(areas.values())
        shares = [(index, 1.0 if len(found) == 1 else 1.0 - areas[index] / total) for index in found]
        return sorted(shares, key=lambda share: -share[1])

    def get_regions_for_points(self, points: Sequence[Any]) -> list[tuple[int, float]]:
        """Regions with the share of the points in them, the largest first."""
        counts = {index: sum(region.contains(point) for point in points) for index, region in enumerate(self.regions)}
        shares = [(index, count / len(points)) for index, count in counts.items() if count]
        return sorted(shares, key=lambda share: -share[1])


def _enclose(boxes: Sequence[mn.Range3D]) -> mn.Range3D:
    if not boxes:
        return mn.Range3D()
    lower = np.min([np.asarray(box.min) for box in boxes], axis=0)
    upper = np.max([np.asarray(box.max) for box in boxes], axis=0)
    return mn.Range3D(lower, upper)


def _is_inside(place: tuple[float, float], corners: list[tuple[float, float]]) -> bool:
    """Does a ray from the place cross the outline an odd number of times?"""
    x, z = place
    inside = False
    for (ax, az), (bx, bz) in zip(corners, [*corners[1:], corners[0]], strict=True):
        if (az > z) != (bz > z) and x < (bx - ax) * (z - az) / (bz - az) + ax:
            inside = not inside
    return inside
