"""Streams of gRPC that one thread hears all at once.

A thread for each stream has to be woken for each of its messages, and every wake-up hands Python's lock to another
core. Where the streams of a channel share a queue of events, one thread can wait for whichever answers first. The
library's own calls have such a queue, which a thread of the library's reads; so a listener has a channel to itself,
with no other calls than its streams. Like `grpc_streams`, this is made of pieces that are no promise of the library's.

The library has no way to look into the queue without waiting. But a batch of no operations is through at once and
comes behind all that is in the queue already: a bell that everybody may ring. It hangs on a call that never begins, so
nothing of it is sent.
"""

import threading
import time
from typing import Any

import grpc

from nav_eval.agents.client import Listener, Watchdog
from nav_eval.agents.grpc_streams import NO_FLAGS, CoreStream

CLOSE_SECONDS = 2.0  #: for what is under way to be broken off


class ListenedStream(CoreStream):
    """Waits until the listener has heard something. Any thread may ask and hear; only one does at a time."""

    _kind = "integrated_call"

    def __init__(self, channel: grpc.Channel, method: str) -> None:
        self._changed = threading.Condition()
        super().__init__(channel, method)

    @property
    def has_answer(self) -> bool:
        """Whether `hear` would return a message at once."""
        return self._heard is not None

    @property
    def is_over(self) -> bool:
        return self._status is not None

    def ask(self, message: bytes) -> None:
        with self._changed:
            super().ask(message)
            self._receive()

    def hear(self) -> bytes | None:
        with self._changed:
            return super().hear()

    def take(self, event: Any, *, came_at: float | None = None) -> None:  # noqa: ANN401
        with self._changed:
            super().take(event, came_at=came_at)
            self._changed.notify_all()

    def _wait(self) -> None:
        self._changed.wait()


class StreamListener(Listener):
    """Hears all streams of a channel that nothing else uses."""

    def __init__(self, channel: grpc.Channel, watchdog: Watchdog) -> None:
        from grpc._cython import cygrpc  # type: ignore[attr-defined]

        self._channel, self._watchdog = channel, watchdog
        self._events: Any = channel._channel  # type: ignore[attr-defined]
        self._streams: set[ListenedStream] = set()  #: of which something may still come
        self._looked_at = time.monotonic()
        self._cancelled = cygrpc.StatusCode.cancelled
        never_begun = (cygrpc.ReceiveStatusOnClientOperation(NO_FLAGS),)
        self._bell = self._events.integrated_call(
            NO_FLAGS, b"/bell", None, None, (), None, ((never_begun, self),), None
        )

    def open_stream(self, method: str) -> ListenedStream:
        stream = ListenedStream(self._channel, method)
        self._streams.add(stream)
        return stream

    def listen(self, seconds: float) -> None:
        """What came while this thread did something else came when it last looked: that time is not the agent's."""
        if not self._take_all(came_at=self._looked_at) and seconds > 0.0:
            with self._watchdog.watch(seconds, self.wake):
                self._take_event()
        self._looked_at = time.monotonic()

    def _take_all(self, *, came_at: float) -> bool:
        """Take what is there; whether there was anything."""
        last, count = object(), 0
        self._bell.operate((), last)
        while self._take_event(came_at=came_at) is not last:
            count += 1
        return count > 0

    def wake(self) -> None:
        self._bell.operate((), None)

    def close(self) -> None:
        """Within seconds, as for the client: a message to a peer that does not read may stay under way for hours."""
        closing = threading.Thread(target=self._break_off, name="nav-eval-listener", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)

    def _break_off(self) -> None:
        """The library keeps a call until somebody has heard of all its ends."""
        for stream in tuple(self._streams):
            stream.cancel()
        self._bell.cancel(self._cancelled, "The listener is closed.")
        is_bell_over = False
        while not (is_bell_over and all(stream.is_done for stream in tuple(self._streams))):
            is_bell_over |= self._take_event() is self
        self._channel.close()

    def _take_event(self, *, came_at: float | None = None) -> object:
        """Wait for one event; what it is about."""
        event = self._events.next_call_event()
        stream = event.tag
        if isinstance(stream, ListenedStream):
            stream.take(event, came_at=came_at)
            if stream.is_done:
                self._streams.discard(stream)
        return stream


def open_listener(channel: grpc.Channel, watchdog: Watchdog) -> StreamListener | None:
    """None for releases of the library in which the pieces do not fit."""
    try:
        listener = StreamListener(channel, watchdog)
        listener.listen(0.0)
    except (AttributeError, ImportError, TypeError, ValueError):
        return None
    return listener
