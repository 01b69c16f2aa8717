"""What a team reads on the way to the board: each message says what to do next."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.host import BadAnswer, parse_answer
from nav_eval_sdk.submission import ProgressBar, format_verdict, open_archive


def test_a_verdict_is_made_of_sentences() -> None:
    told = {"cause": "agent_crash", "message": "It ended with exit code 3.", "advice": "Read the log."}
    submission = SimpleNamespace(status="failed", document=told)
    assert format_verdict(submission) == "failed: agent_crash: It ended with exit code 3. Read the log."  # type: ignore[arg-type]


def test_progress_goes_into_a_file_as_lines() -> None:
    out = io.StringIO()
    bar = ProgressBar("Evaluating", 40, unit="episodes", out=out)
    for done in range(41):
        bar.update(done)
    bar.close()
    lines = out.getvalue().splitlines()
    assert lines[0] == "Evaluating: 4 of 40 episodes"
    assert len(lines) == 10
    assert "\r" not in out.getvalue()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("agent", "is a folder"),
        ("missing.tar", "There is no file"),
        ("./image", "There is no file"),
        ("text.tar", r"is no archive of an image \(file could not be opened successfully\); write it with"),
        ("folder.tar", "without an image in it"),
        ("team/image:1", "docker"),
    ],
)
def test_what_cannot_be_submitted_is_refused_before_the_upload(
    what: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    Path("agent").mkdir()
    Path("text.tar").write_text("hello")
    with tarfile.open("folder.tar", "w") as archive:
        archive.add("text.tar")
    with pytest.raises(SdkError, match=said), open_archive(what):
        pass


def test_an_archive_of_an_image_passes(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps([]))
    with tarfile.open(tmp_path / "image.tar", "w") as archive:
        archive.add(tmp_path / "manifest.json", "manifest.json")
    with open_archive(str(tmp_path / "image.tar")) as file:
        assert file.name == "image.tar"


def test_login_without_a_terminal_says_how_to_give_the_token() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nav_eval_sdk", "login", "http://127.0.0.1:9"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 2
    assert "--token" in done.stderr


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (1, "actions are names: stop, move_forward"),
        ({"action": 1}, "'action' is 1, but actions are names: stop, move_forward"),
        ({"act": "stop"}, "a mapping needs 'action'"),
        ({"action": "go", "action_args": 3}, "'action_args' must map"),
    ],
)
def test_a_wrong_answer_is_told_the_names(answer: object, said: str) -> None:
    with pytest.raises(BadAnswer, match=said):
        parse_answer(answer, ("stop", "move_forward"))


def test_what_trying_left_behind_is_not_packed(tmp_path: Path) -> None:
    project = tmp_path / "agent"
    for name in ("agent.py", "runs/mine/episodes.jsonl", "data/demo/scenes/house.glb", "data/weights.bin"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")
    from nav_eval_sdk.project import _list_files

    assert {file.relative_to(project).as_posix() for file in _list_files(project)} == {"agent.py", "data/weights.bin"}
