"""Who takes part: users, their teams, and what they may do."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from nav_eval_store.models.base import Base, Id, make_enum_column
from nav_eval_store.models.competition import Competition


class User(Base):
    """A person, or an organiser's script."""

    __tablename__ = "users"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)  #: lower case, in addresses
    name_key: Mapped[str] = mapped_column(default="", server_default="", index=True)  #: equal for names that look equal
    email: Mapped[str | None] = mapped_column(unique=True)
    mailbox: Mapped[str | None] = mapped_column(index=True)  #: equal for addresses that lead to the same one
    verified_at: Mapped[datetime | None]  #: when they proved that the address is theirs, or somebody vouched for it
    password: Mapped[str | None]  #: scrypt; None cannot log in by password
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]  #: nothing works for them any more

    @property
    def email_verified(self) -> bool:
        return self.email is not None and self.verified_at is not None


class Identity(Base):
    """A user as an OpenID provider knows them: by the provider and its own, lasting name for them, never by e-mail."""

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"), Index(None, "user_id"))

    id: Mapped[Id]
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    issuer: Mapped[str]
    subject: Mapped[str]
    title: Mapped[str]  #: what the provider calls them, for lists
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    user: Mapped[User] = relationship()


class ProofKind(StrEnum):
    """What was proved."""

    EMAIL = "email"  #: that an address is theirs, by a link that was mailed to it
    RESET = "reset"  #: that a new password may be set: by a mailed link, or by one that an organiser handed over
    LOGIN = "login"  #: who they are, by an answer of an OpenID provider


class Proof(Base):
    """Something that works once: a mailed link, a provider's answer."""

    __tablename__ = "proofs"
    __table_args__ = (Index(None, "user_id"), Index(None, "email"), Index(None, "mailbox"))

    id: Mapped[Id]
    kind: Mapped[ProofKind] = mapped_column(make_enum_column(ProofKind))
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    digest: Mapped[str] = mapped_column(unique=True)  #: sha256 of the secret
    email: Mapped[str | None]
    mailbox: Mapped[str | None]  #: where a letter to the address arrives
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class RoleName(StrEnum):
    """What a user may do beyond their team."""

    ORGANISER = "organiser"  #: everything, in one competition or in all


class Role(Base):
    """A user's role in a competition, or in the whole installation."""

    __tablename__ = "roles"
    __table_args__ = (
        UniqueConstraint("user_id", "competition_id", "name"),
        Index(  # NULLs are all different to a unique constraint
            "uq_roles_everywhere",
            "user_id",
            "name",
            unique=True,
            sqlite_where=text("competition_id IS NULL"),
            postgresql_where=text("competition_id IS NULL"),
        ),
    )

    id: Mapped[Id]
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    competition_id: Mapped[UUID | None] = mapped_column(ForeignKey("competitions.id"))  #: None is everywhere
    name: Mapped[RoleName] = mapped_column(make_enum_column(RoleName))
    granted_at: Mapped[datetime]


class TeamKind(StrEnum):
    """What a row of the board stands for."""

    TEAM = "team"  #: people
    BASELINE = "baseline"  #: the organiser's agent, ranked and marked
    UPPER_BOUND = "upper_bound"  #: it knows what agents must not: marked, never ranked


class TeamStatus(StrEnum):
    """Whether a team takes part."""

    PENDING = "pending"  #: waits for an organiser's nod
    ACTIVE = "active"
    DISQUALIFIED = "disqualified"  #: off the board, with a reason; may not submit


class Team(Base):
    """Who competes in one competition."""

    __tablename__ = "teams"
    __table_args__ = (UniqueConstraint("competition_id", "name_key"),)

    id: Mapped[Id]
    competition_id: Mapped[UUID] = mapped_column(ForeignKey("competitions.id"))
    name: Mapped[str]
    name_key: Mapped[str]  #: what makes it unique: equal for names that look equal
    kind: Mapped[TeamKind] = mapped_column(make_enum_column(TeamKind))
    status: Mapped[TeamStatus] = mapped_column(make_enum_column(TeamStatus))
    reason: Mapped[str | None]  #: why it is disqualified
    profile: Mapped[dict[str, Any] | None]  #: what it tells everybody of itself: about, website, paper, code
    served_at: Mapped[datetime | None]  #: when a shard of it was last started: who waited longest goes first
    checked_at: Mapped[datetime | None]  #: the same for checks, canaries and scores, which cost no turn of a shard
    created_at: Mapped[datetime]

    competition: Mapped[Competition] = relationship()
    members: Mapped[list["TeamMember"]] = relationship(back_populates="team")


class MemberRole(StrEnum):
    """What a member may do for the team."""

    CAPTAIN = "captain"  #: invite, remove, rename
    MEMBER = "member"  #: submit, watch, cancel


class TeamMember(Base):
    """A user in a team; in one team per competition, so that nobody has two quotas."""

    __tablename__ = "members"
    __table_args__ = (UniqueConstraint("competition_id", "user_id"), Index(None, "user_id"))

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"), primary_key=True)
    competition_id: Mapped[UUID] = mapped_column(ForeignKey("competitions.id"))
    role: Mapped[MemberRole] = mapped_column(make_enum_column(MemberRole))
    joined_at: Mapped[datetime]

    team: Mapped[Team] = relationship(back_populates="members")
    user: Mapped[User] = relationship()


class Invitation(Base):
    """A way into a team, good once."""

    __tablename__ = "invitations"
    __table_args__ = (Index(None, "team_id"),)

    id: Mapped[Id]
    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id"))
    digest: Mapped[str] = mapped_column(unique=True)  #: sha256 of the secret
    email: Mapped[str | None]  #: where it was sent, for the list
    invited_by: Mapped[UUID | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    accepted_by: Mapped[UUID | None] = mapped_column(ForeignKey("users.id"))
    accepted_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class TokenKind(StrEnum):
    """What a token was made for."""

    API = "api"  #: scripts and the SDK
    SESSION = "session"  #: a browser that logged in


class Token(Base):
    """A secret that stands for a user. Only its digest is kept: the secret itself is random enough."""

    __tablename__ = "tokens"
    __table_args__ = (Index(None, "user_id"),)

    id: Mapped[Id]
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    kind: Mapped[TokenKind] = mapped_column(make_enum_column(TokenKind))
    name: Mapped[str]  #: what its owner calls it
    prefix: Mapped[str] = mapped_column(unique=True)  #: its first characters, for lists and look-up
    digest: Mapped[str]
    scopes: Mapped[list[Any]]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    heirs_until: Mapped[datetime | None]  #: tokens that are issued with it end no later; None is as they like
    used_at: Mapped[datetime | None]  #: to the minute
    revoked_at: Mapped[datetime | None]

    user: Mapped[User] = relationship()
