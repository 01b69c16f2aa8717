"""Finding submissions and their episodes again.

Submissions: one, a page of them, those that are not final, and the rows that no team made. Episodes: in pages, as
lines, and as much of each as a viewer may see.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import joinedload

from nav_eval.records.results import EpisodeOutcome, decode_outcome
from nav_eval_store.competitions.visibility import Audience
from nav_eval_store.database import Page, Session, clamp_page_size, decode_cursor, make_after_condition, make_page
from nav_eval_store.errors import NotFound
from nav_eval_store.models import (
    BoardEntry,
    Competition,
    EntryVisibility,
    EpisodeRow,
    Phase,
    Submission,
    Team,
    TeamKind,
)
from nav_eval_store.people.names import make_name_key
from nav_eval_store.submissions.lifecycle import OPEN, SubmissionState

_NUMBER = re.compile(r"[0-9]{1,9}")


def get_submission(session: Session, submission_id: UUID) -> Submission:
    """One submission with its phase and team."""
    query = select(Submission).where(Submission.id == submission_id)
    found = session.scalar(query.options(joinedload(Submission.phase), joinedload(Submission.team)))
    if found is None:
        raise NotFound("There is no such submission, or it is not yours.")
    return found


def list_submissions(
    session: Session,
    *,
    competition: Competition | None = None,
    phase: Phase | None = None,
    team: Team | None = None,
    team_ids: Collection[UUID] | None = None,
    states: Sequence[SubmissionState] = (),
    search: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Page[Submission]:
    """Submissions, newest first; of all teams unless `team` or `team_ids` says otherwise.

    `search` is a part of a team's or submission's name, or a number: `#12`.
    """
    limit = clamp_page_size(limit)
    key = (Submission.created_at, Submission.id)
    query = select(Submission).order_by(*(column.desc() for column in key)).limit(limit + 1)
    query = query.options(joinedload(Submission.phase), joinedload(Submission.team))
    if competition is not None:
        query = query.where(Submission.competition_id == competition.id)
    if phase is not None:
        query = query.where(Submission.phase_id == phase.id)
    if team is not None:
        query = query.where(Submission.team_id == team.id)
    if team_ids is not None:
        query = query.where(Submission.team_id.in_(team_ids))
    if states:
        query = query.where(Submission.state.in_(states))
    if search:
        query = query.where(_make_search_condition(search))
    if (below := decode_cursor(after, tuple[datetime, UUID])) is not None:
        query = query.where(make_after_condition(key, below))
    return make_page(session.scalars(query).all(), limit, lambda row: (row.created_at, row.id))


def _make_search_condition(search: str) -> ColumnElement[bool]:
    named = Submission.team_id.in_(select(Team.id).where(Team.name.icontains(search, autoescape=True)))
    found = named | Submission.title.icontains(search, autoescape=True)
    number = search.removeprefix("#")
    return found | (Submission.number == int(number)) if _NUMBER.fullmatch(number) else found


def list_open_submissions(
    session: Session, phase: Phase | None = None, team: Team | None = None
) -> Sequence[Submission]:
    """Those that are not final, oldest first."""
    query = select(Submission).where(Submission.state.in_(OPEN)).order_by(Submission.created_at, Submission.id)
    if phase is not None:
        query = query.where(Submission.phase_id == phase.id)
    if team is not None:
        query = query.where(Submission.team_id == team.id)
    return session.scalars(query).all()


def list_held_submissions(session: Session, competition: Competition) -> Sequence[Submission]:
    """Those whose replay gave other numbers, and which no organiser has looked at yet; oldest first."""
    query = (
        select(Submission)
        .join(BoardEntry, BoardEntry.submission_id == Submission.id)
        .where(Submission.competition_id == competition.id, BoardEntry.visibility == EntryVisibility.HELD)
        .options(joinedload(Submission.phase), joinedload(Submission.team))
    )
    return session.scalars(query.order_by(BoardEntry.completed_at)).all()


def list_baselines(session: Session, phase: Phase) -> Sequence[Team]:
    """The rows of the board that no team made, whether or not they have been evaluated."""
    names = {make_name_key(baseline.name) for baseline in phase.config.baselines}
    rows = session.scalars(select(Team).where(Team.competition_id == phase.competition_id, Team.kind != TeamKind.TEAM))
    return [team for team in rows if make_name_key(team.name) in names]


TEAM_EPISODE_FIELDS = ("episode_id", "status", "metrics", "num_steps", "cause", "detail", "timing")
"""What a team sees of its own episodes. The rest (instruction, scene, distances) is the test set's secret."""
BATCH = 1000


def list_episodes(
    session: Session, submission: Submission, *, after: str | None = None, limit: int = 100, ended: bool | None = None
) -> Page[EpisodeRow]:
    """Episodes in the order of the plan; `ended` keeps only those that have a result, or have none."""
    limit = clamp_page_size(limit)
    query = select(EpisodeRow).where(EpisodeRow.submission_id == submission.id).order_by(EpisodeRow.position)
    if ended is not None:
        query = query.where(EpisodeRow.status.is_not(None) if ended else EpisodeRow.status.is_(None))
    if (above := decode_cursor(after, tuple[int])) is not None:
        query = query.where(EpisodeRow.position > above[0])
    return make_page(session.scalars(query.limit(limit + 1)).all(), limit, lambda row: (row.position,))


def get_episode(session: Session, submission: Submission, episode_id: str) -> EpisodeRow:
    row = session.get(EpisodeRow, (submission.id, episode_id))
    if row is None:
        raise NotFound("There is no such episode in this submission.")
    return row


def view_episode(row: EpisodeRow, audience: Audience) -> dict[str, Any]:
    """An episode as a viewer may see it; whether they may see it at all is the phase's business."""
    if row.outcome is None:
        return {"episode_id": row.episode_id, "status": None}
    fields: dict[str, Any] = msgspec.json.decode(row.outcome)
    if audience is Audience.ORGANISER:
        return fields
    return {key: fields[key] for key in TEAM_EPISODE_FIELDS if key in fields}


def read_result_lines(session: Session, submission_id: UUID) -> Iterator[str]:
    """The results as lines of episodes.jsonl (without trajectory and actions), in the order of the plan."""
    query = (
        select(EpisodeRow.outcome)
        .where(EpisodeRow.submission_id == submission_id, EpisodeRow.outcome.is_not(None))
        .order_by(EpisodeRow.position)
        .execution_options(yield_per=BATCH)
    )
    for outcome in session.scalars(query):
        assert outcome is not None
        yield outcome


def read_outcomes(session: Session, submission_id: UUID) -> Sequence[EpisodeOutcome]:
    """The results as records."""
    return [decode_outcome(line) for line in read_result_lines(session, submission_id)]
