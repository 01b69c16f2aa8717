"""One job from its message to its end: whatever happens in it, the store hears of it or somebody else gets the job."""

import logging
from collections.abc import Callable, Collection, Mapping
from uuid import UUID

from sqlalchemy.exc import DBAPIError

from nav_eval.agents.failures import EpisodeFailure
from nav_eval.records.results import Cause
from nav_eval_store.errors import LeaseLost
from nav_eval_store.submissions.lifecycle import JobKind
from nav_eval_store.work import dispatch, jobs, leases
from nav_eval_store.work.leases import ClaimRefusal, Lease
from nav_eval_store.work.queues import JobQueue
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.jobs.canary import run_canary
from nav_eval_worker.jobs.replay import make_requested_film, make_requested_video
from nav_eval_worker.jobs.score import score_submission
from nav_eval_worker.jobs.shard import run_shard
from nav_eval_worker.jobs.validation import validate_submission
from nav_eval_worker.lease_keeper import JobReturned, LeaseKeeper
from nav_eval_worker.runtime.base import RuntimeUnavailable
from nav_eval_worker.slots import WorkerSlots

JOBS: Mapping[JobKind, Callable[[WorkerContext, LeaseKeeper], None]] = {
    JobKind.VALIDATE: validate_submission,
    JobKind.CANARY: run_canary,
    JobKind.SHARD: run_shard,
    JobKind.SCORE: score_submission,
    JobKind.FILM: make_requested_film,
    JobKind.VIDEO: make_requested_video,
}
CLAIM_SECONDS = 30.0
"""A message waits so long for a database that restarts."""

log = logging.getLogger(__name__)


class JobRunner:
    """Runs jobs within the slots of a worker; may be called by as many threads as like."""

    def __init__(self, context: WorkerContext, slots: WorkerSlots) -> None:
        self._context, self._slots = context, slots

    def run_dispatched(self, job_id: UUID, queue: JobQueue) -> None:
        """Do the job that a message names, unless it is done already, or not its turn any more."""
        claimed: Lease | ClaimRefusal | None = None
        with self._slots.take(queue) as taken:
            if taken and not self._context.stopping.is_set() and self._context.health.check():
                claimed = self._claim(job_id)
            else:  # it goes to another worker, when the next messages are sent
                self._context.transact(lambda session: dispatch.withdraw_messages(session, [job_id]))
            if isinstance(claimed, Lease):
                run_job(self._context, claimed)
        if isinstance(claimed, Lease) or claimed is ClaimRefusal.NOT_ITS_TURN:
            self._context.dispatcher.dispatch()

    def _claim(self, job_id: UUID) -> Lease | ClaimRefusal | None:
        name, deadlines = self._context.settings.name, self._context.deadlines
        try:
            claimed = self._context.transact(
                lambda session: leases.claim_dispatched_job(session, job_id, name, deadlines=deadlines),
                seconds=CLAIM_SECONDS,
            )
        except DBAPIError as error:
            log.warning("The database does not answer; job %s is left to the dispatcher: %s", job_id, error.orig)
            return None
        if isinstance(claimed, ClaimRefusal):
            log.info("Job %s is not done here: %s", job_id, claimed)
        return claimed

    def run_next(self) -> bool:
        """Without a message, do the job whose turn it is; False when there is none, or no slot."""
        queues = self._context.settings.queues
        for queue in sorted(queues, key=lambda queue: queue.is_long, reverse=True):  # a slot for shards may do anything
            with self._slots.take(queue) as taken:
                if taken:
                    return run_next_job(self._context, queues if queue.is_long else [queue])
        return False


def run_next_job(context: WorkerContext, queues: Collection[JobQueue] = tuple(JobQueue)) -> bool:
    """Do the job whose turn it is; False when there is none."""
    if context.stopping.is_set() or not context.health.check():
        return False
    name, deadlines = context.settings.name, context.deadlines
    try:
        lease = context.database.run(
            lambda session: leases.claim_next_job(session, name, queues=queues, deadlines=deadlines)
        )
    except DBAPIError as error:
        log.warning("The database does not answer: %s", error.orig)
        return False
    if lease is not None:
        run_job(context, lease)
    return lease is not None


def run_job(context: WorkerContext, lease: Lease) -> None:
    """Do the job of a lease."""
    log.info("%s job %s of submission %s begins", lease.kind, lease.job_id, lease.submission_id)
    try:
        with LeaseKeeper(context, lease) as keeper:
            _run_job(context, keeper)
    except LeaseLost as loss:
        log.info("%s", loss)


def _run_job(context: WorkerContext, keeper: LeaseKeeper) -> None:
    lease = keeper.lease
    try:
        JOBS[lease.kind](context, keeper)
    except LeaseLost:
        raise
    except JobReturned:
        context.transact(lambda session: leases.release_lease(session, lease, reason="the worker stops"))
    except EpisodeFailure as failure:
        log.info("%s job %s: %s: %s", lease.kind, lease.job_id, failure.cause, failure)
        _fail_job(context, lease, failure.cause, _tell_failure(failure, lease))
    except Exception as error:  # the end of the job, not of the worker
        log.exception("%s job %s failed", lease.kind, lease.job_id)
        _fail_job(context, lease, Cause.INFRASTRUCTURE, f"{type(error).__name__} (lease {lease.id})")


def _tell_failure(failure: EpisodeFailure, lease: Lease) -> str:
    """What an engine says about itself names paths of its host: it stays in our log."""
    return (
        f"agents could not be run here (lease {lease.id})" if isinstance(failure, RuntimeUnavailable) else str(failure)
    )


def _fail_job(context: WorkerContext, lease: Lease, cause: Cause, detail: str) -> None:
    if cause.is_ours and not context.health.check(anew=True):  # an outage costs no attempt
        context.transact(lambda session: leases.release_lease(session, lease, reason="the runtime is away"))
        return
    context.transact(lambda session: jobs.fail_job(session, lease, cause, detail, deadlines=context.deadlines))
