"""A program that runs beside the gateway: started with it, started again when it dies, ended with it."""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from nav_eval.leash import leashed

log = logging.getLogger(__name__)

GRACE = 20.0  #: seconds between asking it to end and ending it
LONGEST_PAUSE = 30.0  #: seconds between two attempts
STEADY = 60.0  #: seconds; who lived that long did not die of how it was started


class Companion:
    """Keeps one command running, in a thread that lives as long as it does (`leash`)."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        grace: float = GRACE,
        first_pause: float = 1.0,
        on_start: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._command = list(command)
        self._environment = dict(os.environ if environment is None else environment)
        self._grace, self._first_pause, self._on_start = grace, first_pause, on_start
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_alive, name="companion", daemon=True)

    def __enter__(self) -> "Companion":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Of the process that runs now."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def stop(self) -> None:
        """End it: politely, then for good."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _keep_alive(self) -> None:
        pause = self._first_pause
        while not self._stopping.is_set():
            started = time.monotonic()
            code = self._run()
            if self._stopping.is_set():
                return
            pause = self._first_pause if time.monotonic() - started > STEADY else min(2 * pause, LONGEST_PAUSE)
            log.error("%s ended with %s; starting it again in %.0f s", self._command[-2:], code, pause)
            self._stopping.wait(pause)

    def _run(self) -> int:
        """One life of the process."""
        self._process = process = subprocess.Popen(  # noqa: S603 (our own command)
            leashed(self._command),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us: we end it when it is its turn
        )
        self._on_start(process.pid)
        while process.poll() is None:
            if self._stopping.wait(0.2):
                self._end(process)
        return process.wait()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=self._grace)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever of its group is left
