"""A stream of gRPC that one thread asks and hears.

The library's own way keeps two more threads busy with every stream: one takes requests from an iterator, the other
waits for whatever happens on the channel. A message passes through both, and each wake-up hands Python's lock to
another core. The library's blocking calls do without: they have a queue of events to themselves, and the caller waits
on it. `DirectStream` opens a stream like that, from the library's own pieces. Those are no promise of the library's:
`QueuedStream` does the same with what is, for releases in which they do not fit.
"""

import queue
import threading
from abc import ABC, abstractmethod
from typing import Any

import grpc

_NO_FLAGS = 0
_STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}


class Stream(ABC):
    """A call under way."""

    is_open = False  #: something was asked and its answer is not there yet

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


class DirectStream(Stream):
    """Waits in the thread that hears."""

    def __init__(self, channel: grpc.Channel, method: str) -> None:
        from grpc._cython import cygrpc  # type: ignore[attr-defined]

        self._pieces = cygrpc
        whole_call = (
            cygrpc.SendInitialMetadataOperation((), _NO_FLAGS),
            cygrpc.ReceiveInitialMetadataOperation(_NO_FLAGS),
            cygrpc.ReceiveStatusOnClientOperation(_NO_FLAGS),
        )
        flags = cygrpc.PropagationConstants.GRPC_PROPAGATE_DEFAULTS
        self._call = channel._channel.segregated_call(  # type: ignore[attr-defined]
            flags, method.encode(), None, None, (), None, ((whole_call, None),), None
        )
        self._unsent: bytes | None = None
        self._is_sending = self._is_receiving = False
        self._heard: bytes | None = None
        self._status: StreamError | None = None

    def ask(self, message: bytes) -> None:
        self.is_open, self._unsent = True, message
        self._send()

    def hear(self) -> bytes | None:
        if self._status is None and not self._is_receiving:
            self._call.operate((self._pieces.ReceiveMessageOperation(_NO_FLAGS),), None)
            self._is_receiving = True
        while self._is_receiving:
            self._take_event()
        message, self._heard, self.is_open = self._heard, None, False
        if message is not None:
            return message
        while self._status is None:
            self._take_event()
        if self._status.code() is grpc.StatusCode.OK:
            return None
        raise self._status

    def cancel(self) -> None:
        self._call.cancel(self._pieces.StatusCode.cancelled, "Cancelled by the evaluator.")

    def close(self) -> None:
        """The library keeps a call until somebody has heard of all its ends."""
        self.cancel()
        while self._is_receiving or self._status is None:
            self._take_event()
        if self._is_sending:  # to a peer that does not read: there is no saying how long
            threading.Thread(target=self._take_event, name="nav-eval-last-message", daemon=True).start()

    def _send(self) -> None:
        """One message at a time; where the one before is still under way, this one follows when it is through."""
        if self._unsent is not None and not self._is_sending and self._status is None:
            self._call.operate((self._pieces.SendMessageOperation(self._unsent, _NO_FLAGS),), None)
            self._is_sending, self._unsent = True, None

    def _take_event(self) -> None:
        """Wait until something is through: a message either way, or the whole call.

        Breaking off ends all waits but the one for a message that is being sent, so that nobody waits for that alone.
        """
        last = self._call.next_event().batch_operations[-1]
        if last.type() == self._pieces.OperationType.receive_message:
            self._is_receiving, self._heard = False, last.message()
        elif last.type() == self._pieces.OperationType.send_message:
            self._is_sending = False
            self._send()
        else:
            code = _STATUS_CODES.get(last.code(), grpc.StatusCode.UNKNOWN)
            self._status = StreamError(code, last.details() or "")


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
        self.is_open = False
        return message

    def cancel(self) -> None:
        self._messages.put(None)
        self._call.cancel()
