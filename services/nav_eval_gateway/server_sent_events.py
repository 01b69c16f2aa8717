"""Live events as server-sent events: what happened, in order, and from where the reader left off.

One poll of the database, twice a second, serves all subscribers of this process. A subscriber does not get events
from it, only word that there are new ones; it reads them itself, from the last one that it has seen. So nothing is
lost between two readers, and subscribers cost the database nothing while nothing happens.

Ids are those of the store's events. A reader that comes back with Last-Event-ID gets all that it missed; one
that comes for the first time gets where things stand, and what happens from then on.
"""

import asyncio
import json
import logging
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from nav_eval_gateway import permissions
from nav_eval_gateway.errors import Unavailable
from nav_eval_gateway.permissions import Caller
from nav_eval_store.audit import Subject
from nav_eval_store.competitions.visibility import Audience, Viewer, may_see
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import NotAllowed, NotFound
from nav_eval_store.models import Competition, OutboxEvent, Phase
from nav_eval_store.notifications import events, webhooks
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.submissions.status import SubmissionStatus, read_status

log = logging.getLogger("nav_eval_gateway.server_sent_events")
T = TypeVar("T")
MOST_SUBSCRIPTIONS = 2000
LONGEST_SECONDS = 3600.0
"""A stream ends after this; the reader comes back, and proves again who they are."""
RETRY_MILLISECONDS = 2000
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
PAGE = 200


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


class Subscription:
    """Somebody who waits for events of a submission or a competition."""

    def __init__(self, *, submission_id: UUID | None = None, competition_id: UUID | None = None) -> None:
        self._submission_id = submission_id
        self._competition_id = competition_id
        self._changed = asyncio.Event()

    def matches(self, event: OutboxEvent) -> bool:
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
        self._closed = False
        """Streams end when the server stops: it would wait for them otherwise."""

    def stream(self, subscription: Subscription, read: Read, *, last: int | None) -> StreamingResponse:
        """An answer that goes on until there is nothing more to tell; refused beyond what this process can serve."""
        if len(self._subscriptions) >= MOST_SUBSCRIPTIONS:
            raise Unavailable("Too many are watching; ask for the status now and then instead.")
        body = self._stream(subscription, read, last)
        return StreamingResponse(body, media_type="text/event-stream", headers=HEADERS)

    async def _stream(self, subscription: Subscription, read: Read, last: int | None) -> AsyncIterator[bytes]:
        until = time.monotonic() + LONGEST_SECONDS
        yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
        with self._subscribe(subscription):
            while not self._closed and time.monotonic() < until:
                batch = await run_in_threadpool(_read_patiently, read, last)
                for event in batch.events:
                    yield event.encode()
                if batch.is_last:
                    return
                last = batch.last_id
                while not (batch.has_more or await subscription.wait(self._heartbeat_seconds)):
                    yield b": still here\n\n"
                    if batch.poll_again:
                        break

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
            for event in await self._try(self._new) or ():
                self._last_id = event.id
                for subscription in self._subscriptions:
                    if subscription.matches(event):
                        subscription.notify()

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


@dataclass(slots=True)
class SubmissionReader:
    """The life of one submission: status, canary, progress, done."""

    database: Database
    caller: Caller
    submission_id: UUID
    _place: tuple[SubmissionState, int | None] | None = None  #: what the reader was told last

    def __call__(self, last: int | None) -> EventBatch:
        """Events before the status: what is told must never be older than what was told before."""
        with self.database.read() as session:
            if last is None:
                latest, now, ranking = events.get_latest_id(session), *self._read_status(session)
                return self._end(
                    now, [self._make_status(now, latest), *self._make_progress(now, latest, ranking)], latest
                )
            found = events.read_events_after(
                session, last, subject=Subject(submission_id=self.submission_id), limit=PAGE
            )
            now, ranking = self._read_status(session)
            told = self._translate(found, now, ranking)
            return self._end(now, told, found[-1].id if found else last, more=len(found) == PAGE)

    def _read_status(self, session: Session) -> tuple[SubmissionStatus, Collection[str]]:
        """And the metrics that may be told: those that rank, or none."""
        submission = permissions.get_own_submission(session, self.caller, self.submission_id)
        access = permissions.get_submission(session, self.caller, self.submission_id)
        ranking: Mapping[str, float] = submission.phase.ranking["weights"]
        return read_status(session, submission), ranking.keys() if access.shows("scores") else ()

    def _end(self, now: SubmissionStatus, told: list[ServerSentEvent], last: int, *, more: bool = False) -> EventBatch:
        if not more and self._place != (now.state, now.queue_position):  # others went before: a new place in the queue
            told.append(self._make_status(now, None))
        over = now.state.is_final and not more
        if over:
            told.append(ServerSentEvent("done", _make_verdict(now), last))
        return EventBatch(told, last, more, over, poll_again=now.state is SubmissionState.QUEUED)

    def _make_status(self, now: SubmissionStatus, number: int | None) -> ServerSentEvent:
        self._place = (now.state, now.queue_position)
        place = {} if now.queue_position is None else {"position": now.queue_position, "starts_at": now.starts_at}
        return ServerSentEvent(
            "status", {"status": now.state.value, **place, **_explain(now.cause, now.detail)}, number
        )

    def _translate(
        self, found: Sequence[OutboxEvent], now: SubmissionStatus, ranking: Collection[str]
    ) -> list[ServerSentEvent]:
        """Events in the reader's words; of several about progress only the last, with the numbers of now."""
        newest = max((event.id for event in found if event.kind == events.PROGRESS), default=None)
        told: list[ServerSentEvent] = []
        for event in found:
            match event.kind:
                case events.STATE_CHANGED:
                    told.append(self._make_change(event, now))
                case events.VERDICT:
                    told.append(ServerSentEvent("canary", event.payload, event.id))
                case events.PROGRESS if event.id == newest:
                    told += self._make_progress(now, event.id, ranking)
        return told

    def _make_change(self, event: OutboxEvent, now: SubmissionStatus) -> ServerSentEvent:
        state = SubmissionState(event.payload["to"])
        if state is now.state:
            return self._make_status(now, event.id)
        self._place = (state, None)
        why = _explain(event.payload.get("cause"), event.payload.get("detail"))
        return ServerSentEvent("status", {"status": state.value, **why}, event.id)

    def _make_progress(self, now: SubmissionStatus, number: int, ranking: Collection[str]) -> list[ServerSentEvent]:
        if not now.episodes_total:
            return []
        means = {name: mean for name, mean in now.means.items() if name in ranking and mean is not None}
        note = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
        data = {
            "done": now.episodes_done,
            "total": now.episodes_total,
            "failed": now.episodes_failed,
            "note": note,
            **{name: value for name, value in now.used._asdict().items() if value is not None},
        }
        return [ServerSentEvent("progress", data, number)]


def _explain(cause: str | None, detail: str | None) -> dict[str, str]:
    return {name: text for name, text in (("cause", cause), ("message", detail)) if text}


def _make_verdict(now: SubmissionStatus) -> dict[str, Any]:
    advice = {"advice": now.advice} if now.advice else {}
    return {"status": now.state.value, **_explain(now.cause, now.detail), **advice}


@dataclass(frozen=True, slots=True)
class CompetitionReader:
    """What happens in a competition, as far as somebody may know: the form is that of webhooks."""

    database: Database
    caller: Caller
    competition_id: UUID

    def __call__(self, last: int | None) -> EventBatch:
        with self.database.read() as session:
            if last is None:
                return EventBatch((), events.get_latest_id(session))
            competition = session.get_one(Competition, self.competition_id)
            viewer = permissions.get_viewer(session, self.caller, competition)
            found = events.read_events_after(
                session, last, subject=Subject(competition_id=self.competition_id), limit=PAGE
            )
            told = [
                ServerSentEvent(event.kind, webhooks.make_body(event), event.id)
                for event in found
                if _may_see_event(session, event, viewer)
            ]
            return EventBatch(told, found[-1].id if found else last, len(found) == PAGE)


def _may_see_event(session: Session, event: OutboxEvent, viewer: Viewer) -> bool:
    if viewer.is_organiser or event.kind == events.PHASE_CHANGED:
        return True
    if event.team_id is not None or event.submission_id is not None:
        return event.team_id == viewer.team_id and viewer.team_id is not None
    phase = None if event.phase_id is None else session.get(Phase, event.phase_id)
    audience = Audience.PUBLIC if viewer.team_id is None else Audience.TEAM
    return phase is not None and event.kind == events.BOARD_CHANGED and may_see(phase, "scores", audience)
