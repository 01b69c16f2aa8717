"""What a simulator takes in memory, and what preparing a scene takes.

`pss` is proportional set size: pages that processes share count once between them. `first` is a process that walks
through the house alone, `second` what another one adds for the whole machine while the first still lives, and
`evaluate` the whole process of `nav-eval evaluate`. Preparing is measured at its peak of resident memory,
over everything that the command starts, with a cache that has only compiled kernels in it.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from bench.buildings import building
from bench.throughput import Stage, Way
from nav_eval.scene.formats import write_glb

BUILDINGS = {"500k": 10, "1700k": 34}  #: rooms, each of whose triangles is cut into four
SCENES = 20
LOOK_EVERY = 0.2  #: seconds


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return _walk(root / "walk") | _prepare(root) | _prepare_many(root)


def _walk(root: Path) -> dict[str, object]:
    root.mkdir()
    stage = Stage(root)
    stage.bare(1)
    first = _Walker(stage)
    alone = first.wait()
    second = _Walker(stage)
    second.wait()
    together = first.measure() + second.measure()
    for walker in (first, second):
        walker.end()
    return {
        "first_pss_mb": alone,
        "second_pss_mb": together - alone,
        "evaluate_pss_mb": _watch(lambda: stage.evaluate(Way(1, 1, "shared"))),
    }


class _Walker:
    """A bare renderer that stays after its walk."""

    def __init__(self, stage: Stage) -> None:
        command = [*stage.bare_command(), str(stage.root / "walk-0-of-1.json"), "stay"]
        self._process: Popen[str] = Popen(command, stdin=PIPE, stdout=PIPE, text=True, env=stage.environment())

    def wait(self) -> float:
        assert self._process.stdout is not None
        json.loads(self._process.stdout.readline())
        return self.measure()

    def measure(self) -> float:
        return _read_pss(self._process.pid)

    def end(self) -> None:
        self._process.communicate()


def _read_pss(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024


def _watch(play: Any) -> float:  # noqa: ANN401
    """The largest PSS of a child that is `nav-eval evaluate`, while something is played."""
    largest, over = 0.0, threading.Event()

    def look() -> None:
        nonlocal largest
        while not over.wait(LOOK_EVERY):
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                try:
                    largest = max(largest, _read_pss(int(child)))
                except (OSError, StopIteration):
                    continue

    thread = threading.Thread(target=look)
    thread.start()
    try:
        play()
    finally:
        over.set()
        thread.join()
    return largest


def _prepare(root: Path) -> dict[str, object]:
    figures: dict[str, object] = {}
    for name, rooms in BUILDINGS.items():
        file = root / f"{name}.glb"
        write_glb(building(rooms=rooms, cuts=1), file)
        figures |= _measure_preparation(f"prepare_{name}", [file], root / f"cache-{name}")
    return figures


def _prepare_many(root: Path) -> dict[str, object]:
    files = []
    for number in range(SCENES):
        files.append(root / f"scene-{number}.glb")
        write_glb(building(rooms=2, seed=number), files[-1])
    return _measure_preparation(f"prepare_{SCENES}_scenes", files, root / "cache-many")


def _measure_preparation(name: str, files: list[Path], cache: Path) -> dict[str, object]:
    command = [sys.executable, "-m", "nav_eval.cli", "scenes", "prepare", *map(str, files)]
    began = time.perf_counter()
    process = Popen(command, env={**os.environ, "NAV_EVAL_CACHE": str(cache)}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        raise RuntimeError(f"`{' '.join(command)}` failed.")
    cpu = usage.ru_utime + usage.ru_stime
    return {
        f"{name}_peak_mb": usage.ru_maxrss / 1024,  # of the largest process
        f"{name}_cpu_seconds": cpu,
        f"{name}_seconds": seconds,
    }
