"""Workers, the queue and the audit log, for those who look after the installation."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import AwareDatetime
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from nav_eval_gateway import access
from nav_eval_gateway.dependencies import Organiser, Store
from nav_eval_gateway.paging import Page, Paged, Paging
from nav_eval_gateway.problems import problems
from nav_eval_gateway.schemas.organising import AuditLine, Drain, Drained, QueueAnswer, WorkerAnswer
from nav_eval_store import audit, workers
from nav_eval_store.audit import Subject
from nav_eval_store.database import Session
from nav_eval_store.figures import figures
from nav_eval_store.models import LeaseRow, Worker

router = APIRouter(tags=["organising"], responses=problems(401, 403))


@router.get("/workers", summary="List workers")
def list_workers(caller: Organiser, store: Store) -> list[WorkerAnswer]:
    """All workers that ever reported, and what each one is doing; for organisers of the installation."""
    with store.read() as session:
        access.require_organiser(session, caller)
        alive = {worker.name for worker in workers.alive(session)}
        held = _held(session)
        rows = session.scalars(select(Worker).order_by(Worker.name)).all()
        return [WorkerAnswer.of(row, alive=row.name in alive, holds=held[row.name]) for row in rows]


def _held(session: Session) -> dict[str, list[LeaseRow]]:
    held: dict[str, list[LeaseRow]] = defaultdict(list)
    query = select(LeaseRow).where(LeaseRow.released_at.is_(None)).options(joinedload(LeaseRow.job))
    for lease in session.scalars(query.order_by(LeaseRow.acquired_at)):
        held[lease.worker].append(lease)
    return held


@router.post("/workers/drain", responses=problems(404), summary="Drain workers")
def drain_workers(wanted: Drain, caller: Organiser, store: Store) -> Drained:
    """Finish what you hold and take nothing new: these workers, or all that are alive."""

    def drain(session: Session) -> Drained:
        access.require_organiser(session, caller)
        return Drained(workers=workers.drain(session, wanted.workers, actor=caller.actor, reason=wanted.reason))

    return store.run(drain)


@router.post("/workers/undrain", responses=problems(404), summary="Let workers go on")
def undrain_workers(wanted: Drain, caller: Organiser, store: Store) -> Drained:
    """Take work again."""

    def undrain(session: Session) -> Drained:
        access.require_organiser(session, caller)
        return Drained(workers=workers.undrain(session, wanted.workers, actor=caller.actor, reason=wanted.reason))

    return store.run(undrain)


@router.get("/queue", summary="Overview of the queue")
def show_queue(caller: Organiser, store: Store) -> QueueAnswer:
    """What waits, what runs, and who does it; for organisers of the installation."""
    with store.read() as session:
        access.require_organiser(session, caller)
        return QueueAnswer.of(figures(session))


Moment = Annotated[AwareDatetime | None, Query(description="With a time zone.", examples=["2026-09-01T00:00:00Z"])]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which lines of the log are wanted."""

    action: Annotated[
        list[Annotated[str, Query(max_length=100)]] | None,
        Query(max_length=20, description="Only these, e.g. `quota.grant`."),
    ] = None
    actor: Annotated[str | None, Query(max_length=200, description="Only by them, e.g. `user:olga`.")] = None
    since: Moment = None
    until: Moment = None


Chosen = Annotated[Choice, Depends()]


@router.get("/audit", summary="Audit log of the installation")
def list_audit(caller: Organiser, store: Store, paged: Paged, chosen: Chosen) -> Page[AuditLine]:
    """Everything that was done, newest first; for organisers of the installation."""
    with store.read() as session:
        access.require_organiser(session, caller)
        return _lines(session, Subject(), chosen, paged)


@router.get("/competitions/{competition}/audit", responses=problems(404), summary="Audit log of a competition")
def list_competition_audit(
    competition: str,
    caller: Organiser,
    store: Store,
    paged: Paged,
    chosen: Chosen,
    team: UUID | None = None,
    submission: UUID | None = None,
) -> Page[AuditLine]:
    """Everything that was done in a competition, newest first; all of it, or about a team or a submission."""
    with store.read() as session:
        organised = access.organised_competition(session, caller, competition)
        subject = Subject(competition_id=organised.id, team_id=team, submission_id=submission)
        return _lines(session, subject, chosen, paged)


def _lines(session: Session, subject: Subject, chosen: Choice, paged: Paging) -> Page[AuditLine]:
    found = audit.listing(
        session,
        subject=subject,
        actions=chosen.action or (),
        actor=chosen.actor,
        since=chosen.since,
        until=chosen.until,
        after=paged.cursor,
        limit=paged.limit,
    )
    return Page[AuditLine].of(found, AuditLine.of)
