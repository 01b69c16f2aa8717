"""Scores of long-horizon navigation: pure functions from sub-task records to the ranking.

Two named rules. `documented` follows the printed formulas; `reference` computes what the published
LH-VLN code computes, so that published numbers stay comparable. `docs/metrics.md` sets them side by
side. All sums are exact (`math.fsum`), so the order of the tasks cannot change a digit.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import RecordError
from nav_eval.records.results import SubtaskRecord
from nav_eval.records.scoring import LH_VLN_RANKING, CgtWeight, ScoringRule, compute_ranking_sum

Floats = NDArray[np.float64]

METRIC_NAMES = ("sr", "osr", "spl", "ne", "isr", "csr", "cgt", "tar", "score")


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoringOptions:
    """What a task configuration may choose."""

    rule: ScoringRule = ScoringRule.DOCUMENTED
    success_distance: float = 1.0  #: D_s of TAR; `reference` has the literal 1
    cgt_weight: CgtWeight = CgtWeight.STEPS
    ranking_weights: Mapping[str, float] = field(default_factory=lambda: dict(LH_VLN_RANKING))


def _name_task(index: int) -> str:
    return f"task {index}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SubtaskTable:
    """The sub-tasks of many tasks, one array per quantity; missing numbers are NaN."""

    counts: NDArray[np.int64]  #: sub-tasks of each task, at least one
    success: NDArray[np.bool_]
    oracle_success: NDArray[np.bool_]
    navigation_error: Floats
    ground_truth_distance: Floats
    ground_truth_steps: Floats
    steps: Floats
    path_length: Floats
    name_of: Callable[[int], str] = _name_task  #: how to name task i in an error

    @classmethod
    def from_tasks(
        cls, tasks: Sequence[Sequence[SubtaskRecord]], *, name_of: Callable[[int], str] = _name_task
    ) -> "SubtaskTable":
        flat = [record for task in tasks for record in task]

        def column(name: str) -> Floats:
            return np.array([getattr(record, name) for record in flat], dtype=np.float64)  # None becomes NaN

        return cls(
            counts=np.array([len(task) for task in tasks], dtype=np.int64),
            success=np.array([record.success for record in flat], dtype=np.bool_),
            oracle_success=np.array([record.oracle_success for record in flat], dtype=np.bool_),
            navigation_error=column("navigation_error"),
            ground_truth_distance=column("ground_truth_distance"),
            ground_truth_steps=column("ground_truth_steps"),
            steps=column("steps"),
            path_length=column("path_length"),
            name_of=name_of,
        )

    @property
    def starts(self) -> NDArray[np.int64]:
        """Index of the first sub-task of each task."""
        return np.concatenate(([0], np.cumsum(self.counts)[:-1])).astype(np.int64)

    def per_task(self, values: Floats | NDArray[np.bool_]) -> Floats:
        """Sums over the sub-tasks of each task."""
        sums: Floats = np.add.reduceat(values.astype(np.float64), self.starts)
        return sums


class LhVlnScores(NamedTuple):
    """The numbers of a board row; all but `ne` (metres) are in [0, 1] under `documented`."""

    sr: float
    osr: float
    spl: float
    ne: float
    isr: float
    csr: float
    cgt: float
    tar: float
    score: float


def score(table: SubtaskTable, options: ScoringOptions) -> LhVlnScores:
    """The scores of all tasks together."""
    if options.rule is ScoringRule.REFERENCE:
        return _compute_reference_scores(table, options)
    if len(table.counts) == 0:
        raise RecordError("There are no tasks to score.")
    each = compute_documented_scores(table, options)
    means = {name: _compute_mean(values[~np.isnan(values)]) for name, values in each.items()}
    return _add_ranking(means, options)


def score_each(table: SubtaskTable, options: ScoringOptions) -> dict[str, Floats]:
    """The scores of every task alone; NaN where a task has no such number."""
    if options.rule is ScoringRule.DOCUMENTED:
        values = compute_documented_scores(table, options)
        return values | {"score": _compute_ranking(values, options)}
    alone = [_compute_reference_scores(single, options) for single in _split_tasks(table)]
    return {name: np.array([getattr(scores, name) for scores in alone]) for name in METRIC_NAMES}


def compute_documented_scores(table: SubtaskTable, options: ScoringOptions) -> dict[str, Floats]:
    """The printed formulas: each task weighs the same, each sub-task of a task weighs the same."""
    counts = table.counts.astype(np.float64)
    succeeded = table.per_task(table.success) == counts
    chain = _compute_chain(table)
    weights = table.ground_truth_distance if options.cgt_weight is CgtWeight.DISTANCE else table.ground_truth_steps
    return {
        "sr": succeeded.astype(np.float64),
        "osr": (table.per_task(table.oracle_success) == counts).astype(np.float64),
        "spl": succeeded * _compute_efficiency(table),
        "ne": _compute_mean_error(table),
        "isr": table.per_task(table.success) / counts,
        "csr": table.per_task(chain) / counts,
        "cgt": _compute_weighted_mean(table, chain, weights),
        "tar": table.per_task(_compute_approach(table, options.success_distance)) / counts,
    }


def _compute_chain(table: SubtaskTable) -> Floats:
    """s_i (1 + (N−1) s_{i−1}) / N: a success counts fully after a success, else one N-th. s_{−1} = 1."""
    before = np.concatenate(([True], table.success[:-1]))
    before[table.starts] = True
    counts = np.repeat(table.counts, table.counts).astype(np.float64)
    return np.where(table.success, np.where(before, 1.0, 1.0 / counts), 0.0)


def _compute_weighted_mean(table: SubtaskTable, values: Floats, weights: Floats) -> Floats:
    """The mean of the values of each task, weighted; equal weights where a task has none."""
    weights = np.nan_to_num(weights, nan=0.0)
    totals = table.per_task(weights)
    weighted = np.divide(table.per_task(weights * values), totals, out=np.zeros_like(totals), where=totals > 0)
    return np.where(totals > 0, weighted, table.per_task(values) / table.counts)


def _compute_approach(table: SubtaskTable, success_distance: float) -> Floats:
    """1 − max(NE − D_s, 0) / max(NE, GT) of each sub-task; 1 where both are 0, 0 without a finite NE."""
    known = np.isfinite(table.navigation_error)
    error = np.where(known, table.navigation_error, 0.0)
    further = np.maximum(error, np.nan_to_num(table.ground_truth_distance, nan=0.0, posinf=np.inf))
    missed = np.maximum(error - success_distance, 0.0)
    share = np.divide(missed, further, out=np.zeros_like(error), where=further > 0)
    return np.where(known, 1.0 - share, 0.0)


def _compute_efficiency(table: SubtaskTable) -> Floats:
    """Expert over travelled, at most 1: in metres where every sub-task has them, else in steps."""
    metres = ~np.isnan(table.path_length) & np.isfinite(table.ground_truth_distance)
    in_metres = table.per_task(metres) == table.counts
    expert = np.where(
        in_metres,
        table.per_task(np.where(metres, table.ground_truth_distance, 0.0)),
        table.per_task(np.nan_to_num(table.ground_truth_steps)),
    )
    travelled = np.where(
        in_metres, table.per_task(np.where(metres, table.path_length, 0.0)), table.per_task(np.nan_to_num(table.steps))
    )
    longer = np.maximum(expert, travelled)
    return np.divide(expert, longer, out=np.ones_like(longer), where=longer > 0)


def _compute_mean_error(table: SubtaskTable) -> Floats:
    """Mean NE over the sub-tasks; NaN for a task in which one has none: leaving it out would reward giving up."""
    known = np.isfinite(table.navigation_error)
    number = table.per_task(known)
    total = table.per_task(np.where(known, table.navigation_error, 0.0))
    return np.divide(total, number, out=np.full_like(total, np.nan), where=number == table.counts)


def _compute_reference_scores(table: SubtaskTable, options: ScoringOptions) -> LhVlnScores:
    if len(table.counts) == 0:
        return LhVlnScores(*[0.0] * len(METRIC_NAMES))
    expert = table.per_task(np.nan_to_num(table.ground_truth_steps))
    if not np.all(expert > 0):
        task = table.name_of(int(np.argmin(expert > 0)))
        raise RecordError(f"{task}: all ground_truth_steps are 0, which the rule 'reference' divides by.")
    counts = table.counts.astype(np.float64)
    succeeded = table.per_task(table.success) == counts
    travelled = table.per_task(np.nan_to_num(table.steps))
    efficiency = np.where(travelled > 0, expert / np.maximum(expert, travelled), 0.0)
    chain = _compute_chain(table)
    means = {
        "sr": _compute_mean(succeeded.astype(np.float64)),
        "osr": _compute_mean((table.per_task(table.oracle_success) == counts).astype(np.float64)),
        "spl": _compute_mean(succeeded * efficiency),
        "ne": _compute_reference_error(table),
        "isr": _compute_mean(table.success.astype(np.float64)),
        "csr": _compute_mean(table.per_task(chain) / counts),
        "cgt": _compute_mean(table.per_task(np.nan_to_num(table.ground_truth_steps) * chain) / expert),
        "tar": _compute_reference_approach(table),
    }
    return _add_ranking(means, options)


def _compute_reference_approach(table: SubtaskTable) -> float:
    """TAR over all attempted sub-tasks of the dataset, D_s fixed at 1, 0 where GT = 0 < NE, and where NE is missing."""
    attempted = ~np.isnan(table.ground_truth_distance)
    if not np.any(attempted):
        return 0.0
    error, truth = table.navigation_error[attempted], table.ground_truth_distance[attempted]
    with np.errstate(invalid="ignore"):  # inf/inf is NaN there too; callers must not publish it
        share = np.maximum(error - 1.0, 0.0) / np.maximum(np.maximum(error, truth), np.finfo(float).tiny)
    approach = np.where(truth == 0, (error == 0).astype(np.float64), 1.0 - share)
    return _compute_mean(np.where(np.isnan(error), 0.0, approach))


def _compute_reference_error(table: SubtaskTable) -> float:
    """Mean over the tasks of the mean NE; without those in which an attempt has none: it would reward giving up."""
    lost = table.per_task(np.isnan(table.navigation_error) & ~np.isnan(table.ground_truth_distance)) > 0
    errors = table.per_task(~np.isnan(table.navigation_error))
    sums = table.per_task(np.where(np.isnan(table.navigation_error), 0.0, table.navigation_error))
    return _compute_mean(np.divide(sums, errors, out=np.zeros_like(errors), where=errors > 0)[~lost])


def _add_ranking(means: dict[str, float], options: ScoringOptions) -> LhVlnScores:
    ranking = compute_ranking_sum(options.ranking_weights, means.__getitem__)
    return LhVlnScores(**means, score=math.nan if ranking is None else ranking)


def _compute_ranking(values: Mapping[str, Floats], options: ScoringOptions) -> Floats:
    parts = np.array([weight * values[name] for name, weight in options.ranking_weights.items()])
    return np.array([math.fsum(column) for column in parts.T])


def _compute_mean(values: Floats) -> float:
    """Exact, and therefore independent of order."""
    return math.fsum(values) / len(values) if len(values) else math.nan


def _split_tasks(table: SubtaskTable) -> list[SubtaskTable]:
    """Each task as a table of its own."""
    columns = (
        "success",
        "oracle_success",
        "navigation_error",
        "ground_truth_distance",
        "ground_truth_steps",
        "steps",
        "path_length",
    )
    parts = {name: np.split(getattr(table, name), table.starts[1:]) for name in columns}
    return [
        SubtaskTable(
            counts=table.counts[index : index + 1],
            name_of=lambda _, index=index: table.name_of(index),  # type: ignore[misc]
            **{name: parts[name][index] for name in columns},
        )
        for index in range(len(table.counts))
    ]
