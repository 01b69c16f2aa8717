"""An episode played step by step by somebody who calls, rather than by an agent that is called.

The same simulator, the same task and therefore the same scores as an evaluation; on top of them the
distances and rewards that learning needs. Nothing here knows Gymnasium.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nav_eval.dataset.episode import Episode, Goal
from nav_eval.envs.rewards import RewardOptions, StepFacts, reward
from nav_eval.errors import NavEvalError
from nav_eval.scene.navigation import DistanceField
from nav_eval.simulator.backends import open_simulator
from nav_eval.simulator.base import Observations, Places, SimulatorSetup
from nav_eval.simulator.motion import AgentState
from nav_eval.tasks import STOP, TASKS, Moved, Progress, Task, TaskResult
from nav_eval.tasks.build import task_rules
from nav_eval.tasks.navigation import NavigationTask

_NOWHERE = math.inf


class NeedsReset(NavEvalError):
    """The episode is over, or none has begun; call reset before the next step."""


class Stepped(NamedTuple):
    """What one action led to."""

    reward: float
    terminated: bool
    """The agent ended the episode by its (last) stop."""
    truncated: bool
    """The step limit did."""
    success: bool
    """Known, and possibly true, only at the end."""

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated


class Rollout:
    """One benchmark, one episode at a time."""

    def __init__(self, setup: SimulatorSetup, *, sensors: Sequence[str], options: RewardOptions) -> None:
        self._simulator = open_simulator(setup)
        self._task = _task_with_success(setup)
        self._sensors = sensors
        self._options = options
        self._progress: Progress | None = None
        self.distance = _NOWHERE  #: geodesic metres to the current goal

    def begin(self, episode: Episode, *, out: Places | None = None) -> Observations:
        """Put the agent at the start; the first observation."""
        self._progress = None
        first = self._simulator.reset(episode, sensors=self._sensors, out=out)
        self._progress = self._task.start(self.episode, self._simulator.ground)
        self._fields = [self._field(goals) for goals in _legs(self.episode, self._progress)]
        self.distance = self._distance(0)
        return first

    def act(self, action: str, arguments: Mapping[str, float]) -> Stepped:
        """Apply an action and judge it, without looking."""
        progress = self._progress
        if progress is None or progress.over:
            raise NeedsReset
        leg, before = _stage(progress), self.distance
        state = self._simulator.act(action, arguments)
        progress.advance(Moved(action=action, position=state.position, collided=state.collided))
        reached = self._distance(leg)
        stage = _stage(progress)
        self.distance = reached if stage == leg else self._distance(stage)
        return self._judged(action, state, leg=leg, nearer=_finite(before - reached))

    def observe(self, *, out: Places | None = None) -> Observations:
        return self._simulator.observe(out=out)

    @property
    def episode(self) -> Episode:
        """The current one, with the goals that only the scene knows."""
        return self._simulator.episode

    @property
    def state(self) -> AgentState:
        return self._simulator.get_agent_state()

    @property
    def ground(self) -> object:
        return self._simulator.ground

    @property
    def steps(self) -> int:
        return 0 if self._progress is None else self._progress.steps

    @property
    def result(self) -> TaskResult:
        """What the episode is worth as it stands."""
        if self._progress is None:
            raise NeedsReset
        return self._progress.result()

    def close(self) -> None:
        self._progress = None
        self._simulator.close()

    def _judged(self, action: str, state: AgentState, *, leg: int, nearer: float) -> Stepped:
        progress = self._progress
        assert progress is not None  # an action has just been applied
        stopped = action == STOP
        result = progress.result() if stopped or progress.over else None
        success = progress.over and result is not None and is_success(result)
        closed_well = stopped and result is not None and bool(result.subtasks) and result.subtasks[leg].success
        facts = StepFacts(
            metres_nearer=nearer, collided=state.collided, stopped=stopped, closed_well=closed_well, success=success
        )
        terminated = progress.over and result is not None and result.stopped
        return Stepped(reward(facts, self._options), terminated, progress.over and not terminated, success)

    def _field(self, goals: Sequence[Goal]) -> DistanceField | None:
        return self._task.field(goals, self._simulator.ground) if goals else None

    def _distance(self, leg: int) -> float:
        """To the goal of a leg; past the last one, to the last."""
        field = self._fields[min(leg, len(self._fields) - 1)]
        return _NOWHERE if field is None else field.distance(self._simulator.get_agent_state().position)


def is_success(result: TaskResult) -> bool:
    """All sub-tasks where there are any, otherwise what the task calls a success."""
    if result.subtasks:
        return all(subtask.success for subtask in result.subtasks)
    return bool(result.metrics.get("success"))


def _task_with_success(setup: SimulatorSetup) -> Task:
    """The benchmark's task; tasks with one goal also say whether it was reached if nobody asked for it."""
    benchmark = setup.benchmark
    kind = TASKS.get(benchmark.task.type)
    rules = task_rules(benchmark.task, benchmark.evaluation)
    if issubclass(kind, NavigationTask) and "success" not in rules.metrics:
        rules = dataclasses.replace(rules, metrics=(*rules.metrics, "success"))
    return kind(rules)


def _stage(progress: Progress) -> int:
    """Which sub-task is under way; tasks without sub-tasks have one."""
    return int(getattr(progress, "stage", 0))


def _legs(episode: Episode, progress: Progress) -> list[Sequence[Goal]]:
    if hasattr(progress, "stage") and episode.subtasks:
        return [subtask.goals for subtask in episode.subtasks]
    return [episode.goals]


def _finite(metres: float) -> float:
    """Coming from or going to where no way leads is no progress."""
    return metres if math.isfinite(metres) else 0.0
