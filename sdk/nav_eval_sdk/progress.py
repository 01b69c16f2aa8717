"""A progress bar on stderr, and nothing where nobody looks."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 30
PAUSE = 0.1  #: seconds between two drawings


class Progress:
    """How far something is, of how much."""

    def __init__(self, title: str, total: float, *, unit: str = "", out: TextIO | None = None) -> None:
        self._title = title
        self._total = total
        self._unit = unit
        self._out = out or sys.stderr
        self._started = time.monotonic()
        self._drawn = 0.0
        self._shown = self._out.isatty()

    def update(self, done: float, note: str = "") -> None:
        now = time.monotonic()
        if self._shown and (now - self._drawn >= PAUSE or done >= self._total):
            self._drawn = now
            self._out.write(f"\r{self.line(done, note)}\x1b[K")
            self._out.flush()

    def line(self, done: float, note: str = "") -> str:
        share = min(1.0, done / self._total) if self._total else 1.0
        bar = "█" * int(share * WIDTH) + "░" * (WIDTH - int(share * WIDTH))
        left = self._left(share)
        amount = f"{done:,.0f}/{self._total:,.0f}{self._unit and ' ' + self._unit}"
        return f"{self._title} {bar} {share:4.0%} {amount}{left}{note and '  ' + note}"

    def close(self) -> None:
        if self._shown:
            self._out.write("\n")
            self._out.flush()

    def _left(self, share: float) -> str:
        if not 0.0 < share < 1.0:
            return ""
        seconds = (time.monotonic() - self._started) * (1 - share) / share
        return f"  {seconds // 60:.0f}:{seconds % 60:02.0f} left"
