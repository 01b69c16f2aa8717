"""Teams: founding, inviting, joining, leaving."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import joinedload

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.boards.leaderboard import mark_board_changed
from nav_eval_store.database import Session
from nav_eval_store.errors import BadInvitation, Conflict, NameInUse, NotAllowed, NotFound, QuotaExceeded
from nav_eval_store.models import (
    AuditEvent,
    BoardEntry,
    Competition,
    Invitation,
    MemberRole,
    Phase,
    Team,
    TeamKind,
    TeamMember,
    TeamStatus,
    User,
)
from nav_eval_store.people.accounts import hash_secret
from nav_eval_store.people.names import make_name_key, normalize_name

INVITATION_LIFETIME = timedelta(days=7)
DAY = timedelta(days=1)
FOUNDED_PER_DAY = 10
"""Teams of one competition that a person may found in 24 hours: who leaves and founds again takes names and rows."""
RENAMED_PER_DAY = 5
"""Other names that a team may take in 24 hours: everybody who watches a board hears of each."""


def create_team(session: Session, competition: Competition, name: str, *, captain: User, actor: Actor) -> Team:
    """Found a team; its founder is the captain."""
    rules = competition.config
    if rules.registration == "closed":
        raise NotAllowed("Registration for {title} is closed.", title=competition.title)
    _refuse_habitual_founder(session, competition, captain)
    status = TeamStatus.PENDING if rules.registration == "approval" else TeamStatus.ACTIVE
    team = add_team(session, competition, name, kind=TeamKind.TEAM, status=status)
    _add_member(session, team, captain, MemberRole.CAPTAIN)
    audit.record(session, actor, "team.create", audit.make_subject(team), name=name, status=status)
    return team


def _refuse_habitual_founder(session: Session, competition: Competition, captain: User) -> None:
    recent = select(Team.id).where(Team.competition_id == competition.id, Team.created_at > session.now() - DAY)
    founded = select(func.count()).where(
        AuditEvent.team_id.in_(recent), AuditEvent.action == "team.create", AuditEvent.actor_id == captain.id
    )
    if (session.scalar(founded) or 0) >= FOUNDED_PER_DAY:
        raise QuotaExceeded(
            "You have created {most} teams in 24 hours; join one, or try again tomorrow.",
            most=FOUNDED_PER_DAY,
            retry_seconds=int(DAY.total_seconds()),
        )


def add_team(
    session: Session, competition: Competition, name: str, *, kind: TeamKind, status: TeamStatus = TeamStatus.ACTIVE
) -> Team:
    """A row for a team or a baseline, without members."""
    team = Team(
        competition_id=competition.id,
        name=normalize_name(name),
        name_key=make_name_key(name),
        kind=kind,
        status=status,
        created_at=session.now(),
    )
    title = competition.title
    taken = NameInUse(
        "There is already a team {name!r} in {title}, or one whose name looks like it; choose another name.",
        name=name,
        title=title,
    )
    session.insert(team, otherwise=taken)
    return team


def _add_member(session: Session, team: Team, user: User, role: MemberRole) -> TeamMember:
    member = TeamMember(
        team_id=team.id, user_id=user.id, competition_id=team.competition_id, role=role, joined_at=session.now()
    )
    other = Conflict("{name} is already in a team of this competition; leave that one first.", name=user.name)
    session.insert(member, otherwise=other)
    return member


def lock_team(session: Session, team_id: UUID) -> Team:
    """The team, held until the end of the transaction: quota and size are checked one at a time."""
    return session.get_one(Team, team_id, with_for_update={"key_share": True}, populate_existing=True)


def find_member_of_competition(session: Session, user_id: UUID, competition: Competition) -> TeamMember | None:
    """A user's membership in a competition."""
    query = select(TeamMember).where(TeamMember.user_id == user_id, TeamMember.competition_id == competition.id)
    return session.scalar(query.options(joinedload(TeamMember.team)))


def find_member_of_team(session: Session, user_id: UUID, team_id: UUID) -> TeamMember | None:
    return session.get(TeamMember, (team_id, user_id))


def set_profile(session: Session, team: Team, profile: dict[str, Any] | None, *, actor: Actor) -> None:
    """What the team tells everybody of itself; None is nothing."""
    team.profile = profile
    audit.record(session, actor, "team.profile", audit.make_subject(team), profile=profile)


def list_members(session: Session, team: Team) -> Sequence[TeamMember]:
    """Captains first."""
    query = (
        select(TeamMember)
        .where(TeamMember.team_id == team.id)
        .order_by(TeamMember.role, TeamMember.joined_at, TeamMember.user_id)
    )
    return session.scalars(query.options(joinedload(TeamMember.user))).all()


def list_teams(session: Session, competition: Competition, *, kind: TeamKind = TeamKind.TEAM) -> Sequence[Team]:
    query = select(Team).where(Team.competition_id == competition.id, Team.kind == kind)
    return session.scalars(query.order_by(Team.created_at, Team.id)).all()


class InvitationWithSecret(NamedTuple):
    """A new invitation, and the only time its secret is seen."""

    invitation: Invitation
    secret: str


def invite(session: Session, team: Team, *, actor: Actor, email: str | None = None) -> InvitationWithSecret:
    """A secret that lets one user into the team."""
    secret = f"nvi_{secrets.token_urlsafe(32)}"
    now = session.now()
    invitation = Invitation(
        team_id=team.id,
        digest=hash_secret(secret),
        email=email,
        invited_by=actor.user_id,
        created_at=now,
        expires_at=now + INVITATION_LIFETIME,
    )
    session.add(invitation)
    session.flush()
    audit.record(session, actor, "team.invite", audit.make_subject(team), invitation=str(invitation.id), email=email)
    return InvitationWithSecret(invitation, secret)


def list_invitations(session: Session, team: Team) -> Sequence[Invitation]:
    """Those that can still be accepted."""
    query = select(Invitation).where(
        Invitation.team_id == team.id,
        Invitation.accepted_at.is_(None),
        Invitation.revoked_at.is_(None),
        Invitation.expires_at > session.now(),
    )
    return session.scalars(query.order_by(Invitation.created_at)).all()


def revoke_invitation(session: Session, team: Team, invitation_id: UUID, *, actor: Actor) -> None:
    invitation = session.get(Invitation, invitation_id)
    if invitation is None or invitation.team_id != team.id:
        raise NotFound("There is no such invitation.")
    invitation.revoked_at = session.now()
    audit.record(session, actor, "team.uninvite", audit.make_subject(team), invitation=str(invitation_id))


def accept_invitation(session: Session, secret: str, *, user: User, actor: Actor) -> Team:
    """Join the team that the invitation is for."""
    invitation = session.scalar(
        select(Invitation).where(Invitation.digest == hash_secret(secret)).with_for_update(key_share=True)
    )
    now = session.now()
    if invitation is None or invitation.accepted_at or invitation.revoked_at or invitation.expires_at <= now:
        raise BadInvitation
    team = lock_team(session, invitation.team_id)
    _refuse_full(session, team)
    _add_member(session, team, user, MemberRole.MEMBER)
    invitation.accepted_at, invitation.accepted_by = now, user.id
    audit.record(session, actor, "team.join", audit.make_subject(team), user=user.name)
    return team


def _refuse_full(session: Session, team: Team) -> None:
    most = team.competition.config.max_team_size
    size = session.scalar(select(func.count()).select_from(TeamMember).where(TeamMember.team_id == team.id)) or 0
    if size >= most:
        raise Conflict("The team {name!r} is full: it may have {most} members.", name=team.name, most=most)


def remove_member(session: Session, team: Team, user: User, *, actor: Actor) -> None:
    """A member leaves, or is sent away; a team keeps a captain as long as it has members."""
    lock_team(session, team.id)
    member = find_member_of_team(session, user.id, team.id)
    if member is None:
        raise NotFound("{name} is not in the team {team!r}.", name=user.name, team=team.name)
    others = [other for other in list_members(session, team) if other.user_id != user.id]
    if others and not any(other.role is MemberRole.CAPTAIN for other in others):
        raise Conflict("The last captain cannot leave; make another member captain first.")
    session.delete(member)
    session.flush()
    audit.record(session, actor, "team.leave", audit.make_subject(team), user=user.name)


def set_member_role(session: Session, team: Team, user: User, role: MemberRole, *, actor: Actor) -> None:
    """Make a member captain, or a captain a member."""
    lock_team(session, team.id)
    member = find_member_of_team(session, user.id, team.id)
    if member is None:
        raise NotFound("{name} is not in the team {team!r}.", name=user.name, team=team.name)
    captains = [other for other in list_members(session, team) if other.role is MemberRole.CAPTAIN]
    if role is not MemberRole.CAPTAIN and captains == [member]:
        raise Conflict("A team needs a captain; make another member captain first.")
    member.role = role
    audit.record(session, actor, "team.role", audit.make_subject(team), user=user.name, role=role)


def rename_team(session: Session, team: Team, name: str, *, actor: Actor, by_organiser: bool = False) -> None:
    """Another name, on all boards; the same one changes nothing."""
    lock_team(session, team.id)
    before = team.name
    if normalize_name(name) == before:
        return
    if not by_organiser:
        _refuse_habitual_renaming(session, team)
    team.name, team.name_key = normalize_name(name), make_name_key(name)
    try:
        session.flush()
    except IntegrityError as error:
        raise NameInUse(
            "There is already a team {name!r}, or one whose name looks like it; choose another name.", name=name
        ) from error
    on_boards = select(BoardEntry.phase_id).where(BoardEntry.team_id == team.id)
    mark_board_changed(session, Phase.id.in_(on_boards))
    audit.record(session, actor, "team.rename", audit.make_subject(team), before=before, after=team.name)


def _refuse_habitual_renaming(session: Session, team: Team) -> None:
    renamed = select(func.count()).where(
        AuditEvent.team_id == team.id, AuditEvent.action == "team.rename", AuditEvent.at > session.now() - DAY
    )
    if (session.scalar(renamed) or 0) >= RENAMED_PER_DAY:
        raise QuotaExceeded(
            "The team has changed its name {most} times in 24 hours; try again tomorrow, or ask the organiser.",
            most=RENAMED_PER_DAY,
            retry_seconds=int(DAY.total_seconds()),
        )


def approve_team(session: Session, team: Team, *, actor: Actor) -> None:
    """Let a team in that waited for the organiser's nod."""
    if team.status is TeamStatus.PENDING:
        team.status = TeamStatus.ACTIVE
        audit.record(session, actor, "team.approve", audit.make_subject(team))
