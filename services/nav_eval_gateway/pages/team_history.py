"""How a team did over time, as diagrams: its scores, and its rank where everybody's scores are public."""

from collections.abc import Sequence
from typing import NamedTuple

from nav_eval_gateway.pages import plots
from nav_eval_store.boards import leaderboard, rank_history
from nav_eval_store.boards.rank_history import RankPoint
from nav_eval_store.competitions.visibility import Viewer
from nav_eval_store.database import Session
from nav_eval_store.models import Phase, Team


class PhaseHistory(NamedTuple):
    """How a team did in a phase, as diagrams."""

    title: str
    scores: plots.Plot | None
    ranks: plots.Plot | None
    points: Sequence[RankPoint]


def _find_history(session: Session, phase: Phase, team: Team) -> PhaseHistory | None:
    """As far as the team may know it: ranks only where the scores of others are for everybody."""
    points = leaderboard.list_score_points(session, phase, Viewer(team.id), team=team)
    ranks = rank_history.list_rank_points(session, phase, team)
    scores = plots.plot_over_time([points], keep=phase.config.ranking.keep)
    if scores is None:
        return None
    return PhaseHistory(phase.config.title or phase.name, scores, plots.plot_ranks(ranks), ranks)


def list_histories(session: Session, phases: Sequence[Phase], team: Team) -> list[PhaseHistory]:
    """Of the phases in which the team has a score."""
    found = (_find_history(session, phase, team) for phase in phases)
    return [history for history in found if history is not None]
