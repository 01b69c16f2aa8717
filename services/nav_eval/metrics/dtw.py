"""The metrics that compare the way taken with a reference path, by exact dynamic time warping.

The field's evaluators use an approximation (fastdtw, radius 1) because exact DTW in pure Python is
too slow. Compiled, the exact distance of two 500-point paths takes under a millisecond, so there is
nothing to approximate. All metrics work on the list of positions without consecutive repeats, and compute
only when asked: a whole episode costs less than keeping the distance up to date at every step.
"""

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from nav_eval.metrics.registry import EpisodeStart, Metric, Step, register_metric
from nav_eval.records.geometry import Vec3

if TYPE_CHECKING:  # numpy takes longer to import than a short file to be scored
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Path: TypeAlias = NDArray[np.float64]

#: libm's exp may differ in the last bit from machine to machine; 30 digits round to the same double everywhere
_EXACT = Context(prec=30)


def drop_repeats(path: "ArrayLike") -> "Path":
    """The path less every point that equals the one before it: turns and collisions do not move."""
    import numpy as np

    points = np.asarray(path, dtype=np.float64).reshape(-1, 3)
    if len(points) < 2:
        return points
    moved = np.any(points[1:] != points[:-1], axis=1)
    return points[np.concatenate(([True], moved))]


def compute_dtw(path: "ArrayLike", reference: "ArrayLike") -> float:
    """The least sum of point distances over all monotone alignments of the two paths."""
    return _KERNEL.run(path, reference)


def normalize_dtw(distance: float, *, reference_points: int, threshold: float) -> float:
    """nDTW: 1 on the reference path, towards 0 with the mean distance from it in units of the threshold."""
    return float(Decimal(-distance / (reference_points * threshold)).exp(_EXACT))


def resample_path(path: Sequence[Sequence[float]], *, spacing: float) -> "Path":
    """The path with a point every `spacing` metres; nDTW compares only at a fixed density."""
    import numpy as np

    points = drop_repeats(np.asarray(path, dtype=np.float64))
    if len(points) < 2:
        return points
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.concatenate(([0.0], np.cumsum(lengths)))
    wanted = np.linspace(0.0, along[-1], max(2, round(float(along[-1]) / spacing) + 1))
    return np.column_stack([np.interp(wanted, along, points[:, axis]) for axis in range(3)])


class _Kernel:
    """Few cells in Python, many as machine code: numba takes longer to import than a short file to be scored.

    Both do the same operations in the same order, so both give the same bits.
    """

    def __init__(self, python_cells: int) -> None:
        self._cells_left = python_cells

    def run(self, path: "ArrayLike", reference: "ArrayLike") -> float:
        if isinstance(path, Sequence) and isinstance(reference, Sequence) and self._is_affordable(path, reference):
            return _align_paths(path, reference)
        import numpy as np

        first = np.ascontiguousarray(path, dtype=np.float64)
        second = np.ascontiguousarray(reference, dtype=np.float64)
        return float(_compile_kernel()(first, second))

    def _is_affordable(self, path: Sequence[Any], reference: Sequence[Any]) -> bool:
        """Compilers and Python disagree only about which of two numbers is smaller when one is no number."""
        cells = len(path) * len(reference)
        finite = cells <= self._cells_left and all(
            math.isfinite(number) for row in (*path, *reference) for number in row
        )
        self._cells_left -= cells if finite else 0
        return finite


def _align_paths(path: Sequence[Any], reference: Sequence[Any]) -> float:
    previous = [0.0] + [math.inf] * len(reference)
    for x, y, z in path:
        current = [math.inf]
        for column, (other_x, other_y, other_z) in enumerate(reference):
            dx, dy, dz = x - other_x, y - other_y, z - other_z
            best = min(previous[column], previous[column + 1], current[column])
            current.append(math.sqrt(dx * dx + dy * dy + dz * dz) + best)
        previous = current
    return previous[-1]


@cache
def _compile_kernel() -> Any:  # noqa: ANN401 - numba has no types
    """Compiled on first use, and once per machine: numba is slow to import and to compile."""
    import numba
    import numpy as np

    @numba.njit(cache=True)
    def kernel(path: Any, reference: Any) -> float:  # noqa: ANN401
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


_KERNEL = _Kernel(python_cells=100_000)


class _TrajectoryMetric(Metric):
    """Collects the positions and the reference."""

    def reset(self, start: EpisodeStart) -> None:
        super().reset(start)
        self._positions: list[Vec3] = [start.position]

    def update(self, step: Step) -> None:
        if step.position != self._positions[-1]:
            self._positions.append(step.position)


@register_metric("dtw")
class DTW(_TrajectoryMetric):
    """Exact dynamic-time-warping distance to the reference path, in summed metres."""

    higher_is_better = False

    def get(self) -> float:
        if not self.start.reference_path:
            return math.nan
        return compute_dtw(self._positions, self.start.reference_path)


@register_metric("ndtw")
class NDTW(Metric):
    """DTW as a score in (0, 1]; comparable only between references of equal density."""

    requires = ("dtw",)
    parameters = ("success_distance",)

    def get(self) -> float:
        if not self.start.reference_path:
            return math.nan
        return normalize_dtw(
            self.others["dtw"].get(), reference_points=len(self.start.reference_path), threshold=self.success_distance
        )


@register_metric("sdtw")
class SDTW(Metric):
    """nDTW of the successful, 0 for the others."""

    requires = ("ndtw", "success")

    def get(self) -> float:
        return self.others["success"].get() * self.others["ndtw"].get()


@register_metric("coverage")
class Coverage(_TrajectoryMetric):
    """The share of reference points that the agent came strictly closer to than the success distance."""

    parameters = ("success_distance",)

    def get(self) -> float:
        if not self.start.reference_path:
            return math.nan
        import numpy as np

        reference = np.asarray(self.start.reference_path)
        positions = np.asarray(self._positions)
        nearest = np.min(np.linalg.norm(reference[:, None] - positions[None], axis=2), axis=1)
        return float(np.mean(nearest < self.success_distance))
