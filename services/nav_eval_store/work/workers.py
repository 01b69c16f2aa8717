"""Workers: who is there, since when, and who is to stop taking work."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound
from nav_eval_store.models import LeaseRow, Worker
from nav_eval_store.work.fairness import ALIVE


def register_worker(
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


def record_heartbeat(session: Session, name: str) -> bool:
    """Still here; True when the worker is to take nothing new."""
    worker = _get_worker(session, name)
    worker.heartbeat_at = session.now()
    return worker.draining_at is not None


def mark_stopped(session: Session, name: str) -> None:
    """A worker ends in good order."""
    _get_worker(session, name).stopped_at = session.now()


def drain_workers(session: Session, names: Sequence[str] | None = None, *, actor: Actor, reason: str) -> list[str]:
    """Finish what you hold and take nothing new: these workers, or all."""
    chosen = [_get_worker(session, name) for name in names] if names is not None else list(list_alive_workers(session))
    for worker in chosen:
        worker.draining_at = worker.draining_at or session.now()
    drained = [worker.name for worker in chosen]
    audit.record(session, actor, "workers.drain", reason=reason, workers=drained)
    return drained


def undrain_workers(
    session: Session, names: Sequence[str] | None = None, *, actor: Actor, reason: str | None = None
) -> list[str]:
    """Take work again."""
    chosen = [_get_worker(session, name) for name in names] if names is not None else list(list_alive_workers(session))
    for worker in chosen:
        worker.draining_at = None
    audit.record(session, actor, "workers.undrain", reason=reason, workers=[worker.name for worker in chosen])
    return [worker.name for worker in chosen]


def list_alive_workers(session: Session) -> Sequence[Worker]:
    """Those that gave a sign of life lately."""
    query = select(Worker).where(Worker.heartbeat_at > session.now() - ALIVE, Worker.stopped_at.is_(None))
    return session.scalars(query.order_by(Worker.name)).all()


def list_working_workers(session: Session) -> Sequence[Worker]:
    """Of those that are alive, the ones that take new jobs."""
    return [worker for worker in list_alive_workers(session) if worker.draining_at is None]


def list_active_leases(session: Session) -> Sequence[LeaseRow]:
    """All leases that are not released: what is being worked on right now."""
    return session.scalars(select(LeaseRow).where(LeaseRow.released_at.is_(None))).all()


def _get_worker(session: Session, name: str) -> Worker:
    worker = session.get(Worker, name, populate_existing=True)
    if worker is None:
        raise NotFound("There is no worker {name!r}.", name=name)
    return worker
