"""Live events as server-sent events: what happened, in order, and from where the reader left off.

One poll of the database, twice a second, serves all subscribers of this process. A subscriber does not get events
from it, only word that there are new ones; it reads them itself, from the last one that it has seen. So nothing is
lost between two readers, and subscribers cost the database nothing while nothing happens.

When something happens, a thousand subscribers want to know at once, and nobody else may wait for them: they read in
threads of their own, those who would read the same read it together, and they take turns.

Ids are those of the store's events. A reader that comes back with Last-Event-ID gets all that it missed; one
that comes for the first time gets where things stand, and what happens from then on.
"""

import asyncio
import json
import logging
import random
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from nav_eval_gateway.board_cache import SingleFlight
from nav_eval_gateway.errors import Unavailable
from nav_eval_store.database import Database
from nav_eval_store.errors import NotAllowed, NotFound
from nav_eval_store.models import OutboxEvent
from nav_eval_store.notifications import events

log = logging.getLogger("nav_eval_gateway.server_sent_events")
T = TypeVar("T")
MOST_SUBSCRIPTIONS = 2000
LONGEST_SECONDS = 3600.0
"""A stream ends after this; the reader comes back, and proves again who they are."""
RETRY_MILLISECONDS = 2000
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
PAGE = 200
READS_AT_ONCE = 2
TURNS = 25
"""Subscribers that read and write at the same time; others who use the gateway go in between."""
BREATH_SECONDS = 0.005
"""Between two turns: a thousand subscribers hear of an event within a quarter of a second."""


class ServerSentEvent(NamedTuple):
    """One server-sent event."""

    kind: str
    data: Mapping[str, Any]
    id: int | None = None

    def encode(self) -> bytes:
        number = "" if self.id is None else f"id: {self.id}\n"
        return f"{number}event: {self.kind}\ndata: {json.dumps(self.data, default=str)}\n\n".encode()


class EventBatch(NamedTuple):
    """What a reader hears next."""

    events: Sequence[ServerSentEvent]
    last_id: int | None
    """The last event that was looked at."""
    has_more: bool = False
    """There may be further ones already."""
    is_last: bool = False
    """Nothing will ever come after this."""
    poll_again: bool = False
    """Things change without an event: read again even without a notification."""


Read = Callable[[int | None], EventBatch]
"""What happened after an event; None asks where things stand."""


def parse_last_event_id(header: str | None) -> int | None:
    """Last-Event-ID, if it is one of ours."""
    text = (header or "").strip()
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= 18 else None


def _read_patiently(read: Read, last: int | None) -> EventBatch:
    """A database that is away for a moment ends no stream; a right that was taken away does."""
    try:
        return read(last)
    except (NotFound, NotAllowed):
        return EventBatch((), last, is_last=True)
    except SQLAlchemyError as error:
        log.warning("cannot read events: %s", error)
        return EventBatch((), last, poll_again=True)


@dataclass(frozen=True)
class SharedRead:
    """A read that is the same for all who share it."""

    read: Read = field(compare=False)
    last: int | None
    share: Hashable

    def __call__(self) -> EventBatch:
        return _read_patiently(self.read, self.last)


class EventStream(StreamingResponse):
    """A stream that somebody counts; `release` is called when it ends, however it does."""

    def __init__(self, body: AsyncIterator[bytes], release: Callable[[], None]) -> None:
        super().__init__(body, media_type="text/event-stream", headers=HEADERS)
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._release()


class Subscription:
    """Somebody who waits for events of a submission or a competition."""

    def __init__(
        self, *, submission_id: UUID | None = None, competition_id: UUID | None = None, is_stranger: bool = False
    ) -> None:
        self._submission_id = submission_id
        self._competition_id = competition_id
        self._is_stranger = is_stranger
        self._changed = asyncio.Event()

    def matches(self, event: OutboxEvent) -> bool:
        if self._is_stranger and (event.team_id is not None or event.submission_id is not None):
            return False  # never theirs to see
        if self._submission_id is not None:
            return event.submission_id == self._submission_id
        return event.competition_id == self._competition_id

    def notify(self) -> None:
        self._changed.set()

    async def wait(self, seconds: float) -> bool:
        """Whether something happened; waits for it so long at most."""
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return False
        self._changed.clear()
        return True


class EventBroadcaster:
    """Polls for new events while somebody is subscribed, and streams them."""

    def __init__(self, database: Database, *, poll_seconds: float, heartbeat_seconds: float) -> None:
        self._database = database
        self._poll_seconds, self._heartbeat_seconds = poll_seconds, heartbeat_seconds
        self._subscriptions: set[Subscription] = set()
        self._task: asyncio.Task[None] | None = None
        self._last_id = 0
        self._turns = asyncio.Semaphore(TURNS)
        self._reads = SingleFlight[SharedRead, EventBatch](lambda read: read(), at_once=READS_AT_ONCE)
        self._closed = False
        """Streams end when the server stops: it would wait for them otherwise."""

    def stream(
        self, subscription: Subscription, read: Read, *, last: int | None, release: Callable[[], None] = lambda: None
    ) -> EventStream:
        """An answer that goes on until there is nothing more to tell; refused beyond what this process can serve."""
        if len(self._subscriptions) >= MOST_SUBSCRIPTIONS:
            release()
            raise Unavailable("Too many people are watching; check the status from time to time instead.")
        return EventStream(self._stream(subscription, read, last), release)

    async def _stream(self, subscription: Subscription, read: Read, last: int | None) -> AsyncIterator[bytes]:
        until = time.monotonic() + LONGEST_SECONDS
        yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
        with self._subscribe(subscription):
            while not self._closed and time.monotonic() < until:
                batch = await self._read(read, last)
                for event in batch.events:
                    yield event.encode()
                if batch.is_last:
                    return
                last = batch.last_id
                while not (batch.has_more or await subscription.wait(self._draw_pause())):
                    yield b": still here\n\n"
                    if batch.poll_again:
                        break

    async def _read(self, read: Read, last: int | None) -> EventBatch:
        """In turns, and together with whoever would read the same."""
        share = getattr(read, "share", None) or id(read)
        async with self._turns:
            return await self._reads.ask(SharedRead(read, last, share))

    def _draw_pause(self) -> float:
        """Signs of life, not all at the same moment."""
        return self._heartbeat_seconds * random.uniform(0.7, 1.0)

    @contextmanager
    def _subscribe(self, subscription: Subscription) -> Iterator[None]:
        self._subscriptions.add(subscription)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        try:
            yield
        finally:
            self._subscriptions.discard(subscription)

    async def close(self) -> None:
        self.end_streams()
        self._reads.close()
        if self._task is not None:
            self._task.cancel()

    def end_streams(self) -> None:
        self._closed = True
        self._notify_all()

    async def _poll(self) -> None:
        """Until nobody is subscribed any more."""
        self._notify_all()  # what happened before the first poll is theirs to read
        self._last_id = await self._try(self._latest) or self._last_id
        self._notify_all()
        while self._subscriptions:
            await asyncio.sleep(self._poll_seconds)
            found = await self._try(self._new) or ()
            for event in found:
                self._last_id = event.id
            if found:
                await self._notify(found)

    async def _notify(self, found: Sequence[OutboxEvent]) -> None:
        """A few at a time: those who wake up all at once would stand before everybody else."""
        for number, subscription in enumerate(list(self._subscriptions)):
            if any(subscription.matches(event) for event in found):
                subscription.notify()
            if number % TURNS == TURNS - 1:
                await asyncio.sleep(BREATH_SECONDS)

    def _notify_all(self) -> None:
        for subscription in self._subscriptions:
            subscription.notify()

    async def _try(self, ask: Callable[[], T]) -> T | None:
        """Whatever fails is tried again: nobody else would notify the subscribers."""
        try:
            return await run_in_threadpool(ask)
        except Exception as error:  # noqa: BLE001  the boundary of a task that must not end
            log.warning("cannot poll for events: %s", error)
            return None

    def _latest(self) -> int:
        with self._database.read() as session:
            return events.get_latest_id(session)

    def _new(self) -> list[OutboxEvent]:
        with self._database.read() as session:
            return list(events.read_events_after(session, self._last_id, limit=1000))


@contextmanager
def end_on_signals(broadcaster: EventBroadcaster) -> Iterator[None]:
    """Streams never end by themselves, and a server that stops waits for its answers to end: say goodbye first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def end_streams(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(broadcaster.end_streams)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, end_streams)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
