"""Teams: founding, inviting, joining, leaving, and what is left of the quota."""

from uuid import UUID

from fastapi import APIRouter, Response

from nav_eval_gateway import access
from nav_eval_gateway.access import SignedIn
from nav_eval_gateway.dependencies import Organiser, Reader, Store, TeamManager
from nav_eval_gateway.problems import problems
from nav_eval_gateway.schemas.people import (
    Acceptance,
    InvitationAnswer,
    IssuedInvitation,
    NewInvitation,
    NewRole,
    QuotaAnswer,
    TeamAnswer,
    TeamName,
)
from nav_eval_store import competitions, quota, teams
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, NotFound
from nav_eval_store.models import Member, Team, User

router = APIRouter(tags=["teams"])
MOST_INVITATIONS = 50


@router.post("/competitions/{competition}/teams", status_code=201, responses=problems(401, 403, 404, 409))
def create_team(competition: str, wanted: TeamName, caller: TeamManager, store: Store) -> TeamAnswer:
    """Found a team; you are its captain."""

    def create(session: Session) -> TeamAnswer:
        entered = competitions.competition_named(session, competition)
        captain = session.get_one(User, caller.user.id)
        return _shown(session, teams.create_team(session, entered, wanted.name, captain=captain, actor=caller.actor))

    return store.run(create)


@router.get("/competitions/{competition}/teams", responses=problems(401, 403, 404))
def list_teams(competition: str, caller: Organiser, store: Store) -> list[TeamAnswer]:
    """All teams of a competition, for its organisers."""
    with store.read() as session:
        organised = access.organised_competition(session, caller, competition)
        return [_shown(session, team) for team in teams.teams(session, organised)]


def _shown(session: Session, team: Team) -> TeamAnswer:
    return TeamAnswer.of(team, teams.members(session, team))


@router.get("/teams/{team_id}", responses=problems(401, 403, 404))
def show_team(team_id: UUID, caller: Reader, store: Store) -> TeamAnswer:
    """Your team, with its members."""
    with store.read() as session:
        return _shown(session, access.team(session, caller, team_id).team)


@router.patch("/teams/{team_id}", responses=problems(401, 403, 404, 409))
def rename_team(team_id: UUID, wanted: TeamName, caller: TeamManager, store: Store) -> TeamAnswer:
    """Another name, on all boards; for captains."""

    def rename(session: Session) -> TeamAnswer:
        team = access.captained_team(session, caller, team_id)
        teams.rename_team(session, team, wanted.name, actor=caller.actor)
        return _shown(session, team)

    return store.run(rename)


@router.get("/teams/{team_id}/quota", responses=problems(401, 403, 404))
def show_quota(team_id: UUID, caller: Reader, store: Store) -> list[QuotaAnswer]:
    """What the team may still submit, phase by phase."""
    with store.read() as session:
        team = access.team(session, caller, team_id).team
        phases = [phase for phase in team.competition.phases if phase.archived_at is None]
        return [QuotaAnswer.of(phase.name, quota.allowance(session, phase, team)) for phase in phases]


@router.put("/teams/{team_id}/members/{user}", responses=problems(401, 403, 404, 409))
def set_role(team_id: UUID, user: str, wanted: NewRole, caller: TeamManager, store: Store) -> TeamAnswer:
    """Make a member captain, or a captain a member; for captains. A team may have several captains."""

    def change(session: Session) -> TeamAnswer:
        team = access.captained_team(session, caller, team_id)
        member = _member(session, team, user)
        teams.set_member_role(session, team, member.user, wanted.role, actor=caller.actor)
        return _shown(session, team)

    return store.run(change)


@router.delete("/teams/{team_id}/members/{user}", status_code=204, responses=problems(401, 403, 404, 409))
def remove_member(team_id: UUID, user: str, caller: TeamManager, store: Store) -> Response:
    """Leave the team; captains may also send others away."""
    store.run(lambda session: _remove(session, caller, team_id, user))
    return Response(status_code=204)


def _remove(session: Session, caller: SignedIn, team_id: UUID, user: str) -> None:
    if user == caller.user.name:
        team = access.team(session, caller, team_id).team
    else:
        team = access.captained_team(session, caller, team_id)
    teams.remove_member(session, team, _member(session, team, user).user, actor=caller.actor)


def _member(session: Session, team: Team, name: str) -> Member:
    found = next((member for member in teams.members(session, team) if member.user.name == name), None)
    if found is None:
        raise NotFound("{name} is not in the team {team!r}.", name=name[:50], team=team.name)
    return found


@router.get("/teams/{team_id}/invitations", responses=problems(401, 403, 404))
def list_invitations(team_id: UUID, caller: Reader, store: Store) -> list[InvitationAnswer]:
    """Invitations that can still be accepted; for captains."""
    with store.read() as session:
        team = access.captained_team(session, caller, team_id)
        return [InvitationAnswer.of(invitation) for invitation in teams.invitations(session, team)]


@router.post("/teams/{team_id}/invitations", status_code=201, responses=problems(401, 403, 404, 409))
def create_invitation(team_id: UUID, wanted: NewInvitation, caller: TeamManager, store: Store) -> IssuedInvitation:
    """A secret that lets one user into the team; for captains."""

    def invite(session: Session) -> IssuedInvitation:
        team = access.captained_team(session, caller, team_id)
        if len(teams.invitations(session, team)) >= MOST_INVITATIONS:
            raise Conflict("There are {most} open invitations; revoke one first.", most=MOST_INVITATIONS)
        return IssuedInvitation.issued(*teams.invite(session, team, actor=caller.actor, email=wanted.email))

    return store.run(invite)


@router.delete("/teams/{team_id}/invitations/{invitation_id}", status_code=204, responses=problems(401, 403, 404))
def revoke_invitation(team_id: UUID, invitation_id: UUID, caller: TeamManager, store: Store) -> Response:
    """An invitation can be accepted no longer; for captains."""

    def revoke(session: Session) -> None:
        team = access.captained_team(session, caller, team_id)
        teams.revoke_invitation(session, team, invitation_id, actor=caller.actor)

    store.run(revoke)
    return Response(status_code=204)


@router.post("/invitations/accept", responses=problems(401, 403, 404, 409))
def accept_invitation(acceptance: Acceptance, caller: TeamManager, store: Store) -> TeamAnswer:
    """Join the team that the invitation is for."""

    def accept(session: Session) -> TeamAnswer:
        user = session.get_one(User, caller.user.id)
        return _shown(session, teams.accept(session, acceptance.secret, user=user, actor=caller.actor))

    return store.run(accept)
