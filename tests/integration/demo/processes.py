"""Real programs for the tests: started, watched, ended by their id."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from nav_eval.child_process import make_nav_eval_command
from support.load import Deadline, measure_slowdown


def until(condition: Callable[[], object], *, seconds: float = 30.0, what: str = "it") -> object:
    """What `condition` gives once it gives something."""
    deadline = Deadline(seconds)
    while not deadline.is_over:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {seconds:g} s")


@contextmanager
def running(
    *arguments: str, log: Path, environment: Mapping[str, str], cwd: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """`nav-eval …`, with what it prints in `log`."""
    with log.open("ab") as stream:
        process = subprocess.Popen(
            make_nav_eval_command(*arguments), env={**os.environ, **environment}, cwd=cwd, stdout=stream, stderr=stream
        )
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM, *, seconds: float = 40.0) -> int:
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.wait(timeout=seconds * measure_slowdown())
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def processes_with(variable: str) -> list[int]:
    """Every live process that has this in its environment: `NAV_EVAL_HOME=/tmp/…`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid() and is_alive(int(folder.name)):
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if variable.encode() in variables:
                found.append(int(folder.name))
    return found


def processes_in(folder: Path) -> list[int]:
    """Every live process that works somewhere below a folder: an agent gets nothing else of an installation."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if folder in (process / "cwd").readlink().parents:
                found.append(int(process.name))
    return found


def command_of(pid: int) -> list[str]:
    """The words of its command line."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
