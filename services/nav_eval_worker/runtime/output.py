"""What an agent prints, within a budget: the beginning says how it started, the end says why it stopped."""

import threading
from collections.abc import Iterator

from nav_eval.evaluation.shard_protocol import LONGEST_MESSAGE

NEWEST = 64 << 10
LONGEST_LINE_BEGUN = 4 << 10
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

    def take(self, *, whole_lines: bool = False) -> bytes:
        """What came since the last call; a line that has only begun may stay, within the budget, until it ends."""
        with self._lock:
            gap = CUT.format(self._dropped).encode() if self._dropped else b""
            taken = bytes(self._head) + gap + bytes(self._tail)
            self._clear()
            end = taken.rfind(b"\n") + 1
            if not whole_lines or len(taken) - end > min(LONGEST_LINE_BEGUN, self._head_limit):
                return taken
            self._head += taken[end:]
            return taken[:end]

    def read_tail(self, size: int = NEWEST) -> bytes:
        """The newest bytes, whether or not they were taken."""
        with self._lock:
            return bytes(self._newest[-size:])

    def _clear(self) -> None:
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0


class LineBuffer:
    """Bytes in, whole lines out; ends when closed. A last line without an end is dropped: its writer died.

    It holds twice the longest message at most: a writer who is faster than its reader waits. A line that is longer
    than any message ends it.
    """

    def __init__(self, *, longest: int = LONGEST_MESSAGE) -> None:
        self._changed = threading.Condition()
        self._longest = longest
        self._data = bytearray()
        self._searched = 0  #: so many bytes at its beginning have no end of a line
        self._closed = False

    def __len__(self) -> int:
        return len(self._data)

    def write(self, data: bytes) -> None:
        """Wait for room; after the end, nothing is kept."""
        for start in range(0, len(data), self._longest):
            self._add(data[start : start + self._longest])

    def _add(self, data: bytes) -> None:
        with self._changed:
            while not self._closed and len(self._data) + len(data) > 2 * self._longest:
                self._changed.wait()
            if not self._closed:
                self._data += data
                self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[bytes]:
        while (line := self._next()) is not None:
            yield line

    def _next(self) -> bytes | None:
        with self._changed:
            while (end := self._data.find(b"\n", self._searched)) < 0:
                self._searched = len(self._data)
                if self._closed or len(self._data) > self._longest:
                    self.close()
                    return None
                self._changed.wait()
            line = bytes(self._data[: end + 1])
            del self._data[: end + 1]
            self._searched = 0
            self._changed.notify_all()
            return line
