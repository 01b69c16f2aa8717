"""Competitions and their phases: public, and nothing in them is private."""

from fastapi import APIRouter

from nav_eval_gateway import access
from nav_eval_gateway.dependencies import Store
from nav_eval_gateway.problems import problems
from nav_eval_gateway.schemas.competitions import CompetitionAnswer, CompetitionSummary, PhaseAnswer
from nav_eval_store import competitions

router = APIRouter(tags=["competitions"])


@router.get("/competitions")
def list_competitions(store: Store) -> list[CompetitionSummary]:
    """All competitions of this installation."""
    with store.read() as session:
        return [CompetitionSummary.of(competition) for competition in competitions.listing(session)]


@router.get("/competitions/{competition}", responses=problems(404))
def show_competition(competition: str, store: Store) -> CompetitionAnswer:
    """A competition with its phases: dates, quotas, limits, rules, baselines."""
    with store.read() as session:
        return CompetitionAnswer.of(competitions.competition_named(session, competition), session.now())


@router.get("/competitions/{competition}/phases/{phase}", responses=problems(404))
def show_phase(competition: str, phase: str, store: Store) -> PhaseAnswer:
    """One phase."""
    with store.read() as session:
        return PhaseAnswer.of(access.phase(session, competition, phase), session.now())
