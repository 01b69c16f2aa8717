"""Leaderboards, their history, breakdowns and comparisons, as clients read them."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Literal
from uuid import UUID

from nav_eval.metrics.comparison import Comparison
from nav_eval.metrics.statistics import Statistics
from nav_eval_gateway.schemas.base import Answer, make_example
from nav_eval_gateway.schemas.competitions import RankingRules
from nav_eval_store.boards.leaderboard import Board, Row
from nav_eval_store.models import EntryVisibility, Phase, TeamKind

_ROW = {
    "rank": 1,
    "team": "Wanderers",
    "team_id": "0b5d9c1e-54a2-4c7e-9a55-9a1d2c3b4e5f",
    "kind": "team",
    "submission_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "title": "memory + frontier map",
    "submitted_at": "2026-09-01T12:00:00Z",
    "score": {"mean": 0.61, "ci_low": 0.55, "ci_high": 0.67},
    "scores": {"tar": 0.63, "isr": 0.6},
    "intervals": {"tar": [0.57, 0.69], "isr": [0.52, 0.68]},
    "submissions": 4,
    "verified": True,
    "verified_at": "2026-09-02T03:00:00Z",
    "outdated": False,
    "visibility": "shown",
}
_METRIC = {"name": "tar", "higher_is_better": True, "weight": 0.4}


class Interval(Answer):
    """A mean and its 95 % confidence interval."""

    mean: float | None
    ci_low: float | None
    ci_high: float | None


class BoardMetric(Answer):
    """A column of a board."""

    name: str
    higher_is_better: bool
    weight: float | None = None
    """Its share of the score that ranks; null where it has none."""


class BoardRow(Answer):
    """A line of a board."""

    rank: int | None
    """Shared where a difference is not significant; null for upper bounds and what is withheld."""
    team: str
    team_id: UUID
    kind: TeamKind
    """`baseline` is the organiser's agent; `upper_bound` knows what agents must not, and is never ranked."""
    submission_id: UUID
    title: str
    submitted_at: datetime
    rig: str | None = None
    """Which of the benchmark's rigs (cameras and motion) the agent chose; null where there is no choice."""
    score: Interval
    """What ranks."""
    scores: dict[str, float | None]
    """The mean of each metric."""
    intervals: dict[str, tuple[float | None, float | None]]
    """Both ends of the 95 % confidence interval of each mean."""
    submissions: int
    """How many the team has completed in this phase."""
    shares_with: UUID | None = None
    """The submission that heads the group of this rank."""
    p_value: float | None = None
    """Of the difference from it."""
    verified: bool
    """Replayed without the agent, with equal numbers."""
    verified_at: datetime | None = None
    outdated: bool
    """Evaluated by other rules than the phase has now."""
    visibility: EntryVisibility
    reason: str | None = None
    """Why it is withheld."""

    @classmethod
    def of(cls, row: Row) -> "BoardRow":
        return cls.from_row(
            row,
            scores={name: cell.mean for name, cell in row.metrics.items()},
            intervals={name: (cell.ci_low, cell.ci_high) for name, cell in row.metrics.items()},
            verified=row.verified_at is not None,
        )


class BoardAnswer(Answer):
    """The standing of a phase, as the caller may see it."""

    model_config = make_example(
        competition="demo",
        phase="dev",
        version=42,
        audience="public",
        provisional=False,
        columns=["tar", "isr"],
        metrics=[_METRIC, {"name": "isr", "higher_is_better": True, "weight": 0.2}],
        ranking={
            "weights": {"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2},
            "higher_is_better": True,
            "keep": "best",
            "shared_ranks": True,
        },
        rows=[_ROW],
        withheld=[],
    )

    competition: str
    phase: str
    version: int
    """Grows with everything that the board shows."""
    audience: Literal["public", "team", "organiser"]
    """Who sees the scores: `team` is each team its own row, `organiser` is nobody until the board is published."""
    provisional: bool
    """Ranks are by bare scores; shared ones are being computed."""
    columns: list[str]
    """Names of the metrics, in the order of the board."""
    metrics: list[BoardMetric]
    ranking: RankingRules
    rows: list[BoardRow]
    withheld: list[BoardRow]
    """Hidden and disqualified submissions, for organisers."""

    @classmethod
    def of(cls, board: Board, phase: Phase, competition: str) -> "BoardAnswer":
        rules, weights = phase.config.ranking, dict(board.weights)
        return cls.from_row(
            board,
            competition=competition,
            phase=phase.name,
            audience="public" if phase.published_at is not None else phase.config.visibility.scores,
            columns=[column.name for column in board.columns],
            metrics=[BoardMetric.from_row(column, weight=weights.get(column.name)) for column in board.columns],
            ranking=RankingRules.from_row(rules, weights=weights, higher_is_better=board.higher_is_better),
            rows=[BoardRow.of(row) for row in board.rows],
            withheld=[BoardRow.of(row) for row in board.withheld],
        )


class HistoryPoint(Answer):
    """A completed submission."""

    submission_id: UUID
    submitted_at: datetime
    score: float
    is_best: bool
    """Better than all earlier ones of the team."""


class RankChange(Answer):
    """From this moment on the team had this rank, by the bare scores."""

    at: datetime
    rank: int


class HistoryLine(Answer):
    """A team over time."""

    team: str
    team_id: UUID
    kind: TeamKind
    rank: int | None
    points: list[HistoryPoint]
    ranks: list[RankChange]


class HistoryAnswer(Answer):
    """How a board came to be: the teams that lead now, best first."""

    model_config = make_example(
        version=42,
        higher_is_better=True,
        teams=[
            {
                "team": "Wanderers",
                "team_id": _ROW["team_id"],
                "kind": "team",
                "rank": 1,
                "points": [
                    {
                        "submission_id": _ROW["submission_id"],
                        "submitted_at": "2026-09-01T12:00:00Z",
                        "score": 0.61,
                        "is_best": True,
                    }
                ],
                "ranks": [{"at": "2026-09-01T12:00:00Z", "rank": 1}],
            }
        ],
    )

    version: int
    higher_is_better: bool
    teams: list[HistoryLine]


class BreakdownGroup(Answer):
    """The episodes of one kind."""

    label: str
    episodes: int
    metrics: dict[str, Interval]

    @classmethod
    def of(cls, label: str, metrics: Mapping[str, Statistics]) -> "BreakdownGroup":
        episodes = max((s.count + s.invalid for s in metrics.values()), default=0)
        return cls(label=label, episodes=episodes, metrics={name: Interval.from_row(s) for name, s in metrics.items()})


class BreakdownAnswer(Answer):
    """Where a submission's means come from."""

    model_config = make_example(
        submission_id=_ROW["submission_id"],
        by="subtasks",
        groups=[{"label": "2", "episodes": 40, "metrics": {"tar": {"mean": 0.71, "ci_low": 0.62, "ci_high": 0.8}}}],
    )

    submission_id: UUID
    by: str
    groups: list[BreakdownGroup]


class McNemarTest(Answer):
    """Two submissions on a yes-or-no metric: the episodes on which they disagree."""

    only_first: int
    only_second: int
    p_value: float
    exact: bool


class MetricComparison(Answer):
    """One metric of both; differences are first minus second."""

    higher_is_better: bool
    count: int
    """Episodes in which both have a value."""
    invalid: int
    first_mean: float
    second_mean: float
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    """Two-sided, by a paired bootstrap over scenes."""
    significant: bool
    detectable: float
    """The smallest true difference that so many episodes would find four times out of five."""
    scenes: int
    note: str | None = None
    mcnemar: McNemarTest | None = None

    @classmethod
    def of(cls, result: Comparison, *, higher_is_better: bool) -> "MetricComparison":
        return cls.model_validate({**asdict(result), "higher_is_better": higher_is_better})


class ComparedSubmission(Answer):
    """One side."""

    submission_id: UUID
    team: str
    team_id: UUID
    title: str
    number: int


class ComparisonAnswer(Answer):
    """Two submissions side by side, paired episode by episode."""

    model_config = make_example(
        competition="demo",
        phase="dev",
        first={
            "submission_id": _ROW["submission_id"],
            "team": "Wanderers",
            "team_id": _ROW["team_id"],
            "title": "",
            "number": 2,
        },
        second={
            "submission_id": "16fd2706-8baf-433b-82eb-8c7fada847da",
            "team": "Keyword",
            "team_id": "6ecd8c99-4036-403d-bf84-cf8400f67836",
            "title": "",
            "number": 1,
        },
        metrics={
            "tar": {
                "higher_is_better": True,
                "count": 100,
                "invalid": 0,
                "first_mean": 0.63,
                "second_mean": 0.41,
                "difference": 0.22,
                "ci_low": 0.15,
                "ci_high": 0.29,
                "p_value": 0.0002,
                "significant": True,
                "detectable": 0.1,
                "scenes": 8,
                "note": None,
                "mcnemar": None,
            }
        },
    )

    competition: str
    phase: str
    first: ComparedSubmission
    second: ComparedSubmission
    metrics: dict[str, MetricComparison | None]
    """Null where the two share no episode with a value."""
