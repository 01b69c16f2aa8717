"""Leaderboards: which submission of each team counts, in what order, and who may see it.

Ranks are shared where the episodes cannot tell teams apart, which takes a bootstrap over all
episodes; `ranking` computes them when the board has changed. Until then a board says that its ranks
are provisional, and shows those of the bare scores.

Each board has a version, which grows with everything that the board shows. A gateway answers from memory while the
version stands still, and the version is the ETag.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, ColumnExpressionArgument, Select, case, func, select, update
from sqlalchemy.orm import joinedload

from nav_eval.metrics.comparison import rank_scores
from nav_eval.records.scoring import is_valid
from nav_eval_store import audit
from nav_eval_store.competitions.visibility import ANYBODY, Audience, Viewer, may_see, may_see_submission
from nav_eval_store.database import Session
from nav_eval_store.models import BoardEntry, EntryVisibility, Phase, Score, Submission, Team, TeamKind, TeamStatus
from nav_eval_store.notifications import events


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
    visibility: EntryVisibility
    reason: str | None  #: why it is not shown to all
    rig: str | None = None  #: cameras and motion that the agent chose; None where there is no choice


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

    @property
    def has_rigs(self) -> bool:
        """Whether agents chose among rigs."""
        return any(row.rig for row in (*self.rows, *self.withheld))


def build_board(session: Session, phase: Phase, viewer: Viewer = ANYBODY) -> Board:
    """The board of a phase for somebody. A hidden board has no rows, a team sees its own."""
    everybody = list_counting_entries(session, phase)
    entries = [entry for entry in everybody if _may_see(phase, entry.team_id, viewer)]
    withheld = list(session.scalars(_select_withheld(phase))) if viewer.is_organiser else []
    cells = _read_cells(session, [entry.submission_id for entry in (*entries, *withheld)])
    counts = _count_completed(session, phase)
    ranked = phase.ranked_version == phase.board_version
    ranks = (
        {entry.submission_id: entry.rank for entry in entries}
        if ranked
        else compute_provisional_ranks(phase, everybody)
    )

    visible = {entry.submission_id for entry in entries}

    def row(entry: BoardEntry, rank: int | None) -> Row:
        values = cells.get(entry.submission_id, {})
        compared = ranked and entry.shares_with in visible  # nothing is compared to a score that is hidden
        return _make_row(entry, rank, values, counts[entry.team_id], compared=compared, rules=phase.rules_digest)

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


def list_counting_entries(session: Session, phase: Phase) -> Sequence[BoardEntry]:
    """The entry of each team that counts, best first; entries without a number last."""
    best = _order_best_first(phase)
    choice = best if phase.config.ranking.keep == "best" else (BoardEntry.submitted_at.desc(), BoardEntry.submission_id)
    turn = func.row_number().over(partition_by=BoardEntry.team_id, order_by=choice).label("turn")
    shown = (
        select(BoardEntry.submission_id, turn)
        .join(BoardEntry.submission)
        .join(BoardEntry.team)
        .where(*_make_shown_conditions(phase))
        .subquery()
    )
    query = (
        select(BoardEntry)
        .join(shown, shown.c.submission_id == BoardEntry.submission_id)
        .where(shown.c.turn == 1)
        .options(*_NAMES)
        .order_by(*best)
    )
    return session.scalars(query).all()


def _order_best_first(phase: Phase) -> tuple[ColumnExpressionArgument[Any], ...]:
    """Best score first, no score last; of equal ones the earlier."""
    by_score = BoardEntry.score.desc() if phase.ranking["higher_is_better"] else BoardEntry.score.asc()
    return case((BoardEntry.score.is_(None), 1), else_=0), by_score, BoardEntry.submitted_at, BoardEntry.submission_id


_NAMES = (
    joinedload(BoardEntry.team),
    joinedload(BoardEntry.submission).load_only(Submission.title, Submission.rules_digest, Submission.canary),
)


def _make_shown_conditions(phase: Phase) -> tuple[ColumnElement[bool], ...]:
    """What everybody sees of entries joined with their team and submission."""
    return (
        BoardEntry.phase_id == phase.id,
        BoardEntry.visibility == EntryVisibility.SHOWN,
        Team.status == TeamStatus.ACTIVE,
        Submission.superseded_by.is_(None),
    )


def _select_withheld(phase: Phase) -> Select[BoardEntry]:
    return (
        select(BoardEntry)
        .join(BoardEntry.team)
        .join(BoardEntry.submission)
        .where(
            BoardEntry.phase_id == phase.id,
            (BoardEntry.visibility != EntryVisibility.SHOWN) | (Team.status == TeamStatus.DISQUALIFIED),
            Submission.superseded_by.is_(None),
        )
        .options(*_NAMES)
        .order_by(BoardEntry.submitted_at)
    )


def _read_cells(session: Session, submission_ids: Sequence[UUID]) -> dict[UUID, dict[str, Cell]]:
    cells: dict[UUID, dict[str, Cell]] = {}
    for start in range(0, len(submission_ids), 500):  # databases limit how many values a query may name
        query = select(Score.submission_id, Score.metric, Score.mean, Score.ci_low, Score.ci_high).where(
            Score.submission_id.in_(submission_ids[start : start + 500])
        )
        for submission, metric, mean, low, high in session.execute(query.order_by(Score.position)):
            cells.setdefault(submission, {})[metric] = Cell(mean=mean, ci_low=low, ci_high=high)
    return cells


def _count_completed(session: Session, phase: Phase) -> dict[UUID, int]:
    query = select(BoardEntry.team_id, func.count()).where(BoardEntry.phase_id == phase.id).group_by(BoardEntry.team_id)
    return dict(session.execute(query).all())


def compute_provisional_ranks(phase: Phase, entries: Iterable[BoardEntry]) -> dict[UUID, int]:
    """Ranks by the bare scores: equal ones share."""
    ranked = [entry for entry in entries if is_ranked(entry)]
    scores = [entry.score for entry in ranked if entry.score is not None]
    ranks = rank_scores(scores, higher_is_better=phase.ranking["higher_is_better"])
    return {entry.submission_id: rank for entry, rank in zip(ranked, ranks, strict=True)}


def is_ranked(entry: BoardEntry) -> bool:
    """Upper bounds have no rank, nor has what has no number."""
    return entry.team.kind is not TeamKind.UPPER_BOUND and is_valid(entry.score)


def _make_row(
    entry: BoardEntry, rank: int | None, metrics: Mapping[str, Cell], completed: int, *, compared: bool, rules: str
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
        rig=entry.submission.rig,
        score=Cell(mean=entry.score, ci_low=entry.ci_low, ci_high=entry.ci_high),
        metrics=metrics,
        submissions=completed,
        shares_with=entry.shares_with if compared else None,
        p_value=entry.p_value if compared else None,
        verified_at=entry.verified_at,
        outdated=entry.submission.rules_digest != rules,
        visibility=EntryVisibility.DISQUALIFIED if disqualified else entry.visibility,
        reason=entry.team.reason if disqualified else entry.reason,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorePoint:
    """A completed submission in the history of a board."""

    team: str
    team_id: UUID
    kind: TeamKind
    submission_id: UUID
    submitted_at: datetime
    score: float
    is_best: bool  #: better than all earlier ones of the team


def list_score_points(
    session: Session, phase: Phase, viewer: Viewer = ANYBODY, *, team: Team | None = None
) -> list[ScorePoint]:
    """Scores over time, oldest first; with `team`, of one team."""
    columns = (Team.name.label("team"), BoardEntry.team_id, Team.kind)
    values = (BoardEntry.submission_id, BoardEntry.submitted_at, BoardEntry.score)
    query = (
        select(*columns, *values)
        .select_from(BoardEntry)
        .join(BoardEntry.submission)
        .join(BoardEntry.team)
        .where(*_make_shown_conditions(phase))
    )
    if team is not None:
        query = query.where(BoardEntry.team_id == team.id)
    sign = 1.0 if phase.ranking["higher_is_better"] else -1.0
    best: dict[UUID, float] = {}
    points: list[ScorePoint] = []
    for row in session.execute(query.order_by(BoardEntry.submitted_at, BoardEntry.submission_id)):
        if row.score is None or not _may_see(phase, row.team_id, viewer):
            continue
        value, known = sign * row.score, best.get(row.team_id, float("-inf"))
        best[row.team_id] = max(value, known)
        points.append(ScorePoint(**row._mapping, is_best=value > known))
    return points


def read_scores(session: Session, submission: Submission, audience: Audience) -> dict[str, Cell] | None:
    """The scores of one submission; None for those who may not see them."""
    if not may_see(submission.phase, "scores", audience):
        return None
    return _read_cells(session, [submission.id]).get(submission.id, {})


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def find_scores(session: Session, submissions: Sequence[Submission], audience: Audience) -> dict[UUID, float]:
    """What ranks, of those submissions that have it and whose score may be seen."""
    seen = [submission.id for submission in submissions if may_see_submission(submission, "scores", audience)]
    query = select(BoardEntry).where(BoardEntry.submission_id.in_(seen), BoardEntry.score.is_not(None))
    return {entry.submission_id: entry.score for entry in session.scalars(query) if entry.score is not None}


def format_board_csv(board: Board) -> str:
    """One line per row; each metric with the ends of its confidence interval."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [column.name for column in board.columns]
    interval = [f"{name}{part}" for name in ("ranking_score", *names) for part in ("", "_ci_low", "_ci_high")]
    rig = ["rig"] if board.has_rigs else []
    writer.writerow(["rank", "team", "kind", "submission", "title", "submitted_at", "verified", *rig, *interval])
    for row in board.rows:
        writer.writerow(
            [
                *_format_head(row),
                *([row.rig or ""] if rig else []),
                *_format_numbers(row.score),
                *(part for name in names for part in _format_metric(row, name)),
            ]
        )
    return out.getvalue()


def _format_head(row: Row) -> list[str]:
    return [
        "" if row.rank is None else str(row.rank),
        _escape_formula(row.team),
        row.kind,
        str(row.submission_id),
        _escape_formula(row.title),
        row.submitted_at.isoformat(),
        "yes" if row.verified_at else "no",
    ]


def _format_metric(row: Row, name: str) -> list[str]:
    cell = row.metrics.get(name)
    return ["", "", ""] if cell is None else _format_numbers(cell)


def _format_numbers(cell: Cell) -> list[str]:
    return ["" if value is None else repr(value) for value in (cell.mean, cell.ci_low, cell.ci_high)]


def _escape_formula(text: str) -> str:
    """A spreadsheet runs a cell that begins like a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def lock_board(session: Session, phase_id: UUID) -> Phase:
    """Lock a board before its rows are changed: whoever ranks it does so, too."""
    return session.get_one(Phase, phase_id, with_for_update={"key_share": True}, populate_existing=True)


def mark_board_changed(session: Session, which: ColumnElement[bool]) -> None:
    """The boards of these phases show something else from now on."""
    session.flush()
    session.execute(
        update(Phase)
        .where(which)
        .values(board_version=Phase.board_version + 1)
        .execution_options(synchronize_session=False)
    )
    for phase in session.scalars(select(Phase).where(which).execution_options(populate_existing=True)):
        events.emit(session, events.BOARD_CHANGED, audit.make_subject(phase), version=phase.board_version)
