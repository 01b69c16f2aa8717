"""Commands under a keeper: started, watched and ended from here; see `keeper` for why."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from nav_eval_worker.runtime import keeper
from nav_eval_worker.runtime.base import RuntimeUnavailable

STOP_SECONDS = 10.0
"""By then a keeper has ended everything, or something is very wrong."""


class NotStarted(Exception):
    """The command is no program that can be started here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """How a command ended."""

    code: int | None  #: exit code; a negative one is a signal; None when nobody saw it
    cpu_seconds: float | None = None  #: of the command and all that it started
    memory_bytes: int | None = None  #: of the largest of them


class Kept:
    """One running command."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path | None = None, errors: bool = True
    ) -> None:
        """`errors` sends standard error to `output`, too; otherwise it has a stream of its own."""
        theirs, self._lifeline = os.pipe()
        status, given = os.pipe()
        self._status: IO[bytes] = os.fdopen(status, "rb")
        self._lock = threading.Lock()
        self._end: End | None = None
        try:
            self._keeper = subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", "-S", keeper.__file__, str(theirs), str(given), *command],
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if errors else subprocess.PIPE,
                pass_fds=(theirs, given),
                start_new_session=True,
            )
        except OSError as error:
            raise RuntimeUnavailable(f"Cannot start a process: {error.strerror}.") from error
        finally:
            os.close(theirs)
            os.close(given)
        self.pid = self._started()

    def _started(self) -> int:
        first = json.loads(self._status.readline() or b"{}")
        if "pid" in first:
            return int(first["pid"])
        self.stop()
        raise NotStarted(first.get("error", "The process ended before it began."))

    @property
    def output(self) -> BinaryIO:
        return cast(BinaryIO, self._keeper.stdout)

    @property
    def errors(self) -> BinaryIO:
        return cast(BinaryIO, self._keeper.stderr)

    def wait(self, seconds: float) -> End | None:
        """How it ended; None if it has not, after so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._keeper.wait(timeout=seconds)
            return self._read_end()
        return None

    def so_far(self) -> End:
        """What it and all that it started have used, while they run."""
        processes = [Path("/proc", str(pid)) for pid in keeper.descendants(self._keeper.pid)]
        used = [found for process in processes if (found := _used(process)) is not None]
        cpu, memory = [cpu for cpu, _ in used], [memory for _, memory in used]
        return End(code=None, cpu_seconds=sum(cpu), memory_bytes=max(memory)) if used else End(code=None)

    def stop(self, *, at_once: bool = False) -> End:
        """End it and all that it started; does nothing the second time."""
        with self._lock:
            if self._lifeline >= 0:
                with suppress(OSError):
                    os.write(self._lifeline, keeper.KILL_NOW if at_once else b"")
                os.close(self._lifeline)
                self._lifeline = -1
        try:
            self._keeper.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()  # its death ends the command, too
            self._keeper.wait()
        return self._read_end()

    def _read_end(self) -> End:
        with self._lock:
            if self._end is None:
                last = json.loads(self._status.readline() or b"{}")
                self._end = End(code=last.get("code"), cpu_seconds=last.get("cpu"), memory_bytes=last.get("memory"))
                self._status.close()
            return self._end


def _used(process: Path) -> tuple[float, int] | None:
    """Seconds (also of children it has waited for) and most bytes of a process; None when it is gone."""
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    except OSError:
        return None
    ticks = sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK"), int(status.get("VmHWM", "0 kB").split()[0]) << 10
