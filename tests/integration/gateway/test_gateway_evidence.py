"""Episodes, logs, replays and files: who gets what."""

import json
import os
from collections.abc import Iterator
from uuid import UUID

import pytest

from nav_eval.evaluation.run_folder import REPORT_FILE
from nav_eval.records.results import ResultLine
from nav_eval_gateway.errors import BadRange
from nav_eval_gateway.responses import ByteRange, parse_range
from nav_eval_store import blob_keys
from nav_eval_store.competitions import moderation
from nav_eval_store.models import Team
from nav_eval_store.people import teams
from nav_eval_store.work import jobs, workers
from support.challenge import EPISODES, GENEROUS, METRICS, Challenge, competition_config, jobs_of, line
from support.gateway import Server

pytestmark = pytest.mark.integration

SECRETS = {"instruction": "Go to the hidden goal.", "scene_id": "secret_house", "ground_truth_distance": 4.2}
STEPS = {"trajectory": [[0, 0, 0], [1, 0, 0]], "actions": ["move_forward"]}


class Run:
    """A submission that was evaluated, and those who look at it."""

    def __init__(self, server: Server, cup: Challenge) -> None:
        self.server, self.cup = server, cup
        name = f"ev-{os.urandom(4).hex()}"
        self.team = server.captain(name)
        self.team_id = UUID(self.team.get("/me").json()["teams"][0]["team_id"])
        self.stranger = server.captain(f"{name}-x")
        self.anybody = server.client()
        self.organiser = server.client(server.user("evidence-organiser", organiser=True))
        self.id = cup.queue(self.team_id)
        self.path = f"/submissions/{self.id}"

    def play(self) -> None:
        """All episodes, with what workers leave behind; then the scores."""
        blobs = self.server.settings.store.open_blobs()
        blobs.put(blob_keys.make_agent_log_key(self.id), b"loading weights\x1b[2J\n")
        lease = self.cup.claim_of(self.id)
        for episode in EPISODES:
            whole = line(episode, METRICS, **SECRETS, **STEPS)
            key = blobs.put(blob_keys.make_replay_key(self.id, episode), whole).key
            blobs.put(blob_keys.make_episode_log_key(self.id, episode), f"episode {episode} done".encode())
            with self.cup.database.begin() as session:
                jobs.record_episode(session, lease, ResultLine.from_bytes(whole), replay_key=key)
        self.cup.do(lambda session: jobs.finish_shard(session, lease))
        self.cup.score(self.id)
        blobs.put(blob_keys.make_artifact_key(self.id, "map.png"), bytes(range(100)))
        blobs.put(blob_keys.make_artifact_key(self.id, "evil page.html"), b"<script>alert(1)</script>")
        blobs.put(blob_keys.make_artifact_key(self.id, REPORT_FILE), b"{}")

    def close(self) -> None:
        for client in (self.team, self.stranger, self.anybody, self.organiser):
            client.close()


@pytest.fixture(scope="module")
def run(gateway: Server, cup: Challenge) -> Iterator[Run]:
    """Scores and replays are public, episodes and logs are the team's."""
    config = competition_config(
        {**GENEROUS, "visibility": {"preset": "practice", "replays": "public"}, "limits": {"log_kb": 1}}
    )
    cup.apply(config, allow_dangerous=True)
    run = Run(gateway, cup)
    assert run.anybody.get(run.path).status_code == 404  # it is not on the board yet
    run.play()
    yield run
    run.close()
    cup.apply(competition_config(GENEROUS), allow_dangerous=True)


def test_a_team_follows_its_submission_and_others_see_what_the_board_shows(run: Run) -> None:
    own = run.team.get(run.path).json()
    assert own["status"] == "completed"
    assert own["progress"] == {"done": 4, "total": 4, "failed": 0, "means": own["progress"]["means"]}
    assert own["score"] == pytest.approx(0.5)
    assert own["scores"]["tar"] == 0.5
    seen = run.anybody.get(run.path).json()
    assert seen["scores"] == own["scores"]
    for private in ("note", "image_sha256", "progress", "uploads", "provenance", "canary", "message"):
        assert seen[private] is None
    assert run.stranger.get(run.path).json() == seen
    for verb in ("cancel", "rerun", "submit"):
        assert run.stranger.post(f"{run.path}/{verb}").status_code == 403
        assert run.anybody.post(f"{run.path}/{verb}").status_code == 401


def test_lists_hold_only_what_is_ones_own(run: Run) -> None:
    mine = run.team.get("/submissions", params={"competition": "cup", "phase": "dev", "status": "completed"}).json()
    assert [row["id"] for row in mine["items"]] == [str(run.id)]
    assert run.stranger.get("/submissions").json() == {"items": [], "next": None}
    assert run.stranger.get("/submissions", params={"team": str(run.team_id)}).status_code == 404
    assert run.anybody.get("/submissions").status_code == 401
    all_of_them = run.organiser.get("/submissions", params={"competition": "cup", "limit": 1}).json()
    assert all_of_them["items"][0]["id"] == str(run.id)
    assert run.team.get("/submissions", params={"phase": "dev"}).status_code == 422


def test_pages_of_episodes_without_the_secrets_of_the_test_set(run: Run) -> None:
    first = run.team.get(f"{run.path}/episodes", params={"limit": 3}).json()
    assert [row["episode_id"] for row in first["items"]] == ["a", "b", "c"]
    rest = run.team.get(f"{run.path}/episodes", params={"limit": 3, "cursor": first["next"]}).json()
    assert ([row["episode_id"] for row in rest["items"]], rest["next"]) == (["d"], None)
    one = run.team.get(f"{run.path}/episodes/a").json()
    assert one["metrics"]["ne"] == 2.0
    assert one["has_replay"] is True
    assert not set(one) & set(SECRETS)
    assert run.organiser.get(f"{run.path}/episodes/a").json()["scene_id"] == "secret_house"
    assert run.team.get(f"{run.path}/episodes/none").status_code == 404
    for outsider in (run.stranger, run.anybody):
        assert outsider.get(f"{run.path}/episodes").status_code == 403
        assert outsider.get(f"{run.path}/episodes/a").status_code == 403


@pytest.mark.parametrize("cursor", ["!", "AAAA", "WzFd" * 50, "WyJ4Il0", "🙂"])
def test_cursors_that_are_not_ours_are_refused(run: Run, cursor: str) -> None:
    assert run.team.get(f"{run.path}/episodes", params={"cursor": cursor}).status_code == 422


def test_a_replay_shows_the_steps_and_not_the_goal(run: Run) -> None:
    seen = run.team.get(f"{run.path}/episodes/a/replay").json()
    assert seen["trajectory"] == STEPS["trajectory"]
    assert seen["metrics"]["tar"] == 0.5
    assert not set(seen) & set(SECRETS)
    public = run.anybody.get(f"{run.path}/episodes/a/replay").json()
    assert "metrics" not in public  # episode by episode they are the team's
    assert run.organiser.get(f"{run.path}/episodes/a/replay").json()["instruction"] == SECRETS["instruction"]


ANSWER = {"action": "answer", "poses": [[0] * 7]}


@pytest.mark.parametrize("log", [{"actions": [ANSWER]}, {"status": "failed", "cause": "protocol_error"}])
def test_an_agent_that_answers_is_not_told_where_it_was(run: Run, log: dict[str, object]) -> None:
    """Of localization, the trajectory is the truth that was asked for; nobody gets it by failing instead, either."""
    answered = {"episode_id": "a", "trajectory": [[1, 2, 3]], **log}
    blobs = run.server.settings.store.open_blobs()
    before = blobs.get(blob_keys.make_replay_key(run.id, "a"))
    blobs.put(blob_keys.make_replay_key(run.id, "a"), json.dumps(answered).encode())
    seen = run.team.get(f"{run.path}/episodes/a/replay").json()
    assert (seen.get("actions"), "trajectory" in seen) == (answered.get("actions"), False)
    assert "[1,2,3]" not in run.team.get(f"{run.path}/action-log").text
    assert run.organiser.get(f"{run.path}/episodes/a/replay").json()["trajectory"] == [[1, 2, 3]]
    blobs.put(blob_keys.make_replay_key(run.id, "a"), before)


def test_logs_are_text_within_their_budget(run: Run) -> None:
    answer = run.team.get(f"{run.path}/logs")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.splitlines()[0] == "loading weights\ufffd[2J"  # no terminal is cleared
    assert "=== episode a\nepisode a done\n" in answer.text
    assert run.team.get(f"{run.path}/logs", params={"episode": "b"}).text == "episode b done\n"
    assert run.team.get(f"{run.path}/logs", params={"episode": "../../x"}).status_code == 404
    assert run.stranger.get(f"{run.path}/logs").status_code == 403
    run.server.settings.store.open_blobs().put(blob_keys.make_episode_log_key(run.id, "c"), b"x" * 5000)
    assert len(run.team.get(f"{run.path}/logs", params={"episode": "c"}).text) == 1025


def test_files_are_for_keeping_and_never_pages_of_ours(run: Run) -> None:
    listed = {row["name"]: row for row in run.team.get(f"{run.path}/artifacts").json()["items"]}
    assert set(listed) == {"map.png", "evil%20page.html", REPORT_FILE}
    public = {row["name"] for row in run.anybody.get(f"{run.path}/artifacts").json()["items"]}
    assert public == {"map.png"}  # a report holds scores episode by episode, and so may anything but a picture
    assert run.anybody.get(f"{run.path}/artifacts/{REPORT_FILE}").status_code == 403
    page = run.team.get(listed["evil%20page.html"]["url"].removeprefix("/api/v1"))
    assert page.status_code == 200
    assert page.headers["content-type"] == "application/octet-stream"
    assert page.headers["content-disposition"] == "attachment; filename*=UTF-8''evil%20page.html"
    assert page.headers["x-content-type-options"] == "nosniff"
    first = run.team.get(f"{run.path}/artifacts", params={"limit": 2}).json()
    second = run.team.get(f"{run.path}/artifacts", params={"limit": 2, "cursor": first["next"]}).json()
    assert {row["name"] for row in (*first["items"], *second["items"])} == set(listed)
    for trick in ("..%2f..%2fstore.db", "%2e%2e/x", "a//b", "x" * 300, "%00", ".hidden"):
        assert run.team.get(f"{run.path}/artifacts/{trick}").status_code == 404


@pytest.mark.parametrize(
    ("header", "status", "body"),
    [
        (None, 200, bytes(range(100))),
        ("bytes=0-9", 206, bytes(range(10))),
        ("bytes=90-", 206, bytes(range(90, 100))),
        ("bytes=-5", 206, bytes(range(95, 100))),
        ("bytes=95-400", 206, bytes(range(95, 100))),
        ("bytes=0-1,5-6", 200, bytes(range(100))),
        ("lines=1-2", 200, bytes(range(100))),
        ("bytes=100-", 416, None),
        ("bytes=5-4", 416, None),
    ],
)
def test_parts_of_files(run: Run, header: str | None, status: int, body: bytes | None) -> None:
    answer = run.team.get(f"{run.path}/artifacts/map.png", headers={"Range": header} if header else {})
    assert answer.status_code == status
    if body is not None:
        assert answer.content == body
    if status == 416:
        assert answer.headers["content-range"] == "bytes */100"


def test_the_last_bytes_of_an_empty_file_do_not_exist() -> None:
    assert parse_range("bytes=0-0", 1) == ByteRange(0, 1)
    with pytest.raises(BadRange):
        parse_range("bytes=-0", 10)
    with pytest.raises(BadRange):
        parse_range("bytes=-5", 0)


def test_a_rerun_costs_the_team_a_slot_and_the_organiser_none(run: Run) -> None:
    def used() -> int:
        return int(run.team.get(f"/teams/{run.team_id}/quota").json()[0]["used_total"])

    with run.cup.database.begin() as session:
        workers.register_worker(session, "idle", host="h", version="1", slots=1000)
    before = used()
    again = run.team.post(f"{run.path}/rerun").json()
    assert (again["rerun_of"], again["status"], used()) == (str(run.id), "validating", before + 1)
    with run.cup.database.read() as session:
        assert all(job.dispatched_at is not None for job in jobs_of(session, UUID(again["id"])))
    assert run.team.post(f"/submissions/{again['id']}/rerun").status_code == 409  # not before it ends
    assert run.team.post(f"/submissions/{again['id']}/cancel", json={"reason": "typo"}).json()["message"] == "typo"
    assert run.organiser.post(f"{run.path}/rerun").status_code == 201
    assert used() == before


def test_scores_stay_with_the_organiser_where_the_phase_says_so(gateway: Server, cup: Challenge, run: Run) -> None:
    secret = {**GENEROUS, "visibility": {"scores": "organiser", "episodes": "organiser", "replays": "team"}}
    cup.apply(competition_config(secret), allow_dangerous=True)
    try:
        own = run.team.get(run.path).json()
        assert own["score"] is None
        assert own["scores"] is None
        assert own["progress"]["means"] is None
        assert run.anybody.get(run.path).status_code == 404
        assert run.team.get(f"{run.path}/episodes").status_code == 403
        assert REPORT_FILE not in {row["name"] for row in run.team.get(f"{run.path}/artifacts").json()["items"]}
        assert json.dumps(run.organiser.get(run.path).json()["scores"]) != "null"
    finally:
        cup.apply(
            competition_config(
                {**GENEROUS, "visibility": {"preset": "practice", "replays": "public"}, "limits": {"log_kb": 1}}
            ),
            allow_dangerous=True,
        )


def test_a_disqualified_team_leaves_the_public_eye(cup: Challenge, run: Run) -> None:
    change = {"actor": jobs.make_system_actor("test"), "reason": "two accounts"}
    assert run.anybody.get(run.path).status_code == 200
    cup.do(lambda s: moderation.disqualify_team(s, s.get_one(Team, run.team_id), **change))
    assert run.anybody.get(run.path).status_code == 404
    assert run.team.get(run.path).status_code == 200
    cup.do(lambda s: moderation.reinstate_team(s, s.get_one(Team, run.team_id), **change))
    assert run.anybody.get(run.path).status_code == 200


def test_a_removed_member_sees_nothing_more(gateway: Server, run: Run) -> None:
    with gateway.client(gateway.user("guest")) as guest:
        secret = run.team.post(f"/teams/{run.team_id}/invitations", json={}).json()["secret"]
        guest.post("/invitations/accept", json={"secret": secret}).raise_for_status()
        assert guest.get(f"{run.path}/logs").status_code == 200
        with gateway.database.begin() as session:
            team = session.get_one(Team, run.team_id)
            user = next(member.user for member in teams.list_members(session, team) if member.user.name == "guest")
            teams.remove_member(session, team, user, actor=jobs.make_system_actor("test"))
        assert guest.get(f"{run.path}/logs").status_code == 403
