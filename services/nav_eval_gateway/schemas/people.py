"""Users, tokens, teams and invitations."""
# ruff: noqa: S105, S106 (examples for the OpenAPI document)

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from nav_eval_gateway.schemas.base import Answer, FilledLine, Request, example
from nav_eval_store.models import Invitation, Member, MemberRole, Team, TeamStatus, Token, User
from nav_eval_store.quota import Allowance
from nav_eval_store.tokens import Scope

Password = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "password"})]
NewPassword = Annotated[str, Field(min_length=10, max_length=1000, json_schema_extra={"format": "password"})]
Days = Annotated[int, Field(ge=1, le=3650, description="After which the token ends.")]
USUAL_SCOPES = (Scope.READ, Scope.SUBMIT, Scope.TEAM)


class Registration(Request):
    """Somebody who wants to take part."""

    model_config = example(name="ada", email="ada@example.org", password="a long pass phrase")

    name: Annotated[str, Field(min_length=1, max_length=39, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    email: Annotated[FilledLine, Field(min_length=3, max_length=255)]
    password: NewPassword


class UserAnswer(Answer):
    """A user, as they see themselves."""

    name: str
    email: str | None
    created_at: datetime

    @classmethod
    def of(cls, user: User) -> "UserAnswer":
        return cls(name=user.name, email=user.email, created_at=user.created_at)


class Membership(Answer):
    """One of the teams that a user is in."""

    competition: str
    team: str
    team_id: UUID
    role: MemberRole


class Me(UserAnswer):
    """Who the token belongs to."""

    model_config = example(
        name="ada",
        email="ada@example.org",
        created_at="2026-09-01T12:00:00Z",
        team="Ants",
        teams=[
            {
                "competition": "demo",
                "team": "Ants",
                "team_id": "0b5d7c1e-8f8c-4b4f-9a53-0e6b5f2e9f11",
                "role": "captain",
            }
        ],
        organises=[],
        scopes=["read", "submit", "team"],
    )

    team: str | None
    """The team that was joined last."""
    teams: list[Membership]
    organises: list[str]
    """Competitions, or `*` for all."""
    scopes: list[Scope]
    """Of this token."""


class Login(Request):
    """A password for a token."""

    model_config = example(name="ada", password="a long pass phrase", token_name="laptop")

    name: Annotated[str, Field(min_length=1, max_length=255, description="Name or e-mail address.")]
    password: Password
    token_name: FilledLine = "login"
    scopes: Annotated[tuple[Scope, ...], Field(max_length=4)] = USUAL_SCOPES


class PasswordChange(Request):
    """Another password."""

    old: Password
    new: NewPassword


class NewToken(Request):
    """A token to be made."""

    model_config = example(name="ci", scopes=["read", "submit"], days=90)

    name: FilledLine
    scopes: Annotated[tuple[Scope, ...], Field(max_length=4)] = USUAL_SCOPES
    days: Days | None = None


class TokenAnswer(Answer):
    """A token without its secret."""

    id: UUID
    name: str
    prefix: str
    """How its secret begins, after `nve_`."""
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    """To the minute."""

    @classmethod
    def of(cls, token: Token) -> "TokenAnswer":
        return cls.model_validate(token, from_attributes=True)


class IssuedToken(TokenAnswer):
    """A new token. Its secret is shown this once."""

    model_config = example(
        id="6d2c4c68-7a2f-4a5b-a8d9-4a3f1d1f6c55",
        name="ci",
        prefix="k3v9q2ma",
        scopes=["read", "submit"],
        created_at="2026-09-01T12:00:00Z",
        expires_at=None,
        used_at=None,
        token="nve_k3v9q2ma_…",
    )

    token: str

    @classmethod
    def issued(cls, token: Token, secret: str) -> "IssuedToken":
        return cls(**TokenAnswer.of(token).model_dump(), token=secret)


class TeamName(Request):
    """How a team wants to be called."""

    model_config = example(name="Ants")

    name: Annotated[str, Field(min_length=1, max_length=200)]


class MemberAnswer(Answer):
    """Somebody in a team."""

    name: str
    role: MemberRole
    joined_at: datetime

    @classmethod
    def of(cls, member: Member) -> "MemberAnswer":
        return cls(name=member.user.name, role=member.role, joined_at=member.joined_at)


class TeamAnswer(Answer):
    """A team, as its members see it."""

    id: UUID
    name: str
    competition: str
    status: TeamStatus
    reason: str | None
    """Why it is disqualified."""
    created_at: datetime
    members: list[MemberAnswer]

    @classmethod
    def of(cls, team: Team, members: Sequence[Member]) -> "TeamAnswer":
        return cls(
            id=team.id,
            name=team.name,
            competition=team.competition.name,
            status=team.status,
            reason=team.reason,
            created_at=team.created_at,
            members=[MemberAnswer.of(member) for member in members],
        )


class NewRole(Request):
    """What a member may do for the team."""

    model_config = example(role="captain")

    role: MemberRole


class NewInvitation(Request):
    """An invitation to be made."""

    model_config = example(email="bob@example.org")

    email: Annotated[FilledLine, Field(max_length=255)] | None = None
    """To tell invitations apart; nothing is sent there."""


class InvitationAnswer(Answer):
    """A way into a team, good once."""

    id: UUID
    email: str | None
    created_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, invitation: Invitation) -> "InvitationAnswer":
        return cls.model_validate(invitation, from_attributes=True)


class IssuedInvitation(InvitationAnswer):
    """A new invitation. Its secret is shown this once: give it to the one who is invited."""

    secret: str

    @classmethod
    def issued(cls, invitation: Invitation, secret: str) -> "IssuedInvitation":
        return cls(**InvitationAnswer.of(invitation).model_dump(), secret=secret)


class Acceptance(Request):
    """An invitation that somebody got."""

    model_config = example(secret="nvi_…")

    secret: Annotated[str, Field(min_length=1, max_length=100)]


class QuotaAnswer(Answer):
    """What a team may still submit in a phase; null is without limit."""

    phase: str
    per_day: int | None
    used_today: int
    """In the last 24 hours."""
    left_today: int | None
    total: int | None
    used_total: int
    left_total: int | None
    concurrent: int
    open: int
    """Submissions that are not final."""
    left: int
    """Submissions that are possible right now."""
    next_at: datetime | None
    """When the next one is possible; null is now, or never if the total is used up."""

    @classmethod
    def of(cls, phase: str, allowance: Allowance) -> "QuotaAnswer":
        names = ("per_day", "used_today", "left_today", "total", "used_total", "left_total")
        more = ("concurrent", "open", "left", "next_at")
        return cls(phase=phase, **{name: getattr(allowance, name) for name in (*names, *more)})
