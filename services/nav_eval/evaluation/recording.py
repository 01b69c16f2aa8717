"""Trajectories written while a run goes on, where its configuration asks for more than `episodes.jsonl`."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.trajectory import TrajectoryWriter
from nav_eval.dataset.vectors import ActionVectors
from nav_eval.evaluation.aggregation import is_scored
from nav_eval.evaluation.results import EpisodeResult
from nav_eval.evaluation.runner import Watcher
from nav_eval.evaluation.trajectories import RunTrajectories


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
        path = self._run / "trajectories" / f"{file_name(result.episode_id)}{self._suffix}"
        vectors = ActionVectors(self._benchmark.task)
        with TrajectoryWriter(path, vectors=vectors, about=self._benchmark.name) as writer:
            writer.write(source.trajectory_of(result), source.replayed(result))

    def close(self) -> None:
        if self._source is not None:
            self._source.close()

    def _opened(self) -> RunTrajectories:
        if self._source is None:
            sensors = list(self._benchmark.sensors()) if self._benchmark.output.save_observations else ()
            self._source = RunTrajectories(self._run, sensors=sensors, cache=self._cache)
        return self._source


def file_name(episode_id: str) -> str:
    """A name that any file system takes; ids that are no such name get a digest."""
    plain = re.sub(r"[^\w.-]", "_", episode_id, flags=re.ASCII)[:80].lstrip(".") or "episode"
    if plain == episode_id:
        return plain
    return f"{plain}-{hashlib.sha256(episode_id.encode()).hexdigest()[:12]}"
