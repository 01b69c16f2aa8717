"""What organisers say and see."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from nav_eval_gateway.schemas.base import Answer, FilledLine, Reason, Request, make_example
from nav_eval_store.gauges import Gauges
from nav_eval_store.models import LeaseRow, Worker
from nav_eval_store.submissions.lifecycle import JobKind, JobState, SubmissionState

_SUBMISSION = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
_TEAM = "0b5d9c1e-54a2-4c7e-9a55-9a1d2c3b4e5f"


class Why(Request):
    """The reason of a deed; it is kept in the audit log."""

    model_config = make_example(reason="the image reads the goals from the simulator's memory")

    reason: Reason


class Grant(Request):
    """More submissions for a team."""

    model_config = make_example(team_id=_TEAM, amount=2, reason="their run was lost when our disk was full")

    team_id: UUID
    amount: Annotated[int, Field(ge=1, le=10_000)]
    reason: Reason


class NewPriority(Request):
    """Before (or after) all others, whoever they are from; 0 is usual."""

    model_config = make_example(priority=10, reason="needed for the prize ceremony")

    priority: Annotated[int, Field(ge=-100, le=100)]
    reason: Reason


class Drain(Request):
    """Workers that are to finish what they hold and take nothing new."""

    model_config = make_example(workers=["gpu-1"], reason="new graphics driver")

    workers: Annotated[list[FilledLine], Field(max_length=1000)] | None = None
    """By name; null is all that are alive."""
    reason: Reason


class Started(Answer):
    """Submissions that were started."""

    model_config = make_example(submissions=[_SUBMISSION])

    submissions: list[UUID]


class WorkerAnswer(Answer):
    """A worker."""

    model_config = make_example(
        name="gpu-1",
        host="node-7",
        version="0.1.0",
        slots=2,
        alive=True,
        draining=False,
        started_at="2026-09-01T08:00:00Z",
        heartbeat_at="2026-09-01T12:00:00Z",
        stopped_at=None,
        abilities={"runtime": "docker"},
        holds=[{"job_id": "0b5d9c1e-54a2-4c7e-9a55-9a1d2c3b4e60", "kind": "shard", "submission_id": _SUBMISSION}],
    )

    name: str
    host: str
    version: str
    slots: int
    """Jobs that it does at the same time."""
    alive: bool
    """It gave a sign of life in the last minute."""
    draining: bool
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None
    abilities: Mapping[str, Any]
    holds: list["HeldJob"]

    @classmethod
    def of(cls, worker: Worker, *, alive: bool, holds: list[LeaseRow]) -> "WorkerAnswer":
        draining, held = worker.draining_at is not None, [HeldJob.of(lease) for lease in holds]
        return cls.from_row(worker, alive=alive, draining=draining, holds=held)


class HeldJob(Answer):
    """What a worker is doing."""

    job_id: UUID
    kind: JobKind
    submission_id: UUID
    since: datetime | None = None

    @classmethod
    def of(cls, lease: LeaseRow) -> "HeldJob":
        job = lease.job
        return cls(job_id=job.id, kind=job.kind, submission_id=job.submission_id, since=lease.acquired_at)


class Drained(Answer):
    """Workers that heard it."""

    model_config = make_example(workers=["gpu-1"])

    workers: list[str]


class WaitingJobs(Answer):
    """Jobs of one kind."""

    kind: JobKind
    state: JobState
    number: int


class QueueAnswer(Answer):
    """What is under way in the whole installation."""

    model_config = make_example(
        submissions={"created": 0, "uploading": 1, "validating": 0, "queued": 3, "running": 2, "scoring": 0},
        jobs=[{"kind": "shard", "state": "waiting", "number": 6}],
        jobs_waiting=6,
        jobs_running=4,
        oldest_waiting_seconds=312.5,
        oldest_heartbeat_seconds=2.1,
        workers_alive=2,
        workers_draining=0,
        slots=4,
        unranked_boards=0,
        deliveries_waiting=0,
    )

    submissions: dict[SubmissionState, int]
    """That have not ended."""
    jobs: list[WaitingJobs]
    """That wait or are held."""
    jobs_waiting: int
    jobs_running: int
    oldest_waiting_seconds: float
    """Since the oldest job that may start became ready."""
    oldest_heartbeat_seconds: float
    """Since the stalest sign of life of a held job."""
    workers_alive: int
    workers_draining: int
    slots: int
    """Jobs that living workers can do at once."""
    unranked_boards: int
    deliveries_waiting: int
    """Webhooks."""

    @classmethod
    def of(cls, now: Gauges) -> "QueueAnswer":
        jobs = [WaitingJobs(kind=kind, state=state, number=n) for (kind, state), n in now.jobs.items() if n]
        return cls.from_row(now, jobs=jobs, oldest_heartbeat_seconds=now.oldest_heartbeat)


class RefundLine(Answer):
    """How often a team got a slot of its quota back in a phase, and why."""

    model_config = make_example(
        team="Ants",
        team_id=_TEAM,
        phase="dev",
        reason="our own failure",
        today=3,
        total=4,
        last_at="2026-09-01T12:00:00Z",
    )

    team: str
    team_id: UUID
    phase: str
    reason: str
    today: int
    """In the last 24 hours."""
    total: int
    last_at: datetime


class AuditLine(Answer):
    """Who did what to whom, and why."""

    model_config = make_example(
        id=4711,
        at="2026-09-01T12:00:00Z",
        actor="user:olga",
        action="submission.disqualified",
        reason="it read the goals",
        competition_id="16fd2706-8baf-433b-82eb-8c7fada847da",
        phase_id=None,
        team_id=_TEAM,
        submission_id=_SUBMISSION,
        details={},
    )

    id: int
    at: datetime
    actor: str
    action: str
    reason: str | None
    competition_id: UUID | None
    phase_id: UUID | None
    team_id: UUID | None
    submission_id: UUID | None
    details: Mapping[str, Any]


class BulkVerb(StrEnum):
    """What can be done to many submissions at once."""

    HIDE = "hide"
    SHOW = "show"
    DISQUALIFY = "disqualify"
    STOP = "stop"
    REEVALUATE = "reevaluate"


class BulkAction(Request):
    """One verb for many submissions of a competition."""

    model_config = make_example(verb="hide", submissions=[_SUBMISSION], reason="made with a broken scene")

    verb: BulkVerb
    submissions: Annotated[list[UUID], Field(min_length=1, max_length=200)]
    reason: Reason


class Refused(Answer):
    """A submission to which it was not done, and why."""

    submission_id: UUID
    detail: str


class BulkDone(Answer):
    """What was done, and what was refused."""

    model_config = make_example(done=[_SUBMISSION], refused=[])

    done: list[UUID]
    refused: list[Refused]


class MessageAnswer(Answer):
    """What organisers told a team, or all of them."""

    model_config = make_example(
        id=_SUBMISSION,
        team_id=None,
        author="olga",
        subject="New scenes",
        text="The test split has two houses more from Monday on.",
        sent_at="2026-09-01T12:00:00Z",
    )

    id: UUID
    team_id: UUID | None
    """Null is all teams."""
    author: str
    subject: str
    text: str
    sent_at: datetime
