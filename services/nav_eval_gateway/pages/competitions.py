"""What there is to take part in: the list of competitions, and a page for each."""

from collections.abc import Mapping

from fastapi import APIRouter
from sqlalchemy import select
from starlette.responses import Response

from nav_eval_gateway import permissions
from nav_eval_gateway.pages.context import Visiting
from nav_eval_gateway.schemas.competitions import CompetitionAnswer
from nav_eval_store.competitions import configuration
from nav_eval_store.competitions.visibility import Audience, may_see
from nav_eval_store.database import Session
from nav_eval_store.models import BoardEntry, EntryVisibility, Phase, Team, TeamKind
from nav_eval_store.people import teams
from nav_eval_store.submissions import queries, quota

router = APIRouter(include_in_schema=False)


@router.get("/")
def show_home(visit: Visiting) -> Response:
    """All competitions."""
    with visit.store.read() as session:
        now = session.now()
        listed = [CompetitionAnswer.of(competition, now) for competition in configuration.list_competitions(session)]
        return visit.page("home.html.j2", competitions=listed)


@router.get("/competitions/{name}")
def show_competition(name: str, visit: Visiting) -> Response:
    """What it is, its phases and rules, how to submit, and the reader's own team in it."""
    with visit.store.read() as session:
        competition = configuration.get_competition(session, name)
        user = visit.caller.user
        audience = (
            Audience.ORGANISER if permissions.is_organiser(session, visit.caller, competition) else Audience.PUBLIC
        )
        member = teams.find_member_of_competition(session, user.id, competition) if user is not None else None
        team = member.team if member is not None else None
        return visit.page(
            "competition.html.j2",
            competition=CompetitionAnswer.of(competition, session.now()),
            team=team,
            allowances={
                phase.name: quota.compute_allowance(session, phase, team) for phase in competition.phases if team
            },
            recent=queries.list_submissions(session, team=team, limit=5).items if team else [],
            reached={phase.name: _find_baseline_results(session, phase, audience) for phase in competition.phases},
            is_organiser=audience is Audience.ORGANISER,
            server=visit.services.settings.base_url or str(visit.request.base_url).rstrip("/"),
        )


def _find_baseline_results(session: Session, phase: Phase, audience: Audience) -> Mapping[str, BoardEntry]:
    """The result of each baseline that has one, by its name, where the board may be seen: what there is to beat."""
    if not may_see(phase, "scores", audience):
        return {}
    query = (
        select(Team.name, BoardEntry)
        .join(BoardEntry, BoardEntry.team_id == Team.id)
        .where(
            BoardEntry.phase_id == phase.id,
            BoardEntry.visibility == EntryVisibility.SHOWN,
            BoardEntry.score.is_not(None),
            Team.kind != TeamKind.TEAM,
        )
        .order_by(BoardEntry.completed_at)  # the newest one stays
    )
    return {name: entry for name, entry in session.execute(query)}  # noqa: C416  (rows are no pairs to mypy)
