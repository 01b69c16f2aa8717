"""The audit log: who did what to whom, and why. Written in the transaction of the deed itself.

Every command takes an actor; the log keeps its name.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import select

from nav_eval_store.database import Page, Session, clamp_page_size, decode_cursor, make_page
from nav_eval_store.models import AuditEvent, Competition, Phase, Submission, Team, User


class Actor(NamedTuple):
    """A user, a worker, or a part of the platform."""

    label: str
    """`user:ada`, `worker:gpu-1`, `system:recover`."""
    user_id: UUID | None = None


def make_user_actor(user: User) -> Actor:
    return Actor(f"user:{user.name}", user.id)


def make_worker_actor(name: str) -> Actor:
    return Actor(f"worker:{name}")


def make_system_actor(part: str) -> Actor:
    return Actor(f"system:{part}")


class Subject(NamedTuple):
    """What an entry is about."""

    competition_id: UUID | None = None
    phase_id: UUID | None = None
    team_id: UUID | None = None
    submission_id: UUID | None = None


ANY_SUBJECT = Subject()
"""No particular subject: all of them."""


def make_subject(thing: Competition | Phase | Team | Submission | None) -> Subject:
    """The ids by which a thing is found again."""
    match thing:
        case Submission():
            return Subject(thing.competition_id, thing.phase_id, thing.team_id, thing.id)
        case Team():
            return Subject(thing.competition_id, team_id=thing.id)
        case Phase():
            return Subject(thing.competition_id, thing.id)
        case Competition():
            return Subject(thing.id)
        case None:
            return Subject()


def record(
    session: Session,
    actor: Actor,
    action: str,
    subject: Subject = ANY_SUBJECT,
    *,
    reason: str | None = None,
    **details: Any,  # noqa: ANN401
) -> None:
    """Write a line; it is kept if and only if the deed is."""
    session.add(
        AuditEvent(
            at=session.now(),
            actor=actor.label,
            actor_id=actor.user_id,
            action=action,
            reason=reason,
            details=details,
            **subject._asdict(),
        )
    )


def list_audit_events(
    session: Session,
    *,
    subject: Subject = ANY_SUBJECT,
    actions: Sequence[str] = (),
    actor: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: str | None = None,
    limit: int = 100,
) -> Page[AuditEvent]:
    """The log, newest first: all of it, or what is about `subject`, was done by `actor`, and when."""
    limit = clamp_page_size(limit)
    query = select(AuditEvent).order_by(AuditEvent.id.desc()).limit(limit + 1)
    for name, value in subject._asdict().items():
        if value is not None:
            query = query.where(getattr(AuditEvent, name) == value)
    if actions:
        query = query.where(AuditEvent.action.in_(actions))
    if actor is not None:
        query = query.where(AuditEvent.actor == actor)
    if since is not None:
        query = query.where(AuditEvent.at >= since)
    if until is not None:
        query = query.where(AuditEvent.at < until)
    if (below := decode_cursor(after, tuple[int])) is not None:
        query = query.where(AuditEvent.id < below[0])
    return make_page(session.scalars(query).all(), limit, lambda row: (row.id,))
