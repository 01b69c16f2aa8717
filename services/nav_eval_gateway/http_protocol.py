"""Connections that cannot be held against us: heads are small and come soon, answers are read, an address has so many.

uvicorn reads a head of any size for as long as it takes, waits for ever for a request that never ends, and for a reader
that never reads. Each of these costs its sender nothing, so each has a limit here, below every request:

- a head has so many bytes and lines, and is complete after so many seconds, the first one counted from the connection;
- what surrounds a body (sizes of chunks, lines after its end) is small, and once the answer is out the rest of a body
  is waited for only shortly;
- whoever does not read an answer loses the connection, at whatever trickle it reads;
- one address has so many connections; a proxy of ours speaks for many, and has as many as it likes.
"""

from asyncio import TimerHandle, Transport
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nav_eval_gateway.proxies import ProxyTrust, to_network

UNLIMITED = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionLimits:
    """What a connection may cost."""

    head_bytes: int = 32 << 10  #: request line and headers
    head_lines: int = 100
    head_seconds: float = 10.0  #: until a head that was begun is complete
    linger_seconds: float = 5.0  #: for the rest of a body whose answer is out
    stall_seconds: float = 20.0  #: between two looks at a reader that we wait for
    least_read: int = 4 << 10  #: bytes that it must have read in between
    per_address: int = 256  #: connections; 0 is without limit


class ConnectionGuard:
    """Counts the connections of each address."""

    def __init__(self, limits: ConnectionLimits, *, trust: ProxyTrust | None = None) -> None:
        self.limits = limits
        self._trust = trust or ProxyTrust()
        self._open: Counter[str] = Counter()

    def admit(self, address: str) -> Callable[[], None] | None:
        """What to call when the connection ends; None where there are too many already."""
        if self.limits.per_address == UNLIMITED or self._trust.is_proxy(address):
            return _do_nothing
        caller = to_network(address)
        if self._open[caller] >= self.limits.per_address:
            return None
        self._open[caller] += 1
        return partial(self._leave, caller)

    def _leave(self, caller: str) -> None:
        self._open[caller] -= 1
        if self._open[caller] <= 0:
            del self._open[caller]


def _do_nothing() -> None:
    """Nobody counts this connection."""


def make_server_config(app: Any, guard: ConnectionGuard, **options: Any) -> uvicorn.Config:  # noqa: ANN401
    """How uvicorn serves the gateway, wherever it does."""
    usual = {"ws": "none", "proxy_headers": False, "server_header": False}
    return uvicorn.Config(app, http=partial(GuardedHttpProtocol, guard=guard), **{**usual, **options})  # type: ignore[arg-type]


class GuardedHttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with an end to everybody's patience."""

    def __init__(self, *arguments: Any, guard: ConnectionGuard, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **options)
        self._guard, self._limits = guard, guard.limits
        self._leave: Callable[[], None] | None = None
        self._in_head, self._too_large, self._is_between = True, False, False
        self._heads = 0
        self._head_bytes = self._listed_bytes = self._body_bytes = self._around_bytes = 0
        self._deadline: TimerHandle | None = None
        self._stall: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._leave = self._guard.admit(self.client[0] if self.client else "local")
        if self._leave is None:
            transport.abort()
            return
        self._set_deadline(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._leave is not None:
            self._leave()
            self._leave = None
        self._set_deadline(None)
        self._watch_reader(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        in_head, heads, body = self._in_head, self._heads, self._body_bytes
        super().data_received(data)
        if self.parser is None or self.transport.is_closing():
            return
        if heads == self._heads:  # otherwise a head ended here, and what came with it is bounded by one read
            self._count(data, in_head=in_head, body=self._body_bytes - body)
        if self._in_head and self._deadline is None and not self._is_between:
            self._set_deadline(self._limits.head_seconds)
        if self._is_too_large():
            self._refuse()

    def _count(self, data: bytes, *, in_head: bool, body: int) -> None:
        if in_head:
            self._head_bytes += len(data)
        else:
            self._around_bytes += max(0, len(data) - body)

    def _is_too_large(self) -> bool:
        """A head, or what is sent around a body; clients of the clumsiest sort send a byte at a time."""
        around = self._around_bytes > 16 * self._limits.head_bytes + 16 * self._body_bytes
        return self._too_large or self._head_bytes > self._limits.head_bytes or around

    def on_message_begin(self) -> None:
        self._in_head, self._is_between = True, False
        self._head_bytes = self._listed_bytes = self._body_bytes = self._around_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._refuse_large(len(self.url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._listed_bytes += len(name) + len(value)
        self._refuse_large(self._listed_bytes)

    def _refuse_large(self, size: int) -> None:
        if size > self._limits.head_bytes or len(self.headers) > self._limits.head_lines:
            self._too_large = True
            raise ValueError("the head is too large")  # the parser stops here; `send_400_response` says why

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._heads += 1
        self._set_deadline(None)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head = self._is_between = True
        self._head_bytes = 0
        self._set_deadline(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._in_head and self.cycle.response_complete:
            self._set_deadline(self._limits.linger_seconds)

    def send_400_response(self, msg: str) -> None:
        if self._too_large:
            self._refuse()
        elif not self.transport.is_closing():
            super().send_400_response(msg)

    def _refuse(self) -> None:
        """Say it to those who listen, unless half an answer is out already."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_TOO_LARGE)
        self.transport.close()

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._watch_reader(None)
        super().resume_writing()

    def _watch_reader(self, waiting: int | None) -> None:
        """Look after a while whether it has read some of what waits for it."""
        if self._stall is not None:
            self._stall.cancel()
        seconds = self._limits.stall_seconds
        self._stall = None if waiting is None else self.loop.call_later(seconds, self._look_at_reader, waiting)

    def _look_at_reader(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if before - left < self._limits.least_read:
            self.transport.abort()
        else:
            self._watch_reader(left)


_BODY = b"The head of the request is too large.\n"
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(_BODY), _BODY)
)
