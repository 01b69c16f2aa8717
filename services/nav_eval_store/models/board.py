"""Scores, and who stands where."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, Index, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column, relationship

from nav_eval_store.models.base import Base, words
from nav_eval_store.models.people import Team
from nav_eval_store.models.submission import Submission


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


class Visibility(StrEnum):
    """Whether a row is on the board."""

    SHOWN = "shown"
    HIDDEN = "hidden"  #: by the organiser, reversibly
    DISQUALIFIED = "disqualified"  #: by the organiser, with a reason


class Entry(Base):
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
    visibility: Mapped[Visibility] = mapped_column(words(Visibility))
    reason: Mapped[str | None]  #: why it is not shown
    verified_at: Mapped[datetime | None]  #: replayed without the agent, with equal numbers
    rank: Mapped[int | None]  #: of the team's counting entry, as of the phase's `ranked_version`
    shares_with: Mapped[UUID | None]  #: submission that heads the group of that rank
    p_value: Mapped[float | None]  #: of the difference from it
    episodes_digest: Mapped[str]  #: of the episodes behind `values`
    values: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)  #: ranking value per episode (`score_vectors`)

    submission: Mapped[Submission] = relationship()
    team: Mapped[Team] = relationship()
