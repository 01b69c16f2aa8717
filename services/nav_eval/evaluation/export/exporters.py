"""Export of a run as a dataset: what a format is, the built-in ones, and the walk over the run's episodes.

A format is a function that writes episodes as they come; each loads its library when it is used: none of them is
needed to evaluate. Episodes are chosen, replayed where pictures are wanted, and written one by one.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.action_vectors import ActionVectors
from nav_eval.dataset.trajectory import Frames, JsonTrajectoryFile, Trajectory, TrajectoryDataset, describe_task
from nav_eval.errors import ConfigError, RecordError
from nav_eval.evaluation.trajectories import RunTrajectories
from nav_eval.registry import Registry
from nav_eval.sensors import CameraSensor, RgbSensor


class Exported(NamedTuple):
    """One episode on its way out."""

    trajectory: Trajectory
    frames: Iterator[Frames]  #: one per pose, drawn when it is taken; none where no sensors were asked for


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportSetup:
    """What every format may know."""

    out: Path  #: does not exist yet; a file or a folder, as the format has it
    name: str  #: what the dataset is called
    benchmark: BenchmarkConfig
    about: dict[str, Any]  #: where it comes from: agent, engine, run
    sensors: tuple[str, ...]  #: what the frames hold
    fps: int  #: what a step pretends to last, for formats with a clock
    texts: tuple[str, ...]  #: what the agents are told in the episodes that will come

    @property
    def vectors(self) -> ActionVectors:
        return ActionVectors(self.benchmark.task)


Write: TypeAlias = Callable[[ExportSetup, Iterable[Exported]], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Exporter:
    """A format."""

    write: Write  #: takes the episodes one by one and keeps none
    sensors: Callable[[BenchmarkConfig], tuple[str, ...]]  #: what it holds unless somebody chooses


EXPORTERS: Registry[Exporter] = Registry("export format", entry_point_group="nav_eval.exporters")


def register_exporter(name: str, exporter: Exporter) -> None:
    """Make a format available as `--format name`."""
    EXPORTERS.register(name)(exporter)


def get_no_sensors(_: BenchmarkConfig) -> tuple[str, ...]:
    return ()


def find_colour_cameras(benchmark: BenchmarkConfig) -> tuple[str, ...]:
    return tuple(name for name, sensor in benchmark.sensors().items() if isinstance(sensor, RgbSensor))


def find_cameras(benchmark: BenchmarkConfig) -> tuple[str, ...]:
    return tuple(name for name, sensor in benchmark.sensors().items() if isinstance(sensor, CameraSensor))


class LibraryMissing(ConfigError):
    """A format needs a library that is not installed."""


def write_jsonl(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    """A line per trajectory."""
    file = JsonTrajectoryFile(setup.out, as_lines=True)
    try:
        for trajectory, _ in episodes:
            file.write(trajectory)
    finally:
        file.close()


def write_hdf5(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    """One file, as robomimic reads it."""
    from nav_eval.dataset.trajectory_hdf5 import Hdf5TrajectoryFile

    file = Hdf5TrajectoryFile(setup.out, vectors=setup.vectors, about=setup.benchmark.name)
    try:
        successes = []
        for number, (trajectory, frames) in enumerate(episodes):
            file.write(trajectory, frames)
            successes += [number] if trajectory.success else []
        file.mask("success", successes)
    finally:
        file.close()


def write_lerobot_v3(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    from nav_eval.evaluation.export.lerobot import write_v3

    write_v3(setup, episodes)


def write_lerobot_v21(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    from nav_eval.evaluation.export.lerobot import write_v21

    write_v21(setup, episodes)


def write_minari(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    from nav_eval.evaluation.export.minari import write

    write(setup, episodes)


def write_rrd(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
    from nav_eval.evaluation.export.rerun import write

    write(setup, episodes)


def _require_extra(extra: str, write: Write) -> Write:
    """A missing library is said with the command that installs it."""

    def write_checked(setup: ExportSetup, episodes: Iterable[Exported]) -> None:
        try:
            write(setup, episodes)
        except ModuleNotFoundError as error:
            raise LibraryMissing(
                f"This format needs {error.name}, which is not installed: pip install 'nav-eval[{extra}]'."
            ) from error

    return write_checked


register_exporter("jsonl", Exporter(write=write_jsonl, sensors=get_no_sensors))
register_exporter("hdf5", Exporter(write=_require_extra("export", write_hdf5), sensors=find_cameras))
register_exporter("lerobot-v3", Exporter(write=_require_extra("export", write_lerobot_v3), sensors=find_colour_cameras))
register_exporter(
    "lerobot-v2.1", Exporter(write=_require_extra("export", write_lerobot_v21), sensors=find_colour_cameras)
)
register_exporter("minari", Exporter(write=_require_extra("export", write_minari), sensors=find_colour_cameras))
register_exporter("rrd", Exporter(write=_require_extra("rerun", write_rrd), sensors=find_colour_cameras))


FPS = 10


class OutExists(RecordError):
    """There is something where the dataset should go; give another --out, or remove it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportProgress:
    """How far an export is."""

    episodes: int
    of_episodes: int
    steps: int
    of_steps: int


def export_run(
    run: Path,
    *,
    form: str,
    out: Path,
    where: str | None = None,
    sensors: Sequence[str] | None = None,
    limit: int | None = None,
    fps: int = FPS,
    name: str | None = None,
    cache: Path | None = None,
    on_progress: Callable[[ExportProgress], None] = lambda _: None,
) -> ExportProgress:
    """Write a run in another form. `out` appears when it is complete, or not at all."""
    exporter = EXPORTERS.get(form)
    about = RunTrajectories(run)
    chosen = tuple(exporter.sensors(about.benchmark) if sensors is None else sensors)
    source = RunTrajectories(run, sensors=chosen, cache=cache)
    dataset = source.dataset
    dataset = dataset.filter(where) if where else dataset
    dataset = dataset[:limit]
    if not len(dataset):
        raise RecordError(f"{run} has no trajectory to export" + (f" for which {where!r} holds." if where else "."))
    try:
        with _open_partial(out) as part:
            setup = ExportSetup(
                out=part,
                name=name or out.name.partition(".")[0],
                benchmark=source.benchmark,
                about={**source.manifest.agent, **source.manifest.digests, "engine": source.manifest.engine_version},
                sensors=chosen,
                fps=fps,
                texts=tuple(sorted({describe_task(head) for head in dataset.heads})),
            )
            walk = _ProgressCounter(dataset, on_progress)
            exporter.write(setup, walk.episodes())
    finally:
        source.close()
    return walk.progress


class _ProgressCounter:
    """The episodes of a dataset, counted as they go by."""

    def __init__(self, dataset: TrajectoryDataset, on_progress: Callable[[ExportProgress], None]) -> None:
        self._dataset = dataset
        self._on_progress = on_progress
        self.progress = ExportProgress(episodes=0, of_episodes=len(dataset), steps=0, of_steps=dataset.steps)

    def episodes(self) -> Iterator[Exported]:
        for index in range(len(self._dataset)):
            trajectory = self._dataset[index]
            yield Exported(trajectory, self._dataset.frames(index))
            self.progress = ExportProgress(
                episodes=index + 1,
                of_episodes=self.progress.of_episodes,
                steps=self.progress.steps + trajectory.length,
                of_steps=self.progress.of_steps,
            )
            self._on_progress(self.progress)


@contextmanager
def _open_partial(out: Path) -> Iterator[Path]:
    """A place to write to that becomes `out` when all went well."""
    if out.exists():
        raise OutExists(f"{out} exists already; give another --out, or remove it.")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.part")
    _remove(part)
    try:
        yield part
        part.rename(out)
    except BaseException:
        _remove(part)
        raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
