"""Sparse columns: the lattice of a scene, stored only where there is something.

The world is cut into square columns that are anchored at the origin, so that adding an object never
shifts them. 64 × 64 columns make a tile; tiles without geometry cost four bytes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavigationError
from nav_eval.scene.navigation.kernels import inlined, kernel
from nav_eval.scene.navigation.polygons import Polygon, cells_of, copy, cut_to_slab, range_of

TILE = 64
COLUMNS = TILE * TILE

MAX_TABLE = 1 << 24  #: tiles in the bounding rectangle
MAX_TILES = 1 << 13  #: tiles with geometry: 84,000 m² at 5 cm
MAX_REFERENCES = 1 << 26  #: triangles, counted once per tile that they reach


class Tiling(NamedTuple):
    """Which tiles exist. Column (i, j) covers spacing · [i, i+1] × spacing · [j, j+1] in (x, z)."""

    spacing: float
    tile_i: int
    """Tile of the table's first column."""
    tile_j: int
    slots: NDArray[np.int32]
    """Rows along z, columns along x: which stored tile this is, −1 for none."""


@inlined
def column_of(tiling: Tiling, i: int, j: int) -> int:
    """Index of column (i, j) among the stored columns, −1 where no tile is stored."""
    row, place = (j // TILE) - tiling.tile_j, (i // TILE) - tiling.tile_i
    if row < 0 or place < 0 or row >= tiling.slots.shape[0] or place >= tiling.slots.shape[1]:
        return -1
    slot = tiling.slots[row, place]
    if slot < 0:
        return -1
    return int(slot) * COLUMNS + (j % TILE) * TILE + i % TILE


class Binned(NamedTuple):
    """The triangles of each stored tile."""

    tiling: Tiling
    origins: NDArray[np.int64]
    """Tile → its first column (i, j)."""
    first: NDArray[np.int64]
    """Tile → where its triangles start in `members`."""
    members: NDArray[np.int32]


class TileTriangles(NamedTuple):
    """What rasterising one tile needs."""

    positions: NDArray[np.float32]
    triangles: NDArray[np.uint32]
    members: NDArray[np.int32]
    i: int
    """The tile's first column."""
    j: int
    spacing: float


def triangles_of(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], binned: Binned, tile: int
) -> TileTriangles:
    members = binned.members[binned.first[tile] : binned.first[tile + 1]]
    i, j = (int(k) for k in binned.origins[tile])
    return TileTriangles(positions, triangles, members, i, j, binned.tiling.spacing)


@kernel
def load_triangle(
    positions: NDArray[np.float32], triangle: NDArray[np.uint32], spacing: float, polygon: Polygon
) -> None:
    """Corners as (x, y, z) with x and z in columns and y in metres."""
    for k in range(3):
        corner = triangle[k]
        polygon[k, 0] = float(positions[corner, 0]) / spacing
        polygon[k, 1] = float(positions[corner, 1])
        polygon[k, 2] = float(positions[corner, 2]) / spacing


@kernel
def _tile_references(
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
        lower, upper = range_of(whole, 3, 2)
        first_row, last_row = cells_of(lower, upper)
        for row in range(first_row, last_row + 1):
            copy(whole, 3, strip)
            count = 3
            if last_row > first_row:
                count = cut_to_slab(strip, 3, spare, 2, row, row + 1.0)
            left, right = range_of(strip, count, 0)
            if count == 0:
                continue
            first_place, last_place = cells_of(left, right)
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
    corner, shape = _extent(positions, triangles, spacing * TILE)
    counts = np.zeros(shape, dtype=np.int64)
    _tile_references(positions, triangles, spacing, corner, counts, np.empty(0, dtype=np.int32))
    padded = np.pad(counts > 0, 1)
    rows, columns = shape
    grown = np.any([padded[y : y + rows, x : x + columns] for y in range(3) for x in range(3)], axis=0)
    slots = _number_tiles(grown, spacing)
    return Tiling(spacing, corner[0], corner[1], slots), _origins(slots, corner)


def bin_triangles(positions: NDArray[np.float32], triangles: NDArray[np.uint32], spacing: float) -> Binned:
    """Sort the triangles into tiles."""
    corner, shape = _extent(positions, triangles, spacing * TILE)
    counts = np.zeros(shape, dtype=np.int64)
    total = _tile_references(positions, triangles, spacing, corner, counts, np.empty(0, dtype=np.int32))
    if total > MAX_REFERENCES:
        raise NavigationError(
            f"{len(triangles)} triangles overlap too much for a navigation mesh; simplify the largest ones."
        )
    slots = _number_tiles(counts > 0, spacing)
    ends = np.cumsum(counts).reshape(shape)
    members = np.empty(int(ends[-1, -1]), dtype=np.int32)
    _tile_references(positions, triangles, spacing, corner, ends, members)
    first = np.append(ends[slots >= 0], len(members))
    return Binned(Tiling(spacing, corner[0], corner[1], slots), _origins(slots, corner), first, members)


def _origins(slots: NDArray[np.int32], corner: tuple[int, int]) -> NDArray[np.int64]:
    rows, places = np.nonzero(slots >= 0)
    return np.stack([places + corner[0], rows + corner[1]], axis=1).astype(np.int64) * TILE


def _extent(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], side: float
) -> tuple[tuple[int, int], tuple[int, int]]:
    """First tile and number of tiles (rows, columns) of the bounding rectangle, with a border of one tile."""
    used = positions[np.unique(triangles)][:, [0, 2]].astype(np.float64) / side
    lower, upper = np.floor(used.min(axis=0)) - 1, np.floor(used.max(axis=0)) + 1
    width, depth = (int(n) for n in upper - lower + 1)
    if width * depth > MAX_TABLE or max(np.abs(lower).max(), np.abs(upper).max()) > MAX_TABLE:
        raise NavigationError(
            f"The scene spans {width * side:.0f} × {depth * side:.0f} m, more than a navigation mesh can hold. "
            "Check its unit, or remove what lies far outside."
        )
    return (int(lower[0]), int(lower[1])), (depth, width)


def _number_tiles(occupied: NDArray[np.bool_], spacing: float) -> NDArray[np.int32]:
    """Stored tiles, numbered row by row."""
    count = int(occupied.sum())
    if count > MAX_TILES:
        raise NavigationError(
            f"The scene covers about {count * (TILE * spacing) ** 2:.0f} m², more than a navigation mesh holds at "
            f"{spacing} m; give the agent a larger cell_size (and radius), or cut the scene."
        )
    slots = np.full(occupied.shape, -1, dtype=np.int32)
    slots[occupied] = np.arange(count, dtype=np.int32)
    return slots
