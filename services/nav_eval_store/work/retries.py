"""What follows when a job fails: is it tried again, when, how often, and what becomes of its submission.

Whose fault it is decides. Ours is tried again after a pause that doubles each time, and given up as infrastructure
after so many attempts in a row; the team's is never tried again.
"""

from datetime import timedelta
from enum import StrEnum

from nav_eval.records.results import Cause
from nav_eval_store.audit import make_worker_actor
from nav_eval_store.database import Session
from nav_eval_store.models import Job, Submission
from nav_eval_store.submissions import transitions
from nav_eval_store.submissions.lifecycle import Deadlines, JobKind, JobState


class FaultConsequence(StrEnum):
    """What a failed job means for its submission."""

    RETRY = "retry"  #: our fault: try again, or give up as infrastructure after too many attempts
    FAIL = "fail"  #: the agent cannot be evaluated at all
    SCORE_AS_IT_STANDS = "score_as_it_stands"  #: the agent failed on the way: what is left counts as failed


def decide_consequence(kind: JobKind, cause: Cause) -> FaultConsequence:
    """Whose fault decides; a fault of the agent while episodes run costs episodes, not the submission."""
    if cause.is_ours or kind is JobKind.SCORE or kind.is_asked_for:
        return FaultConsequence.RETRY
    return FaultConsequence.SCORE_AS_IT_STANDS if kind is JobKind.SHARD else FaultConsequence.FAIL


def compute_retry_delay(failures: int, deadlines: Deadlines) -> timedelta | None:
    """The pause after so many failures in a row that were ours; None when it is time to give up."""
    return deadlines.backoff * 2 ** (failures - 1) if failures < deadlines.attempts else None


def retry_job(
    session: Session, submission: Submission, job: Job, detail: str, deadlines: Deadlines, *, worker: str
) -> bool:
    """One more failure of ours: let the job wait again; False when it was the last attempt."""
    job.failures += 1
    pause = compute_retry_delay(job.failures, deadlines)
    if pause is None and job.kind.is_asked_for:  # pictures are no part of a result
        job.state, job.finished_at = JobState.DROPPED, session.now()
        return False
    if pause is None:
        text = f"The {job.kind} step failed {job.failures} times in a row by our fault: {detail}."
        transitions.fail_submission(session, submission, Cause.INFRASTRUCTURE, text, actor=make_worker_actor(worker))
        return False
    wait_again(session, job, pause)
    return True


def wait_again(session: Session, job: Job, pause: timedelta = timedelta()) -> None:
    """The job is nobody's, and may be taken after a pause."""
    job.state = JobState.WAITING
    job.ready_at = session.now() + pause
    job.dispatched_at = None
