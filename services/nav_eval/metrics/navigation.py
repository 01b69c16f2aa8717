"""The metrics of getting to a goal."""

from nav_eval.geometry import straight_line
from nav_eval.metrics import formulas
from nav_eval.metrics.registry import EpisodeStart, Metric, Step, register_metric


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
        self._start = start
        self._value = 0.0

    def update(self, step: Step) -> None:
        self._value = formulas.success(
            distance=step.distance_to_goal,
            stopped=step.stopped or not self._start.stop_needed,
            success_distance=self._start.success_distance,
        )

    def get(self) -> float:
        return self._value


@register_metric("oracle_success")
class OracleSuccess(Metric):
    """1 iff the agent was that close at some step, stop or not."""

    requires = ("oracle_navigation_error",)
    parameters = ("success_distance",)

    def reset(self, start: EpisodeStart) -> None:
        self._success_distance = float(self.chosen.get("success_distance", start.success_distance))

    def update(self, step: Step) -> None:
        """Nothing to keep: the oracle error already knows the closest step."""

    def get(self) -> float:
        return float(self.others["oracle_navigation_error"].get() < self._success_distance)


@register_metric("path_length")
class PathLength(Metric):
    """Metres travelled, as the sum of straight steps."""

    higher_is_better = False

    def reset(self, start: EpisodeStart) -> None:
        self._metres, self._last = 0.0, start.position

    def update(self, step: Step) -> None:
        self._metres, self._last = self._metres + straight_line(self._last, step.position), step.position

    def get(self) -> float:
        return self._metres


@register_metric("spl")
class SPL(Metric):
    """Success weighted by path length."""

    requires = ("success", "path_length")

    def reset(self, start: EpisodeStart) -> None:
        self._shortest = start.shortest_path_length

    def update(self, step: Step) -> None:
        """Nothing to keep: the requirements do."""

    def get(self) -> float:
        return formulas.spl(
            success=self.others["success"].get(),
            shortest=self._shortest,
            travelled=self.others["path_length"].get(),
        )


@register_metric("soft_spl")
class SoftSPL(Metric):
    """SPL with the covered share of the way in place of success; needs no stop."""

    requires = ("distance_to_goal", "path_length")

    def reset(self, start: EpisodeStart) -> None:
        self._shortest = start.shortest_path_length

    def update(self, step: Step) -> None:
        """Nothing to keep: the requirements do."""

    def get(self) -> float:
        return formulas.soft_spl(
            distance=self.others["distance_to_goal"].get(),
            shortest=self._shortest,
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
