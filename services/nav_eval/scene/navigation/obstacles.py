"""Things placed in a scene after its mesh was made.

Each node's margin shrinks to what the things leave of it, so only nodes near them are touched; no new
ground appears on top of them. A tall closed thing leaves a hollow inside, cut off from everything: such
hollows are no ground.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import FULL_TURN, Vec3, rotate_plane_vector, to_microdegrees
from nav_eval.scene.navigation.builder import as_read_only, freeze_surface, number_islands
from nav_eval.scene.navigation.islands import (
    Island,
    IslandVerdict,
    NodeTraits,
    judge_islands,
    mark_quads,
    measure_islands,
)
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.surface import Surface
from nav_eval.scene.navigation.tiles import Polygon, compute_polygon_distance, cut_to_slab, get_column, get_range

Triangles = NDArray[np.float32]  #: T × 3 × 3, world coordinates

LEAST_AREA = 0.25  #: m²; smaller pieces that things cut off are dropped
_OUTSIDE = np.float32(-1.0)
_SIDES = 24  #: of a cylinder


@compile_kernel
def _flatten(polygon: Polygon, count: int, flat: Polygon) -> None:
    """The polygon seen from above as (x, z), counter-clockwise."""
    area = 0.0
    for k in range(count):
        following = k + 1 if k + 1 < count else 0
        area += polygon[k, 0] * polygon[following, 2] - polygon[following, 0] * polygon[k, 2]
    for k in range(count):
        source = k if area >= 0.0 else count - 1 - k
        flat[k, 0], flat[k, 1] = polygon[source, 0], polygon[source, 2]


@compile_kernel
def _shrink_margins(
    surface: Surface, triangles: Triangles, sizes: tuple[float, float, float], margin: NDArray[np.float32]
) -> None:
    """Take from the margins what the triangles leave of them; sizes are radius, climb and height."""
    radius, climb, height = sizes
    spacing = surface.tiling.spacing
    reach = radius / spacing + 3.0
    whole, cut, spare, flat = np.empty((3, 3)), np.empty((8, 3)), np.empty((8, 3)), np.empty((8, 2))
    for t in range(len(triangles)):
        for k in range(3):
            whole[k, 0], whole[k, 1] = triangles[t, k, 0] / spacing - 0.5, triangles[t, k, 1]
            whole[k, 2] = triangles[t, k, 2] / spacing - 0.5
        (left, right), (front, back), (low, high) = (
            get_range(whole, 3, 0),
            get_range(whole, 3, 2),
            get_range(whole, 3, 1),
        )
        for i in range(math.floor(left - reach), math.ceil(right + reach) + 1):
            for j in range(math.floor(front - reach), math.ceil(back + reach) + 1):
                column = get_column(surface.tiling, i, j)
                if column < 0:
                    continue
                for node in range(surface.first[column], surface.first[column + 1]):
                    lower, upper = surface.height[node] + climb, surface.height[node] + height
                    if high <= lower or low >= upper:
                        continue
                    for k in range(3):
                        for c in range(3):
                            cut[k, c] = whole[k, c]
                    count = cut_to_slab(cut, 3, spare, 1, lower, upper)
                    if count == 0:
                        continue
                    _flatten(cut, count, flat)
                    off = compute_polygon_distance(float(i), float(j), flat, 0, count) * spacing - radius
                    margin[node] = min(margin[node], off)


def add_obstacles(mesh: NavigationMesh, obstacles: Sequence[Triangles]) -> NavigationMesh:
    """The mesh with things standing on it."""
    surface, shape = mesh.surface, mesh.shape
    margin = surface.margin.copy()
    for obstacle in obstacles:
        _shrink_margins(surface, _check_obstacle(obstacle), (shape.radius, shape.max_climb, shape.height), margin)
    nothing = np.zeros(len(margin), dtype=np.bool_)
    links, floor = surface.links.copy(), surface.height.copy()  # writable, as when the mesh was built
    traits = NodeTraits(floor=floor, covered=nothing, above=nothing, ledge=nothing, drop=nothing)
    labels, islands = measure_islands(links, margin, traits, spacing=surface.tiling.spacing)
    islands, before = _inherit_traits(mesh, labels, islands)
    verdicts = judge_islands(islands, least_area=LEAST_AREA, keep_platforms=True)
    verdicts = _drop_hollows(surface, labels, obstacles, verdicts)
    report, index_of = number_islands(islands, _choose_ground(islands, verdicts, before))
    island = index_of[labels]
    margin = np.where((margin >= 0.0) & (island < 0), _OUTSIDE, margin)
    changed = surface._replace(margin=margin, quads=mark_quads(links, margin), island=island)
    return NavigationMesh(surface=freeze_surface(changed), shape=shape, islands=report)


def _inherit_traits(
    mesh: NavigationMesh, labels: NDArray[np.int32], islands: list[Island]
) -> tuple[list[Island], list[int]]:
    """What was known of the parts that these parts were cut from, and which parts that were."""
    former = {part.index: part for part in mesh.islands if part.index is not None}
    inside = labels >= 0
    before = np.full(len(islands), -1, dtype=np.int64)
    before[labels[inside]] = mesh.surface.island[inside]
    origins = [former.get(int(index)) for index in before]
    known = [
        replace(part, covered=origin.covered, ledge=origin.ledge, drop=origin.drop, above=origin.above)
        if origin is not None
        else part
        for part, origin in zip(islands, origins, strict=True)
    ]
    return known, before.tolist()


def _drop_hollows(
    surface: Surface, labels: NDArray[np.int32], obstacles: Sequence[Triangles], verdicts: list[IslandVerdict]
) -> list[IslandVerdict]:
    """Parts that lie wholly within the bounds of one thing are its hollow inside."""
    verdicts = list(verdicts)
    spacing = surface.tiling.spacing
    x, z = (surface.i + 0.5) * spacing, (surface.j + 0.5) * spacing
    sizes = np.bincount(labels[labels >= 0], minlength=len(verdicts))
    for obstacle in obstacles:
        lower, upper = obstacle.reshape(-1, 3).min(axis=0), obstacle.reshape(-1, 3).max(axis=0)
        within = (labels >= 0) & (x > lower[0]) & (x < upper[0]) & (z > lower[2]) & (z < upper[2])
        for part in np.flatnonzero((np.bincount(labels[within], minlength=len(verdicts)) == sizes) & (sizes > 0)):
            verdicts[part] = IslandVerdict.TOO_SMALL
    return verdicts


def _choose_ground(islands: list[Island], verdicts: list[IslandVerdict], before: list[int]) -> list[IslandVerdict]:
    """The ground is the largest piece of what was the ground, if any of it is left."""
    kept = [k for k in range(len(islands)) if verdicts[k] in (IslandVerdict.GROUND, IslandVerdict.KEPT)]
    if not kept:
        return verdicts
    ground = max(kept, key=lambda k: (before[k] == 0, islands[k].area))
    return [
        IslandVerdict.GROUND if k == ground else IslandVerdict.KEPT if verdict is IslandVerdict.GROUND else verdict
        for k, verdict in enumerate(verdicts)
    ]


def _check_obstacle(obstacle: Triangles) -> Triangles:
    triangles = np.ascontiguousarray(obstacle, dtype=np.float32)
    if triangles.ndim != 3 or triangles.shape[1:] != (3, 3) or not np.isfinite(triangles).all():
        raise NavigationMeshError(f"An obstacle must be finite triangles, N × 3 × 3, not {triangles.shape}.")
    if len(triangles) and np.ptp(triangles.reshape(-1, 3), axis=0).max() > 100.0:
        raise NavigationMeshError("An obstacle of more than 100 m is part of the scene; build the mesh with it.")
    return as_read_only(triangles)


def make_box(center: Vec3, size: Vec3, *, yaw_degrees: float = 0.0) -> Triangles:
    """A box around its centre, turned to the left by yaw."""
    angle = to_microdegrees(-yaw_degrees)  # in the (x, z) plane, to the left is clockwise
    outline = [
        rotate_plane_vector((sx * size[0] / 2, sz * size[2] / 2), angle)
        for sx, sz in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    return _make_prism(center, size[1], outline)


def make_cylinder(center: Vec3, *, radius: float, height: float) -> Triangles:
    """An upright cylinder around its centre, as a prism of many sides around it."""
    corner = radius / rotate_plane_vector((1.0, 0.0), FULL_TURN // (2 * _SIDES))[0]
    outline = [rotate_plane_vector((corner, 0.0), k * FULL_TURN // _SIDES) for k in range(_SIDES)]
    return _make_prism(center, height, outline)


def _make_prism(center: Vec3, height: float, outline: list[tuple[float, float]]) -> Triangles:
    x, y, z = center
    lower = [(x + a, y - height / 2, z + b) for a, b in outline]
    upper = [(a, y + height / 2, b) for a, _, b in lower]
    faces = []
    for k in range(1, len(outline) - 1):
        faces += [(lower[0], lower[k], lower[k + 1]), (upper[0], upper[k + 1], upper[k])]
    for k in range(len(outline)):
        n = (k + 1) % len(outline)
        faces += [(lower[k], upper[k], lower[n]), (lower[n], upper[k], upper[n])]
    return np.array(faces, dtype=np.float32)
