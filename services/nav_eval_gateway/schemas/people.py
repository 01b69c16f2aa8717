"""Users, tokens, teams, invitations, and webhooks with what was sent to them."""

# ruff: noqa: S105, S106 (examples for the OpenAPI document)

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from nav_eval_gateway.schemas.base import Answer, FilledLine, Paragraph, Request, make_example
from nav_eval_store.models import Delivery, MemberRole, Team, TeamMember, TeamStatus
from nav_eval_store.notifications import events
from nav_eval_store.people.accounts import Scope

Password = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "password"})]
NewPassword = Annotated[str, Field(min_length=10, max_length=1000, json_schema_extra={"format": "password"})]
Days = Annotated[int, Field(ge=1, le=3650, description="After which the token ends.")]
USUAL_SCOPES = (Scope.READ, Scope.SUBMIT, Scope.TEAM)


class Registration(Request):
    """Somebody who wants to take part."""

    model_config = make_example(name="ada", email="ada@example.org", password="a long pass phrase")

    name: Annotated[str, Field(min_length=1, max_length=39, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    email: Annotated[FilledLine, Field(min_length=3, max_length=255)]
    password: NewPassword


class UserAnswer(Answer):
    """A user, as they see themselves."""

    name: str
    email: str | None
    email_verified: bool
    """Proved by a mailed link, a login provider or an organiser."""
    created_at: datetime


class EmailWish(Request):
    """An address that somebody says is theirs."""

    model_config = make_example(email="ada@example.org")

    email: Annotated[FilledLine, Field(min_length=3, max_length=255)]


class EmailSent(Answer):
    """A message is on its way."""

    email: str
    expires_at: datetime
    """Until then the link in it is good, once."""


class EmailSecret(Request):
    """What stands in the link of the message."""

    model_config = make_example(secret="nvp_…")

    secret: Annotated[str, Field(min_length=1, max_length=200)]


class ResetWish(Request):
    """Whose password was forgotten."""

    model_config = make_example(name="ada")

    name: Annotated[str, Field(min_length=1, max_length=300)]
    """The user's name, or their verified e-mail address."""


class PasswordReset(Request):
    """A password instead of the forgotten one."""

    model_config = make_example(secret="nvr_…", new="another long pass phrase")

    secret: Annotated[str, Field(min_length=1, max_length=200)]
    new: NewPassword


class HandedReset(Answer):
    """A secret to hand over; it is shown once."""

    model_config = make_example(secret="nvr_…", expires_at="2026-09-02T12:00:00Z")

    secret: str
    expires_at: datetime


Link = Annotated[str, Field(max_length=500, pattern=r"^$|^https://[!-~]+$")]
"""A public address, or nothing."""


class TeamProfile(Request):
    """What a team tells everybody of itself; nothing at all takes its page away."""

    model_config = make_example(about="Four students of Ithaca.", website="https://ants.example", paper="", code="")

    about: Annotated[Paragraph, Field(max_length=1000)] = ""
    website: Link = ""
    paper: Link = ""
    code: Link = ""

    @property
    def is_empty(self) -> bool:
        return not any(self.model_dump().values())


class ProfileAnswer(Answer):
    """A team as everybody may see it."""

    team_id: UUID
    name: str
    competition: str
    about: str
    website: str
    paper: str
    code: str

    @classmethod
    def of(cls, team: Team) -> "ProfileAnswer":
        profile = TeamProfile.model_validate(team.profile or {})
        return cls(team_id=team.id, name=team.name, competition=team.competition.name, **profile.model_dump())


class Membership(Answer):
    """One of the teams that a user is in."""

    competition: str
    team: str
    team_id: UUID
    role: MemberRole


class Me(UserAnswer):
    """Who the token belongs to."""

    model_config = make_example(
        name="ada",
        email="ada@example.org",
        email_verified=True,
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

    model_config = make_example(name="ada", password="a long pass phrase", token_name="laptop")

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

    model_config = make_example(name="ci", scopes=["read", "submit"], days=90)

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


class IssuedToken(TokenAnswer):
    """A new token. Its secret is shown this once."""

    model_config = make_example(
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


class TeamName(Request):
    """How a team wants to be called."""

    model_config = make_example(name="Ants")

    name: Annotated[str, Field(min_length=1, max_length=200)]


class MemberAnswer(Answer):
    """Somebody in a team."""

    name: str
    role: MemberRole
    joined_at: datetime

    @classmethod
    def of(cls, member: TeamMember) -> "MemberAnswer":
        return cls.from_row(member, name=member.user.name)


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
    def of(cls, team: Team, members: Sequence[TeamMember]) -> "TeamAnswer":
        shown = [MemberAnswer.of(member) for member in members]
        return cls.from_row(team, competition=team.competition.name, members=shown)


class NewRole(Request):
    """What a member may do for the team."""

    model_config = make_example(role="captain")

    role: MemberRole


class NewInvitation(Request):
    """An invitation to be made."""

    model_config = make_example(email="bob@example.org")

    email: Annotated[FilledLine, Field(max_length=255)] | None = None
    """To tell invitations apart; nothing is sent there."""


class InvitationAnswer(Answer):
    """A way into a team, good once."""

    id: UUID
    email: str | None
    created_at: datetime
    expires_at: datetime


class IssuedInvitation(InvitationAnswer):
    """A new invitation. Its secret is shown this once: give it to the one who is invited."""

    secret: str


class Acceptance(Request):
    """An invitation that somebody got."""

    model_config = make_example(secret="nvi_…")

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


class EventKind(StrEnum):
    """What one can hear about."""

    STATE = events.STATE_CHANGED
    CANARY = events.VERDICT
    PROGRESS = events.PROGRESS
    BOARD = events.BOARD_CHANGED
    PHASE = events.PHASE_CHANGED
    MESSAGE = events.MESSAGE


class NewWebhook(Request):
    """Somebody who wants to hear."""

    model_config = make_example(url="https://hooks.example.org/nav-eval", kinds=["submission.state"])

    url: Annotated[str, Field(min_length=1, max_length=2000)]
    """`https://…`, or `mailto:` with the e-mail address of a member."""
    kinds: Annotated[tuple[EventKind, ...], Field(min_length=1, max_length=6)] = (EventKind.STATE,)


class WebhookAnswer(Answer):
    """A webhook without its secret."""

    id: UUID
    url: str
    kinds: list[str]
    created_at: datetime


class IssuedWebhook(WebhookAnswer):
    """A new webhook. The secret that signs what it gets is shown this once."""

    model_config = make_example(
        id="0b5d7c1e-8f8c-4b4f-9a53-0e6b5f2e9f11",
        url="https://hooks.example.org/nav-eval",
        kinds=["submission.state"],
        created_at="2026-09-01T12:00:00Z",
        secret="Jx3…",
    )

    secret: str


class DeliveryAnswer(Answer):
    """One message on its way to a webhook."""

    id: UUID
    kind: str
    attempts: int
    delivered_at: datetime | None
    next_at: datetime | None
    """When it is tried next; null when it arrived or was given up."""
    given_up_at: datetime | None
    status: int | None
    """Of the last answer."""
    error: str | None

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryAnswer":
        is_open = delivery.delivered_at is None and delivery.given_up_at is None
        return cls.from_row(delivery, kind=delivery.body["kind"], next_at=delivery.due_at if is_open else None)
