"""A few at once, a few more who wait, and the rest is asked to come back.

For work that is cheap to ask for and costly to do, such as checking a password.
"""

from threading import BoundedSemaphore

from nav_eval_gateway.errors import Unavailable


class Turnstile:
    """`with turnstile: …` in a thread; those who wait take threads, too, so there may be few of them."""

    def __init__(self, *, inside: int, waiting: int) -> None:
        self._inside = BoundedSemaphore(inside)
        self._admitted = BoundedSemaphore(inside + waiting)

    def __enter__(self) -> None:
        if not self._admitted.acquire(blocking=False):
            raise Unavailable("Too many people log in at once; try again in a moment.")
        self._inside.acquire()

    def __exit__(self, *_: object) -> None:
        self._inside.release()
        self._admitted.release()
