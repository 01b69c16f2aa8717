"""How a board came to be: the score of each submission, and where its team stood afterwards.

Ranks in here are those of the bare scores: the shared ones of the board need a bootstrap, which nobody
repeats for every moment of the past.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from nav_eval_store import boards
from nav_eval_store.boards import Point
from nav_eval_store.database import Session
from nav_eval_store.models import Phase, TeamKind
from nav_eval_store.viewing import ANYBODY, ORGANISER, Viewer, may_see


class RankStep(NamedTuple):
    """From this moment on a team had this rank."""

    at: datetime
    rank: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TeamHistory:
    """One line of the diagram."""

    team: str
    team_id: UUID
    kind: TeamKind
    rank: int | None  #: by the bare score, at the end; None for upper bounds
    points: Sequence[Point]
    ranks: Sequence[RankStep]  #: each change, its own doing or that of others


def history(
    session: Session, phase: Phase, viewer: Viewer = ANYBODY, *, top: int = 10, team_id: UUID | None = None
) -> list[TeamHistory]:
    """The teams that lead now (or one of them), best first, upper bounds last."""
    ranking = phase.config.ranking
    points = boards.history(session, phase, ORGANISER)  # ranks are among all, whoever looks
    table = Table(higher_is_better=phase.ranking["higher_is_better"], keep=ranking.keep)
    for point in points:
        table.add(point)
    chosen = [
        team
        for team in table.best_first()
        if may_see(phase, "scores", viewer.audience(team)) and team_id in (None, team)
    ][:top]
    return _lines(points, chosen, table, higher_is_better=phase.ranking["higher_is_better"], keep=ranking.keep)


def _lines(
    points: Sequence[Point],
    chosen: Sequence[UUID],
    final: "Table",
    *,
    higher_is_better: bool,
    keep: Literal["best", "last"],
) -> list[TeamHistory]:
    steps = rank_steps(points, chosen, Table(higher_is_better=higher_is_better, keep=keep))
    of_team: dict[UUID, list[Point]] = {team: [] for team in chosen}
    for point in points:
        if point.team_id in of_team:
            of_team[point.team_id].append(point)
    return [
        TeamHistory(
            team=mine[-1].team,
            team_id=team,
            kind=mine[-1].kind,
            rank=final.rank(team),
            points=mine,
            ranks=steps[team],
        )
        for team, mine in of_team.items()
    ]


class Table:
    """Who stands where, while points come in."""

    def __init__(self, *, higher_is_better: bool, keep: Literal["best", "last"]) -> None:
        self._sign = -1.0 if higher_is_better else 1.0  # small is good in here
        self._keep = keep
        self._costs: dict[UUID, float] = {}
        self._bounds: dict[UUID, float] = {}
        self._sorted: list[float] = []

    def add(self, point: Point) -> None:
        cost = self._sign * point.score
        known = self._bounds if point.kind is TeamKind.UPPER_BOUND else self._costs
        before = known.get(point.team_id)
        if before is not None and self._keep == "best" and before <= cost:
            return
        known[point.team_id] = cost
        if known is self._costs:
            if before is not None:
                del self._sorted[bisect_left(self._sorted, before)]
            insort(self._sorted, cost)

    def rank(self, team: UUID) -> int | None:
        """1 is best, equal scores share; None for one that has no score, or is never ranked."""
        cost = self._costs.get(team)
        return None if cost is None else bisect_left(self._sorted, cost) + 1

    def best_first(self) -> list[UUID]:
        return [*sorted(self._costs, key=self._costs.__getitem__), *sorted(self._bounds, key=self._bounds.__getitem__)]


def rank_steps(points: Iterable[Point], teams: Sequence[UUID], table: Table) -> dict[UUID, list[RankStep]]:
    """Every change of rank of these teams."""
    steps: dict[UUID, list[RankStep]] = {team: [] for team in teams}
    for point in points:
        table.add(point)
        for team, mine in steps.items():
            rank = table.rank(team)
            if rank is not None and (not mine or mine[-1].rank != rank):
                mine.append(RankStep(point.submitted_at, rank))
    return steps
