"""One episode: the agent decides, an `EpisodePlay` carries it out and keeps the score.

An agent's fault ends its episode there; it keeps what it had earned for good. A fault of ours marks it
`infrastructure`: it is not scored, and whoever runs the benchmark tries it again.

Pictures are drawn where the agent reads them: the session offers its buffers (the slot of shared memory that the
next request names), and the renderer writes into those. Only the first picture of an episode is copied there,
because it is drawn before the agent is asked to begin.

`open_agent` connects the agent of a run.
"""

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from nav_eval.agents.addresses import connect
from nav_eval.agents.baselines import BaselineContext, make_baseline
from nav_eval.agents.client import MAX_REPLY_BYTES, AgentClient, ClientSettings, EpisodeSession
from nav_eval.agents.failures import EpisodeFailure, blame_reply, get_cause, log_agent_errors
from nav_eval.agents.local_client import LocalAgentClient
from nav_eval.agents.messages import (
    Action,
    Array,
    EndStatus,
    EpisodeEnd,
    Observation,
    TaskInterface,
)
from nav_eval.config.schema import AgentServiceConfig, BenchmarkConfig
from nav_eval.dataset.episode import Episode, PublicEpisode
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.aliases import EpisodeAliases
from nav_eval.evaluation.episodes import count_instruction_words
from nav_eval.play import EpisodePlay
from nav_eval.records.results import UNSCORED, EpisodeResult, get_status
from nav_eval.sensors import TextValue
from nav_eval.simulator.base import Simulator
from nav_eval.simulator.motion import ASK
from nav_eval.tasks import Task


class EpisodeExecutor:
    """Plays episodes, one after the other, with one simulator and one agent."""

    def __init__(
        self,
        *,
        task: Task,
        simulator: Simulator,
        client: AgentClient,
        wants_between: bool = False,
        describe_task: Callable[[str | None], TaskInterface] | None = None,
        aliases: EpisodeAliases | None = None,
    ) -> None:
        """`client` has described itself; `wants_between` is what it said about replies of several actions.

        `describe_task` says what the task looks like for an episode's robot, where robots differ. Without `aliases` the
        agent is told the dataset's ids.
        """
        self._aliases = aliases
        self._task = task
        self._simulator = simulator
        self._client = client
        self._wants_between = wants_between
        self._describe_task = describe_task

    def run(self, episode: Episode) -> EpisodeResult:
        """The result of one episode, whatever happens in it."""
        clock = _Clock()
        try:
            with clock.simulator:
                sensors = self._client.task.sensors
                play = EpisodePlay(episode, task=self._task, simulator=self._simulator, sensors=sensors)
        except NavEvalError as error:
            return _make_unplayed_result(episode, error, clock)
        return _make_result(play, self._play(play, clock), clock)

    def _play(self, play: EpisodePlay, clock: "_Clock") -> NavEvalError | None:
        """Play until the task says that it is over; returns what went wrong, if anything."""
        try:
            with clock.agent:
                public = self._hide(play.episode.public)
                session = self._client.open_episode(public, task=self._get_task(play.episode))
        except EpisodeFailure as refused:
            return refused
        dialogue = _Dialogue(play, session, clock, wants_between=self._wants_between)
        failure = dialogue.run()
        with log_agent_errors("it was told of the end"):
            session.end(_make_end(failure, play.progress.steps))
        return failure

    def _get_task(self, episode: Episode) -> TaskInterface | None:
        """What the agent is told about this episode's robot; None for what it was told in the beginning."""
        robot = episode.private.robot
        return None if robot is None or self._describe_task is None else self._describe_task(robot)

    def _hide(self, episode: PublicEpisode) -> PublicEpisode:
        return episode if self._aliases is None else self._aliases.hide(episode)


class _Dialogue:
    """Observations one way and actions the other, for one episode."""

    def __init__(self, play: EpisodePlay, session: EpisodeSession, clock: "_Clock", *, wants_between: bool) -> None:
        self._play, self._session, self._clock = play, session, clock
        self._wants_between = wants_between
        self._observation = _make_observation(play)

    def run(self) -> NavEvalError | None:
        """Ask and obey until the episode is over; returns what went wrong, if anything."""
        try:
            while not self._play.is_over:
                with self._clock.agent:
                    actions = self._session.act(self._observation)
                self._perform(actions)
        except NavEvalError as error:
            return error
        return None

    def _perform(self, actions: Sequence[Action]) -> None:
        """Carry out the actions of one reply; look again unless the episode is over."""
        between: list[Observation] = []
        for index, action in enumerate(actions):
            self._apply(action)
            if self._play.is_over:
                return
            if self._wants_between and index < len(actions) - 1:
                between.append(self._look())
        self._observation = self._look(tuple(between))

    def _apply(self, action: Action) -> None:
        with blame_reply("it was carried out"):
            self._play.apply(action, seconds=self._clock.lap())

    def _look(self, between: tuple[Observation, ...] = ()) -> Observation:
        with self._clock.simulator:
            self._play.observe(out=self._choose_buffers())
        return _make_observation(self._play, between)

    def _choose_buffers(self) -> dict[str, Array]:
        """The session's arrays that this robot's pictures fit into: others may have cameras of another size."""
        seen = self._play.observations
        return {name: array for name, array in self._session.buffers().items() if _is_alike(array, seen.get(name))}


def _is_alike(buffer: Array, reading: object) -> bool:
    return isinstance(reading, np.ndarray) and reading.shape == buffer.shape and reading.dtype == buffer.dtype


def _make_observation(play: EpisodePlay, between: tuple[Observation, ...] = ()) -> Observation:
    """What was sensed last, in the words of the protocol."""
    arrays: dict[str, Array] = {name: v for name, v in play.observations.items() if isinstance(v, np.ndarray)}
    texts = {name: value.text for name, value in play.observations.items() if isinstance(value, TextValue)}
    if play.reply is not None:
        texts[ASK] = play.reply
    return Observation(step=play.progress.steps, sensors=arrays, texts=texts, between=between)


class _Stopwatch:
    """The seconds of what is done `with` it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.monotonic() - self._began


class _Clock:
    """Where the seconds of an episode went."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self.simulator, self.agent = _Stopwatch(), _Stopwatch()

    def lap(self) -> float:
        """Seconds since the last lap."""
        before, self._last = self._last, time.monotonic()
        return self._last - before

    def to_timing(self) -> dict[str, float]:
        return {
            "simulator": self.simulator.seconds,
            "agent": self.agent.seconds,
            "total": time.monotonic() - self._began,
        }


def _make_end(failure: NavEvalError | None, steps: int) -> EpisodeEnd:
    """What the agent is told: never its scores."""
    if failure is None:
        return EpisodeEnd(steps=steps)
    if not isinstance(failure, EpisodeFailure):
        return EpisodeEnd(status=EndStatus.CANCELLED, steps=steps)
    return EpisodeEnd.from_failure(failure, steps=steps)


def _make_result(play: EpisodePlay, failure: NavEvalError | None, clock: _Clock) -> EpisodeResult:
    episode = play.episode
    cause = None if failure is None else get_cause(failure)
    if cause is not None and cause not in UNSCORED:
        play.progress.abort()
    worth = play.progress.result()
    return EpisodeResult(
        episode_id=episode.episode_id,
        scene_id=episode.scene_id,
        status=get_status(cause),
        cause=cause,
        detail=None if failure is None else str(failure),
        metrics=dict(worth.metrics),
        num_steps=worth.steps,
        subtasks=worth.subtasks,
        groups=dict(worth.groups),
        shortest_path_length=episode.private.shortest_path_length,
        instruction_length=count_instruction_words(episode),
        trajectory=play.log.trajectory,
        actions=tuple(play.log.actions),
        action_digest=play.log.digest,
        randomization=play.randomization,
        timing=clock.to_timing(),
    )


def _make_unplayed_result(episode: Episode, error: NavEvalError, clock: _Clock) -> EpisodeResult:
    """The result of an episode that never began."""
    cause = get_cause(error)
    return EpisodeResult(
        episode_id=episode.episode_id,
        scene_id=episode.scene_id,
        status=get_status(cause),
        cause=cause,
        detail=str(error),
        metrics={},
        num_steps=0,
        timing=clock.to_timing(),
    )


def make_client_settings(benchmark: BenchmarkConfig) -> ClientSettings:
    """How patient a benchmark is."""
    evaluation, service = benchmark.evaluation, benchmark.agent_service or AgentServiceConfig()
    return ClientSettings(
        connect_timeout=service.connect_timeout,
        reset_timeout=service.reset_timeout,
        action_timeout=evaluation.step_timeout,
        episode_timeout=evaluation.timeout,
        retries=evaluation.retries,
        heartbeat_interval=service.heartbeat_interval,
        heartbeat_timeout=service.heartbeat_timeout,
        max_reply_bytes=min(service.max_message_mb << 20, MAX_REPLY_BYTES),
    )


def is_baseline(address: str) -> bool:
    """Whether an agent's address is `baseline:NAME`, one of ours."""
    return address.casefold().startswith("baseline:")


def make_aliases(client: AgentClient, seed: str | None) -> EpisodeAliases | None:
    """How an agent knows the episodes; one in this process has the dataset itself, so nothing is hidden from it."""
    return None if seed is None or isinstance(client, LocalAgentClient) else EpisodeAliases(seed)


def open_agent(
    address: str, benchmark: BenchmarkConfig, episodes: Iterable[Episode], settings: ClientSettings | None = None
) -> AgentClient:
    """The client of the agent at `address`; `baseline:NAME` is one of ours, in this process."""
    settings = settings or make_client_settings(benchmark)
    if not is_baseline(address):
        return connect(address, settings)
    by_id = {episode.episode_id: episode for episode in episodes}
    context = BaselineContext(benchmark=benchmark, episodes=by_id)
    _, _, text = address.partition(":")
    make_baseline(text, context)  # a wrong name or option is refused here, not in the first episode
    return LocalAgentClient(lambda: make_baseline(text, context), settings)
