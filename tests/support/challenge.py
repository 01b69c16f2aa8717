"""A small competition in a store, and short ways to bring submissions where a test needs them."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from nav_eval.config import BenchmarkConfig, CompetitionConfig, load_benchmark
from nav_eval.records.results import ResultLine
from nav_eval_store.audit import make_system_actor, make_user_actor
from nav_eval_store.boards import scores
from nav_eval_store.competitions import configuration
from nav_eval_store.database import Database, Session
from nav_eval_store.encryption import Keyring
from nav_eval_store.models import Competition, Phase, Submission, Team, User
from nav_eval_store.people import accounts, teams
from nav_eval_store.submissions import creation, queries
from nav_eval_store.submissions.lifecycle import JobKind
from nav_eval_store.uploads import records
from nav_eval_store.work import jobs, leases
from nav_eval_store.work.leases import Lease

T = TypeVar("T")
TEST = make_system_actor("test")
KEYRING = Keyring(keys="7e57" * 16)
EPISODES = ("a", "b", "c", "d")
METRICS = {"tar": 0.5, "isr": 0.5, "csr": 0.5, "cgt": 0.5, "ne": 2.0}


@cache
def benchmark(name: str = "demo_lh_vln") -> BenchmarkConfig:
    return load_benchmark(name, environ={})


def competition_config(*phases: Mapping[str, Any], **changes: Any) -> CompetitionConfig:
    """A competition called `cup`; its only phase is `dev` unless told otherwise."""
    listed = [{"name": "dev", "benchmark": "demo_lh_vln", **phase} for phase in phases or ({},)]
    return CompetitionConfig.model_validate({"name": "cup", "title": "The Cup", "phases": listed, **changes})


GENEROUS = {"quota": {"per_day": None, "concurrent": 1000}}


class Challenge:
    """A competition, and hands that act in it."""

    def __init__(self, database: Database, config: CompetitionConfig | None = None) -> None:
        self.database = database
        self.apply(config or competition_config(GENEROUS))

    def apply(self, config: CompetitionConfig, **options: Any) -> configuration.Applied:
        options.setdefault("benchmark_of", benchmark)
        with self.database.begin() as session:
            return configuration.apply(session, config, actor=TEST, **options)

    def do(self, action: Callable[[Session], T]) -> T:
        """Something in a transaction of its own."""
        return self.database.run(action)

    def competition(self, session: Session) -> Competition:
        return configuration.get_competition(session, "cup")

    def phase(self, session: Session, name: str = "dev") -> Phase:
        return configuration.get_phase(session, self.competition(session), name)

    def team(self, name: str) -> UUID:
        """A team with a captain of the same name."""
        with self.database.begin() as session:
            user = accounts.create_user(session, name.lower().replace(" ", "-"), actor=TEST)
            actor = make_user_actor(user)
            return teams.create_team(session, self.competition(session), name, captain=user, actor=actor).id

    def start(self, team: UUID, phase: str = "dev", *, title: str = "") -> UUID:
        with self.database.begin() as session:
            row = session.get_one(Team, team)
            return creation.start_submission(
                session, self.phase(session, phase), row, user=None, actor=TEST, title=title
            ).id

    def submit(self, team: UUID, phase: str = "dev", *, title: str = "") -> UUID:
        """A submission that waits to be validated."""
        submission = self.start(team, phase, title=title)
        with self.database.begin() as session:
            upload = records.create_upload(session, submission, actor=TEST, length=10)
            sha256 = f"{submission.int:064x}"
            records.record_finish(session, upload.id, blob_key=f"images/{sha256}", sha256=sha256, length=10, actor=TEST)
            records.submit_uploaded(session, submission, actor=TEST)
        return submission

    def claim(self, *kinds: JobKind, worker: str = "w1") -> Lease:
        with self.database.begin() as session:
            lease = leases.claim_next_job(session, worker, kinds=kinds or tuple(JobKind))
        assert lease is not None, "nothing to do"
        return lease

    def queue(self, team: UUID, shards: Sequence[Sequence[str]] = (EPISODES,), phase: str = "dev") -> UUID:
        """A submission whose shards wait."""
        submission = self.submit(team, phase)
        self.prepare(submission, shards)
        return submission

    def prepare(self, submission: UUID, shards: Sequence[Sequence[str]] = (EPISODES,)) -> None:
        """Validate and try a submission that waits for it."""
        validation = self.claim_of(submission)
        self.do(lambda session: jobs.finish_validation(session, validation, image_id="sha256:1"))
        canary = self.claim_of(submission)
        scenes = {episode: f"house_{index % 2}" for index, episode in enumerate(EPISODES)}
        self.do(lambda session: jobs.finish_canary(session, canary, shards, scenes=scenes, verdict={"seconds": 1.5}))

    def claim_of(self, submission: UUID, worker: str = "w1") -> Lease:
        """A lease on the first open job of a submission."""
        with self.database.begin() as session:
            job = next(job for job in jobs_of(session, submission) if job.state == "waiting")
            lease = leases.claim_job(session, job.id, worker)
        assert lease is not None
        return lease

    def run(
        self, submission: UUID, metrics: Mapping[str, float] | Callable[[str], Mapping[str, float]] = METRICS
    ) -> None:
        """Play all shards of a submission and score it."""
        while True:
            with self.database.read() as session:
                waiting = [j for j in jobs_of(session, submission) if j.state == "waiting" and j.kind == "shard"]
            if not waiting:
                break
            lease = self.claim_of(submission)
            self.play(lease, metrics)
            self.do(lambda session: jobs.finish_shard(session, lease))  # noqa: B023
        self.score(submission)

    def play(self, lease: Lease, metrics: Mapping[str, float] | Callable[[str], Mapping[str, float]] = METRICS) -> None:
        with self.database.begin() as session:
            for episode in jobs.list_unfinished_episodes(session, lease.job_id):
                values = metrics(episode) if callable(metrics) else metrics
                jobs.record_episode(session, lease, result(episode, values))

    def score(self, submission: UUID) -> None:
        lease = self.claim_of(submission)
        with self.database.begin() as session:
            scores.publish_scores(
                session, lease, scores.compute_scores(session, queries.get_submission(session, submission))
            )

    def complete(
        self, team: UUID, metrics: Mapping[str, float] | Callable[[str], Mapping[str, float]] = METRICS, **options: Any
    ) -> UUID:
        """A completed submission."""
        submission = self.queue(team, **options)
        self.run(submission, metrics)
        return submission

    def get(self, submission: UUID) -> Submission:
        with self.database.read() as session:
            return queries.get_submission(session, submission)


def jobs_of(session: Session, submission: UUID) -> list[Any]:
    from sqlalchemy import select

    from nav_eval_store.models import Job

    return list(
        session.scalars(select(Job).where(Job.submission_id == submission).order_by(Job.created_at, Job.position))
    )


def line(episode: str, metrics: Mapping[str, float | None] = METRICS, **fields: Any) -> bytes:
    """A line of episodes.jsonl."""
    result = {"episode_id": episode, "status": "completed", "num_steps": 7, "metrics": dict(metrics), **fields}
    return json.dumps(result).encode()


def result(episode: str, metrics: Mapping[str, float | None] = METRICS, **fields: Any) -> ResultLine:
    """The same, as a worker hands it to the store."""
    return ResultLine.from_bytes(line(episode, metrics, **fields))


def user(session: Session, name: str, **options: Any) -> User:
    return accounts.create_user(session, name, actor=TEST, **options)
