"""A benchmark against an agent: from a configuration to a folder of results."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nav_eval.agents.description import AgentDescription
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.dataset import TaskDataset
from nav_eval.errors import RecordError
from nav_eval.evaluation.aggregation import MetricsAggregator
from nav_eval.evaluation.bench import Emit
from nav_eval.evaluation.episode_manager import EpisodeManager
from nav_eval.evaluation.report import Report, ReportHeader
from nav_eval.evaluation.results import EpisodeResult, ResultWriter
from nav_eval.evaluation.run_folder import Manifest, RunFolder, manifest_of
from nav_eval.evaluation.runs import REPORT_FILE
from nav_eval.metrics import METRICS


class NotWritten(RecordError):
    """A result cannot be written; what was written before is kept."""


class Players(Protocol):
    """Those who play: in this process or in several."""

    def describe(self) -> AgentDescription:
        """Who the agent is."""

    def play(self, manager: EpisodeManager, emit: Emit) -> None:
        """Play until the manager has no more; `emit` gets every result, finished or to be tried again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Watcher:
    """Who wants to know how a run goes."""

    on_start: Callable[[int, int], None] = lambda done, total: None  #: episodes finished before, and in all
    on_result: Callable[[EpisodeResult, MetricsAggregator], None] = lambda result, so_far: None


class BenchmarkRunner:
    """The life of one run. What is finished is on disk at once; the report is written however the run ends."""

    def __init__(self, benchmark: BenchmarkConfig, episodes: TaskDataset, *, out: Path) -> None:
        self._benchmark = benchmark
        self._episodes = episodes
        self._folder = RunFolder(out)

    def run(self, players: Players, watcher: Watcher | None = None, *, run_seed: int = 0) -> Report:
        """Play every episode that is not finished yet; the report covers all of them."""
        watcher = watcher or Watcher()
        about = _about(players.describe())
        manifest = manifest_of(self._benchmark, self._episodes, agent=about, run_seed=run_seed)
        finished = self._folder.begin(manifest)
        aggregator = MetricsAggregator(_header(manifest))
        for result in finished:
            aggregator.add_episode_result(result)
        watcher.on_start(len(finished), len(self._episodes))
        with _writing_to(self._folder.path):
            try:
                self._play(players, self._left(finished), aggregator, watcher)
            finally:
                aggregator.export_json(self._folder.path / REPORT_FILE)
        return aggregator.report()

    def _play(self, players: Players, episodes: TaskDataset, aggregator: MetricsAggregator, watcher: Watcher) -> None:
        manager = EpisodeManager(episodes)
        with ResultWriter(self._folder.episodes_file) as writer:

            def keep(result: EpisodeResult) -> None:
                if manager.finish(result):
                    writer.write(result)
                    aggregator.add_episode_result(result)
                    watcher.on_result(result, aggregator)

            players.play(manager, keep)

    def _left(self, finished: Sequence[EpisodeResult]) -> TaskDataset:
        done = {result.episode_id for result in finished}
        return TaskDataset(episode for episode in self._episodes if episode.episode_id not in done)


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """A full disk is told in one sentence; what was written before stays and is used again."""
    try:
        yield
    except OSError as error:
        raise NotWritten(
            f"Cannot write to {folder}: {error.strerror}. What is finished is kept: make room and run the same command."
        ) from error


def _about(description: AgentDescription) -> dict[str, str]:
    return {"name": description.name, "version": description.version, **description.metadata}


def _header(manifest: Manifest) -> ReportHeader:
    return ReportHeader(
        benchmark=manifest.benchmark,
        config=manifest.config,
        digests=manifest.digests,
        engine_version=manifest.engine_version,
        higher_is_better=_directions(manifest),
    )


def _directions(manifest: Manifest) -> dict[str, bool]:
    """What the metrics themselves say: those of plug-ins have no customary direction."""
    names = [metric["name"] for metric in manifest.config["task"]["metrics"]]
    return {name: METRICS.get(name).higher_is_better for name in names if name in METRICS}
