"""One call from a benchmark's configuration to its results; the seeds' `EvaluationOrchestrator`."""

from pathlib import Path

from nav_eval.agents.client import AgentClient
from nav_eval.agents.description import AgentDescription
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.dataset import TaskDataset
from nav_eval.evaluation.bench import Bench, Emit
from nav_eval.evaluation.episode_manager import EpisodeManager
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.generation import ensure_generated
from nav_eval.evaluation.interface import task_interface
from nav_eval.evaluation.opening import open_agent
from nav_eval.evaluation.parallel import ParallelExecutor
from nav_eval.evaluation.recording import recorded
from nav_eval.evaluation.replay.artifacts import check_wishes, illustrate
from nav_eval.evaluation.report import Report
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.runner import BenchmarkRunner, Players, Watcher
from nav_eval.simulator.base import SimulatorSetup


class EvaluationOrchestrator:
    """Runs benchmarks against agents on this machine."""

    def __init__(self, *, cache: Path, workers: int | None = None) -> None:
        """`workers` overrides the benchmark's own number of processes; scores do not depend on it."""
        self._cache = cache
        self._workers = workers

    def run_benchmark(
        self, benchmark: BenchmarkConfig, *, agent: str, out: Path, watcher: Watcher | None = None
    ) -> Report:
        """Play all episodes of a benchmark against the agent at an address."""
        check_wishes(benchmark)
        ensure_generated(benchmark, cache=self._cache)
        episodes = load_episodes(benchmark)
        with recorded(benchmark, out, cache=self._cache, watcher=watcher) as watching:
            report = self._play(benchmark, episodes, agent=agent, out=out, watcher=watching)
        illustrate(out, benchmark, cache=self._cache)
        return report

    def _play(
        self, benchmark: BenchmarkConfig, episodes: TaskDataset, *, agent: str, out: Path, watcher: Watcher | None
    ) -> Report:
        runner = BenchmarkRunner(benchmark, episodes, out=out)
        run_seed = RunFolder(out).run_seed(benchmark)
        setup = SimulatorSetup(benchmark=benchmark, cache=self._cache, run_seed=run_seed)
        workers = min(self._workers or benchmark.evaluation.workers, len(episodes))
        if workers > 1:
            with ParallelExecutor(setup, agent, workers=workers) as players:
                return runner.run(players, watcher, run_seed=run_seed)
        with open_agent(agent, benchmark, episodes) as client:
            return runner.run(_InThisProcess(setup, client), watcher, run_seed=run_seed)


class _InThisProcess(Players):
    """One agent, and simulators in threads of this process."""

    def __init__(self, setup: SimulatorSetup, client: AgentClient) -> None:
        self._setup, self._client = setup, client

    def describe(self) -> AgentDescription:
        self._description = self._client.describe(task_interface(self._setup.benchmark))
        return self._description

    def play(self, manager: EpisodeManager, emit: Emit) -> None:
        bench = Bench(self._setup, self._client, self._description)
        bench.play(lambda: manager.take(wait=True), emit)
