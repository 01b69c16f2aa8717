"""One job from its claim to its end: whatever happens in it, the store hears of it or somebody else gets the job."""

import logging
from collections.abc import Callable, Mapping, Sequence

from nav_eval.agents.failures import AgentFailure
from nav_eval_store import leases, work
from nav_eval_store.causes import Cause
from nav_eval_store.errors import LeaseLost
from nav_eval_store.leases import Lease
from nav_eval_store.lifecycle import JobKind
from nav_eval_worker.holding import GivenBack, Hold
from nav_eval_worker.jobs.canary import canary
from nav_eval_worker.jobs.film_request import make_film
from nav_eval_worker.jobs.score import score
from nav_eval_worker.jobs.shard import run_shard
from nav_eval_worker.jobs.validate import validate
from nav_eval_worker.workshop import Workshop

JOBS: Mapping[JobKind, Callable[[Workshop, Hold], None]] = {
    JobKind.VALIDATE: validate,
    JobKind.CANARY: canary,
    JobKind.SHARD: run_shard,
    JobKind.SCORE: score,
    JobKind.FILM: make_film,
}

log = logging.getLogger(__name__)


def do_next(shop: Workshop, kinds: Sequence[JobKind] = tuple(JobKind)) -> bool:
    """Do the job whose turn it is; False when there is none."""
    lease = shop.database.run(
        lambda session: leases.claim_next(session, shop.settings.name, kinds=kinds, patience=shop.patience)
    )
    if lease is None:
        return False
    do(shop, lease)
    return True


def do(shop: Workshop, lease: Lease) -> None:
    """Do the job of a lease."""
    log.info("%s job %s of submission %s begins", lease.kind, lease.job_id, lease.submission_id)
    try:
        with Hold(shop, lease) as hold:
            _do(shop, hold)
        shop.tell(lease.submission_id)
    except LeaseLost as loss:
        log.info("%s", loss)


def _do(shop: Workshop, hold: Hold) -> None:
    lease = hold.lease
    try:
        JOBS[lease.kind](shop, hold)
    except LeaseLost:
        raise
    except GivenBack:
        shop.insist(lambda session: leases.release(session, lease, reason="the worker stops"))
    except AgentFailure as failure:
        log.info("%s job %s: %s: %s", lease.kind, lease.job_id, failure.cause, failure)
        _fail(shop, lease, failure.cause, str(failure))
    except Exception as error:  # the end of the job, not of the worker
        log.exception("%s job %s failed", lease.kind, lease.job_id)
        _fail(shop, lease, Cause.INFRASTRUCTURE, f"{type(error).__name__} (lease {lease.id})")


def _fail(shop: Workshop, lease: Lease, cause: Cause, detail: str) -> None:
    shop.insist(lambda session: work.fail(session, lease, cause, detail, patience=shop.patience))
