"""A challenge worth looking at: teams, baselines, an upper bound, results with spread, a replay of every kind."""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from nav_eval.records.geometry import Vec3
from nav_eval.records.results import ResultLine
from nav_eval.replay import model
from nav_eval.replay.model import encode_replay
from nav_eval_store import blob_keys
from nav_eval_store.blobs import BlobStore
from nav_eval_store.boards import ranking
from nav_eval_store.competitions.moderation import mark_verified
from nav_eval_store.database import Database, Session
from nav_eval_store.models import BoardEntry, Submission, Team, TeamKind
from nav_eval_store.submissions import creation, queries
from nav_eval_store.work import jobs
from support.challenge import TEST, Challenge, competition_config, line

HOSTILE = "<script>alert(1)</script>'\"><img src=x onerror=alert(2)>"
EPISODES = tuple(f"ep_{number:02}" for number in range(1, 25))
PHASES = (
    {
        "name": "dev",
        "title": "Development",
        "description": "Forty generated houses, seen or unseen. Scores appear at once.",
        "quota": {"per_day": 20, "concurrent": 5},
        "visibility": {"scores": "public", "logs": "team", "replays": "public", "episodes": "public"},
        "baselines": [
            {"name": "Random", "agent": "baseline:random"},
            {"name": "Keyword", "agent": "baseline:keyword"},
            {"name": "Shortest path (oracle)", "agent": "baseline:oracle", "privileged": True},
        ],
        "closes": "2030-06-01T12:00:00Z",
    },
    {
        "name": "test",
        "title": "Test",
        "description": "Hidden houses. The board is published after the phase closes.",
        "requires": "dev",
        "opens": "2030-01-01T00:00:00Z",
        "closes": "2030-06-15T12:00:00Z",
        "visibility": {"scores": "organiser", "logs": "organiser", "replays": "organiser", "episodes": "organiser"},
    },
)
DESCRIPTION = (
    "Follow long instructions through houses you have never seen: find the kitchen, take the mug, bring it to the "
    "study. Agents see three cameras and nothing else."
)


def site_config(**changes: Any) -> Any:
    texts = {"title": "House Errands 2026", "description": DESCRIPTION, "organiser": "Navigation Lab"}
    return competition_config(*PHASES, **{**texts, **changes})


def outcome(skill: float, rng: random.Random) -> Callable[[str], Mapping[str, float]]:
    """Metrics of an episode, better with more skill; the same episodes are hard for all."""

    def metrics(episode: str) -> Mapping[str, float]:
        hard = random.Random(episode).random()
        value = min(1.0, max(0.0, skill - 0.35 * hard + rng.gauss(0.15, 0.12)))
        done = 1.0 if value > 0.55 else 0.0
        return {
            "sr": done,
            "spl": done * value,
            "tar": value,
            "isr": min(1.0, value + 0.05),
            "csr": done,
            "cgt": value * 0.9,
            "ne": 6 * (1 - value),
        }

    return metrics


class Site:
    """Hands that fill a challenge."""

    def __init__(self, database: Database, blobs: BlobStore) -> None:
        self.challenge = Challenge(database, site_config())
        self.database, self.blobs = database, blobs
        self._rng = random.Random(7)

    def baselines(self) -> None:
        """Give every baseline a result."""
        with self.database.begin() as session:
            phase = self.challenge.phase(session)
            rows = queries.list_baselines(session, phase)
            started = [
                (row.kind, creation.start_agent_submission(session, phase, row, "baseline:x", actor=TEST).id)
                for row in rows
            ]
        for kind, submission in started:
            self.finish(submission, 0.95 if kind is TeamKind.UPPER_BOUND else self._rng.uniform(0.1, 0.35))

    def team(self, name: str, *skills: float, title: str = "") -> UUID:
        """A team with a submission per skill."""
        team = self._team(name)
        for skill in skills:
            self.finish(self.challenge.submit(team, title=title), skill)
        return team

    def _team(self, name: str) -> UUID:
        from nav_eval_store.audit import make_user_actor
        from nav_eval_store.people import accounts, teams

        with self.database.begin() as session:
            user = accounts.create_user(session, f"captain-{self._rng.randrange(10**9)}", actor=TEST)
            competition = self.challenge.competition(session)
            return teams.create_team(session, competition, name, captain=user, actor=make_user_actor(user)).id

    def finish(self, submission: UUID, skill: float) -> None:
        self.prepare(submission)
        lease = self.challenge.claim_of(submission)
        metrics = outcome(skill, self._rng)
        with self.database.begin() as session:
            for number, episode in enumerate(jobs.list_unfinished_episodes(session, lease.job_id)):
                subtasks = [_subtask(number % 3 + 2)] * (number % 3 + 2)
                found = line(episode, metrics(episode), scene_id=f"house_{number % 4}", subtasks=subtasks)
                jobs.record_episode(
                    session, lease, ResultLine.from_bytes(found), replay_key=self._kept(submission, episode)
                )
        self.challenge.do(lambda session: jobs.finish_shard(session, lease))
        self.challenge.score(submission)

    def _kept(self, submission: UUID, episode: str) -> str:
        """The line as a worker keeps it, with the way that the agent went."""
        way = [(0.25 * i, 0.0, 0.1 * (i % 7)) for i in range(31)]
        found = line(episode, trajectory=way, actions=["move_forward"] * 29 + ["stop"], instruction=HOSTILE)
        return self.blobs.put(blob_keys.make_replay_key(submission, episode), found).key

    def prepare(self, submission: UUID, shards: Sequence[Sequence[str]] = (EPISODES,)) -> None:
        """Validated, tried, and waiting for a worker."""
        checking = self.challenge.claim_of(submission)
        self.challenge.do(lambda session: jobs.finish_validation(session, checking, image_id="sha256:1"))
        canary = self.challenge.claim_of(submission)
        scenes = {episode: f"house_{number % 4}" for number, episode in enumerate(EPISODES)}
        verdict = {"passed": True, "seconds": 4.2, "agent": {"name": "demo agent"}}
        self.challenge.do(lambda session: jobs.finish_canary(session, canary, shards, scenes=scenes, verdict=verdict))

    def spread(self) -> None:
        """Let the submissions have come over three weeks, verify some, and rank."""
        with self.database.begin() as session:
            entries = list(session.query(BoardEntry))
            for number, entry in enumerate(sorted(entries, key=lambda entry: entry.submitted_at)):
                entry.submitted_at -= timedelta(days=21 * (1 - number / len(entries)), hours=number % 7)
                session.get_one(Submission, entry.submission_id).submitted_at = entry.submitted_at
            for entry in entries[::3]:
                mark_verified(session, entry.submission_id, actor=TEST)
        self.rank()

    def rank(self) -> None:
        with self.database.read() as session:
            phase = self.challenge.phase(session)
        ranking.update_ranks(self.database, phase.id)

    def of_team(self, team: UUID) -> UUID:
        """The newest submission of a team."""

        def find(session: Session) -> UUID:
            return queries.list_submissions(session, team=session.get_one(Team, team)).items[0].id

        with self.database.read() as session:
            return find(session)

    def put_replay(self, submission: UUID, replay: model.Replay) -> None:
        self.blobs.put(blob_keys.make_film_key(submission, replay.episode_id), encode_replay(replay))


def _subtask(count: int) -> dict[str, Any]:
    return {
        "success": True,
        "oracle_success": True,
        "navigation_error": 0.4,
        "ground_truth_distance": 4.0 * count,
        "ground_truth_steps": 20,
        "steps": 30,
    }


def long_replay(episode: str, steps: int = 500, *, cameras: int = 3) -> model.Replay:
    """Made up, but of the size and shape of a real one."""
    import base64
    import math

    pixel = base64.b64decode(PIXEL)
    frames = [pixel + b"\0" * 4000] * (steps + 1)
    places_ = [(math.cos(i / 40) * i / 90, 0.0, math.sin(i / 40) * i / 90) for i in range(steps + 1)]
    return model.Replay(
        benchmark="demo",
        task="lh_vln",
        episode_id=episode,
        scene_id="house_1",
        status="completed",
        instruction=f"Take the mug to the study. {HOSTILE}",
        steps=[_step(i, place, steps) for i, place in enumerate(places_)],
        stages=[
            model.ReplayStage(name="mug", targets=[_target(places_[steps // 2])], success=True, closed_at=steps // 2),
            model.ReplayStage(name="study", targets=[_target(places_[-1])], success=False, distance=2.5),
        ],
        events=[
            model.ReplayEvent(step=steps // 2, kind="closed", stage=0, success=True),
            model.ReplayEvent(step=steps, kind="end", stage=1, reason="step limit"),
        ],
        floors=[_floor()],
        paths=[model.ReplayPath(points=[places_[0], places_[steps // 2], places_[-1]], floors=[0, 0, 0])],
        metrics={"tar": 0.5, "isr": 0.5, "csr": False},
        success_distance=1.0,
        max_steps=steps,
        views=[
            model.CameraView(sensor=f"rgb_{name}", width=183, height=183, media_type="image/png", frames=frames)
            for name in ("left", "front", "right")[:cameras]
        ],
        engine_version="0",
    )  # fmt: skip


def _step(number: int, place: Vec3, steps: int) -> model.ReplayStep:
    action = None if number == 0 else "stop" if number == steps // 2 else ("move_forward", "turn_left")[number % 5 == 0]
    distance = abs(steps / 2 - number) / 60
    return model.ReplayStep(
        position=place, yaw=-number / 40, action=action, stage=int(number > steps // 2), distance=distance
    )


def _target(place: Vec3) -> model.ReplayTarget:
    return model.ReplayTarget(position=place)


def _floor() -> model.Floor:
    import base64

    picture = model.Picture(data=base64.b64decode(PIXEL), width=640, height=640, media_type="image/png")
    return model.Floor(height=0.0, left=-8.0, top=-8.0, pixels_per_metre=40.0, picture=picture)


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
