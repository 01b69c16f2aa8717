"""The episodes of a submission: in pages, as lines, and as much of each as a viewer may see."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import select

from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound
from nav_eval_store.models import EpisodeRow, Submission
from nav_eval_store.paging import Page, page, page_size, position
from nav_eval_store.tally import Outcome, parse
from nav_eval_store.viewing import Audience

SHOWN = ("episode_id", "status", "metrics", "num_steps", "cause", "detail", "timing")
"""What a team sees of its own episodes. The rest (instruction, scene, distances) is the test set's secret."""
BATCH = 1000


def listing(
    session: Session, submission: Submission, *, after: str | None = None, limit: int = 100, ended: bool | None = None
) -> Page[EpisodeRow]:
    """Episodes in the order of the plan; `ended` keeps only those that have a result, or have none."""
    limit = page_size(limit)
    query = select(EpisodeRow).where(EpisodeRow.submission_id == submission.id).order_by(EpisodeRow.position)
    if ended is not None:
        query = query.where(EpisodeRow.status.is_not(None) if ended else EpisodeRow.status.is_(None))
    if (above := position(after, tuple[int])) is not None:
        query = query.where(EpisodeRow.position > above[0])
    return page(session.scalars(query.limit(limit + 1)).all(), limit, lambda row: (row.position,))


def get(session: Session, submission: Submission, episode_id: str) -> EpisodeRow:
    row = session.get(EpisodeRow, (submission.id, episode_id))
    if row is None:
        raise NotFound("There is no such episode in this submission.")
    return row


def view(row: EpisodeRow, audience: Audience) -> dict[str, Any]:
    """An episode as a viewer may see it; whether they may see it at all is the phase's business."""
    if row.outcome is None:
        return {"episode_id": row.episode_id, "status": None}
    fields: dict[str, Any] = msgspec.json.decode(row.outcome)
    if audience is Audience.ORGANISER:
        return fields
    return {key: fields[key] for key in SHOWN if key in fields}


def lines(session: Session, submission_id: UUID) -> Iterator[str]:
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


def outcomes(session: Session, submission_id: UUID) -> Sequence[Outcome]:
    """The results as records."""
    return [parse(line) for line in lines(session, submission_id)]
