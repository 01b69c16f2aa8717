"""Ask again, a little later each time, where asking again is safe."""

import time
from collections.abc import Callable
from typing import TypeVar

from nav_eval.agents.settings import ClientSettings

T = TypeVar("T")


def retrying(operation: Callable[[], T], *, on: type[Exception], settings: ClientSettings) -> T:
    """The result of `operation`; up to `settings.retries` further attempts when it raises `on`."""
    pause = settings.backoff
    for _ in range(settings.retries):
        try:
            return operation()
        except on:
            time.sleep(pause)
            pause *= 2
    return operation()
