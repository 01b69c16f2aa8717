"""`nav-eval collect` can be ended at any moment, by the worst of signals, and goes on where it was."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.evaluation.verification import verify
from support.load import Deadline

pytestmark = pytest.mark.integration

EPISODES = 150


@pytest.fixture
def collect(room_data: Path, room_episodes: list[Episode], tmp_path: Path) -> list[str]:
    """The command of a collection of some size."""
    originals = [room_episodes[number % len(room_episodes)] for number in range(EPISODES)]
    names = [msgspec.structs.replace(e.public, episode_id=f"e{number}") for number, e in enumerate(originals)]
    many = [msgspec.structs.replace(e, public=public) for e, public in zip(originals, names, strict=True)]
    write_episodes(tmp_path / "many.json.gz", many)
    place = [f"dataset.data_path={tmp_path / 'many.json.gz'}", f"dataset.scene_path={room_data}"]
    options = ["--out", str(tmp_path / "run"), *place]
    return ["collect", "demo_lh_vln", *options]


def lines_of(run: Path) -> list[str]:
    """The episodes that are on disk, whole ones only."""
    file = run / "episodes.jsonl"
    return [line for line in file.read_text().split("\n")[:-1] if line] if file.exists() else []


def test_a_killed_collection_goes_on(collect: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    run = tmp_path / "run"
    command = [sys.executable, "-m", "nav_eval.cli", *collect, "--workers", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = Deadline(120)
    while len(lines_of(run)) < 10:
        assert process.poll() is None, "it ended before it could be killed"
        assert not deadline.is_over
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = lines_of(run)
    assert 10 <= len(kept) < EPISODES
    again = CliRunner().invoke(app, collect)
    assert again.exit_code == 0, again.output
    done = lines_of(run)
    assert done[: len(kept)] == kept  # played once, and never again
    assert sorted(json.loads(line)["episode_id"] for line in done) == sorted(f"e{n}" for n in range(EPISODES))
    assert verify(run, cache=tmp_path / "cache").equal
