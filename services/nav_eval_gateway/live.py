"""Wakes those who watch: one look at the database for all watchers, twice a second.

A watcher does not get events from here, only word that there are new ones about what it watches;
it reads them itself, from the last one that it has seen. So nothing is lost between two readers,
and watching costs the database nothing while nothing happens.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar
from uuid import UUID

from starlette.concurrency import run_in_threadpool

from nav_eval_gateway.errors import Unavailable
from nav_eval_store import events
from nav_eval_store.database import Database
from nav_eval_store.models import Event

log = logging.getLogger("nav_eval_gateway.live")
T = TypeVar("T")
MOST_WATCHERS = 2000


@contextmanager
def ends_on_signals(hub: "EventHub") -> Iterator[None]:
    """Streams never end by themselves, and a server that stops waits for its answers to end: say goodbye first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def say_goodbye(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(hub.end_streams)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, say_goodbye)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Watcher:
    """Somebody who waits for news about a submission or a competition."""

    def __init__(self, *, submission_id: UUID | None = None, competition_id: UUID | None = None) -> None:
        self._submission_id = submission_id
        self._competition_id = competition_id
        self._news = asyncio.Event()

    def concerns(self, event: Event) -> bool:
        if self._submission_id is not None:
            return event.submission_id == self._submission_id
        return event.competition_id == self._competition_id

    def wake(self) -> None:
        self._news.set()

    async def wait(self, seconds: float) -> bool:
        """Whether there is news; waits for it so long at most."""
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return False
        self._news.clear()
        return True


class EventHub:
    """Looks for new events while somebody watches."""

    def __init__(self, database: Database, *, poll_seconds: float) -> None:
        self._database = database
        self._poll_seconds = poll_seconds
        self._watchers: set[Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._last_id = 0
        self.closed = False
        """Streams end when the server stops: it would wait for them otherwise."""

    def refuse_crowds(self) -> None:
        """Refuse one more watcher than this process can serve."""
        if len(self._watchers) >= MOST_WATCHERS:
            raise Unavailable("Too many are watching; ask for the status now and then instead.")

    @contextmanager
    def watching(self, watcher: Watcher) -> Iterator[Watcher]:
        self._watchers.add(watcher)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)

    async def close(self) -> None:
        self.end_streams()
        if self._task is not None:
            self._task.cancel()

    def end_streams(self) -> None:
        self.closed = True
        for watcher in self._watchers:
            watcher.wake()

    async def _look(self) -> None:
        """Until nobody watches any more."""
        self._wake_all()  # what happened before the first look is theirs to read
        self._last_id = await self._quietly(self._latest) or self._last_id
        self._wake_all()
        while self._watchers:
            await asyncio.sleep(self._poll_seconds)
            for event in await self._quietly(self._new) or ():
                self._last_id = event.id
                for watcher in self._watchers:
                    if watcher.concerns(event):
                        watcher.wake()

    def _wake_all(self) -> None:
        for watcher in self._watchers:
            watcher.wake()

    async def _quietly(self, ask: Callable[[], T]) -> T | None:
        """Whatever fails is tried again: nobody else would wake the watchers."""
        try:
            return await run_in_threadpool(ask)
        except Exception as error:  # noqa: BLE001  the boundary of a task that must not end
            log.warning("cannot look for events: %s", error)
            return None

    def _latest(self) -> int:
        with self._database.read() as session:
            return events.latest_id(session)

    def _new(self) -> list[Event]:
        with self._database.read() as session:
            return list(events.after(session, self._last_id, limit=1000))
