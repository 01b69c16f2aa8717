"""Programs that we start: none outlives us, however we end, and each is ended with all that it started.

| | what it is for |
|---|---|
| `ChildProcess` | a command in a session of its own: asked to end, then ended with its whole group |
| `bind_to_parent` | the command line of one that ends with its parent, even by `kill -9` |
| `SupervisedProcess` | a command that is started again when it dies |
| `ReapedProcess` | a command whose children cannot escape, and whose use of the machine is known |
"""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from nav_eval import process_reaper
from nav_eval.errors import NavEvalError

log = logging.getLogger(__name__)

GRACE = 20.0  #: seconds between asking a program to end and ending it
LONGEST_PAUSE = 30.0  #: seconds between two attempts
STEADY = 60.0  #: seconds; who lived that long did not die of how it was started
REAP_SECONDS = 10.0  #: by then a reaper has ended everything, or something is very wrong
_CALLBACK_SECONDS = 0.05  #: a callback of Python's is over by then


class ProcessNotStarted(NavEvalError):
    """The command is no program that can be started here."""


def make_nav_eval_command(*arguments: str) -> list[str]:
    """The command line of `nav-eval …`, in this Python."""
    return [sys.executable, "-m", "nav_eval.cli", *arguments]


def bind_to_parent(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` as long as this process lives.

    The kernel's "parent" is the thread that starts it: start it from one that lives as long as it should.
    """
    return [*_REAPER, "bind", str(os.getpid()), *command]


_REAPER = (sys.executable, "-I", "-S", process_reaper.__file__)


@contextmanager
def exit_on_signal(code: int = 0) -> Iterator[None]:
    """SIGTERM and Ctrl-C leave the block as an exit with `code`, so that everything in it is ended in good order.

    A signal may come while Python runs a callback of its own (a weak reference's, `__del__`), out of which no exception
    gets: it is sent once more, a moment later.
    """
    is_over = threading.Event()

    def leave(_number: int, _frame: object) -> None:
        raise SystemExit(code)

    def send_again(lost: "sys.UnraisableHookArgs") -> None:
        if isinstance(lost.exc_value, SystemExit):
            threading.Thread(target=_interrupt_soon, args=(is_over,), name="signal", daemon=True).start()
        else:
            unraisable(lost)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGINT)}
    unraisable, sys.unraisablehook = sys.unraisablehook, send_again
    try:
        yield
    finally:
        is_over.set()
        sys.unraisablehook = unraisable
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt_soon(is_over: threading.Event) -> None:
    if not is_over.wait(_CALLBACK_SECONDS):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)


def describe_exit(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


class ChildProcess:
    """A command in a session of its own: Ctrl-C is for us, and we end it when it is its turn."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        output: IO[bytes] | int | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        """`output` takes what it prints on both streams; by default that goes where ours goes."""
        self._process = subprocess.Popen(  # noqa: S603 (our own command, or the user's, and no shell)
            list(command),
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> BinaryIO:
        """What it prints, if it was started with `output=subprocess.PIPE`."""
        return cast(BinaryIO, self._process.stdout)

    def poll(self) -> int | None:
        """The exit code; None while it lives. A negative one is a signal."""
        return self._process.poll()

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code; None if it still lives after so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=seconds)
        return None

    def stop(self, grace: float, *, ask_group: bool = False) -> int:
        """End it and its group: politely, then for good. `ask_group` asks what it has started, too."""
        if ask_group:
            self._signal_group(signal.SIGTERM)
        else:
            self._process.terminate()
        self.wait(grace)
        self._signal_group(signal.SIGKILL)  # the group lives on while any member of it does
        return self._process.wait()

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


class SupervisedProcess:
    """Keeps one command running, from a thread that lives as long as it does (`bind_to_parent`)."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        grace: float = GRACE,
        first_pause: float = 1.0,
        on_start: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._command = list(command)
        self._environment = dict(os.environ if environment is None else environment)
        self._grace, self._first_pause, self._on_start = grace, first_pause, on_start
        self._process: ChildProcess | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_alive, name="supervisor", daemon=True)

    def __enter__(self) -> "SupervisedProcess":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Of the process that runs now."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def stop(self) -> None:
        """End it: politely, then for good."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _keep_alive(self) -> None:
        pause = self._first_pause
        while not self._stopping.is_set():
            started = time.monotonic()
            code = self._run()
            if self._stopping.is_set():
                return
            pause = self._first_pause if time.monotonic() - started > STEADY else min(2 * pause, LONGEST_PAUSE)
            log.error("%s ended with %s; starting it again in %.0f s", self._command[-2:], code, pause)
            self._stopping.wait(pause)

    def _run(self) -> int | None:
        """One life of the process."""
        self._process = process = ChildProcess(bind_to_parent(self._command), environment=self._environment)
        self._on_start(process.pid)
        while process.poll() is None:
            if self._stopping.wait(0.2):
                process.stop(self._grace)
        return process.poll()


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessEnd:
    """How a command ended, and what it used."""

    code: int | None  #: exit code; a negative one is a signal; None when nobody saw it
    cpu_seconds: float | None = None  #: of the command and all that it started
    memory_bytes: int | None = None  #: of the largest of them


class ReapedProcess:
    """A command with a small parent of its own (`process_reaper`), which ends whatever comes of it when we go."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path | None = None, errors: bool = True
    ) -> None:
        """`errors` sends standard error to `output`, too; otherwise it has a stream of its own."""
        theirs, self._lifeline = os.pipe()
        status, given = os.pipe()
        self._status: IO[bytes] = os.fdopen(status, "rb")
        self._lock = threading.Lock()
        self._end: ProcessEnd | None = None
        try:
            self._reaper = subprocess.Popen(  # noqa: S603
                [*_REAPER, "reap", str(theirs), str(given), *command],
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if errors else subprocess.PIPE,
                pass_fds=(theirs, given),
                start_new_session=True,
            )
        finally:
            os.close(theirs)
            os.close(given)
        self.pid = self._wait_for_start()

    def _wait_for_start(self) -> int:
        first = json.loads(self._status.readline() or b"{}")
        if "pid" in first:
            return int(first["pid"])
        self.stop()
        raise ProcessNotStarted(first.get("error", "The process ended before it began."))

    @property
    def output(self) -> BinaryIO:
        return cast(BinaryIO, self._reaper.stdout)

    @property
    def errors(self) -> BinaryIO:
        return cast(BinaryIO, self._reaper.stderr)

    def wait(self, seconds: float) -> ProcessEnd | None:
        """How it ended; None if it has not, after so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._reaper.wait(timeout=seconds)
            return self._read_end()
        return None

    def measure(self) -> ProcessEnd:
        """What it and all that it started have used, while they run."""
        processes = [Path("/proc", str(pid)) for pid in process_reaper.list_descendants(self._reaper.pid)]
        used = [found for process in processes if (found := _measure_process(process)) is not None]
        cpu, memory = [cpu for cpu, _ in used], [memory for _, memory in used]
        return ProcessEnd(code=None, cpu_seconds=sum(cpu), memory_bytes=max(memory)) if used else ProcessEnd(code=None)

    def stop(self, *, at_once: bool = False) -> ProcessEnd:
        """End it and all that it started; does nothing the second time."""
        with self._lock:
            if self._lifeline >= 0:
                with suppress(OSError):
                    os.write(self._lifeline, process_reaper.KILL_NOW if at_once else b"")
                os.close(self._lifeline)
                self._lifeline = -1
        try:
            self._reaper.wait(timeout=REAP_SECONDS)
        except subprocess.TimeoutExpired:
            self._reaper.kill()  # its death ends the command, too
            self._reaper.wait()
        return self._read_end()

    def _read_end(self) -> ProcessEnd:
        with self._lock:
            if self._end is None:
                last = json.loads(self._status.readline() or b"{}")
                self._end = ProcessEnd(
                    code=last.get("code"), cpu_seconds=last.get("cpu"), memory_bytes=last.get("memory")
                )
                self._status.close()
            return self._end


def _measure_process(process: Path) -> tuple[float, int] | None:
    """Seconds (also of children it has waited for) and most bytes of a process; None when it is gone."""
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    except OSError:
        return None
    ticks = sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK"), int(status.get("VmHWM", "0 kB").split()[0]) << 10
