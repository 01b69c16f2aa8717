"""What there is to take part in: the list of competitions, and a page for each."""

from collections.abc import Mapping

from fastapi import APIRouter
from sqlalchemy import select
from starlette.responses import Response

from nav_eval_gateway import access
from nav_eval_gateway.pages.visiting import Visiting
from nav_eval_gateway.schemas.competitions import CompetitionAnswer
from nav_eval_store import competitions, quota, submissions, teams
from nav_eval_store.database import Session
from nav_eval_store.models import Entry, Phase, Team, TeamKind, Visibility
from nav_eval_store.viewing import Audience, may_see

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
        audience = Audience.ORGANISER if access.is_organiser(session, visit.caller, competition) else Audience.PUBLIC
        member = teams.team_of(session, user.id, competition) if user is not None else None
        team = member.team if member is not None else None
        return visit.page(
            "competition.html.j2",
            competition=CompetitionAnswer.of(competition, session.now()),
            team=team,
            allowances={phase.name: quota.allowance(session, phase, team) for phase in competition.phases if team},
            recent=submissions.listing(session, team=team, limit=5).items if team else [],
            reached={phase.name: _reached(session, phase, audience) for phase in competition.phases},
            is_organiser=audience is Audience.ORGANISER,
            server=visit.services.settings.base_url or str(visit.request.base_url).rstrip("/"),
        )


def _reached(session: Session, phase: Phase, audience: Audience) -> Mapping[str, Entry]:
    """The result of each baseline that has one, by its name, where the board may be seen: what there is to beat."""
    if not may_see(phase, "scores", audience):
        return {}
    query = (
        select(Team.name, Entry)
        .join(Entry, Entry.team_id == Team.id)
        .where(
            Entry.phase_id == phase.id,
            Entry.visibility == Visibility.SHOWN,
            Entry.score.is_not(None),
            Team.kind != TeamKind.TEAM,
        )
        .order_by(Entry.completed_at)  # the newest one stays
    )
    return {name: entry for name, entry in session.execute(query)}  # noqa: C416  (rows are no pairs to mypy)
