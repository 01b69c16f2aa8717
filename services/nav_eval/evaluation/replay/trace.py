"""The way of an agent, step by step: its action log carried out again by the simulator itself.

No pictures are taken here, so this is fast; and it is exact, because a run's own poses come out bit for bit.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from nav_eval.dataset.episode import Episode, Pose
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.action_log import logged, logged_poses
from nav_eval.evaluation.replay.model import Event, Step, finite
from nav_eval.evaluation.replay.stages import Leg, closed_stages, legs_of, stage_of
from nav_eval.evaluation.results import EpisodeResult
from nav_eval.simulator.base import Simulator
from nav_eval.simulator.motion import MICRODEGREES, AgentState
from nav_eval.tasks import STOP, Moved, Progress, Task
from nav_eval.tasks.localization import LocalizationProgress


@dataclass(kw_only=True, slots=True)
class Trace:
    """What a replayed log leads to."""

    episode: Episode  #: with the goals that only the scene knows
    legs: list[Leg]
    progress: Progress
    steps: list[Step] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    answers: list[Pose] = field(default_factory=list)  #: localization
    carried_out: int = 0  #: entries of the log
    broken: str | None = None  #: why the rest of the log could not be carried out


def trace(episode: Episode, task: Task, simulator: Simulator, result: EpisodeResult) -> Trace:
    """Carry out a log; what cannot be carried out ends it there."""
    simulator.reset(episode, sensors=())
    progress = task.start(simulator.episode, simulator.ground)
    legs = legs_of(simulator.episode, task, simulator.ground, progress)
    way = Trace(episode=simulator.episode, legs=legs, progress=progress)
    walker = _Walker(way, task, simulator)
    try:
        for entry in result.actions:
            walker.carry_out(entry)
    except NavEvalError as error:
        way.broken = str(error)
    walker.end(result)
    return way


class _Walker:
    """Grows a trace by one entry at a time."""

    def __init__(self, way: Trace, task: Task, simulator: Simulator) -> None:
        self._way, self._task, self._simulator = way, task, simulator
        self._reached: set[int] = set()
        self._note(simulator.get_agent_state(), stage=stage_of(way.progress, way.legs))

    def carry_out(self, entry: Any) -> None:  # noqa: ANN401 - out of a file
        poses = logged_poses(entry)
        if poses is not None and isinstance(self._way.progress, LocalizationProgress):
            self._answer(self._way.progress, poses)
        else:
            self._act(*logged(entry))
        self._way.carried_out += 1

    def _answer(self, progress: LocalizationProgress, poses: list[Pose]) -> None:
        progress.answer(positions=[p.position for p in poses], rotations=[p.rotation for p in poses])
        self._way.answers = poses
        self._note(self._simulator.get_agent_state(), stage=0, action="answer")

    def _act(self, action: str, arguments: dict[str, float]) -> None:
        progress = self._way.progress
        stage, closed = stage_of(progress, self._way.legs), closed_stages(progress)
        state = self._simulator.act(action, arguments)
        progress.advance(Moved(action=action, position=state.position, collided=state.collided))
        self._note(state, stage=stage, action=action, arguments=arguments)
        self._note_reached(stage)
        if closed_stages(progress) > closed:
            self._event("closed", stage, success=self._is_close())

    def _note(
        self, state: AgentState, *, stage: int, action: str | None = None, arguments: dict[str, float] | None = None
    ) -> None:
        legs = self._way.legs
        distance = legs[stage].field.distance(state.position) if legs else math.inf
        step = Step(
            position=state.position,
            yaw=state.yaw,
            tilt=state.tilt / MICRODEGREES,
            action=action,
            arguments=arguments or {},
            collided=state.collided,
            stage=stage,
            distance=finite(distance),
        )
        self._way.steps.append(step)

    def _note_reached(self, stage: int) -> None:
        if self._is_close() and stage not in self._reached:
            self._reached.add(stage)
            self._event("reached", stage)

    def _is_close(self) -> bool:
        distance = self._way.steps[-1].distance
        return distance is not None and distance < self._task.rules.success_distance

    def _event(self, kind: str, stage: int, *, success: bool | None = None, reason: str = "") -> None:
        self._way.events.append(
            Event(step=len(self._way.steps) - 1, kind=kind, stage=stage, success=success, reason=reason)
        )

    def end(self, result: EpisodeResult) -> None:
        """The last event, whatever it was."""
        self._event("end", self._way.steps[-1].stage, reason=result.cause or self._reason(result))

    def _reason(self, result: EpisodeResult) -> str:
        if not self._way.progress.over:
            return result.status
        if self._way.answers:
            return "answer"
        return STOP if self._way.progress.result().stopped else "step limit"
