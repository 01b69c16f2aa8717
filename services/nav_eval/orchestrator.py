"""One call from a benchmark's configuration to its results; the specification's `EvaluationOrchestrator`.

The agent is asked who it is before anything is generated: a mistyped address is told at once, not after the minutes
that houses take.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nav_eval.agents.client import AgentClient
from nav_eval.agents.messages import AgentDescription
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.loader import TaskDataset
from nav_eval.evaluation.aliases import EpisodeAliases
from nav_eval.evaluation.episodes import EpisodeManager, load_episodes
from nav_eval.evaluation.executor import is_baseline, make_aliases, open_agent
from nav_eval.evaluation.report import Report
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.runner import (
    BenchmarkRunner,
    ConcurrentExecutor,
    Emit,
    EpisodePlayers,
    ParallelExecutor,
    RunCallbacks,
)
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.evaluation.trajectories import record_trajectories
from nav_eval.generators import Say, ensure_generated, is_generated
from nav_eval.replay.drawings import check_video_output, write_illustrations
from nav_eval.simulator.base import SimulatorSetup

log = logging.getLogger(__name__)

PATIENCE = 3.0  #: seconds of waiting for an agent before that is said


class EvaluationOrchestrator:
    """Runs benchmarks against agents on this machine."""

    def __init__(self, *, cache: Path, workers: int | None = None) -> None:
        """`workers` overrides the benchmark's own number of processes; scores do not depend on it."""
        self._cache = cache
        self._workers = workers

    def run_benchmark(
        self,
        benchmark: BenchmarkConfig,
        *,
        agent: str,
        out: Path,
        callbacks: RunCallbacks | None = None,
        say: Say = log.info,
    ) -> Report:
        """Play all episodes of a benchmark against the agent at an address; `say` tells what is generated first."""
        check_video_output(benchmark)
        with self._meet_agent(agent, benchmark, say) as met:
            ensure_generated(benchmark, cache=self._cache, say=say)
            episodes = load_episodes(benchmark)
            with record_trajectories(benchmark, out, cache=self._cache, callbacks=callbacks) as recorded:
                report = self._play(benchmark, episodes, agent=agent, met=met, out=out, callbacks=recorded)
        write_illustrations(out, benchmark, cache=self._cache)
        return report

    @contextmanager
    def _meet_agent(self, agent: str, benchmark: BenchmarkConfig, say: Say) -> Iterator[AgentClient | None]:
        """The agent, which has said who it is; None where the players open theirs themselves, and at once."""
        shared = self._count_workers(benchmark) == 1 and not is_baseline(agent)
        if not shared and is_generated(benchmark):
            yield None
            return
        with open_agent(agent, benchmark, ()) as client:
            seconds = client.settings.connect_timeout
            with _tell_late(say, f"Waiting for the agent, {agent}: for at most {seconds:g} s."):
                client.describe(make_task_interface(benchmark))
            if shared:
                yield client
                return
        yield None

    def _count_workers(self, benchmark: BenchmarkConfig) -> int:
        return self._workers or benchmark.evaluation.workers

    def _play(
        self,
        benchmark: BenchmarkConfig,
        episodes: TaskDataset,
        *,
        agent: str,
        met: AgentClient | None,
        out: Path,
        callbacks: RunCallbacks | None,
    ) -> Report:
        runner = BenchmarkRunner(benchmark, episodes, out=out)
        folder = RunFolder(out)
        run_seed = folder.run_seed(benchmark)
        episode_seed = folder.episode_seed(benchmark, run_seed)
        setup = SimulatorSetup(benchmark=benchmark, cache=self._cache, run_seed=run_seed)
        workers = min(self._count_workers(benchmark), len(episodes))

        def run_locally(client: AgentClient) -> Report:
            players = _LocalPlayers(setup, client, make_aliases(client, episode_seed))
            return runner.run(players, callbacks, run_seed=run_seed, episode_seed=episode_seed)

        if met is not None:
            return run_locally(met)
        if workers > 1:
            with ParallelExecutor(setup, agent, workers=workers, episode_seed=episode_seed) as several:
                return runner.run(several, callbacks, run_seed=run_seed, episode_seed=episode_seed)
        with open_agent(agent, benchmark, episodes) as client:
            client.describe(make_task_interface(benchmark))
            return run_locally(client)


class _LocalPlayers(EpisodePlayers):
    """One agent that has described itself, and simulators in threads of this process."""

    def __init__(self, setup: SimulatorSetup, client: AgentClient, aliases: EpisodeAliases | None) -> None:
        self._setup, self._client, self._aliases = setup, client, aliases

    def describe(self) -> AgentDescription:
        return self._client.description

    def play(self, manager: EpisodeManager, emit: Emit) -> None:
        executor = ConcurrentExecutor(self._setup, self._client, self._client.description, aliases=self._aliases)
        executor.play(lambda: manager.take(wait=True), emit)


@contextmanager
def _tell_late(say: Say, text: str) -> Iterator[None]:
    """Say something if what is done here takes a while: nobody should wonder at a mistyped address for a minute."""
    timer = threading.Timer(PATIENCE, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
