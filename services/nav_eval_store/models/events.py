"""What happened: the quota ledger, the audit log, live events and their deliveries. Rows are only added."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from nav_eval_store.models.base import Base, Id, Serial, make_enum_column


class LedgerKind(StrEnum):
    """What a line of the ledger does."""

    RESERVE = "reserve"  #: a submission was created: one slot less
    CHARGE = "charge"  #: its evaluation began: the slot is spent
    REFUND = "refund"  #: the slot is given back
    GRANT = "grant"  #: the organiser adds slots


class LedgerEntry(Base):
    """A line of a team's account in a phase."""

    __tablename__ = "quota_ledger"
    __table_args__ = (
        Index("ix_quota_ledger_team_id_phase_id_at", "team_id", "phase_id", "at"),
        Index("uq_quota_ledger_once", "submission_id", "kind", unique=True),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Serial]
    at: Mapped[datetime]
    phase_id: Mapped[UUID] = mapped_column(ForeignKey("phases.id"))
    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id"))
    submission_id: Mapped[UUID | None] = mapped_column(ForeignKey("submissions.id"))  #: None for grants
    kind: Mapped[LedgerKind] = mapped_column(make_enum_column(LedgerKind))
    amount: Mapped[int] = mapped_column(default=1)
    reason: Mapped[str]


class QuotaShare(Base):
    """Who was in the team when a slot was reserved: what somebody used goes with them to another team."""

    __tablename__ = "quota_shares"
    __table_args__ = (Index(None, "user_id"),)

    submission_id: Mapped[UUID] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), primary_key=True)


class AuditEvent(Base):
    """Who did what to whom, and why."""

    __tablename__ = "audit_events"
    __table_args__ = (
        Index(None, "competition_id", "id"),
        Index(None, "submission_id", "id"),
        Index(None, "team_id", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Serial]
    at: Mapped[datetime]
    actor: Mapped[str]  #: `user:ada`, `worker:host-1`, `system:recover`
    actor_id: Mapped[UUID | None]  #: of a user
    action: Mapped[str]  #: `submission.cancel`, `quota.grant`, …
    competition_id: Mapped[UUID | None]  # no foreign keys: the log outlives what it speaks about
    phase_id: Mapped[UUID | None]
    team_id: Mapped[UUID | None]
    submission_id: Mapped[UUID | None]
    reason: Mapped[str | None]
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)


class OutboxEvent(Base):
    """Something that watchers hear about at once; ids grow in the order of the commits."""

    __tablename__ = "events"
    __table_args__ = (
        Index(None, "submission_id", "id"),
        Index(None, "competition_id", "id"),
        Index(None, "at"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Serial]
    at: Mapped[datetime]
    kind: Mapped[str]  #: `submission.state`, `submission.progress`, `board.changed`, …
    competition_id: Mapped[UUID | None]
    phase_id: Mapped[UUID | None]
    team_id: Mapped[UUID | None]
    submission_id: Mapped[UUID | None]
    payload: Mapped[dict[str, Any]] = mapped_column(default=dict)


class Webhook(Base):
    """Where to send word of a submission's state changes: `https://…`, or `mailto:…`."""

    __tablename__ = "webhooks"
    __table_args__ = (Index(None, "team_id"), Index(None, "competition_id"))

    id: Mapped[Id]
    competition_id: Mapped[UUID] = mapped_column(ForeignKey("competitions.id"))
    team_id: Mapped[UUID | None] = mapped_column(ForeignKey("teams.id"))  #: None hears of all teams: an organiser's
    url: Mapped[str]
    secret: Mapped[str]  #: signs what is sent
    kinds: Mapped[list[Any]]  #: of events; empty is all
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]
    disabled_reason: Mapped[str | None]


_OPEN = text("delivered_at IS NULL AND given_up_at IS NULL")


class Delivery(Base):
    """One event on its way to one webhook."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index("ix_webhook_deliveries_due", "due_at", sqlite_where=_OPEN, postgresql_where=_OPEN),
        Index(None, "webhook_id"),
    )

    id: Mapped[Id]
    webhook_id: Mapped[UUID] = mapped_column(ForeignKey("webhooks.id"))
    event_id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"))
    body: Mapped[dict[str, Any]]  #: what is sent; events are pruned, this is not
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    attempts: Mapped[int] = mapped_column(default=0)
    delivered_at: Mapped[datetime | None]
    given_up_at: Mapped[datetime | None]
    status: Mapped[int | None]  #: of the last answer
    error: Mapped[str | None]

    webhook: Mapped[Webhook] = relationship()
