"""A small parent for one command: when the worker goes, however it goes, nothing of the command stays.

    python -I -S keeper.py LIFELINE STATUS COMMAND [ARGUMENT]...

LIFELINE is the reading end of a pipe whose other end only the worker holds. When it closes (the worker
let go, or was killed) the command is asked to end and then ended; a `k` in it means at once. As a
"subreaper" the keeper inherits whatever the command's processes leave behind, so none escapes by
becoming a daemon. STATUS gets one JSON line when the command has started, and one when all is over.

A program of its own, standard library only, so that it starts in a moment.
"""

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER
DEATH_SIGNAL = 1  # and PR_SET_PDEATHSIG
GRACE = 1.0  #: seconds between asking and ending
KILL_NOW = b"k"


def main(arguments: list[str]) -> int:
    lifeline, status, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the lifeline says when it is over
    prctl(SUBREAPER, 1)
    try:
        process = subprocess.Popen(command, start_new_session=True, preexec_fn=_prepare)  # noqa: PLW1509, S603
    except OSError as error:
        tell(status, {"error": f"Cannot start {command[0]!r}: {error.strerror}."})
        return 1
    tell(status, {"pid": process.pid})
    _let_go_of_streams()
    asked = _wait(lifeline, process.pid)
    if asked is not None:
        _ask(process.pid, patience=0.0 if asked else GRACE)
    code = _end_all(process.pid)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    tell(status, {"code": code, "cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss * 1024})
    return 0


def prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def tell(status: int, what: dict[str, object]) -> None:
    with suppress(OSError):  # nobody asks any more
        os.write(status, json.dumps(what).encode() + b"\n")


def _prepare() -> None:
    """In the child: signals as usual, and no life after the keeper's."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    prctl(DEATH_SIGNAL, signal.SIGKILL)


def _let_go_of_streams() -> None:
    """The command's output ends when the command does, not when we do."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _wait(lifeline: int, pid: int) -> bool | None:
    """Until the command ends (None) or somebody wants it to end (True: at once)."""
    handle = os.pidfd_open(pid)
    ready, _, _ = select.select([lifeline, handle], [], [])
    os.close(handle)
    return os.read(lifeline, 1) == KILL_NOW if lifeline in ready else None


def _ask(pid: int, *, patience: float) -> None:
    if patience == 0.0:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM)
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        select.select([handle], [], [], patience)
        os.close(handle)


def _end_all(pid: int) -> int | None:
    """Kill every descendant until there is none; the command's own exit code."""
    code = None
    while True:
        for descendant in descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(descendant, signal.SIGKILL)
        try:
            ended, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if ended == pid:
            code = os.waitstatus_to_exitcode(how)
        if ended == 0:
            time.sleep(0.005)


def descendants(ancestor: int) -> list[int]:
    """All that it started, and all that those started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, new = [], [ancestor]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
