"""The outbox: what watchers (live pages, webhooks) hear about, written in the transaction that caused it.

Readers follow the ids: `read_events_after(session, last_id)`. On Postgres a sequence hands out ids before the
commit, so a reader could see 8, move on, and miss a 7 that commits later. Events are therefore
written as the last thing of their transaction, under one lock: ids grow in the order of the commits.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, event, func, select, text

from nav_eval_store.audit import ANY_SUBJECT, Subject
from nav_eval_store.database import Session
from nav_eval_store.models import OutboxEvent
from nav_eval_store.notifications import webhooks

STATE_CHANGED = "submission.state"
PROGRESS = "submission.progress"
VERDICT = "submission.canary"
BOARD_CHANGED = "board.changed"
PHASE_CHANGED = "phase.changed"
MESSAGE = "message.sent"

LOCK = 0x6E61765F6F757462
"""Postgres' advisory lock of whoever is about to commit events."""
_PENDING = "nav_eval_events"


def emit(session: Session, kind: str, subject: Subject, **payload: Any) -> None:  # noqa: ANN401
    """Tell watchers, once the transaction is committed."""
    pending: list[OutboxEvent] = session.info.setdefault(_PENDING, [])
    pending.append(OutboxEvent(at=session.now(), kind=kind, payload=payload, **subject._asdict()))


def read_events_after(
    session: Session, last_id: int, *, subject: Subject = ANY_SUBJECT, kinds: Sequence[str] = (), limit: int = 200
) -> Sequence[OutboxEvent]:
    """What happened since the event `last_id`, oldest first."""
    query = select(OutboxEvent).where(OutboxEvent.id > last_id).order_by(OutboxEvent.id).limit(limit)
    for name, value in subject._asdict().items():
        if value is not None:
            query = query.where(getattr(OutboxEvent, name) == value)
    if kinds:
        query = query.where(OutboxEvent.kind.in_(kinds))
    return session.scalars(query).all()


def get_latest_id(session: Session) -> int:
    """Where a watcher begins who wants only what is new."""
    return session.scalar(select(func.max(OutboxEvent.id))) or 0


def prune_events(session: Session, *, before: datetime) -> int:
    """Forget events that no watcher will ask for any more; the audit log keeps what matters."""
    old = delete(OutboxEvent).where(OutboxEvent.at < before).returning(OutboxEvent.id)
    return len(session.scalars(old).all())


@event.listens_for(Session, "before_commit")
def _write_pending(session: Session) -> None:
    if session.in_nested_transaction() or not session.info.get(_PENDING):
        return
    pending: list[OutboxEvent] = session.info.pop(_PENDING)
    session.flush()  # every other row first: no row lock is waited for under the events' lock
    hooks = webhooks.find_listeners(session, pending)
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    session.add_all(pending)
    session.flush()
    webhooks.enqueue_deliveries(session, pending, hooks)


@event.listens_for(Session, "after_rollback")
def _forget_pending(session: Session) -> None:
    session.info.pop(_PENDING, None)
