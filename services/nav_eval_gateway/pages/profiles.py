"""What a team tells everybody of itself, and where it stands on public boards."""

from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nav_eval_gateway import permissions
from nav_eval_gateway.pages.context import Form, Visit, Visiting, validate_fields
from nav_eval_gateway.pages.showcase import find_public_board
from nav_eval_gateway.routes import people as people_api
from nav_eval_gateway.schemas.people import ProfileAnswer, TeamProfile
from nav_eval_store.boards.leaderboard import Row
from nav_eval_store.competitions import configuration
from nav_eval_store.people.accounts import Scope

router = APIRouter(include_in_schema=False)


@router.get("/teams/{team_id}/profile")
async def show_profile(team_id: UUID, visit: Visiting) -> Response:
    """A team as everybody may see it; only of teams that want it."""
    profile, phases = await run_in_threadpool(_find_profile, visit, team_id)
    rows: list[tuple[str, str, Row]] = []
    for phase, title in phases:
        _, board = await find_public_board(visit, profile.competition, phase)
        rows += [(phase, title, row) for row in board.rows if row.team_id == team_id]
    return await run_in_threadpool(_render_profile, visit, profile, rows)


def _find_profile(visit: Visit, team_id: UUID) -> tuple[ProfileAnswer, list[tuple[str, str]]]:
    with visit.store.read() as session:
        team = permissions.get_shown_team(session, team_id)
        phases = [(phase.name, phase.config.title or phase.name) for phase in team.competition.phases]
        return ProfileAnswer.of(team), phases


def _render_profile(visit: Visit, profile: ProfileAnswer, rows: list[tuple[str, str, Row]]) -> Response:
    with visit.store.read() as session:
        competition = configuration.get_competition(session, profile.competition)
        return visit.page("profile.html.j2", profile=profile, competition=competition, rows=rows)


@router.post("/teams/{team_id}/profile")
def set_profile(team_id: UUID, visit: Visiting, form: Form) -> Response:
    caller = visit.require_user(Scope.TEAM)
    said = {name: form.line(name, required=False) for name in ("website", "paper", "code")}
    about = form.paragraph("about", required=False)
    wanted = validate_fields(TeamProfile, visit.t, about=about, **said)
    people_api.set_profile(team_id, wanted, caller, visit.store)
    return visit.go(f"/teams/{team_id}", visit.t("profile.saved"))
