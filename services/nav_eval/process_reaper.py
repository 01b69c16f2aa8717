"""The program that stands between us and a command that must not outlive us (`child_process`).

    python -I -S process_reaper.py bind PARENT COMMAND [ARGUMENT]...
    python -I -S process_reaper.py reap LIFELINE STATUS COMMAND [ARGUMENT]...

`kill -9` lets nobody clean up, so the kernel does it. `bind` asks to be told (SIGTERM) when PARENT dies, and then
becomes the command; the request stays with the process through `exec`.

`reap` stays as a small parent of the command. LIFELINE is the reading end of a pipe whose other end only the starter
holds. When it closes (the starter let go, or was killed) the command is asked to end and then ended; a `k` in it
means at once. As a "subreaper" it inherits whatever the command's processes leave behind, so none escapes by
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
from typing import NoReturn

SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER
DEATH_SIGNAL = 1  # and PR_SET_PDEATHSIG
GRACE = 1.0  #: seconds between asking and ending
KILL_NOW = b"k"


def main(arguments: list[str]) -> int:
    if arguments[0] == "bind":
        bind(int(arguments[1]), arguments[2:])
    return run_as_reaper(int(arguments[1]), int(arguments[2]), arguments[3:])


def bind(parent: int, command: list[str]) -> NoReturn:
    """Become the command, which ends with `parent`; do not even start if that has ended already."""
    if sys.platform == "linux":
        call_prctl(DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit("nav-eval: the program that started this one has ended.")
    os.execvp(command[0], command)  # noqa: S606 (the caller's own command, and no shell)


def run_as_reaper(lifeline: int, status: int, command: list[str]) -> int:
    """Start the command, and end all that comes of it when it is over."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the lifeline says when it is over
    call_prctl(SUBREAPER, 1)
    try:
        process = subprocess.Popen(command, start_new_session=True, preexec_fn=_prepare)  # noqa: PLW1509, S603
    except OSError as error:
        tell(status, {"error": f"Cannot start {command[0]!r}: {error.strerror}."})
        return 1
    tell(status, {"pid": process.pid})
    _let_go_of_streams()
    asked = _wait(lifeline, process.pid)
    if asked is not None:
        _ask(process.pid, grace=0.0 if asked else GRACE)
    code = _end_all(process.pid)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    tell(status, {"code": code, "cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss * 1024})
    return 0


def call_prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def tell(status: int, what: dict[str, object]) -> None:
    with suppress(OSError):  # nobody asks any more
        os.write(status, json.dumps(what).encode() + b"\n")


def _prepare() -> None:
    """In the child: signals as usual, and no life after ours."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    call_prctl(DEATH_SIGNAL, signal.SIGKILL)


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


def _ask(pid: int, *, grace: float) -> None:
    if grace == 0.0:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM)
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        select.select([handle], [], [], grace)
        os.close(handle)


def _end_all(pid: int) -> int | None:
    """Kill every descendant until there is none; the command's own exit code."""
    code = None
    while True:
        for descendant in list_descendants(os.getpid()):
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


def list_descendants(ancestor: int) -> list[int]:
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
