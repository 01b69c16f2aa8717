"""The everyday loop: one submission from nothing to the board, on SQLite."""

from pathlib import Path

from nav_eval_store.boards import leaderboard, ranking
from nav_eval_store.database import Database, ManualClock
from nav_eval_store.migrations import runner
from nav_eval_store.work import recovery
from support.challenge import Challenge


def test_a_submission_reaches_the_board(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'store.db'}", clock=ManualClock())
    runner.upgrade(database)
    cup = Challenge(database)
    submission = cup.complete(cup.team("Red"), {"tar": 0.5, "isr": 0.25, "csr": 1.0, "cgt": 0.0})
    with database.read() as session:
        phase = cup.phase(session)
    assert ranking.update_ranks(database, phase.id)
    with database.read() as session:
        (row,) = leaderboard.build_board(session, cup.phase(session)).rows
    assert (row.rank, row.team, row.submission_id, row.score.mean) == (1, "Red", submission, 0.45)
    assert recovery.recover(database) == recovery.RecoveryReport()
    database.dispose()
