"""The trajectories of a run: its folder read as a trajectory dataset.

`episodes.jsonl` has all that is needed: positions and actions. Which way the agent faced follows from the
actions alone, exactly, because turning does not depend on walls.

A `TrajectoryRecorder` writes them while a run goes on, where its configuration asks for more than
`episodes.jsonl`.
"""

import importlib.util
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from nav_eval.action_log import parse_entry
from nav_eval.config.schema import BenchmarkConfig, TaskConfig
from nav_eval.dataset.action_vectors import ActionVectors
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loader import TaskDataset
from nav_eval.dataset.trajectory import Frames, Trajectory, TrajectoryDataset, TrajectoryHead, TrajectoryWriter
from nav_eval.errors import ConfigError, RecordError
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.report import read_header
from nav_eval.evaluation.run_folder import REPORT_FILE, RunFolder, RunManifest, make_file_name
from nav_eval.evaluation.runner import RunCallbacks
from nav_eval.play import MOTIONLESS, EpisodeReplayer
from nav_eval.records.geometry import FULL_TURN, MICRODEGREES, Pose, Quaternion
from nav_eval.records.results import LONGEST_LINE, EpisodeOutcome, EpisodeResult
from nav_eval.records.scoring import is_scored
from nav_eval.scene.navigation import OpenPlane
from nav_eval.simulator.motion import AgentState, Body, to_forward
from nav_eval.tasks import STOP, TASKS
from nav_eval.tasks.base import is_success

T = TypeVar("T")

_OUTCOME = msgspec.json.Decoder(EpisodeOutcome)
_RESULT = msgspec.json.Decoder(EpisodeResult)
_TILTED_MOST = 90 * MICRODEGREES


class RunTrajectories:
    """A run's folder as a source of trajectories; frames are made by replay."""

    def __init__(self, run: Path, *, sensors: Sequence[str] = (), cache: Path | None = None) -> None:
        self._folder = RunFolder(run)
        self.manifest: RunManifest = self._folder.manifest()
        self.benchmark = BenchmarkConfig.model_validate(self.manifest.config)
        if not TASKS.get(self.benchmark.task.type).uses_motion:
            raise RecordError(f"{run} is a run of {self.benchmark.task.type!r}, which has answers but no trajectories.")
        if not self._folder.episodes_file.exists():
            raise RecordError(f"{run} has no finished episode yet.")
        self._sensors = sensors
        self._cache = cache
        self._facing = Facing(self.benchmark.task)

    @cached_property
    def episodes(self) -> TaskDataset:
        return load_episodes(self.benchmark)

    @property
    def dataset(self) -> TrajectoryDataset:
        return TrajectoryDataset.of(self)

    def heads(self) -> Iterator[tuple[TrajectoryHead, tuple[int, int]]]:
        """Those that were played; what failed by our fault or never began left no trajectory."""
        with self._folder.episodes_file.open("rb") as file:
            at = 0
            for line in iter(lambda: file.readline(LONGEST_LINE), b""):
                outcome = _decode(_OUTCOME, line, self._folder.episodes_file, at) if line.strip() else None
                if outcome is not None and is_scored(outcome) and outcome.num_steps:
                    yield self._head(outcome), (at, len(line))
                at += len(line)

    def load(self, key: tuple[int, int]) -> Trajectory:
        return self.trajectory_of(self.result(key))

    def frames(self, key: tuple[int, int]) -> Iterator[Frames]:
        """What the chosen sensors see along the way."""
        return self.replay_frames(self.result(key))

    def replay_frames(self, result: EpisodeResult) -> Iterator[Frames]:
        if not self._sensors:
            return
        for seen in self._replayer.replay(self.episodes.by_id(result.episode_id), result):
            yield {name: value for name, value in seen.observations.items() if isinstance(value, np.ndarray)}

    def result(self, key: tuple[int, int]) -> EpisodeResult:
        """The line of the run."""
        start, length = key
        with self._folder.episodes_file.open("rb") as file:
            file.seek(start)
            return _decode(_RESULT, file.read(length), self._folder.episodes_file, start)

    def trajectory_of(self, result: EpisodeResult) -> Trajectory:
        """A line of the run with all that the episode adds to it."""
        episode = self.episodes.by_id(result.episode_id)
        if result.trajectory is None or len(result.trajectory) != len(result.actions) + 1:
            raise RecordError(f"Episode {result.episode_id!r} has no positions that fit its actions.")
        yaws, tilts = self._facing.along(episode.start_rotation, result.actions)
        return Trajectory(
            **msgspec.structs.asdict(self._head(result)),
            actions=result.actions,
            positions=result.trajectory,
            yaws=yaws,
            tilts=tilts,
            terminated=_is_terminated(result),
            subtasks=_describe_subtasks(result, episode),
        )

    def close(self) -> None:
        if "_replayer" in self.__dict__:
            self._replayer.close()

    @cached_property
    def _replayer(self) -> EpisodeReplayer:
        from nav_eval.cache import get_cache_folder

        return EpisodeReplayer(
            self.benchmark,
            sensors=self._sensors,
            cache=self._cache or get_cache_folder(),
            run_seed=self.manifest.run_seed,
        )

    def _head(self, outcome: EpisodeOutcome) -> TrajectoryHead:
        public = self.episodes.by_id(outcome.episode_id).public
        instruction = public.instruction.text if public.instruction is not None else outcome.instruction
        return TrajectoryHead(
            episode_id=outcome.episode_id,
            scene_id=outcome.scene_id,
            length=outcome.num_steps,
            status=outcome.status,
            cause=outcome.cause,
            metrics=outcome.metrics,
            instruction=instruction,
            object_category=public.object_category,
            success=is_success(outcome),
            metadata=self._metadata,
        )

    @cached_property
    def _metadata(self) -> dict[str, Any]:
        report = self._folder.path / REPORT_FILE
        about = {
            "benchmark": self.manifest.benchmark,
            "task": self.benchmark.task.type,
            "agent": self.manifest.agent.get("name"),
            "agent_version": self.manifest.agent.get("version"),
            "engine_version": self.manifest.engine_version,
            "timestamp": read_header(report).timestamp if report.exists() else None,
        }
        return {name: value for name, value in about.items() if value}


class Facing:
    """Which way an agent faces along its actions, without a scene."""

    def __init__(self, task: TaskConfig) -> None:
        self._body = Body(task, OpenPlane(), sliding=False)
        self._still = self._body.start(Pose((0.0, 0.0, 0.0)))
        self._turns: dict[Any, tuple[int, int]] = {}

    def along(self, start: Quaternion, actions: Iterable[Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Yaws and, if the agent ever looked up or down, tilts in radians; one more than actions."""
        effects = [self._effect(entry) for entry in actions]
        headings = np.cumsum([0, *(turn for turn, _ in effects)]) % FULL_TURN
        forward = to_forward(start)
        yaws = tuple(_compute_yaw(forward, heading) for heading in headings.tolist())
        return yaws, _compute_tilts([tilt for _, tilt in effects])

    def _effect(self, entry: Any) -> tuple[int, int]:  # noqa: ANN401 - out of a file
        """Microdegrees that an action turns and tilts; the body itself is asked, once per action."""
        key = entry if isinstance(entry, str) else msgspec.json.encode(entry)
        if key not in self._turns:
            action = parse_entry(entry)
            moves = action.name not in MOTIONLESS
            after = self._body.apply(self._still, action.name, action.arguments) if moves else self._still
            self._turns[key] = (after.heading, after.tilt)
        return self._turns[key]


@lru_cache(maxsize=1 << 16)
def _compute_yaw(forward: tuple[float, float], heading: int) -> float:
    return AgentState((0.0, 0.0, 0.0), forward, heading).yaw


def _compute_tilts(changes: Sequence[int]) -> tuple[float, ...]:
    if not any(changes):
        return ()
    tilts = [0]
    for change in changes:
        tilts.append(max(-_TILTED_MOST, min(_TILTED_MOST, tilts[-1] + change)))
    return tuple(math.radians(tilt / MICRODEGREES) for tilt in tilts)


def _is_terminated(result: EpisodeResult) -> bool:
    """The agent gave its last stop."""
    stops = sum(entry == STOP for entry in result.actions)
    return result.cause is None and stops >= max(1, len(result.subtasks)) and result.actions[-1] == STOP


def _describe_subtasks(result: EpisodeResult, episode: Episode) -> tuple[dict[str, Any], ...]:
    pairs = zip(episode.subtasks, result.subtasks, strict=False)
    return tuple({"target": told.target, **msgspec.to_builtins(record)} for told, record in pairs)


def _decode(decoder: "msgspec.json.Decoder[T]", line: bytes, path: Path, at: int) -> T:
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{path} at byte {at}: {error}.") from error


@contextmanager
def record_trajectories(
    benchmark: BenchmarkConfig, run: Path, *, cache: Path, callbacks: RunCallbacks | None
) -> Iterator[RunCallbacks]:
    """The callbacks of a run whose trajectories are recorded, if its configuration asks for that."""
    callbacks = callbacks or RunCallbacks()
    if not TrajectoryRecorder.is_wanted(benchmark):
        yield callbacks
        return
    recorder = TrajectoryRecorder(benchmark, run, cache=cache)
    try:
        yield recorder.extend(callbacks)
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

    def extend(self, callbacks: RunCallbacks) -> RunCallbacks:
        """The callbacks, and this recorder before them."""

        def on_result(result: EpisodeResult, so_far: Any) -> None:  # noqa: ANN401 - the aggregator
            self.keep(result)
            callbacks.on_result(result, so_far)

        return replace(callbacks, on_result=on_result)

    def keep(self, result: EpisodeResult) -> None:
        """Write one episode's trajectory, whole or not at all."""
        if not is_scored(result) or not result.actions:
            return
        source = self._open_source()
        path = self._path(result)
        vectors = ActionVectors(self._benchmark.task)
        with TrajectoryWriter(path, vectors=vectors, about=self._benchmark.name) as writer:
            writer.write(source.trajectory_of(result), source.replay_frames(result))

    def catch_up(self) -> None:
        """What an interrupted run had played but not recorded."""
        for result in RunFolder(self._run).results():
            if not self._path(result).exists():
                self.keep(result)

    def close(self) -> None:
        if self._source is not None:
            self._source.close()

    def _path(self, result: EpisodeResult) -> Path:
        return self._run / "trajectories" / f"{make_file_name(result.episode_id)}{self._suffix}"

    def _open_source(self) -> RunTrajectories:
        if self._source is None:
            sensors = list(self._benchmark.sensors()) if self._benchmark.output.save_observations else ()
            self._source = RunTrajectories(self._run, sensors=sensors, cache=self._cache)
        return self._source
