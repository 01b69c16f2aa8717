"""Python's collector of cyclic garbage, spared of what stays for ever."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collector() -> Iterator[None]:
    """While modules are loaded: to look through them again and again takes a quarter of the time, and nearly all stays.

    What is there at the end is not looked through later either.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
