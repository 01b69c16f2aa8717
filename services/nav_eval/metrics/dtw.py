"""Dynamic time warping, exact.

The field's evaluators use an approximation (fastdtw, radius 1) because exact DTW in pure Python is
too slow. Compiled, the exact distance of two 500-point paths takes under a millisecond, so there is
nothing to approximate.
"""

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Path = NDArray[np.float64]

#: libm's exp may differ in the last bit from machine to machine; 30 digits round to the same double everywhere
_EXACT = Context(prec=30)


def without_repeats(path: ArrayLike) -> Path:
    """The path less every point that equals the one before it: turns and collisions do not move."""
    points = np.asarray(path, dtype=np.float64).reshape(-1, 3)
    if len(points) < 2:
        return points
    moved = np.any(points[1:] != points[:-1], axis=1)
    return points[np.concatenate(([True], moved))]


def dtw_distance(path: ArrayLike, reference: ArrayLike) -> float:
    """The least sum of point distances over all monotone alignments of the two paths."""
    first = np.ascontiguousarray(path, dtype=np.float64)
    second = np.ascontiguousarray(reference, dtype=np.float64)
    return float(_kernel()(first, second))


def normalised_dtw(distance: float, *, reference_points: int, threshold: float) -> float:
    """nDTW: 1 on the reference path, towards 0 with the mean distance from it in units of the threshold."""
    return float(Decimal(-distance / (reference_points * threshold)).exp(_EXACT))


def resampled(path: Sequence[Sequence[float]], *, spacing: float) -> Path:
    """The path with a point every `spacing` metres; nDTW compares only at a fixed density."""
    points = without_repeats(np.asarray(path, dtype=np.float64))
    if len(points) < 2:
        return points
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.concatenate(([0.0], np.cumsum(lengths)))
    wanted = np.linspace(0.0, along[-1], max(2, round(float(along[-1]) / spacing) + 1))
    return np.column_stack([np.interp(wanted, along, points[:, axis]) for axis in range(3)])


@cache
def _kernel() -> Any:  # noqa: ANN401 - numba has no types
    """Compiled on first use, and once per machine: numba is slow to import and to compile."""
    import numba

    @numba.njit(cache=True)
    def kernel(path: Path, reference: Path) -> float:
        columns = reference.shape[0]
        previous = np.full(columns + 1, np.inf)
        current = np.empty(columns + 1)
        previous[0] = 0.0
        for row in range(path.shape[0]):
            current[0] = np.inf
            for column in range(columns):
                dx = path[row, 0] - reference[column, 0]
                dy = path[row, 1] - reference[column, 1]
                dz = path[row, 2] - reference[column, 2]
                best = min(previous[column], previous[column + 1], current[column])
                current[column + 1] = math.sqrt(dx * dx + dy * dy + dz * dz) + best
            previous, current = current, previous
            previous[0] = np.inf
        return float(previous[columns])

    return kernel
