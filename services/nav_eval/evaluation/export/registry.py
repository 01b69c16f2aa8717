"""What a format is: a function that writes episodes as they come."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from nav_eval.config.schema import BenchmarkConfig, PictureSensor, RgbSensor
from nav_eval.dataset.trajectory import Frames, Trajectory
from nav_eval.dataset.vectors import ActionVectors
from nav_eval.registry import Registry


class Exported(NamedTuple):
    """One episode on its way out."""

    trajectory: Trajectory
    frames: Iterator[Frames]
    """One per pose, drawn when it is taken; none where no sensors were asked for."""


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


def no_sensors(_: BenchmarkConfig) -> tuple[str, ...]:
    return ()


def colour_cameras(benchmark: BenchmarkConfig) -> tuple[str, ...]:
    return tuple(name for name, sensor in benchmark.sensors().items() if isinstance(sensor, RgbSensor))


def all_cameras(benchmark: BenchmarkConfig) -> tuple[str, ...]:
    return tuple(name for name, sensor in benchmark.sensors().items() if isinstance(sensor, PictureSensor))
