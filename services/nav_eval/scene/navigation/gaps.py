"""Closing small holes in the floor.

Scans have pinholes and torn seams, and drawn houses leave out the floor under a doorway. Where two
pieces of floor face each other across less than the allowed gap, with room for the agent above and no
more than a climb between them, the columns in between become floor as well.
"""

import math

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.kernels import kernel
from nav_eval.scene.navigation.shape import AgentShape
from nav_eval.scene.navigation.solids import Solids
from nav_eval.scene.navigation.tiles import COLUMNS, TILE, Binned, Tiling, column_of

#: heights that a decimal fraction should meet exactly are compared with a millimetre to spare
TOLERANCE = 1e-3


@kernel
def floor_within(solids: Solids, column: int, height: float, climb: float) -> int:
    """The carrying solid of a column whose floor is nearest to a height, within the climb; −1 for none."""
    best, nearest = -1, climb + TOLERANCE
    if column < 0:
        return best
    for k in range(solids.first[column], solids.first[column + 1]):
        off = abs(solids.floor[k] - height)
        if off <= nearest and not math.isnan(solids.floor[k]):
            best, nearest = k, off
    return best


@kernel
def _has_room(solids: Solids, column: int, floor: float, height: float, climb: float) -> bool:
    """Could an agent stand in this column at this height, were there a floor?"""
    for k in range(solids.first[column], solids.first[column + 1]):
        if solids.top[k] > floor + climb and solids.bottom[k] < floor + height:
            return False
    return True


@kernel
def _sheet_height(solids: Solids, column: int, floor: float, climb: float) -> float:
    """The patch lies on rubble that is too steep to stand on but low enough to step over."""
    for k in range(solids.first[column], solids.first[column + 1]):
        if solids.top[k] <= floor + climb:
            floor = max(floor, solids.top[k])
    return floor


@kernel
def _bridge(
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
    if floor_within(solids, column_of(tiling, i + step_i, j + step_j), here, climb) >= 0:
        return written
    for length in range(2, longest + 2):
        other = floor_within(solids, column_of(tiling, i + length * step_i, j + length * step_j), here, climb)
        if other < 0:
            continue
        rise = (solids.floor[other] - here) / length
        for k in range(1, length):
            column = column_of(tiling, i + k * step_i, j + k * step_j)
            if column < 0 or not _has_room(solids, column, here + k * rise, height, climb):
                return written
        if written + length > len(columns):
            return written + length
        for k in range(1, length):
            columns[written] = column_of(tiling, i + k * step_i, j + k * step_j)
            floors[written] = _sheet_height(solids, columns[written], here + k * rise, climb)
            written += 1
        return written
    return written


@kernel
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
                written = _bridge(solids, tiling, (i, j, 1, 0), k, rules, patches, written)
                if written > len(patches[0]):
                    return written
                written = _bridge(solids, tiling, (i, j, 0, 1), k, rules, patches, written)
                if written > len(patches[0]):
                    return written
    return written


def close_gaps(solids: Solids, binned: Binned, shape: AgentShape) -> Solids:
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
            return _with_sheets(solids, patches[0][:written], patches[1][:written], climb=shape.max_climb)
        size *= 8


def _with_sheets(solids: Solids, columns: NDArray[np.int64], floors: NDArray[np.float32], *, climb: float) -> Solids:
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
