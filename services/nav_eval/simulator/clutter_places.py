"""Where small things may stand: on one level surface under the whole of them, with nothing in their room.

Straight lines down to the triangles of the scene decide it. Triangles are kept by cells of the ground, so that a line
meets the few that are near and a place costs microseconds; what a scene offers is worked out once.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_kernel, compile_uncounted_inline, compile_uncounted_kernel
from nav_eval.number_stream import Words, make_stream, open_stream, take_below, take_unit
from nav_eval.scene.model import Scene, SceneObject

SMALLEST, LARGEST = 0.06, 0.16  #: metres
DARKEST, BRIGHTEST = 0.1, 0.9  #: of each of red, green and blue
SHAPES = 3  #: kinds of things
LEVEL = 0.003  #: metres that a surface may differ under a thing
ABOVE = 0.02  #: metres over a thing that must be free
TRIES = 60  #: places per thing; one that fits nowhere is left out
LOWEST, HIGHEST = 0.3, 1.4  #: metres of furniture that things are put on
CATEGORY = "clutter"
NO_SUPPORT = frozenset({"wall", "floor", "ceiling", "door", "doorway", "window", "curtain", "stairs", CATEGORY})
CELL, MOST_CELLS = 0.125, 256  #: metres along the side of a cell at least, cells along a side at most
SLACK = 1e-6  #: metres by which a point may be beside a triangle's box, by rounding
REACH = 0.72 * LARGEST + SLACK  #: metres from the middle of a thing to what is looked at
WIDE = 256  #: cells; triangles over more of them are looked at everywhere

Array = NDArray[np.float64]


class TriangleGrid(NamedTuple):
    """Triangles that are not upright, by the cells of the ground that they are over; kernels take it whole.

    Cells have those only that can be under or in the room of something that stands there, which is one in many.
    """

    names: NDArray[np.int64]  #: T, the numbers of these triangles in the scene; the others are left out
    corners: Array  #: T × 3 × 3
    origin: Array  #: x and z of the first cell
    cell: float  #: metres
    shape: NDArray[np.int64]  #: cells along x and z
    first: NDArray[np.int64]  #: where each cell starts in `members`; after all cells is what is looked at everywhere
    members: NDArray[np.int64]  #: of each cell, the highest first
    boxes: NDArray[np.float32]  #: M × 6, of members: lowest and highest x, z and height, or a little beyond


class ClutterPlan(NamedTuple):
    """Things to put down; kernels take it whole."""

    shape: NDArray[np.int64]  #: N, of SHAPES
    size: Array  #: N, metres
    color: Array  #: N × 3
    bottom: Array  #: N × 3, the middle of the underside
    triangle: NDArray[np.int64]  #: N, that carries it; -1 for what fits nowhere


@dataclass(frozen=True, slots=True, eq=False)
class SupportMap:
    """What a scene offers to stand on."""

    grid: TriangleGrid
    triangles: NDArray[np.int64]  #: of the grid, that face up and belong to furniture of a usable height
    owners: NDArray[np.int64]  #: the object of each,
    all_owners: frozenset[int]  #: and of any

    def plan(self, seed: Words, *, count: int, kept: Collection[int]) -> ClutterPlan:
        """So many things of a stream of numbers, where there is room; none stands on what is to be kept."""
        owned, supports = self.all_owners.intersection(kept), np.empty_like(self.triangles)
        free = _leave_out(self.triangles, self.owners, np.array(sorted(owned), dtype=np.int64), supports)
        plan = ClutterPlan(
            shape=np.empty(count, dtype=np.int64),
            size=np.empty(count),
            color=np.empty((count, 3)),
            bottom=np.empty((count, 3)),
            triangle=np.full(count, -1, dtype=np.int64),
        )
        _make_plan(self.grid, supports[:free], _OFFSETS, seed, make_stream(), plan)
        return plan


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
    carriers_of = scene.triangle_object[found].astype(np.int64)
    grid = _make_grid(corners, found)
    triangles = np.searchsorted(grid.names, found)
    return SupportMap(grid, triangles, carriers_of, frozenset(carriers_of.tolist()))


def _is_support(thing: SceneObject) -> bool:
    width, height, depth = thing.size
    return thing.category not in NO_SUPPORT and LOWEST < height < HIGHEST and min(width, depth) > 0.3


def _make_grid(corners: Array, supports: NDArray[np.int64]) -> TriangleGrid:
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
    heights = np.stack([corners[:, :, 1].min(axis=1), top], axis=1)
    near, far = (
        np.clip(np.floor((side[supports] - origin) / cell).astype(np.int64), 0, shape - 1)
        for side in (lower - REACH, upper + REACH)
    )
    bands = _find_bands(near, far, heights[supports], shape)
    first, members = _list_members(low[small], high[small], small, heights, bands)
    members = np.concatenate([members, wide])
    beyond = np.concatenate([lower - SLACK, heights[:, :1], upper + SLACK, heights[:, 1:]], axis=1)[members]
    below = np.nextafter(beyond[:, :3].astype(np.float32), np.float32(-np.inf))
    above = np.nextafter(beyond[:, 3:].astype(np.float32), np.float32(np.inf))
    boxes = np.concatenate([below, above], axis=1)
    names, numbers = np.unique(np.concatenate([members, supports]), return_inverse=True)
    members = numbers[: len(members)]
    return TriangleGrid(names, corners[names], origin, cell, shape, np.append(first, len(members)), members, boxes)


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
def _find_bands(low: NDArray[np.int64], high: NDArray[np.int64], heights: Array, shape: NDArray[np.int64]) -> Array:
    """By cell, the heights between which something matters to a thing on one of these supports."""
    bands = np.empty((shape[0], shape[1], 2))
    bands[:, :, 0], bands[:, :, 1] = np.inf, -np.inf
    for i in range(len(low)):
        for x in range(low[i, 0], high[i, 0] + 1):
            for z in range(low[i, 1], high[i, 1] + 1):
                bands[x, z, 0] = min(bands[x, z, 0], heights[i, 0] - 3 * LEVEL)
                bands[x, z, 1] = max(bands[x, z, 1], heights[i, 1] + LARGEST + ABOVE + LEVEL)
    return bands


@compile_nogil_kernel
def _list_members(
    low: NDArray[np.int64], high: NDArray[np.int64], names: NDArray[np.int64], heights: Array, bands: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which triangles are over each cell, within its band of heights."""
    first = np.zeros(bands.shape[0] * bands.shape[1] + 1, dtype=np.int64)
    for i in range(len(names)):
        for x in range(low[i, 0], high[i, 0] + 1):
            for z in range(low[i, 1], high[i, 1] + 1):
                if heights[names[i], 1] >= bands[x, z, 0] and heights[names[i], 0] <= bands[x, z, 1]:
                    first[x * bands.shape[1] + z + 1] += 1
    first = first.cumsum()
    filled, members = first.copy(), np.empty(first[-1], dtype=np.int64)
    for i in range(len(names)):
        for x in range(low[i, 0], high[i, 0] + 1):
            for z in range(low[i, 1], high[i, 1] + 1):
                if heights[names[i], 1] >= bands[x, z, 0] and heights[names[i], 0] <= bands[x, z, 1]:
                    members[filled[x * bands.shape[1] + z]] = names[i]
                    filled[x * bands.shape[1] + z] += 1
    return first, members


@compile_uncounted_kernel
def _leave_out(
    triangles: NDArray[np.int64], owners: NDArray[np.int64], kept: NDArray[np.int64], out: NDArray[np.int64]
) -> int:
    """Those whose owners are not among `kept`; returns how many."""
    found = 0
    for i in range(len(triangles)):
        is_kept = False
        for k in range(len(kept)):
            is_kept |= owners[i] == kept[k]
        if not is_kept:
            out[found] = triangles[i]
            found += 1
    return found


@compile_uncounted_kernel
def _make_plan(
    grid: TriangleGrid, supports: NDArray[np.int64], offsets: Array, seed: Words, stream: Words, plan: ClutterPlan
) -> None:
    """Draw things, then for each a place after the other: three numbers say which support, and where on it."""
    count = len(plan.size)
    open_stream(seed, stream)
    for thing in range(count):
        plan.size[thing] = SMALLEST + (LARGEST - SMALLEST) * take_unit(stream)
    for thing in range(count):
        plan.shape[thing] = take_below(stream, SHAPES)
    for thing in range(count):
        for k in range(3):
            plan.color[thing, k] = round_length(DARKEST + (BRIGHTEST - DARKEST) * take_unit(stream))
    for thing in range(count):
        for _ in range(TRIES):
            which, one, other = take_unit(stream), take_unit(stream), take_unit(stream)
            if plan.triangle[thing] < 0 and len(supports) > 0:
                triangle = supports[min(int(which * len(supports)), len(supports) - 1)]
                _try_place(grid, offsets, triangle, (min(one, other), max(one, other)), plan, thing)
    for thing in range(count):
        if plan.triangle[thing] >= 0:
            plan.triangle[thing] = grid.names[plan.triangle[thing]]
        for k in range(3):
            plan.bottom[thing, k] = round_length(plan.bottom[thing, k])


@compile_uncounted_inline
def round_length(value: float) -> float:
    """To a tenth of a millimetre."""
    return float(np.rint(value * 1e4) / 1e4)


@compile_uncounted_inline
def _try_place(
    grid: TriangleGrid,
    offsets: Array,
    triangle: int,
    where: tuple[float, float],
    plan: ClutterPlan,
    thing: int,
) -> None:
    """Put a thing there if it may stand there."""
    low, high = where
    ax, ay, az = _get_corner(grid.corners, triangle, 0)
    bx, by, bz = _get_corner(grid.corners, triangle, 1)
    cx, cy, cz = _get_corner(grid.corners, triangle, 2)
    x = ax + low * (bx - ax) + (1.0 - high) * (cx - ax)
    y = ay + low * (by - ay) + (1.0 - high) * (cy - ay)
    z = az + low * (bz - az) + (1.0 - high) * (cz - az)
    if _is_apart(plan, thing, x, y, z) and _is_level(grid, offsets, x, y, z, plan.size[thing]):
        plan.triangle[thing] = triangle
        plan.bottom[thing, 0], plan.bottom[thing, 1], plan.bottom[thing, 2] = x, y, z


@compile_uncounted_inline
def _is_apart(plan: ClutterPlan, thing: int, x: float, y: float, z: float) -> bool:
    """Whether the things before it are elsewhere."""
    for other in range(thing):
        if plan.triangle[other] >= 0:
            dx, dy, dz = x - plan.bottom[other, 0], y - plan.bottom[other, 1], z - plan.bottom[other, 2]
            if np.sqrt(dx * dx + dy * dy + dz * dz) <= plan.size[thing] + plan.size[other]:
                return False
    return True


@compile_uncounted_inline
def _is_level(grid: TriangleGrid, offsets: Array, x: float, y: float, z: float, size: float) -> bool:
    for i in range(len(offsets)):
        height = _cast_down(grid, x + size * offsets[i, 0], z + size * offsets[i, 1], y + size + ABOVE, y - 2 * LEVEL)
        if abs(height - y) > LEVEL:
            return False
    return True


@compile_uncounted_inline
def _cast_down(grid: TriangleGrid, x: float, z: float, below: float, least: float) -> float:
    """The height of the first surface under a point; `least` where there is none that is higher."""
    best = least
    i, j = int(np.floor((x - grid.origin[0]) / grid.cell)), int(np.floor((z - grid.origin[1]) / grid.cell))
    if 0 <= i < grid.shape[0] and 0 <= j < grid.shape[1]:
        best = _look_through(grid, i * grid.shape[1] + j, x, z, below, best)
    return _look_through(grid, grid.shape[0] * grid.shape[1], x, z, below, best)


@compile_uncounted_inline
def _look_through(grid: TriangleGrid, cell: int, x: float, z: float, below: float, best: float) -> float:
    """The larger of `best` and the heights of a cell's triangles at a point, as far as they are below."""
    boxes = grid.boxes
    for k in range(grid.first[cell], grid.first[cell + 1]):
        if boxes[k, 5] < best:
            break
        beside = (x < boxes[k, 0]) | (z < boxes[k, 1]) | (x > boxes[k, 3]) | (z > boxes[k, 4])
        if not (beside | (boxes[k, 2] > below)):
            best = _raise_height(grid.corners, grid.members[k], x, z, below, best)
    return best


@compile_uncounted_inline
def _raise_height(corners: Array, triangle: int, x: float, z: float, below: float, best: float) -> float:
    """The larger of `best` and the triangle's height at a point, if it is there and below."""
    ax, ay, az = _get_corner(corners, triangle, 0)
    bx, by, bz = _get_corner(corners, triangle, 1)
    cx, cy, cz = _get_corner(corners, triangle, 2)
    bx, bz, cx, cz, px, pz = bx - ax, bz - az, cx - ax, cz - az, x - ax, z - az
    area = bx * cz - bz * cx
    u, v = (px * cz - pz * cx) / area, (bx * pz - bz * px) / area
    if u < -1e-9 or v < -1e-9 or u + v > 1 + 1e-9:
        return best
    height = ay + u * (by - ay) + v * (cy - ay)
    return height if best < height < below else best


@compile_uncounted_inline
def _get_corner(corners: Array, triangle: int, corner: int) -> tuple[float, float, float]:
    """As numbers: a view of an array counts references, which takes longer than the rest."""
    return corners[triangle, corner, 0], corners[triangle, corner, 1], corners[triangle, corner, 2]
