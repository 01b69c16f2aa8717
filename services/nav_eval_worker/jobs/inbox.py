"""What a simulator said and nobody has dealt with yet: so many messages, so many bytes, then it has to wait.

A simulator may be taken over by the agent that it talks to. Whatever it sends, the worker's memory stays as it is.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from nav_eval.evaluation.shard_protocol import LONGEST_MESSAGE

T = TypeVar("T")
MOST_MESSAGES = 1000
MOST_BYTES = 2 * LONGEST_MESSAGE
WAITING_SECONDS = 1.0
"""Between two signs of life of a writer who waits for us."""


class Inbox(Generic[T]):
    """Between one thread that puts and one that takes; ends for both when it is closed."""

    def __init__(self, *, most: int = MOST_MESSAGES, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._changed = threading.Condition()
        self._items: deque[tuple[T, int]] = deque()
        self._bytes = 0
        self._closed = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T, *, size: int, while_waiting: Callable[[], None] = lambda: None) -> bool:
        """Wait for room; False when nobody takes anything any more. A single item may be of any size."""
        with self._changed:
            while not self._closed and self._is_full(size):
                while_waiting()
                self._changed.wait(WAITING_SECONDS)
            if self._closed:
                return False
            self._items.append((item, size))
            self._bytes += size
            self._changed.notify_all()
            return True

    def _is_full(self, size: int) -> bool:
        return len(self._items) >= self._most or (bool(self._items) and self._bytes + size > self._most_bytes)

    def close(self) -> None:
        """Nothing more is put; what is there may still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[T]:
        while True:
            with self._changed:
                while not self._items:
                    if self._closed:
                        return
                    self._changed.wait()
                item, size = self._items.popleft()
                self._bytes -= size
                self._changed.notify_all()
            yield item
