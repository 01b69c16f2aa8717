"""Where small things may stand: on one level surface under the whole of them, with nothing in their room.

Straight lines down to the triangles of the scene decide it. Triangles are kept by cells of the ground, so that a line
meets the few that are near and a place costs microseconds; what a scene offers is worked out once.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.scene.model import Scene, SceneObject

SMALLEST, LARGEST = 0.06, 0.16  #: metres
LEVEL = 0.003  #: metres that a surface may differ under a thing
ABOVE = 0.02  #: metres over a thing that must be free
TRIES = 60  #: places per thing; one that fits nowhere is left out
LOWEST, HIGHEST = 0.3, 1.4  #: metres of furniture that things are put on
CATEGORY = "clutter"
NO_SUPPORT = frozenset({"wall", "floor", "ceiling", "door", "doorway", "window", "curtain", "stairs", CATEGORY})
CELL, MOST_CELLS = 0.25, 256  #: metres along the side of a cell at least, cells along a side at most
SLACK = 1e-6  #: metres by which a point may be beside a triangle's box, by rounding
WIDE = 64  #: cells; triangles over more of them are looked at everywhere

Array = NDArray[np.float64]


class TriangleGrid(NamedTuple):
    """Triangles that are not upright, by the cells of the ground that they are over; kernels take it whole."""

    corners: Array  #: T × 3 × 3
    boxes: Array  #: T × 6: lowest and highest x, z and height
    origin: Array  #: x and z of the first cell
    cell: float  #: metres
    shape: NDArray[np.int64]  #: cells along x and z
    first: NDArray[np.int64]  #: where each cell starts in `members`
    members: NDArray[np.int64]  #: of each cell, the highest first
    wide: NDArray[np.int64]  #: triangles that are looked at everywhere, the highest first


@dataclass(frozen=True, slots=True, eq=False)
class SupportMap:
    """What a scene offers to stand on."""

    grid: TriangleGrid
    triangles: NDArray[np.int64]  #: that face up and belong to furniture of a usable height
    owners: NDArray[np.int64]  #: the object of each

    def choose_places(self, sizes: Array, draws: Array, *, kept: Collection[int]) -> NDArray[np.int64]:
        """The support of each thing, and in `draws` the place; -1 for those that fit nowhere.

        `draws` holds a row of three numbers per thing and try: which support, and where on it. None stands on what
        is to be kept.
        """
        supports = self.triangles[~np.isin(self.owners, list(kept))] if kept else self.triangles
        chosen = np.full(len(sizes), -1, dtype=np.int64)
        if len(supports):
            _choose_places(self.grid, supports, sizes, draws, _OFFSETS, chosen)
        return chosen


def find_supports(scene: Scene) -> SupportMap:
    """Everything that things may be put on, and what may be in their way."""
    corners = scene.positions[scene.triangles].astype(np.float64)
    lowest_of = {item.object_id: item.center[1] - item.size[1] / 2 + LOWEST for item in scene.semantics.objects}
    carriers = {item.object_id for item in scene.semantics.objects if _is_support(item)}
    owners, number = np.unique(scene.triangle_object, return_inverse=True)
    lowest = np.array([lowest_of[int(owner)] if int(owner) in carriers else np.inf for owner in owners])[number]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(across, axis=1)
    faces_up = across[:, 1] > 0.999 * np.maximum(length, 1e-12)
    found = np.flatnonzero(faces_up & (length / 2 > SMALLEST**2 / 2) & (corners[:, 0, 1] > lowest))
    return SupportMap(_make_grid(corners), found, scene.triangle_object[found].astype(np.int64))


def _is_support(thing: SceneObject) -> bool:
    width, height, depth = thing.size
    return thing.category not in NO_SUPPORT and LOWEST < height < HIGHEST and min(width, depth) > 0.3


def _make_grid(corners: Array) -> TriangleGrid:
    flat = corners[:, :, [0, 2]]
    lower, upper = flat.min(axis=1), flat.max(axis=1)
    origin = lower.min(axis=0) if len(flat) else np.zeros(2)
    extent = upper.max(axis=0) - origin if len(flat) else np.zeros(2)
    cell = max(CELL, float(extent.max()) / MOST_CELLS)
    shape = np.floor(extent / cell).astype(np.int64) + 1
    low, high = (np.floor((side - origin) / cell).astype(np.int64) for side in (lower, upper))
    covers = (high - low + 1).prod(axis=1)
    lies = np.abs(_cross(flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0])) > 1e-12
    top = corners[:, :, 1].max(axis=1)
    downwards = np.argsort(-top, kind="stable")  # what is highest decides, so the rest is rarely looked at
    lies, is_wide = lies[downwards], covers[downwards] > WIDE
    small, wide = downwards[lies & ~is_wide], downwards[lies & is_wide]
    first, members = _list_members(low[small], high[small], small, shape)
    boxes = np.concatenate(
        [lower - SLACK, upper + SLACK, corners[:, :, 1].min(axis=1)[:, None], top[:, None]],
        axis=1,
    )
    return TriangleGrid(corners, boxes, origin, cell, shape, first, members, wide)


def _cross(one: Array, other: Array) -> Array:
    product: Array = one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]
    return product


def _make_offsets() -> Array:
    """The middle, and two rings that reach as far as the corners of a box, for a thing of one metre."""
    angles = np.arange(8) * (np.pi / 4)
    ring = np.round(np.stack([np.cos(angles), np.sin(angles)], axis=1), 9)
    return np.concatenate([np.zeros((1, 2)), 0.72 * ring, 0.36 * ring])


_OFFSETS = _make_offsets()


@compile_nogil_kernel
def _list_members(
    low: NDArray[np.int64], high: NDArray[np.int64], names: NDArray[np.int64], shape: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which triangles are over each cell."""
    first = np.zeros(shape[0] * shape[1] + 1, dtype=np.int64)
    for i in range(len(names)):
        for x in range(low[i, 0], high[i, 0] + 1):
            for z in range(low[i, 1], high[i, 1] + 1):
                first[x * shape[1] + z + 1] += 1
    first = first.cumsum()
    filled, members = first.copy(), np.empty(first[-1], dtype=np.int64)
    for i in range(len(names)):
        for x in range(low[i, 0], high[i, 0] + 1):
            for z in range(low[i, 1], high[i, 1] + 1):
                members[filled[x * shape[1] + z]] = names[i]
                filled[x * shape[1] + z] += 1
    return first, members


@compile_nogil_kernel
def _choose_places(
    grid: TriangleGrid,
    supports: NDArray[np.int64],
    sizes: Array,
    draws: Array,
    offsets: Array,
    chosen: NDArray[np.int64],
) -> None:
    """Fill `chosen`; the place of a thing replaces the first of its draws."""
    for thing in range(len(sizes)):
        for n in range(draws.shape[1]):
            triangle = supports[min(int(draws[thing, n, 0] * len(supports)), len(supports) - 1)]
            low, high = min(draws[thing, n, 1], draws[thing, n, 2]), max(draws[thing, n, 1], draws[thing, n, 2])
            a, b, c = grid.corners[triangle, 0], grid.corners[triangle, 1], grid.corners[triangle, 2]
            x = a[0] + low * (b[0] - a[0]) + (1.0 - high) * (c[0] - a[0])
            y = a[1] + low * (b[1] - a[1]) + (1.0 - high) * (c[1] - a[1])
            z = a[2] + low * (b[2] - a[2]) + (1.0 - high) * (c[2] - a[2])
            if _is_apart(sizes, draws, chosen, thing, x, y, z) and _is_level(grid, offsets, x, y, z, sizes[thing]):
                chosen[thing] = triangle
                draws[thing, 0, 0], draws[thing, 0, 1], draws[thing, 0, 2] = x, y, z
                break


@compile_nogil_inline
def _is_apart(sizes: Array, draws: Array, chosen: NDArray[np.int64], thing: int, x: float, y: float, z: float) -> bool:
    """Whether the things before it are elsewhere."""
    for other in range(thing):
        if chosen[other] >= 0:
            dx, dy, dz = x - draws[other, 0, 0], y - draws[other, 0, 1], z - draws[other, 0, 2]
            if np.sqrt(dx * dx + dy * dy + dz * dz) <= sizes[thing] + sizes[other]:
                return False
    return True


@compile_nogil_inline
def _is_level(grid: TriangleGrid, offsets: Array, x: float, y: float, z: float, size: float) -> bool:
    for i in range(len(offsets)):
        height = _cast_down(grid, x + size * offsets[i, 0], z + size * offsets[i, 1], y + size + ABOVE, y - 2 * LEVEL)
        if abs(height - y) > LEVEL:
            return False
    return True


@compile_nogil_inline
def _cast_down(grid: TriangleGrid, x: float, z: float, below: float, least: float) -> float:
    """The height of the first surface under a point; `least` where there is none that is higher."""
    best = least
    i, j = int((x - grid.origin[0]) // grid.cell), int((z - grid.origin[1]) // grid.cell)
    if 0 <= i < grid.shape[0] and 0 <= j < grid.shape[1]:
        cell = i * grid.shape[1] + j
        for k in range(grid.first[cell], grid.first[cell + 1]):
            if grid.boxes[grid.members[k], 5] < best:
                break
            best = _raise_height(grid.boxes, grid.corners, grid.members[k], x, z, below, best)
    for k in range(len(grid.wide)):
        if grid.boxes[grid.wide[k], 5] < best:
            break
        best = _raise_height(grid.boxes, grid.corners, grid.wide[k], x, z, below, best)
    return best


@compile_nogil_inline
def _raise_height(boxes: Array, corners: Array, triangle: int, x: float, z: float, below: float, best: float) -> float:
    """The larger of `best` and the triangle's height at a point, if it is there and below."""
    beside = (x < boxes[triangle, 0]) | (z < boxes[triangle, 1]) | (x > boxes[triangle, 2]) | (z > boxes[triangle, 3])
    if beside | (boxes[triangle, 4] > below) | (boxes[triangle, 5] < best):
        return best
    a, b, c = corners[triangle, 0], corners[triangle, 1], corners[triangle, 2]
    bx, bz, cx, cz, px, pz = b[0] - a[0], b[2] - a[2], c[0] - a[0], c[2] - a[2], x - a[0], z - a[2]
    area = bx * cz - bz * cx
    u, v = (px * cz - pz * cx) / area, (bx * pz - bz * px) / area
    if u < -1e-9 or v < -1e-9 or u + v > 1 + 1e-9:
        return best
    height = a[1] + u * (b[1] - a[1]) + v * (c[1] - a[1])
    return height if best < height < below else best
