"""What a simulator takes in memory, and what preparing a scene takes.

`pss` is proportional set size: pages that processes share count once between them; `rss` is everything that a
process has in memory, shared or not. `first` is a process that walks through the house alone, `second` what another one
adds for the whole machine while the first still lives; `evaluate` is the whole process of `nav-eval evaluate` at its
largest, one episode at a time or eight, and `second_evaluate` what another such command adds. Preparing is measured at
its peak of resident memory, over everything that the command starts, with a cache that has only compiled kernels in it,
and `draw` is `nav-eval bench render` of what was prepared.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, Popen
from typing import NamedTuple

from bench.buildings import building
from bench.throughput import Stage, Way, name_walk
from nav_eval.scene.formats import write_glb

BUILDINGS = {"500k": 10, "2000k": 41}  #: rooms, each of whose triangles is cut into four
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
    together = first.measure().pss + second.measure().pss
    for walker in (first, second):
        walker.end()
    one = _watch(lambda: stage.evaluate(Way(1, 1, "shared")))
    with ThreadPoolExecutor(2) as threads:
        two = _watch(lambda: list(threads.map(stage.evaluate, [Way(1, 1, "shared")] * 2)))
    eight = _watch(lambda: stage.evaluate(Way(1, 8, "shared")))
    return {
        "first_rss_mb": alone.rss,
        "first_pss_mb": alone.pss,
        "second_pss_mb": together - alone.pss,
        "evaluate_rss_mb": one.rss,
        "evaluate_pss_mb": one.pss,
        "second_evaluate_pss_mb": two.pss - one.pss,
        "evaluate_8_at_once_rss_mb": eight.rss,
    }


class _Size(NamedTuple):
    """Of processes in memory, in megabytes."""

    rss: float
    pss: float


class _Walker:
    """A bare renderer that stays after its walk."""

    def __init__(self, stage: Stage) -> None:
        command = [*stage.bare_command(), str(stage.root / name_walk(0, 1, 1)), "stay"]
        self._process: Popen[str] = Popen(command, stdin=PIPE, stdout=PIPE, text=True, env=stage.environment())

    def wait(self) -> _Size:
        assert self._process.stdout is not None
        json.loads(self._process.stdout.readline())
        return self.measure()

    def measure(self) -> _Size:
        return _measure(self._process.pid)

    def end(self) -> None:
        self._process.communicate()


def _measure(pid: int) -> _Size:
    rows = [line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]]
    sizes = {row[0]: int(row[1]) / 1024 for row in rows}
    return _Size(rss=sizes["Rss:"], pss=sizes["Pss:"])


def _watch(play: Callable[[], object]) -> _Size:
    """How large the commands that are started meanwhile get, all of them together."""
    largest, over = _Size(0.0, 0.0), threading.Event()

    def look() -> None:
        nonlocal largest
        while not over.wait(LOOK_EVERY):
            found = [size for size in map(_try_to_measure, _list_children()) if size is not None]
            now = _Size(*map(sum, zip(*found, strict=True))) if found else largest
            largest = _Size(max(largest.rss, now.rss), max(largest.pss, now.pss))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        play()
    finally:
        over.set()
        thread.join()
    return largest


def _list_children() -> list[int]:
    """Whichever of our threads started them."""
    files = Path("/proc/self/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


def _try_to_measure(pid: int) -> _Size | None:
    try:
        return _measure(pid)
    except (OSError, KeyError):  # it has ended
        return None


def _write_building(file: Path, **shape: int) -> None:
    """In a process of its own: the peak of a command counts what its parent held when it was started."""
    process = multiprocessing.get_context("spawn").Process(target=_make_building, args=(file, shape))
    process.start()
    process.join()


def _make_building(file: Path, shape: dict[str, int]) -> None:
    write_glb(building(**shape), file)


def _prepare(root: Path) -> dict[str, object]:
    figures: dict[str, object] = {}
    for name, rooms in BUILDINGS.items():
        file = root / f"{name}.glb"
        _write_building(file, rooms=rooms, cuts=1)
        cache = root / f"cache-{name}"
        figures |= _measure_preparation(f"prepare_{name}", [file], cache)
        figures[f"draw_{name}_rss_mb"] = _measure_drawing(file, cache)
    return figures


def _prepare_many(root: Path) -> dict[str, object]:
    files = []
    for number in range(SCENES):
        files.append(root / f"scene-{number}.glb")
        _write_building(files[-1], rooms=2, seed=number)
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


def _measure_drawing(file: Path, cache: Path) -> float:
    command = [sys.executable, "-m", "nav_eval.cli", "bench", "render", str(file), "--steps", "60", "--json"]
    environment = {**os.environ, "NAV_EVAL_CACHE": str(cache)}
    done = subprocess.run(command, env=environment, stdout=PIPE, check=True)
    return float(json.loads(done.stdout)["rss_mb"])
