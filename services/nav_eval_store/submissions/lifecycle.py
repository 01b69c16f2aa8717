"""The life of a submission, as pure functions of what is known about it.

    created → uploading → validating → queued → running → scoring → completed | failed | cancelled

The commonest complaint about evaluation servers is a submission that says "running" for a week. Here
no state can last: each one that is not final has an owner, who must act, and a deadline, after which
`list_recovery_steps` says what `recover` does in the owner's place. Nothing here reads a clock or a database.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from nav_eval.records.results import Cause
from nav_eval_store.errors import IllegalTransition


class SubmissionState(StrEnum):
    """Where a submission is."""

    CREATED = "created"  #: a slot of the quota is reserved, no byte has come
    UPLOADING = "uploading"  #: bytes are coming
    VALIDATING = "validating"  #: the image is checked, then tried on one episode (canary)
    QUEUED = "queued"  #: good to go, waits for a worker
    RUNNING = "running"  #: at least one shard has been started
    SCORING = "scoring"  #: every episode has ended
    COMPLETED = "completed"  #: it has a score
    FAILED = "failed"  #: the cause says whose fault it was
    CANCELLED = "cancelled"  #: somebody stopped it, or the upload never came

    @property
    def is_final(self) -> bool:
        return self in FINAL


S = SubmissionState
FINAL = frozenset({S.COMPLETED, S.FAILED, S.CANCELLED})
OPEN = tuple(state for state in SubmissionState if state not in FINAL)
"""States that must be left, in their order."""

_ENDS = frozenset({S.FAILED, S.CANCELLED})
TRANSITIONS: Mapping[SubmissionState, frozenset[SubmissionState]] = {
    S.CREATED: _ENDS | {S.UPLOADING, S.VALIDATING},  # nothing to upload: a re-run, or an organiser's agent
    S.UPLOADING: _ENDS | {S.VALIDATING},
    S.VALIDATING: _ENDS | {S.QUEUED},
    S.QUEUED: _ENDS | {S.RUNNING},
    S.RUNNING: _ENDS | {S.SCORING},
    S.SCORING: _ENDS | {S.COMPLETED},
    S.COMPLETED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
}


class Owner(StrEnum):
    """Who must act next."""

    TEAM = "team"  #: upload, or cancel
    QUEUE = "queue"  #: find a free worker
    WORKER = "worker"  #: do the job it holds


OWNERS: Mapping[SubmissionState, Owner] = {
    S.CREATED: Owner.TEAM,
    S.UPLOADING: Owner.TEAM,
    S.VALIDATING: Owner.WORKER,
    S.QUEUED: Owner.QUEUE,
    S.RUNNING: Owner.WORKER,
    S.SCORING: Owner.WORKER,
}


def check_transition(before: SubmissionState, after: SubmissionState) -> None:
    """Refuse a step that the life of a submission does not have."""
    if after not in TRANSITIONS[before]:
        allowed = ", ".join(sorted(TRANSITIONS[before])) or "nowhere: this state is final"
        raise IllegalTransition(
            "A submission that is {before} cannot become {after}; it can go to {allowed}.",
            before=before,
            after=after,
            allowed=allowed,
        )


class JobKind(StrEnum):
    """A step of work that one worker does at a time."""

    VALIDATE = "validate"  #: read the image, refuse what cannot run
    CANARY = "canary"  #: start the agent, one episode: the first verdict
    SHARD = "shard"  #: a part of the episodes
    SCORE = "score"  #: means, intervals, the row of the board
    FILM = (
        "film"  #: pictures of an episode that somebody asked for, when all is done (`nav_eval_store.submissions.films`)
    )
    VIDEO = "video"  #: the same as a file to keep

    @property
    def is_asked_for(self) -> bool:
        """Whether visitors ask for it once a submission has ended; it comes last, and costs a team no turn."""
        return self in ASKED_FOR


ASKED_FOR = (JobKind.FILM, JobKind.VIDEO)


JOBS_OF: Mapping[SubmissionState, tuple[JobKind, ...]] = {
    S.VALIDATING: (JobKind.VALIDATE, JobKind.CANARY),
    S.QUEUED: (JobKind.SHARD,),
    S.RUNNING: (JobKind.SHARD,),
    S.SCORING: (JobKind.SCORE,),
}
"""What is worked on in each state; in the others the store waits for the team."""


class JobState(StrEnum):
    """Where a job is."""

    WAITING = "waiting"  #: for a worker
    HELD = "held"  #: a worker has a lease on it
    DONE = "done"
    DROPPED = "dropped"  #: its submission ended without it


@dataclass(frozen=True, kw_only=True, slots=True)
class Deadlines:
    """How long each party may take."""

    create: timedelta = timedelta(hours=24)  #: until the first byte
    upload_pause: timedelta = timedelta(hours=24)  #: between two bytes
    upload: timedelta = timedelta(days=7)  #: from the first byte to the last
    validate: timedelta = timedelta(hours=12)
    queue: timedelta = timedelta(days=14)
    run: timedelta = timedelta(
        days=14
    )  #: by the clock on the wall; `SubmissionSnapshot.allowed` limits the working time
    score: timedelta = timedelta(hours=12)
    pause: timedelta = timedelta(days=90)  #: that an organiser may keep a phase paused before its queue is dissolved
    lease: timedelta = timedelta(seconds=30)  #: without a heartbeat, until the job goes to another worker
    dispatch: timedelta = timedelta(seconds=60)  #: after which a message that no free worker took counts as lost
    backoff: timedelta = timedelta(seconds=10)  #: before the second attempt; doubles with each further one
    attempts: int = 3  #: in a row without a finished episode, until we give up on a job


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSnapshot:
    """What is known about a job that is not done."""

    id: UUID
    state: JobState
    lease_ends: datetime | None = None  #: of a held job


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmissionSnapshot:
    """What is known about a submission that is not final."""

    state: SubmissionState
    since: datetime  #: it is in this state
    active_at: datetime | None = None  #: the last sign of life of its owner
    jobs: tuple[JobSnapshot, ...] = ()  #: those not done
    busy: timedelta = timedelta()  #: workers' time spent on its episodes, whatever they waited in between
    allowed: timedelta | None = None  #: of that; None is without limit
    paused_at: datetime | None = None  #: the organiser has stopped the phase
    resumed_at: datetime | None = None  #: and last let it go on


def compute_deadline(snapshot: SubmissionSnapshot, deadlines: Deadlines) -> datetime:
    """When the state must have been left at the latest."""
    limit = {
        S.CREATED: deadlines.create,
        S.UPLOADING: deadlines.upload,
        S.VALIDATING: deadlines.validate,
        S.QUEUED: deadlines.queue,
        S.RUNNING: deadlines.run,
        S.SCORING: deadlines.score,
    }[snapshot.state]
    if OWNERS[snapshot.state] is Owner.TEAM:
        active_at = max(snapshot.since, snapshot.active_at or snapshot.since)
        return min(snapshot.since + limit, active_at + deadlines.upload_pause)
    if snapshot.paused_at is not None:
        return max(snapshot.since, snapshot.paused_at) + deadlines.pause
    return max(snapshot.since, snapshot.resumed_at or snapshot.since) + limit


class RecoveryAction(StrEnum):
    """What `recover` does in an owner's place."""

    EXPIRE = "expire"  #: the team did not come back: cancel, and give the slot back
    ABANDON = "abandon"  #: we did not manage in time: fail as infrastructure, and give the slot back
    CLOSE = "close"  #: the working time is used up: score what is finished
    REAP = "reap"  #: a worker was lost: its job goes to another


class RecoveryStep(NamedTuple):
    """Something that must be done now."""

    action: RecoveryAction
    reason: str
    job: UUID | None = None


def list_recovery_steps(snapshot: SubmissionSnapshot, now: datetime, deadlines: Deadlines) -> tuple[RecoveryStep, ...]:
    """All that is overdue; nothing for a submission whose owner is at work."""
    if snapshot.state.is_final:
        return ()
    if now >= compute_deadline(snapshot, deadlines):
        return (_make_overdue_step(snapshot),)
    if snapshot.state is S.RUNNING and snapshot.allowed is not None and snapshot.busy >= snapshot.allowed:
        hours = snapshot.allowed / timedelta(hours=1)
        return (RecoveryStep(RecoveryAction.CLOSE, f"the {hours:g} hours of working time are used up"),)
    return tuple(list_job_recovery_steps(snapshot, now))


def _make_overdue_step(snapshot: SubmissionSnapshot) -> RecoveryStep:
    if OWNERS[snapshot.state] is Owner.TEAM:
        return RecoveryStep(
            RecoveryAction.EXPIRE,
            f"the upload did not come in time ({snapshot.state} since {snapshot.since:%Y-%m-%d %H:%M})",
        )
    return RecoveryStep(
        RecoveryAction.ABANDON, f"it was {snapshot.state} for too long (since {snapshot.since:%Y-%m-%d %H:%M} UTC)"
    )


def list_job_recovery_steps(snapshot: SubmissionSnapshot, now: datetime) -> Iterator[RecoveryStep]:
    """What is overdue about the jobs themselves, whatever their submission is waiting for."""
    for job in snapshot.jobs:
        if job.state is JobState.HELD and (job.lease_ends is None or job.lease_ends <= now):
            yield RecoveryStep(RecoveryAction.REAP, "its worker gave no sign of life", job.id)


OUR_FAULT = "This was our fault, and the organiser's records say why."


def redact_detail(cause: Cause | None, detail: str | None) -> str | None:
    """What a team is told: why we failed names machines and files that are none of its business."""
    return OUR_FAULT if cause is not None and cause.is_ours else detail
