"""`nav-eval demo`, as somebody on a fresh machine sees it."""

import json
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from processes import command_of, end, processes_in, processes_with, running, until
from typer.testing import CliRunner

from nav_eval.child_process import make_nav_eval_command
from nav_eval.cli import app, main
from nav_eval_demo.home import DATABASE, STATE, DemoHome
from support.load import measure_slowdown

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
ORACLE = re.compile(r"–\s+Oracle\s+1\.000\s+1\.000\s+1\.000\s+1\.000\s+1\.000")
MEASURED = ("tar", "isr", "csr", "cgt")


class Place:
    """A folder to play in, and the demo in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "var" / "demo"
        (folder / "configs" / "benchmarks").mkdir(parents=True)
        (folder / "configs" / "benchmarks" / "demo_lh_vln.yaml").write_text(SHORT)

    def run(self, *arguments: str, seconds: float = 900.0) -> subprocess.CompletedProcess[str]:
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
    def serve_log(self) -> Path:
        return self.home / "serve.log"

    def list_work(self) -> tuple[dict[Path, int], int]:
        """When each file of the data was written, and how many jobs there were."""
        files = (path for path in (self.folder / "data").rglob("*") if path.is_file())
        with closing(sqlite3.connect(self.home / DATABASE)) as connection:
            ((jobs,),) = connection.execute("SELECT count(*) FROM jobs").fetchall()
        return {path: path.stat().st_mtime_ns for path in files}, jobs

    @property
    def state(self) -> dict:
        return json.loads((self.home / STATE).read_text())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("demo"))


class Played:
    """A demo that was ended in every way there is, then played to its end: once for all tests of this module."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.submitted: list[list[str]] = []
        with place.running("--exit") as process:
            until(lambda: place.printed("have submitted"), seconds=120, what="the submissions")
            until(lambda: processes_in(place.home), seconds=120, what="an agent")
            end(process, signal.SIGKILL)
        self._note_the_end()
        with place.running("--exit") as process:
            (server,) = until(lambda: [pid for pid in place.left() if "serve" in command_of(pid)], what="the server")
            os.kill(server, signal.SIGKILL)
            self.without_server = process.wait(timeout=60 * measure_slowdown())
        self.server_is_missed = place.log.read_text()
        self._note_the_end()
        self.interrupted = [self._interrupt_by(number) for number in (signal.SIGTERM, signal.SIGINT)]
        self.noise = place.serve_log.stat().st_size
        self.last = place.run("demo", "--exit")
        self._note_the_end()

    def _interrupt_by(self, number: int) -> int:
        self.place.log.unlink(missing_ok=True)
        with self.place.running("--exit") as process:
            until(lambda: self.place.printed("have submitted"), seconds=120, what="the submissions")
            code = end(process, number, seconds=60)
        self._note_the_end()
        return code

    def _note_the_end(self) -> None:
        until(lambda: self.place.left() == [], seconds=60, what="the end of all processes")
        self.submitted.append([player["submission"] for player in self.place.state["players"]])


@pytest.fixture(scope="module")
def played(place: Place) -> Played:
    return Played(place)


class Again:
    """A second start in the same place, with a port that is taken, until Ctrl-C."""

    def __init__(self, place: Place) -> None:
        before = place.list_work()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.wished = taken.getsockname()[1]
            with place.running("--port", str(self.wished)) as process:
                served = until(lambda: place.printed(r"Served at (http://\S+?:(\d+))(\S+)\n"), seconds=120, what="it")
                self.port = int(served[2])
                self.page = httpx.get(served[1] + served[3])
                self.board = httpx.get(f"{served[1]}/api/v1/competitions/demo/phases/dev/leaderboard").json()
                self.code = end(process, signal.SIGINT)
        self.left = place.left()
        self.did_nothing = place.list_work() == before


@pytest.fixture(scope="module")
def again(played: Played) -> Again:
    return Again(played.place)


@pytest.fixture(scope="module")
def board(again: Again) -> dict:
    return again.board


def test_whatever_ends_it_it_leaves_nothing_running_and_goes_on_later(played):
    assert len(played.submitted[0]) == len(AGENTS)
    assert all(played.submitted[0])
    assert played.submitted[1:] == played.submitted[:1] * 4, "nothing is handed in twice"
    assert played.without_server == 2
    assert played.interrupted == [130, 130]
    assert "The server ended with -9" in played.server_is_missed


def test_it_ends_with_a_board_and_leaves_nothing_running(played):
    assert played.last.returncode == 0, played.last.stdout + played.last.stderr
    assert "Leaderboard" in played.last.stdout
    assert played.last.stdout.count("replayed") == 4, "every row is proven"
    assert ORACLE.search(played.last.stdout)
    assert all(f"Team {name.capitalize()}" in played.last.stdout for name in AGENTS)
    assert "Traceback" not in played.place.serve_log.read_text()[played.noise :]
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
        second = played.place.run("demo", "--exit")
    assert second.returncode == 2
    assert "A demo runs in" in second.stderr


def test_a_second_start_serves_the_board_that_it_prints(again):
    assert again.page.status_code == 200
    assert "Team Keyword" in again.page.text
    assert (again.code, again.left) == (0, [])


def test_a_port_that_is_taken_is_passed_over(again, played):
    assert again.wished < again.port <= again.wished + 100
    assert all(played.place.list_work())
    assert again.did_nothing, "what is done is not done again"


def refused(monkeypatch, capfd, folder: Path, *arguments: str) -> str:
    """What it says when it does not begin; in this process, because that is over before anything is started."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["nav-eval", "demo", "--exit", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    return capfd.readouterr().err


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
def test_a_home_that_cannot_be_used_is_one_sentence(tmp_path, monkeypatch, capfd, breaking, said):
    place = Place(tmp_path / "place")
    place.home.mkdir(parents=True)
    breaking(place.home)
    told = refused(monkeypatch, capfd, place.folder)
    assert told.startswith("nav-eval: ")
    assert said in told
    assert "Delete the folder to begin anew, or choose another --home" in told


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


def test_a_home_that_cannot_be_written(tmp_path, monkeypatch, capfd):
    place = Place(tmp_path / "place")
    assert "/proc/nav-eval" in refused(monkeypatch, capfd, place.folder, "--home", "/proc/nav-eval")


@pytest.mark.slow
def test_the_whole_demo(tmp_path):
    """`make demo ARGS=--exit` in a folder where nothing is."""
    began = time.monotonic()
    done = subprocess.run(
        make_nav_eval_command("demo", "--exit"), cwd=tmp_path, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "48/48" in done.stdout
    assert done.stdout.count("replayed") == 4
    assert ORACLE.search(done.stdout)
    assert all(f"Team {name.capitalize()}" in done.stdout for name in AGENTS)
    home = tmp_path / "var" / "demo"
    assert "Traceback" not in (home / "serve.log").read_text()
    assert processes_with(f"NAV_EVAL_HOME={home}") == []
    print(f"{time.monotonic() - began:.0f} s")
