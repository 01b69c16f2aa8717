"""How the installation is doing, in a handful of numbers: for monitors, and for the organiser's overview.

Every query here is over what is open (partial indexes), never over what has ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from nav_eval_store.boards import ranking
from nav_eval_store.database import Session
from nav_eval_store.models import Delivery, Job, LeaseRow, Phase, Submission
from nav_eval_store.notifications import events
from nav_eval_store.submissions.lifecycle import OPEN, JobKind, JobState, SubmissionState
from nav_eval_store.work import workers


@dataclass(frozen=True, kw_only=True, slots=True)
class Gauges:
    """One moment of an installation."""

    submissions: Mapping[SubmissionState, int]  #: that have not ended, by state
    jobs: Mapping[tuple[JobKind, JobState], int]  #: that wait or are held
    oldest_waiting_seconds: float  #: since the oldest job that may start became ready; phases that pause left out
    oldest_heartbeat: float  #: seconds since the stalest sign of life of a held job
    workers_alive: int
    workers_draining: int
    slots: int  #: jobs that living workers can do at once, those that drain left out
    unranked_boards: int
    deliveries_waiting: int
    last_event_id: int

    @property
    def jobs_running(self) -> int:
        return sum(number for (_, state), number in self.jobs.items() if state is JobState.HELD)

    @property
    def jobs_waiting(self) -> int:
        return sum(number for (_, state), number in self.jobs.items() if state is JobState.WAITING)


def read_gauges(session: Session) -> Gauges:
    """Count."""
    alive = workers.list_alive_workers(session)
    return Gauges(
        submissions=_count_submissions(session),
        jobs=_count_jobs(session),
        oldest_waiting_seconds=_compute_age(session, _find_oldest_ready(session)),
        oldest_heartbeat=_compute_age(session, _find_oldest_heartbeat(session)),
        workers_alive=len(alive),
        workers_draining=sum(worker.draining_at is not None for worker in alive),
        slots=sum(worker.slots for worker in alive if worker.draining_at is None),
        unranked_boards=len(ranking.list_unranked_phases(session)),
        deliveries_waiting=_count_deliveries(session),
        last_event_id=events.get_latest_id(session),
    )


def _count_submissions(session: Session) -> dict[SubmissionState, int]:
    query = select(Submission.state, func.count()).where(Submission.state.in_(OPEN)).group_by(Submission.state)
    counted = dict(session.execute(query).all())
    return {state: counted.get(state, 0) for state in OPEN}


def _count_jobs(session: Session) -> dict[tuple[JobKind, JobState], int]:
    states = (JobState.WAITING, JobState.HELD)
    query = select(Job.kind, Job.state, func.count()).where(Job.state.in_(states)).group_by(Job.kind, Job.state)
    counted = {(kind, state): number for kind, state, number in session.execute(query)}
    return {(kind, state): counted.get((kind, state), 0) for kind in JobKind for state in states}


def _find_oldest_ready(session: Session) -> datetime | None:
    query = (
        select(func.min(Job.ready_at))
        .join(Submission, Submission.id == Job.submission_id)
        .join(Phase, Phase.id == Submission.phase_id)
        .where(Job.state == JobState.WAITING, Job.ready_at <= session.now(), Phase.paused_at.is_(None))
    )
    return session.scalar(query)


def _find_oldest_heartbeat(session: Session) -> datetime | None:
    return session.scalar(select(func.min(LeaseRow.heartbeat_at)).where(LeaseRow.released_at.is_(None)))


def _count_deliveries(session: Session) -> int:
    query = select(func.count()).where(Delivery.delivered_at.is_(None), Delivery.given_up_at.is_(None))
    return session.scalar(query) or 0


def _compute_age(session: Session, moment: datetime | None) -> float:
    return 0.0 if moment is None else max(0.0, (session.now() - moment).total_seconds())
