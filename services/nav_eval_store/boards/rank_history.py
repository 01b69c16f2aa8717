"""The rank of a team over time, by bare scores: what the board would have said after each result."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from nav_eval_store.boards.leaderboard import list_score_points
from nav_eval_store.competitions.visibility import ANYBODY
from nav_eval_store.database import Session
from nav_eval_store.models import Phase, Team, TeamKind


class RankPoint(NamedTuple):
    """From this moment on the team had this rank."""

    at: datetime
    rank: int
    teams: int
    """That had a score then."""


def list_rank_points(session: Session, phase: Phase, team: Team) -> list[RankPoint]:
    """The changes of a team's rank, oldest first; nothing where the scores of others are not for everybody."""
    sign = 1.0 if phase.ranking["higher_is_better"] else -1.0
    keeps_last = phase.config.ranking.keep == "last"
    counting: dict[UUID, float] = {}
    points: list[RankPoint] = []
    for point in list_score_points(session, phase, ANYBODY):
        if point.kind is TeamKind.UPPER_BOUND or not (point.is_best or keeps_last):
            continue
        counting[point.team_id] = sign * point.score
        own = counting.get(team.id)
        if own is None:
            continue
        rank = 1 + sum(score > own for score in counting.values())
        if not points or points[-1].rank != rank:
            points.append(RankPoint(point.submitted_at, rank, len(counting)))
    return points
