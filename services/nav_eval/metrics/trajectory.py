"""The metrics that compare the way taken with a reference path.

All of them work on the list of positions without consecutive repeats, and compute only when asked:
exact DTW of a whole episode costs less than keeping it up to date at every step.
"""

import math

import numpy as np

from nav_eval.dataset.episode import Vec3
from nav_eval.metrics import dtw
from nav_eval.metrics.registry import EpisodeStart, Metric, Step, register_metric


def _threshold(metric: Metric, start: EpisodeStart) -> float:
    """The metric's own success distance, or the benchmark's."""
    return float(metric.chosen.get("success_distance", start.success_distance))


class _TrajectoryMetric(Metric):
    """Collects the positions and the reference."""

    def reset(self, start: EpisodeStart) -> None:
        self._start = start
        self._positions: list[Vec3] = [start.position]

    def update(self, step: Step) -> None:
        if step.position != self._positions[-1]:
            self._positions.append(step.position)


@register_metric("dtw")
class DTW(_TrajectoryMetric):
    """Exact dynamic-time-warping distance to the reference path, in summed metres."""

    higher_is_better = False

    def get(self) -> float:
        if not self._start.reference_path:
            return math.nan
        return dtw.dtw_distance(self._positions, self._start.reference_path)


@register_metric("ndtw")
class NDTW(Metric):
    """DTW as a score in (0, 1]; comparable only between references of equal density."""

    requires = ("dtw",)
    parameters = ("success_distance",)

    def reset(self, start: EpisodeStart) -> None:
        self._start = start

    def update(self, step: Step) -> None:
        """Nothing to keep: DTW has the positions."""

    def get(self) -> float:
        if not self._start.reference_path:
            return math.nan
        return dtw.normalised_dtw(
            self.others["dtw"].get(),
            reference_points=len(self._start.reference_path),
            threshold=_threshold(self, self._start),
        )


@register_metric("sdtw")
class SDTW(Metric):
    """nDTW of the successful, 0 for the others."""

    requires = ("ndtw", "success")

    def reset(self, start: EpisodeStart) -> None:
        """Nothing of its own."""

    def update(self, step: Step) -> None:
        """Nothing of its own."""

    def get(self) -> float:
        return self.others["success"].get() * self.others["ndtw"].get()


@register_metric("coverage")
class Coverage(_TrajectoryMetric):
    """The share of reference points that the agent came strictly closer to than the success distance."""

    parameters = ("success_distance",)

    def get(self) -> float:
        if not self._start.reference_path:
            return math.nan
        reference = np.asarray(self._start.reference_path)
        positions = np.asarray(self._positions)
        nearest = np.min(np.linalg.norm(reference[:, None] - positions[None], axis=2), axis=1)
        return float(np.mean(nearest < _threshold(self, self._start)))
