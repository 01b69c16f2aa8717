"""Several processes, each with its own simulators and its own connection to the agent.

Only JSON passes between them: orders (which benchmark, which agent), episodes one way, results the other. A
worker that dies loses the episodes it had in hand; they are played again by another, and a new worker
takes its place. What is finished is not touched.
"""

import multiprocessing
import signal
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Self

import msgspec

from nav_eval.agents.description import AgentDescription
from nav_eval.agents.failures import InfrastructureFailure
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.bench import Bench, Emit, NextEpisode
from nav_eval.evaluation.episode_manager import EpisodeManager
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.interface import task_interface
from nav_eval.evaluation.opening import open_agent
from nav_eval.evaluation.results import EpisodeResult, encode
from nav_eval.simulator.base import SimulatorSetup

START_SECONDS = 300.0
"""For a worker to import, open its agent and say hello; an agent may load weights meanwhile."""
WORKERS_LOST = 20
"""More than this and something is wrong that new workers do not cure."""


class WorkersFailed(InfrastructureFailure):
    """Worker processes keep dying; the log of this machine says why (often: out of memory)."""


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    benchmark: dict[str, Any]
    agent: str
    cache: str
    pictures: bool
    run_seed: int


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

    def __init__(self, setup: SimulatorSetup, agent: str, *, workers: int) -> None:
        self._order = _Order(
            benchmark=setup.benchmark.model_dump(mode="json"),
            agent=agent,
            cache=str(setup.cache),
            pictures=setup.pictures,
            run_seed=setup.run_seed,
        )
        self._count = workers
        self._workers: list[_Worker] = []
        self._lost = 0
        self._description: AgentDescription | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
                self._hear(next(w for w in self._workers if w.connection is connection), manager, emit)

    def _fill(self, worker: _Worker, manager: EpisodeManager) -> None:
        while len(worker.playing) < worker.at_once and (episode := manager.take()) is not None:
            worker.playing.add(episode.episode_id)
            try:
                worker.connection.send_bytes(msgspec.json.encode(episode))
            except OSError:
                return  # it died; hearing from it will say so

    def _hear(self, worker: _Worker, manager: EpisodeManager, emit: Emit) -> None:
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
        process = context.Process(target=work, args=(theirs, msgspec.json.encode(self._order)), daemon=True)
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


def work(connection: Connection, order_bytes: bytes) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it ends us by closing the pipe
    order = msgspec.json.decode(order_bytes, type=_Order)
    benchmark = BenchmarkConfig.model_validate(order.benchmark)
    setup = SimulatorSetup(
        benchmark=benchmark, cache=Path(order.cache), pictures=order.pictures, run_seed=order.run_seed
    )
    try:
        with open_agent(order.agent, benchmark, load_episodes(benchmark)) as client:
            description = client.describe(task_interface(benchmark))
            bench = Bench(setup, client, description)
            hello = _Hello(description=msgspec.to_builtins(description), at_once=bench.at_once)
            connection.send_bytes(msgspec.json.encode(hello))
            bench.play(_incoming(connection), lambda result: connection.send_bytes(encode(result)))
    except NavEvalError as error:
        connection.send_bytes(msgspec.json.encode(_Hello(refusal=str(error))))


def _incoming(connection: Connection) -> NextEpisode:
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
