"""What a metric is, and which ones exist.

A metric follows one episode: `reset`, one `update` per action, `get` whenever somebody asks. It may
build on others (`requires`); the suite creates those too, in an order in which each finds its
requirements already up to date, whatever order the configuration lists them in.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from nav_eval.errors import ConfigError
from nav_eval.records.geometry import Vec3
from nav_eval.registry import Registry


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeStart:
    """What a metric may know when an episode begins."""

    position: Vec3
    distance_to_goal: float  #: geodesic metres to the nearest goal, inf when unreachable
    shortest_path_length: float  #: what path lengths are compared with; usually the distance at the start
    success_distance: float  #: strictly closer is a success
    stop_needed: bool = True  #: a success must be claimed by a stop
    reference_path: tuple[Vec3, ...] = ()  #: what trajectories are compared with; its density matters to nDTW


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What one action led to."""

    position: Vec3
    distance_to_goal: float
    stopped: bool = False  #: the action was the stop that ends the episode
    collided: bool = False
    seconds: float = 0.0  #: wall clock since the previous step


Parameters = Mapping[str, bool | float | str]


class Metric(ABC):
    """One number about one episode."""

    requires: ClassVar[tuple[str, ...]] = ()
    higher_is_better: ClassVar[bool] = True
    lasting: ClassVar[bool] = False
    """Whether nothing that an agent does later can make it worse."""
    parameters: ClassVar[tuple[str, ...]] = ()
    """What a configuration may set about this metric."""

    def __init__(self, others: Mapping[str, "Metric"], chosen: Parameters) -> None:
        self.others = others
        self.chosen = chosen

    def reset(self, start: EpisodeStart) -> None:
        """Forget the last episode and begin a new one."""
        self.start = start

    def update(self, step: Step) -> None:  # noqa: B027 - metrics made of others have nothing to keep
        """Take one step into account; everything in `requires` already has."""

    @property
    def success_distance(self) -> float:
        """The metric's own, where it has that parameter, or the benchmark's."""
        return float(self.chosen.get("success_distance", self.start.success_distance))

    @abstractmethod
    def get(self) -> float:
        """The value so far, the final one after the last step; NaN or infinite where there is none."""


M = TypeVar("M", bound=type[Metric])

METRICS: Registry[type[Metric]] = Registry("metric", entry_point_group="nav_eval.metrics")


def register_metric(name: str) -> Callable[[M], M]:
    """Class decorator: make a metric available to configurations as `name`."""

    def add(cls: M) -> M:
        METRICS.register(name)(cls)
        return cls

    return add


class MetricSuite:
    """The metrics of one episode, each updated after those it builds on."""

    def __init__(self, names: Iterable[str], *, parameters: Mapping[str, Parameters] | None = None) -> None:
        self.names = tuple(dict.fromkeys(names))
        self._metrics: dict[str, Metric] = {}
        for name in _sort_by_requirements(self.names):
            self._metrics[name] = _make_metric(name, self._metrics, (parameters or {}).get(name, {}))

    def reset(self, start: EpisodeStart) -> None:
        for metric in self._metrics.values():
            metric.reset(start)

    def update(self, step: Step) -> None:
        for metric in self._metrics.values():
            metric.update(step)

    def values(self, *, aborted: bool = False) -> dict[str, float | None]:
        """The asked-for metrics in the order in which they were asked for; None where there is no number.

        In an episode that the agent's fault ended, only what lasts is kept: it might have walked away. All else is 0
        where more is better, and has no value where less is.
        """
        values = {name: self._metrics[name].get() for name in self.names}
        known = {name: value if math.isfinite(value) else None for name, value in values.items()}
        return {name: self._forfeit(name, value) for name, value in known.items()} if aborted else known

    def _forfeit(self, name: str, value: float | None) -> float | None:
        metric = self._metrics[name]
        if metric.lasting:
            return value
        return min(0.0, value or 0.0) if metric.higher_is_better else None


def _make_metric(name: str, others: Mapping[str, Metric], chosen: Parameters) -> Metric:
    metric_class = METRICS.get(name)
    unknown = sorted(set(chosen) - set(metric_class.parameters))
    if unknown:
        known = ", ".join(metric_class.parameters) or "none"
        raise ConfigError(f"Metric {name!r} has no parameter {unknown[0]!r}; it takes: {known}.")
    return metric_class(others, chosen)


def _sort_by_requirements(names: Iterable[str]) -> list[str]:
    """The names and all they require, requirements first."""
    ordered: dict[str, None] = {}
    open_names: list[str] = []

    def visit(name: str) -> None:
        if name in ordered:
            return
        if name in open_names:
            raise ConfigError(f"Metrics require each other in a circle: {' → '.join([*open_names, name])}.")
        open_names.append(name)
        for required in METRICS.get(name).requires:
            visit(required)
        open_names.pop()
        ordered[name] = None

    for name in names:
        visit(name)
    return list(ordered)
