"""Does a million per-episode rows slow down what people look at? Status and boards, against ten thousand.

Two databases with the same 1,000 teams and 10,000 submissions; one has 1 episode per submission, the
other 100. Calls alternate between them, so that whatever else the machine does hits both alike.
SQLite always, PostgreSQL where a server is installed.
"""

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import msgspec
from sqlalchemy import insert, select, text

from nav_eval.config import CompetitionConfig
from nav_eval.records.results import EpisodeOutcome, ResultLine, decode_outcome
from nav_eval.records.scoring import ScoreTally
from nav_eval_store.audit import make_system_actor
from nav_eval_store.boards import leaderboard, scores
from nav_eval_store.competitions import configuration
from nav_eval_store.database import Database, Session
from nav_eval_store.migrations import runner
from nav_eval_store.models import BoardEntry, EntryVisibility, Job, Phase, Score, Submission, Team, TeamKind, TeamStatus
from nav_eval_store.submissions import queries, status
from nav_eval_store.submissions.lifecycle import JobKind, JobState, SubmissionState
from nav_eval_store.work import jobs, leases

TEAMS, SUBMISSIONS = 1_000, 10_000
FEW, MANY = 1, 100
"""Episodes per submission."""
BENCH = make_system_actor("bench")
METRICS = ("sr", "osr", "spl", "ne", "isr", "csr", "cgt", "tar", "score")
LINE = msgspec.json.encode(
    {
        "episode_id": "ep_0",
        "status": "completed",
        "metrics": dict.fromkeys(METRICS, 0.5),
        "num_steps": 120,
        "scene_id": "house_3",
        "subtasks": [
            {
                "success": True,
                "oracle_success": True,
                "navigation_error": 0.4,
                "ground_truth_distance": 7.5,
                "ground_truth_steps": 30,
                "steps": 40,
            }
        ]
        * 3,
        "timing": {"total": 4.2, "agent": 3.1},
    }
).decode()


def run() -> dict[str, object]:
    figures: dict[str, object] = {"teams": TEAMS, "submissions": SUBMISSIONS, "episode_rows": SUBMISSIONS * MANY}
    for name, places in _backends():
        with places as (few, many):
            figures |= {f"{name}_{key}": value for key, value in _measure(few, many).items()}
    return figures


def _backends() -> Iterator[tuple[str, Any]]:
    yield "sqlite", _two_files()
    if any(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        yield "postgresql", _two_databases()


@contextmanager
def _two_files() -> Iterator[tuple[Database, Database]]:
    with tempfile.TemporaryDirectory() as folder:
        yield Database(f"sqlite:///{folder}/few.db"), Database(f"sqlite:///{folder}/many.db")


@contextmanager
def _two_databases() -> Iterator[tuple[Database, Database]]:
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from support.postgres import PostgresServer

    server = PostgresServer()
    server.start()
    try:
        yield Database(server.create_database()), Database(server.create_database())
    finally:
        server.close()


class Subjects(NamedTuple):
    """What is asked about in one of the two databases."""

    database: Database
    ended: list[UUID]
    running: list[UUID]
    queued: list[UUID]
    phase: UUID


def _measure(few: Database, many: Database) -> dict[str, object]:
    small, large = _filled(few, FEW), _filled(many, MANY)
    rng = random.Random(7)
    figures: dict[str, object] = {}
    asks: dict[str, tuple[Callable[[Subjects], object], int]] = {
        "status_ended": (lambda s: _status(s, rng.choice(s.ended)), 60),
        "status_running": (lambda s: _status(s, rng.choice(s.running)), 60),
        "status_queued": (lambda s: _status(s, rng.choice(s.queued)), 60),
        "board": (_board, 7),
        "record": (_record, 40),
    }
    for name, (ask, repeats) in asks.items():
        quick, slow = _alternate(lambda: ask(small), lambda: ask(large), repeats)  # noqa: B023
        figures[f"{name}_milliseconds"] = slow * 1e3
        figures[f"{name}_rows_ratio"] = slow / quick
    for database in (few, many):
        database.dispose()
    return figures


def _alternate(one: Callable[[], object], other: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median seconds of both, a warm-up call each left out."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeats + 1):
        for call, kept in zip((one, other), times, strict=True):
            started = time.perf_counter()
            call()
            if turn:
                kept.append(time.perf_counter() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def _status(subjects: Subjects, submission: UUID) -> object:
    with subjects.database.read() as session:
        return status.read_status(session, queries.get_submission(session, submission))


def _board(subjects: Subjects) -> object:
    with subjects.database.read() as session:
        board = leaderboard.build_board(session, session.get_one(Phase, subjects.phase))
        assert len(board.rows) == TEAMS
        return board


def _record(subjects: Subjects) -> object:
    """A worker reports an episode; the next submission that has one to play."""
    with subjects.database.begin() as session:
        job = session.scalars(
            select(Job).where(Job.state == JobState.WAITING, Job.kind == JobKind.SHARD).limit(1)
        ).one()
        lease = leases.claim_job(session, job.id, f"bench-{os.getpid()}")
        assert lease is not None
        episode = jobs.list_unfinished_episodes(session, job.id)[0]
        recorded = jobs.record_episode(session, lease, ResultLine.from_bytes(LINE.replace("ep_0", episode).encode()))
        session.rollback()
        return recorded


def _filled(database: Database, episodes: int) -> Subjects:
    """A competition in which much has happened."""
    runner.upgrade(database)
    config = CompetitionConfig.model_validate(
        {"name": "bench", "title": "Bench", "phases": [{"name": "dev", "benchmark": "demo_lh_vln"}]}
    )
    with database.begin() as session:
        phase = configuration.apply(session, config, actor=BENCH).competition.phases[0].id
        made = _submissions(session, phase, episodes)
        _episodes(session, episodes)
        session.execute(text("ANALYZE"))
    return Subjects(
        database, made[SubmissionState.COMPLETED], made[SubmissionState.RUNNING], made[SubmissionState.QUEUED], phase
    )


def _submissions(session: Session, phase_id: UUID, episodes: int) -> dict[SubmissionState, list[UUID]]:
    rng, now, phase = random.Random(7), session.now(), session.get_one(Phase, phase_id)
    teams = [uuid4() for _ in range(TEAMS)]
    common = {"competition_id": phase.competition_id, "kind": TeamKind.TEAM, "status": TeamStatus.ACTIVE}
    names = [f"Team {number}" for number in range(TEAMS)]
    session.execute(
        insert(Team),
        [
            {**common, "id": team, "name": name, "name_key": name.lower(), "created_at": now}
            for team, name in zip(teams, names, strict=True)
        ],
    )
    tally = _tally(decode_outcome(LINE), episodes).to_json()
    rows: dict[type, list[dict[str, Any]]] = {Submission: [], Job: [], BoardEntry: [], Score: []}
    made: dict[SubmissionState, list[UUID]] = {
        SubmissionState.COMPLETED: [],
        SubmissionState.RUNNING: [],
        SubmissionState.QUEUED: [],
    }
    for number in range(SUBMISSIONS):
        state = (
            SubmissionState.RUNNING
            if number % 501 == 1
            else SubmissionState.QUEUED
            if number % 501 == 2
            else SubmissionState.COMPLETED
        )
        key = uuid4()
        made[state].append(key)
        at = now - timedelta(minutes=number)
        ids = {"phase_id": phase_id, "team_id": teams[number % TEAMS]}
        rows[Submission].append(
            {
                **ids,
                "id": key,
                "competition_id": phase.competition_id,
                "number": number // TEAMS + 1,
                "state": state,
                "since": at,
                "created_at": at,
                "rules_digest": phase.rules_digest,
                "episodes_total": episodes,
            }
        )
        done = state is SubmissionState.COMPLETED
        rows[Job].append(
            {
                "id": uuid4(),
                "submission_id": key,
                "kind": JobKind.SHARD,
                "state": JobState.DONE if done else JobState.WAITING,
                "ready_at": at,
                "created_at": at,
                "finished_at": at if done else None,
                "busy_seconds": 4.2 * episodes,
                "episodes_total": episodes,
                "episodes_done": episodes if done else 0,
                "tally": tally if done else {},
            }
        )
        if done:
            score = rng.random()
            rows[BoardEntry].append(
                {
                    **ids,
                    "submission_id": key,
                    "score": score,
                    "submitted_at": at,
                    "completed_at": at,
                    "visibility": EntryVisibility.SHOWN,
                    "episodes_digest": "",
                    "values": scores.pack_values({}),
                }
            )
            rows[Score] += [
                {
                    "submission_id": key,
                    "metric": metric,
                    "position": position,
                    "mean": score,
                    "ci_low": score - 0.1,
                    "ci_high": score + 0.1,
                    "count": episodes,
                    "invalid": 0,
                    "higher_is_better": True,
                }
                for position, metric in enumerate(METRICS)
            ]
    for model, values in rows.items():
        session.execute(insert(model), values)
    return made


def _tally(outcome: EpisodeOutcome, episodes: int) -> ScoreTally:
    tally = ScoreTally()
    for _ in range(episodes):
        tally.add(outcome)
    return tally


def _episodes(session: Session, episodes: int) -> None:
    """Rows made by the database itself: a million come in seconds."""
    session.execute(
        text(
            """
            INSERT INTO episodes (submission_id, episode_id, job_id, position, scene_id, status, outcome, recorded_at)
            WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < :episodes)
            SELECT j.submission_id, 'ep_' || i, j.id, i, 'house_3',
                   CASE j.state WHEN 'done' THEN 'completed' END,
                   CASE j.state WHEN 'done' THEN :line END,
                   CASE j.state WHEN 'done' THEN j.created_at END
            FROM jobs j CROSS JOIN numbers
            """
        ),
        {"episodes": episodes, "line": LINE},
    )
