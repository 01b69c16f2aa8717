"""Trajectories written while a run goes on, where its configuration asks for more than `episodes.jsonl`."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.trajectory import TrajectoryWriter
from nav_eval.dataset.vectors import ActionVectors
from nav_eval.errors import ConfigError
from nav_eval.evaluation.aggregation import is_scored
from nav_eval.evaluation.replay.artifacts import file_name
from nav_eval.evaluation.results import EpisodeResult
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.runner import Watcher
from nav_eval.evaluation.trajectories import RunTrajectories


@contextmanager
def recorded(benchmark: BenchmarkConfig, run: Path, *, cache: Path, watcher: Watcher | None) -> Iterator[Watcher]:
    """The watcher of a run whose trajectories are recorded, if its configuration asks for that."""
    watcher = watcher or Watcher()
    if not TrajectoryRecorder.is_wanted(benchmark):
        yield watcher
        return
    recorder = TrajectoryRecorder(benchmark, run, cache=cache)
    try:
        yield recorder.watching(watcher)
        recorder.catch_up()
    finally:
        recorder.close()


class TrajectoryRecorder:
    """Writes `trajectories/EPISODE.hdf5` or `.json` into a run's folder as each episode ends.

    What `output.trajectory_format` asks for; with `output.save_observations`, HDF5 with everything that the
    sensors see. (`jsonl` asks for nothing more than `episodes.jsonl`, which every run writes.) Observations
    are made by replay, all of them, whichever the agent looked at.
    """

    def __init__(self, benchmark: BenchmarkConfig, run: Path, *, cache: Path) -> None:
        self._benchmark = benchmark
        self._run = run
        self._cache = cache
        self._suffix = ".hdf5" if benchmark.output.save_observations else f".{benchmark.output.trajectory_format}"
        if self._suffix == ".hdf5" and importlib.util.find_spec("h5py") is None:
            raise ConfigError("The output asks for HDF5, but h5py is not installed: pip install 'nav-eval[export]'.")
        self._source: RunTrajectories | None = None

    @staticmethod
    def is_wanted(benchmark: BenchmarkConfig) -> bool:
        output = benchmark.output
        return output.save_observations or (output.save_trajectories and output.trajectory_format != "jsonl")

    def watching(self, watcher: Watcher) -> Watcher:
        """The watcher, and this recorder before it."""

        def on_result(result: EpisodeResult, so_far: Any) -> None:  # noqa: ANN401 - the aggregator
            self.keep(result)
            watcher.on_result(result, so_far)

        return replace(watcher, on_result=on_result)

    def keep(self, result: EpisodeResult) -> None:
        """Write one episode's trajectory, whole or not at all."""
        if not is_scored(result) or not result.actions:
            return
        source = self._opened()
        path = self._path(result)
        vectors = ActionVectors(self._benchmark.task)
        with TrajectoryWriter(path, vectors=vectors, about=self._benchmark.name) as writer:
            writer.write(source.trajectory_of(result), source.replayed(result))

    def catch_up(self) -> None:
        """What an interrupted run had played but not recorded."""
        for result in RunFolder(self._run).results():
            if not self._path(result).exists():
                self.keep(result)

    def close(self) -> None:
        if self._source is not None:
            self._source.close()

    def _path(self, result: EpisodeResult) -> Path:
        return self._run / "trajectories" / f"{file_name(result.episode_id)}{self._suffix}"

    def _opened(self) -> RunTrajectories:
        if self._source is None:
            sensors = list(self._benchmark.sensors()) if self._benchmark.output.save_observations else ()
            self._source = RunTrajectories(self._run, sensors=sensors, cache=self._cache)
        return self._source
