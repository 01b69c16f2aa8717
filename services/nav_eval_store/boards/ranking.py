"""Ranks: shared ones, computed beside the board from all episodes of all teams; and those of the past.

The bootstrap takes a moment, so it runs between two short transactions: read the values, compute,
and write the ranks if the board is still the one that was read.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

import numpy as np
from sqlalchemy import select, update
from sqlalchemy.orm import undefer

from nav_eval.metrics.comparison import RunScores, compute_shared_ranks
from nav_eval.metrics.statistics import Bootstrap
from nav_eval_store import audit
from nav_eval_store.boards import leaderboard
from nav_eval_store.boards.leaderboard import (
    ScorePoint,
    compute_provisional_ranks,
    is_ranked,
    list_counting_entries,
    lock_board,
)
from nav_eval_store.boards.scores import read_scenes, unpack_values
from nav_eval_store.competitions.visibility import ANYBODY, ORGANISER, Viewer, may_see
from nav_eval_store.database import Database, Session
from nav_eval_store.models import BoardEntry, Phase, TeamKind
from nav_eval_store.notifications import events

ATTEMPTS = 3


class EntryRank(NamedTuple):
    """Where an entry stands."""

    rank: int
    shares_with: UUID | None = None
    p_value: float | None = None


def list_unranked_phases(session: Session) -> Sequence[UUID]:
    """Phases whose board has changed since their ranks were computed."""
    return session.scalars(select(Phase.id).where(Phase.ranked_version != Phase.board_version)).all()


def update_ranks(database: Database, phase_id: UUID, *, bootstrap: Bootstrap | None = None) -> bool:
    """Bring the ranks of a phase up to date; False if the board kept changing meanwhile."""
    for _ in range(ATTEMPTS):
        with database.snapshot() as session:
            phase = session.get_one(Phase, phase_id)
            version = phase.board_version
            if phase.ranked_version == version:
                return True
            places = compute_ranks(session, phase, bootstrap=bootstrap)
        if database.run(lambda session: _write_ranks(session, phase_id, version, places)):  # noqa: B023
            return True
    return False


def compute_ranks(session: Session, phase: Phase, *, bootstrap: Bootstrap | None = None) -> dict[UUID, EntryRank]:
    """The place of every ranked entry that counts."""
    entries = [entry for entry in list_counting_entries(session, phase) if is_ranked(entry)]
    plain = {submission: EntryRank(place) for submission, place in compute_provisional_ranks(phase, entries).items()}
    if not phase.config.ranking.shared_ranks or not entries:
        return plain
    runs = _read_runs(session, entries)
    if runs is None:
        return plain
    ranks = compute_shared_ranks(runs, higher_is_better=phase.ranking["higher_is_better"], bootstrap=bootstrap)
    return {
        UUID(place.name): EntryRank(place.rank, None if place.head == place.name else UUID(place.head), place.p_value)
        for place in ranks
    }


def _read_runs(session: Session, entries: Sequence[BoardEntry]) -> list[RunScores] | None:
    """All entries' values by episode; None where they cannot be compared pair by pair.

    That is so when a phase's episodes were changed and not everything was evaluated again, when a value
    is missing, or when a score is no mean of values (LH-VLN's `reference` rule).
    """
    digests = Counter(entry.episodes_digest for entry in entries)
    if len(digests) != 1:
        return None
    ids = [entry.submission_id for entry in entries]
    scenes = read_scenes(session, ids[0])
    ordered = sorted(scenes)
    runs = []
    for start in range(0, len(ids), 500):
        rows = session.execute(
            select(BoardEntry)
            .where(BoardEntry.submission_id.in_(ids[start : start + 500]))
            .options(undefer(BoardEntry.values))
        ).scalars()
        for entry in rows:
            numbers = np.frombuffer(entry.values, dtype="<f8")
            if len(numbers) != len(ordered) or not _is_mean_of_values(numbers, entry.score):
                return None
            runs.append(
                RunScores(name=str(entry.submission_id), values=unpack_values(entry.values, ordered), scenes=scenes)
            )
    return runs


def _is_mean_of_values(values: "np.ndarray[tuple[int], np.dtype[np.float64]]", score: float | None) -> bool:
    return score is not None and bool(np.isfinite(values).all()) and bool(np.isclose(values.mean(), score, atol=1e-9))


def _write_ranks(session: Session, phase_id: UUID, version: int, places: dict[UUID, EntryRank]) -> bool:
    phase = lock_board(session, phase_id)
    if phase.board_version != version:
        return False
    session.execute(
        update(BoardEntry).where(BoardEntry.phase_id == phase_id).values(rank=None, shares_with=None, p_value=None)
    )
    rows = [{"submission_id": submission, **place._asdict()} for submission, place in places.items()]
    if rows:
        session.execute(update(BoardEntry), rows)
    phase.board_version = phase.ranked_version = version + 1
    events.emit(session, events.BOARD_CHANGED, audit.make_subject(phase), version=phase.board_version)
    return True


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
    points: Sequence[ScorePoint]
    ranks: Sequence[RankStep]  #: each change, its own doing or that of others


def build_team_histories(
    session: Session, phase: Phase, viewer: Viewer = ANYBODY, *, top: int = 10, team_id: UUID | None = None
) -> list[TeamHistory]:
    """The teams that lead now (or one of them), best first, upper bounds last.

    Ranks are those of the bare scores: shared ones need a bootstrap, which nobody repeats for every moment of the past.
    """
    higher_is_better, keep = phase.ranking["higher_is_better"], phase.config.ranking.keep
    points = leaderboard.list_score_points(session, phase, ORGANISER)  # ranks are among all, whoever looks
    table = RankTable(higher_is_better=higher_is_better, keep=keep)
    for point in points:
        table.add(point)
    chosen = [
        team
        for team in table.best_first()
        if may_see(phase, "scores", viewer.audience(team)) and team_id in (None, team)
    ][:top]
    steps = compute_rank_steps(points, chosen, RankTable(higher_is_better=higher_is_better, keep=keep))
    return [
        _make_history([point for point in points if point.team_id == team], table.rank(team), steps[team])
        for team in chosen
    ]


def _make_history(points: Sequence[ScorePoint], rank: int | None, ranks: Sequence[RankStep]) -> TeamHistory:
    last = points[-1]
    return TeamHistory(team=last.team, team_id=last.team_id, kind=last.kind, rank=rank, points=points, ranks=ranks)


class RankTable:
    """Who stands where, while points come in."""

    def __init__(self, *, higher_is_better: bool, keep: Literal["best", "last"]) -> None:
        self._sign = -1.0 if higher_is_better else 1.0  # small is good in here
        self._keep = keep
        self._costs: dict[UUID, float] = {}
        self._bounds: dict[UUID, float] = {}
        self._sorted: list[float] = []

    def add(self, point: ScorePoint) -> None:
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


def compute_rank_steps(
    points: Iterable[ScorePoint], teams: Sequence[UUID], table: RankTable
) -> dict[UUID, list[RankStep]]:
    """Every change of rank of these teams."""
    steps: dict[UUID, list[RankStep]] = {team: [] for team in teams}
    for point in points:
        table.add(point)
        for team, mine in steps.items():
            rank = table.rank(team)
            if rank is not None and (not mine or mine[-1].rank != rank):
                mine.append(RankStep(point.submitted_at, rank))
    return steps
