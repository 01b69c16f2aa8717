"""`nav-eval demo`, as somebody on a fresh machine sees it."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from processes import command_of, end, processes_in, processes_with, running, until
from typer.testing import CliRunner

from nav_eval.child_process import make_nav_eval_command
from nav_eval.cli import app
from nav_eval_demo.home import DATABASE, STATE, DemoHome

pytestmark = pytest.mark.integration

SHORT = """
benchmark:
  extends: lh_vln_base
  name: Short demo
  task:
    sensors:
      semantic_front: {width: 64, height: 64, hfov: 90}
      depth_front: {width: 64, height: 64, hfov: 90}
      categories: {}
  dataset:
    format: nav_eval
    data_path: data/lh_vln/{split}.json.gz
    scene_path: data/scenes/
    split: val_unseen
    generate: {houses: 1, seed: 12, episodes: 2, split: val_unseen, subtasks: [2, 2]}
"""
"""The demo's benchmark, with less of everything: a name in ./configs goes before ours."""
AGENTS = ("random", "forward", "keyword")
MEASURED = ("tar", "isr", "csr", "cgt")


class Place:
    """A folder to play in, and the demo in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "var" / "demo"
        (folder / "configs" / "benchmarks").mkdir(parents=True)
        (folder / "configs" / "benchmarks" / "demo_lh_vln.yaml").write_text(SHORT)

    def run(self, *arguments: str, seconds: float = 300.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            make_nav_eval_command(*arguments),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def running(self, *arguments: str):
        return running("demo", *arguments, log=self.log, environment={}, cwd=self.folder)

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    def printed(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.log.read_text()) if self.log.exists() else None

    def left(self) -> list[int]:
        """Processes of its installation that still run."""
        return sorted({*processes_with(f"NAV_EVAL_HOME={self.home}"), *processes_in(self.home)})

    @property
    def state(self) -> dict:
        return json.loads((self.home / STATE).read_text())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("demo"))


class Played:
    """A demo that was played to its end, once for all tests of this module."""

    def __init__(self, place: Place) -> None:
        self.place = place
        began = time.monotonic()
        self.first = place.run("demo", "--exit")
        self.seconds = time.monotonic() - began


@pytest.fixture(scope="module")
def played(place: Place) -> Played:
    return Played(place)


class Again:
    """A second start in the same place, with a port that is taken, until Ctrl-C."""

    def __init__(self, place: Place) -> None:
        began = time.monotonic()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.wished = taken.getsockname()[1]
            with place.running("--port", str(self.wished)) as process:
                served = until(lambda: place.printed(r"Served at (http://\S+?:(\d+))(\S+)\n"), seconds=120, what="it")
                self.seconds = time.monotonic() - began
                self.port = int(served[2])
                self.page = httpx.get(served[1] + served[3])
                self.board = httpx.get(f"{served[1]}/api/v1/competitions/demo/phases/dev/leaderboard").json()
                self.code = end(process, signal.SIGINT)
        self.left = place.left()


@pytest.fixture(scope="module")
def again(played: Played) -> Again:
    return Again(played.place)


@pytest.fixture(scope="module")
def board(again: Again) -> dict:
    return again.board


def test_it_ends_with_a_board_and_leaves_nothing_running(played):
    assert played.first.returncode == 0, played.first.stdout + played.first.stderr
    assert "Leaderboard" in played.first.stdout
    assert played.first.stdout.count("replayed") == 4, "every row is proven"
    assert re.search(r"–\s+Oracle\s+1\.000\s+1\.000\s+1\.000\s+1\.000\s+1\.000", played.first.stdout)
    assert all(f"Team {name.capitalize()}" in played.first.stdout for name in AGENTS)
    assert "Traceback" not in (played.place.home / "serve.log").read_text()
    assert played.place.left() == []


def test_its_passwords_are_its_owners_alone(played):
    for name in (STATE, "organiser-token", "secret-key"):
        assert stat.S_IMODE((played.place.home / name).stat().st_mode) == 0o600


def test_the_oracle_is_perfect_and_not_ranked(board):
    (oracle,) = (row for row in board["rows"] if row["kind"] == "upper_bound")
    assert oracle["rank"] is None
    assert {oracle["scores"][name] for name in MEASURED} == {1.0}
    assert oracle["score"]["mean"] == 1.0


def test_the_scores_are_those_of_the_baselines(board, played, monkeypatch):
    """Uploaded, unpacked, served by gRPC and run by a worker, an agent does what it does in the evaluator's process."""
    monkeypatch.chdir(played.place.folder)
    for name in AGENTS:
        out = played.place.folder / "runs" / name
        done = CliRunner().invoke(app, ["evaluate", "demo_lh_vln", "--agent", f"baseline:{name}", "--out", str(out)])
        assert done.exit_code == 0, done.output
        scored = CliRunner().invoke(app, ["score", str(out / "episodes.jsonl"), "--task", "lh_vln", "--json"])
        (row,) = (row for row in board["rows"] if row["team"] == f"Team {name.capitalize()}")
        expected = json.loads(scored.stdout)
        assert {metric: row["scores"][metric] for metric in MEASURED} == pytest.approx(
            {metric: expected[metric] for metric in MEASURED}, abs=1e-12
        )
        assert row["score"]["mean"] == pytest.approx(expected["score"], abs=1e-12)


def test_a_second_start_shows_what_the_first_one_did(board, played):
    submissions = {player["submission"] for player in played.place.state["players"]}
    assert {row["submission_id"] for row in board["rows"] if row["kind"] == "team"} == submissions
    assert all(row["submissions"] == 1 for row in board["rows"])


def test_two_demos_in_one_home(played):
    with DemoHome(played.place.home).alone():
        second = played.place.run("demo", "--exit", seconds=60)
    assert second.returncode == 2
    assert "A demo runs in" in second.stderr


def test_a_second_start_serves_the_board_that_it_prints(again):
    assert again.page.status_code == 200
    assert "Team Keyword" in again.page.text
    assert (again.code, again.left) == (0, [])


def test_a_port_that_is_taken_is_passed_over(again, played):
    assert again.wished < again.port <= again.wished + 100
    assert again.seconds < played.seconds / 2, "what is done is not done again"


def test_whatever_ends_it_it_leaves_nothing_running_and_goes_on_later(tmp_path, played):
    place = Place(tmp_path / "place")
    (place.folder / "data").symlink_to(played.place.folder / "data")

    def submitted() -> list[str]:
        return [player["submission"] for player in place.state["players"]]

    def interrupted_by(number: int) -> int:
        place.log.unlink(missing_ok=True)
        with place.running("--exit") as process:
            until(lambda: place.printed("have submitted"), seconds=120, what="the submissions")
            code = end(process, number, seconds=60)
        until(lambda: place.left() == [], seconds=60, what="the end of all processes")
        return code

    with place.running("--exit") as process:
        until(lambda: place.printed("have submitted"), seconds=120, what="the submissions")
        until(lambda: processes_in(place.home), seconds=120, what="an agent")
        end(process, signal.SIGKILL)
    until(lambda: place.left() == [], seconds=60, what="the end of all processes")
    first = submitted()
    assert len(first) == len(AGENTS)
    with place.running("--exit") as process:
        (server,) = until(lambda: [pid for pid in place.left() if "serve" in command_of(pid)], what="the server")
        os.kill(server, signal.SIGKILL)
        assert process.wait(timeout=60) == 2
    assert "The server ended with -9" in place.log.read_text()
    until(lambda: place.left() == [], seconds=60, what="the end of all processes")
    assert interrupted_by(signal.SIGTERM) == 130
    assert interrupted_by(signal.SIGINT) == 130
    done = place.run("demo", "--exit")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("replayed") == 4
    assert submitted() == first, "nothing is handed in twice"


def damaged_memory(home: Path) -> None:
    (home / STATE).write_text("{")


def older_memory(home: Path) -> None:
    (home / STATE).write_text('{"format": 0}')


def another_installation(home: Path) -> None:
    (home / DATABASE).write_bytes(b"")


@pytest.mark.parametrize(
    ("breaking", "said"),
    [
        (damaged_memory, "cannot be read"),
        (older_memory, "another version of nav-eval made it"),
        (another_installation, "another installation"),
    ],
)
def test_a_home_that_cannot_be_used_is_one_sentence(tmp_path, breaking, said):
    place = Place(tmp_path / "place")
    place.home.mkdir(parents=True)
    breaking(place.home)
    done = place.run("demo", "--exit")
    assert done.returncode == 2
    assert done.stderr.startswith("nav-eval: ")
    assert said in done.stderr
    assert "Delete the folder to begin anew, or choose another --home" in done.stderr


def test_a_damaged_database_is_told_with_the_servers_own_words(tmp_path, played):
    place = Place(tmp_path / "place")
    (place.folder / "data").symlink_to(played.place.folder / "data")
    place.home.mkdir(parents=True)
    (place.home / STATE).write_text('{"format": 1, "players": []}')
    (place.home / DATABASE).write_bytes(b"no database " * 1000)
    done = place.run("demo", "--exit")
    assert done.returncode == 2
    assert "file is not a database" in done.stderr
    assert "nav-eval doctor" in done.stderr
    assert place.left() == []


def test_results_by_other_rules_are_not_mixed(tmp_path, played):
    """The same home after an update that changed the benchmark."""
    rules = played.place.folder / "configs" / "benchmarks" / "demo_lh_vln.yaml"
    rules.write_text(SHORT.replace("  dataset:", "  evaluation: {success_distance: 2.5}\n  dataset:"))
    try:
        done = played.place.run("demo", "--exit")
    finally:
        rules.write_text(SHORT)
    assert done.returncode == 2
    assert "other rules" in done.stderr
    assert "--home" in done.stderr


def test_a_home_that_cannot_be_written(tmp_path):
    place = Place(tmp_path / "place")
    done = place.run("demo", "--exit", "--home", "/proc/nav-eval")
    assert done.returncode == 2
    assert "/proc/nav-eval" in done.stderr


@pytest.mark.slow
def test_the_whole_demo(tmp_path):
    """`make demo ARGS=--exit` in a folder where nothing is."""
    began = time.monotonic()
    done = subprocess.run(
        make_nav_eval_command("demo", "--exit"), cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "48/48" in done.stdout
    assert done.stdout.count("replayed") == 4
    assert re.search(r"–\s+Oracle\s+1\.000\s+1\.000\s+1\.000\s+1\.000\s+1\.000", done.stdout)
    assert processes_with(f"NAV_EVAL_HOME={tmp_path / 'var' / 'demo'}") == []
    print(f"{time.monotonic() - began:.0f} s")
