"""From triangles to columns of solids: what fills each column, and which tops can carry an agent.

Recast's idea with continuous heights: every triangle is cut into its columns, and pieces that leave no
room for the agent between them are one solid. A solid carries when a piece of its top is flat enough;
a bump within the climb does not spoil it, so that noise of a scan stays floor.

Scans have pinholes and torn seams, and drawn houses leave out the floor under a doorway. Where two
pieces of floor face each other across less than the allowed gap, with room for the agent above and no
more than a climb between them, the columns in between become floor as well.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import get_cosine
from nav_eval.scene.navigation.ground import AgentShape
from nav_eval.scene.navigation.tiles import (
    COLUMNS,
    TILE,
    Polygon,
    TileTriangles,
    Tiling,
    TriangleBins,
    copy_polygon,
    cut_to_slab,
    get_cells,
    get_column,
    get_range,
    get_tile_triangles,
    load_triangle,
)

MAX_PIECES, MAX_ALL_PIECES = 1 << 25, 1 << 28  #: of one tile, of all tiles

_UP, _DOWN, _CENTRED = 1, 2, 4


class Solids(NamedTuple):
    """All solids, column by column, from low to high."""

    first: NDArray[np.int64]  #: column → where its solids start; one more entry than columns
    bottom: NDArray[np.float32]
    top: NDArray[np.float32]
    floor: NDArray[np.float32]  #: where an agent stands on it; NaN when it cannot


class _Pieces(NamedTuple):
    """Triangle pieces of one tile; a buffer that is used again."""

    column: NDArray[np.int32]
    lower: NDArray[np.float32]
    upper: NDArray[np.float32]
    centre: NDArray[np.float32]  #: height at the middle of the column, kept within the piece
    flags: NDArray[np.uint8]


@compile_kernel
def _classify_facing(corners: Polygon, spacing: float, flattest: float) -> int:
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


@compile_kernel
def _compute_height(corners: Polygon, x: float, z: float) -> tuple[float, bool]:
    """The triangle's plane at (x, z), and whether that is inside the triangle."""
    a_x, a_z = corners[1, 0] - corners[0, 0], corners[1, 2] - corners[0, 2]
    b_x, b_z = corners[2, 0] - corners[0, 0], corners[2, 2] - corners[0, 2]
    x, z = x - corners[0, 0], z - corners[0, 2]
    area = a_x * b_z - a_z * b_x
    s, t = (x * b_z - z * b_x) / area, (a_x * z - a_z * x) / area
    height = corners[0, 1] + s * (corners[1, 1] - corners[0, 1]) + t * (corners[2, 1] - corners[0, 1])
    return height, s >= -1e-9 and t >= -1e-9 and s + t <= 1.0 + 1e-9


@compile_kernel
def _cut_into_columns(tile: TileTriangles, flattest: float, pieces: _Pieces) -> int:
    """Fill the buffer with this tile's pieces; returns how many, or one more than fit."""
    whole, strip, cell, spare = np.empty((8, 3)), np.empty((16, 3)), np.empty((16, 3)), np.empty((16, 3))
    written = 0
    for member in tile.members:
        load_triangle(tile.positions, tile.triangles[member], tile.spacing, whole)
        facing = _classify_facing(whole, tile.spacing, flattest)
        lower, upper = get_range(whole, 3, 2)
        if facing < 0:
            continue
        first_row, last_row = get_cells(lower, upper)
        for j in range(max(first_row, tile.j), min(last_row, tile.j + TILE - 1) + 1):
            copy_polygon(whole, 3, strip)
            in_strip = 3 if first_row == last_row else cut_to_slab(strip, 3, spare, 2, float(j), j + 1.0)
            if in_strip == 0:
                continue
            left, right = get_range(strip, in_strip, 0)
            first_place, last_place = get_cells(left, right)
            for i in range(max(first_place, tile.i), min(last_place, tile.i + TILE - 1) + 1):
                copy_polygon(strip, in_strip, cell)
                in_cell = in_strip
                if first_place != last_place:
                    in_cell = cut_to_slab(cell, in_strip, spare, 0, float(i), i + 1.0)
                if in_cell == 0:
                    continue
                if written == len(pieces.column):
                    return written + 1
                low, high = get_range(cell, in_cell, 1)
                centre, flags = high, facing
                if facing > 0:
                    height, inside = _compute_height(whole, i + 0.5, j + 0.5)
                    centre = min(max(height, low), high)
                    flags = facing | _CENTRED if inside else facing
                pieces.column[written] = (j - tile.j) * TILE + i - tile.i
                pieces.lower[written], pieces.upper[written] = low, high
                pieces.centre[written], pieces.flags[written] = centre, flags
                written += 1
    return written


@compile_kernel
def _find_floor(pieces: _Pieces, order: NDArray[np.int64], start: int, end: int, wanted: int, lowest: float) -> float:
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


@compile_kernel
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
        floor = _find_floor(pieces, order, start, end, _UP, top - climb)
        if lowest_solid and math.isnan(floor):  # nothing below: a floor whose triangles are wound upside down
            floor = _find_floor(pieces, order, start, end, _DOWN, top - climb)
        bottoms[written], tops[written], floors[written] = bottom, top, floor
        written += 1
        start = end
        lowest_solid = False
    return written


@compile_kernel
def _merge_tile(
    pieces: _Pieces, order: NDArray[np.int64], height: float, climb: float
) -> tuple[NDArray[np.int64], tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]], int]:
    counts = np.zeros(COLUMNS, dtype=np.int64)
    size = len(order)
    solids = (np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32))
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
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], binned: TriangleBins, shape: AgentShape
) -> Solids:
    """Rasterise every tile."""
    flattest = get_cosine(shape.max_slope_degrees)
    pieces = _make_buffer(1 << 16)
    counts, parts, so_far = [], [], 0
    for tile in range(len(binned.origins)):
        geometry = get_tile_triangles(positions, triangles, binned, tile)
        written = _cut_into_columns(geometry, flattest, pieces)
        while written > len(pieces.column) and 4 * len(pieces.column) <= MAX_PIECES:
            pieces = _make_buffer(4 * len(pieces.column))
            written = _cut_into_columns(geometry, flattest, pieces)
        so_far += written
        if written > len(pieces.column) or so_far > MAX_ALL_PIECES:
            raise NavigationMeshError(
                "Too many triangles lie above each other for a navigation mesh; simplify the scene."
            )
        order = np.lexsort((pieces.lower[:written], pieces.column[:written]))
        count, solids, total = _merge_tile(pieces, order, shape.height, shape.max_climb)
        counts.append(count)
        parts.append([array[:total].copy() for array in solids])
    first = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    bottom, top, floor = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Solids(first, bottom, top, floor)


def _make_buffer(size: int) -> _Pieces:
    lower, upper, centre = (np.empty(size, dtype=np.float32) for _ in range(3))
    return _Pieces(np.empty(size, dtype=np.int32), lower, upper, centre, np.empty(size, dtype=np.uint8))


#: heights that a decimal fraction should meet exactly are compared with a millimetre to spare
CLIMB_TOLERANCE = 1e-3


@compile_kernel
def find_floor_near(solids: Solids, column: int, height: float, climb: float) -> int:
    """The carrying solid of a column whose floor is nearest to a height, within the climb; −1 for none."""
    best, nearest = -1, climb + CLIMB_TOLERANCE
    if column < 0:
        return best
    for k in range(solids.first[column], solids.first[column + 1]):
        off = abs(solids.floor[k] - height)
        if off <= nearest and not math.isnan(solids.floor[k]):
            best, nearest = k, off
    return best


@compile_kernel
def _has_room(solids: Solids, column: int, floor: float, height: float, climb: float) -> bool:
    """Could an agent stand in this column at this height, were there a floor?"""
    for k in range(solids.first[column], solids.first[column + 1]):
        if solids.top[k] > floor + climb and solids.bottom[k] < floor + height:
            return False
    return True


@compile_kernel
def _compute_sheet_height(solids: Solids, column: int, floor: float, climb: float) -> float:
    """The patch lies on rubble that is too steep to stand on but low enough to step over."""
    for k in range(solids.first[column], solids.first[column + 1]):
        if solids.top[k] <= floor + climb:
            floor = max(floor, solids.top[k])
    return floor


@compile_kernel
def _bridge_gap(
    solids: Solids,
    tiling: Tiling,
    place: tuple[int, int, int, int],
    start: int,
    rules: tuple[float, float, int],
    patches: tuple[NDArray[np.int64], NDArray[np.float32]],
    written: int,
) -> int:
    """Look along one axis from the solid `start` for floor across a gap, and patch the columns between."""
    i, j, step_i, step_j = place
    height, climb, longest = rules
    columns, floors = patches
    here = solids.floor[start]
    if find_floor_near(solids, get_column(tiling, i + step_i, j + step_j), here, climb) >= 0:
        return written
    for length in range(2, longest + 2):
        other = find_floor_near(solids, get_column(tiling, i + length * step_i, j + length * step_j), here, climb)
        if other < 0:
            continue
        rise = (solids.floor[other] - here) / length
        for k in range(1, length):
            column = get_column(tiling, i + k * step_i, j + k * step_j)
            if column < 0 or not _has_room(solids, column, here + k * rise, height, climb):
                return written
        if written + length > len(columns):
            return written + length
        for k in range(1, length):
            columns[written] = get_column(tiling, i + k * step_i, j + k * step_j)
            floors[written] = _compute_sheet_height(solids, columns[written], here + k * rise, climb)
            written += 1
        return written
    return written


@compile_kernel
def _find_patches(
    solids: Solids,
    tiling: Tiling,
    origins: NDArray[np.int64],
    rules: tuple[float, float, int],
    patches: tuple[NDArray[np.int64], NDArray[np.float32]],
) -> int:
    """Returns the number of patches, more than the buffer holds if it is too small."""
    written = 0
    for tile in range(len(origins)):
        for local in range(COLUMNS):
            column = tile * COLUMNS + local
            i, j = origins[tile, 0] + local % TILE, origins[tile, 1] + local // TILE
            for k in range(solids.first[column], solids.first[column + 1]):
                if math.isnan(solids.floor[k]):
                    continue
                written = _bridge_gap(solids, tiling, (i, j, 1, 0), k, rules, patches, written)
                if written > len(patches[0]):
                    return written
                written = _bridge_gap(solids, tiling, (i, j, 0, 1), k, rules, patches, written)
                if written > len(patches[0]):
                    return written
    return written


def close_gaps(solids: Solids, binned: TriangleBins, shape: AgentShape) -> Solids:
    """The solids, with thin sheets of floor where holes were."""
    longest = math.floor(shape.max_gap / shape.spacing + 1e-6)
    if longest == 0:
        return solids
    rules = (shape.height, shape.max_climb, longest)
    size = 1 << 12
    while True:
        patches = (np.empty(size, dtype=np.int64), np.empty(size, dtype=np.float32))
        written = _find_patches(solids, binned.tiling, binned.origins, rules, patches)
        if written <= size:
            return _add_sheets(solids, patches[0][:written], patches[1][:written], climb=shape.max_climb)
        size *= 8


def _add_sheets(solids: Solids, columns: NDArray[np.int64], floors: NDArray[np.float32], *, climb: float) -> Solids:
    """Add sheets at the given places, one per column and height."""
    order = np.lexsort((floors, columns))
    columns, floors = columns[order], floors[order]
    repeated = (np.diff(columns) == 0) & (np.diff(floors) <= climb)
    fresh = np.concatenate([[True], ~repeated])[: len(columns)]
    columns, floors = columns[fresh], floors[fresh]
    counts = np.diff(solids.first)
    every_column = np.concatenate([np.repeat(np.arange(len(counts)), counts), columns])
    bottom, top, floor = (np.concatenate([old, floors]) for old in (solids.bottom, solids.top, solids.floor))
    order = np.lexsort((bottom, every_column))
    counts += np.bincount(columns, minlength=len(counts))
    return Solids(np.concatenate([[0], np.cumsum(counts)]), bottom[order], top[order], floor[order])
