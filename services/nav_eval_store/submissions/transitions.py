"""Steps in the life of a submission, as they are written down.

Each step checks `lifecycle`, does what the step entails (quota, jobs, leases) and writes an audit
line and an event, all in the caller's transaction. The caller holds the submission's lock (`lock_submission`),
so that two who want to move it go one after the other, and the second sees what the first did.
"""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select, update

from nav_eval.records.results import Cause
from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound
from nav_eval_store.models import Job, LeaseEnd, LeaseRow, Submission
from nav_eval_store.notifications import events
from nav_eval_store.submissions import lifecycle, quota
from nav_eval_store.submissions.lifecycle import JobKind, JobState, SubmissionState, check_transition

LONGEST_DETAIL = 5000
"""Characters that are kept of why a submission ended."""


def lock_submission(session: Session, submission_id: UUID) -> Submission:
    """The submission as it is now, held until the end of the transaction."""
    submission = session.get(Submission, submission_id, with_for_update={"key_share": True}, populate_existing=True)
    if submission is None:
        raise NotFound("There is no such submission.")
    return submission


def move_to_state(
    session: Session,
    submission: Submission,
    state: SubmissionState,
    *,
    actor: Actor,
    cause: Cause | None = None,
    detail: str | None = None,
) -> None:
    """Take one step; refused if the life of a submission has no such step."""
    check_transition(submission.state, state)
    detail = None if detail is None else detail[:LONGEST_DETAIL]
    before, now = submission.state, session.now()
    submission.state, submission.since = state, now
    submission.cause, submission.detail = cause, detail
    if state is SubmissionState.QUEUED:
        submission.queued_at = now
    if state is SubmissionState.RUNNING:
        submission.started_at = now
        quota.charge(session, submission)
    if state.is_final:
        submission.finished_at = now
        _drop_work(session, submission)
    session.flush()
    facts = {"from": before, "to": state, "cause": cause, "detail": detail}
    audit.record(session, actor, "submission.state", audit.make_subject(submission), **facts)
    told = {**facts, "detail": lifecycle.redact_detail(cause, detail)}
    events.emit(session, events.STATE_CHANGED, audit.make_subject(submission), **told)


def fail_submission(session: Session, submission: Submission, cause: Cause, detail: str, *, actor: Actor) -> None:
    """End without a score. Our own fault costs the team nothing; nor does a first verdict."""
    evaluated = submission.started_at is not None
    move_to_state(session, submission, SubmissionState.FAILED, actor=actor, cause=cause, detail=detail)
    if cause.is_ours:
        quota.refund_our_failure(session, submission)
    elif not evaluated:
        quota.refund_verdict(session, submission)


def cancel_submission(session: Session, submission: Submission, *, actor: Actor, reason: str) -> None:
    """End at once. Workers lose their leases with it, and stop when they next give a sign of life."""
    shown = has_shown_something(session, submission)
    move_to_state(session, submission, SubmissionState.CANCELLED, actor=actor, cause=Cause.CANCELLED, detail=reason)
    if not shown:
        quota.refund(session, submission, "cancelled before it was tried")


def has_shown_something(session: Session, submission: Submission) -> bool:
    """Whether the agent has been started: its log and the first verdict are worth a slot."""
    tried = select(Job.id).where(Job.submission_id == submission.id, Job.kind == JobKind.CANARY, Job.fence > 0)
    return submission.started_at is not None or session.scalar(tried.limit(1)) is not None


def _drop_work(session: Session, submission: Submission) -> None:
    """A final submission has no open jobs and no leases."""
    session.flush()
    of_it = select(Job.id).where(Job.submission_id == submission.id)
    unreleased = select(LeaseRow).where(LeaseRow.job_id.in_(of_it), LeaseRow.released_at.is_(None))
    jobs = {job.id: job for job in lock_open_jobs(session, submission)}
    for lease in session.scalars(unreleased.with_for_update(key_share=True)):
        end_lease(session, lease, jobs[lease.job_id], LeaseEnd.REVOKED)
    session.execute(
        update(Job)
        .where(Job.submission_id == submission.id, Job.state.in_((JobState.WAITING, JobState.HELD)))
        .values(state=JobState.DROPPED, finished_at=session.now())
    )


def lock_open_jobs(session: Session, submission: Submission) -> list[Job]:
    """Jobs that are not done, held until the end of the transaction."""
    query = (
        select(Job)
        .where(Job.submission_id == submission.id, Job.state.in_((JobState.WAITING, JobState.HELD)))
        .order_by(Job.kind, Job.position)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    return list(session.scalars(query))


def end_lease(session: Session, lease: LeaseRow, job: Job, end: LeaseEnd, detail: str | None = None) -> None:
    """The worker's hold on the job is over; its time is added to the job's."""
    lease.released_at, lease.end, lease.detail = session.now(), end, detail
    job.busy_seconds += measure_uncounted_time(lease, session.now()).total_seconds()


def measure_uncounted_time(lease: LeaseRow, now: datetime) -> timedelta:
    """Working time since the last sign of life that was counted.

    Never more than a lease lasts without one: a clock that jumps by a day has worked for nobody.
    """
    return min(max(timedelta(), now - lease.heartbeat_at), lease.expires_at - lease.heartbeat_at)


def add_job(
    session: Session, submission: Submission, kind: JobKind, *, position: int = 0, episodes_total: int = 0
) -> Job:
    """A step of work that waits for a worker from now on."""
    job = Job(
        submission_id=submission.id,
        kind=kind,
        position=position,
        state=JobState.WAITING,
        ready_at=session.now(),
        created_at=session.now(),
        episodes_total=episodes_total,
        tally={},
    )
    session.add(job)
    return job
