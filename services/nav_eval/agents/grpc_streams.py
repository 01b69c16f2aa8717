"""A stream of gRPC that one thread asks and hears.

The library's own way keeps two more threads busy with every stream: one takes requests from an iterator, the other
waits for whatever happens on the channel. A message passes through both, and each wake-up hands Python's lock to
another core. The library's blocking calls do without: they have a queue of events to themselves, and the caller waits
on it. `DirectStream` opens a stream like that, from the library's own pieces. Those are no promise of the library's:
`QueuedStream` does the same with what is, for releases in which they do not fit.
"""

import queue
import threading
import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import grpc

NO_FLAGS = 0
_STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}


class Stream(ABC):
    """A call under way."""

    is_open = False  #: something was asked and its answer is not there yet
    heard_at = 0.0  #: when the last message came, by `time.monotonic`

    @abstractmethod
    def ask(self, message: bytes) -> None:
        """Send a message; only if nothing is open. Does not wait, and does not say whether the call still lives."""

    @abstractmethod
    def hear(self) -> bytes | None:
        """Wait for a message; None when the agent has closed the stream. Raises the `grpc.RpcError` that ended it."""

    @abstractmethod
    def cancel(self) -> None:
        """Break off, from any thread: whoever waits is released at once."""

    def close(self) -> None:
        """Break off and let go of everything."""
        self.cancel()


def open_stream(channel: grpc.Channel, method: str) -> Stream:
    try:
        return DirectStream(channel, method)
    except (AttributeError, ImportError, TypeError):
        return QueuedStream(channel, method)


class StreamError(grpc.RpcError):
    """The status that a stream ended with."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(code.name)
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details


class CoreStream(Stream):
    """A call made of the library's own pieces: whoever takes its events hands them to `take`."""

    def __init__(self, channel: grpc.Channel, method: str) -> None:
        from grpc._cython import cygrpc  # type: ignore[attr-defined]

        self._pieces = cygrpc
        whole_call = (
            cygrpc.SendInitialMetadataOperation((), NO_FLAGS),
            cygrpc.ReceiveInitialMetadataOperation(NO_FLAGS),
            cygrpc.ReceiveStatusOnClientOperation(NO_FLAGS),
        )
        self._unsent: bytes | None = None
        self._is_sending = self._is_receiving = False
        self._heard: bytes | None = None
        self._status: StreamError | None = None
        open_call = getattr(channel._channel, self._kind)  # type: ignore[attr-defined]
        self._call = open_call(NO_FLAGS, method.encode(), None, None, (), None, ((whole_call, self),), None)

    _kind: ClassVar[str]  #: of the library's calls

    @abstractmethod
    def _wait(self) -> None:
        """Until something is through: a message either way, or the whole call."""

    @property
    def is_done(self) -> bool:
        """Nothing will come of it any more."""
        return self._status is not None and not self._is_sending and not self._is_receiving

    def ask(self, message: bytes) -> None:
        self.is_open, self._unsent = True, message
        self._send()

    def hear(self) -> bytes | None:
        self._receive()
        while self._is_receiving:
            self._wait()
        message, self._heard, self.is_open = self._heard, None, False
        if message is not None:
            return message
        while self._status is None:
            self._wait()
        if self._status.code() is grpc.StatusCode.OK:
            return None
        raise self._status

    def cancel(self) -> None:
        self._call.cancel(self._pieces.StatusCode.cancelled, "Cancelled by the evaluator.")

    def _send(self) -> None:
        """One message at a time; where the one before is still under way, this one follows when it is through."""
        if self._unsent is not None and not self._is_sending and self._status is None:
            message, self._unsent = self._unsent, None
            self._is_sending = self._call.operate((self._pieces.SendMessageOperation(message, NO_FLAGS),), self)

    def _receive(self) -> None:
        if self._heard is None and self._status is None and not self._is_receiving:
            self._is_receiving = self._call.operate((self._pieces.ReceiveMessageOperation(NO_FLAGS),), self)

    def take(self, event: Any, *, came_at: float | None = None) -> None:  # noqa: ANN401
        """Something is through; `came_at` is when, if that was not only now.

        Breaking off ends all waits but the one for a message that is being sent, so that nobody waits for that alone.
        """
        last = event.batch_operations[-1]
        if last.type() == self._pieces.OperationType.receive_message:
            self._is_receiving, self._heard = False, last.message()
            self.heard_at = time.monotonic() if came_at is None else came_at
        elif last.type() == self._pieces.OperationType.send_message:
            self._is_sending = False
            self._send()
        else:
            code = _STATUS_CODES.get(last.code(), grpc.StatusCode.UNKNOWN)
            self._status = StreamError(code, last.details() or "")


class DirectStream(CoreStream):
    """Waits in the thread that hears, on a queue of events of its own."""

    _kind = "segregated_call"

    def _wait(self) -> None:
        self.take(self._call.next_event())

    def close(self) -> None:
        """The library keeps a call until somebody has heard of all its ends."""
        self.cancel()
        while self._is_receiving or self._status is None:
            self._wait()
        if self._is_sending:  # to a peer that does not read: there is no saying how long
            threading.Thread(target=self._wait, name="nav-eval-last-message", daemon=True).start()


class QueuedStream(Stream):
    """Leaves sending and waiting to the library's threads."""

    def __init__(self, channel: grpc.Channel, method: str) -> None:
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        open_call: Any = channel.stream_stream  # typed as if it needed to be told how bytes become bytes
        self._call = open_call(method)(iter(self._messages.get, None))

    def ask(self, message: bytes) -> None:
        self._messages.put(message)
        self.is_open = True

    def hear(self) -> bytes | None:
        message: bytes | None = next(self._call, None)
        self.is_open, self.heard_at = False, time.monotonic()
        return message

    def cancel(self) -> None:
        self._messages.put(None)
        self._call.cancel()
