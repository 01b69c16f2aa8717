"""Holding a lease while a job is done: signs of life, and the end of whatever runs when the lease is gone.

A thread looks every second whether the job is still ours (a cancelled submission's is not) and gives a
sign of life every few seconds, with what the agent has used so far. When the job is over for us, by loss, by
the worker's own end, or because the simulator fell silent, it stops the pair, whatever the job's own thread is
waiting for.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from types import TracebackType
from typing import Self

from sqlalchemy.exc import DBAPIError

from nav_eval.errors import NavEvalError
from nav_eval_store import leases
from nav_eval_store.errors import LeaseLost
from nav_eval_store.leases import Lease
from nav_eval_store.using import Used
from nav_eval_worker.workshop import Workshop

LOOK_SECONDS = 1.0
"""So long a cancelled submission may still run."""
SILENCE_SECONDS = 60.0
"""A simulator gives a sign of life every two seconds; after so many without one it hangs."""

log = logging.getLogger(__name__)


class GivenBack(NavEvalError):
    """The worker stops; the job goes to another one."""


class Reason(StrEnum):
    """Why a job ends before it is done."""

    LOST = "lost"  #: it is not ours any more
    STOPPING = "stopping"  #: this worker is told to stop
    SILENT = "silent"  #: the simulator hangs


class Hold:
    """One lease, kept."""

    def __init__(self, shop: Workshop, lease: Lease) -> None:
        self.lease = lease
        self._shop = shop
        self._reason: Reason | None = None
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self._measure: Callable[[], Used] = Used
        self._spent = Used()
        self._heard_at = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"lease-{lease.kind}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def reason(self) -> Reason | None:
        return self._reason

    def check(self) -> None:
        """Raise if there is no point in going on."""
        if self._reason is Reason.LOST:
            raise LeaseLost
        if self._reason is Reason.STOPPING:
            raise GivenBack

    def let_go(self) -> None:
        """The job is done: what is left to do needs no lease, and that there is none any more is no loss."""
        self._over.set()
        self._thread.join()
        self._reason = None

    def heard(self) -> None:
        """The simulator has spoken."""
        self._heard_at = time.monotonic()

    def spend(self, used: Used) -> None:
        """What an agent used from its start to its end; watchers see it at once."""
        self._spent = self._spent.and_then(used)
        patience = self._shop.patience
        self._shop.insist(lambda session: leases.heartbeat(session, self.lease, patience=patience, used=self._used()))

    def _used(self) -> Used:
        try:
            return self._spent.and_then(self._measure())
        except Exception as error:  # noqa: BLE001 - no job is lost because something could not be measured
            log.warning("Cannot measure %s: %s", self.lease.job_id, error)
            return self._spent

    @contextmanager
    def guarding(self, stop: Callable[[], None], *, measure: Callable[[], Used] = Used) -> Iterator[None]:
        """`stop` is called, by another thread, when the job is over for us before the block is.

        `measure` says what the agent that runs has used so far.
        """
        with self._lock:
            self._stop, self._measure = stop, measure
            self.heard()
        try:
            if self._reason is not None:
                stop()
            yield
        finally:
            with self._lock:
                self._stop, self._measure = None, Used

    def _watch(self) -> None:
        heartbeat_at = time.monotonic()
        every = self._shop.patience.lease.total_seconds() / 6
        asked_to_stop: float | None = None
        while not self._over.wait(min(LOOK_SECONDS, every)):
            if self._shop.stopping.is_set():
                asked_to_stop = asked_to_stop or time.monotonic()
            if due := time.monotonic() - heartbeat_at >= every:
                heartbeat_at = time.monotonic()
            if (reason := self._look(asked_to_stop, heartbeat=due)) is not None:
                self._end(reason)
                return

    def _look(self, asked_to_stop: float | None, *, heartbeat: bool) -> Reason | None:
        if not self._is_ours(heartbeat=heartbeat):
            return Reason.LOST
        if asked_to_stop is not None and time.monotonic() - asked_to_stop > self._shop.settings.grace_seconds:
            return Reason.STOPPING
        if self._stop is not None and time.monotonic() - self._heard_at > SILENCE_SECONDS:
            return Reason.SILENT
        return None

    def _is_ours(self, *, heartbeat: bool) -> bool:
        """What the database says; while it says nothing, nobody can have taken the job."""
        try:
            if heartbeat:
                patience, used = self._shop.patience, self._used()
                beat = lambda session: leases.heartbeat(session, self.lease, patience=patience, used=used)  # noqa: E731
                self._shop.database.run(beat)
                return True
            with self._shop.database.read() as session:
                return leases.is_held(session, self.lease)
        except LeaseLost:
            return False
        except DBAPIError as error:
            log.warning("No sign of life for %s: %s", self.lease.job_id, error.orig)
            return True

    def _end(self, reason: Reason) -> None:
        log.info("The %s job %s ends here: %s", self.lease.kind, self.lease.job_id, reason)
        with self._lock:
            self._reason = reason
            stop = self._stop
        if stop is not None:
            stop()
