"""What there is to take part in: the list of competitions, and a page for each."""

from fastapi import APIRouter
from starlette.responses import Response

from nav_eval_gateway import access
from nav_eval_gateway.pages.visiting import Visiting
from nav_eval_gateway.schemas.competitions import CompetitionAnswer
from nav_eval_store import competitions, quota, submissions, teams

router = APIRouter(include_in_schema=False)


@router.get("/")
def show_home(visit: Visiting) -> Response:
    """All competitions."""
    with visit.services.database.read() as session:
        now = session.now()
        listed = [CompetitionAnswer.of(competition, now) for competition in competitions.listing(session)]
        return visit.page("home.html.j2", competitions=listed)


@router.get("/competitions/{name}")
def show_competition(name: str, visit: Visiting) -> Response:
    """What it is, its phases and rules, how to submit, and the reader's own team in it."""
    with visit.services.database.read() as session:
        competition = competitions.competition_named(session, name)
        user = visit.caller.user
        member = teams.team_of(session, user.id, competition) if user is not None else None
        team = member.team if member is not None else None
        return visit.page(
            "competition.html.j2",
            competition=CompetitionAnswer.of(competition, session.now()),
            team=team,
            allowances={phase.name: quota.allowance(session, phase, team) for phase in competition.phases if team},
            recent=submissions.listing(session, team=team, limit=5).items if team else [],
            is_organiser=access.is_organiser(session, visit.caller, competition),
            server=visit.services.settings.base_url or str(visit.request.base_url).rstrip("/"),
        )
