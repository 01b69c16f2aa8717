"""`nav-eval serve`, as a real process."""

import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from processes import command_of, end, is_alive, processes_with, running, until

from nav_eval.child_process import SupervisedProcess, bind_to_parent
from nav_eval_store.migrations import runner
from support.load import measure_slowdown
from support.migrated import migrate

pytestmark = pytest.mark.integration


SECRETS = ("organiser-token", "secret-key")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.txt"


def serving(home: Path, log: Path, *arguments: str):
    return running("serve", "--port", "0", *arguments, log=log, environment={"NAV_EVAL_HOME": str(home)})


def address(log: Path) -> str:
    """Where it serves, once it answers."""
    match = until(lambda: re.search(r"serves at (http://\S+)", log.read_text()), what="serving")
    url = match.group(1)

    def answers() -> bool:
        try:
            return httpx.get(f"{url}/api/v1/competitions").status_code == 200
        except httpx.TransportError:
            return False

    until(answers, what="an answer")
    return url


class Lives:
    """An installation that was started twice, once for the tests that look at it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.secrets, self.logs, self.codes = [], [], []
        self.me = self._live(signal.SIGTERM)
        self._live(signal.SIGINT)

    def _live(self, number: int) -> httpx.Response:
        """What the organiser is told, by the token that the first start made."""
        log = self.home.parent / f"log_{len(self.logs)}.txt"
        with serving(self.home, log) as process:
            url = address(log)
            token = (self.home / "organiser-token").read_text().strip()
            me = httpx.get(f"{url}/api/v1/me", headers={"Authorization": f"Bearer {token}"})
            self.codes.append(end(process, number, seconds=15))
        self.secrets.append({name: (self.home / name).read_text() for name in SECRETS})
        self.logs.append(log.read_text())
        return me


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Lives:
    return Lives(tmp_path_factory.mktemp("lives") / "home")


def test_a_first_start_makes_all_that_is_needed(lives):
    assert lives.me.status_code == 200, lives.me.text
    assert "A new installation" in lives.logs[0]
    for secret in SECRETS:
        assert stat.S_IMODE((lives.home / secret).stat().st_mode) == 0o600
    with sqlite3.connect(lives.home / "nav-eval.db") as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [
            (runner.get_head_revision(),)
        ]


def test_a_second_start_changes_no_secret(lives):
    assert "A new installation" not in lives.logs[1]
    assert lives.secrets[1] == lives.secrets[0]


def test_it_stops_in_good_order(lives):
    """By SIGTERM, and by SIGINT."""
    assert lives.codes == [0, 0]


def test_an_open_stream_does_not_hold_it_up(home, log):
    with serving(home, log) as process:
        url = address(log)
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"POST /api/v1/submissions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            time.sleep(0.3)
            begun = time.monotonic()
            assert end(process, seconds=20) == 0
    assert time.monotonic() - begun < 15 * measure_slowdown()


def test_several_processes_answer(home, log):
    with serving(home, log, "--workers", "2") as process:
        url = address(log)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) >= 2
        assert httpx.get(f"{url}/api/v1/competitions").status_code == 200
        assert end(process, seconds=20) == 0
    until(lambda: not any(is_alive(int(child)) for child in children), what="the end of all children")


def worker_of(home: Path) -> int | None:
    """The worker of an installation, once it is one."""
    return next((pid for pid in processes_with(f"NAV_EVAL_HOME={home}") if is_worker(pid)), None)


def is_worker(pid: int) -> bool:
    try:
        return command_of(pid)[1:5] == ["-m", "nav_eval.cli", "worker", "--beat"]
    except OSError:  # it ended meanwhile
        return False


def alive_workers(home: Path) -> list[str]:
    with closing(sqlite3.connect(home / "nav-eval.db")) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM workers WHERE stopped_at IS NULL")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_worker_is_kept_alive_and_never_outlives_the_gateway(home, log, number):
    with serving(home, log, "--with-worker") as process:
        address(log)
        first = until(lambda: worker_of(home), what="a worker")
        until(lambda: alive_workers(home), what="its registration")
        os.kill(first, signal.SIGKILL)
        until(lambda: (worker_of(home) or first) != first, what="another worker")
        end(process, number)
    until(lambda: not processes_with(f"NAV_EVAL_HOME={home}"), what="the end of all processes")


@pytest.mark.parametrize("options", [("--host", "0.0.0.0"), ("--behind-proxy",)])
def test_strangers_code_is_run_as_plain_processes_only_by_request(home, options):
    done = run("serve", "--port", "0", "--with-worker", *options, home=home)
    assert done.returncode == 2
    assert "NAV_EVAL_RUNTIME=docker" in done.stderr
    assert not home.exists(), "nothing was begun"


@pytest.mark.parametrize(("options", "status"), [((), 429), (("--behind-proxy",), 200)])
def test_addresses_of_clients_are_believed_behind_a_proxy_only(home, log, monkeypatch, options, status):
    monkeypatch.setenv("NAV_EVAL_RATE_LIMIT", "5")
    with serving(home, log, *options):
        match = until(lambda: re.search(r"serves at (http://\S+)", log.read_text()), what="serving")
        clients = [f"203.0.113.{number}" for number in range(1, 12)]
        with httpx.Client(transport=httpx.HTTPTransport(retries=5), timeout=30) as client:
            answers = [
                client.get(f"{match.group(1)}/api/v1/competitions", headers={"X-Forwarded-For": each})
                for each in clients
            ]
    assert answers[-1].status_code == status


def test_a_port_that_is_taken(home, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port), home=home)
    assert done.returncode == 2
    assert f"Cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"NAV_EVAL_RATE_LIMIT": "many"}, "NAV_EVAL_RATE_LIMIT"),
        ({"NAV_EVAL_DATABASE": "mysql://host/x"}, "postgresql://"),
        ({"NAV_EVAL_BROKER": "amqp://host"}, "NAV_EVAL_BROKER"),
    ],
)
def test_wrong_settings_are_one_line(home, variables, said):
    done = run("serve", "--port", "0", home=home, **variables)
    assert done.returncode == 2
    assert done.stderr.startswith("nav-eval: ")
    assert said in done.stderr


def test_a_database_of_a_newer_version_is_refused(home):
    migrate(f"sqlite:///{home / 'nav-eval.db'}")
    with sqlite3.connect(home / "nav-eval.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    done = run("serve", "--port", "0", home=home)
    assert done.returncode == 2
    assert "a newer nav-eval wrote it" in done.stderr


def test_a_damaged_database_is_refused(home):
    home.mkdir()
    (home / "nav-eval.db").write_bytes(b"no database " * 1000)
    done = run("serve", "--port", "0", home=home)
    assert done.returncode == 2
    assert "nav-eval doctor" in done.stderr


def run(*arguments: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nav_eval.cli", *arguments]
    environment = {**os.environ, "NAV_EVAL_HOME": str(home), **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)


SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


def test_a_supervised_process_that_dies_is_started_again_and_ends_with_us():
    pids: list[int] = []
    with SupervisedProcess(SLEEPER, first_pause=0.05, on_start=pids.append) as supervised:
        until(lambda: supervised.pid)
        os.kill(supervised.pid, signal.SIGKILL)
        until(lambda: len(pids) == 2 and is_alive(pids[1]), what="a second life")
    assert not any(is_alive(pid) for pid in pids)


def test_a_supervised_process_that_does_not_listen_is_ended_with_its_children(tmp_path):
    script = (
        "import signal, subprocess, sys, time, pathlib\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "pathlib.Path(sys.argv[1]).write_text(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    told = tmp_path / "pid"
    with SupervisedProcess([sys.executable, "-c", script, str(told)], grace=0.5):
        child = int(until(lambda: told.exists() and told.read_text(), what="the child's start"))
    until(lambda: not is_alive(child), seconds=5, what="the child's end")


def test_a_bound_program_ends_with_its_parent(tmp_path):
    told = tmp_path / "pid"
    parent = (
        "import pathlib, subprocess, sys, time\n"
        "from nav_eval.child_process import bind_to_parent\n"
        "child = subprocess.Popen(bind_to_parent([sys.executable, '-c', 'import time; time.sleep(600)']))\n"
        "pathlib.Path(sys.argv[1]).write_text(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", parent, str(told)])
    child = int(until(lambda: told.exists() and told.read_text(), what="the child's start"))
    time.sleep(0.5)  # it has become what it should be
    assert is_alive(child)
    process.kill()
    process.wait()
    until(lambda: not is_alive(child), seconds=5, what="the child's end")


def test_a_bound_program_whose_parent_is_gone_does_not_start():
    command = bind_to_parent([sys.executable, "-c", "print('started')"])
    command[command.index("bind") + 1] = "1"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
