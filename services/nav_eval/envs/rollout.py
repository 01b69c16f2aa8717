"""An episode played step by step by somebody who calls, rather than by an agent that is called.

The same `EpisodePlay` and therefore the same scores as an evaluation; on top of it the distances and rewards
that learning needs. Scores are the task's business; rewards are only what gradients follow. Nothing here
knows Gymnasium.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Self

from nav_eval.agents.messages import Action
from nav_eval.dataset.episode import Episode
from nav_eval.errors import ConfigError, NavEvalError
from nav_eval.play import EpisodePlay
from nav_eval.simulator.base import ObservationBuffers, Observations, SimulatorSetup, open_simulator
from nav_eval.simulator.moderngl_simulator import draw_ahead as draw_pictures_ahead
from nav_eval.simulator.motion import AgentState
from nav_eval.tasks import STOP, TASKS, Task
from nav_eval.tasks.base import is_success, make_task_rules
from nav_eval.tasks.navigation import NavigationTask


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardOptions:
    """How a reward adds up. The defaults are those that the field trains point-goal agents with."""

    success: float = 2.5  #: once, when the episode ends as a success
    subtask: float = 1.0  #: long-horizon tasks: for every sub-task that a stop closes at its goal
    progress: float = 1.0  #: per geodesic metre that a step comes nearer to the current goal
    slack: float = -0.01  #: at every step, so that dawdling costs
    collision: float = 0.0  #: at every step that ends at a wall; a penalty is negative
    wrong_stop: float = 0.0  #: for a stop that is no success; a penalty is negative

    @classmethod
    def of(cls, options: "RewardOptions | Mapping[str, float] | None") -> Self:
        """The options themselves, or defaults with some of them changed."""
        if isinstance(options, cls):
            return options
        known = [field.name for field in fields(cls)]
        for name, value in (options or {}).items():  # type: ignore[union-attr]
            if name not in known:
                raise ConfigError(f"There is no reward {name!r}; known: {', '.join(known)}.")
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise ConfigError(f"The reward {name!r} is {value!r}; it must be a number.")
        return cls(**{name: float(value) for name, value in (options or {}).items()})  # type: ignore[union-attr]


@dataclass(frozen=True, kw_only=True, slots=True)
class _StepFacts:
    """What a reward is made from."""

    metres_nearer: float  #: to the goal that was current before the step
    collided: bool
    stopped: bool
    closed_well: bool = False  #: a sub-task was closed at its goal
    success: bool = False  #: the episode ended as a success


def _compute_reward(facts: _StepFacts, options: RewardOptions) -> float:
    """The sum of what applies."""
    total = options.slack + options.progress * facts.metres_nearer
    if facts.collided:
        total += options.collision
    if facts.closed_well:
        total += options.subtask
    if facts.success:
        total += options.success
    if facts.stopped and not (facts.closed_well or facts.success):
        total += options.wrong_stop
    return total


class NeedsReset(NavEvalError):
    """The episode is over, or none has begun; call reset before the next step."""


class Stepped(NamedTuple):
    """What one action led to."""

    reward: float
    terminated: bool  #: the agent ended the episode by its (last) stop
    truncated: bool  #: the step limit did
    success: bool  #: known, and possibly true, only at the end

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated


class Rollout:
    """One benchmark, one episode at a time."""

    def __init__(self, setup: SimulatorSetup, *, sensors: Sequence[str], options: RewardOptions) -> None:
        self._simulator = open_simulator(setup)
        self._task = _build_task_with_success(setup)
        self._sensors = sensors
        self._options = options
        #: made once: a blind step takes microseconds, and most actions have no arguments
        self._plain_actions = {action.name: Action(name=action.name) for action in setup.benchmark.task.actions}
        self._play: EpisodePlay | None = None
        self.distance = math.inf  #: geodesic metres to the current goal

    def begin(self, episode: Episode, *, out: ObservationBuffers | None = None) -> Observations:
        """Put the agent at the start; the first observation."""
        self._play = None
        self._play = EpisodePlay(episode, task=self._task, simulator=self._simulator, sensors=self._sensors, out=out)
        self.distance = self._play.measure_distance(0)
        return self._play.observations

    def act(self, action: str, arguments: Mapping[str, float]) -> Stepped:
        """Apply an action and judge it, without looking."""
        play = self._play
        if play is None or play.is_over:
            raise NeedsReset
        stage, before = play.stage, self.distance
        plain = None if arguments else self._plain_actions.get(action)
        state = play.apply(plain or Action(name=action, arguments=arguments))
        reached = play.measure_distance(stage)
        now = play.stage
        self.distance = reached if now == stage else play.measure_distance(now)
        return self._judge(play, stage, stopped=action == STOP, collided=state.collided, nearer=before - reached)

    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        return self.play.observe(out=out)

    @property
    def play(self) -> EpisodePlay:
        """The episode under way, or the one that has just ended."""
        if self._play is None:
            raise NeedsReset
        return self._play

    @property
    def episode(self) -> Episode:
        """The current one, with the goals that only the scene knows."""
        return self.play.episode

    @property
    def state(self) -> AgentState:
        return self.play.state

    def close(self) -> None:
        self._play = None
        self._simulator.close()

    def _judge(self, play: EpisodePlay, stage: int, *, stopped: bool, collided: bool, nearer: float) -> Stepped:
        is_over = play.is_over
        result = play.progress.result() if stopped or is_over else None
        success = is_over and result is not None and is_success(result)
        facts = _StepFacts(
            metres_nearer=nearer if math.isfinite(nearer) else 0.0,  # to or from where no way leads is no progress
            collided=collided,
            stopped=stopped,
            closed_well=stopped and result is not None and bool(result.subtasks) and result.subtasks[stage].success,
            success=success,
        )
        terminated = is_over and result is not None and result.stopped
        return Stepped(_compute_reward(facts, self._options), terminated, is_over and not terminated, success)


def draw_ahead(looks: Iterable[tuple[Rollout, ObservationBuffers | None]]) -> None:
    """Draw what several roll-outs will observe next, in fewer submissions than one each."""
    draw_pictures_ahead((rollout._simulator, out) for rollout, out in looks)


def _build_task_with_success(setup: SimulatorSetup) -> Task:
    """The benchmark's task; tasks with one goal also say whether it was reached if nobody asked for it."""
    benchmark = setup.benchmark
    kind = TASKS.get(benchmark.task.type)
    rules = make_task_rules(benchmark.task, benchmark.evaluation)
    if issubclass(kind, NavigationTask) and "success" not in rules.metrics:
        rules = dataclasses.replace(rules, metrics=(*rules.metrics, "success"))
    return kind(rules)
