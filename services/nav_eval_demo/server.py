"""The installation that the demo plays on: `nav-eval serve --with-worker`, as a process of its own."""

import errno
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nav_eval.leash import leashed, nav_eval
from nav_eval_demo.errors import DemoError
from nav_eval_demo.home import DemoHome
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.web import Http

HOST = "127.0.0.1"
PORTS = 100  #: that are tried, from the one that was asked for
START_SECONDS = 60.0
STOP_SECONDS = 40.0
LAST_LINES = 15


class Server:
    """Gateway and worker, running."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, home: DemoHome) -> None:
        self.process, self.url, self._home = process, url, home

    def check(self, *, stalled: bool = False) -> None:
        """Raise unless it runs, and gets somewhere."""
        if (code := self.process.poll()) is not None:
            raise DemoError(f"The server ended with {code}. The end of {self._home.log}:\n{self._last_words()}")
        if stalled:
            raise DemoError(
                "Nothing happens any more; `nav-eval doctor` looks at this machine. "
                f"The end of {self._home.log}:\n{self._last_words()}"
            )

    def wait_until_ready(self) -> None:
        last = time.monotonic() + START_SECONDS
        while time.monotonic() < last:
            self.check()
            with suppress(SdkError):
                if Http(self.url).json("GET", "/readyz")["ready"]:
                    return
            time.sleep(0.1)
        raise DemoError(f"The server is not ready after {START_SECONDS:g} s. Its log:\n{self._last_words()}")

    def stop(self) -> None:
        """End it and everything that it started."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=STOP_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _last_words(self) -> str:
        lines = self._home.log.read_text(errors="replace").strip().splitlines()
        return "\n".join(lines[-LAST_LINES:])


@contextmanager
def serving(home: DemoHome, *, port: int) -> Iterator[Server]:
    """A server on the first free port from `port` on; ended with the block."""
    with listening_from(port) as listening, home.log.open("ab") as log:
        descriptor = listening.fileno()
        process = subprocess.Popen(  # noqa: S603 (our own command)
            leashed(nav_eval("serve", "--with-worker", "--fd", str(descriptor))),
            env=home.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[descriptor],
            start_new_session=True,  # Ctrl-C is for us: we end it
        )
        server = Server(process, f"http://{HOST}:{listening.getsockname()[1]}", home)
    try:
        yield server
    finally:
        server.stop()


def listening_from(port: int) -> socket.socket:
    """A socket on the first free port."""
    for number in range(port, min(port + PORTS, 65536)):
        try:
            return socket.create_server((HOST, number), backlog=2048)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise DemoError(f"Cannot listen on {HOST}: {error.strerror}.") from error
    raise DemoError(f"No port from {port} to {port + PORTS - 1} is free; choose another --port.")
