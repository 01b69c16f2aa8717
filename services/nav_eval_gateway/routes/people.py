"""Users, their tokens, and teams: registering, logging in; founding, inviting, joining, leaving, quota left."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Organiser, Parts, Reader, Store, TeamManager
from nav_eval_gateway.errors import ScopeMissing, describe_problems
from nav_eval_gateway.permissions import SignedIn
from nav_eval_gateway.rate_limit import get_address
from nav_eval_gateway.schemas.people import (
    Acceptance,
    InvitationAnswer,
    IssuedInvitation,
    IssuedToken,
    Login,
    Me,
    Membership,
    NewInvitation,
    NewRole,
    NewToken,
    PasswordChange,
    ProfileAnswer,
    QuotaAnswer,
    Registration,
    TeamAnswer,
    TeamName,
    TeamProfile,
    TokenAnswer,
    UserAnswer,
)
from nav_eval_store.audit import Actor, make_user_actor
from nav_eval_store.competitions import configuration
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, NotAllowed, NotFound
from nav_eval_store.models import Competition, Role, Team, TeamMember, User
from nav_eval_store.people import accounts, teams
from nav_eval_store.submissions import quota

router = APIRouter(tags=["users"])
token_router = APIRouter(tags=["tokens"])
MOST_TOKENS = 100


@router.post("/users", status_code=201, responses=describe_problems(403, 409))
def register(registration: Registration, store: Store, parts: Parts) -> UserAnswer:
    """Become a user of this installation, while a competition takes registrations."""
    with store.read() as session:
        _refuse_closed(session)
    with parts.passwords:
        kept = accounts.hash_password(registration.password)

    def create(session: Session) -> UserAnswer:
        actor = Actor(f"user:{registration.name}")
        user = accounts.create_user(session, registration.name, actor=actor, email=registration.email)
        user.password = kept
        return UserAnswer.from_row(user)

    return store.run(create)


def _refuse_closed(session: Session) -> None:
    if all(competition.config.registration == "closed" for competition in configuration.list_competitions(session)):
        raise NotAllowed("No competition is open for registration; ask the organiser for an account.")


@router.post("/login", status_code=201, responses=describe_problems(401))
def log_in(request: Request, login: Login, store: Store, parts: Parts) -> IssuedToken:
    """A token for a name and a password."""
    failures = parts.limits.passwords.guard(login.name, get_address(request.scope))
    with failures, parts.passwords, store.read() as session:
        user_id = accounts.authenticate(session, login.name, login.password).id

    def issue(session: Session) -> IssuedToken:
        user = session.get_one(User, user_id)
        lifetime = parts.settings.login_lifetime
        issued = accounts.issue_token(
            session, user, login.token_name, actor=make_user_actor(user), scopes=login.scopes, lifetime=lifetime
        )
        return IssuedToken.from_row(issued.token, token=issued.secret)

    return store.run(issue)


@router.get("/me", responses=describe_problems(401, 403))
def show_me(caller: Reader, store: Store) -> Me:
    """Who the token belongs to, and in which teams they are."""
    with store.read() as session:
        memberships = _list_memberships(session, caller.user)
        return Me(
            name=caller.user.name,
            email=caller.user.email,
            email_verified=caller.user.email_verified,
            created_at=caller.user.created_at,
            team=memberships[0].team if memberships else None,
            teams=memberships,
            organises=_list_organised(session, caller),
            scopes=sorted(caller.scopes),
        )


def _list_memberships(session: Session, user: User) -> list[Membership]:
    """The one joined last first."""
    query = select(TeamMember).where(TeamMember.user_id == user.id).order_by(TeamMember.joined_at.desc())
    rows = session.scalars(query.options(joinedload(TeamMember.team).joinedload(Team.competition)))
    return [
        Membership(competition=row.team.competition.name, team=row.team.name, team_id=row.team_id, role=row.role)
        for row in rows
    ]


def _list_organised(session: Session, caller: SignedIn) -> list[str]:
    query = (
        select(Competition.name)
        .select_from(Role)
        .outerjoin(Competition, Competition.id == Role.competition_id)
        .where(Role.user_id == caller.user.id)
    )
    return sorted(name or "*" for name in session.scalars(query))


@router.put("/me/password", status_code=204, responses=describe_problems(401, 403))
def change_password(
    request: Request, change: PasswordChange, caller: TeamManager, store: Store, parts: Parts
) -> Response:
    """Another password; browsers that are logged in are logged out, and tokens that were made before end."""
    with parts.limits.passwords.guard(caller.user.name, get_address(request.scope)), parts.passwords:
        with store.read() as session:
            accounts.authenticate(session, caller.user.name, change.old)
        kept = accounts.hash_password(change.new)
    store.run(lambda session: _keep_password(session, caller, kept))
    return Response(status_code=204)


def _keep_password(session: Session, caller: SignedIn, kept: str) -> None:
    user = session.get_one(User, caller.user.id)
    accounts.keep_password(session, user, kept, actor=caller.actor, spare=caller.token_id)


@token_router.get("/tokens", responses=describe_problems(401, 403))
def list_tokens(caller: Reader, store: Store) -> list[TokenAnswer]:
    """Your tokens that still work, newest first."""
    with store.read() as session:
        return [TokenAnswer.from_row(token) for token in accounts.list_tokens(session, caller.user)]


@token_router.post("/tokens", status_code=201, responses=describe_problems(401, 403, 409))
def create_token(wanted: NewToken, caller: TeamManager, store: Store) -> IssuedToken:
    """A new token; it can do at most what the token can that asks for it, and ends no later."""
    if beyond := set(wanted.scopes) - caller.scopes:
        raise ScopeMissing("Your own token does not have the scope {scope!r}.", scope=min(beyond).value)
    return store.run(lambda session: _create(session, caller, wanted))


def _create(session: Session, caller: SignedIn, wanted: NewToken) -> IssuedToken:
    if len(accounts.list_tokens(session, caller.user)) >= MOST_TOKENS:
        raise Conflict("You have {most} tokens; revoke one first.", most=MOST_TOKENS)
    lifetime = None if wanted.days is None else timedelta(days=wanted.days)
    issued = accounts.issue_token(
        session,
        caller.user,
        wanted.name,
        actor=caller.actor,
        scopes=wanted.scopes,
        lifetime=lifetime,
        issued_with=caller.token_id,
    )
    return IssuedToken.from_row(issued.token, token=issued.secret)


@token_router.delete("/tokens/current", status_code=204, responses=describe_problems(401, 403))
def log_out(caller: Reader, store: Store) -> Response:
    """Revoke the token of this very request."""
    store.run(lambda session: accounts.revoke_token(session, caller.user, caller.token_id, actor=caller.actor))
    return Response(status_code=204)


@token_router.delete("/tokens/{token_id}", status_code=204, responses=describe_problems(401, 403, 404))
def revoke_token(token_id: UUID, caller: TeamManager, store: Store) -> Response:
    """A token works no longer."""
    store.run(lambda session: accounts.revoke_token(session, caller.user, token_id, actor=caller.actor))
    return Response(status_code=204)


team_router = APIRouter(tags=["teams"], responses=describe_problems(401, 403, 404))
MOST_INVITATIONS = 50


@team_router.post("/competitions/{competition}/teams", status_code=201, responses=describe_problems(409))
def create_team(competition: str, wanted: TeamName, caller: TeamManager, store: Store) -> TeamAnswer:
    """Found a team; you are its captain."""

    def create(session: Session) -> TeamAnswer:
        entered = configuration.get_competition(session, competition)
        captain = session.get_one(User, caller.user.id)
        return _describe_team(
            session, teams.create_team(session, entered, wanted.name, captain=captain, actor=caller.actor)
        )

    return store.run(create)


@team_router.get("/competitions/{competition}/teams")
def list_teams(competition: str, caller: Organiser, store: Store) -> list[TeamAnswer]:
    """All teams of a competition, for its organisers."""
    with store.read() as session:
        organised = permissions.get_organised_competition(session, caller, competition)
        return [_describe_team(session, team) for team in teams.list_teams(session, organised)]


def _describe_team(session: Session, team: Team) -> TeamAnswer:
    return TeamAnswer.of(team, teams.list_members(session, team))


@team_router.get("/teams/{team_id}")
def show_team(team_id: UUID, caller: Reader, store: Store) -> TeamAnswer:
    """Your team, with its members."""
    with store.read() as session:
        return _describe_team(session, permissions.get_team(session, caller, team_id).team)


@team_router.patch("/teams/{team_id}", responses=describe_problems(409))
def rename_team(team_id: UUID, wanted: TeamName, caller: TeamManager, store: Store) -> TeamAnswer:
    """Another name, on all boards; for captains."""

    def rename(session: Session) -> TeamAnswer:
        team = permissions.get_captained_team(session, caller, team_id)
        by_organiser = permissions.is_organiser(session, caller, team.competition)
        teams.rename_team(session, team, wanted.name, actor=caller.actor, by_organiser=by_organiser)
        return _describe_team(session, team)

    return store.run(rename)


@team_router.get("/teams/{team_id}/profile", responses=describe_problems(404))
def show_profile(team_id: UUID, store: Store) -> ProfileAnswer:
    """What a team tells everybody of itself, if it wants to."""
    with store.read() as session:
        return ProfileAnswer.of(permissions.get_shown_team(session, team_id))


@team_router.put("/teams/{team_id}/profile")
def set_profile(team_id: UUID, wanted: TeamProfile, caller: TeamManager, store: Store) -> ProfileAnswer:
    """Tell everybody, or (with nothing) nobody any more; for captains."""

    def change(session: Session) -> ProfileAnswer:
        team = permissions.get_captained_team(session, caller, team_id)
        teams.set_profile(session, team, None if wanted.is_empty else wanted.model_dump(), actor=caller.actor)
        return ProfileAnswer.of(team)

    return store.run(change)


@team_router.get("/teams/{team_id}/quota")
def show_quota(team_id: UUID, caller: Reader, store: Store) -> list[QuotaAnswer]:
    """What the team may still submit, phase by phase."""
    with store.read() as session:
        team = permissions.get_team(session, caller, team_id).team
        phases = [phase for phase in team.competition.phases if phase.archived_at is None]
        left = [(phase.name, quota.compute_allowance(session, phase, team)) for phase in phases]
        return [QuotaAnswer.from_row(allowance, phase=name) for name, allowance in left]


@team_router.put("/teams/{team_id}/members/{user}", responses=describe_problems(409))
def set_role(team_id: UUID, user: str, wanted: NewRole, caller: TeamManager, store: Store) -> TeamAnswer:
    """Make a member captain, or a captain a member; for captains. A team may have several captains."""

    def change(session: Session) -> TeamAnswer:
        team = permissions.get_captained_team(session, caller, team_id)
        member = _find_member(session, team, user)
        teams.set_member_role(session, team, member.user, wanted.role, actor=caller.actor)
        return _describe_team(session, team)

    return store.run(change)


@team_router.delete("/teams/{team_id}/members/{user}", status_code=204, responses=describe_problems(409))
def remove_member(team_id: UUID, user: str, caller: TeamManager, store: Store) -> Response:
    """Leave the team; captains may also send others away."""
    store.run(lambda session: _remove(session, caller, team_id, user))
    return Response(status_code=204)


def _remove(session: Session, caller: SignedIn, team_id: UUID, user: str) -> None:
    if user == caller.user.name:
        team = permissions.get_team(session, caller, team_id).team
    else:
        team = permissions.get_captained_team(session, caller, team_id)
    teams.remove_member(session, team, _find_member(session, team, user).user, actor=caller.actor)


def _find_member(session: Session, team: Team, name: str) -> TeamMember:
    found = next((member for member in teams.list_members(session, team) if member.user.name == name), None)
    if found is None:
        raise NotFound("{name} is not in the team {team!r}.", name=name[:50], team=team.name)
    return found


@team_router.get("/teams/{team_id}/invitations")
def list_invitations(team_id: UUID, caller: Reader, store: Store) -> list[InvitationAnswer]:
    """Invitations that can still be accepted; for captains."""
    with store.read() as session:
        team = permissions.get_captained_team(session, caller, team_id)
        return [InvitationAnswer.from_row(invitation) for invitation in teams.list_invitations(session, team)]


@team_router.post("/teams/{team_id}/invitations", status_code=201, responses=describe_problems(409))
def create_invitation(team_id: UUID, wanted: NewInvitation, caller: TeamManager, store: Store) -> IssuedInvitation:
    """A secret that lets one user into the team; for captains."""

    def invite(session: Session) -> IssuedInvitation:
        team = permissions.get_captained_team(session, caller, team_id)
        if len(teams.list_invitations(session, team)) >= MOST_INVITATIONS:
            raise Conflict("There are {most} open invitations; revoke one first.", most=MOST_INVITATIONS)
        issued = teams.invite(session, team, actor=caller.actor, email=wanted.email)
        return IssuedInvitation.from_row(issued.invitation, secret=issued.secret)

    return store.run(invite)


@team_router.delete("/teams/{team_id}/invitations/{invitation_id}", status_code=204)
def revoke_invitation(team_id: UUID, invitation_id: UUID, caller: TeamManager, store: Store) -> Response:
    """An invitation can be accepted no longer; for captains."""

    def revoke(session: Session) -> None:
        team = permissions.get_captained_team(session, caller, team_id)
        teams.revoke_invitation(session, team, invitation_id, actor=caller.actor)

    store.run(revoke)
    return Response(status_code=204)


@team_router.post("/invitations/accept", responses=describe_problems(409))
def accept_invitation(acceptance: Acceptance, caller: TeamManager, store: Store) -> TeamAnswer:
    """Join the team that the invitation is for."""

    def accept(session: Session) -> TeamAnswer:
        user = session.get_one(User, caller.user.id)
        return _describe_team(
            session, teams.accept_invitation(session, acceptance.secret, user=user, actor=caller.actor)
        )

    return store.run(accept)
