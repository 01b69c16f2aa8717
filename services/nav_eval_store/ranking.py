"""Shared ranks: computed beside the board, when it has changed, from all episodes of all teams.

The bootstrap takes a moment, so it runs between two short transactions: read the values, compute,
and write the ranks if the board is still the one that was read.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from sqlalchemy import select, update
from sqlalchemy.orm import undefer

from nav_eval.metrics.bootstrap import Bootstrap
from nav_eval.metrics.comparison import RunScores, shared_ranks
from nav_eval_store import audit, events
from nav_eval_store.board_versions import hold_board
from nav_eval_store.boards import counting_entries, is_ranked, provisional_ranks
from nav_eval_store.database import Database, Session
from nav_eval_store.models import Entry, Phase
from nav_eval_store.scores import scenes_of, unpack

ATTEMPTS = 3


class Place(NamedTuple):
    """Where an entry stands."""

    rank: int
    shares_with: UUID | None = None
    p_value: float | None = None


def unranked_phases(session: Session) -> Sequence[UUID]:
    """Phases whose board has changed since their ranks were computed."""
    return session.scalars(select(Phase.id).where(Phase.ranked_version != Phase.board_version)).all()


def rank(database: Database, phase_id: UUID, *, bootstrap: Bootstrap | None = None) -> bool:
    """Bring the ranks of a phase up to date; False if the board kept changing meanwhile."""
    for _ in range(ATTEMPTS):
        with database.snapshot() as session:
            phase = session.get_one(Phase, phase_id)
            version = phase.board_version
            if phase.ranked_version == version:
                return True
            places = compute(session, phase, bootstrap=bootstrap)
        if database.run(lambda session: _write(session, phase_id, version, places)):  # noqa: B023
            return True
    return False


def compute(session: Session, phase: Phase, *, bootstrap: Bootstrap | None = None) -> dict[UUID, Place]:
    """The place of every ranked entry that counts."""
    entries = [entry for entry in counting_entries(session, phase) if is_ranked(entry)]
    plain = {submission: Place(place) for submission, place in provisional_ranks(phase, entries).items()}
    if not phase.config.ranking.shared_ranks or not entries:
        return plain
    runs = _runs(session, entries)
    if runs is None:
        return plain
    ranks = shared_ranks(runs, higher_is_better=phase.ranking["higher_is_better"], bootstrap=bootstrap)
    return {
        UUID(place.name): Place(place.rank, None if place.head == place.name else UUID(place.head), place.p_value)
        for place in ranks
    }


def _runs(session: Session, entries: Sequence[Entry]) -> list[RunScores] | None:
    """All entries' values by episode; None where they cannot be compared pair by pair.

    That is so when a phase's episodes were changed and not everything was evaluated again, when a value
    is missing, or when a score is no mean of values (LH-VLN's `reference` rule).
    """
    digests = Counter(entry.episodes_digest for entry in entries)
    if len(digests) != 1:
        return None
    ids = [entry.submission_id for entry in entries]
    scenes = scenes_of(session, ids[0])
    ordered = sorted(scenes)
    runs = []
    for start in range(0, len(ids), 500):
        rows = session.execute(
            select(Entry).where(Entry.submission_id.in_(ids[start : start + 500])).options(undefer(Entry.values))
        ).scalars()
        for entry in rows:
            numbers = np.frombuffer(entry.values, dtype="<f8")
            if len(numbers) != len(ordered) or not _explains(numbers, entry.score):
                return None
            runs.append(RunScores(name=str(entry.submission_id), values=unpack(entry.values, ordered), scenes=scenes))
    return runs


def _explains(values: "np.ndarray[tuple[int], np.dtype[np.float64]]", score: float | None) -> bool:
    return score is not None and bool(np.isfinite(values).all()) and bool(np.isclose(values.mean(), score, atol=1e-9))


def _write(session: Session, phase_id: UUID, version: int, places: dict[UUID, Place]) -> bool:
    phase = hold_board(session, phase_id)
    if phase.board_version != version:
        return False
    session.execute(update(Entry).where(Entry.phase_id == phase_id).values(rank=None, shares_with=None, p_value=None))
    rows = [{"submission_id": submission, **place._asdict()} for submission, place in places.items()]
    if rows:
        session.execute(update(Entry), rows)
    phase.board_version = phase.ranked_version = version + 1
    events.emit(session, events.BOARD_CHANGED, audit.about(phase), version=phase.board_version)
    return True
