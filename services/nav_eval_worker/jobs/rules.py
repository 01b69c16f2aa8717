"""What a submission is worth by the rule of its benchmark.

Means over episodes nearly everywhere, which is the store's own rule. LH-VLN's `reference` pools sub-tasks over
the whole dataset: its numbers come from the raw quantities and have no value per episode, so boards rank
them bare.
"""

import math
from dataclasses import replace

import msgspec

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.aggregation import is_scored
from nav_eval.evaluation.results import EpisodeOutcome
from nav_eval.evaluation.scoring.board import long_horizon_scores
from nav_eval.metrics.statistics import Statistics
from nav_eval_store import episodes, scores
from nav_eval_store.database import Session
from nav_eval_store.models import Submission
from nav_eval_store.scores import ScoreSheet

NOTE = "pooled over all sub-tasks, as the rule `reference` has it"


def score_sheet(session: Session, submission: Submission, benchmark: BenchmarkConfig) -> ScoreSheet:
    sheet = scores.compute(session, submission)
    if benchmark.task.type != "lh_vln" or benchmark.task.scoring.rule != "reference":
        return sheet
    return _pooled(sheet, _reference_row(session, submission, benchmark), submission.phase.ranking["weights"])


def _reference_row(session: Session, submission: Submission, benchmark: BenchmarkConfig) -> dict[str, float | None]:
    lines = episodes.lines(session, submission.id)
    outcomes = [msgspec.json.decode(line, type=EpisodeOutcome) for line in lines]
    return long_horizon_scores(benchmark.model_dump(mode="json"), filter(is_scored, outcomes))


def _pooled(sheet: ScoreSheet, row: dict[str, float | None], weights: dict[str, float]) -> ScoreSheet:
    metrics = {
        name: _bare(statistics, row[name]) if name in row else statistics for name, statistics in sheet.metrics.items()
    }
    parts = [(weight, metrics[name].mean if name in metrics else row.get(name)) for name, weight in weights.items()]
    known = [weight * value for weight, value in parts if value is not None]
    total = math.fsum(known) if len(known) == len(parts) else None
    return ScoreSheet(metrics=metrics, ranking=_bare(sheet.ranking, total), values=dict.fromkeys(sheet.values))


def _bare(statistics: Statistics, value: float | None) -> Statistics:
    """A number without a spread: there are no values per episode to take it from."""
    return replace(statistics, mean=value, std=None, ci_low=None, ci_high=None, note=NOTE)
