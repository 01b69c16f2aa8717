"""A task: walk past all goals, in any order, and stop."""

from nav_eval.dataset.episode import Episode
from nav_eval.metrics import EpisodeStart, MetricSuite, Step
from nav_eval.tasks import STOP, Moved, Progress, Task, TaskResult, World


class Patrol(Task):
    """`distance_to_goal` is the way to the nearest goal that is still to be visited, 0 once all are."""

    def start(self, episode: Episode, world: World) -> Progress:
        return _Rounds(self, episode, world)


class _Rounds(Progress):
    def __init__(self, task: Patrol, episode: Episode, world: World) -> None:
        self._rules = task.rules
        self._stopped = False
        self._left = [task.field([goal], world) for goal in episode.goals]
        self._suite = MetricSuite(task.rules.metrics, parameters=task.rules.metric_parameters)
        distance = self._to_nearest(episode.start_position)
        self._suite.reset(
            EpisodeStart(
                position=episode.start_position,
                distance_to_goal=distance,
                shortest_path_length=distance,
                success_distance=task.rules.success_distance,
            )
        )

    def advance(self, moved: Moved) -> None:
        self.steps += 1
        self._stopped = moved.action == STOP
        reach = self._rules.success_distance
        self._left = [goal for goal in self._left if goal.distance(moved.position) >= reach]
        distance = self._to_nearest(moved.position)
        self._suite.update(Step(position=moved.position, distance_to_goal=distance, stopped=self._stopped))
        self.over = self._stopped or self.steps >= self._rules.max_steps

    def result(self) -> TaskResult:
        return TaskResult(metrics=self._suite.values(), steps=self.steps, stopped=self._stopped)

    def _to_nearest(self, position: tuple[float, float, float]) -> float:
        return min((goal.distance(position) for goal in self._left), default=0.0)
