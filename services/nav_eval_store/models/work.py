"""Work: jobs, who holds them, the episodes they bring home, and the workers.

A shard is a job of kind `shard`. A job is held through a lease; a job has at most one lease that is
not released, which the database itself enforces, and each lease has a higher `fence` than the one
before, which every write must carry: a worker that was given up for dead cannot write any more.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from nav_eval_store.causes import Cause
from nav_eval_store.lifecycle import JobKind, JobState
from nav_eval_store.models.base import Base, Id, words
from nav_eval_store.models.submission import Submission

_NOT_DONE = text("state IN ('waiting', 'held')")
_ACTIVE = text("released_at IS NULL")


class Job(Base):
    """A step of a submission that one worker does at a time."""

    __tablename__ = "jobs"
    __table_args__ = (
        UniqueConstraint("submission_id", "kind", "position"),
        Index("ix_jobs_finished_at", "finished_at"),
        Index("ix_jobs_not_done", "state", sqlite_where=_NOT_DONE, postgresql_where=_NOT_DONE),
    )

    id: Mapped[Id]
    submission_id: Mapped[UUID] = mapped_column(ForeignKey("submissions.id"))
    kind: Mapped[JobKind] = mapped_column(words(JobKind))
    position: Mapped[int] = mapped_column(default=0)  #: of a shard among the others
    state: Mapped[JobState] = mapped_column(words(JobState))
    fence: Mapped[int] = mapped_column(default=0)  #: of the newest lease
    failures: Mapped[int] = mapped_column(default=0)  #: of ours in a row, without a finished episode in between
    ready_at: Mapped[datetime]  #: may start from here on
    told_at: Mapped[datetime | None]  #: workers last heard of it
    busy_seconds: Mapped[float] = mapped_column(default=0.0)  #: of work, as far as signs of life vouch for it
    episodes_total: Mapped[int] = mapped_column(default=0)
    episodes_done: Mapped[int] = mapped_column(default=0)
    tally: Mapped[dict[str, Any]] = mapped_column(default=dict)  #: means so far (`nav_eval_store.tally`)
    used: Mapped[dict[str, Any] | None]  #: what the agent used so far, by lease (`nav_eval_store.using`)
    progress_at: Mapped[datetime | None]  #: the last live event about it
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]

    submission: Mapped[Submission] = relationship()


class LeaseEnd(StrEnum):
    """How a worker's hold on a job ended."""

    DONE = "done"  #: the job was finished
    RELEASED = "released"  #: the worker gave it back, e.g. because it drains
    FAILED = "failed"  #: by our fault
    LOST = "lost"  #: no heartbeat
    REVOKED = "revoked"  #: the submission ended


class LeaseRow(Base):
    """Who holds, or held, a job. The history stays: it says which machine produced what."""

    __tablename__ = "leases"
    __table_args__ = (
        UniqueConstraint("job_id", "fence"),
        Index("uq_leases_active", "job_id", unique=True, sqlite_where=_ACTIVE, postgresql_where=_ACTIVE),
        Index("ix_leases_expires_at", "expires_at", sqlite_where=_ACTIVE, postgresql_where=_ACTIVE),
    )

    id: Mapped[Id]
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id"))
    fence: Mapped[int]
    worker: Mapped[str]  #: its name
    acquired_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    released_at: Mapped[datetime | None]
    end: Mapped[LeaseEnd | None] = mapped_column(words(LeaseEnd))
    detail: Mapped[str | None]

    job: Mapped[Job] = relationship()


class EpisodeStatus(StrEnum):
    """How an episode ended."""

    COMPLETED = "completed"  #: by a stop or by the step limit
    FAILED = "failed"  #: by a fault; the cause says whose
    TIMEOUT = "timeout"  #: by the clock
    CANCELLED = "cancelled"  #: by a person


class EpisodeRow(Base):
    """An episode of a submission: planned when the submission is queued, filled in when it ends."""

    __tablename__ = "episodes"
    __table_args__ = (UniqueConstraint("submission_id", "position"),)

    submission_id: Mapped[UUID] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    episode_id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id"))
    position: Mapped[int]  #: in the order of the plan
    scene_id: Mapped[str | None]
    status: Mapped[EpisodeStatus | None] = mapped_column(words(EpisodeStatus))  #: None is still to be played
    cause: Mapped[Cause | None] = mapped_column(words(Cause))
    outcome: Mapped[str | None]  #: its line of episodes.jsonl, without trajectory and actions
    replay_key: Mapped[str | None]  #: blob of the whole line
    fence: Mapped[int | None]  #: of the lease under which it was recorded
    recorded_at: Mapped[datetime | None]


class Worker(Base):
    """A process that does jobs."""

    __tablename__ = "workers"

    name: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str]
    version: Mapped[str]
    abilities: Mapped[dict[str, Any]] = mapped_column(default=dict)  #: runtimes, GPUs, …
    slots: Mapped[int] = mapped_column(default=1)  #: jobs at the same time
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]
    draining_at: Mapped[datetime | None]  #: finishes what it holds, takes nothing new
    stopped_at: Mapped[datetime | None]
