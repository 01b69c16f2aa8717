"""One episode: the agent decides, the simulator moves, the task keeps the score.

An agent's fault ends its episode there; the episode is scored as it stands. A fault of ours marks it
`infrastructure`: it is not scored, and whoever runs the benchmark tries it again.
"""

import time
from collections.abc import Sequence

import numpy as np

from nav_eval.agents.client import AgentClient, EpisodeSession
from nav_eval.agents.failures import AgentFailure, ProtocolError
from nav_eval.agents.messages import ANSWER, Action, Array, EndStatus, Observation, Outcome
from nav_eval.causes import Cause
from nav_eval.dataset.episode import Episode
from nav_eval.errors import NavEvalError, RecordError
from nav_eval.evaluation.action_log import ActionLog
from nav_eval.evaluation.results import EpisodeResult, EpisodeStatus
from nav_eval.simulator.base import Observations, Simulator
from nav_eval.simulator.motion import ActionRefused
from nav_eval.simulator.sensors import TextValue
from nav_eval.tasks import Moved, Progress, Task
from nav_eval.tasks.localization import LocalizationProgress


class EpisodeExecutor:
    """Plays episodes, one after the other, with one simulator and one agent."""

    def __init__(self, *, task: Task, simulator: Simulator, client: AgentClient, wants_between: bool = False) -> None:
        """`client` has described itself; `wants_between` is what it said about replies of several actions."""
        self._task = task
        self._simulator = simulator
        self._client = client
        self._wants_between = wants_between

    def run(self, episode: Episode) -> EpisodeResult:
        """The result of one episode, whatever happens in it."""
        clock = _Clock()
        try:
            play = _Play(self._simulator, self._client, clock, wants_between=self._wants_between)
            play.begin(episode, self._task)
        except NavEvalError as error:
            return _never_began(episode, cause=_cause_of(error), detail=str(error), clock=clock)
        return self._result(play, play.to_the_end(), clock)

    @staticmethod
    def _result(play: "_Play", failure: NavEvalError | None, clock: "_Clock") -> EpisodeResult:
        worth = play.progress.result()
        episode = play.episode
        cause = None if failure is None else _cause_of(failure)
        return EpisodeResult(
            episode_id=episode.episode_id,
            scene_id=episode.scene_id,
            status=_status(cause),
            cause=cause,
            detail=None if failure is None else str(failure),
            metrics=dict(worth.metrics),
            num_steps=worth.steps,
            subtasks=worth.subtasks,
            shortest_path_length=episode.private.shortest_path_length,
            instruction_length=_words(episode),
            trajectory=tuple(play.log.trajectory),
            actions=tuple(play.log.actions),
            action_digest=play.log.digest,
            randomization=play.randomization,
            timing=clock.spent(),
        )


class _Play:
    """One episode under way."""

    episode: Episode
    progress: Progress
    log: ActionLog

    def __init__(self, simulator: Simulator, client: AgentClient, clock: "_Clock", *, wants_between: bool) -> None:
        self._simulator, self._client, self._clock = simulator, client, clock
        self._wants_between = wants_between

    def begin(self, episode: Episode, task: Task) -> None:
        """Everything up to the first observation, which costs the agent nothing."""
        with self._clock.measure("simulator"):
            first = self._simulator.reset(episode, sensors=self._client.task.sensors)
        self.episode = self._simulator.episode
        self.progress = task.start(self.episode, self._simulator.ground)
        self.log = ActionLog(episode.episode_id, self._simulator.get_agent_state())
        self.randomization = self._simulator.randomization
        self._observation = self._packed(first, ())

    def to_the_end(self) -> NavEvalError | None:
        """Play until the task says that it is over; returns what went wrong, if anything."""
        try:
            with self._clock.measure("agent"):
                session = self._client.open_episode(self.episode.public)
        except AgentFailure as refused:
            return refused
        failure = self._loop(session)
        session.end(_farewell(failure, self.progress.steps))
        return failure

    def _loop(self, session: EpisodeSession) -> NavEvalError | None:
        try:
            while not self.progress.over:
                with self._clock.measure("agent"):
                    actions = session.act(self._observation)
                self._perform(actions)
        except NavEvalError as error:
            return error
        return None

    def _perform(self, actions: Sequence[Action]) -> None:
        """Carry out the actions of one reply; look again unless the episode is over."""
        between: list[Observation] = []
        for index, action in enumerate(actions):
            self._carry_out(action)
            if self.progress.over:
                return
            if self._wants_between and index < len(actions) - 1:
                between.append(self._look(()))
        self._observation = self._look(tuple(between))

    def _carry_out(self, action: Action) -> None:
        if action.name == ANSWER and isinstance(self.progress, LocalizationProgress):
            self._answer(self.progress, action)
            return
        try:
            state = self._simulator.act(action.name, action.arguments)
        except ActionRefused as refusal:
            raise ProtocolError(str(refusal)) from refusal
        self.log.append(action.name, action.arguments, state)
        moved = Moved(action=action.name, position=state.position, collided=state.collided, seconds=self._clock.lap())
        self.progress.advance(moved)

    def _answer(self, progress: LocalizationProgress, action: Action) -> None:
        self.log.answer(action.poses)
        try:
            progress.answer(
                positions=[pose.position for pose in action.poses], rotations=[pose.rotation for pose in action.poses]
            )
        except RecordError as refusal:
            raise ProtocolError(str(refusal)) from refusal

    def _look(self, between: tuple[Observation, ...]) -> Observation:
        with self._clock.measure("simulator"):
            return self._packed(self._simulator.observe(), between)

    def _packed(self, observations: Observations, between: tuple[Observation, ...]) -> Observation:
        arrays: dict[str, Array] = {name: v for name, v in observations.items() if isinstance(v, np.ndarray)}
        texts = {name: value.text for name, value in observations.items() if isinstance(value, TextValue)}
        return Observation(step=self.progress.steps, sensors=arrays, texts=texts, between=between)


class _Clock:
    """Where the seconds of an episode went."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._by_use: dict[str, float] = {}

    def measure(self, use: str) -> "_Measure":
        return _Measure(self._by_use, use)

    def lap(self) -> float:
        """Seconds since the last lap."""
        before, self._last = self._last, time.monotonic()
        return self._last - before

    def spent(self) -> dict[str, float]:
        return {**self._by_use, "total": time.monotonic() - self._began}


class _Measure:
    def __init__(self, by_use: dict[str, float], use: str) -> None:
        self._by_use, self._use = by_use, use

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._by_use[self._use] = self._by_use.get(self._use, 0.0) + time.monotonic() - self._began


def _cause_of(error: NavEvalError) -> Cause:
    """An agent's failure names its cause; anything else that stops an episode is ours."""
    return error.cause if isinstance(error, AgentFailure) else Cause.INFRASTRUCTURE


def _status(cause: Cause | None) -> EpisodeStatus:
    if cause is None:
        return EpisodeStatus.COMPLETED
    if cause is Cause.AGENT_TIMEOUT:
        return EpisodeStatus.TIMEOUT
    return EpisodeStatus.CANCELLED if cause is Cause.CANCELLED else EpisodeStatus.FAILED


def _farewell(failure: NavEvalError | None, steps: int) -> Outcome:
    """What the agent is told: never its scores."""
    if failure is None:
        return Outcome(steps=steps)
    is_theirs = isinstance(failure, AgentFailure) and not failure.cause.is_ours
    status = EndStatus.FAILED if is_theirs else EndStatus.CANCELLED
    return Outcome(status=status, steps=steps, reason=str(failure) if is_theirs else "")


def _never_began(episode: Episode, *, cause: Cause, detail: str, clock: _Clock) -> EpisodeResult:
    return EpisodeResult(
        episode_id=episode.episode_id,
        scene_id=episode.scene_id,
        status=_status(cause),
        cause=cause,
        detail=detail,
        metrics={},
        num_steps=0,
        timing=clock.spent(),
    )


def _words(episode: Episode) -> int | None:
    return None if episode.instruction is None else len(episode.instruction.text.split())
