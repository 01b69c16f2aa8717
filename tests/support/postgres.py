"""A private PostgreSQL server for tests: its own files, its own Unix socket, gone when the tests are.

from support.postgres import postgres_server  # in tests/integration/conftest.py: for the whole session

def test_…(postgres_server: PostgresServer) -> None:
    database = Database(postgres_server.create_database())
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg2
import pytest

from support.load import Deadline
from support.tools import absent, install

START_SECONDS = 120.0


def server_binaries() -> Path:
    """The folder of `postgres` and `initdb`; installed when that is possible, else the tests are skipped."""
    found = _find() or (_find() if install("postgresql") else None)
    return found or absent("PostgreSQL is not installed (Debian: apt-get install postgresql)")


def _find() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    on_path = shutil.which("postgres")
    candidates = [*reversed(folders), *([Path(on_path).resolve().parent] if on_path else [])]
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)


class PostgresServer:
    """One server process. It dies with the process that started it, however that ends."""

    def __init__(self) -> None:
        self._binaries = server_binaries()
        self._user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None  # the server refuses to be root
        self.folder = Path(tempfile.mkdtemp(prefix="nav-eval-pg-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count(1)
        if self._user:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        options = ["--auth=trust", "--username=nav_eval", "--encoding=UTF8", "--no-locale", "--no-sync"]
        self._as_user("initdb", f"--pgdata={self.folder / 'data'}", *options).wait(timeout=120)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",  # no test pulls the plug of the machine
            "max_connections": "200",
        }
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        self._process = self._as_user("postgres", "-D", str(self.folder / "data"), *options)
        self._wait_until_it_answers()

    def stop(self, *, crash: bool = False) -> None:
        """End the server: politely, or as a power cut would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if crash else signal.SIGINT)
            self._process.wait(timeout=30)
            self._process = None

    def restart(self, *, crash: bool = False) -> None:
        self.stop(crash=crash)
        self.start()

    def close(self) -> None:
        self.stop(crash=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, name: str) -> str:
        return f"postgresql://nav_eval@/{name}?host={self.folder}"

    def create_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._names)}"
        connection = self._connect("postgres")
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
        connection.close()
        return self.url(name)

    def _connect(self, name: str) -> "psycopg2.extensions.connection":
        return psycopg2.connect(host=str(self.folder), user="nav_eval", dbname=name)

    def _as_user(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        """By `setpriv`: a child that runs code of this process before its program would run it beside gRPC and GL."""
        become = ["setpriv", "--pdeathsig", signal.SIGQUIT.name]
        if self._user:
            become += [f"--reuid={self._user.pw_uid}", f"--regid={self._user.pw_gid}", "--clear-groups"]
        with (self.folder / "log.txt").open("ab") as log:
            command = [*become, str(self._binaries / program), *arguments]
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)

    def _wait_until_it_answers(self) -> None:
        deadline = Deadline(START_SECONDS)
        while True:
            try:
                self._connect("postgres").close()
                return
            except psycopg2.OperationalError:
                if deadline.is_over or self._process is None or self._process.poll() is not None:
                    pytest.fail(f"PostgreSQL did not start:\n{(self.folder / 'log.txt').read_text()[-2000:]}")
                time.sleep(0.05)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A running server for the whole test session."""
    server = PostgresServer()
    server.start()
    yield server
    server.close()
