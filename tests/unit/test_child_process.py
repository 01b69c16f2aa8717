"""Programs that we start, and how we end ourselves."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable

import pytest

from nav_eval.child_process import exit_on_signal


class _EndsWithASignal:
    """Python prints what is raised in `__del__` and goes on, as it does with callbacks of weak references."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):  # by then the signal's handler was called
            pass


def wait_in_block(begin: Callable[[], object]) -> None:
    with exit_on_signal(3):
        begin()
        threading.Event().wait(60)


def test_a_signal_leaves_the_block() -> None:
    with pytest.raises(SystemExit) as left:
        wait_in_block(lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert left.value.code == 3


def test_a_signal_in_a_callback_of_pythons_is_not_lost() -> None:
    with pytest.raises(SystemExit) as left:
        wait_in_block(_EndsWithASignal)
    assert left.value.code == 3


def test_everything_is_as_before_behind_the_block() -> None:
    before = sys.unraisablehook, signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with exit_on_signal():
        pass
    assert before == (sys.unraisablehook, signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))


def test_other_lost_exceptions_are_told_as_usual() -> None:
    told: list[object] = []
    before, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        with exit_on_signal():

            class Fails:
                def __del__(self) -> None:
                    raise ValueError

            Fails()
            gc.collect()
    finally:
        sys.unraisablehook = before
    assert [type(lost.exc_value) for lost in told] == [ValueError]  # type: ignore[attr-defined]
