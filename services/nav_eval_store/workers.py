"""Workers: who is there, since when, and who is to stop taking work."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from nav_eval_store import audit
from nav_eval_store.actors import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound
from nav_eval_store.models import LeaseRow, Worker
from nav_eval_store.queueing import ALIVE


def register(
    session: Session,
    name: str,
    *,
    host: str,
    version: str,
    slots: int = 1,
    abilities: Mapping[str, Any] | None = None,
) -> Worker:
    """A worker starts, or starts again; a restart ends its draining."""
    worker = session.get(Worker, name) or Worker(name=name)
    worker.host, worker.version, worker.slots, worker.abilities = host, version, slots, dict(abilities or {})
    worker.started_at = worker.heartbeat_at = session.now()
    worker.draining_at = worker.stopped_at = None
    session.add(worker)
    session.flush()
    return worker


def heartbeat(session: Session, name: str) -> bool:
    """Still here; True when the worker is to take nothing new."""
    worker = _named(session, name)
    worker.heartbeat_at = session.now()
    return worker.draining_at is not None


def stopped(session: Session, name: str) -> None:
    """A worker ends in good order."""
    _named(session, name).stopped_at = session.now()


def drain(session: Session, names: Sequence[str] | None = None, *, actor: Actor, reason: str) -> list[str]:
    """Finish what you hold and take nothing new: these workers, or all."""
    chosen = [_named(session, name) for name in names] if names is not None else list(alive(session))
    for worker in chosen:
        worker.draining_at = worker.draining_at or session.now()
    drained = [worker.name for worker in chosen]
    audit.record(session, actor, "workers.drain", reason=reason, workers=drained)
    return drained


def undrain(
    session: Session, names: Sequence[str] | None = None, *, actor: Actor, reason: str | None = None
) -> list[str]:
    """Take work again."""
    chosen = [_named(session, name) for name in names] if names is not None else list(alive(session))
    for worker in chosen:
        worker.draining_at = None
    audit.record(session, actor, "workers.undrain", reason=reason, workers=[worker.name for worker in chosen])
    return [worker.name for worker in chosen]


def alive(session: Session) -> Sequence[Worker]:
    """Those that gave a sign of life lately."""
    query = select(Worker).where(Worker.heartbeat_at > session.now() - ALIVE, Worker.stopped_at.is_(None))
    return session.scalars(query.order_by(Worker.name)).all()


def holding(session: Session) -> Sequence[LeaseRow]:
    """All leases that are not released: what is being worked on right now."""
    return session.scalars(select(LeaseRow).where(LeaseRow.released_at.is_(None))).all()


def _named(session: Session, name: str) -> Worker:
    worker = session.get(Worker, name, populate_existing=True)
    if worker is None:
        raise NotFound("There is no worker {name!r}.", name=name)
    return worker
