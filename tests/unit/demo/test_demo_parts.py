"""The demo's parts that need no server: its memory, its ports, its table."""

import io
import os
import socket
import stat
import time

import pytest
from rich.console import Console

from nav_eval_demo.home import DATABASE, STATE, DemoError, DemoHome, Player, State
from nav_eval_demo.participants import make_players
from nav_eval_demo.server import open_socket
from nav_eval_demo.terminal import Stall, count_done, list_failures, make_board_table
from nav_eval_sdk.client import Submission


@pytest.fixture
def home(tmp_path) -> DemoHome:
    return DemoHome(tmp_path / "demo")


def test_what_is_remembered_comes_back(home):
    state = State(players=[Player(agent="random", user="random", password="secret", team="Team Random", token="t")])
    with home.alone():
        home.write(state)
        home.write(state)
    assert home.read() == state
    assert stat.S_IMODE((home.folder / STATE).stat().st_mode) == 0o600


def test_a_new_home_is_empty(home):
    with home.alone():
        assert home.read() == State()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"players": 3}', '{"format": 2}', '{"format": "1"}'])
def test_a_memory_that_is_not_ours(home, content):
    with home.alone():
        (home.folder / STATE).write_text(content)
        with pytest.raises(DemoError, match="Delete the folder to begin anew"):
            home.read()


def test_another_installation_is_left_alone(home):
    with home.alone():
        (home.folder / DATABASE).write_bytes(b"")
        with pytest.raises(DemoError, match="another installation"):
            home.read()


def test_one_demo_at_a_time(home):
    with home.alone(), pytest.raises(DemoError, match="runs in"), home.alone():
        pass
    with home.alone():
        pass


def test_the_demo_forgets_the_installation_that_the_shell_is_set_up_for(home, monkeypatch):
    for name in ("NAV_EVAL_DATABASE", "NAV_EVAL_BLOBS", "NAV_EVAL_BROKER", "NAV_EVAL_RUNTIME", "NAV_EVAL_SECRET_KEY"):
        monkeypatch.setenv(name, "the real one")
    monkeypatch.setenv("NAV_EVAL_CACHE", "/cache")
    monkeypatch.setenv("NAV_EVAL__EVALUATION__MAX_STEPS", "7")
    found = {name: value for name, value in home.environment.items() if name.startswith("NAV_EVAL")}
    assert found == {
        "NAV_EVAL_CACHE": "/cache",
        "NAV_EVAL__EVALUATION__MAX_STEPS": "7",
        "NAV_EVAL_HOME": str(home.folder),
    }
    assert home.environment["PATH"] == os.environ["PATH"]


def test_a_port_that_is_taken_is_passed_over():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with open_socket(port) as found:
            assert port < found.getsockname()[1] <= port + 100


def test_no_port_is_free():
    with socket.create_server(("127.0.0.1", 65535)), pytest.raises(DemoError, match="--port"):
        open_socket(65535)


def test_every_team_has_a_password_of_its_own():
    players = [*make_players(), *make_players()]
    assert len({player.password for player in players}) == len(players)
    assert all(len(player.password) >= 10 for player in players)


def cell(mean, low, high):
    return {"mean": mean, "ci_low": low, "ci_high": high}


def row(team, rank, *, mean=0.25, ends=(0.1, 0.4), kind="team", verified=True):
    names = ("tar", "isr", "csr", "cgt")
    return {
        "rank": rank,
        "team": team,
        "kind": kind,
        "score": cell(mean, *ends),
        "scores": dict.fromkeys(names, mean),
        "intervals": dict.fromkeys(names, ends),
        "verified": verified,
    }


def printed(*rows) -> list[str]:
    out = io.StringIO()
    board = {"rows": rows, "ranking": {"weights": {"tar": 0.4, "isr": 0.6}}}
    Console(file=out, width=80).print(make_board_table(board))
    return out.getvalue().splitlines()


def test_the_table_fits_into_80_columns():
    lines = printed(row("Oracle", None, mean=1.0, ends=(1.0, 1.0), kind="upper_bound"), row("Team Forward", 1))
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)
    assert lines[2].split() == ["–", "Oracle", *["1.000"] * 5, "replayed"]
    assert lines[3].split() == ["upper", "bound", *["1.00"] * 5]
    assert lines[4].split() == ["1", "Team", "Forward", *["0.250"] * 5, "replayed"]
    assert lines[5].split() == [".10–.40"] * 5
    assert "score = 0.4·TAR + 0.6·ISR" in "\n".join(lines)


def test_what_is_not_proven_and_not_measured_says_so():
    lines = printed(row("Team", 1, mean=None, ends=(None, None), verified=False))
    assert lines[2].split() == ["1", "Team", *["–"] * 5, "NO"]


@pytest.mark.parametrize(
    ("document", "expected"), [({}, 0), ({"progress": None}, 0), ({"progress": {"done": 3, "total": 12}}, 3)]
)
def test_progress_before_there_is_any(document, expected):
    assert count_done(Submission("id", "queued", document)) == expected


def test_a_stall_is_noticed_and_a_change_ends_it():
    stall = Stall(patience=0.0)
    stall.is_over(["queued"])
    time.sleep(0.01)
    assert stall.is_over(["queued"])
    stall = Stall(patience=60.0)
    assert not stall.is_over(["queued"])
    assert not stall.is_over(["queued"])
    assert not stall.is_over(["running"])


def test_a_failure_is_told_with_its_reason():
    ended = {
        "Team Random": Submission("a", "completed"),
        "Team Forward": Submission("b", "failed", {"cause": "agent_crash", "message": "It ended with exit code 1."}),
    }
    assert list(list_failures(ended)) == ["Team Forward: failed, agent_crash: It ended with exit code 1."]
