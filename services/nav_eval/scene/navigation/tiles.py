"""Sparse columns: the lattice of a scene, stored only where there is something, and triangles cut to it.

The world is cut into square columns that are anchored at the origin, so that adding an object never
shifts them. 64 × 64 columns make a tile; tiles without geometry cost four bytes. Polygons are rows (x, y, z) of a
preallocated float64 array, and a count.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_inline, compile_kernel
from nav_eval.errors import NavigationMeshError

Polygon = NDArray[np.float64]

MAX_CORNERS = 32


@compile_kernel
def copy_polygon(source: Polygon, count: int, target: Polygon) -> None:
    """Corner by corner: whole-array expressions take seconds to compile."""
    for k in range(count):
        target[k, 0], target[k, 1], target[k, 2] = source[k, 0], source[k, 1], source[k, 2]


@compile_kernel
def cut_polygon(source: Polygon, count: int, target: Polygon, axis: int, bound: float, sign: float) -> int:
    """Keep the part where sign · (coordinate − bound) ≥ 0; returns the corners written to target."""
    kept = 0
    for k in range(count):
        following = k + 1 if k + 1 < count else 0
        here = sign * (source[k, axis] - bound)
        there = sign * (source[following, axis] - bound)
        if here >= 0.0:
            for c in range(3):
                target[kept, c] = source[k, c]
            kept += 1
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            part = here / (here - there)
            for c in range(3):
                target[kept, c] = source[k, c] + part * (source[following, c] - source[k, c])
            target[kept, axis] = bound
            kept += 1
    return kept


@compile_kernel
def cut_to_slab(polygon: Polygon, count: int, spare: Polygon, axis: int, lower: float, upper: float) -> int:
    """Keep the part between two planes, in place."""
    count = cut_polygon(polygon, count, spare, axis, lower, 1.0)
    return cut_polygon(spare, count, polygon, axis, upper, -1.0)


@compile_kernel
def get_range(polygon: Polygon, count: int, axis: int) -> tuple[float, float]:
    lower, upper = math.inf, -math.inf
    for k in range(count):
        lower = min(lower, polygon[k, axis])
        upper = max(upper, polygon[k, axis])
    return lower, upper


@compile_kernel
def get_cells(lower: float, upper: float) -> tuple[int, int]:
    """First and last unit cell that an interval reaches; touching the next cell's border is not reaching."""
    first = math.floor(lower)
    return first, max(first, math.ceil(upper) - 1)


@compile_kernel
def compute_polygon_distance(u: float, v: float, corners: Polygon, first: int, last: int) -> float:
    """From a point to a convex polygon (corners[first:last] as u, v, counter-clockwise); 0 inside."""
    nearest = math.inf
    outside = last - first < 3
    for k in range(first, last):
        following = k + 1 if k + 1 < last else first
        along_u, along_v = corners[following, 0] - corners[k, 0], corners[following, 1] - corners[k, 1]
        to_u, to_v = u - corners[k, 0], v - corners[k, 1]
        if along_u * to_v - along_v * to_u < 0.0:
            outside = True
        length = along_u * along_u + along_v * along_v
        part = 0.0 if length == 0.0 else (along_u * to_u + along_v * to_v) / length
        part = min(1.0, max(0.0, part))
        off_u, off_v = to_u - part * along_u, to_v - part * along_v
        nearest = min(nearest, off_u * off_u + off_v * off_v)
    return math.sqrt(nearest) if outside else 0.0


TILE = 64
COLUMNS = TILE * TILE

MAX_TABLE = 1 << 24  #: tiles in the bounding rectangle
MAX_TILES = 1 << 13  #: tiles with geometry: 84,000 m² at 5 cm
MAX_REFERENCES = 1 << 26  #: triangles, counted once per tile that they reach


class Tiling(NamedTuple):
    """Which tiles exist. Column (i, j) covers spacing · [i, i+1] × spacing · [j, j+1] in (x, z)."""

    spacing: float
    tile_i: int  #: tile of the table's first column
    tile_j: int
    slots: NDArray[np.int32]  #: rows along z, columns along x: which stored tile this is, −1 for none


@compile_inline
def get_column(tiling: Tiling, i: int, j: int) -> int:
    """Index of column (i, j) among the stored columns, −1 where no tile is stored."""
    row, place = (j // TILE) - tiling.tile_j, (i // TILE) - tiling.tile_i
    if row < 0 or place < 0 or row >= tiling.slots.shape[0] or place >= tiling.slots.shape[1]:
        return -1
    slot = tiling.slots[row, place]
    if slot < 0:
        return -1
    return int(slot) * COLUMNS + (j % TILE) * TILE + i % TILE


class TriangleBins(NamedTuple):
    """The triangles of each stored tile."""

    tiling: Tiling
    origins: NDArray[np.int64]  #: tile → its first column (i, j)
    first: NDArray[np.int64]  #: tile → where its triangles start in `members`
    members: NDArray[np.int32]


class TileTriangles(NamedTuple):
    """What rasterising one tile needs."""

    positions: NDArray[np.float32]
    triangles: NDArray[np.uint32]
    members: NDArray[np.int32]
    i: int  #: the tile's first column
    j: int
    spacing: float


def get_tile_triangles(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], binned: TriangleBins, tile: int
) -> TileTriangles:
    members = binned.members[binned.first[tile] : binned.first[tile + 1]]
    i, j = (int(k) for k in binned.origins[tile])
    return TileTriangles(positions, triangles, members, i, j, binned.tiling.spacing)


@compile_kernel
def load_triangle(
    positions: NDArray[np.float32], triangle: NDArray[np.uint32], spacing: float, polygon: Polygon
) -> None:
    """Corners as (x, y, z) with x and z in columns and y in metres."""
    for k in range(3):
        corner = triangle[k]
        polygon[k, 0] = float(positions[corner, 0]) / spacing
        polygon[k, 1] = float(positions[corner, 1])
        polygon[k, 2] = float(positions[corner, 2]) / spacing


@compile_kernel
def _count_references(
    positions: NDArray[np.float32],
    triangles: NDArray[np.uint32],
    spacing: float,
    corner: tuple[int, int],
    counts: NDArray[np.int64],
    members: NDArray[np.int32],
) -> int:
    """Count the triangles of each tile; with `members` given, `counts` holds ends and members is filled."""
    total = 0
    whole, strip, spare = np.empty((8, 3)), np.empty((8, 3)), np.empty((8, 3))
    side = spacing * TILE
    for t in range(len(triangles) - 1, -1, -1):  # backwards, because filling counts down from the ends
        load_triangle(positions, triangles[t], side, whole)
        lower, upper = get_range(whole, 3, 2)
        first_row, last_row = get_cells(lower, upper)
        for row in range(first_row, last_row + 1):
            copy_polygon(whole, 3, strip)
            count = 3
            if last_row > first_row:
                count = cut_to_slab(strip, 3, spare, 2, row, row + 1.0)
            left, right = get_range(strip, count, 0)
            if count == 0:
                continue
            first_place, last_place = get_cells(left, right)
            total += last_place - first_place + 1
            if total > MAX_REFERENCES:
                return total
            for place in range(first_place, last_place + 1):
                if len(members):
                    counts[row - corner[1], place - corner[0]] -= 1
                    members[counts[row - corner[1], place - corner[0]]] = t
                else:
                    counts[row - corner[1], place - corner[0]] += 1
    return total


def cover_triangles(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], spacing: float
) -> tuple[Tiling, NDArray[np.int64]]:
    """The tiles that triangles reach and those beside them, and the first column of each."""
    corner, shape = _compute_extent(positions, triangles, spacing * TILE)
    counts = np.zeros(shape, dtype=np.int64)
    _count_references(positions, triangles, spacing, corner, counts, np.empty(0, dtype=np.int32))
    padded = np.pad(counts > 0, 1)
    rows, columns = shape
    grown = np.any([padded[y : y + rows, x : x + columns] for y in range(3) for x in range(3)], axis=0)
    slots = _number_tiles(grown, spacing)
    return Tiling(spacing, corner[0], corner[1], slots), _compute_origins(slots, corner)


def sort_into_tiles(positions: NDArray[np.float32], triangles: NDArray[np.uint32], spacing: float) -> TriangleBins:
    """Sort the triangles into tiles."""
    corner, shape = _compute_extent(positions, triangles, spacing * TILE)
    counts = np.zeros(shape, dtype=np.int64)
    total = _count_references(positions, triangles, spacing, corner, counts, np.empty(0, dtype=np.int32))
    if total > MAX_REFERENCES:
        raise NavigationMeshError(
            f"{len(triangles)} triangles overlap too much for a navigation mesh; simplify the largest ones."
        )
    slots = _number_tiles(counts > 0, spacing)
    ends = np.cumsum(counts).reshape(shape)
    members = np.empty(int(ends[-1, -1]), dtype=np.int32)
    _count_references(positions, triangles, spacing, corner, ends, members)
    first = np.append(ends[slots >= 0], len(members))
    return TriangleBins(Tiling(spacing, corner[0], corner[1], slots), _compute_origins(slots, corner), first, members)


def _compute_origins(slots: NDArray[np.int32], corner: tuple[int, int]) -> NDArray[np.int64]:
    rows, places = np.nonzero(slots >= 0)
    return np.stack([places + corner[0], rows + corner[1]], axis=1).astype(np.int64) * TILE


def _compute_extent(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], side: float
) -> tuple[tuple[int, int], tuple[int, int]]:
    """First tile and number of tiles (rows, columns) of the bounding rectangle, with a border of one tile."""
    used = positions[np.unique(triangles)][:, [0, 2]].astype(np.float64) / side
    lower, upper = np.floor(used.min(axis=0)) - 1, np.floor(used.max(axis=0)) + 1
    width, depth = (int(n) for n in upper - lower + 1)
    if width * depth > MAX_TABLE or max(np.abs(lower).max(), np.abs(upper).max()) > MAX_TABLE:
        raise NavigationMeshError(
            f"The scene spans {width * side:.0f} × {depth * side:.0f} m, more than a navigation mesh can hold. "
            "If it is not drawn in metres, say so (`--scale`, or `dataset.scene_scale`); or cut what lies far outside."
        )
    return (int(lower[0]), int(lower[1])), (depth, width)


def _number_tiles(occupied: NDArray[np.bool_], spacing: float) -> NDArray[np.int32]:
    """Stored tiles, numbered row by row."""
    count = int(occupied.sum())
    if count > MAX_TILES:
        raise NavigationMeshError(
            f"The scene covers about {count * (TILE * spacing) ** 2:.0f} m², more than a navigation mesh holds at "
            f"{spacing} m. If it is not drawn in metres, say so (`--scale`, or `dataset.scene_scale`); if it is that "
            "large, give the agent a larger cell_size (and radius), or cut the scene."
        )
    slots = np.full(occupied.shape, -1, dtype=np.int32)
    slots[occupied] = np.arange(count, dtype=np.int32)
    return slots
