"""Programs that never outlive the one that started them, however that ends.

`kill -9` lets nobody clean up, so the kernel does it: a leashed program asks to be told (SIGTERM) when its parent
dies, and then becomes the command that it was given. The leash stays with the process through `exec`.

The kernel's "parent" is the thread that started the program: start it from one that lives as long as it should.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PR_SET_PDEATHSIG = 1


def leashed(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` on a leash of this process."""
    return [sys.executable, "-m", "nav_eval.leash", str(os.getpid()), *command]


def nav_eval(*arguments: str) -> list[str]:
    """The command line of `nav-eval …`, in this Python."""
    return [sys.executable, "-m", "nav_eval.cli", *arguments]


def hold(parent: int) -> None:
    """End with `parent`; at once if it has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit("nav-eval: the program that started this one has ended.")


@contextmanager
def stoppable(code: int = 0) -> Iterator[None]:
    """SIGTERM and Ctrl-C leave the block as an exit with `code`, so that everything in it is ended in good order."""

    def leave(_number: int, _frame: object) -> None:
        raise SystemExit(code)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main() -> None:
    hold(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 (the caller's own command, and no shell)


if __name__ == "__main__":
    main()
