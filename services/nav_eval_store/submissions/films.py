"""Films that somebody asked for: an episode with its pictures, made when a visitor wants to look at it.

A worker makes films of a few episodes of each submission by itself. The others are made on request: a job of kind
`film`, whose `position` is that of the episode, so that one who asks twice asks once. Requests are bounded, because
anybody who may look may ask: few of a submission and of the whole installation wait at a time, and a film that could
not be made is not tried again at once. What a film shows, and to whom, is the phase's business.
"""

import math
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ColumnElement, func, select

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, NotFound, PhaseNotOpen, QuotaExceeded
from nav_eval_store.models import EpisodeRow, Job, LeaseEnd, Submission
from nav_eval_store.submissions import queries, transitions
from nav_eval_store.submissions.lifecycle import JobKind, JobState, SubmissionState
from nav_eval_store.work import leases
from nav_eval_store.work.leases import Lease

AT_ONCE = 3
"""Films of one submission that wait or are made."""
EVERYWHERE = 30
"""The same, of all submissions."""
MOST = 200
"""Films of one submission that are made on request at all: each is some megabytes."""
AGAIN = timedelta(minutes=10)
"""After a film could not be made, until it may be asked for again."""
STALE = timedelta(hours=12)
"""A request that no worker took is given up."""
_OPEN = Job.state.in_((JobState.WAITING, JobState.HELD))


class FilmState(StrEnum):
    """Where a request is; whether the film is there, its blob says."""

    UNASKED = "unasked"  #: nobody has asked for it
    WAITING = "waiting"  #: for a worker
    MAKING = "making"  #: a worker draws it
    ENDED = "ended"  #: made, or it could not be


_STATES = {JobState.WAITING: FilmState.WAITING, JobState.HELD: FilmState.MAKING}


def get_film_state(session: Session, submission: Submission, episode_id: str) -> FilmState:
    """What became of the request for this episode."""
    job = _find_request(session, submission, queries.get_episode(session, submission, episode_id))
    return FilmState.UNASKED if job is None else _STATES.get(job.state, FilmState.ENDED)


def request_film(session: Session, submission: Submission, episode_id: str, *, actor: Actor) -> FilmState:
    """Have a film made, unless it is on its way. The caller has seen that there is none yet."""
    submission = transitions.lock_submission(session, submission.id)
    row = queries.get_episode(session, submission, episode_id)
    _refuse_unplayed(submission, row)
    job = _find_request(session, submission, row)
    if job is None or job.state not in _STATES:
        _refuse_haste(session, job)
        _refuse_crowds(session, submission)
        job = _enqueue(session, submission, row, job)
        audit.record(session, actor, "film.ask", audit.make_subject(submission), episode=episode_id)
    return _STATES[job.state]


def _find_request(session: Session, submission: Submission, row: EpisodeRow) -> Job | None:
    query = select(Job).where(_match_films_of(submission), Job.position == row.position)
    return session.scalar(query.execution_options(populate_existing=True))


def _match_films_of(submission: Submission) -> ColumnElement[bool]:
    return (Job.submission_id == submission.id) & (Job.kind == JobKind.FILM)


def _refuse_unplayed(submission: Submission, row: EpisodeRow) -> None:
    if submission.state is not SubmissionState.COMPLETED:
        raise Conflict("Films are made once a submission has its score.")
    if row.replay_key is None:
        raise NotFound("This episode has no replay.")
    if submission.phase.paused_at is not None:
        raise PhaseNotOpen("The phase is paused; films are made again when it goes on.")


def _refuse_haste(session: Session, job: Job | None) -> None:
    if job is None or job.finished_at is None:
        return
    left = job.finished_at + AGAIN - session.now()
    if left > timedelta():
        seconds = math.ceil(left.total_seconds())
        raise QuotaExceeded(
            "This film could not be made a moment ago; ask again in {minutes} min.",
            minutes=-(-seconds // 60),
            retry_seconds=seconds,
        )


def _refuse_crowds(session: Session, submission: Submission) -> None:
    open_here = _count(session, _match_films_of(submission) & _OPEN)
    everywhere = _count(session, (Job.kind == JobKind.FILM) & _OPEN)
    if open_here >= AT_ONCE or everywhere >= EVERYWHERE:
        raise QuotaExceeded("Other films are being made; ask again when they are there.", retry_seconds=30)
    if _count(session, _match_films_of(submission)) >= MOST:
        raise QuotaExceeded("{most} films of this submission were made on request; that is all.", most=MOST)


def _count(session: Session, which: ColumnElement[bool]) -> int:
    return session.scalar(select(func.count()).select_from(Job).where(which)) or 0


def _enqueue(session: Session, submission: Submission, row: EpisodeRow, job: Job | None) -> Job:
    if job is None:
        job = transitions.add_job(session, submission, JobKind.FILM, position=row.position)
    job.state, job.failures, job.dispatched_at, job.finished_at = JobState.WAITING, 0, None, None
    job.ready_at = job.created_at = session.now()
    session.flush()
    return job


def get_requested_episode(session: Session, job_id: UUID) -> EpisodeRow:
    """The episode that a request is about."""
    job = session.get_one(Job, job_id)
    query = select(EpisodeRow).where(EpisodeRow.submission_id == job.submission_id, EpisodeRow.position == job.position)
    return session.scalars(query).one()


def finish_film(session: Session, lease: Lease) -> None:
    """The film is there, or cannot be made here."""
    _, job, row = leases.lock_held_job_with_submission(session, lease)
    transitions.end_lease(session, row, job, LeaseEnd.DONE)
    job.state, job.finished_at = JobState.DONE, session.now()


def give_up_stale(session: Session) -> int:
    """Requests that no worker took for half a day are forgotten; how many."""
    query = select(Job).where(
        Job.kind == JobKind.FILM, Job.state == JobState.WAITING, Job.created_at <= session.now() - STALE
    )
    stale = session.scalars(query.with_for_update(key_share=True, skip_locked=True)).all()
    for job in stale:
        job.state, job.finished_at = JobState.DROPPED, session.now()
    return len(stale)
