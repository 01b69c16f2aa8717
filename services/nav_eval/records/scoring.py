"""What counts in a mean and with which value, kept up to date episode by episode, and the sum that ranks.

Which episodes count: every episode that the agent could play, its own failures included, so that
crashing on the hard ones cannot raise a mean. What ended by our fault or was cancelled is listed and
counts nowhere. An agent's failure that left a score without a value scores 0 in it; a metric whose
small values are good has no such worst value, so there it is counted as invalid, and a run with such an
episode has no rank by it: who gives up must not gain.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from nav_eval.records.results import UNSCORED, EpisodeOutcome, EpisodeStatus

LARGEST_VALUE = 1e100
"""Magnitudes beyond this are invalid: their squares overflow, and nothing that is measured comes near."""

LOWER_IS_BETTER = frozenset(
    {
        "navigation_error",
        "oracle_navigation_error",
        "distance_to_goal",
        "ne",
        "dtw",
        "collisions",
        "steps",
        "time",
        "path_length",
    }
)
"""Metrics whose small values are good, for callers that have no metric registry at hand."""

LH_VLN_RANKING: Mapping[str, float] = {"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2}
"""How LH-VLN ranks where a task says nothing else."""


class ScoringRule(StrEnum):
    DOCUMENTED = "documented"  #: the printed formulas, macro-averaged over tasks
    REFERENCE = "reference"  #: what the published code computes


class CgtWeight(StrEnum):
    STEPS = "steps"  #: expert actions of the sub-task
    DISTANCE = "distance"  #: expert metres of the sub-task


def is_valid(value: float | None) -> bool:
    """Whether a score can be averaged: a finite number of a sane magnitude."""
    return value is not None and abs(value) <= LARGEST_VALUE  # false for NaN and ±inf alike


def is_higher_better(metric: str, directions: Mapping[str, bool] | None = None) -> bool:
    """The direction that `directions` states for `metric`, or else the customary one."""
    return (directions or {}).get(metric, metric not in LOWER_IS_BETTER)


YES_OR_NO = frozenset({"success", "oracle_success", "sr", "osr"})
"""Metrics that say whether something was reached; others may happen to be 0 and 1 in every episode of a run."""


def is_yes_or_no(metric: str) -> bool:
    return metric in YES_OR_NO or metric.startswith("acc@")


def is_scored(outcome: EpisodeOutcome) -> bool:
    """Whether an episode is part of the means."""
    return outcome.status is not EpisodeStatus.CANCELLED and outcome.cause not in UNSCORED


def get_scored_value(outcome: EpisodeOutcome, metric: str, *, higher_is_better: bool) -> float | None:
    """What `outcome` scores in `metric`; None where that is no number."""
    value = outcome.metrics.get(metric)
    if value is not None and is_valid(value):
        return float(value)
    return 0.0 if higher_is_better and outcome.status is not EpisodeStatus.COMPLETED else None


SUCCESS_METRICS = ("success", "sr")
"""What says whether an episode was solved, in this order."""


def find_success(outcome: EpisodeOutcome) -> bool | None:
    """Whether an episode was solved: by its own metric, or else by all of its sub-tasks; None where nothing says so."""
    if outcome.status is not EpisodeStatus.COMPLETED:
        return False
    for name in SUCCESS_METRICS:
        if (value := outcome.metrics.get(name)) is not None:
            return float(value) >= 1.0
    return all(subtask.success for subtask in outcome.subtasks) if outcome.subtasks else None


def compute_ranking_sum(weights: Mapping[str, float], value_of: Callable[[str], float | None]) -> float | None:
    """The weighted sum that ranks, exactly rounded; None where a part of it has no value."""
    parts = [(weight, value_of(name)) for name, weight in weights.items()]
    known = [weight * value for weight, value in parts if value is not None]
    return math.fsum(known) if len(known) == len(parts) else None


def compute_ranking_value(
    outcome: EpisodeOutcome, weights: Mapping[str, float], directions: Mapping[str, bool] | None = None
) -> float | None:
    """What one episode adds to the ranking; None where a part of it is no number."""
    return compute_ranking_sum(
        weights, lambda name: get_scored_value(outcome, name, higher_is_better=is_higher_better(name, directions))
    )


@dataclass(slots=True)
class RunningMean:
    """Mean and spread so far, by Welford's update; two of them merge into that of all their values."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0  #: summed squared distances from the mean
    failures: int = 0  #: of the values that are an agent's failures

    def add(self, value: float, *, failed: bool = False) -> None:
        self.merge(RunningMean(1, value, 0.0, int(failed)))

    def merge(self, other: "RunningMean") -> None:
        count = self.count + other.count
        if other.count == 0:
            return
        distance = other.mean - self.mean
        self.squares += other.squares + distance**2 * self.count * other.count / count
        self.mean += distance * other.count / count
        self.count, self.failures = count, self.failures + other.failures

    def with_zeros(self, zeros: int) -> "RunningMean":
        """The same with `zeros` values of 0 more, in one step."""
        if zeros == 0:
            return self
        count = self.count + zeros
        squares = self.squares + self.mean**2 * self.count * zeros / count
        return RunningMean(count, self.mean * self.count / count, squares, self.failures + zeros)

    @property
    def std(self) -> float | None:
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else None


@dataclass(slots=True)
class ScoreTally:
    """Means while episodes come in, at a cost per episode that does not grow; tallies of shards merge."""

    episodes: int = 0
    failures: int = 0  #: episodes that an agent's fault ended
    steps: int = 0
    seconds: float = 0.0  #: what the episodes took, as far as they say
    metrics: dict[str, RunningMean] = field(default_factory=dict)

    def add(self, outcome: EpisodeOutcome) -> None:
        """Take in an episode that is scored."""
        failed = outcome.status is not EpisodeStatus.COMPLETED
        self.episodes += 1
        self.failures += failed
        self.steps += outcome.num_steps
        self.seconds += outcome.timing.get("total", 0.0)
        for name, value in outcome.metrics.items():
            running = self.metrics.setdefault(name, RunningMean())
            if value is not None and is_valid(value):
                running.add(float(value), failed=failed)

    def merge(self, other: "ScoreTally") -> None:
        self.episodes += other.episodes
        self.failures += other.failures
        self.steps += other.steps
        self.seconds += other.seconds
        for name, running in other.metrics.items():
            self.metrics.setdefault(name, RunningMean()).merge(running)

    def get_running_means(self, directions: Mapping[str, bool] | None = None) -> dict[str, RunningMean]:
        """By metric; failures without a value are in them, those before a metric was first seen too."""
        return {
            name: running.with_zeros(self.failures - running.failures if is_higher_better(name, directions) else 0)
            for name, running in self.metrics.items()
        }

    def means(self, directions: Mapping[str, bool] | None = None) -> dict[str, float | None]:
        """The mean of each metric so far; None where no episode has a value."""
        running = self.get_running_means(directions)
        return {name: each.mean if each.count else None for name, each in running.items()}

    def to_json(self) -> dict[str, Any]:
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ScoreTally":
        return msgspec.convert(data, cls)

    @classmethod
    def from_parts(cls, tallies: Iterable[Mapping[str, Any]]) -> "ScoreTally":
        """The tally of all, each given as JSON."""
        total = cls()
        for data in tallies:
            total.merge(cls.from_json(data))
        return total
