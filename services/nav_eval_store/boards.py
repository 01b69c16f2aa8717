"""Leaderboards: which submission of each team counts, in what order, and who may see it.

Ranks are shared where the episodes cannot tell teams apart, which takes a bootstrap over all
episodes; `ranking` computes them when the board has changed. Until then a board says that its ranks
are provisional, and shows those of the bare scores.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, ColumnExpressionArgument, Select, case, func, select
from sqlalchemy.orm import joinedload

from nav_eval.metrics.comparison import tie_ranks
from nav_eval.metrics.statistics import is_valid
from nav_eval_store.database import Session
from nav_eval_store.models import Entry, Phase, Score, Submission, Team, TeamKind, TeamStatus, Visibility
from nav_eval_store.viewing import ANYBODY, Audience, Viewer, may_see


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One metric of a row."""

    mean: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of a board."""

    rank: int | None  #: None for upper bounds, and for what is not shown to all
    team: str
    team_id: UUID
    kind: TeamKind
    submission_id: UUID
    title: str
    submitted_at: datetime
    score: Cell  #: what ranks
    metrics: Mapping[str, Cell]
    submissions: int  #: completed ones of the team in this phase
    shares_with: UUID | None  #: submission that heads the group of this rank; None where it is this one
    p_value: float | None  #: of the difference from it
    verified_at: datetime | None
    outdated: bool  #: evaluated by other rules than the phase has now; to be evaluated again
    visibility: Visibility
    reason: str | None  #: why it is not shown to all


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One metric of a board."""

    name: str
    higher_is_better: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """A phase's standing, as a viewer may see it."""

    version: int  #: equal versions show the same
    columns: Sequence[Column]
    weights: Mapping[str, float]  #: of the score that ranks
    higher_is_better: bool  #: of that score
    provisional: bool  #: ranks are by bare scores; shared ones are being computed
    rows: Sequence[Row]
    withheld: Sequence[Row]  #: hidden and disqualified ones; for organisers


def leaderboard(session: Session, phase: Phase, viewer: Viewer = ANYBODY) -> Board:
    """The board of a phase for somebody. A hidden board has no rows, a team sees its own."""
    everybody = counting_entries(session, phase)
    entries = [entry for entry in everybody if _may_see(phase, entry.team_id, viewer)]
    withheld = list(session.scalars(_withheld(phase))) if viewer.is_organiser else []
    cells = _cells(session, [entry.submission_id for entry in (*entries, *withheld)])
    counts = _completed(session, phase)
    ranked = phase.ranked_version == phase.board_version
    ranks = {entry.submission_id: entry.rank for entry in entries} if ranked else provisional_ranks(phase, everybody)

    def row(entry: Entry, rank: int | None) -> Row:
        values = cells.get(entry.submission_id, {})
        return _row(entry, rank, values, counts[entry.team_id], ranked=ranked, rules=phase.rules_digest)

    return Board(
        version=phase.board_version,
        columns=[Column(**metric) for metric in phase.metrics],
        weights=phase.ranking["weights"],
        higher_is_better=phase.ranking["higher_is_better"],
        provisional=not ranked,
        rows=[row(entry, ranks.get(entry.submission_id)) for entry in entries],
        withheld=[row(entry, None) for entry in withheld],
    )


def _may_see(phase: Phase, team_id: UUID, viewer: Viewer) -> bool:
    return may_see(phase, "scores", viewer.audience(team_id))


def counting_entries(session: Session, phase: Phase) -> Sequence[Entry]:
    """The entry of each team that counts, best first; entries without a number last."""
    best = _best_first(phase)
    choice = best if phase.config.ranking.keep == "best" else (Entry.submitted_at.desc(), Entry.submission_id)
    turn = func.row_number().over(partition_by=Entry.team_id, order_by=choice).label("turn")
    shown = select(Entry.submission_id, turn).join(Entry.submission).join(Entry.team).where(*_shown(phase)).subquery()
    query = (
        select(Entry)
        .join(shown, shown.c.submission_id == Entry.submission_id)
        .where(shown.c.turn == 1)
        .options(*_NAMES)
        .order_by(*best)
    )
    return session.scalars(query).all()


def _best_first(phase: Phase) -> tuple[ColumnExpressionArgument[Any], ...]:
    """Best score first, no score last; of equal ones the earlier."""
    by_score = Entry.score.desc() if phase.ranking["higher_is_better"] else Entry.score.asc()
    return case((Entry.score.is_(None), 1), else_=0), by_score, Entry.submitted_at, Entry.submission_id


_NAMES = (joinedload(Entry.team), joinedload(Entry.submission).load_only(Submission.title, Submission.rules_digest))


def _shown(phase: Phase) -> tuple[ColumnElement[bool], ...]:
    """What everybody sees of entries joined with their team and submission."""
    return (
        Entry.phase_id == phase.id,
        Entry.visibility == Visibility.SHOWN,
        Team.status == TeamStatus.ACTIVE,
        Submission.superseded_by.is_(None),
    )


def _withheld(phase: Phase) -> Select[Entry]:
    return (
        select(Entry)
        .join(Entry.team)
        .join(Entry.submission)
        .where(
            Entry.phase_id == phase.id,
            (Entry.visibility != Visibility.SHOWN) | (Team.status == TeamStatus.DISQUALIFIED),
            Submission.superseded_by.is_(None),
        )
        .options(*_NAMES)
        .order_by(Entry.submitted_at)
    )


def _cells(session: Session, submission_ids: Sequence[UUID]) -> dict[UUID, dict[str, Cell]]:
    cells: dict[UUID, dict[str, Cell]] = {}
    for start in range(0, len(submission_ids), 500):  # databases limit how many values a query may name
        query = select(Score.submission_id, Score.metric, Score.mean, Score.ci_low, Score.ci_high).where(
            Score.submission_id.in_(submission_ids[start : start + 500])
        )
        for submission, metric, mean, low, high in session.execute(query.order_by(Score.position)):
            cells.setdefault(submission, {})[metric] = Cell(mean=mean, ci_low=low, ci_high=high)
    return cells


def _completed(session: Session, phase: Phase) -> dict[UUID, int]:
    query = select(Entry.team_id, func.count()).where(Entry.phase_id == phase.id).group_by(Entry.team_id)
    return dict(session.execute(query).all())


def provisional_ranks(phase: Phase, entries: Iterable[Entry]) -> dict[UUID, int]:
    """Ranks by the bare scores: equal ones share."""
    ranked = [entry for entry in entries if is_ranked(entry)]
    scores = [entry.score for entry in ranked if entry.score is not None]
    ranks = tie_ranks(scores, higher_is_better=phase.ranking["higher_is_better"])
    return {entry.submission_id: rank for entry, rank in zip(ranked, ranks, strict=True)}


def is_ranked(entry: Entry) -> bool:
    """Upper bounds have no rank, nor has what has no number."""
    return entry.team.kind is not TeamKind.UPPER_BOUND and is_valid(entry.score)


def _row(
    entry: Entry, rank: int | None, metrics: Mapping[str, Cell], completed: int, *, ranked: bool, rules: str
) -> Row:
    disqualified = entry.team.status is TeamStatus.DISQUALIFIED
    return Row(
        rank=rank,
        team=entry.team.name,
        team_id=entry.team_id,
        kind=entry.team.kind,
        submission_id=entry.submission_id,
        title=entry.submission.title,
        submitted_at=entry.submitted_at,
        score=Cell(mean=entry.score, ci_low=entry.ci_low, ci_high=entry.ci_high),
        metrics=metrics,
        submissions=completed,
        shares_with=entry.shares_with if ranked else None,
        p_value=entry.p_value if ranked else None,
        verified_at=entry.verified_at,
        outdated=entry.submission.rules_digest != rules,
        visibility=Visibility.DISQUALIFIED if disqualified else entry.visibility,
        reason=entry.team.reason if disqualified else entry.reason,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A completed submission in the history of a board."""

    team: str
    team_id: UUID
    kind: TeamKind
    submission_id: UUID
    submitted_at: datetime
    score: float
    is_best: bool  #: better than all earlier ones of the team


def history(session: Session, phase: Phase, viewer: Viewer = ANYBODY, *, team: Team | None = None) -> list[Point]:
    """Scores over time, oldest first; with `team`, of one team."""
    columns = (Team.name, Entry.team_id, Team.kind, Entry.submission_id, Entry.submitted_at, Entry.score)
    query = select(*columns).select_from(Entry).join(Entry.submission).join(Entry.team).where(*_shown(phase))
    if team is not None:
        query = query.where(Entry.team_id == team.id)
    sign = 1.0 if phase.ranking["higher_is_better"] else -1.0
    best: dict[UUID, float] = {}
    points: list[Point] = []
    for name, team_id, kind, submission_id, submitted_at, score in session.execute(
        query.order_by(Entry.submitted_at, Entry.submission_id)
    ):
        if score is None or not _may_see(phase, team_id, viewer):
            continue
        known = best.get(team_id, float("-inf"))
        best[team_id] = max(sign * score, known)
        points.append(
            Point(
                team=name,
                team_id=team_id,
                kind=kind,
                submission_id=submission_id,
                submitted_at=submitted_at,
                score=score,
                is_best=sign * score > known,
            )
        )
    return points


def scores_of(session: Session, submission: Submission, audience: Audience) -> dict[str, Cell] | None:
    """The scores of one submission; None for those who may not see them."""
    if not may_see(submission.phase, "scores", audience):
        return None
    return _cells(session, [submission.id]).get(submission.id, {})
