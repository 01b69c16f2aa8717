"""What an agent prints, within a budget: the beginning says how it started, the end says why it stopped."""

import threading
from collections.abc import Iterator

from nav_eval.evaluation.shard_protocol import LONGEST_MESSAGE

NEWEST = 64 << 10
CUT = "\n… {:,} bytes left out …\n"


class CappedLog:
    """Takes any amount, keeps `limit` bytes: the first half of them and the newest. May be used by several threads."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._lock = threading.Lock()
        self._newest = bytearray()  # stays when the rest is taken: it says why a process ended
        self._clear()

    def write(self, data: bytes) -> None:
        with self._lock:
            self._newest = (self._newest + data[-NEWEST:])[-NEWEST:]
            room = self._head_limit - len(self._head)
            self._head += data[:room]
            self._tail += data[room:]
            if (over := len(self._tail) - self._tail_limit) > 0:
                del self._tail[:over]
                self._dropped += over

    def take(self) -> bytes:
        """What came since the last call."""
        with self._lock:
            gap = CUT.format(self._dropped).encode() if self._dropped else b""
            taken = bytes(self._head) + gap + bytes(self._tail)
            self._clear()
            return taken

    def read_tail(self, size: int = NEWEST) -> bytes:
        """The newest bytes, whether or not they were taken."""
        with self._lock:
            return bytes(self._newest[-size:])

    def _clear(self) -> None:
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0


class LineBuffer:
    """Bytes in, whole lines out; ends when closed. A last line without an end is dropped: its writer died."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._data = bytearray()
        self._closed = False

    def write(self, data: bytes) -> None:
        with self._ready:
            self._data += data
            if len(self._data) > LONGEST_MESSAGE and b"\n" not in self._data:
                self._closed = True
            self._ready.notify()

    def close(self) -> None:
        with self._ready:
            self._closed = True
            self._ready.notify()

    def __iter__(self) -> Iterator[bytes]:
        while (line := self._next()) is not None:
            yield line

    def _next(self) -> bytes | None:
        with self._ready:
            while (end := self._data.find(b"\n")) < 0:
                if self._closed:
                    return None
                self._ready.wait()
            line = bytes(self._data[: end + 1])
            del self._data[: end + 1]
            return line
