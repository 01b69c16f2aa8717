"""What an agent prints, within a budget: the beginning says how it started, the end says why it stopped."""

import threading

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

    def last_words(self, size: int = NEWEST) -> bytes:
        """The newest bytes, whether or not they were taken."""
        with self._lock:
            return bytes(self._newest[-size:])

    def _clear(self) -> None:
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0
