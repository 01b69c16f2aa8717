"""Films that somebody asked for: an episode with its pictures, made when a visitor wants to look at it or to keep it.

A worker makes films of a few episodes of each submission by itself. The others are made on request: a job of kind
`film` for the page, or `video` for a file to keep, whose `position` is that of the episode, so that one who asks twice
asks once. Requests are bounded, because anybody who may look may ask: few of a submission and of the whole installation
wait at a time, and a film that could not be made is not tried again at once. What a film shows, and to whom, is the
phase's business.
"""

import math
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, func, select

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, NotFound, PhaseNotOpen, QuotaExceeded
from nav_eval_store.models import EpisodeRow, Job, LeaseEnd, Submission
from nav_eval_store.submissions import queries, transitions
from nav_eval_store.submissions.lifecycle import ASKED_FOR, JobKind, JobState, SubmissionState
from nav_eval_store.work import leases
from nav_eval_store.work.leases import Lease

AT_ONCE = 3
"""Films of one submission that wait or are made."""
EVERYWHERE = 30
"""The same, of all submissions."""
MOST = 200
"""Films of one submission that are made on request at all, for pages and to keep: each is some megabytes, and what a
team learns of a hidden split film by film stays bounded."""
AGAIN = timedelta(minutes=10)
"""After a film could not be made, until it may be asked for again."""
STALE = timedelta(hours=12)
"""A request that no worker took is given up."""
_OPEN = Job.state.in_((JobState.WAITING, JobState.HELD))
_STEPS = "steps"
"""In the tally of a job: those that are drawn, and all."""


class FilmState(StrEnum):
    """Where a request is; whether the film is there, its blob says."""

    UNASKED = "unasked"  #: nobody has asked for it
    WAITING = "waiting"  #: for a worker
    MAKING = "making"  #: a worker draws it
    ENDED = "ended"  #: made, or it could not be


_STATES = {JobState.WAITING: FilmState.WAITING, JobState.HELD: FilmState.MAKING}


class FilmProgress(NamedTuple):
    """How far a film has come."""

    state: FilmState
    steps_drawn: int = 0
    steps_total: int = 0
    """0 while nobody knows."""


def get_film_progress(
    session: Session, submission: Submission, episode_id: str, *, kind: JobKind = JobKind.FILM
) -> FilmProgress:
    """What became of the request for this episode."""
    job = _find_request(session, submission, queries.get_episode(session, submission, episode_id), kind=kind)
    if job is None:
        return FilmProgress(FilmState.UNASKED)
    return FilmProgress(_STATES.get(job.state, FilmState.ENDED), *job.tally.get(_STEPS, ()))


def get_film_state(session: Session, submission: Submission, episode_id: str) -> FilmState:
    return get_film_progress(session, submission, episode_id).state


def record_progress(session: Session, lease: Lease, *, steps_drawn: int, steps_total: int) -> None:
    """So many steps are in the video by now."""
    _, job, _ = leases.lock_held_job_with_submission(session, lease)
    job.tally = {_STEPS: [steps_drawn, steps_total]}


def request_film(
    session: Session, submission: Submission, episode_id: str, *, actor: Actor, kind: JobKind = JobKind.FILM
) -> FilmState:
    """Have a film made, unless it is on its way. The caller has seen that there is none yet."""
    submission = transitions.lock_submission(session, submission.id)
    row = queries.get_episode(session, submission, episode_id)
    _refuse_unplayed(submission, row)
    job = _find_request(session, submission, row, kind=kind)
    if job is None or job.state not in _STATES:
        _refuse_haste(session, job)
        _refuse_crowds(session, submission)
        job = _enqueue(session, job or transitions.add_job(session, submission, kind, position=row.position))
        audit.record(session, actor, f"{kind}.ask", audit.make_subject(submission), episode=episode_id)
    return _STATES[job.state]


def _find_request(session: Session, submission: Submission, row: EpisodeRow, *, kind: JobKind) -> Job | None:
    query = select(Job).where(_match_requests_of(submission, kind), Job.position == row.position)
    return session.scalar(query.execution_options(populate_existing=True))


def _match_requests_of(submission: Submission, *kinds: JobKind) -> ColumnElement[bool]:
    return (Job.submission_id == submission.id) & Job.kind.in_(kinds)


def _refuse_unplayed(submission: Submission, row: EpisodeRow) -> None:
    if submission.state is not SubmissionState.COMPLETED:
        raise Conflict("Films can be made once a submission has its score.")
    if row.replay_key is None:
        raise NotFound("This episode has no replay.")
    if submission.phase.paused_at is not None:
        raise PhaseNotOpen("The phase is paused; films can be made again once it resumes.")


def _refuse_haste(session: Session, job: Job | None) -> None:
    if job is None or job.finished_at is None:
        return
    left = job.finished_at + AGAIN - session.now()
    if left > timedelta():
        seconds = math.ceil(left.total_seconds())
        raise QuotaExceeded(
            "This film could not be made a moment ago; try again in {minutes} min.",
            minutes=-(-seconds // 60),
            retry_seconds=seconds,
        )


def _refuse_crowds(session: Session, submission: Submission) -> None:
    open_here = _count(session, _match_requests_of(submission, *ASKED_FOR) & _OPEN)
    everywhere = _count(session, Job.kind.in_(ASKED_FOR) & _OPEN)
    if open_here >= AT_ONCE or everywhere >= EVERYWHERE:
        raise QuotaExceeded("Other films are being made; try again when they are ready.", retry_seconds=30)
    if _count(session, _match_requests_of(submission, *ASKED_FOR)) >= MOST:
        raise QuotaExceeded("{most} films of this submission have been made on request; that is the limit.", most=MOST)


def _count(session: Session, which: ColumnElement[bool]) -> int:
    return session.scalar(select(func.count()).select_from(Job).where(which)) or 0


def _enqueue(session: Session, job: Job) -> Job:
    job.state, job.failures, job.dispatched_at, job.finished_at = JobState.WAITING, 0, None, None
    job.tally = {}
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
        Job.kind.in_(ASKED_FOR), Job.state == JobState.WAITING, Job.created_at <= session.now() - STALE
    )
    stale = session.scalars(query.with_for_update(key_share=True, skip_locked=True)).all()
    for job in stale:
        job.state, job.finished_at = JobState.DROPPED, session.now()
    return len(stale)
