"""Competitions and phases: the YAML as it was last applied, and what an organiser switches at run time."""

from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from nav_eval.config import CompetitionConfig
from nav_eval.config.schema.competition import PhaseConfig
from nav_eval.config_model import ConfigModel
from nav_eval_store.models.base import Base, Id

M = TypeVar("M", bound=ConfigModel)


def _validate_once(row: object, model: type[M], settings: dict[str, Any]) -> M:
    """The configuration, validated once as long as the row keeps the same settings."""
    known = row.__dict__.get("_validated")
    if known is None or known[0] is not settings:
        known = row.__dict__["_validated"] = (settings, model.model_validate(settings))
    config: M = known[1]
    return config


class Competition(Base):
    """One challenge."""

    __tablename__ = "competitions"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)  #: in addresses
    title: Mapped[str]
    settings: Mapped[dict[str, Any]]  #: the CompetitionConfig, as JSON
    digest: Mapped[str]  #: of the configuration
    source: Mapped[str | None]  #: the text that was applied, as its author wrote it; None came from several files
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    phases: Mapped[list["Phase"]] = relationship(back_populates="competition", order_by="Phase.position")

    @property
    def config(self) -> CompetitionConfig:
        return _validate_once(self, CompetitionConfig, self.settings)


class Message(Base):
    """What organisers told the teams of a competition, or one of them."""

    __tablename__ = "messages"
    __table_args__ = (Index(None, "competition_id", "sent_at"),)

    id: Mapped[Id]
    competition_id: Mapped[UUID] = mapped_column(ForeignKey("competitions.id"))
    team_id: Mapped[UUID | None] = mapped_column(ForeignKey("teams.id"))  #: None is all of them
    author: Mapped[str]  #: the organiser's user name
    subject: Mapped[str]
    text: Mapped[str]
    sent_at: Mapped[datetime]


class Phase(Base):
    """A part of a competition with its own benchmark, time and rules."""

    __tablename__ = "phases"
    __table_args__ = (UniqueConstraint("competition_id", "name"),)

    id: Mapped[Id]
    competition_id: Mapped[UUID] = mapped_column(ForeignKey("competitions.id"))
    name: Mapped[str]
    position: Mapped[int]
    settings: Mapped[dict[str, Any]]  #: the PhaseConfig, as JSON
    rules_digest: Mapped[str]  #: of the benchmark: what can change a score
    metrics: Mapped[list[Any]]  #: columns of the board: [{"name", "higher_is_better"}]
    ranking: Mapped[dict[str, Any]]  #: metric → weight, with the task's own filled in
    opens_at: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    paused_at: Mapped[datetime | None]  #: takes nothing, starts nothing; what runs ends
    paused_reason: Mapped[str | None]
    resumed_at: Mapped[datetime | None]
    published_at: Mapped[datetime | None]  #: a board that was kept hidden is shown from here on
    archived_at: Mapped[datetime | None]  #: taken out of the YAML; its results stay
    board_version: Mapped[int] = mapped_column(default=0)  #: grows with everything that a board shows
    ranked_version: Mapped[int] = mapped_column(default=-1)  #: the board version that the ranks belong to
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    competition: Mapped[Competition] = relationship(back_populates="phases")

    @property
    def config(self) -> PhaseConfig:
        return _validate_once(self, PhaseConfig, self.settings)
