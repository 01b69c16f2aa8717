"""Statistics that take a moment: few at a time, and each once.

What they are made of (the episodes of completed submissions) never changes, so answers are kept by what was
asked. Whether somebody may see an answer is decided before, every time.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

import anyio
from anyio import to_thread

T = TypeVar("T")
AT_ONCE = 2
MOST_KEPT = 512


class Computing:
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
