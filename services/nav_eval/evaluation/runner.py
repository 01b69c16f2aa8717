"""A benchmark against an agent: from a configuration to a folder of results.

Several episodes are played at once: in threads against one agent, or in processes with an agent's connection each.
While the agent thinks about one episode, another one is rendered. Every simulator lives in a thread of its own, because
an OpenGL context does. Between processes only JSON passes: orders, episodes one way, results the other. A worker that
dies loses the episodes it had in hand; they are played again by another, and a new worker takes its place.
"""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol, Self

import msgspec

from nav_eval.agents.client import AgentClient
from nav_eval.agents.failures import InfrastructureFailure
from nav_eval.agents.messages import AgentDescription, TaskInterface
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loader import TaskDataset
from nav_eval.errors import NavEvalError, RecordError
from nav_eval.evaluation.aggregation import MetricsAggregator
from nav_eval.evaluation.aliases import EpisodeAliases
from nav_eval.evaluation.episodes import EpisodeManager, load_episodes
from nav_eval.evaluation.executor import EpisodeExecutor, make_aliases, open_agent
from nav_eval.evaluation.report import Report
from nav_eval.evaluation.run_folder import REPORT_FILE, RunFolder, make_header, make_manifest
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.records.results import EpisodeResult, ResultWriter, encode_result
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval.tasks.base import build_task

NextEpisode = Callable[[], Episode | None]  #: blocks until there is an episode to play; None when there will be no more
Emit = Callable[[EpisodeResult], None]


class ConcurrentExecutor:
    """Plays episodes against one agent, several at once where both sides allow it."""

    def __init__(
        self,
        setup: SimulatorSetup,
        client: AgentClient,
        description: AgentDescription,
        *,
        aliases: EpisodeAliases | None = None,
    ) -> None:
        self._aliases = aliases
        self._offered = setup.benchmark
        self._setup = replace(setup, benchmark=setup.benchmark.with_rig(description.rig))
        self._client = client
        self._description = description
        self._emitting = threading.Lock()

    @property
    def at_once(self) -> int:
        """How many episodes are played at the same time."""
        return count_concurrent_episodes(self._setup.benchmark, self._description)

    def play(self, next_episode: NextEpisode, emit: Emit) -> None:
        """Play until there are no more episodes; `emit` is called by one thread at a time."""
        if self.at_once == 1:
            self._play_in_thread(next_episode, emit)
            return
        with futures.ThreadPoolExecutor(self.at_once, thread_name_prefix="player") as pool:
            players = [pool.submit(self._play_in_thread, next_episode, emit) for _ in range(self.at_once)]
            futures.wait(players)
        for player in players:
            player.result()

    def _describe_task(self, robot: str | None) -> TaskInterface:
        """The task for one robot: others may carry their cameras elsewhere."""
        interface = make_task_interface(self._offered, robot=robot)
        _, task = self._description.choose_rig(interface)
        return self._description.keep_wanted(task)

    def _play_in_thread(self, next_episode: NextEpisode, emit: Emit) -> None:
        benchmark = self._setup.benchmark
        with open_simulator(self._setup) as simulator:
            executor = EpisodeExecutor(
                task=build_task(benchmark.task, benchmark.evaluation),
                simulator=simulator,
                client=self._client,
                wants_between=self._description.wants_between,
                describe_task=self._describe_task,
                aliases=self._aliases,
            )
            while (episode := next_episode()) is not None:
                result = executor.run(episode)
                with self._emitting:
                    emit(result)


def count_concurrent_episodes(benchmark: BenchmarkConfig, description: AgentDescription) -> int:
    """No more episodes at once than the benchmark allows and the agent can take."""
    return max(1, min(benchmark.evaluation.concurrent_episodes, description.max_episodes))


START_SECONDS = 300.0  #: for a worker to import, open its agent and say hello; an agent may load weights meanwhile
WORKERS_LOST = 20  #: more than this and something is wrong that new workers do not cure


class WorkersFailed(InfrastructureFailure):
    """Worker processes keep dying; the log of this machine says why (often: out of memory)."""


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    benchmark: dict[str, Any]
    agent: str
    cache: str
    pictures: bool
    run_seed: int
    episode_seed: str | None


class _Hello(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says first: who its agent is and how many episodes it plays at once, or why it cannot."""

    description: dict[str, Any] = {}
    at_once: int = 1
    refusal: str | None = None


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection
    at_once: int = 1
    playing: set[str] = field(default_factory=set)


class ParallelExecutor:
    """Players in several processes."""

    def __init__(self, setup: SimulatorSetup, agent: str, *, workers: int, episode_seed: str | None = None) -> None:
        self._order = _Order(
            benchmark=setup.benchmark.model_dump(mode="json"),
            agent=agent,
            cache=str(setup.cache),
            pictures=setup.pictures,
            run_seed=setup.run_seed,
            episode_seed=episode_seed,
        )
        self._count = workers
        self._workers: list[_Worker] = []
        self._lost = 0
        self._description: AgentDescription | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.connection.close()  # the end of its input is the end of its work
        for worker in self._workers:
            worker.process.join(timeout=5.0)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def describe(self) -> AgentDescription:
        if self._description is None:
            starting = [self._start() for _ in range(self._count)]
            for worker in starting:
                self._description = self._greet(worker)
        assert self._description is not None  # there is at least one worker
        return self._description

    def play(self, manager: EpisodeManager, emit: Emit) -> None:
        """Hand out episodes and collect results until the manager has no more."""
        while not manager.is_done:
            for worker in self._workers:
                self._fill(worker, manager)
            for connection in wait([worker.connection for worker in self._workers]):
                self._receive(next(w for w in self._workers if w.connection is connection), manager, emit)

    def _fill(self, worker: _Worker, manager: EpisodeManager) -> None:
        while len(worker.playing) < worker.at_once and (episode := manager.take()) is not None:
            worker.playing.add(episode.episode_id)
            try:
                worker.connection.send_bytes(msgspec.json.encode(episode))
            except OSError:
                return  # it died; hearing from it will say so

    def _receive(self, worker: _Worker, manager: EpisodeManager, emit: Emit) -> None:
        try:
            result = msgspec.json.decode(worker.connection.recv_bytes(), type=EpisodeResult)
        except (EOFError, OSError):
            self._replace(worker, manager, emit)
            return
        worker.playing.discard(result.episode_id)
        emit(result)

    def _replace(self, worker: _Worker, manager: EpisodeManager, emit: Emit) -> None:
        self._lost += 1
        worker.process.join(timeout=5.0)
        self._workers.remove(worker)
        detail = f"A worker process ended with exit code {worker.process.exitcode} while it played this episode."
        for episode_id in sorted(worker.playing):
            emit(manager.lost(episode_id, detail=detail))
        if self._lost > WORKERS_LOST:
            raise WorkersFailed
        if not manager.is_done:
            self._greet(self._start())

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=run_worker, args=(theirs, msgspec.json.encode(self._order)), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _greet(self, worker: _Worker) -> AgentDescription:
        if not worker.connection.poll(START_SECONDS):
            raise WorkersFailed(f"A worker process did not start within {START_SECONDS:g} s.")
        try:
            hello = msgspec.json.decode(worker.connection.recv_bytes(), type=_Hello)
        except (EOFError, OSError) as error:
            raise WorkersFailed(f"A worker process ended with exit code {worker.process.exitcode}.") from error
        if hello.refusal is not None:
            raise NavEvalError(hello.refusal)
        worker.at_once = hello.at_once
        return msgspec.convert(hello.description, AgentDescription)


def run_worker(connection: Connection, order_bytes: bytes) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it ends us by closing the pipe
    order = msgspec.json.decode(order_bytes, type=_Order)
    benchmark = BenchmarkConfig.model_validate(order.benchmark)
    setup = SimulatorSetup(
        benchmark=benchmark, cache=Path(order.cache), pictures=order.pictures, run_seed=order.run_seed
    )
    try:
        with open_agent(order.agent, benchmark, load_episodes(benchmark)) as client:
            description = client.describe(make_task_interface(benchmark))
            aliases = make_aliases(client, order.episode_seed)
            executor = ConcurrentExecutor(setup, client, description, aliases=aliases)
            hello = _Hello(description=msgspec.to_builtins(description), at_once=executor.at_once)
            connection.send_bytes(msgspec.json.encode(hello))
            executor.play(_receive_episodes(connection), lambda result: connection.send_bytes(encode_result(result)))
    except NavEvalError as error:
        connection.send_bytes(msgspec.json.encode(_Hello(refusal=str(error))))


def _receive_episodes(connection: Connection) -> NextEpisode:
    """Episodes as they come; one thread listens for all players."""
    waiting: SimpleQueue[Episode | None] = SimpleQueue()

    def listen() -> None:
        try:
            while True:
                waiting.put(msgspec.json.decode(connection.recv_bytes(), type=Episode))
        except (EOFError, OSError):
            waiting.put(None)

    def take() -> Episode | None:
        episode = waiting.get()
        if episode is None:
            waiting.put(None)  # for the other players
        return episode

    Thread(target=listen, daemon=True).start()
    return take


class NotWritten(RecordError):
    """A result cannot be written; what was written before is kept."""


class EpisodePlayers(Protocol):
    """Those who play: in this process or in several."""

    def describe(self) -> AgentDescription:
        """Who the agent is."""

    def play(self, manager: EpisodeManager, emit: Emit) -> None:
        """Play until the manager has no more; `emit` gets every result, finished or to be tried again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCallbacks:
    """Who wants to know how a run goes."""

    on_start: Callable[[int, int], None] = lambda done, total: None  #: episodes finished before, and in all
    on_result: Callable[[EpisodeResult, MetricsAggregator], None] = lambda result, so_far: None


class BenchmarkRunner:
    """The life of one run. What is finished is on disk at once; the report is written however the run ends."""

    def __init__(self, benchmark: BenchmarkConfig, episodes: TaskDataset, *, out: Path) -> None:
        self._benchmark = benchmark
        self._episodes = episodes
        self._folder = RunFolder(out)

    def run(
        self,
        players: EpisodePlayers,
        callbacks: RunCallbacks | None = None,
        *,
        run_seed: int = 0,
        episode_seed: str | None = None,
    ) -> Report:
        """Play every episode that is not finished yet; the report covers all of them."""
        about = _describe_agent(players.describe())
        manifest = make_manifest(
            self._benchmark, self._episodes, agent=about, run_seed=run_seed, episode_seed=episode_seed
        )
        with self._folder.claim():
            finished = self._folder.begin(manifest)
            return self._go_on(players, finished, callbacks or RunCallbacks())

    def _go_on(self, players: EpisodePlayers, finished: Sequence[EpisodeResult], callbacks: RunCallbacks) -> Report:
        aggregator = MetricsAggregator(make_header(self._folder.manifest()))
        for result in finished:
            aggregator.add_episode_result(result)
        callbacks.on_start(len(finished), len(self._episodes))
        with _explain_write_errors(self._folder.path):
            try:
                self._play(players, self._list_unfinished(finished), aggregator, callbacks)
            finally:
                aggregator.export_json(self._folder.path / REPORT_FILE)
        return aggregator.report()

    def _play(
        self, players: EpisodePlayers, episodes: TaskDataset, aggregator: MetricsAggregator, callbacks: RunCallbacks
    ) -> None:
        manager = EpisodeManager(episodes)
        with ResultWriter(self._folder.episodes_file) as writer:

            def keep(result: EpisodeResult) -> None:
                if manager.finish(result):
                    writer.write(result)
                    aggregator.add_episode_result(result)
                    callbacks.on_result(result, aggregator)

            players.play(manager, keep)

    def _list_unfinished(self, finished: Sequence[EpisodeResult]) -> TaskDataset:
        done = {result.episode_id for result in finished}
        return TaskDataset(episode for episode in self._episodes if episode.episode_id not in done)


@contextmanager
def _explain_write_errors(folder: Path) -> Iterator[None]:
    """A full disk is told in one sentence; what was written before stays and is used again."""
    try:
        yield
    except OSError as error:
        raise NotWritten(
            f"Cannot write to {error.filename or folder}: {error.strerror}. "
            "What is finished is kept: make room and run the same command."
        ) from error


def _describe_agent(description: AgentDescription) -> dict[str, str]:
    return description.to_record()
