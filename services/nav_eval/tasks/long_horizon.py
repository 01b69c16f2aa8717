"""LH-VLN: two or more targets in a fixed order, each closed by a stop.

A stop anywhere closes the current sub-task, right or wrong, and the next one begins where the agent
stands; there is no second try. The last stop, or the step limit, ends the episode. The free stop
with which an episode begins (it only fetches the first observation) is the executor's and is never
reported here.

The two scoring rules need different raw quantities: `documented` measures every sub-task against
the expert, also those that were never closed; `reference` records only what was attempted, against
where the agent stood when it began.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nav_eval.dataset.episode import Episode, Subtask
from nav_eval.errors import DatasetError
from nav_eval.metrics import EpisodeStart, MetricSuite, Step
from nav_eval.metrics.lh_vln import METRIC_NAMES, SubtaskTable, score_each
from nav_eval.records.geometry import Vec3, measure_distance
from nav_eval.records.results import SubtaskRecord
from nav_eval.records.scoring import ScoringRule
from nav_eval.scene.navigation.ground import DistanceField
from nav_eval.tasks.base import STOP, Moved, Progress, Task, TaskResult, TaskRules, TaskStage, World, register_task


@register_task("lh_vln")
class LongHorizonTask(Task):
    """Do several things, one after the other."""

    stop_meaning = "closes_subtask"

    def start(self, episode: Episode, world: World) -> Progress:
        subtasks = _list_subtasks(episode, self.rules)
        legs = [_Leg(subtask, self.field(subtask.goals, world)) for subtask in subtasks]
        return _LongHorizonProgress(episode, legs, self.rules)

    def build_stages(self, episode: Episode, world: World) -> tuple[TaskStage, ...]:
        return tuple(
            TaskStage(
                name=subtask.target, region=subtask.region, goals=subtask.goals, field=self.field(subtask.goals, world)
            )
            for subtask in _list_subtasks(episode, self.rules)
        )


@dataclass(slots=True)
class _Leg:
    """A sub-task and what has been seen of it so far."""

    subtask: Subtask
    field: DistanceField
    success: bool = False
    oracle_success: bool = False
    navigation_error: float | None = None  #: set when it is closed or the episode is cut
    distance_when_begun: float | None = None
    steps: int | None = None
    metres: float = 0.0

    def begin(self, position: Vec3) -> None:
        self.distance_when_begun = self.field.distance(position)
        self.steps = 0


class _LongHorizonProgress(Progress):
    def __init__(self, episode: Episode, legs: list[_Leg], rules: TaskRules) -> None:
        self._rules = rules
        self._legs = legs
        self._stage = 0  #: the sub-task under way; the number of sub-tasks once all are closed
        self._position = episode.start_position
        self._start = episode.start_position
        general = (name for name in rules.metrics if name not in METRIC_NAMES)
        self._general = MetricSuite(general, parameters=rules.metric_parameters)
        legs[0].begin(self._position)
        distance = legs[0].distance_when_begun or 0.0
        self._general.reset(
            EpisodeStart(
                position=self._position,
                distance_to_goal=distance,
                shortest_path_length=distance,
                success_distance=rules.success_distance,
                reference_path=episode.private.dense_path or episode.reference_path,
            )
        )

    @property
    def closed_stages(self) -> int:
        return self._stage

    def advance(self, moved: Moved) -> None:
        self.steps += 1
        leg = self._legs[self._stage]
        distance = leg.field.distance(moved.position)
        leg.steps = (leg.steps or 0) + 1
        leg.metres += measure_distance(self._position, moved.position)
        self._position = moved.position
        close = distance < self._rules.success_distance
        leg.oracle_success = leg.oracle_success or close
        if moved.action == STOP:
            leg.success, leg.navigation_error = close, distance
            self._stage += 1
            self._begin_next()
        self.over = self.over or self._rules.is_last_step(self.steps)
        last = self._stage == len(self._legs)
        self._general.update(
            Step(
                position=moved.position,
                distance_to_goal=distance,
                stopped=last,
                collided=moved.collided,
                seconds=moved.seconds,
            )
        )

    def result(self) -> TaskResult:
        records = self._records()
        each = score_each(SubtaskTable.from_tasks([records]), self._rules.scoring)
        values = {name: float(each[name][0]) for name in METRIC_NAMES}
        scores = {name: value if math.isfinite(value) else None for name, value in values.items()}
        known = scores | self._general.values(aborted=self.aborted)
        return TaskResult(
            metrics={name: known[name] for name in self._rules.metrics},
            steps=self.steps,
            stopped=self._stage == len(self._legs),
            subtasks=tuple(records),
        )

    def _begin_next(self) -> None:
        if self._stage < len(self._legs):
            self._legs[self._stage].begin(self._position)
        else:
            self.over = True

    def _records(self) -> list[SubtaskRecord]:
        build = (
            self._record_attempt if self._rules.scoring.rule is ScoringRule.REFERENCE else self._record_against_expert
        )
        return [build(index) for index in range(len(self._legs))]

    def _record_attempt(self, index: int) -> SubtaskRecord:
        """Only what was begun has an error and a truth; the truth is where the agent began it.

        The published code knows no faults. Where the agent's fault ended the episode, what it has not closed counts as
        attempted and lost: a truth and no error.
        """
        leg = self._legs[index]
        error = leg.navigation_error
        if error is None and self.aborted:
            return self._record(leg, error=None, truth=self._expert_distance(index))
        if error is None and index == self._stage and self.steps:
            error = leg.field.distance(self._position)
        return self._record(leg, error=error, truth=None if error is None else leg.distance_when_begun)

    def _record_against_expert(self, index: int) -> SubtaskRecord:
        """Sub-tasks that were never closed are measured where the episode ended, against the expert.

        Not so where the agent's fault ended it: they have no error, so they earn nothing.
        """
        leg = self._legs[index]
        error = leg.navigation_error
        if error is None and self.steps and not self.aborted:
            error = leg.field.distance(self._position)
        return self._record(leg, error=error, truth=self._expert_distance(index))

    def _record(self, leg: _Leg, *, error: float | None, truth: float | None) -> SubtaskRecord:
        return SubtaskRecord(
            success=leg.success,
            oracle_success=leg.oracle_success,
            navigation_error=error,
            ground_truth_distance=truth,
            ground_truth_steps=leg.subtask.ground_truth_steps or 0,
            steps=leg.steps,
            path_length=None if leg.steps is None else leg.metres,
        )

    def _expert_distance(self, index: int) -> float:
        """What the dataset says, or the geodesic from the start or from the nearest goal before."""
        leg = self._legs[index]
        if leg.subtask.ground_truth_distance is not None:
            return leg.subtask.ground_truth_distance
        if index == 0:
            return leg.field.distance(self._start)
        before = self._legs[index - 1].subtask.goals
        return min(leg.field.distance(goal.position) for goal in before)


def _list_subtasks(episode: Episode, rules: TaskRules) -> Sequence[Subtask]:
    """The sub-tasks, each with its goals as the rule sees them."""
    if not episode.subtasks:
        raise DatasetError(f"Episode {episode.episode_id!r} has no sub-tasks; LH-VLN needs at least one.")
    subtasks = (
        _use_reference_targets(episode.subtasks) if rules.scoring.rule is ScoringRule.REFERENCE else episode.subtasks
    )
    for subtask in subtasks:
        if not subtask.goals:
            raise DatasetError(
                f"Episode {episode.episode_id!r}: no {subtask.target!r} is known in region {subtask.region!r}; "
                "the scene's semantic annotation must name one."
            )
    return subtasks


def _use_reference_targets(subtasks: Sequence[Subtask]) -> list[Subtask]:
    """The published code looks a category up by its first mention, so a second mention gets the first one's goals."""
    first: dict[str, Subtask] = {}
    for subtask in subtasks:
        first.setdefault(subtask.target, subtask)
    return [
        Subtask(
            target=subtask.target,
            region=first[subtask.target].region,
            goals=first[subtask.target].goals,
            ground_truth_steps=subtask.ground_truth_steps,
            ground_truth_distance=subtask.ground_truth_distance,
        )
        for subtask in subtasks
    ]
