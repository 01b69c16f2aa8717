"""What is called every few seconds: nothing stays where it is because somebody died.

`recover` looks at every submission that is not final, asks `lifecycle.list_recovery_steps` what is overdue, and
does it, one short transaction each. Of those that are final, films may still be made: they are looked
after, too. What is left for the caller is to send the messages that it returns (`dispatch`).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, select

from nav_eval.records.results import Cause
from nav_eval_store.audit import make_system_actor
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Database, Session
from nav_eval_store.models import Job, LeaseRow, Phase, Submission
from nav_eval_store.notifications import events
from nav_eval_store.submissions import films, lifecycle, transitions
from nav_eval_store.submissions.lifecycle import (
    ASKED_FOR,
    OPEN,
    Deadlines,
    JobKind,
    JobSnapshot,
    JobState,
    RecoveryAction,
    RecoveryStep,
    SubmissionSnapshot,
    SubmissionState,
)
from nav_eval_store.uploads import records
from nav_eval_store.work import dispatch, jobs, leases
from nav_eval_store.work.queues import JobMessage

RECOVER = make_system_actor("recover")
KEEP_EVENTS = timedelta(days=14)


@dataclass(kw_only=True, slots=True)
class RecoveryReport:
    """What `recover` did."""

    messages: list[JobMessage] = field(default_factory=list)  #: to be sent
    done: list[tuple[UUID, RecoveryStep]] = field(default_factory=list)  #: by submission


def recover(database: Database, *, deadlines: Deadlines | None = None) -> RecoveryReport:
    """Do all that is overdue."""
    deadlines, result = deadlines or Deadlines(), RecoveryReport()
    with database.read() as session:
        snapshots = _load_snapshots(session, Submission.state.in_(OPEN))
    for submission_id, snapshot in snapshots.items():
        if lifecycle.list_recovery_steps(snapshot, database.clock.now(), deadlines):
            database.run(lambda session: _act(session, submission_id, deadlines, result))  # noqa: B023
    _recover_films(database, deadlines, result)
    result.messages = database.run(lambda session: dispatch.dispatch_jobs(session, deadlines=deadlines))
    return result


def _recover_films(database: Database, deadlines: Deadlines, result: RecoveryReport) -> None:
    """Requests for films live on submissions that have ended."""
    with database.read() as session:
        waiting = {key for key, _ in _list_film_duties(session)}
    for submission_id in waiting:
        database.run(lambda session: _act_on_films(session, submission_id, deadlines, result))  # noqa: B023


def _list_film_duties(session: Session, submission_id: UUID | None = None) -> list[tuple[UUID, RecoveryStep]]:
    query = (
        select(Job, LeaseRow, Phase.paused_at)
        .join(Submission, Submission.id == Job.submission_id)
        .join(Phase, Phase.id == Submission.phase_id)
        .outerjoin(LeaseRow, (LeaseRow.job_id == Job.id) & LeaseRow.released_at.is_(None))
        .where(Job.kind.in_(ASKED_FOR), Job.state.in_((JobState.WAITING, JobState.HELD)))
    )
    if submission_id is not None:
        query = query.where(Job.submission_id == submission_id)
    return [
        (job.submission_id, duty)
        for job, lease, paused_at in session.execute(query)
        for duty in lifecycle.list_job_recovery_steps(_make_film_snapshot(job, lease, paused_at), session.now())
    ]


def _make_film_snapshot(job: Job, lease: LeaseRow | None, paused_at: datetime | None) -> SubmissionSnapshot:
    return SubmissionSnapshot(
        state=SubmissionState.COMPLETED,
        since=job.created_at,
        jobs=(_make_job_snapshot(job, lease),),
        paused_at=paused_at,
    )


def _act_on_films(session: Session, submission_id: UUID, deadlines: Deadlines, result: RecoveryReport) -> None:
    """Look again under the submission's lock."""
    submission = transitions.lock_submission(session, submission_id)
    for _, duty in _list_film_duties(session, submission_id):
        _perform(session, submission, duty, deadlines)
        result.done.append((submission_id, duty))


def load_submission_snapshot(session: Session, submission: Submission) -> SubmissionSnapshot:
    """What `lifecycle` wants to know about a submission."""
    return _load_snapshots(session, Submission.id == submission.id)[submission.id]


def _act(session: Session, submission_id: UUID, deadlines: Deadlines, result: RecoveryReport) -> None:
    """Look again under the submission's lock, and do what is still due."""
    submission = transitions.lock_submission(session, submission_id)
    if submission.state.is_final:
        return
    done: list[tuple[UUID, RecoveryStep]] = []
    for duty in lifecycle.list_recovery_steps(load_submission_snapshot(session, submission), session.now(), deadlines):
        if not submission.state.is_final:
            _perform(session, submission, duty, deadlines)
            done.append((submission_id, duty))
    result.done += done


def _perform(session: Session, submission: Submission, duty: RecoveryStep, deadlines: Deadlines) -> None:
    match duty.action, duty.job:
        case RecoveryAction.EXPIRE, _:
            transitions.cancel_submission(session, submission, actor=RECOVER, reason=duty.reason)
        case RecoveryAction.ABANDON, _:
            detail = f"We could not evaluate it: {duty.reason}. Your quota is untouched; please submit again."
            transitions.fail_submission(session, submission, Cause.INFRASTRUCTURE, detail, actor=RECOVER)
        case RecoveryAction.CLOSE, _:
            jobs.close_submission(session, submission, duty.reason, actor=RECOVER)
        case RecoveryAction.REAP, UUID() as job_id:
            leases.expire_lease(session, job_id, deadlines=deadlines)


def _load_snapshots(session: Session, which: ColumnElement[bool]) -> dict[UUID, SubmissionSnapshot]:
    query = select(Submission, Phase).join(Phase, Phase.id == Submission.phase_id).where(which)
    rows = session.execute(query)
    found = {submission.id: (submission, phase) for submission, phase in rows}
    jobs = _load_job_snapshots(session, found)
    return {
        key: SubmissionSnapshot(
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


def _load_job_snapshots(
    session: Session, submissions: Iterable[UUID]
) -> dict[UUID, list[tuple[JobSnapshot, timedelta]]]:
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
    jobs: dict[UUID, list[tuple[JobSnapshot, timedelta]]] = defaultdict(list)
    for job, lease in session.execute(query):
        jobs[job.submission_id].append((_make_job_snapshot(job, lease), _measure_busy_time(job, lease, session.now())))
    return jobs


def _make_job_snapshot(job: Job, lease: LeaseRow | None) -> JobSnapshot:
    return JobSnapshot(
        id=job.id,
        state=job.state,
        lease_ends=None if lease is None else lease.expires_at,
    )


def _measure_busy_time(job: Job, lease: LeaseRow | None, now: datetime) -> timedelta:
    if job.kind is not JobKind.SHARD:
        return timedelta()
    held = timedelta() if lease is None else transitions.measure_uncounted_time(lease, now)
    return timedelta(seconds=job.busy_seconds) + held


def remove_expired(database: Database, blobs: BlobStore) -> int:
    """Throw away what nobody will ask for: uploads that were given up, old events. Returns bytes freed."""
    with database.begin() as session:
        gone = [upload.key for upload in records.list_expired_uploads(session)]
        for upload in records.list_expired_uploads(session):
            upload.removed_at = session.now()
        events.prune_events(session, before=session.now() - KEEP_EVENTS)
        films.give_up_stale(session)
    freed = sum(blobs.offset(key) for key in gone)
    for key in gone:
        blobs.discard(key)
    return freed


def list_overdue(session: Session, *, deadlines: Deadlines | None = None) -> Sequence[tuple[UUID, RecoveryStep]]:
    """What `recover` would do now; for health checks."""
    snapshots = _load_snapshots(session, Submission.state.in_(OPEN))
    return [
        (key, duty)
        for key, snapshot in snapshots.items()
        for duty in lifecycle.list_recovery_steps(snapshot, session.now(), deadlines or Deadlines())
    ]
