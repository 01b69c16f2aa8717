"""The metrics of getting to a goal."""

import math

from nav_eval.metrics.registry import EpisodeStart, Metric, Step, register_metric
from nav_eval.records.geometry import measure_distance


def compute_success(*, distance: float, stopped: bool, success_distance: float) -> float:
    """1 iff the agent said stop strictly closer than the success distance."""
    return float(stopped and distance < success_distance)


def compute_path_efficiency(*, shortest: float, travelled: float) -> float:
    """Shortest over travelled, at most 1. A goal at the start is efficient only if nothing was travelled.

    NaN if there is no shortest path: such an episode has no efficiency.
    """
    if math.isinf(shortest):
        return math.nan
    longer = max(shortest, travelled)
    return shortest / longer if longer > 0 else 1.0


def compute_soft_success(*, distance: float, shortest: float) -> float:
    """The share of the way that was covered, 0 where the agent ended further away than it began."""
    if shortest > 0:
        return max(0.0, 1.0 - distance / shortest)
    return float(distance == 0)


def compute_spl(*, success: float, shortest: float, travelled: float) -> float:
    """Success weighted by path length."""
    return success * compute_path_efficiency(shortest=shortest, travelled=travelled)


def compute_soft_spl(*, distance: float, shortest: float, travelled: float) -> float:
    """SPL with the covered share of the way in place of success."""
    if not math.isfinite(distance):
        return 0.0
    return compute_soft_success(distance=distance, shortest=shortest) * compute_path_efficiency(
        shortest=shortest, travelled=travelled
    )


@register_metric("distance_to_goal")
class DistanceToGoal(Metric):
    """Geodesic metres to the nearest goal, now."""

    higher_is_better = False

    def reset(self, start: EpisodeStart) -> None:
        self._distance = start.distance_to_goal

    def update(self, step: Step) -> None:
        self._distance = step.distance_to_goal

    def get(self) -> float:
        return self._distance


@register_metric("navigation_error")
class NavigationError(DistanceToGoal):
    """Geodesic metres to the nearest goal where the agent ended."""


@register_metric("oracle_navigation_error")
class OracleNavigationError(Metric):
    """The least distance to the goal at any step, the start included."""

    higher_is_better = False

    def reset(self, start: EpisodeStart) -> None:
        self._least = start.distance_to_goal

    def update(self, step: Step) -> None:
        self._least = min(self._least, step.distance_to_goal)

    def get(self) -> float:
        return self._least


@register_metric("success")
class Success(Metric):
    """1 iff the agent stopped strictly closer than the success distance."""

    def reset(self, start: EpisodeStart) -> None:
        super().reset(start)
        self._value = 0.0

    def update(self, step: Step) -> None:
        self._value = compute_success(
            distance=step.distance_to_goal,
            stopped=step.stopped or not self.start.stop_needed,
            success_distance=self.start.success_distance,
        )

    def get(self) -> float:
        return self._value


@register_metric("oracle_success")
class OracleSuccess(Metric):
    """1 iff the agent was that close at some step, stop or not."""

    lasting = True
    requires = ("oracle_navigation_error",)
    parameters = ("success_distance",)

    def get(self) -> float:
        return float(self.others["oracle_navigation_error"].get() < self.success_distance)


@register_metric("path_length")
class PathLength(Metric):
    """Metres travelled, as the sum of straight steps."""

    higher_is_better = False

    def reset(self, start: EpisodeStart) -> None:
        self._metres, self._last = 0.0, start.position

    def update(self, step: Step) -> None:
        self._metres, self._last = self._metres + measure_distance(self._last, step.position), step.position

    def get(self) -> float:
        return self._metres


@register_metric("spl")
class SPL(Metric):
    """Success weighted by path length."""

    requires = ("success", "path_length")

    def get(self) -> float:
        return compute_spl(
            success=self.others["success"].get(),
            shortest=self.start.shortest_path_length,
            travelled=self.others["path_length"].get(),
        )


@register_metric("soft_spl")
class SoftSPL(Metric):
    """SPL with the covered share of the way in place of success; needs no stop."""

    requires = ("distance_to_goal", "path_length")

    def get(self) -> float:
        return compute_soft_spl(
            distance=self.others["distance_to_goal"].get(),
            shortest=self.start.shortest_path_length,
            travelled=self.others["path_length"].get(),
        )


@register_metric("steps")
class Steps(Metric):
    """Actions taken, stops included."""

    higher_is_better = False

    def reset(self, start: EpisodeStart) -> None:
        self._count = 0

    def update(self, step: Step) -> None:
        self._count += 1

    def get(self) -> float:
        return float(self._count)


@register_metric("collisions")
class Collisions(Metric):
    """Steps on which something was in the way."""

    higher_is_better = False

    def reset(self, start: EpisodeStart) -> None:
        self._count = 0

    def update(self, step: Step) -> None:
        self._count += step.collided

    def get(self) -> float:
        return float(self._count)


@register_metric("time")
class Time(Metric):
    """Wall-clock seconds; informative, never part of a ranking."""

    higher_is_better = False

    def reset(self, start: EpisodeStart) -> None:
        self._seconds = 0.0

    def update(self, step: Step) -> None:
        self._seconds += step.seconds

    def get(self) -> float:
        return self._seconds
