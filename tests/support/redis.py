"""A private Redis server for tests, with its own port and folder, which can be stopped, restarted and emptied."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.load import Deadline
from support.tools import program

START_SECONDS = 20.0


class RedisServer:
    """One server. What it holds survives a restart unless it is lost on purpose."""

    def __init__(self) -> None:
        self._program = program("redis-server", package="redis-server")
        self.folder = Path(tempfile.mkdtemp(prefix="nav-eval-redis-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self.folder),
            "appendonly": "yes",
            "save": "",
        }
        arguments = [part for key, value in options.items() for part in (f"--{key}", value)]
        with (self.folder / "log.txt").open("ab") as log:
            self._process = subprocess.Popen([self._program, *arguments], stdout=log, stderr=log)
        deadline = Deadline(START_SECONDS)
        while not self._answers():
            if deadline.is_over:
                pytest.fail(f"Redis did not start:\n{(self.folder / 'log.txt').read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self, *, lose: bool = False) -> None:
        """End it as a power cut would; `lose` its data, too."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if lose:
            shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)

    def restart(self, *, lose: bool = False) -> None:
        self.stop(lose=lose)
        self.start()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """A running server of a test's own."""
    server = RedisServer()
    server.start()
    yield server
    server.close()
