"""Boards answer from memory, and are never old.

Rendering a board of a thousand teams takes a fifth of a second, sending it again takes none. The store counts a
version for each board that grows with everything the board shows, so each request asks for that version, one row
by its key, and gets the bytes that were rendered for it. Several gateway processes need not know of each other.

Requests that arrive together share a look at the version. A look serves only requests that came before it
began: nobody is answered with what was true before they asked.
"""

import asyncio
import gzip
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, cast
from uuid import UUID

import anyio
from anyio import CapacityLimiter, to_thread
from sqlalchemy import bindparam, select

from nav_eval_store.database import Database
from nav_eval_store.errors import NotFound
from nav_eval_store.models import Competition, Phase

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MOST_BYTES = 64 << 20
QUERIES_AT_ONCE = 4
RENDERINGS_AT_ONCE = 3
"""Whoever asks for many different ones waits for themselves; other requests find threads and connections free."""
SEARCH_PAUSE = 3.0
"""Words to search for are endless: they take turns of their own, are not kept for others, and after each of them the
next waits this many times as long as it took. So searching never takes more than a quarter of our time."""


class BoardVersion(NamedTuple):
    """Which state of a board is shown now, and to whom."""

    phase_id: UUID
    competition_id: UUID
    version: int
    audience: str
    """`public`, `team` or `organiser`: who sees the scores."""


_VERSION_QUERY = (
    select(
        Phase.id,
        Phase.competition_id,
        Phase.board_version,
        Phase.published_at,
        Phase.settings[("visibility", "scores")].as_string(),
    )
    .join(Competition, Competition.id == Phase.competition_id)
    .where(Competition.name == bindparam("competition"), Phase.name == bindparam("phase"))
)


def read_board_version(database: Database, competition: str, phase: str) -> BoardVersion:
    """The one cheap query that every request makes."""
    with database.engine.connect() as connection:
        row = connection.execute(_VERSION_QUERY, {"competition": competition, "phase": phase}).one_or_none()
    if row is None:
        raise NotFound(
            "There is no phase {phase!r} in a competition {competition!r}.", phase=phase, competition=competition
        )
    phase_id, competition_id, version, published_at, scores = row
    return BoardVersion(phase_id, competition_id, version, "public" if published_at is not None else scores)


@dataclass(frozen=True)
class RenderedAnswer:
    """An answer, ready to be sent."""

    version: int  #: of the board
    kind: str  #: of viewer: `public`, `organiser`, or the id of a team
    body: bytes

    @cached_property
    def etag(self) -> str:
        """Says the version to people, and the bytes to machines: a restored backup may count a version twice."""
        kind = self.kind.partition("-")[0]
        return f'"{self.version}-{kind}-{hashlib.blake2b(self.body, digest_size=8).hexdigest()}"'

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.body, compresslevel=5, mtime=0)


class SingleFlight(Generic[K, V]):
    """Asks once for all who wait, and never answers with what was asked before they came."""

    def __init__(self, look: Callable[[K], V], *, at_once: int = QUERIES_AT_ONCE) -> None:
        self._look = look
        self._waiting: dict[K, list[asyncio.Future[V]]] = {}
        self._running: set[K] = set()
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="look")

    def ask(self, key: K) -> asyncio.Future[V]:
        """The answer of a look that begins from now on."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(future)
        if key not in self._running:
            self._begin(key)
        return future

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, key: K) -> None:
        """A look for all who wait now; who comes later waits for the next one."""
        waiting = self._waiting.pop(key)
        self._running.add(key)
        look = asyncio.get_running_loop().run_in_executor(self._threads, self._look, key)
        look.add_done_callback(lambda ended: self._end(key, waiting, ended))

    def _end(self, key: K, waiting: list[asyncio.Future[V]], ended: asyncio.Future[V]) -> None:
        self._running.discard(key)
        error = None if ended.cancelled() else ended.exception()
        for future in waiting:
            if future.done():  # its client is gone
                continue
            if ended.cancelled():
                future.cancel()
            elif error is not None:
                future.set_exception(error)
            else:
                future.set_result(ended.result())
        if key in self._waiting:
            self._begin(key)


class BoardCache:
    """Rendered boards by phase, viewer and format; the least used make room."""

    def __init__(self, database: Database, *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._limiter, self._searching = CapacityLimiter(RENDERINGS_AT_ONCE), asyncio.Lock()
        self._kept: OrderedDict[Hashable, RenderedAnswer] = OrderedDict()
        self._rendering: dict[Hashable, asyncio.Task[RenderedAnswer]] = {}
        self._looks = SingleFlight[tuple[str, str], BoardVersion](lambda names: read_board_version(database, *names))

    def close(self) -> None:
        self._looks.close()

    def find_version(self, competition: str, phase: str) -> Awaitable[BoardVersion]:
        """What the board shows now."""
        return self._looks.ask((competition, phase))

    async def get(
        self,
        now: BoardVersion,
        kind: str,
        form: str,
        render: Callable[[], RenderedAnswer],
        *,
        is_usual: bool = True,
    ) -> RenderedAnswer:
        """The answer for `now`, from memory or rendered in a thread, once for all who wait for it.

        There must be only so many usual forms; what has endless ones is rendered when there is time, and not kept.
        """
        key = (now.phase_id, kind, form)
        kept = self._kept.get(key)
        if kept is not None and kept.version >= now.version:
            self._kept.move_to_end(key)
            return kept
        wanted = (*key, now.version)
        task = self._rendering.get(wanted)
        if task is None:
            task = self._rendering[wanted] = asyncio.create_task(
                self._render(key if is_usual else None, wanted, render)
            )
        return await asyncio.shield(task)

    async def _render(
        self, key: Hashable | None, wanted: Hashable, render: Callable[[], RenderedAnswer]
    ) -> RenderedAnswer:
        try:
            rendered = await (
                self._search(render) if key is None else to_thread.run_sync(render, limiter=self._limiter)
            )
        finally:
            del self._rendering[wanted]
        if key is not None:
            self._keep(key, rendered)
        return rendered

    async def _search(self, render: Callable[[], RenderedAnswer]) -> RenderedAnswer:
        await self._searching.acquire()
        started = time.monotonic()
        try:
            return await to_thread.run_sync(render, limiter=self._limiter)
        finally:
            pause = SEARCH_PAUSE * (time.monotonic() - started)
            asyncio.get_running_loop().call_later(pause, self._searching.release)

    def _keep(self, key: Hashable, rendered: RenderedAnswer) -> None:
        kept = self._kept.get(key)
        if kept is None or kept.version <= rendered.version:
            self._kept[key] = rendered
            self._kept.move_to_end(key)
        while len(self._kept) > 1 and self.size > self._most_bytes:
            self._kept.popitem(last=False)

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(len(answer.body) for answer in self._kept.values())


T = TypeVar("T")
AT_ONCE = 2
MOST_KEPT = 512


class ComputePool:
    """A small pool for heavy questions."""

    def __init__(self, *, at_once: int = AT_ONCE, most_kept: int = MOST_KEPT) -> None:
        self._limiter = anyio.CapacityLimiter(at_once)
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._most_kept = most_kept

    async def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The answer to `key`: kept, or computed in a thread when there is room."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return cast(T, self._kept[key])
        answer = await self.run(compute)
        self._kept[key] = answer
        if len(self._kept) > self._most_kept:
            self._kept.popitem(last=False)
        return answer

    async def run(self, compute: Callable[[], T]) -> T:
        """The answer, computed in a thread when there is room."""
        return await to_thread.run_sync(compute, limiter=self._limiter)
