"""Means while a submission runs, at a cost that does not grow with the number of episodes.

Each shard carries its own tally, which only the holder of its lease changes; the tallies of all
shards merge into the submission's. The rules are those of the engine's aggregation: an agent's
failure without a value scores 0 where high values are good, and our own failures count nowhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import msgspec

from nav_eval.metrics.statistics import is_higher_better, is_valid
from nav_eval_store.causes import UNSCORED, Cause
from nav_eval_store.errors import BadRecord
from nav_eval_store.models import EpisodeStatus

LONGEST_OUTCOME = 1 << 20
LONGEST_LINE = 64 << 20
"""Bytes of a whole line, trajectory and actions included."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the store reads of a line of episodes.jsonl; the line itself is kept as it came."""

    episode_id: str
    status: EpisodeStatus
    metrics: dict[str, bool | float | None]
    num_steps: int
    scene_id: str | None = None
    cause: Cause | None = None
    detail: str | None = None
    timing: dict[str, float] = {}


_HEAVY = ("trajectory", "actions", "randomization", "action_digest")
"""Keys that only replay needs: they go to a blob, not into the row."""


def parse(line: bytes | str) -> Outcome:
    """A line that can be kept; the message of a refusal names the field."""
    if len(line) > LONGEST_OUTCOME:
        raise BadRecord(f"A result has {len(line):,} bytes; without trajectory and actions it must be under 1 MB.")
    try:
        return msgspec.json.decode(line, type=Outcome)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadRecord(f"This is not a line of episodes.jsonl: {error}.") from error


def without_replay(line: bytes) -> bytes:
    """The line without what only replay needs."""
    if len(line) > LONGEST_LINE:
        raise BadRecord(f"A result has {len(line):,} bytes; no episode has so many steps.")
    try:
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadRecord(f"This is not a line of episodes.jsonl: {error}.") from error
    return msgspec.json.encode({key: value for key, value in fields.items() if key not in _HEAVY})


def is_scored(outcome: Outcome) -> bool:
    """Whether an episode is part of the means."""
    return outcome.status is not EpisodeStatus.CANCELLED and outcome.cause not in UNSCORED


def scored_value(outcome: Outcome, metric: str, *, higher_is_better: bool) -> float | None:
    """What an episode scores; None where that is no number."""
    value = outcome.metrics.get(metric)
    if value is not None and is_valid(value):
        return float(value)
    return 0.0 if higher_is_better and outcome.status is not EpisodeStatus.COMPLETED else None


@dataclass(slots=True)
class Running:
    """Mean and spread so far, by Welford's update."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0  #: summed squared distances from the mean
    failures: int = 0  #: of the values that are an agent's failures

    def add(self, value: float, *, failed: bool) -> None:
        self.merge(Running(1, value, 0.0, int(failed)))

    def merge(self, other: "Running") -> None:
        count = self.count + other.count
        if other.count == 0:
            return
        distance = other.mean - self.mean
        self.squares += other.squares + distance**2 * self.count * other.count / count
        self.mean += distance * other.count / count
        self.count, self.failures = count, self.failures + other.failures

    @property
    def std(self) -> float | None:
        return sqrt(self.squares / (self.count - 1)) if self.count > 1 else None


@dataclass(slots=True)
class Tally:
    """What the finished episodes of a shard, or of several, amount to."""

    episodes: int = 0
    failures: int = 0  #: episodes that an agent's fault ended
    steps: int = 0
    seconds: float = 0.0  #: what the episodes took, as far as they say
    metrics: dict[str, Running] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        failed = outcome.status is not EpisodeStatus.COMPLETED
        self.episodes += 1
        self.failures += failed
        self.steps += outcome.num_steps
        self.seconds += outcome.timing.get("total", 0.0)
        for name, value in outcome.metrics.items():
            running = self.metrics.setdefault(name, Running())
            if value is not None and is_valid(value):
                running.add(float(value), failed=failed)

    def merge(self, other: "Tally") -> None:
        self.episodes += other.episodes
        self.failures += other.failures
        self.steps += other.steps
        self.seconds += other.seconds
        for name, running in other.metrics.items():
            self.metrics.setdefault(name, Running()).merge(running)

    def means(self, directions: Mapping[str, bool] | None = None) -> dict[str, float | None]:
        """The mean of each metric so far, failures without a value included."""
        return {name: self._mean(name, running, directions) for name, running in self.metrics.items()}

    def _mean(self, name: str, running: Running, directions: Mapping[str, bool] | None) -> float | None:
        zeros = self.failures - running.failures if is_higher_better(name, directions) else 0
        total = running.count + zeros
        return running.mean * running.count / total if total else None

    def to_json(self) -> dict[str, Any]:
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Tally":
        return msgspec.convert(data, cls)


def merged(tallies: Iterable[Mapping[str, Any]]) -> Tally:
    """The tally of all."""
    total = Tally()
    for data in tallies:
        total.merge(Tally.from_json(data))
    return total
