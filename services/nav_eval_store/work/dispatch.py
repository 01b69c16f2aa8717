"""Which jobs a message is sent for, and when: fairness between teams is decided here.

A message is sent when a worker has a free slot for it, and one more may lie ready in each queue so that a slot that
gets free finds work at once. So a queue of the broker is never a queue of teams: whoever comes late overtakes in the
database, and if a message that lies ready has lost its turn meanwhile, the worker that gets it puts the job back
(`leases.claim_dispatched_job`). A message that no worker took for a minute, though one had a free slot, is taken for
lost and sent again; one that comes twice finds its job taken.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, update

from nav_eval_store.database import Session
from nav_eval_store.models import Job, LeaseRow, Submission, Worker
from nav_eval_store.submissions.lifecycle import Deadlines, JobState
from nav_eval_store.work import fairness
from nav_eval_store.work.queues import JobMessage, JobQueue, QueueMap
from nav_eval_store.work.workers import list_working_workers

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def dispatch_jobs(session: Session, *, deadlines: Deadlines | None = None) -> list[JobMessage]:
    """Messages for the jobs whose turn it is, marked as sent: send them after the commit."""
    queues = QueueMap(session)
    free = count_free_slots(session, queues)
    messages: list[JobMessage] = []
    for queue in JobQueue:
        lost_before = _find_time_of_loss(session, free[queue], deadlines or Deadlines())
        in_queue = queues.select_jobs([queue])
        room = max(1, free[queue]) - _count_in_flight(session, in_queue, lost_before)
        messages += _dispatch_queue(session, queue, in_queue, lost_before=lost_before, room=room)
    return messages


def _find_time_of_loss(session: Session, free: int, deadlines: Deadlines) -> datetime:
    """Messages that were sent before are lost; none is while all workers are busy."""
    return session.now() - deadlines.dispatch if free > 0 else _NEVER


def _count_in_flight(session: Session, in_queue: ColumnElement[bool], lost_before: datetime) -> int:
    query = select(func.count()).select_from(Job).join(Submission, Submission.id == Job.submission_id)
    return session.scalar(query.where(Job.state == JobState.WAITING, Job.dispatched_at > lost_before, in_queue)) or 0


def _dispatch_queue(
    session: Session, queue: JobQueue, in_queue: ColumnElement[bool], *, lost_before: datetime, room: int
) -> Iterator[JobMessage]:
    is_unsent = or_(Job.dispatched_at.is_(None), Job.dispatched_at <= lost_before)
    for _ in range(room):
        job_id = fairness.choose_next_job(session, in_queue, is_unsent, lock=True)
        if job_id is None:
            return
        job = session.get_one(Job, job_id, populate_existing=True)
        job.dispatched_at = session.now()
        session.flush()
        yield JobMessage(job.id, job.kind, job.submission_id, queue)


def withdraw_messages(session: Session, job_ids: Iterable[UUID]) -> None:
    """Nobody gets these messages, or the wrong one did: the jobs wait to be dispatched again."""
    waiting = update(Job).where(Job.id.in_(list(job_ids)), Job.state == JobState.WAITING)
    session.execute(waiting.values(dispatched_at=None).execution_options(synchronize_session=False))


@dataclass(slots=True)
class _Load:
    """What a worker holds."""

    jobs: int = 0
    long: int = 0  #: of those, from long queues


def count_free_slots(session: Session, queues: QueueMap) -> Counter[JobQueue]:
    """Jobs of each queue that living workers could begin now."""
    loads = _count_loads(session, queues)
    free: Counter[JobQueue] = Counter()
    for worker in list_working_workers(session):
        load = loads.get(worker.name, _Load())
        for queue in _list_queues(worker):
            free[queue] += max(0, _count_free(worker, load, queue))
    return free


def _count_loads(session: Session, queues: QueueMap) -> dict[str, _Load]:
    query = (
        select(LeaseRow.worker, Job.kind, Submission.phase_id)
        .join(Job, Job.id == LeaseRow.job_id)
        .join(Submission, Submission.id == Job.submission_id)
        .where(LeaseRow.released_at.is_(None))
    )
    loads: dict[str, _Load] = {}
    for worker, kind, phase_id in session.execute(query):
        load = loads.setdefault(worker, _Load())
        load.jobs += 1
        load.long += queues.find_queue(kind, phase_id).is_long
    return loads


def _list_queues(worker: Worker) -> list[JobQueue]:
    return [JobQueue(name) for name in worker.abilities.get("queues", list(JobQueue))]


def _count_free(worker: Worker, load: _Load, queue: JobQueue) -> int:
    """One slot beside the others may be kept for what is quick."""
    free = worker.slots + bool(worker.abilities.get("express")) - load.jobs
    return min(free, worker.slots - load.long) if queue.is_long else free
