"""Tasks with one goal: VLN, ObjectNav, ImageNav, PointNav.

They differ in what the agent is told, not in how they end.
"""

from nav_eval.dataset.episode import Episode
from nav_eval.errors import DatasetError
from nav_eval.metrics import EpisodeStart, MetricSuite, Step
from nav_eval.metrics.dtw import resample_path
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.ground import DistanceField
from nav_eval.tasks.base import STOP, Moved, Progress, Task, TaskResult, TaskRules, World, register_task

#: nDTW compares only references of equal density; a sparse path is resampled to the forward step
REFERENCE_SPACING = 0.25


class NavigationTask(Task):
    """Go there and stop. The stop ends the episode, wherever it is."""

    stop_meaning = "ends_episode"

    def start(self, episode: Episode, world: World) -> Progress:
        if not episode.goals:
            raise DatasetError(f"Episode {episode.episode_id!r} has no goal; a split without goals cannot be scored.")
        return _NavigationProgress(episode, self.field(episode.goals, world), self.rules)


@register_task("vln")
class VLNTask(NavigationTask):
    """Follow an instruction."""


@register_task("objectnav")
class ObjectNavTask(NavigationTask):
    """Find any object of a category."""


@register_task("imagenav")
class ImageNavTask(NavigationTask):
    """Go to where a picture was taken, or to what it shows."""


@register_task("pointnav")
class PointNavTask(NavigationTask):
    """Go to a point."""


class _NavigationProgress(Progress):
    def __init__(self, episode: Episode, field: DistanceField, rules: TaskRules) -> None:
        self._field = field
        self._rules = rules
        self._stopped = False
        self._suite = MetricSuite(rules.metrics, parameters=rules.metric_parameters)
        distance = field.distance(episode.start_position)
        self._suite.reset(
            EpisodeStart(
                position=episode.start_position,
                distance_to_goal=distance,
                shortest_path_length=distance,
                success_distance=rules.success_distance,
                stop_needed=rules.stop_needed,
                reference_path=find_reference_path(episode),
            )
        )

    @property
    def closed_stages(self) -> int:
        return int(self._stopped)

    def advance(self, moved: Moved) -> None:
        self.steps += 1
        self._stopped = moved.action == STOP
        self._suite.update(
            Step(
                position=moved.position,
                distance_to_goal=self._field.distance(moved.position),
                stopped=self._stopped,
                collided=moved.collided,
                seconds=moved.seconds,
            )
        )
        self.over = self._stopped or self._rules.is_last_step(self.steps)

    def result(self) -> TaskResult:
        return TaskResult(metrics=self._suite.values(aborted=self.aborted), steps=self.steps, stopped=self._stopped)


def find_reference_path(episode: Episode) -> tuple[Vec3, ...]:
    """The dense expert path where the dataset has one, else its way-points at the density of forward steps."""
    if episode.private.dense_path:
        return episode.private.dense_path
    if len(episode.reference_path) < 2:
        return episode.reference_path
    points = resample_path(episode.reference_path, spacing=REFERENCE_SPACING)
    return tuple((float(x), float(y), float(z)) for x, y, z in points)
