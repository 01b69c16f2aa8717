"""Signs of life on a connection that may be silent for long: the agent thinks, or we render."""

import time
from collections.abc import Callable


class Heartbeat:
    """When to send the next sign of life, and when to stop waiting for theirs."""

    def __init__(self, *, interval: float, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = interval
        self._timeout = timeout
        self._clock = clock
        self._sent = self._heard = clock()

    def sent(self) -> None:
        """Anything we send is a sign of life."""
        self._sent = self._clock()

    def heard(self) -> None:
        """Anything they send is one, too."""
        self._heard = self._clock()

    @property
    def due(self) -> bool:
        """Nothing was sent for an interval."""
        return self._clock() - self._sent >= self._interval

    @property
    def lost(self) -> bool:
        """Nothing was heard for so long that nobody can be there."""
        return self._clock() - self._heard > self._timeout
