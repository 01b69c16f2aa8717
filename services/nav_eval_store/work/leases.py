"""Leases: who does which job right now.

Celery on Redis delivers a task again once it outlives the visibility time-out, so delivery decides
nothing here. A job belongs to the worker whose lease is fresh. A lease that has had no heartbeat for
half a minute is reaped, and then anyone may take the job; the old holder's fence is too low from that
moment, and whatever it still wants to write is refused.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import or_, select

from nav_eval_store.audit import make_worker_actor
from nav_eval_store.database import Session
from nav_eval_store.errors import LeaseLost
from nav_eval_store.models import Job, LeaseEnd, LeaseRow, Submission, Team, Worker
from nav_eval_store.submissions import transitions
from nav_eval_store.submissions.lifecycle import Deadlines, JobKind, JobState, SubmissionState
from nav_eval_store.work import dispatch, fairness, retries, usage
from nav_eval_store.work.queues import JobQueue, QueueMap
from nav_eval_store.work.usage import AgentUsage

CLAIM_ATTEMPTS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A worker's right to a job; every write of the worker carries it."""

    id: UUID
    job_id: UUID
    submission_id: UUID
    kind: JobKind
    worker: str
    fence: int  #: higher than that of every lease on the job before
    expires_at: datetime  #: unless a heartbeat comes


def claim_next_job(
    session: Session,
    worker: str,
    *,
    kinds: Sequence[JobKind] = tuple(JobKind),
    queues: Collection[JobQueue] = tuple(JobQueue),
    deadlines: Deadlines | None = None,
) -> Lease | None:
    """The job whose turn it is, fairly between teams and without any message; None when there is nothing to do."""
    in_queues = QueueMap(session).select_jobs(queues)
    for _ in range(CLAIM_ATTEMPTS):
        if _is_draining(session, worker):
            return None
        job_id = fairness.choose_next_job(session, Job.kind.in_(kinds), in_queues)
        if job_id is None:
            return None
        lease = claim_job(session, job_id, worker, deadlines=deadlines)
        if lease is not None:  # otherwise another worker was faster: look again
            return lease
    return None


class ClaimRefusal(StrEnum):
    """Why a worker does not do the job that a message names."""

    STALE = "stale"  #: it does not wait any more: the message came twice, or late
    NOT_ITS_TURN = "not_its_turn"  #: another one goes first by now
    DRAINING = "draining"  #: this worker takes nothing new
    NOT_NOW = "not_now"  #: its phase is paused, or it waits for its next attempt


def claim_dispatched_job(
    session: Session, job_id: UUID, worker: str, *, deadlines: Deadlines | None = None
) -> Lease | ClaimRefusal:
    """A lease on the job that a message names; a job that is refused waits to be dispatched again."""
    job = session.get(Job, job_id, populate_existing=True)
    if job is None or job.state is not JobState.WAITING:
        return ClaimRefusal.STALE
    refusal = ClaimRefusal.DRAINING if _is_draining(session, worker) else _check_turn(session, job)
    if refusal is None and (lease := claim_job(session, job_id, worker, deadlines=deadlines)) is not None:
        return lease
    dispatch.withdraw_messages(session, [job_id])
    return refusal or ClaimRefusal.NOT_NOW


def _check_turn(session: Session, job: Job) -> ClaimRefusal | None:
    """Whether a job of its queue that no message was sent for goes first by now."""
    queues = QueueMap(session)
    in_queue = queues.select_jobs([queues.find_queue(job.kind, job.submission.phase_id)])
    rivals = or_(Job.id == job.id, Job.dispatched_at.is_(None))
    first = fairness.choose_next_job(session, in_queue, rivals, apart_from=job.id)
    return None if first in (job.id, None) else ClaimRefusal.NOT_ITS_TURN


def claim_job(session: Session, job_id: UUID, worker: str, *, deadlines: Deadlines | None = None) -> Lease | None:
    """A lease on this job; None when it is not there to be taken, e.g. because a message came twice."""
    job = session.get(Job, job_id)
    if job is None:
        return None
    submission = transitions.lock_submission(session, job.submission_id)
    job = _lock_job(session, job_id)
    now = session.now()
    if job.state is not JobState.WAITING or job.ready_at > now or submission.phase.paused_at is not None:
        return None
    if submission.state is SubmissionState.QUEUED:
        transitions.move_to_state(session, submission, SubmissionState.RUNNING, actor=make_worker_actor(worker))
    return _make_lease(session, job, worker, until=now + (deadlines or Deadlines()).lease)


def _make_lease(session: Session, job: Job, worker: str, *, until: datetime) -> Lease:
    now = session.now()
    job.state = JobState.HELD
    job.fence += 1
    row = LeaseRow(job_id=job.id, fence=job.fence, worker=worker, acquired_at=now, heartbeat_at=now, expires_at=until)
    session.add(row)
    session.flush()
    team = session.get_one(Team, job.submission.team_id)
    if job.kind is JobKind.SHARD:
        team.served_at = now
    elif not job.kind.is_asked_for:  # visitors ask for films: they cost a team no turn
        team.checked_at = now
    session.flush()
    return Lease(
        id=row.id,
        job_id=job.id,
        submission_id=job.submission_id,
        kind=job.kind,
        worker=worker,
        fence=row.fence,
        expires_at=until,
    )


def renew_lease(
    session: Session, lease: Lease, *, deadlines: Deadlines | None = None, used: AgentUsage | None = None
) -> datetime:
    """Still here: the lease is good until the time returned. `LeaseLost` means stop at once.

    `used` is what the agent has used under this lease so far.
    """
    job, row = lock_held_job(session, lease)
    if used:
        job.used = usage.add_to_job_usage(job.used, lease.id, used)
    job.busy_seconds += transitions.measure_uncounted_time(row, session.now()).total_seconds()
    row.heartbeat_at = session.now()
    row.expires_at = session.now() + (deadlines or Deadlines()).lease
    return row.expires_at


def lock_held_job(session: Session, lease: Lease) -> tuple[Job, LeaseRow]:
    """The job and the lease, locked; refused when the lease is not the job's newest or was ended.

    A lease that is merely late is still good: nobody else has the job, and nothing was reaped.
    """
    job = _lock_job(session, lease.job_id)
    row = session.scalar(select(LeaseRow).where(LeaseRow.id == lease.id).execution_options(populate_existing=True))
    if row is None or row.released_at is not None or row.fence != lease.fence or job.fence != lease.fence:
        why = f" ({row.end})" if row is not None and row.end is not None else ""
        raise LeaseLost(f"The {lease.kind} job is no longer held by {lease.worker}{why}; stop, and write nothing more.")
    return job, row


def is_held(session: Session, lease: Lease) -> bool:
    """Whether `lock_held_job` would find it; locks nothing, so that it may be asked often."""
    row = session.get(LeaseRow, lease.id, populate_existing=True)
    return row is not None and row.released_at is None


def lock_held_job_with_submission(session: Session, lease: Lease) -> tuple[Submission, Job, LeaseRow]:
    """As `lock_held_job`, with the submission locked first: for steps that move it."""
    submission = transitions.lock_submission(session, lease.submission_id)
    job, row = lock_held_job(session, lease)
    return submission, job, row


def release_lease(session: Session, lease: Lease, *, reason: str = "given back") -> None:
    """Give a job back, e.g. because the worker drains: it waits for another one, at no cost."""
    job, row = lock_held_job(session, lease)
    transitions.end_lease(session, row, job, LeaseEnd.RELEASED, reason)
    retries.wait_again(session, job)


def retry_after_our_fault(session: Session, lease: Lease, detail: str, *, deadlines: Deadlines | None = None) -> bool:
    """We failed at this job: try it again later. False when it was the last attempt and the submission failed."""
    submission, job, row = lock_held_job_with_submission(session, lease)
    transitions.end_lease(session, row, job, LeaseEnd.FAILED, detail)
    return retries.retry_job(session, submission, job, detail, deadlines or Deadlines(), worker=lease.worker)


def expire_lease(session: Session, job_id: UUID, *, deadlines: Deadlines | None = None) -> bool:
    """Take a job from a worker that gives no sign of life; False when it does, after all."""
    job = session.get(Job, job_id)
    if job is None:
        return False
    submission = transitions.lock_submission(session, job.submission_id)
    job = _lock_job(session, job_id)
    row = find_active_lease(session, job_id)
    if row is None or row.expires_at > session.now():
        return False
    detail = f"the worker {row.worker} was lost"
    transitions.end_lease(session, row, job, LeaseEnd.LOST, detail)
    retries.retry_job(session, submission, job, detail, deadlines or Deadlines(), worker=row.worker)
    return True


def find_active_lease(session: Session, job_id: UUID) -> LeaseRow | None:
    query = select(LeaseRow).where(LeaseRow.job_id == job_id, LeaseRow.released_at.is_(None))
    return session.scalar(query.execution_options(populate_existing=True))


def _lock_job(session: Session, job_id: UUID) -> Job:
    return session.get_one(Job, job_id, with_for_update={"key_share": True}, populate_existing=True)


def _is_draining(session: Session, worker: str) -> bool:
    row = session.get(Worker, worker, populate_existing=True)
    return row is not None and row.draining_at is not None
