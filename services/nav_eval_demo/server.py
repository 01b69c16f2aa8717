"""The installation that the demo plays on: `nav-eval serve --with-worker`, as a process of its own."""

import errno
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nav_eval.child_process import ChildProcess, bind_to_parent, make_nav_eval_command
from nav_eval_demo.home import DemoError, DemoHome
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.http_client import HttpClient

HOST = "127.0.0.1"
PORTS = 100  #: that are tried, from the one that was asked for
START_SECONDS = 60.0
STOP_SECONDS = 40.0
LAST_LINES = 15


class DemoServer:
    """Gateway and worker, running."""

    def __init__(self, process: ChildProcess, url: str, home: DemoHome) -> None:
        self.process, self.url, self._home = process, url, home

    def check(self, *, stalled: bool = False) -> None:
        """Raise unless it runs, and gets somewhere."""
        if (code := self.process.poll()) is not None:
            raise DemoError(f"The server ended with {code}. The end of {self._home.log}:\n{self._read_log_tail()}")
        if stalled:
            raise DemoError(
                "Nothing happens any more; `nav-eval doctor` looks at this machine. "
                f"The end of {self._home.log}:\n{self._read_log_tail()}"
            )

    def wait_until_ready(self) -> None:
        last = time.monotonic() + START_SECONDS
        while time.monotonic() < last:
            self.check()
            with suppress(SdkError):
                if HttpClient(self.url).json("GET", "/readyz")["ready"]:
                    return
            time.sleep(0.1)
        raise DemoError(f"The server is not ready after {START_SECONDS:g} s. Its log:\n{self._read_log_tail()}")

    def stop(self) -> None:
        """End it and everything that it started."""
        self.process.stop(STOP_SECONDS)

    def _read_log_tail(self) -> str:
        lines = self._home.log.read_text(errors="replace").strip().splitlines()
        return "\n".join(lines[-LAST_LINES:])


@contextmanager
def run_server(home: DemoHome, *, port: int) -> Iterator[DemoServer]:
    """A server on the first free port from `port` on; ended with the block."""
    with open_socket(port) as listening, home.log.open("ab") as log:
        descriptor = listening.fileno()
        process = ChildProcess(
            bind_to_parent(make_nav_eval_command("serve", "--with-worker", "--fd", str(descriptor))),
            environment=home.environment,
            output=log,
            pass_fds=[descriptor],
        )
        server = DemoServer(process, f"http://{HOST}:{listening.getsockname()[1]}", home)
    try:
        yield server
    finally:
        server.stop()


def open_socket(port: int) -> socket.socket:
    """A socket on the first free port."""
    for number in range(port, min(port + PORTS, 65536)):
        try:
            return socket.create_server((HOST, number), backlog=2048)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise DemoError(f"Cannot listen on {HOST}: {error.strerror}.") from error
    raise DemoError(f"No port from {port} to {port + PORTS - 1} is free; choose another --port.")
