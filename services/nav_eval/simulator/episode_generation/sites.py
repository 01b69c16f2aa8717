"""A scene as a place where episodes happen: which room a point is in, and what can be seen from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Vec3
from nav_eval.scene.model import AlphaMode, Region, Scene, SceneObject

Array = NDArray[np.float64]

#: parts of the building; nobody is sent to look for them
BUILDING = frozenset({"wall", "floor", "ceiling", "window", "door", "doorway", "stairs"})


@dataclass(eq=False)
class Site:
    """One annotated scene."""

    scene_id: str
    scene: Scene

    @property
    def objects(self) -> tuple[SceneObject, ...]:
        return self.scene.semantics.objects

    @property
    def regions(self) -> tuple[Region, ...]:
        return self.scene.semantics.regions

    @cached_property
    def by_region(self) -> dict[str, list[SceneObject]]:
        found: dict[str, list[SceneObject]] = {region.region_id: [] for region in self.regions}
        for item in self.objects:
            found.setdefault(item.region or "", []).append(item)
        return found

    @cached_property
    def region_of(self) -> dict[str, Region]:
        return {region.region_id: region for region in self.regions}

    @cached_property
    def middle(self) -> Vec3:
        """Of the bounding box."""
        lower, upper = self.scene.bounds
        x, y, z = (float(value) for value in (lower + upper) / 2)
        return x, y, z

    def region_at(self, point: Vec3) -> Region | None:
        """The room that a point is in; half a metre below the floor still counts (steps, uneven scans)."""
        here = [region for region in self.regions if _inside(region, point)]
        below = [region for region in here if region.lower[1] - 0.5 <= point[1]]
        return max(below, key=lambda region: region.lower[1], default=None)

    def floor_under(self, item: SceneObject) -> float:
        """Height of the floor of the room that a thing is in; its own foot where there is no room."""
        region = self.region_of.get(item.region or "")
        return region.lower[1] if region else item.center[1] - item.size[1] / 2

    def sees(self, eye: Vec3, item: SceneObject, *, least: float = 0.3) -> bool:
        """Is at least this share of some points of the thing in view, whatever way one looks?"""
        targets = _points_of(item)
        corners, owners = self._geometry(item.region)
        hits = _first_owners(corners, owners, np.array(eye), targets)
        return float((hits == item.object_id).mean()) >= least

    def _geometry(self, region_id: str | None) -> tuple[Array, NDArray[np.int64]]:
        """Opaque triangles of a room, or of everything where there are no rooms."""
        if region_id not in self._triangles:
            self._triangles[region_id] = self._opaque_triangles(region_id)
        return self._triangles[region_id]

    @cached_property
    def _triangles(self) -> dict[str | None, tuple[Array, NDArray[np.int64]]]:
        return {}

    def _opaque_triangles(self, region_id: str | None) -> tuple[Array, NDArray[np.int64]]:
        scene = self.scene
        opaque = np.array([material.alpha_mode is not AlphaMode.BLEND for material in scene.materials], dtype=bool)
        wanted = opaque[scene.triangle_material]
        if region_id in self.region_of:
            own = [item.object_id for item in self.by_region[region_id or ""]]
            wanted = wanted & np.isin(scene.triangle_object, own)
        return scene.positions[scene.triangles[wanted]].astype(np.float64), scene.triangle_object[wanted].astype(np.int64)


def horizontal(one: Sequence[float], other: Sequence[float]) -> float:
    """Metres between two points on the map."""
    return float(((one[0] - other[0]) ** 2 + (one[2] - other[2]) ** 2) ** 0.5)


def distance_to_footprint(point: Sequence[float], item: SceneObject) -> float:
    """Metres on the map from a point to the box of a thing."""
    dx = max(abs(point[0] - item.center[0]) - item.size[0] / 2, 0.0)
    dz = max(abs(point[2] - item.center[2]) - item.size[2] / 2, 0.0)
    return float((dx * dx + dz * dz) ** 0.5)


def _inside(region: Region, point: Vec3) -> bool:
    x, _, z = point
    if not (region.lower[0] <= x <= region.upper[0] and region.lower[2] <= z <= region.upper[2]):
        return False
    if not region.floor_polygon:
        return True
    inside = False
    corners = region.floor_polygon
    for (ax, az), (bx, bz) in zip(corners, (*corners[1:], corners[0]), strict=True):
        if (az > z) != (bz > z) and x < (bx - ax) * (z - az) / (bz - az) + ax:
            inside = not inside
    return inside


def _points_of(item: SceneObject) -> Array:
    """The middle of a thing and points halfway to its sides."""
    offsets = np.array([(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]) * 0.35
    offsets = np.concatenate([offsets, [(x, 0.3, z) for x in (-0.35, 0.35) for z in (-0.35, 0.35)]])
    return np.array(item.center) + offsets * np.array(item.size)


def _first_owners(corners: Array, owners: NDArray[np.int64], eye: Array, targets: Array) -> NDArray[np.int64]:
    """Which object each ray from the eye through a target meets first; 0 for none."""
    found = np.zeros(len(targets), np.int64)
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    q = np.cross(eye - a, ab)
    depth = (ac * q).sum(axis=1)
    for number, target in enumerate(targets):
        direction = target - eye
        across = np.cross(direction, ac)
        det = (ab * across).sum(axis=1)
        safe = np.where(np.abs(det) < 1e-12, np.inf, det)
        u = ((eye - a) * across).sum(axis=1) / safe
        v = (direction * q).sum(axis=1) / safe
        t = depth / safe
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 1e-6)
        if hit.any():
            found[number] = owners[hit][t[hit].argmin()]
    return found
