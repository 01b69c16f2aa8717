"""From single episodes to what a run amounts to: live while it runs, with intervals when it is done.

Which episodes count: every episode that the agent could play, its own failures included, so that
crashing on the hard ones cannot raise a mean. What ended by our fault or was cancelled is listed and
counts nowhere. An agent's failure that left a score without a value scores 0 in it; a metric whose
small values are good has no such worst value, so there it is counted as invalid.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from typing import Any

import msgspec

import nav_eval
from nav_eval.causes import UNSCORED
from nav_eval.errors import RecordError
from nav_eval.evaluation.grouping import GROUPINGS, Grouping
from nav_eval.evaluation.report import Counts, FailedEpisode, Report, ReportHeader, write_report
from nav_eval.evaluation.results import EpisodeOutcome, EpisodeStatus, encode
from nav_eval.evaluation.scoring.board import long_horizon_scores
from nav_eval.metrics.bootstrap import Bootstrap
from nav_eval.metrics.statistics import Statistics, is_higher_better, is_valid, natural_order, summarise

GROUP_REPLICATES = 1_999
"""Groups are many and small; their intervals are drawn with fewer replicates."""


class DuplicateEpisode(RecordError):
    """Two different results for one episode; keep the right one."""


def is_scored(outcome: EpisodeOutcome) -> bool:
    """Whether an episode is part of the means."""
    return outcome.status is not EpisodeStatus.CANCELLED and outcome.cause not in UNSCORED


def scored_value(outcome: EpisodeOutcome, metric: str, *, higher_is_better: bool) -> float | None:
    """What `outcome` scores in `metric`; None where that is no number."""
    value = outcome.metrics.get(metric)
    if value is not None and is_valid(value):
        return float(value)
    return 0.0 if higher_is_better and outcome.status is not EpisodeStatus.COMPLETED else None


def metric_names(outcomes: Iterable[EpisodeOutcome]) -> list[str]:
    """Every metric that occurs, in the order in which episodes list them."""
    ordered = sorted(outcomes, key=lambda outcome: natural_order(outcome.episode_id))
    return list(dict.fromkeys(name for outcome in ordered for name in outcome.metrics))


class EpisodeSet:
    """Results by episode: the same one twice is one, two different ones are refused."""

    def __init__(self, outcomes: Iterable[EpisodeOutcome] = ()) -> None:
        self._by_id: dict[str, EpisodeOutcome] = {}
        for outcome in outcomes:
            self.add(outcome)

    def add(self, outcome: EpisodeOutcome) -> bool:
        """True if the episode is new."""
        known = self._by_id.get(outcome.episode_id)
        if known is not None and _identity(known) != _identity(outcome):
            raise DuplicateEpisode(f"Episode {outcome.episode_id!r} has two different results; keep the right one.")
        self._by_id[outcome.episode_id] = outcome
        return known is None

    def sorted(self) -> list[EpisodeOutcome]:
        return [self._by_id[key] for key in sorted(self._by_id, key=natural_order)]

    def __len__(self) -> int:
        return len(self._by_id)


def _identity(outcome: EpisodeOutcome) -> bytes:
    """All but the clock, which differs when an episode is played again."""
    return encode(msgspec.structs.replace(outcome, timing={}))


@dataclass(frozen=True, slots=True)
class Running:
    """Mean and spread so far, by Welford's update."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0  #: summed squared distances from the mean

    @property
    def std(self) -> float | None:
        return sqrt(self.squares / (self.count - 1)) if self.count > 1 else None

    def and_value(self, value: float) -> "Running":
        count = self.count + 1
        mean = self.mean + (value - self.mean) / count
        return Running(count, mean, self.squares + (value - self.mean) * (value - mean))

    def and_zeros(self, zeros: int) -> "Running":
        if zeros == 0:
            return self
        count = self.count + zeros
        squares = self.squares + self.mean**2 * self.count * zeros / count
        return Running(count, self.mean * self.count / count, squares)


class RealtimeAggregator:
    """Means while a run goes on, at a cost per episode that does not grow."""

    def __init__(self, *, directions: Mapping[str, bool] | None = None) -> None:
        self._directions = directions
        self._running: dict[str, Running] = {}
        self._failures_with_value: Counter[str] = Counter()
        self._failures = 0
        self.statuses: Counter[EpisodeStatus] = Counter()
        """Episodes by how they ended, unscored ones included."""

    def add(self, outcome: EpisodeOutcome) -> None:
        self.statuses[outcome.status] += 1
        if not is_scored(outcome):
            return
        failed = outcome.status is not EpisodeStatus.COMPLETED
        self._failures += failed
        for name, value in outcome.metrics.items():
            running = self._running.setdefault(name, Running())
            if value is not None and is_valid(value):
                self._running[name] = running.and_value(float(value))
                self._failures_with_value[name] += failed

    def current(self) -> dict[str, Running]:
        """The means so far; failures that came before a metric was first seen are in them too."""
        return {name: running.and_zeros(self._zeros(name)) for name, running in self._running.items()}

    def _zeros(self, name: str) -> int:
        higher = is_higher_better(name, self._directions)
        return self._failures - self._failures_with_value[name] if higher else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregation:
    """A whole run in numbers."""

    metrics: dict[str, Statistics]  #: over all scored episodes
    groups: dict[str, dict[str, dict[str, Statistics]]]  #: grouping → label → metric
    failures: dict[str, int]  #: episodes by cause, most frequent first
    failed: list[FailedEpisode]  #: those that did not complete
    invalid: dict[str, list[str]]  #: metric → scored episodes without a number
    counts: Counts
    higher_is_better: dict[str, bool]  #: by metric


@dataclass(frozen=True, kw_only=True, slots=True)
class FinalAggregator:
    """Statistics with intervals, over all and by group. The order of the episodes does not matter."""

    directions: Mapping[str, bool] | None = None  #: metric → higher is better
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    groupings: Mapping[str, Grouping] = field(default_factory=lambda: GROUPINGS)

    def aggregate(self, outcomes: Iterable[EpisodeOutcome]) -> Aggregation:
        every = EpisodeSet(outcomes).sorted()
        scored = [outcome for outcome in every if is_scored(outcome)]
        names = metric_names(every)
        failed = [_failed(outcome) for outcome in every if outcome.status is not EpisodeStatus.COMPLETED]
        return Aggregation(
            metrics=self.statistics(scored, names),
            groups={key: self.by_group(scored, names, grouping) for key, grouping in self.groupings.items()},
            failures=dict(Counter(failure.reason for failure in failed).most_common()),
            failed=failed,
            invalid=self._invalid(scored, names),
            counts=_counts(every, scored),
            higher_is_better={name: is_higher_better(name, self.directions) for name in names},
        )

    def statistics(self, scored: Sequence[EpisodeOutcome], names: Iterable[str]) -> dict[str, Statistics]:
        """Statistics of `names` over `scored`."""
        scenes = [outcome.scene_id for outcome in scored]
        return {name: summarise(self._values(scored, name), scenes=scenes, bootstrap=self.bootstrap) for name in names}

    def by_group(
        self, scored: Sequence[EpisodeOutcome], names: Sequence[str], grouping: Grouping
    ) -> dict[str, dict[str, Statistics]]:
        """Statistics per label of `grouping`; episodes without a label are left out."""
        members: dict[str, list[EpisodeOutcome]] = {}
        for outcome in scored:
            label = grouping(outcome)
            if label is not None:
                members.setdefault(label, []).append(outcome)
        lighter = replace(self, bootstrap=self._lighter_bootstrap())
        return {label: lighter.statistics(members[label], names) for label in sorted(members, key=natural_order)}

    def _lighter_bootstrap(self) -> Bootstrap:
        return replace(self.bootstrap, replicates=min(self.bootstrap.replicates, GROUP_REPLICATES))

    def _values(self, scored: Sequence[EpisodeOutcome], name: str) -> list[float | None]:
        higher = is_higher_better(name, self.directions)
        return [scored_value(outcome, name, higher_is_better=higher) for outcome in scored]

    def _invalid(self, scored: Sequence[EpisodeOutcome], names: Iterable[str]) -> dict[str, list[str]]:
        ids = [outcome.episode_id for outcome in scored]
        without = {
            name: [key for key, value in zip(ids, self._values(scored, name), strict=True) if value is None]
            for name in names
        }
        return {name: keys for name, keys in without.items() if keys}


def _failed(outcome: EpisodeOutcome) -> FailedEpisode:
    return FailedEpisode(
        episode_id=outcome.episode_id,
        reason=outcome.cause or outcome.status.value,
        scored=is_scored(outcome),
        detail=outcome.detail,
    )


def _counts(every: Sequence[EpisodeOutcome], scored: Sequence[EpisodeOutcome]) -> Counts:
    return Counts(
        episodes=len(every),
        scored=len(scored),
        completed=sum(outcome.status is EpisodeStatus.COMPLETED for outcome in every),
        scenes=len({outcome.scene_id for outcome in scored if outcome.scene_id is not None}),
    )


class MetricsAggregator:
    """Collects the episodes of one run; the seeds' interface."""

    def __init__(self, header: ReportHeader | None = None, *, bootstrap: Bootstrap | None = None) -> None:
        self._header = header or ReportHeader()
        self._episodes = EpisodeSet()
        self._final = FinalAggregator(directions=self._header.higher_is_better, bootstrap=bootstrap or Bootstrap())
        self.realtime = RealtimeAggregator(directions=self._header.higher_is_better)

    def add_episode_result(self, result: EpisodeOutcome) -> None:
        """Take one episode into account; the same result again changes nothing, a different one is refused."""
        if self._episodes.add(result):
            self.realtime.add(result)

    def get_aggregated_metrics(self) -> dict[str, Statistics]:
        """Statistics with intervals over the episodes so far."""
        scored = [outcome for outcome in self._episodes.sorted() if is_scored(outcome)]
        return self._final.statistics(scored, metric_names(self._episodes.sorted()))

    def report(self) -> Report:
        """The whole results.json as a record."""
        return build_report(self._episodes.sorted(), header=self._header, final=self._final)

    def export_json(self, path: str | Path) -> None:
        """Write results.json whole or not at all."""
        write_report(Path(path), self.report())


def build_report(
    outcomes: Sequence[EpisodeOutcome], *, header: ReportHeader, final: FinalAggregator | None = None
) -> Report:
    """Aggregate `outcomes` and put the numbers under the seeds' keys."""
    final = final or FinalAggregator(directions=header.higher_is_better)
    aggregation = final.aggregate(outcomes)
    about: dict[str, Any] = msgspec.structs.asdict(header) | {
        "timestamp": header.timestamp or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "engine_version": header.engine_version or nav_eval.__version__,
        "higher_is_better": header.higher_is_better | aggregation.higher_is_better,
    }
    return Report(
        **about,
        episodes=EpisodeSet(outcomes).sorted(),
        aggregated=aggregation.metrics,
        failed_episodes=aggregation.failed,
        counts=aggregation.counts,
        failures=aggregation.failures,
        invalid_values=aggregation.invalid,
        groups=aggregation.groups,
        bootstrap=final.bootstrap,
        scores=long_horizon_scores(header.config, filter(is_scored, outcomes)),
    )
