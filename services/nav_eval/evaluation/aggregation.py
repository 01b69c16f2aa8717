"""From single episodes to what a run amounts to: live while it runs, with intervals when it is done.

Which episodes count, and with which value, says `nav_eval.records.scoring`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

import nav_eval
from nav_eval.errors import RecordError
from nav_eval.evaluation.offline_scoring import compute_long_horizon_scores
from nav_eval.evaluation.report import GROUPINGS, Counts, FailedEpisode, Grouping, Report, ReportHeader, write_report
from nav_eval.metrics.statistics import Bootstrap, Statistics, summarize, to_natural_key
from nav_eval.records.results import EpisodeOutcome, EpisodeStatus, encode_result
from nav_eval.records.scoring import RunningMean, ScoreTally, get_scored_value, is_higher_better, is_scored

GROUP_REPLICATES = 1_999  #: groups are many and small; their intervals are drawn with fewer replicates


class DuplicateEpisode(RecordError):
    """Two different results for one episode; keep the right one."""


def list_metric_names(outcomes: Iterable[EpisodeOutcome]) -> list[str]:
    """Every metric that occurs, in the order in which episodes list them."""
    ordered = sorted(outcomes, key=lambda outcome: to_natural_key(outcome.episode_id))
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
        if known is not None and _encode_identity(known) != _encode_identity(outcome):
            raise DuplicateEpisode(f"Episode {outcome.episode_id!r} has two different results; keep the right one.")
        self._by_id[outcome.episode_id] = outcome
        return known is None

    def to_list(self) -> list[EpisodeOutcome]:
        return [self._by_id[key] for key in sorted(self._by_id, key=to_natural_key)]

    def __len__(self) -> int:
        return len(self._by_id)


def _encode_identity(outcome: EpisodeOutcome) -> bytes:
    """All but the clock, which differs when an episode is played again."""
    return encode_result(msgspec.structs.replace(outcome, timing={}))


class RealtimeAggregator:
    """Means while a run goes on, at a cost per episode that does not grow."""

    def __init__(self, *, directions: Mapping[str, bool] | None = None) -> None:
        self._directions = directions
        self._tally = ScoreTally()
        self.statuses: Counter[EpisodeStatus] = Counter()
        """Episodes by how they ended, unscored ones included."""

    def add(self, outcome: EpisodeOutcome) -> None:
        self.statuses[outcome.status] += 1
        if is_scored(outcome):
            self._tally.add(outcome)

    def current(self) -> dict[str, RunningMean]:
        """The means so far."""
        return self._tally.get_running_means(self._directions)


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
        every = EpisodeSet(outcomes).to_list()
        scored = [outcome for outcome in every if is_scored(outcome)]
        names = list_metric_names(every)
        failed = [_make_failed_episode(outcome) for outcome in every if outcome.status is not EpisodeStatus.COMPLETED]
        return Aggregation(
            metrics=self.statistics(scored, names),
            groups={key: self.by_group(scored, names, grouping) for key, grouping in self.groupings.items()},
            failures=dict(Counter(failure.reason for failure in failed).most_common()),
            failed=failed,
            invalid=self._invalid(scored, names),
            counts=_count_episodes(every, scored),
            higher_is_better={name: is_higher_better(name, self.directions) for name in names},
        )

    def statistics(self, scored: Sequence[EpisodeOutcome], names: Iterable[str]) -> dict[str, Statistics]:
        """Statistics of `names` over `scored`."""
        scenes = [outcome.scene_id for outcome in scored]
        return {name: summarize(self._values(scored, name), scenes=scenes, bootstrap=self.bootstrap) for name in names}

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
        return {label: lighter.statistics(members[label], names) for label in sorted(members, key=to_natural_key)}

    def _lighter_bootstrap(self) -> Bootstrap:
        return replace(self.bootstrap, replicates=min(self.bootstrap.replicates, GROUP_REPLICATES))

    def _values(self, scored: Sequence[EpisodeOutcome], name: str) -> list[float | None]:
        higher = is_higher_better(name, self.directions)
        return [get_scored_value(outcome, name, higher_is_better=higher) for outcome in scored]

    def _invalid(self, scored: Sequence[EpisodeOutcome], names: Iterable[str]) -> dict[str, list[str]]:
        ids = [outcome.episode_id for outcome in scored]
        without = {
            name: [key for key, value in zip(ids, self._values(scored, name), strict=True) if value is None]
            for name in names
        }
        return {name: keys for name, keys in without.items() if keys}


def _make_failed_episode(outcome: EpisodeOutcome) -> FailedEpisode:
    return FailedEpisode(
        episode_id=outcome.episode_id,
        reason=outcome.cause or outcome.status.value,
        scored=is_scored(outcome),
        detail=outcome.detail,
    )


def _count_episodes(every: Sequence[EpisodeOutcome], scored: Sequence[EpisodeOutcome]) -> Counts:
    return Counts(
        episodes=len(every),
        scored=len(scored),
        completed=sum(outcome.status is EpisodeStatus.COMPLETED for outcome in every),
        scenes=len({outcome.scene_id for outcome in scored if outcome.scene_id is not None}),
    )


class MetricsAggregator:
    """Collects the episodes of one run; the specification's interface."""

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
        scored = [outcome for outcome in self._episodes.to_list() if is_scored(outcome)]
        return self._final.statistics(scored, list_metric_names(self._episodes.to_list()))

    def report(self) -> Report:
        """The whole results.json as a record."""
        return build_report(self._episodes.to_list(), header=self._header, final=self._final)

    def export_json(self, path: str | Path) -> None:
        """Write results.json whole or not at all."""
        write_report(Path(path), self.report())


def build_report(
    outcomes: Sequence[EpisodeOutcome], *, header: ReportHeader, final: FinalAggregator | None = None
) -> Report:
    """Aggregate `outcomes` and put the numbers under the specification's keys."""
    final = final or FinalAggregator(directions=header.higher_is_better)
    aggregation = final.aggregate(outcomes)
    about: dict[str, Any] = msgspec.structs.asdict(header) | {
        "timestamp": header.timestamp or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "engine_version": header.engine_version or nav_eval.__version__,
        "higher_is_better": header.higher_is_better | aggregation.higher_is_better,
    }
    return Report(
        **about,
        episodes=EpisodeSet(outcomes).to_list(),
        aggregated=aggregation.metrics,
        failed_episodes=aggregation.failed,
        counts=aggregation.counts,
        failures=aggregation.failures,
        invalid_values=aggregation.invalid,
        groups=aggregation.groups,
        bootstrap=final.bootstrap,
        scores=compute_long_horizon_scores(header.config, filter(is_scored, outcomes)),
    )
