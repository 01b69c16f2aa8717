"""What a beat calls every few seconds: nothing stays where it is because somebody died.

`recover` looks at every submission that is not final, asks `lifecycle.duties` what is overdue, and
does it, one short transaction each. Of those that are final, films may still be made: they are looked
after, too. What is left for the caller is to tell the workers: the messages it returns. Losing a message,
or all of them, costs a minute.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, select

from nav_eval_store import events, films, leases, lifecycle, transitions, uploads, work
from nav_eval_store.actors import system_actor
from nav_eval_store.blobs import BlobStore
from nav_eval_store.causes import Cause
from nav_eval_store.database import Database, Session
from nav_eval_store.lifecycle import OPEN, Action, Duty, JobKind, JobState, JobView, Patience, State, View
from nav_eval_store.models import Job, LeaseRow, Phase, Submission

RECOVER = system_actor("recover")
KEEP_EVENTS = timedelta(days=14)


class Message(NamedTuple):
    """Tell the workers: this job waits. Whoever gets it claims the job, or the one whose turn it is."""

    job_id: UUID
    kind: JobKind
    submission_id: UUID


@dataclass(kw_only=True, slots=True)
class Recovered:
    """What `recover` did."""

    messages: list[Message] = field(default_factory=list)  #: to be sent
    done: list[tuple[UUID, Duty]] = field(default_factory=list)  #: by submission


def recover(database: Database, *, patience: Patience | None = None) -> Recovered:
    """Do all that is overdue."""
    patience, result = patience or Patience(), Recovered()
    with database.read() as session:
        views = _views(session, Submission.state.in_(OPEN))
    for submission_id, view in views.items():
        if lifecycle.duties(view, database.clock.now(), patience):
            database.run(lambda session: _act(session, submission_id, patience, result))  # noqa: B023
    _recover_films(database, patience, result)
    return result


def _recover_films(database: Database, patience: Patience, result: Recovered) -> None:
    """Requests for films live on submissions that have ended."""
    with database.read() as session:
        waiting = {key for key, duty in _film_duties(session, patience)}
    for submission_id in waiting:
        database.run(lambda session: _act_on_films(session, submission_id, patience, result))  # noqa: B023


def _film_duties(session: Session, patience: Patience, submission_id: UUID | None = None) -> list[tuple[UUID, Duty]]:
    query = (
        select(Job, LeaseRow, Phase.paused_at)
        .join(Submission, Submission.id == Job.submission_id)
        .join(Phase, Phase.id == Submission.phase_id)
        .outerjoin(LeaseRow, (LeaseRow.job_id == Job.id) & LeaseRow.released_at.is_(None))
        .where(Job.kind == JobKind.FILM, Job.state.in_((JobState.WAITING, JobState.HELD)))
    )
    if submission_id is not None:
        query = query.where(Job.submission_id == submission_id)
    return [
        (job.submission_id, duty)
        for job, lease, paused_at in session.execute(query)
        for duty in lifecycle.job_duties(_film_view(job, lease, paused_at), session.now(), patience)
    ]


def _film_view(job: Job, lease: LeaseRow | None, paused_at: datetime | None) -> View:
    return View(state=State.COMPLETED, since=job.created_at, jobs=(_job_view(job, lease),), paused_at=paused_at)


def _act_on_films(session: Session, submission_id: UUID, patience: Patience, result: Recovered) -> None:
    """Look again under the submission's lock."""
    submission = transitions.locked(session, submission_id)
    for _, duty in _film_duties(session, patience, submission_id):
        result.messages += _do(session, submission, duty, patience)
        result.done.append((submission_id, duty))


def view(session: Session, submission: Submission) -> View:
    """What `lifecycle` wants to know about a submission."""
    return _views(session, Submission.id == submission.id)[submission.id]


def _act(session: Session, submission_id: UUID, patience: Patience, result: Recovered) -> None:
    """Look again under the submission's lock, and do what is still due."""
    submission = transitions.locked(session, submission_id)
    if submission.state.is_final:
        return
    done: list[tuple[UUID, Duty]] = []
    messages: list[Message] = []
    for duty in lifecycle.duties(view(session, submission), session.now(), patience):
        if not submission.state.is_final:
            messages += _do(session, submission, duty, patience)
            done.append((submission_id, duty))
    result.messages += messages
    result.done += done


def _do(session: Session, submission: Submission, duty: Duty, patience: Patience) -> list[Message]:
    match duty.action, duty.job:
        case Action.EXPIRE, _:
            transitions.cancel(session, submission, actor=RECOVER, reason=duty.reason)
        case Action.ABANDON, _:
            detail = f"We could not evaluate it: {duty.reason}. Your quota is untouched; please submit again."
            transitions.fail(session, submission, Cause.INFRASTRUCTURE, detail, actor=RECOVER)
        case Action.CLOSE, _:
            work.close(session, submission, duty.reason, actor=RECOVER)
        case Action.REAP, UUID() as job_id:
            leases.reap(session, job_id, patience=patience)
        case Action.DISPATCH, UUID() as job_id:
            return _tell(session, [session.get_one(Job, job_id)])
    return []


def untold(session: Session, submission_id: UUID | None = None) -> list[Message]:
    """Jobs that may start and that nobody was told about, marked as told: send these after the commit."""
    query = select(Job).where(Job.state == JobState.WAITING, Job.told_at.is_(None), Job.ready_at <= session.now())
    if submission_id is not None:
        query = query.where(Job.submission_id == submission_id)
    return _tell(session, session.scalars(query.order_by(Job.created_at, Job.position)).all())


def _tell(session: Session, jobs: Iterable[Job]) -> list[Message]:
    messages = []
    for job in jobs:
        job.told_at = session.now()
        messages.append(Message(job.id, job.kind, job.submission_id))
    return messages


def _views(session: Session, which: ColumnElement[bool]) -> dict[UUID, View]:
    query = select(Submission, Phase).join(Phase, Phase.id == Submission.phase_id).where(which)
    rows = session.execute(query)
    found = {submission.id: (submission, phase) for submission, phase in rows}
    jobs = _jobs(session, found)
    return {
        key: View(
            state=submission.state,
            since=submission.since,
            active_at=submission.active_at,
            jobs=tuple(job for job, _ in jobs[key] if job.state in (JobState.WAITING, JobState.HELD)),
            busy=sum((busy for _, busy in jobs[key]), timedelta()),
            allowed=timedelta(hours=phase.config.limits.submission_hours),
            paused_at=phase.paused_at,
            resumed_at=phase.resumed_at,
        )
        for key, (submission, phase) in found.items()
    }


def _jobs(session: Session, submissions: Iterable[UUID]) -> dict[UUID, list[tuple[JobView, timedelta]]]:
    """Jobs of submissions in work, with the time that workers have spent on the shards among them."""
    query = (
        select(Job, LeaseRow)
        .outerjoin(LeaseRow, (LeaseRow.job_id == Job.id) & LeaseRow.released_at.is_(None))
        .join(Submission, Submission.id == Job.submission_id)
        .where(Submission.state.in_(OPEN))
        .order_by(Job.kind, Job.position)
    )
    wanted = list(submissions)
    if len(wanted) == 1:
        query = query.where(Job.submission_id == wanted[0])
    jobs: dict[UUID, list[tuple[JobView, timedelta]]] = defaultdict(list)
    for job, lease in session.execute(query):
        jobs[job.submission_id].append((_job_view(job, lease), _busy(job, lease, session.now())))
    return jobs


def _job_view(job: Job, lease: LeaseRow | None) -> JobView:
    return JobView(
        id=job.id,
        state=job.state,
        ready_at=job.ready_at,
        told_at=job.told_at,
        lease_ends=None if lease is None else lease.expires_at,
    )


def _busy(job: Job, lease: LeaseRow | None, now: datetime) -> timedelta:
    if job.kind is not JobKind.SHARD:
        return timedelta()
    held = timedelta() if lease is None else transitions.unpaid(lease, now)
    return timedelta(seconds=job.busy_seconds) + held


def tidy(database: Database, blobs: BlobStore) -> int:
    """Throw away what nobody will ask for: uploads that were given up, old events. Returns bytes freed."""
    with database.begin() as session:
        gone = [upload.key for upload in uploads.expired(session)]
        for upload in uploads.expired(session):
            upload.removed_at = session.now()
        events.prune(session, before=session.now() - KEEP_EVENTS)
        films.give_up_stale(session)
    freed = sum(blobs.offset(key) for key in gone)
    for key in gone:
        blobs.discard(key)
    return freed


def overdue(session: Session, *, patience: Patience | None = None) -> Sequence[tuple[UUID, Duty]]:
    """What `recover` would do now; for health checks."""
    views = _views(session, Submission.state.in_(OPEN))
    return [
        (key, duty)
        for key, seen in views.items()
        for duty in lifecycle.duties(seen, session.now(), patience or Patience())
    ]
