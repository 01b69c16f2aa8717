"""Competitions to take away: whole for organisers, public for anybody, and both can be computed again."""

import csv
import io
import json
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import select

from nav_eval.records.results import ResultLine
from nav_eval_gateway.responses import stream_zip
from nav_eval_store.competitions import moderation
from nav_eval_store.competitions.export import ExportFile
from nav_eval_store.models import EpisodeRow
from nav_eval_store.work import jobs
from support.challenge import EPISODES, GENEROUS, TEST, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration

SECRET = "walk past the red sofa to the kitchen"


def subtask(index: int, *, success: bool) -> dict:
    return {
        "success": success,
        "oracle_success": success,
        "navigation_error": 0.3 if success else 2.0 + index,
        "ground_truth_distance": 4.0 + index,
        "ground_truth_steps": 20 + index,
        "steps": 25,
        "path_length": 5.0,
    }


def outcome(episode: str, *, good: bool) -> dict:
    subtasks = [subtask(index, success=good and index == 0) for index in range(2)]
    isr = sum(s["success"] for s in subtasks) / 2
    return {
        "episode_id": episode,
        "status": "completed",
        "num_steps": 50,
        "scene_id": f"secret_house_{EPISODES.index(episode) % 2}",
        "instruction": SECRET,
        "shortest_path_length": 9.0,
        "subtasks": subtasks,
        "metrics": {"isr": isr, "tar": 0.5, "csr": 0.25, "cgt": 0.5, "ne": 1.0},
    }


def encode_line(result: dict) -> ResultLine:
    return ResultLine.from_bytes(json.dumps(result).encode())


class World:
    def __init__(self, server: Server) -> None:
        self.server = server
        phases = [
            {**GENEROUS, "visibility": {"episodes": "public"}},
            {"name": "quiet", **GENEROUS},
            {"name": "secret", **GENEROUS, "visibility": {"scores": "organiser", "episodes": "public"}},
        ]
        self.cup = cup = Challenge(server.database, competition_config(*phases))
        self.team = cup.team("Ants")
        self.shown = {phase: self.play(phase) for phase in ("dev", "quiet", "secret")}
        self.hidden = self.play("dev")
        cup.do(lambda s: moderation.hide_submission(s, self.hidden, actor=TEST, reason="for now"))
        self.olga = server.client(server.user("olga", organiser=True))

    def play(self, phase: str):
        submission = self.cup.queue(self.team, phase=phase)
        lease = self.cup.claim_of(submission)
        with self.server.database.begin() as session:
            for episode in jobs.list_unfinished_episodes(session, lease.job_id):
                jobs.record_episode(session, lease, encode_line(outcome(episode, good=episode != "a")))
        self.cup.do(lambda s: jobs.finish_shard(s, lease))
        self.cup.score(submission)
        return submission


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with serving(gateway_settings(tmp_path_factory.mktemp("exports"))) as server:
        yield World(server)


def archive(answer) -> zipfile.ZipFile:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    opened = zipfile.ZipFile(io.BytesIO(answer.content))
    assert opened.testzip() is None
    return opened


def test_an_organiser_takes_all_of_it_and_the_log_says_so(world: World) -> None:
    files = archive(world.olga.get("/competitions/cup/export"))
    names = set(files.namelist())
    assert {"competition.json", "teams.jsonl", "submissions.jsonl", "ledger.jsonl", "audit.jsonl"} <= names
    assert f"episodes/{world.hidden}.jsonl" in names
    assert SECRET in files.read(f"episodes/{world.shown['dev']}.jsonl").decode()
    assert len(files.read("submissions.jsonl").splitlines()) == 4
    line = world.olga.get("/competitions/cup/audit", params={"limit": 1}).json()["items"][0]
    assert (line["action"], line["actor"]) == ("competition.export", "user:olga")


def test_the_public_takes_what_is_public_and_nothing_else(world: World) -> None:
    files = archive(world.server.client().get("/competitions/cup/results"))
    names = set(files.namelist())
    assert names == {
        "README.md",
        "competition.json",
        "phases/dev/board.json",
        "phases/dev/board.csv",
        f"phases/dev/episodes/{world.shown['dev']}.jsonl",
        "phases/quiet/board.json",
        "phases/quiet/board.csv",
    }
    everything = b"".join(files.read(name) for name in names).decode()
    assert SECRET not in everything
    assert "secret" not in everything, "neither the names of scenes nor of the hidden phase"
    assert "ants@example.org" not in everything
    assert str(world.hidden) not in everything


def test_anybody_computes_the_board_again(world: World, tmp_path: Path) -> None:
    files = archive(world.server.client().get("/competitions/cup/results"))
    files.extractall(tmp_path)
    (row,) = csv.DictReader(io.StringIO((tmp_path / "phases/dev/board.csv").read_text()))
    episodes = tmp_path / "phases/dev/episodes" / f"{row['submission']}.jsonl"
    command = [str(Path(sys.executable).parent / "nav-eval"), "score", str(episodes), "--task", "lh_vln", "--json"]
    scores = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert scores["isr"] == pytest.approx(float(row["isr"]), abs=1e-12)
    lines = [json.loads(text) for text in episodes.read_text().splitlines()]
    assert {entry["scene_id"] for entry in lines} == {"scene_1", "scene_2"}


def test_results_are_made_again_only_when_a_board_has_changed(world: World) -> None:
    anybody = world.server.client()
    first = anybody.get("/competitions/cup/results")
    assert int(first.headers["content-length"]) == len(first.content)
    known = {"If-None-Match": first.headers["etag"]}
    assert anybody.get("/competitions/cup/results", headers=known).status_code == 304
    assert anybody.get("/competitions/cup/results").content == first.content
    world.cup.do(lambda s: moderation.show_submission(s, world.hidden, actor=TEST, reason="fine"))
    later = anybody.get("/competitions/cup/results", headers=known)
    world.cup.do(lambda s: moderation.hide_submission(s, world.hidden, actor=TEST, reason="for now"))
    assert later.status_code == 200
    assert later.content != first.content


def test_breakdown_by_what_the_caller_may_know(world: World) -> None:
    path = f"/submissions/{world.shown['dev']}/breakdown"
    anybody = world.server.client()
    by_subtasks = anybody.get(path).json()["groups"]
    assert [(group["label"], group["episodes"]) for group in by_subtasks] == [("2", 4)]
    assert by_subtasks[0]["metrics"]["isr"]["mean"] == pytest.approx(0.375)
    scenes = anybody.get(path, params={"by": "scene"}).json()["groups"]
    assert [(group["label"], group["episodes"]) for group in scenes] == [("scene 1", 2), ("scene 2", 2)]
    named = world.olga.get(path, params={"by": "scene"}).json()["groups"]
    assert [group["label"] for group in named] == ["secret_house_0", "secret_house_1"]
    assert [group["metrics"] for group in named] == [group["metrics"] for group in scenes]
    lengths = anybody.get(path, params={"by": "path"}).json()["groups"]
    assert [group["episodes"] for group in lengths] == [4]
    assert anybody.get(f"/submissions/{world.shown['secret']}/breakdown").status_code == 404


def test_a_result_of_a_form_that_we_do_not_know_is_refused_in_a_sentence(world: World) -> None:
    odd = world.play("dev")
    with world.server.database.begin() as session:  # as another version might have written it
        rows = session.scalars(select(EpisodeRow).where(EpisodeRow.submission_id == odd))
        for row in rows:
            row.outcome = json.dumps({**outcome(row.episode_id, good=True), "subtasks": "many"})
    answer = world.olga.get(f"/submissions/{odd}/breakdown")
    world.cup.do(lambda s: moderation.hide_submission(s, odd, actor=TEST, reason="odd"))
    assert (answer.status_code, "a format" in answer.json()["detail"]) == (409, True)


def test_an_archive_is_sent_while_it_is_made() -> None:
    made = []

    def chunks():
        for number in range(100):
            made.append(number)
            yield random.Random(number).randbytes(50_000)

    stream = stream_zip([ExportFile("many", chunks()), ExportFile("empty", []), ExportFile("näme.txt", [b"x"])])
    first = next(stream)
    assert len(made) < 100, "the first piece comes before the last chunk was asked for"
    whole = zipfile.ZipFile(io.BytesIO(first + b"".join(stream)))
    assert whole.testzip() is None
    assert whole.namelist() == ["many", "empty", "näme.txt"]
    assert len(whole.read("many")) == 100 * 50_000
