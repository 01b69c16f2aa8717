"""Keeping a lease while a job is done: heartbeats, and the end of whatever runs when the lease is gone.

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
from nav_eval_store.errors import LeaseLost
from nav_eval_store.work import leases
from nav_eval_store.work.leases import Lease
from nav_eval_store.work.usage import AgentUsage
from nav_eval_worker.context import WorkerContext

LOOK_SECONDS = 1.0
"""So long a cancelled submission may still run."""
SILENCE_SECONDS = 60.0
"""A simulator gives a sign of life every two seconds; after so many without one it hangs."""

log = logging.getLogger(__name__)


class JobReturned(NavEvalError):
    """The worker stops; the job goes to another one."""


class EndReason(StrEnum):
    """Why a job ends before it is done."""

    LOST = "lost"  #: it is not ours any more
    STOPPING = "stopping"  #: this worker is told to stop
    SILENT = "silent"  #: the simulator hangs


class LeaseKeeper:
    """One lease, renewed."""

    def __init__(self, context: WorkerContext, lease: Lease) -> None:
        self.lease = lease
        self._context = context
        self._reason: EndReason | None = None
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self._measure: Callable[[], AgentUsage] = AgentUsage
        self._spent = AgentUsage()
        self._heard_at = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lease-{lease.kind}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def reason(self) -> EndReason | None:
        return self._reason

    def check(self) -> None:
        """Raise if there is no point in going on."""
        if self._reason is EndReason.LOST:
            raise LeaseLost
        if self._reason is EndReason.STOPPING:
            raise JobReturned

    def stop_renewing(self) -> None:
        """The job is done: what is left to do needs no lease, and that there is none any more is no loss."""
        self._over.set()
        self._thread.join()
        self._reason = None

    def record_activity(self) -> None:
        """The simulator has spoken."""
        self._heard_at = time.monotonic()

    def add_usage(self, used: AgentUsage) -> None:
        """What an agent used from its start to its end; watchers see it at once."""
        self._spent = self._spent.and_then(used)
        deadlines = self._context.deadlines
        self._context.transact(
            lambda session: leases.renew_lease(session, self.lease, deadlines=deadlines, used=self._measure_usage())
        )

    def _measure_usage(self) -> AgentUsage:
        try:
            return self._spent.and_then(self._measure())
        except Exception as error:  # noqa: BLE001 - no job is lost because something could not be measured
            log.warning("Cannot measure %s: %s", self.lease.job_id, error)
            return self._spent

    @contextmanager
    def watch(self, stop: Callable[[], None], *, measure: Callable[[], AgentUsage] = AgentUsage) -> Iterator[None]:
        """`stop` is called, by another thread, when the job is over for us before the block is.

        `measure` says what the agent that runs has used so far.
        """
        with self._lock:
            self._stop, self._measure = stop, measure
            self.record_activity()
        try:
            if self._reason is not None:
                stop()
            yield
        finally:
            with self._lock:
                self._stop, self._measure = None, AgentUsage

    def _keep(self) -> None:
        heartbeat_at = time.monotonic()
        every = self._context.deadlines.lease.total_seconds() / 6
        asked_to_stop: float | None = None
        while not self._over.wait(min(LOOK_SECONDS, every)):
            if self._context.stopping.is_set():
                asked_to_stop = asked_to_stop or time.monotonic()
            if due := time.monotonic() - heartbeat_at >= every:
                heartbeat_at = time.monotonic()
            if (reason := self._look(asked_to_stop, heartbeat=due)) is not None:
                self._end(reason)
                return

    def _look(self, asked_to_stop: float | None, *, heartbeat: bool) -> EndReason | None:
        if not self._is_ours(heartbeat=heartbeat):
            return EndReason.LOST
        if asked_to_stop is not None and time.monotonic() - asked_to_stop > self._context.settings.grace_seconds:
            return EndReason.STOPPING
        if self._stop is not None and time.monotonic() - self._heard_at > SILENCE_SECONDS:
            return EndReason.SILENT
        return None

    def _is_ours(self, *, heartbeat: bool) -> bool:
        """What the database says; while it says nothing, nobody can have taken the job."""
        try:
            if heartbeat:
                deadlines, used = self._context.deadlines, self._measure_usage()
                beat = lambda session: leases.renew_lease(session, self.lease, deadlines=deadlines, used=used)  # noqa: E731
                self._context.database.run(beat)
                return True
            with self._context.database.read() as session:
                return leases.is_held(session, self.lease)
        except LeaseLost:
            return False
        except DBAPIError as error:
            log.warning("No sign of life for %s: %s", self.lease.job_id, error.orig)
            return True

    def _end(self, reason: EndReason) -> None:
        log.info("The %s job %s ends here: %s", self.lease.kind, self.lease.job_id, reason)
        with self._lock:
            self._reason = reason
            stop = self._stop
        if stop is not None:
            stop()
