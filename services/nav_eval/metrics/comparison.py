"""Is one run better than another, or did it only draw the luckier episodes?

Two runs on the same episodes are compared pair by pair: what makes an episode hard cancels out, and
far smaller differences can be told from chance than by looking at two separate intervals. Ranks are
shared where the episodes cannot tell entries apart. The rule is in `compute_shared_ranks`, the formulas in
docs/statistics.md.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from nav_eval.errors import RecordError
from nav_eval.metrics.statistics import (
    Bootstrap,
    FloatArray,
    compute_exact_mean,
    compute_ratio,
    estimate,
    make_resampling_units,
)
from nav_eval.records.scoring import is_valid

EXACT_BELOW = 25
"""McNemar's test is exact with fewer discordant pairs than this, and a corrected χ² from there on."""
POWER_FACTOR = 2.8
"""Standard errors that a difference must span to be found at 95 % in four of five repetitions: 1.96 + 0.84."""


class RunsDiffer(RecordError):
    """Two runs are not on the same episodes, so they cannot be compared; the message names the difference."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunScores:
    """One metric of one run."""

    name: str  #: of the run, for messages and tables
    values: Mapping[str, float | None]  #: by episode id
    scenes: Mapping[str, str | None] = field(default_factory=dict)  #: by episode id; may be empty


@dataclass(frozen=True, kw_only=True, slots=True)
class McNemar:
    """Two runs on yes-or-no outcomes: only the episodes on which they disagree speak."""

    only_first: int  #: episodes that the first run alone succeeds in
    only_second: int  #: episodes that the second run alone succeeds in
    p_value: float  #: two-sided, of "both succeed equally often"
    exact: bool  #: binomial (few disagreements) or χ² with continuity correction


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One metric, two runs, the same episodes. Differences are first minus second."""

    count: int  #: pairs in which both values are valid
    invalid: int  #: pairs left out because a value is missing, NaN or infinite
    first_mean: float
    second_mean: float
    difference: float
    ci_low: float  #: of the difference, scenes resampled
    ci_high: float
    p_value: float  #: two-sided, by the same bootstrap
    significant: bool  #: the p-value is at most 1 − confidence
    detectable: float  #: the smallest true difference that so many episodes would find four times out of five
    scenes: int  #: different scenes among the pairs
    note: str | None  #: what a reader must know before trusting the interval
    mcnemar: McNemar | None  #: where every value is 0 or 1


def compare(
    first: RunScores, second: RunScores, *, yes_or_no: bool = True, bootstrap: Bootstrap | None = None
) -> Comparison:
    """Compare two runs pair by pair; refuse runs whose episodes differ. McNemar's test is for yes-or-no metrics."""
    episodes = find_shared_episodes([first, second])
    pairs = [(first.values[e], second.values[e]) for e in episodes]
    kept = [i for i, (a, b) in enumerate(pairs) if is_valid(a) and is_valid(b)]
    if not kept:
        raise RunsDiffer(f"{first.name} and {second.name} share no episode in which both have a valid value.")
    numbers = np.array([pairs[i] for i in kept], dtype=np.float64)
    known = find_shared_scenes([first, second])
    scenes = [known.get(episodes[i]) for i in kept]
    return _compare_pairs(
        numbers, scenes, bootstrap or Bootstrap(), invalid=len(pairs) - len(kept), yes_or_no=yes_or_no
    )


def _compare_pairs(
    numbers: FloatArray, scenes: Sequence[str | None], bootstrap: Bootstrap, *, invalid: int, yes_or_no: bool
) -> Comparison:
    differences = numbers[:, 0] - numbers[:, 1]
    columns = np.column_stack([differences, np.ones_like(differences)])
    difference = estimate(columns, compute_ratio, scenes=scenes, bootstrap=bootstrap)
    differing = int(np.count_nonzero(differences))
    p_value = max(difference.p_value, compute_smallest_p(differing))
    binary = bool(np.isin(numbers, (0.0, 1.0)).all())
    return Comparison(
        count=len(numbers),
        invalid=invalid,
        first_mean=compute_exact_mean(numbers[:, 0]),
        second_mean=compute_exact_mean(numbers[:, 1]),
        difference=difference.value,
        ci_low=difference.low,
        ci_high=difference.high,
        p_value=p_value,
        significant=bootstrap.rejects(p_value),
        detectable=POWER_FACTOR * difference.spread,
        scenes=difference.scenes,
        note=_choose_note(differing, difference.note, bootstrap),
        mcnemar=compute_mcnemar_of_pairs(numbers) if binary and yes_or_no else None,
    )


def compute_smallest_p(differing: int) -> float:
    """The least p-value that so many differing episodes can give a test that flips their signs.

    A bootstrap of three episodes that all point one way knows no doubt; this is the doubt it lacks.
    """
    return min(1.0, 2.0 ** (1 - min(differing, 1000)))


def _choose_note(differing: int, note: str | None, bootstrap: Bootstrap) -> str | None:
    if differing and not bootstrap.rejects(compute_smallest_p(differing)):
        return f"the runs differ in only {differing} episodes: too few to show which is better"
    return note


def compute_mcnemar_of_pairs(pairs: FloatArray) -> McNemar:
    """McNemar's test of pairs (rows) of zeros and ones."""
    only_first = int(np.count_nonzero(pairs[:, 0] > pairs[:, 1]))
    only_second = int(np.count_nonzero(pairs[:, 0] < pairs[:, 1]))
    return compute_mcnemar(only_first, only_second)


def compute_mcnemar(only_first: int, only_second: int) -> McNemar:
    """McNemar's test from the two counts of disagreement."""
    discordant = only_first + only_second
    exact = discordant < EXACT_BELOW
    p_value = (
        _compute_binomial_p(min(only_first, only_second), discordant)
        if exact
        else _compute_chi2_p(only_first, only_second)
    )
    return McNemar(only_first=only_first, only_second=only_second, p_value=p_value, exact=exact)


def _compute_binomial_p(fewer: int, discordant: int) -> float:
    tail = sum(math.comb(discordant, k) for k in range(fewer + 1))
    return min(1.0, 2.0 * tail / 2.0**discordant)


def _compute_chi2_p(only_first: int, only_second: int) -> float:
    corrected = max(abs(only_first - only_second) - 1, 0)
    chi2 = corrected**2 / (only_first + only_second)
    return math.erfc(math.sqrt(chi2 / 2.0))


def find_shared_episodes(runs: Sequence[RunScores]) -> list[str]:
    """The episode ids that all runs have, sorted; refuse runs whose sets differ."""
    for other in runs[1:]:
        _refuse_other_ids(runs[0], other)
    return sorted(runs[0].values)


def _refuse_other_ids(first: RunScores, other: RunScores) -> None:
    only_first, only_other = first.values.keys() - other.values.keys(), other.values.keys() - first.values.keys()
    if only_first or only_other:
        missing = [
            f"only in {run.name}: {_format_ids(ids)}" for run, ids in ((first, only_first), (other, only_other)) if ids
        ]
        raise RunsDiffer(
            f"The runs are not on the same episodes ({'; '.join(missing)}). Evaluate both on one episode set."
        )


def find_shared_scenes(runs: Sequence[RunScores]) -> dict[str, str | None]:
    """The scene of each episode, from whichever runs state it; refuse runs that contradict each other."""
    known: dict[str, str | None] = {}
    for run in runs:
        moved = {episode for episode, scene in run.scenes.items() if known.setdefault(episode, scene) != scene}
        if moved:
            raise RunsDiffer(
                f"{run.name} has other scenes than the other runs for the same episodes: {_format_ids(moved)}."
            )
    return known


def _format_ids(ids: set[str], limit: int = 5) -> str:
    shown = ", ".join(repr(identity) for identity in sorted(ids)[:limit])
    return shown if len(ids) <= limit else f"{shown} and {len(ids) - limit} more"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rank:
    """One row of a leaderboard."""

    name: str  #: of the run
    rank: int  #: 1 is best; 1, 1, 3 after a tie
    mean: float
    head: str  #: the run whose rank this one has; its own name when it opens the group
    p_value: float | None  #: of the difference from the head; None for heads


def compute_shared_ranks(
    runs: Sequence[RunScores], *, higher_is_better: bool = True, bootstrap: Bootstrap | None = None
) -> list[Rank]:
    """Ranks that claim a difference only where the episodes show one, best first.

    Sort by mean. The best mean opens the first group, and the runs that have it are the group's heads.
    Go down: runs with equal means stay together; they join the group unless each of them differs
    significantly from each head (paired bootstrap, scenes resampled); otherwise they are the heads of
    a new group, whose rank is one more than the number of runs above it.

    So the best has rank 1, a better mean never has a worse rank, equal means have equal ranks, and
    neither the order nor the names of the runs matter. Two runs of one group may well differ from each
    other; what they share is that neither is shown to be worse than the group's head.
    """
    if not runs:
        return []
    episodes = find_shared_episodes(runs)
    values = _build_matrix(runs, episodes)
    means = [compute_exact_mean(column) for column in values.T]
    bootstrap = bootstrap or Bootstrap()
    known = find_shared_scenes(runs)
    replicates = _replicate_means(values, [known.get(e) for e in episodes], bootstrap)
    ladder = _sort_by_mean([run.name for run in runs], means, higher_is_better=higher_is_better)
    rounding = 1e-12 * float(np.abs(values).max())

    def p_value(head: int, run: int) -> float:
        differing = int(np.count_nonzero(values[:, head] != values[:, run]))
        differences = replicates[:, head] - replicates[:, run]
        differences[np.abs(differences) <= rounding] = 0.0  # drawings that hold no differing episode
        return max(bootstrap.p_value(differences), compute_smallest_p(differing))

    groups = _group_runs(ladder, lambda head, run: bootstrap.rejects(p_value(head, run)))
    return list(_number_groups(groups, [run.name for run in runs], means, p_value))


def _build_matrix(runs: Sequence[RunScores], episodes: Sequence[str]) -> FloatArray:
    """Episodes × runs; a board cannot leave out one run's hard episodes, so an invalid value is refused."""
    if not episodes:
        raise RunsDiffer("Runs without episodes cannot be ranked.")
    for run in runs:
        invalid = {e for e in episodes if not is_valid(run.values[e])}
        if invalid:
            raise RunsDiffer(f"{run.name} cannot be ranked: missing, NaN or infinite values in {_format_ids(invalid)}.")
    return np.array([[run.values[e] for run in runs] for e in episodes], dtype=np.float64)


def _replicate_means(values: FloatArray, scenes: Sequence[str | None], bootstrap: Bootstrap) -> FloatArray:
    """Replicates × runs, all runs under the same drawings: their differences are the paired ones."""
    columns = np.column_stack([values, np.ones(len(values))])
    totals = bootstrap.totals(make_resampling_units(columns, scenes).sums)
    return np.asarray(totals[:, :-1] / totals[:, -1:], dtype=np.float64)


def _sort_by_mean(names: Sequence[str], means: Sequence[float], *, higher_is_better: bool) -> list[list[int]]:
    """Indices of runs from best to worst mean, those with equal means together (by name)."""
    sign = -1.0 if higher_is_better else 1.0
    order = sorted(range(len(means)), key=lambda i: (sign * means[i], names[i]))
    return [list(step) for _, step in groupby(order, key=lambda i: means[i])]


class _Group(NamedTuple):
    heads: list[int]  # the runs with the group's best mean
    others: list[int]  # those not shown to be worse, from better to worse


def _group_runs(ladder: Sequence[list[int]], differs: Callable[[int, int], bool]) -> list[_Group]:
    groups = [_Group(ladder[0], [])]
    for step in ladder[1:]:
        if all(differs(head, run) for head in groups[-1].heads for run in step):
            groups.append(_Group(step, []))
        else:
            groups[-1].others.extend(step)
    return groups


def _number_groups(
    groups: Sequence[_Group], names: Sequence[str], means: Sequence[float], p_value: Callable[[int, int], float]
) -> Iterator[Rank]:
    rank = 1
    for heads, others in groups:
        for run in heads:
            yield Rank(name=names[run], rank=rank, mean=means[run], head=names[run], p_value=None)
        for run in others:
            p = max(p_value(head, run) for head in heads)
            yield Rank(name=names[run], rank=rank, mean=means[run], head=names[heads[0]], p_value=p)
        rank += len(heads) + len(others)


def rank_scores(scores: Sequence[float], *, higher_is_better: bool = True) -> list[int]:
    """Standard competition ranks (1, 1, 3), in the order of `scores`: for boards that know only final scores."""
    if not all(is_valid(score) for score in scores):
        raise RecordError("A missing, NaN or infinite score has no rank; leave it off the board.")
    first: dict[float, int] = {}
    for position, score in enumerate(sorted(scores, reverse=higher_is_better), start=1):
        first.setdefault(score, position)
    return [first[score] for score in scores]
