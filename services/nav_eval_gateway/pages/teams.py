"""A team's own page: members, invitations, quota, submissions; and the way into a team."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from nav_eval_gateway import access
from nav_eval_gateway.pages.visiting import Form, Visit, Visiting, checked
from nav_eval_gateway.routes import teams as teams_api
from nav_eval_gateway.schemas.people import Acceptance, NewInvitation, NewRole, TeamName
from nav_eval_store import competitions, quota, submissions, teams
from nav_eval_store.models import MemberRole, Team
from nav_eval_store.tokens import Scope

router = APIRouter(include_in_schema=False)


@router.get("/competitions/{name}/team")
def show_own_team(name: str, visit: Visiting) -> Response:
    """The reader's team, or the ways to get one."""
    user = visit.signed_in().user
    with visit.services.database.read() as session:
        competition = competitions.competition_named(session, name)
        member = teams.team_of(session, user.id, competition)
        if member is None:
            return visit.page("no_team.html.j2", competition=competition)
        team_id = member.team_id
    return _team_page(visit, team_id)


@router.get("/teams/{team_id}")
def show_team(team_id: UUID, visit: Visiting, after: str | None = None) -> Response:
    """A team, for its members and for organisers."""
    return _team_page(visit, team_id, after=after)


def _team_page(visit: Visit, team_id: UUID, *, secret: str | None = None, after: str | None = None) -> Response:
    caller = visit.signed_in()
    with visit.services.database.read() as session:
        team, member, organises = access.team(session, caller, team_id)
        is_captain = organises or (member is not None and member.role is MemberRole.CAPTAIN)
        phases = [phase for phase in team.competition.phases if phase.archived_at is None]
        return visit.page(
            "team.html.j2",
            team=team,
            competition=team.competition,
            members=teams.members(session, team),
            me=caller.user.name,
            is_member=member is not None,
            is_captain=is_captain,
            is_organiser=organises,
            invitations=teams.invitations(session, team) if is_captain else [],
            secret=secret,
            join_url=f"{visit.services.settings.base_url or str(visit.request.base_url).rstrip('/')}/join",
            quotas=[(phase, quota.allowance(session, phase, team)) for phase in phases],
            submissions=submissions.listing(session, team=team, limit=50, after=after),
        )


@router.post("/competitions/{name}/team")
def create_team(name: str, visit: Visiting, form: Form) -> Response:
    caller = visit.signed_in(Scope.TEAM)
    wanted = checked(TeamName, visit.t, name=form.line("name"))
    team = teams_api.create_team(name, wanted, caller, visit.services.database)
    return visit.go(f"/competitions/{name}/team", visit.t("team.founded", name=team.name))


@router.get("/join")
def show_join(visit: Visiting) -> Response:
    """Where an invitation is accepted. The secret is typed in, so that it stands in no log of addresses."""
    visit.signed_in()
    return visit.page("join.html.j2")


@router.post("/join")
def join_team(visit: Visiting, form: Form) -> Response:
    caller = visit.signed_in(Scope.TEAM)
    wanted = checked(Acceptance, visit.t, secret=form.text("secret").strip())
    team = teams_api.accept_invitation(wanted, caller, visit.services.database)
    return visit.go(f"/teams/{team.id}", visit.t("team.joined", name=team.name))


@router.post("/teams/{team_id}/name")
def rename_team(team_id: UUID, visit: Visiting, form: Form) -> Response:
    form.confirm()
    caller = visit.signed_in(Scope.TEAM)
    teams_api.rename_team(team_id, checked(TeamName, visit.t, name=form.line("name")), caller, visit.services.database)
    return visit.go(f"/teams/{team_id}", visit.t("team.renamed"))


@router.post("/teams/{team_id}/invitations")
def invite(team_id: UUID, visit: Visiting, form: Form) -> Response:
    """A new invitation; this page shows its secret once."""
    caller = visit.signed_in(Scope.TEAM)
    wanted = checked(NewInvitation, visit.t, email=form.line("email", required=False) or None)
    issued = teams_api.create_invitation(team_id, wanted, caller, visit.services.database)
    return _team_page(visit, team_id, secret=issued.secret)


@router.post("/teams/{team_id}/invitations/{invitation_id}/revoke")
def revoke_invitation(team_id: UUID, invitation_id: UUID, visit: Visiting, form: Form) -> Response:
    form.confirm()
    teams_api.revoke_invitation(team_id, invitation_id, visit.signed_in(Scope.TEAM), visit.services.database)
    return visit.go(f"/teams/{team_id}", visit.t("team.uninvited"))


@router.post("/teams/{team_id}/members/{user}/remove")
def remove_member(team_id: UUID, user: str, visit: Visiting, form: Form) -> Response:
    """Send a member away, or leave."""
    form.confirm()
    caller = visit.signed_in(Scope.TEAM)
    with visit.services.database.read() as session:
        back = f"/competitions/{session.get_one(Team, team_id).competition.name}/team"
    teams_api.remove_member(team_id, user, caller, visit.services.database)
    there = back if user == caller.user.name else f"/teams/{team_id}"
    return visit.go(there, visit.t("team.removed", name=user))


@router.post("/teams/{team_id}/members/{user}/role")
def set_role(team_id: UUID, user: str, visit: Visiting, form: Form) -> Response:
    form.confirm()
    caller = visit.signed_in(Scope.TEAM)
    wanted = checked(NewRole, visit.t, role=form.text("role"))
    teams_api.set_role(team_id, user, wanted, caller, visit.services.database)
    return visit.go(f"/teams/{team_id}", visit.t("team.role_changed", name=user))
