"""From triangles to columns of solids: what fills each column, and which tops can carry an agent.

Recast's idea with continuous heights: every triangle is cut into its columns, and pieces that leave no
room for the agent between them are one solid. A solid carries when a piece of its top is flat enough;
a bump within the climb does not spoil it, so that noise of a scan stays floor.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavigationError
from nav_eval.scene.navigation.angles import cosine
from nav_eval.scene.navigation.kernels import kernel
from nav_eval.scene.navigation.polygons import Polygon, cells_of, copy, cut_to_slab, range_of
from nav_eval.scene.navigation.shape import AgentShape
from nav_eval.scene.navigation.tiles import COLUMNS, TILE, Binned, TileTriangles, load_triangle, triangles_of

MAX_PIECES, MAX_ALL_PIECES = 1 << 25, 1 << 28  #: of one tile, of all tiles

_UP, _DOWN, _CENTRED = 1, 2, 4


class Solids(NamedTuple):
    """All solids, column by column, from low to high."""

    first: NDArray[np.int64]
    """Column → where its solids start; one more entry than columns."""
    bottom: NDArray[np.float32]
    top: NDArray[np.float32]
    floor: NDArray[np.float32]
    """Where an agent stands on it; NaN when it cannot."""


class _Pieces(NamedTuple):
    """Triangle pieces of one tile; a buffer that is used again."""

    column: NDArray[np.int32]
    lower: NDArray[np.float32]
    upper: NDArray[np.float32]
    centre: NDArray[np.float32]
    """Height at the middle of the column, kept within the piece."""
    flags: NDArray[np.uint8]


@kernel
def _facing(corners: Polygon, spacing: float, flattest: float) -> int:
    """_UP or _DOWN for a triangle that is flat enough to stand on, 0 for one that is not, −1 for none at all."""
    a_x, a_y, a_z = (corners[1, 0] - corners[0, 0]) * spacing, corners[1, 1] - corners[0, 1], 0.0
    a_z = (corners[1, 2] - corners[0, 2]) * spacing
    b_x, b_y = (corners[2, 0] - corners[0, 0]) * spacing, corners[2, 1] - corners[0, 1]
    b_z = (corners[2, 2] - corners[0, 2]) * spacing
    x, y, z = a_y * b_z - a_z * b_y, a_z * b_x - a_x * b_z, a_x * b_y - a_y * b_x
    squared = x * x + y * y + z * z
    if squared == 0.0:
        return -1
    if y * y < flattest * flattest * squared:
        return 0
    return _UP if y > 0.0 else _DOWN


@kernel
def _height_at(corners: Polygon, x: float, z: float) -> tuple[float, bool]:
    """The triangle's plane at (x, z), and whether that is inside the triangle."""
    a_x, a_z = corners[1, 0] - corners[0, 0], corners[1, 2] - corners[0, 2]
    b_x, b_z = corners[2, 0] - corners[0, 0], corners[2, 2] - corners[0, 2]
    x, z = x - corners[0, 0], z - corners[0, 2]
    area = a_x * b_z - a_z * b_x
    s, t = (x * b_z - z * b_x) / area, (a_x * z - a_z * x) / area
    height = corners[0, 1] + s * (corners[1, 1] - corners[0, 1]) + t * (corners[2, 1] - corners[0, 1])
    return height, s >= -1e-9 and t >= -1e-9 and s + t <= 1.0 + 1e-9


@kernel
def _cut_into_columns(tile: TileTriangles, flattest: float, pieces: _Pieces) -> int:
    """Fill the buffer with this tile's pieces; returns how many, or one more than fit."""
    whole, strip, cell, spare = np.empty((8, 3)), np.empty((16, 3)), np.empty((16, 3)), np.empty((16, 3))
    written = 0
    for member in tile.members:
        load_triangle(tile.positions, tile.triangles[member], tile.spacing, whole)
        facing = _facing(whole, tile.spacing, flattest)
        lower, upper = range_of(whole, 3, 2)
        if facing < 0:
            continue
        first_row, last_row = cells_of(lower, upper)
        for j in range(max(first_row, tile.j), min(last_row, tile.j + TILE - 1) + 1):
            copy(whole, 3, strip)
            in_strip = 3 if first_row == last_row else cut_to_slab(strip, 3, spare, 2, float(j), j + 1.0)
            if in_strip == 0:
                continue
            left, right = range_of(strip, in_strip, 0)
            first_place, last_place = cells_of(left, right)
            for i in range(max(first_place, tile.i), min(last_place, tile.i + TILE - 1) + 1):
                copy(strip, in_strip, cell)
                in_cell = in_strip
                if first_place != last_place:
                    in_cell = cut_to_slab(cell, in_strip, spare, 0, float(i), i + 1.0)
                if in_cell == 0:
                    continue
                if written == len(pieces.column):
                    return written + 1
                low, high = range_of(cell, in_cell, 1)
                centre, flags = high, facing
                if facing > 0:
                    height, inside = _height_at(whole, i + 0.5, j + 0.5)
                    centre = min(max(height, low), high)
                    flags = facing | _CENTRED if inside else facing
                pieces.column[written] = (j - tile.j) * TILE + i - tile.i
                pieces.lower[written], pieces.upper[written] = low, high
                pieces.centre[written], pieces.flags[written] = centre, flags
                written += 1
    return written


@kernel
def _floor_of(pieces: _Pieces, order: NDArray[np.int64], start: int, end: int, wanted: int, lowest: float) -> float:
    """The highest ground among pieces that face the wanted way and reach near the top; NaN for none."""
    floor, centred = math.nan, False
    for place in range(start, end):
        k = order[place]
        if pieces.upper[k] < lowest or not pieces.flags[k] & wanted:
            continue
        exact = (pieces.flags[k] & _CENTRED) != 0
        if math.isnan(floor) or (exact and not centred):
            floor, centred = pieces.centre[k], exact
        elif exact == centred:
            floor = max(floor, pieces.centre[k])
    return floor


@kernel
def _merge_column(
    pieces: _Pieces,
    order: NDArray[np.int64],
    extent: tuple[int, int],
    sizes: tuple[float, float],
    solids: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]],
    written: int,
) -> int:
    """Merge the pieces of one column (sorted by their lower ends) into solids."""
    (bottoms, tops, floors), (height, climb) = solids, sizes
    start, stop = extent
    lowest_solid = True
    while start < stop:
        bottom, top = pieces.lower[order[start]], pieces.upper[order[start]]
        end = start + 1
        while end < stop and pieces.lower[order[end]] - top < height:
            top = max(top, pieces.upper[order[end]])
            end += 1
        floor = _floor_of(pieces, order, start, end, _UP, top - climb)
        if lowest_solid and math.isnan(floor):  # nothing below: a floor whose triangles are wound upside down
            floor = _floor_of(pieces, order, start, end, _DOWN, top - climb)
        bottoms[written], tops[written], floors[written] = bottom, top, floor
        written += 1
        start = end
        lowest_solid = False
    return written


@kernel
def _merge_tile(
    pieces: _Pieces, order: NDArray[np.int64], height: float, climb: float
) -> tuple[NDArray[np.int64], tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]], int]:
    counts = np.zeros(COLUMNS, dtype=np.int64)
    size = len(order)
    solids = (
        np.empty(size, dtype=np.float32),
        np.empty(size, dtype=np.float32),
        np.empty(size, dtype=np.float32),
    )
    written, start = 0, 0
    while start < size:
        column = pieces.column[order[start]]
        end = start + 1
        while end < size and pieces.column[order[end]] == column:
            end += 1
        before = written
        written = _merge_column(pieces, order, (start, end), (height, climb), solids, written)
        counts[column] = written - before
        start = end
    return counts, solids, written


def find_solids(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], binned: Binned, shape: AgentShape
) -> Solids:
    """Rasterise every tile."""
    flattest = cosine(shape.max_slope_degrees)
    pieces = _buffer(1 << 16)
    counts, parts, so_far = [], [], 0
    for tile in range(len(binned.origins)):
        geometry = triangles_of(positions, triangles, binned, tile)
        written = _cut_into_columns(geometry, flattest, pieces)
        while written > len(pieces.column):
            pieces = _larger(pieces)
            written = _cut_into_columns(geometry, flattest, pieces)
        so_far += written
        if so_far > MAX_ALL_PIECES:
            raise _too_dense()
        order = np.lexsort((pieces.lower[:written], pieces.column[:written]))
        count, solids, total = _merge_tile(pieces, order, shape.height, shape.max_climb)
        counts.append(count)
        parts.append([array[:total].copy() for array in solids])
    first = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    bottom, top, floor = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Solids(first, bottom, top, floor)


def _buffer(size: int) -> _Pieces:
    return _Pieces(
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.float32),
        np.empty(size, dtype=np.float32),
        np.empty(size, dtype=np.float32),
        np.empty(size, dtype=np.uint8),
    )


def _larger(pieces: _Pieces) -> _Pieces:
    size = 4 * len(pieces.column)
    if size > MAX_PIECES:
        raise _too_dense()
    return _buffer(size)


def _too_dense() -> NavigationError:
    return NavigationError("Too many triangles lie above each other for a navigation mesh; simplify the scene.")
