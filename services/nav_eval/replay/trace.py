"""The way of an agent, step by step: its action log carried out again by the simulator itself.

No pictures are taken here, so this is fast; and it is exact, because a run's own poses come out bit for bit.

Localization is shown on a map too: where the agent said that it is, and where it is. Episodes of ours have poses
in our frame and are shown on the map of their scene. SQA3D's are in the scan's own frame (Z up, centred on a box
that only the scan knows, facing −x when not turned): those are shown on a plain sheet, x to the right and y upwards.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nav_eval.action_log import parse_entry
from nav_eval.agents.messages import ANSWER, Action
from nav_eval.dataset.episode import Episode
from nav_eval.errors import NavEvalError
from nav_eval.metrics.localization import compute_position_error, compute_rotation_error
from nav_eval.play import EpisodePlay
from nav_eval.records.geometry import MICRODEGREES, Pose, Vec3, from_z_up, get_yaw, rotate_vector, to_z_up
from nav_eval.records.results import EpisodeResult
from nav_eval.replay.model import Guess, ReplayEvent, ReplayStep, to_finite
from nav_eval.scene.navigation import Ground
from nav_eval.simulator.base import Simulator
from nav_eval.simulator.motion import ASK
from nav_eval.tasks import STOP, Task, TaskStage
from nav_eval.tasks.base import find_target_points
from nav_eval.tasks.localization import is_in_metric_frame


@dataclass(kw_only=True, slots=True)
class Trace:
    """What a replayed log leads to."""

    episode: Episode  #: with the goals that only the scene knows
    stages: tuple[TaskStage, ...]
    steps: list[ReplayStep] = field(default_factory=list)
    events: list[ReplayEvent] = field(default_factory=list)
    answers: tuple[Pose, ...] = ()  #: localization
    carried_out: int = 0  #: entries of the log
    broken: str | None = None  #: why the rest of the log could not be carried out


def trace_episode(episode: Episode, result: EpisodeResult, *, task: Task, simulator: Simulator) -> Trace:
    """Carry out a log; what cannot be carried out ends it there."""
    tracer = _Tracer(EpisodePlay(episode, task=task, simulator=simulator))
    try:
        for entry in result.actions:
            tracer.apply(entry)
    except NavEvalError as error:
        tracer.trace.broken = str(error)
    tracer.end(result)
    return tracer.trace


class _Tracer:
    """Watches a play, and writes down what can be seen of it from outside."""

    def __init__(self, play: EpisodePlay) -> None:
        self._play = play
        self.trace = Trace(episode=play.episode, stages=play.stages)
        self._reached: set[int] = set()
        self._add_step(stage=play.stage)

    def apply(self, entry: Any) -> None:  # noqa: ANN401 - out of a file
        play, action = self._play, parse_entry(entry)
        stage, closed = play.stage, play.progress.closed_stages
        play.apply(action)
        self._add_step(stage=stage, action=action)
        self.trace.carried_out += 1
        if action.name == ANSWER:
            self.trace.answers = action.poses
            return
        self._add_reached(stage)
        if play.progress.closed_stages > closed:
            self._add_event("closed", stage, success=self._is_close())

    def _add_step(self, *, stage: int, action: Action | None = None) -> None:
        state = self._play.state
        self.trace.steps.append(
            ReplayStep(
                position=state.position,
                yaw=state.yaw,
                tilt=state.tilt / MICRODEGREES,
                action=None if action is None else action.name,
                text="" if action is None else action.text,
                reply="" if action is None else self._play.reply or "" if action.name == ASK else "",
                arguments={} if action is None else dict(action.arguments),
                collided=state.collided,
                stage=stage,
                distance=to_finite(self._play.measure_distance(stage)),
            )
        )

    def _add_reached(self, stage: int) -> None:
        if self._is_close() and stage not in self._reached:
            self._reached.add(stage)
            self._add_event("reached", stage)

    def _is_close(self) -> bool:
        distance = self.trace.steps[-1].distance
        return distance is not None and distance < self._play.task.rules.success_distance

    def _add_event(self, kind: str, stage: int, *, success: bool | None = None, reason: str = "") -> None:
        self.trace.events.append(
            ReplayEvent(step=len(self.trace.steps) - 1, kind=kind, stage=stage, success=success, reason=reason)
        )

    def end(self, result: EpisodeResult) -> None:
        """The last event, whatever it was."""
        self._add_event("end", self.trace.steps[-1].stage, reason=result.cause or self._find_reason(result))

    def _find_reason(self, result: EpisodeResult) -> str:
        if not self._play.is_over:
            return result.status
        if self.trace.steps[-1].action == ANSWER:
            return ANSWER
        return STOP if self._play.progress.result().stopped else "step limit"


def find_reference_paths(episode: Episode, stages: Sequence[TaskStage], ground: Ground) -> tuple[str, list[list[Vec3]]]:
    """The ways of the expert: the dataset's densest ones, or else the shortest ones on the ground."""
    private = episode.private
    by_stage = [list(subtask.reference_path) for subtask in episode.subtasks if len(subtask.reference_path) > 1]
    if len(private.dense_path) > 1:
        return "reference", [list(private.dense_path)]
    if by_stage:
        return "reference", by_stage
    if len(private.reference_path) > 1:
        return "reference", [list(private.reference_path)]
    return "shortest", _find_shortest_paths(episode.start_position, stages, ground)


def _find_shortest_paths(start: Vec3, stages: Sequence[TaskStage], ground: Ground) -> list[list[Vec3]]:
    paths = []
    for stage in stages:
        places = find_target_points(stage.goals, to_view_points=True)
        if not places:
            break
        nearest = min(places, key=ground.distance_field([start]).distance)  # as far there as back
        path = ground.shortest_path(start, nearest)
        if not path:
            break
        paths.append(path)
        start = nearest
    return paths


class Spot(NamedTuple):
    """A pose as a map shows it."""

    position: Vec3
    yaw: float


def is_on_the_scenes_map(episode: Episode) -> bool:
    """Whether the episode's poses are in our frame."""
    return not is_in_metric_frame(episode)


def make_spot(pose: Pose, *, ours: bool) -> Spot:
    if ours:
        return Spot(pose.position, get_yaw(pose.rotation))
    along_x, along_y, _ = rotate_vector(pose.rotation, (-1.0, 0.0, 0.0))
    return Spot(from_z_up(pose.position), math.atan2(-along_x, along_y))


def make_guesses(truth: Pose, answers: Sequence[Pose], *, ours: bool) -> list[Guess]:
    """The answers with their errors, as the metric measures them."""
    return [_make_guess(truth, answer, ours=ours) for answer in answers]


def _make_guess(truth: Pose, answer: Pose, *, ours: bool) -> Guess:
    spot = make_spot(answer, ours=ours)
    places = [to_z_up(pose.position) if ours else pose.position for pose in (truth, answer)]
    rotations = [to_z_up(pose.rotation) if ours else pose.rotation for pose in (truth, answer)]
    return Guess(
        position=spot.position,
        yaw=spot.yaw,
        position_error=compute_position_error(*places),
        rotation_error=compute_rotation_error(*rotations),
    )
