"""A metric: the share of actions that brought the agent no nearer to its goal."""

from nav_eval.metrics import EpisodeStart, Metric, Step


class WastedSteps(Metric):
    """0 for an agent that comes nearer with every action; turns and stops bring nobody nearer."""

    higher_is_better = False

    def reset(self, start: EpisodeStart) -> None:
        self._distance = start.distance_to_goal
        self._steps = self._wasted = 0

    def update(self, step: Step) -> None:
        self._steps += 1
        self._wasted += step.distance_to_goal >= self._distance
        self._distance = step.distance_to_goal

    def get(self) -> float:
        return self._wasted / self._steps if self._steps else float("nan")
