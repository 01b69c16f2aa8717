"""Many scenes made ready ahead of time: a process each, on all cores, as many at once as memory allows.

A scene takes a few times the memory of its file while it is prepared, and gives it back at the end: so each has
a process of its own, which is the same command for one scene.
"""

import ctypes
import os
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from nav_eval.child_process import bind_to_parent, make_nav_eval_command

MEMORY_PER_SCENE = 3 << 29
"""Bytes that are kept free for each scene at work; one of a million triangles takes half of it."""


_MMAP_THRESHOLD = -3  #: of glibc's mallopt
_LARGE = 1 << 20  #: bytes


def return_large_arrays() -> None:
    """Have this process give the memory of large arrays back when they are let go.

    The C library keeps what lies between arrays that still live: a tenth of the peak of a large scene.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)


class Prepared(NamedTuple):
    """What became of a scene."""

    file: Path
    ok: bool
    said: str  #: what the command for this scene printed


def count_processes(scenes: int) -> int:
    """How many scenes to prepare at once on this machine."""
    cores, room = len(os.sched_getaffinity(0)), _read_available_memory() // MEMORY_PER_SCENE
    return max(1, min(cores, room, scenes))


def prepare_scenes(
    files: Sequence[Path], options: Sequence[str], *, processes: int, on_result: Callable[[Prepared], None]
) -> list[Prepared]:
    """Run `nav-eval scenes prepare` for each file; `on_result` hears of each as it is ready."""

    def prepare(file: Path) -> Prepared:
        result = _run(file, options)
        on_result(result)
        return result

    with ThreadPoolExecutor(processes, thread_name_prefix="preparation") as pool:
        return list(pool.map(prepare, files))


def _run(file: Path, options: Sequence[str]) -> Prepared:
    command = bind_to_parent(make_nav_eval_command("scenes", "prepare", str(file), *options))
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own command)
    return Prepared(file, ok=done.returncode == 0, said=(done.stdout or done.stderr).strip())


def _read_available_memory() -> int:
    """Bytes; where the system does not say, enough for one scene at a time."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)
