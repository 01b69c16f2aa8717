"""Live events as server-sent events: what happened, in order, and from where the reader left off.

Ids are those of the store's events. A reader that comes back with Last-Event-ID gets all that it missed; one
that comes for the first time gets where things stand, and what happens from then on.
"""

import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from nav_eval_gateway import access
from nav_eval_gateway.access import Caller
from nav_eval_gateway.live import Watcher
from nav_eval_gateway.services import Services
from nav_eval_store import deliveries, events
from nav_eval_store.audit import Subject
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import NotAllowed, NotFound
from nav_eval_store.lifecycle import State
from nav_eval_store.models import Competition, Event, Phase
from nav_eval_store.status import Status, status
from nav_eval_store.viewing import Audience, Viewer, may_see

log = logging.getLogger("nav_eval_gateway.streaming")
LONGEST_SECONDS = 3600.0
"""A stream ends after this; the reader comes back, and proves again who they are."""
RETRY_MILLISECONDS = 2000
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
PAGE = 200


class Told(NamedTuple):
    """One server-sent event."""

    kind: str
    data: Mapping[str, Any]
    id: int | None = None

    def encode(self) -> bytes:
        number = "" if self.id is None else f"id: {self.id}\n"
        return f"{number}event: {self.kind}\ndata: {json.dumps(self.data, default=str)}\n\n".encode()


class News(NamedTuple):
    """What a reader hears next."""

    told: Sequence[Told]
    last_id: int | None
    """The last event that was looked at."""
    more: bool = False
    """There may be further ones already."""
    over: bool = False
    """Nothing will ever come after this."""
    restless: bool = False
    """Things change without an event: look again even if nobody says that there is news."""


Read = Callable[[int | None], News]
"""What happened after an event; None asks where things stand."""


def last_event_id(header: str | None) -> int | None:
    """Last-Event-ID, if it is one of ours."""
    text = (header or "").strip()
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= 18 else None


def event_stream(parts: Services, watcher: Watcher, read: Read, *, last: int | None) -> StreamingResponse:
    """An answer that goes on until there is nothing more to tell."""
    parts.hub.refuse_crowds()
    body = _stream(parts, watcher, read, last)
    return StreamingResponse(body, media_type="text/event-stream", headers=HEADERS)


async def _stream(parts: Services, watcher: Watcher, read: Read, last: int | None) -> AsyncIterator[bytes]:
    until = time.monotonic() + LONGEST_SECONDS
    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    with parts.hub.watching(watcher):
        while not parts.hub.closed and time.monotonic() < until:
            news = await run_in_threadpool(_patiently, read, last)
            for told in news.told:
                yield told.encode()
            if news.over:
                return
            last = news.last_id
            while not (news.more or await watcher.wait(parts.settings.heartbeat_seconds)):
                yield b": still here\n\n"
                if news.restless:
                    break


def _patiently(read: Read, last: int | None) -> News:
    """A database that is away for a moment ends no stream; a right that was taken away does."""
    try:
        return read(last)
    except (NotFound, NotAllowed):
        return News((), last, over=True)
    except SQLAlchemyError as error:
        log.warning("cannot read events: %s", error)
        return News((), last, restless=True)


@dataclass(slots=True)
class SubmissionReader:
    """The life of one submission: status, canary, progress, done."""

    database: Database
    caller: Caller
    submission_id: UUID
    _place: tuple[State, int | None] | None = None  #: what the reader was told last

    def __call__(self, last: int | None) -> News:
        """Events before the status: what is told must never be older than what was told before."""
        with self.database.read() as session:
            if last is None:
                latest, now, ranking = events.latest_id(session), *self._status_now(session)
                return self._end(now, [self._status(now, latest), *self._progress(now, latest, ranking)], latest)
            found = events.after(session, last, subject=Subject(submission_id=self.submission_id), limit=PAGE)
            now, ranking = self._status_now(session)
            told = self._translated(found, now, ranking)
            return self._end(now, told, found[-1].id if found else last, more=len(found) == PAGE)

    def _status_now(self, session: Session) -> tuple[Status, Collection[str]]:
        """And the metrics that may be told: those that rank, or none."""
        submission = access.own_submission(session, self.caller, self.submission_id)
        sight = access.submission(session, self.caller, self.submission_id)
        ranking: Mapping[str, float] = submission.phase.ranking["weights"]
        return status(session, submission), ranking.keys() if sight.shows("scores") else ()

    def _end(self, now: Status, told: list[Told], last: int, *, more: bool = False) -> News:
        if not more and self._place != (now.state, now.queue_position):  # others went before: a new place in the queue
            told.append(self._status(now, None))
        over = now.state.is_final and not more
        if over:
            told.append(Told("done", _verdict(now), last))
        return News(told, last, more, over, restless=now.state is State.QUEUED)

    def _status(self, now: Status, number: int | None) -> Told:
        self._place = (now.state, now.queue_position)
        place = {} if now.queue_position is None else {"position": now.queue_position, "starts_at": now.starts_at}
        return Told("status", {"status": now.state.value, **place, **_why(now.cause, now.detail)}, number)

    def _translated(self, found: Sequence[Event], now: Status, ranking: Collection[str]) -> list[Told]:
        """Events in the reader's words; of several about progress only the last, with the numbers of now."""
        newest = max((event.id for event in found if event.kind == events.PROGRESS), default=None)
        told: list[Told] = []
        for event in found:
            match event.kind:
                case events.STATE_CHANGED:
                    told.append(self._changed(event, now))
                case events.VERDICT:
                    told.append(Told("canary", event.payload, event.id))
                case events.PROGRESS if event.id == newest:
                    told += self._progress(now, event.id, ranking)
        return told

    def _changed(self, event: Event, now: Status) -> Told:
        state = State(event.payload["to"])
        if state is now.state:
            return self._status(now, event.id)
        self._place = (state, None)
        why = _why(event.payload.get("cause"), event.payload.get("detail"))
        return Told("status", {"status": state.value, **why}, event.id)

    def _progress(self, now: Status, number: int, ranking: Collection[str]) -> list[Told]:
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
        return [Told("progress", data, number)]


def _why(cause: str | None, detail: str | None) -> dict[str, str]:
    return {name: text for name, text in (("cause", cause), ("message", detail)) if text}


def _verdict(now: Status) -> dict[str, Any]:
    advice = {"advice": now.advice} if now.advice else {}
    return {"status": now.state.value, **_why(now.cause, now.detail), **advice}


@dataclass(frozen=True, slots=True)
class CompetitionReader:
    """What happens in a competition, as far as somebody may know: the form is that of webhooks."""

    database: Database
    caller: Caller
    competition_id: UUID

    def __call__(self, last: int | None) -> News:
        with self.database.read() as session:
            if last is None:
                return News((), events.latest_id(session))
            competition = session.get_one(Competition, self.competition_id)
            viewer = access.viewer(session, self.caller, competition)
            found = events.after(session, last, subject=Subject(competition_id=self.competition_id), limit=PAGE)
            told = [
                Told(event.kind, deliveries.body(event), event.id)
                for event in found
                if _may_hear(session, event, viewer)
            ]
            return News(told, found[-1].id if found else last, len(found) == PAGE)


def _may_hear(session: Session, event: Event, viewer: Viewer) -> bool:
    if viewer.is_organiser or event.kind == events.PHASE_CHANGED:
        return True
    if event.team_id is not None or event.submission_id is not None:
        return event.team_id == viewer.team_id and viewer.team_id is not None
    phase = None if event.phase_id is None else session.get(Phase, event.phase_id)
    audience = Audience.PUBLIC if viewer.team_id is None else Audience.TEAM
    return phase is not None and event.kind == events.BOARD_CHANGED and may_see(phase, "scores", audience)
