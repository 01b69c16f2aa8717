"""Submitting over a bad line, watching, and reading boards: against a real HTTP server."""

import json
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from challenge_server import TOKEN, Challenge

from nav_eval_sdk import cli, http_client
from nav_eval_sdk.client import ChallengeClient, parse_events
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.http_client import HttpClient, ServerError, Unreachable
from nav_eval_sdk.submission import ProgressBar, hash_archive
from nav_eval_sdk.upload import Upload

pytestmark = pytest.mark.integration

SIZE = 300_000
CHUNK = 70_000


@pytest.fixture
def challenge() -> Iterator[Challenge]:
    server = Challenge()
    server.submissions["s0"] = {"id": "s0", "status": "created", "sha256": ""}
    yield server
    server.close()


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NAV_EVAL_SERVER", raising=False)
    monkeypatch.delenv("NAV_EVAL_TOKEN", raising=False)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    file = tmp_path / "image.tar"
    file.write_bytes(np.random.default_rng(0).bytes(SIZE))
    return file


def an_upload(challenge: Challenge, archive: Path, tmp_path: Path) -> Upload:
    metadata = {"submission_id": "s0", "filename": archive.name, "sha256": hash_archive(archive)}
    http = HttpClient(challenge.url, TOKEN)
    return Upload(http, archive, metadata=metadata, memory=tmp_path / "uploads.json", pause=0.01)


def test_an_archive_arrives_in_pieces(challenge: Challenge, archive: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    location = an_upload(challenge, archive, tmp_path).run("/api/v1/uploads", notice=seen.append, chunk=CHUNK)
    assert bytes(challenge.uploads[location.rsplit("/", 1)[1]]) == archive.read_bytes()
    assert seen == [0, 70_000, 140_000, 210_000, 280_000, 300_000]
    assert challenge.submissions["s0"]["status"] == "validating"
    assert json.loads((tmp_path / "uploads.json").read_text()) == {}, "a finished upload is forgotten"


def test_a_line_that_breaks_again_and_again_only_costs_time(
    challenge: Challenge, archive: Path, tmp_path: Path
) -> None:
    challenge.cut_after = [10_000, 0, 50_000, 33_333]
    an_upload(challenge, archive, tmp_path).run("/api/v1/uploads", chunk=CHUNK)
    (data,) = challenge.uploads.values()
    assert bytes(data) == archive.read_bytes()


def test_the_same_command_goes_on_where_it_stopped(challenge: Challenge, archive: Path, tmp_path: Path) -> None:
    def stop(offset: int) -> None:
        if offset >= 140_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        an_upload(challenge, archive, tmp_path).run("/api/v1/uploads", notice=stop, chunk=CHUNK)
    seen: list[int] = []
    an_upload(challenge, archive, tmp_path).run("/api/v1/uploads", notice=seen.append, chunk=CHUNK)
    assert seen[0] == 140_000
    assert len(challenge.uploads) == 1
    assert challenge.submissions["s0"]["status"] == "validating"


def test_an_upload_that_the_server_forgot_begins_anew(challenge: Challenge, archive: Path, tmp_path: Path) -> None:
    def stop(offset: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        an_upload(challenge, archive, tmp_path).run("/api/v1/uploads", notice=stop, chunk=CHUNK)
    challenge.uploads.clear()
    an_upload(challenge, archive, tmp_path).run("/api/v1/uploads", chunk=CHUNK)
    assert challenge.submissions["s0"]["status"] == "validating"


def test_a_refusal_is_one_sentence(challenge: Challenge, archive: Path, tmp_path: Path) -> None:
    challenge.refuse["POST /api/v1/uploads"] = (413, "At most 40 GB.")
    with pytest.raises(ServerError, match=r"The server refuses \(413\): At most 40 GB\."):
        an_upload(challenge, archive, tmp_path).run("/api/v1/uploads")


def test_the_token_never_goes_to_another_host(challenge: Challenge, archive: Path, tmp_path: Path) -> None:
    other = Challenge()
    challenge.elsewhere = other.url
    with pytest.raises(SdkError, match="another host"):
        an_upload(challenge, archive, tmp_path).run("/api/v1/uploads")
    assert other.requests == []
    other.close()


def test_a_server_that_is_not_there_is_said_to_be() -> None:
    with pytest.raises(Unreachable, match="does not answer"):
        HttpClient("http://127.0.0.1:9", TOKEN).json("GET", "/api/v1/me")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    return int(ended.value.code or 0)


HAPPY = [
    ("status", {"status": "queued", "position": 3}),
    ("status", {"status": "running"}),
    ("progress", {"done": 5, "total": 10}),
    ("progress", {"done": 10, "total": 10}),
    ("done", {"status": "completed", "scores": {"TAR": 0.5}}),
]


def test_login_submit_watch(challenge: Challenge, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    challenge.events = HAPPY
    archive, manifest = tmp_path / "image.tar", tmp_path / "manifest.json"
    manifest.write_text("[]")
    with tarfile.open(archive, "w") as packed:
        packed.add(manifest, "manifest.json")
    assert run("login", challenge.url, "--token", TOKEN) == 0
    assert "Team XYZ" in capsys.readouterr().out
    file = http_client.get_config_dir() / "credentials.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run("submit", str(archive), "--competition", "c", "--phase", "dev", "--watch") == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == ["s2", "completed: TAR 0.5000"]
    assert "number 3 in the queue" in said.err
    assert challenge.submissions["s2"]["competition"] == "c"


def test_a_failure_is_told_with_its_advice(
    challenge: Challenge, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    challenge.events = [
        ("done", {"status": "failed", "cause": "agent_oom", "message": "Killed at 8 GB.", "advice": "Use less."})
    ]
    monkeypatch.setenv("NAV_EVAL_TOKEN", TOKEN)
    assert run("watch", "s0", "--server", challenge.url) == 1
    assert capsys.readouterr().out.strip() == "failed: agent_oom: Killed at 8 GB. Use less."


def test_watching_survives_broken_streams(challenge: Challenge) -> None:
    challenge.events = HAPPY
    challenge.cut_events = [2, 2, 4]
    client = ChallengeClient(challenge.url, TOKEN, pause=0.001)
    assert [event.kind for event in client.events("s0")] == [kind for kind, _ in HAPPY]
    assert challenge.seen_event_ids == ["", "1", "1", "3"]


def test_logs_and_leaderboard(
    challenge: Challenge, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAV_EVAL_SERVER", challenge.url)
    monkeypatch.setenv("NAV_EVAL_TOKEN", TOKEN)
    assert run("logs", "s0", "--episode", "ep 1") == 0
    assert capsys.readouterr().out == "first line\nsecond line\n"
    assert "GET /api/v1/submissions/s0/logs?episode=ep%201" in challenge.requests
    assert run("leaderboard", "vln 2026", "../dev") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["rank", "team", "TAR", "ISR"],
        ["1", "Team", "XYZ", "0.5000", "0.2500"],
        ["2", "迷路", "0.1250", "–"],
    ]
    assert "GET /api/v1/competitions/vln%202026/phases/..%2Fdev/leaderboard" in challenge.requests
    assert run("leaderboard", "c", "p", "--json") == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["TAR", "ISR"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["watch", "s0"], "Which server?"),
        (["watch", "nope", "--server", "URL"], "There is no submission nope."),
        (["logs", "s0", "--server", "ftp://x"], "is no server"),
        (["submit", "no-such-image-x", "--competition", "c", "--phase", "p", "--server", "URL"], "no-such-image-x"),
        (["serve", "agent"], "is no agent"),
        (["serve", "no_such_module_x:A"], "Cannot load"),
        (["check", "grpc://h:1", "--sensor", "rgb"], "is no sensor"),
        (["check", "grpc://h:1", "--task", "cooking"], "no task 'cooking'"),
        (["test", "demo"], "--agent ADDRESS or --image"),
    ],
)
def test_a_refusal_is_one_line(
    challenge: Challenge,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.setenv("NAV_EVAL_TOKEN", TOKEN)
    assert run(*(challenge.url if word == "URL" else word for word in arguments)) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_without_a_token_one_is_told_to_log_in(challenge: Challenge, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("watch", "s0", "--server", challenge.url) == 2
    assert "nav-eval-sdk login" in capsys.readouterr().err


def test_events_are_read_as_the_standard_says() -> None:
    text = ': comment\nevent: log\ndata: two\ndata: lines\nid: 7\n\ndata:{"a":1}\n\nevent: empty\n\n'
    events = list(parse_events(iter(text.splitlines(keepends=True))))
    assert [(event.kind, event.data, event.event_id) for event in events] == [
        ("log", {"text": "two\nlines"}, "7"),
        ("message", {"a": 1}, "7"),
    ]


def test_a_bar_says_how_far_it_is() -> None:
    line = ProgressBar("Uploading", 200, unit="MB").line(50, "fast")
    assert line.startswith("Uploading ███████░")
    assert " 25% 50/200 MB" in line
    assert line.endswith("left  fast")


def test_a_local_evaluation_calls_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "nav-eval"
    engine.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\nexit 3\n')
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    out = tmp_path / "run"
    assert run("test", "demo_vln", "--agent", "agent.py:A", "--out", str(out), "--", "--episodes", "2") == 3
    assert (tmp_path / "called").read_text().split() == [
        *("evaluate", "demo_vln", "--agent", "agent.py:A", "--out", str(out), "--episodes", "2")
    ]
