"""Submissions and all that hangs on them: uploads, scores and board entries, jobs, leases, episodes, and the workers.

A job has at most one lease that is not released, which the database itself enforces, and each lease has a higher
`fence` than the one before, which every write must carry: a worker that was given up for dead cannot write any more.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from nav_eval.records.results import Cause, EpisodeStatus
from nav_eval_store.models.base import Base, Id, make_enum_column
from nav_eval_store.models.competition import Phase
from nav_eval_store.models.people import Team
from nav_eval_store.submissions.lifecycle import OPEN, JobKind, JobState, SubmissionState

_IS_OPEN = text(f"state IN ({', '.join(repr(state.value) for state in OPEN)})")


class Submission(Base):
    """One agent, evaluated once in one phase."""

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("phase_id", "team_id", "number"),
        Index("ix_submissions_team_id_created_at", "team_id", "created_at"),
        Index("ix_submissions_phase_id_created_at", "phase_id", "created_at"),
        Index("ix_submissions_competition_id_created_at", "competition_id", "created_at"),
        Index("ix_submissions_open", "state", sqlite_where=_IS_OPEN, postgresql_where=_IS_OPEN),
        Index(None, "rerun_of"),
    )

    id: Mapped[Id]
    competition_id: Mapped[UUID] = mapped_column(ForeignKey("competitions.id"))
    phase_id: Mapped[UUID] = mapped_column(ForeignKey("phases.id"))
    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id"))
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("users.id"))  #: who submitted; None is a script
    number: Mapped[int]  #: the team's first, second, … in this phase
    title: Mapped[str] = mapped_column(default="")  #: what the team calls it
    note: Mapped[str] = mapped_column(default="", server_default="")  #: the team's, for itself
    announced_sha256: Mapped[str | None]  #: of the archive that the team wants to upload
    announced_bytes: Mapped[int | None] = mapped_column(BigInteger)

    state: Mapped[SubmissionState] = mapped_column(make_enum_column(SubmissionState))
    since: Mapped[datetime]  #: it is in this state
    cause: Mapped[Cause | None] = mapped_column(make_enum_column(Cause))
    detail: Mapped[str | None]  #: the cause in a sentence
    active_at: Mapped[datetime | None]  #: the last byte of its upload
    created_at: Mapped[datetime]
    submitted_at: Mapped[datetime | None]  #: everything was there; checking began
    queued_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    agent: Mapped[str | None]  #: address of an organiser's agent, where there is no image
    image_key: Mapped[str | None]  #: blob of the image archive
    image_digest: Mapped[str | None]  #: sha256 of that blob
    image_id: Mapped[str | None]  #: what the engine calls the loaded image
    image_bytes: Mapped[int | None] = mapped_column(BigInteger)
    weights_key: Mapped[str | None]  #: blob of the separate weights archive
    weights_digest: Mapped[str | None]
    canary: Mapped[dict[str, Any] | None]  #: the first verdict, as the worker put it
    provenance: Mapped[dict[str, Any]] = mapped_column(default=dict)  #: digests and versions behind the score
    rules_digest: Mapped[str]  #: of the benchmark when it was submitted
    episodes_total: Mapped[int] = mapped_column(default=0)  #: known once it is queued

    priority: Mapped[int] = mapped_column(default=0)  #: higher goes first, before fairness
    rerun_of: Mapped[UUID | None] = mapped_column(ForeignKey("submissions.id", deferrable=True, initially="IMMEDIATE"))
    is_reevaluation: Mapped[bool] = mapped_column(default=False)  #: the organiser's: costs no slot
    superseded_by: Mapped[UUID | None] = mapped_column(
        ForeignKey("submissions.id", deferrable=True, initially="IMMEDIATE")
    )  #: an organiser's re-evaluation took its place on the board

    phase: Mapped[Phase] = relationship()
    team: Mapped[Team] = relationship()

    @property
    def rig(self) -> str | None:
        """Which of the benchmark's rigs the agent chose, once it was tried; None where there is no choice."""
        agent: dict[str, str] = (self.canary or {}).get("agent", {})
        return agent.get("rig")


class UploadPurpose(StrEnum):
    """What the bytes are."""

    IMAGE = "image"  #: a `docker save` archive, or an OCI layout
    WEIGHTS = "weights"  #: mounted beside the image, so that code alone stays small


class Upload(Base):
    """Bytes on their way, by tus 1.0."""

    __tablename__ = "uploads"
    __table_args__ = (Index(None, "submission_id"),)

    id: Mapped[Id]
    submission_id: Mapped[UUID] = mapped_column(ForeignKey("submissions.id"))
    purpose: Mapped[UploadPurpose] = mapped_column(make_enum_column(UploadPurpose))
    key: Mapped[str] = mapped_column(unique=True)  #: blob that grows
    length: Mapped[int | None] = mapped_column(BigInteger)  #: announced; None is deferred, as tus allows
    offset: Mapped[int] = mapped_column(BigInteger, default=0)  #: bytes that have arrived
    sha256: Mapped[str | None]  #: announced, then verified
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)  #: tus Upload-Metadata
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    blob_key: Mapped[str | None]  #: where the whole of it lies
    removed_at: Mapped[datetime | None]  #: given up; its bytes are gone

    submission: Mapped[Submission] = relationship()


class Score(Base):
    """One metric of a submission."""

    __tablename__ = "scores"

    submission_id: Mapped[UUID] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    metric: Mapped[str] = mapped_column(primary_key=True)
    position: Mapped[int]  #: column of the board
    mean: Mapped[float | None]
    std: Mapped[float | None]
    ci_low: Mapped[float | None]
    ci_high: Mapped[float | None]
    count: Mapped[int]
    invalid: Mapped[int]
    higher_is_better: Mapped[bool]
    note: Mapped[str | None]


class EntryVisibility(StrEnum):
    """Whether a row is on the board."""

    SHOWN = "shown"
    HELD = "held"  #: its replay gave other numbers: until the organiser has looked at it
    HIDDEN = "hidden"  #: by the organiser, reversibly
    DISQUALIFIED = "disqualified"  #: by the organiser, with a reason


class BoardEntry(Base):
    """A completed submission's place in the competition for the board."""

    __tablename__ = "entries"
    __table_args__ = (Index("ix_entries_phase_id_team_id", "phase_id", "team_id"),)

    submission_id: Mapped[UUID] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    phase_id: Mapped[UUID] = mapped_column(ForeignKey("phases.id"))
    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id"))
    score: Mapped[float | None]  #: what ranks; None where it is no number
    ci_low: Mapped[float | None]
    ci_high: Mapped[float | None]
    submitted_at: Mapped[datetime]
    completed_at: Mapped[datetime]
    visibility: Mapped[EntryVisibility] = mapped_column(make_enum_column(EntryVisibility))
    reason: Mapped[str | None]  #: why it is not shown
    verified_at: Mapped[datetime | None]  #: replayed without the agent, with equal numbers
    rank: Mapped[int | None]  #: of the team's counting entry, as of the phase's `ranked_version`
    shares_with: Mapped[UUID | None]  #: submission that heads the group of that rank
    p_value: Mapped[float | None]  #: of the difference from it
    episodes_digest: Mapped[str]  #: of the episodes behind `values`
    values: Mapped[bytes] = mapped_column(
        LargeBinary, deferred=True
    )  #: ranking value per episode (`boards.scores.pack_values`)

    submission: Mapped[Submission] = relationship()
    team: Mapped[Team] = relationship()


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
    kind: Mapped[JobKind] = mapped_column(make_enum_column(JobKind))
    position: Mapped[int] = mapped_column(default=0)  #: of a shard among the others
    state: Mapped[JobState] = mapped_column(make_enum_column(JobState))
    fence: Mapped[int] = mapped_column(default=0)  #: of the newest lease
    failures: Mapped[int] = mapped_column(default=0)  #: of ours in a row, without a finished episode in between
    ready_at: Mapped[datetime]  #: may start from here on
    dispatched_at: Mapped[datetime | None] = mapped_column("told_at")  #: when a message was last sent for it
    busy_seconds: Mapped[float] = mapped_column(default=0.0)  #: of work, as far as signs of life vouch for it
    episodes_total: Mapped[int] = mapped_column(default=0)
    episodes_done: Mapped[int] = mapped_column(default=0)
    tally: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Means so far (`nav_eval.records.scoring`); of a video, how much is drawn."""
    used: Mapped[dict[str, Any] | None]  #: what the agent used so far, by lease (`nav_eval_store.work.usage`)
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
    end: Mapped[LeaseEnd | None] = mapped_column(make_enum_column(LeaseEnd))
    detail: Mapped[str | None]

    job: Mapped[Job] = relationship()


class EpisodeRow(Base):
    """An episode of a submission: planned when the submission is queued, filled in when it ends."""

    __tablename__ = "episodes"
    __table_args__ = (
        UniqueConstraint("submission_id", "position"),
        *(
            Index(f"ix_episodes_{name}", "submission_id", name, "position")
            for name in ("score", "num_steps", "scene_id")
        ),
        Index("ix_episodes_success", "submission_id", "success", "score", "position"),
    )

    submission_id: Mapped[UUID] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    episode_id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id"))
    position: Mapped[int]  #: in the order of the plan
    scene_id: Mapped[str | None]
    status: Mapped[EpisodeStatus | None] = mapped_column(make_enum_column(EpisodeStatus))  #: None is still to be played
    cause: Mapped[Cause | None] = mapped_column(make_enum_column(Cause))
    success: Mapped[bool | None]  #: it was solved; None where nothing says so
    num_steps: Mapped[int | None]
    score: Mapped[float | None]  #: what it adds to the ranking, once the submission is scored
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
