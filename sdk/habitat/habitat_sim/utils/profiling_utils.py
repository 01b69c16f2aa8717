"""Marks for a profiler of NVIDIA's; here they cost nothing and mark nothing."""

from contextlib import ContextDecorator
from typing import Any


def configure(capture_start_step: int = -1, num_steps_to_capture: int = -1) -> None:
    """Accepted; there is nothing to capture."""


def on_start_step() -> None:
    """A step begins."""


def range_push(msg: str) -> None:
    """A named piece of work begins."""


def range_pop() -> None:
    """It ends."""


class RangeContext(ContextDecorator):
    def __init__(self, msg: str) -> None:
        self.msg = msg

    def __enter__(self) -> "RangeContext":
        return self

    def __exit__(self, *_: Any) -> None:
        """Nothing was opened."""
