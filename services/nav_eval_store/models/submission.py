"""Submissions and the uploads that feed them."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from nav_eval_store.causes import Cause
from nav_eval_store.lifecycle import OPEN, State
from nav_eval_store.models.base import Base, Id, words
from nav_eval_store.models.competition import Phase
from nav_eval_store.models.people import Team

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

    state: Mapped[State] = mapped_column(words(State))
    since: Mapped[datetime]  #: it is in this state
    cause: Mapped[Cause | None] = mapped_column(words(Cause))
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
    purpose: Mapped[UploadPurpose] = mapped_column(words(UploadPurpose))
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
