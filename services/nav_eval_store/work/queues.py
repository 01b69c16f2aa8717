"""The queues that jobs wait in, and the message that names one of them.

| queue    | jobs                                                         | needs             |
| `quick`  | checks, first verdicts, scores, films: minutes at most       | any worker        |
| `shards` | episodes: up to ten minutes each, as they are planned        | any worker        |
| `gpu`    | first verdicts and episodes of phases with `limits.gpus`     | a worker with GPUs |

An operator decides which worker serves which queue (`nav-eval worker --queues`). The queue of a job follows from its
kind and its phase, so it is nowhere stored.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, not_, or_, select

from nav_eval_store.database import Session
from nav_eval_store.models import Job, Phase, Submission
from nav_eval_store.submissions.lifecycle import JobKind


class JobQueue(StrEnum):
    """Where a job waits for a worker; the name of the Celery queue."""

    QUICK = "quick"  #: a team waits at the terminal
    SHARDS = "shards"  #: takes its time
    GPU = "gpu"  #: agents that were promised a GPU

    @property
    def is_long(self) -> bool:
        return self is not JobQueue.QUICK


class JobMessage(NamedTuple):
    """Do this job: what a Celery message says."""

    job_id: UUID
    kind: JobKind
    submission_id: UUID
    queue: JobQueue


class QueueMap:
    """Which queue each job belongs to, as the phases are set up now."""

    def __init__(self, session: Session) -> None:
        phases = session.scalars(select(Phase)).all()
        self._gpu_phases = frozenset(phase.id for phase in phases if phase.config.limits.gpus > 0)

    def find_queue(self, kind: JobKind, phase_id: UUID) -> JobQueue:
        if phase_id in self._gpu_phases and kind in (JobKind.CANARY, JobKind.SHARD):
            return JobQueue.GPU
        return JobQueue.SHARDS if kind is JobKind.SHARD else JobQueue.QUICK

    def select_jobs(self, queues: Collection[JobQueue]) -> ColumnElement[bool]:
        """The condition that a job, joined with its submission, waits in one of these queues."""
        return or_(*(self._select_jobs(queue) for queue in queues))

    def _select_jobs(self, queue: JobQueue) -> ColumnElement[bool]:
        has_gpus = Submission.phase_id.in_(self._gpu_phases)
        on_gpu = and_(Job.kind.in_((JobKind.CANARY, JobKind.SHARD)), has_gpus)
        match queue:
            case JobQueue.GPU:
                return on_gpu
            case JobQueue.SHARDS:
                return and_(Job.kind == JobKind.SHARD, not_(has_gpus))
            case JobQueue.QUICK:
                return and_(Job.kind != JobKind.SHARD, not_(on_gpu))
