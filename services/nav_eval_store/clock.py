"""What time it is, for every rule that depends on it.

Leases, quotas, deadlines and tokens ask a clock that is handed to them, so that a test can let a
day pass in no time and a clock that jumps is one more case to test.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Anything that knows the time."""

    def now(self) -> datetime:
        """The present moment, with its time zone."""


class SystemClock:
    """This machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass
class ManualClock:
    """A clock that moves when it is told to."""

    time: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def advance(self, by: timedelta | None = None, **parts: float) -> datetime:
        """Move on: `clock.advance(hours=3)`; negative amounts move back."""
        self.time += by if by is not None else timedelta(**parts)
        return self.time
