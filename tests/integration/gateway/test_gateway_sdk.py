"""The SDK's own client, through the whole life of a submission."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from nav_eval.records.results import Cause
from nav_eval_sdk import cli, http_client
from nav_eval_sdk.client import ChallengeClient
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.http_client import ServerError
from nav_eval_sdk.submission import format_verdict, submit, watch
from nav_eval_store import blob_keys
from nav_eval_store.work import jobs
from support.archives import File, tar
from support.challenge import Challenge
from support.gateway import Server

pytestmark = pytest.mark.integration


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    file = tmp_path / "agent.tar"
    file.write_bytes(tar([File("manifest.json", b"[]"), File("layer.tar", os.urandom(20_000_000))]))
    return file


@pytest.fixture
def token(gateway: Server, cup: Challenge) -> str:
    name = f"sdk-{os.urandom(4).hex()}"
    with gateway.captain(name) as captain:
        return captain.headers["authorization"].removeprefix("Bearer ")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the SDK remembers servers and uploads."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NAV_EVAL_TOKEN", raising=False)
    monkeypatch.delenv("NAV_EVAL_SERVER", raising=False)
    return tmp_path


def start_with_first_event(worker: threading.Thread, events: Callable[[str], Iterator[Any]]) -> Any:
    """Nothing happens before somebody watches."""

    def watched(submission_id: str) -> Iterator[Any]:
        for number, event in enumerate(events(submission_id)):
            if number == 0:
                worker.start()
            yield event

    return watched


@pytest.mark.usefixtures("home")
def test_submit_watch_logs(
    gateway: Server, cup: Challenge, token: str, archive: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ChallengeClient(gateway.url, token, pause=0.05)
    assert str(client.who_am_i()["team"]).startswith("Team sdk-")
    submission = submit(client, str(archive), competition="cup", phase="dev", note="mine")
    found = client.submission(submission.submission_id)
    assert found.status == "validating"
    assert found.document["image_sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert (found.document["name"], found.document["note"]) == ("agent.tar", "mine")

    number = UUID(submission.submission_id)
    worker = threading.Thread(target=lambda: (cup.prepare(number), cup.run(number)))
    monkeypatch.setattr(client, "events", start_with_first_event(worker, client.events))
    ended = watch(client, submission.submission_id)
    worker.join()
    assert ended.status == "completed"
    assert "tar 0.5000" in format_verdict(ended)
    said = capsys.readouterr().err
    assert "the agent answers (1.5 s)" in said
    assert "completed" in said

    gateway.settings.store.open_blobs().put(blob_keys.make_agent_log_key(number), "Läuft\n".encode())
    assert list(client.logs(submission.submission_id)) == ["Läuft"]
    with pytest.raises(SdkError, match="leave out `episode`"):  # whoever does not see episodes sees no log of one
        list(client.logs(submission.submission_id, episode="a"))


@pytest.mark.usefixtures("home")
def test_the_commands(gateway: Server, cup: Challenge, token: str, archive: Path, capsys) -> None:
    def run(*words: str) -> int:
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        return int(ended.value.code or 0)

    assert run("login", gateway.url, "--token", token) == 0
    assert http_client.load_credentials().token == token
    assert run("submit", str(archive), "--competition", "cup", "--phase", "dev", "--name", "v1") == 0
    submission = capsys.readouterr().out.split()[-1]
    lease = cup.claim_of(UUID(submission))
    cup.do(lambda session: jobs.fail_job(session, lease, Cause.IMAGE_INVALID, "two images"))
    assert run("watch", submission) == 1
    assert "failed: image_invalid: two images. Build for linux/amd64" in capsys.readouterr().out
    assert run("logs", submission) == 0
    assert run("leaderboard", "cup", "dev") == 0
    assert capsys.readouterr().out.startswith("rank")
    assert run("submit", str(archive), "--competition", "cup", "--phase", "nope") == 2
    assert "has no phase 'nope'" in capsys.readouterr().err


@pytest.mark.usefixtures("home")
def test_an_interrupted_submit_goes_on_even_without_its_memory(
    gateway: Server, token: str, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ChallengeClient(gateway.url, token)
    from nav_eval_sdk import client as upload

    sent: list[int] = []
    send = upload.Upload._send

    def cut(self: upload.Upload, location: str, offset: int, data: bytes) -> int:
        if len(sent) == 2:
            raise KeyboardInterrupt
        sent.append(offset)
        return send(self, location, offset, data)

    monkeypatch.setattr(upload.Upload, "_send", cut)
    with pytest.raises(KeyboardInterrupt):
        submit(client, str(archive), competition="cup", phase="dev")
    monkeypatch.setattr(upload.Upload, "_send", send)
    (http_client.get_cache_dir() / "uploads.json").unlink()
    again = submit(client, str(archive), competition="cup", phase="dev")
    found = client.submission(again.submission_id)
    assert found.status == "validating"
    assert found.document["number"] == 1  # one submission, one slot


def test_refusals_are_one_sentence(gateway: Server, token: str) -> None:
    with pytest.raises(ServerError, match=r"\(401\).*login"):
        ChallengeClient(gateway.url, "nve_wrong").who_am_i()
    client = ChallengeClient(gateway.url, token)
    with pytest.raises(ServerError, match=r"\(404\): There is no such submission"):
        client.submission("00000000-0000-0000-0000-000000000000")
    with pytest.raises(ServerError, match="20 GB that this phase allows"):
        client.create_submission(competition="cup", phase="dev", sha256="0" * 64, size=10**12)
