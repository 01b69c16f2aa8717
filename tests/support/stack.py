"""A whole challenge on one machine: database, blobs, broker, and worker processes that can be killed."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import select

from nav_eval.config import load_benchmark
from nav_eval_store.blobs import BlobStore
from nav_eval_store.competitions import configuration
from nav_eval_store.database import Database, Session
from nav_eval_store.models import EpisodeRow, Job, LeaseRow, Score, Submission
from nav_eval_store.notifications import events
from nav_eval_store.people import accounts, teams
from nav_eval_store.submissions import creation, queries
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.uploads import records
from support.challenge import KEYRING, TEST, competition_config
from support.load import Deadline, measure_slowdown
from support.migrated import migrate
from support.worker import image_archive

T = TypeVar("T")
PHASE: Mapping[str, Any] = {
    "name": "dev",
    "quota": {"per_day": None, "concurrent": 1000},
    "limits": {"start_seconds": 20, "log_kb": 4},
}


class Stack:
    """A competition `cup` with one phase `dev` on a benchmark file."""

    def __init__(
        self, folder: Path, *, database: str, benchmark: Path, broker: str | None = None, **phase: Any
    ) -> None:
        self.folder = folder
        self.environment = {
            "NAV_EVAL_HOME": str(folder),
            "NAV_EVAL_DATABASE": database,
            "NAV_EVAL_BLOBS": str(folder / "blobs"),
            "NAV_EVAL_BROKER": broker or f"filesystem://{folder / 'broker'}",
            "NAV_EVAL_ENCRYPTION_KEYS": KEYRING.keys or "",
            "NAV_EVAL_RUNTIME": "process",
            "NAV_EVAL_WORKER_GRACE": "2",
            "NAV_EVAL_FILMS": "0",  # drawing takes longer than all else
        }
        migrate(database)
        self.database = Database(database, keyring=KEYRING)
        self.blobs = BlobStore(folder / "blobs")
        self.workers: list[subprocess.Popen[bytes]] = []
        config = competition_config({**PHASE, "benchmark": str(benchmark), **phase})
        with self.database.begin() as session:
            configuration.apply(session, config, actor=TEST, benchmark_of=lambda name: load_benchmark(name, environ={}))

    # What people do

    def team(self, name: str) -> UUID:
        with self.database.begin() as session:
            user = accounts.create_user(session, name, actor=TEST)
            competition = configuration.get_competition(session, "cup")
            return teams.create_team(session, competition, name, captain=user, actor=TEST).id

    def submit(self, team: UUID, archive: bytes | None = None) -> UUID:
        """Everything that the gateway does with an upload, but for telling the workers."""
        data = image_archive() if archive is None else archive
        sha256 = hashlib.sha256(data).hexdigest()
        with self.database.begin() as session:
            phase = self.phase(session)
            submission = creation.start_submission(
                session, phase, session.get_one(teams.Team, team), user=None, actor=TEST
            )
            upload = records.create_upload(session, submission.id, actor=TEST, length=len(data))
        with self.blobs.append(upload.key, 0, limit=len(data)) as out:
            out.write(data)
        blob = self.blobs.finalise(upload.key, "images", length=len(data), sha256=sha256)
        with self.database.begin() as session:
            records.record_finish(session, upload.id, blob_key=blob.key, sha256=sha256, length=len(data), actor=TEST)
            records.submit_uploaded(session, submission.id, actor=TEST)
        return submission.id

    def cancel(self, submission: UUID) -> None:
        self.database.run(
            lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="test")
        )

    def phase(self, session: Session) -> Any:
        return configuration.get_phase(session, configuration.get_competition(session, "cup"), "dev")

    # What is known

    def get(self, submission: UUID) -> Submission:
        with self.database.read() as session:
            return queries.get_submission(session, submission)

    def read(self, query: Callable[[Session], T]) -> T:
        with self.database.read() as session:
            return query(session)

    def finished(self, submission: UUID) -> int:
        """Episodes that have a result."""
        query = select(EpisodeRow).where(EpisodeRow.submission_id == submission, EpisodeRow.status.is_not(None))
        return self.read(lambda session: len(session.scalars(query).all()))

    def rows(self, submission: UUID) -> list[EpisodeRow]:
        query = select(EpisodeRow).where(EpisodeRow.submission_id == submission).order_by(EpisodeRow.position)
        return list(self.read(lambda session: session.scalars(query).all()))

    def episodes(self, submission: UUID) -> dict[str, dict[str, Any]]:
        return {row.episode_id: json.loads(row.outcome) for row in self.rows(submission) if row.outcome}

    def scores(self, submission: UUID) -> dict[str, tuple[float | None, ...]]:
        """Every number of the submission's row."""
        query = select(Score).where(Score.submission_id == submission)
        rows = self.read(lambda session: session.scalars(query).all())
        return {row.metric: (row.mean, row.std, row.ci_low, row.ci_high, row.count) for row in rows}

    def leases(self, submission: UUID) -> list[LeaseRow]:
        query = (
            select(LeaseRow)
            .join(Job, Job.id == LeaseRow.job_id)
            .where(Job.submission_id == submission)
            .order_by(LeaseRow.acquired_at)
        )
        return list(self.read(lambda session: session.scalars(query).all()))

    def submission_of(self, lease: str) -> UUID:
        query = select(Job.submission_id).join(LeaseRow, LeaseRow.job_id == Job.id).where(LeaseRow.id == UUID(lease))
        return self.read(lambda session: session.scalars(query).one())

    def log(self, name: str = "w1") -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def assert_same(self, submission: UUID, reference: Mapping[str, Any]) -> None:
        """Bit for bit what `nav-eval evaluate` computes, clocks aside; each episode once."""
        numbers = self.scores(submission)
        for metric, statistics in reference["aggregated"].items():
            stated = tuple(statistics[key] for key in ("mean", "std", "ci_low", "ci_high", "count"))
            assert numbers[metric] == stated, metric
        results = self.episodes(submission)
        assert set(results) == set(reference["by_episode"])
        for episode, line in reference["by_episode"].items():
            for key in ("status", "metrics", "num_steps", "subtasks"):
                assert results[episode].get(key) == line.get(key), (episode, key)

    # Workers

    def start_worker(self, name: str = "w1", *options: str, **variables: str) -> subprocess.Popen[bytes]:
        """A real one; it beats unless told otherwise."""
        command = [sys.executable, "-m", "nav_eval.cli", "worker", "--name", name, *(options or ("--beat",))]
        environment = {**os.environ, **self.environment, **variables}
        with (self.folder / f"{name}.log").open("ab") as log:
            worker = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        self.workers.append(worker)
        return worker

    @contextmanager
    def worker(self, name: str = "w1", *options: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
        process = self.start_worker(name, *options, **variables)
        try:
            yield process
        finally:
            end(process)

    def run_once(self, name: str = "w1") -> None:
        """All that can be done now."""
        assert self.start_worker(name, "--once").wait(timeout=120 * measure_slowdown()) == 0, self.log(name)

    def wait_until(self, condition: Callable[[], bool], *, seconds: float = 60.0, what: str = "") -> None:
        deadline = Deadline(seconds)
        while not condition():
            if deadline.is_over:
                logs = "\n".join(f"--- {path.name}\n{path.read_text()[-3000:]}" for path in self.folder.glob("*.log"))
                codes = [worker.poll() for worker in self.workers]
                raise AssertionError(f"{what or 'It'} did not happen within {seconds:g} s. Exits: {codes}\n{logs}")
            time.sleep(0.05)

    def wait(self, submission: UUID, *, seconds: float = 60.0) -> Submission:
        """Until it is final."""
        self.wait_until(lambda: self.get(submission).state.is_final, seconds=seconds, what=f"The end of {submission}")
        return self.get(submission)

    def completed(self, submission: UUID, *, seconds: float = 60.0) -> Submission:
        ended = self.wait(submission, seconds=seconds)
        assert ended.state is SubmissionState.COMPLETED, (ended.state, ended.cause, ended.detail)
        return ended

    def close(self) -> None:
        for worker in self.workers:
            end(worker)
        self.database.dispose()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Politely, then not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=15 * measure_slowdown())
        except subprocess.TimeoutExpired:
            kill(process)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """As the kernel would, out of memory."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    process.wait()


def pids_with(text: str) -> set[int]:
    """Processes whose command line or environment mentions TEXT."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                known = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                if text.encode() in known:
                    found.add(int(entry.name))
    return found


__all__ = ["Stack", "end", "events", "kill", "pids_with"]
