"""Deadlines for calls that cannot be given one: when the time is up, somebody pulls the plug.

One sleeping thread per client. Arming is a dictionary entry; the thread wakes only for a deadline that
comes before all others, so a step with the usual 30 s costs it nothing.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Deadline:
    """Whether the time was up before the call came back."""

    expired = False


class Watchdog:
    """Calls back what is not done in time."""

    def __init__(self) -> None:
        self._armed: dict[int, tuple[float, Callable[[], None]]] = {}
        self._tokens = itertools.count()
        self._changed = threading.Condition()
        self._wakes_at = float("inf")
        self._closed = False
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, seconds: float, pull_the_plug: Callable[[], object]) -> Iterator[Deadline]:
        """Call `pull_the_plug` from another thread if the block takes longer than `seconds`."""
        deadline = Deadline()

        def expire() -> None:
            deadline.expired = True
            pull_the_plug()

        token = self._arm(time.monotonic() + seconds, expire)
        try:
            yield deadline
        finally:
            self._armed.pop(token, None)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _arm(self, when: float, expire: Callable[[], None]) -> int:
        token = next(self._tokens)
        with self._changed:
            self._armed[token] = (when, expire)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="nav-eval-watchdog", daemon=True)
                self._thread.start()
            elif when < self._wakes_at:
                self._changed.notify()
        return token

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                now = time.monotonic()
                armed = list(self._armed.items())  # a copy in one step: disarming does not take the lock
                due = [token for token, (when, _) in armed if when <= now]
                if not due:
                    self._wakes_at = min((when for _, (when, _) in armed), default=float("inf"))
                    self._changed.wait(None if self._wakes_at == float("inf") else self._wakes_at - now)
                    continue
            for token in due:
                entry = self._armed.pop(token, None)
                if entry is not None:
                    entry[1]()
