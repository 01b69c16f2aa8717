"""What there is to take part in: the list of competitions, and a page for each."""

from collections.abc import Mapping
from functools import cache

from fastapi import APIRouter
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nav_eval.config import load_benchmark
from nav_eval.errors import ConfigError
from nav_eval.records.results import Cause
from nav_eval_gateway import permissions
from nav_eval_gateway.pages.context import Visit, Visiting
from nav_eval_gateway.pages.showcase import find_public_board, find_showcase
from nav_eval_gateway.schemas.competitions import CompetitionAnswer, PhaseState, get_phase_state
from nav_eval_store.boards.leaderboard import Board
from nav_eval_store.competitions import configuration
from nav_eval_store.competitions.visibility import Audience, may_see
from nav_eval_store.database import Session
from nav_eval_store.models import BoardEntry, EntryVisibility, Phase, Team, TeamKind
from nav_eval_store.people import teams
from nav_eval_store.submissions import queries, quota
from nav_eval_store.submissions.lifecycle import SubmissionState

router = APIRouter(include_in_schema=False)
TOP = 5
"""Entries on the page of a competition."""


@cache
def find_task(benchmark: str) -> str | None:
    """What agents do in a benchmark: `vln`, `objectnav`, …; None where it is not installed here."""
    try:
        return load_benchmark(benchmark, environ={}).task.type
    except ConfigError:
        return None


@router.get("/")
def show_home(visit: Visiting) -> Response:
    """All competitions."""
    with visit.store.read() as session:
        now = session.now()
        listed = [CompetitionAnswer.of(competition, now) for competition in configuration.list_competitions(session)]
        return visit.page("home.html.j2", competitions=listed)


@router.get("/competitions/{name}")
async def show_competition(name: str, visit: Visiting) -> Response:
    """What it is, its phases and rules, how to submit, and the reader's own team in it."""
    phase = await run_in_threadpool(find_current_phase, visit, name)
    _, board = await find_public_board(visit, name, phase)
    return await run_in_threadpool(_render_competition, visit, name, board)


def find_current_phase(visit: Visit, name: str) -> str:
    """The phase that the page is about: the first open one, or the first."""
    with visit.store.read() as session:
        phases = configuration.get_competition(session, name).phases
        now = session.now()
        opened = [phase for phase in phases if get_phase_state(phase, now) is PhaseState.OPEN]
        return (opened or phases)[0].name


def _render_competition(visit: Visit, name: str, board: Board) -> Response:
    with visit.store.read() as session:
        competition = configuration.get_competition(session, name)
        user = visit.caller.user
        audience = (
            Audience.ORGANISER if permissions.is_organiser(session, visit.caller, competition) else Audience.PUBLIC
        )
        member = teams.find_member_of_competition(session, user.id, competition) if user is not None else None
        team = member.team if member is not None else None
        answer = CompetitionAnswer.of(competition, session.now())
        return visit.page(
            "competition.html.j2",
            competition=answer,
            top=[row for row in board.rows if row.rank is not None][:TOP],
            showcase=find_showcase(visit, board),
            tasks={phase.benchmark: find_task(phase.benchmark) for phase in answer.phases},
            team=team,
            allowances={
                phase.name: quota.compute_allowance(session, phase, team) for phase in competition.phases if team
            },
            recent=queries.list_submissions(session, team=team, limit=5).items if team else [],
            reached={phase.name: _find_baseline_results(session, phase, audience) for phase in competition.phases},
            is_organiser=audience is Audience.ORGANISER,
            server=visit.services.settings.base_url or str(visit.request.base_url).rstrip("/"),
        )


@router.get("/help")
def show_help(visit: Visiting) -> Response:
    """How to take part, what states mean, and what to do when something fails."""
    return visit.page("help.html.j2", states=list(SubmissionState), causes=list(Cause))


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
