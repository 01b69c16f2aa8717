"""How many threads Mesa's software rasteriser draws with, chosen by measurement where that is asked for.

By default it draws in the calling thread: who has several cores plays several episodes in processes, and those share
nothing that they would have to wait for. A process that is alone on its machine may do better with threads. How many
depends on the machine, so `auto` tries it: processes of their own draw the same turn in the same room with each number
of threads that the cores allow, and what was found is kept in the cache folder. Pictures are the same bits with any
number.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import get_cache_folder, lock_maker
from nav_eval.errors import NoRenderer
from nav_eval.scene.model import Material, Scene, Texture
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering.camera import Camera
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.renderer import Renderer

VARIABLE = "LP_NUM_THREADS"
"""Of Mesa, which reads it when a process opens its first context."""
WORTHWHILE = 1.1
"""Times as fast as without threads: less is not worth what they cost the other processes of a machine."""
NEARLY_BEST = 0.95
"""Of the fastest: the fewest threads that are this fast are taken."""
ROUNDS, FRAMES, WIDTH, HEIGHT = 2, 48, 640, 480
MOST_THREADS = 16  #: that Mesa would use


def set_render_threads(wanted: int | Literal["auto"]) -> None:
    """Before the first context of this process; what the environment says comes first."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = str(_choose_threads() if wanted == "auto" else wanted)


def _choose_threads() -> int:
    """None for processes that were started to be several; otherwise what was measured, now or before."""
    cores = len(os.sched_getaffinity(0))
    if cores == 1 or multiprocessing.parent_process() is not None:
        return 0
    file = get_cache_folder() / "rendering" / f"threads-{cores}.json"
    with lock_maker(file):
        speeds = _read_speeds(file)
        if speeds is None:
            speeds = measure_speeds(cores)
            with suppress(OSError):
                file.write_text(json.dumps(speeds))
    return pick_threads(speeds)


def _read_speeds(file: Path) -> dict[int, float] | None:
    try:
        found = json.loads(file.read_text())
        return {int(threads): float(speed) for threads, speed in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return None


def pick_threads(speeds: dict[int, float]) -> int:
    """The fewest that are nearly as fast as the fastest, if that is worth it at all."""
    fastest = max(speeds.values(), default=0.0)
    if not fastest or fastest < WORTHWHILE * speeds.get(0, 0.0):
        return 0
    return min(threads for threads, speed in speeds.items() if speed >= NEARLY_BEST * fastest)


def measure_speeds(cores: int) -> dict[int, float]:
    """Frames per second by number of threads, the best of the rounds; 0 is the calling thread."""
    most = min(cores, MOST_THREADS)
    tried = sorted({0, most, *(1 << power for power in range(1, most.bit_length()))})
    rounds = [{threads: _run_alone(threads) for threads in tried if threads <= most} for _ in range(ROUNDS)]
    return {threads: max(each[threads] for each in rounds) for threads in rounds[0]}


def _run_alone(threads: int) -> float:
    """In a process of its own, as Mesa asks once."""
    environment = {**os.environ, VARIABLE: str(threads)}
    command = [sys.executable, "-m", "nav_eval.simulator.rendering.render_threads"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise NoRenderer("How many threads draw fastest cannot be measured: say `simulator.rendering.threads: 0`.")
    return float(done.stdout)


def measure_speed() -> float:
    """Frames per second of a turn in a room whose walls have pictures."""
    cameras = [
        Camera.from_angles((0.0, 1.5, 0.0), yaw=2 * np.pi * number / FRAMES, width=WIDTH, height=HEIGHT, hfov=90.0)
        for number in range(FRAMES)
    ]
    with Renderer(_make_room(), device=Device.open_software()) as renderer:
        for camera in cameras:  # textures are uploaded, and what shows from here is known
            renderer.render(camera, [Channel.RGB])
        began = time.perf_counter()
        for camera in cameras:
            renderer.render(camera, [Channel.RGB])
        return FRAMES / (time.perf_counter() - began)


def _make_room() -> Scene:
    """Eight walls around the middle, a picture on each."""
    corners = [(4 * np.cos(turn), 4 * np.sin(turn)) for turn in np.arange(9) * np.pi / 4]
    positions = [(x, y, z) for one, other in pairwise(corners) for x, z in (one, other) for y in (0, 3)]
    triangles = [(4 * wall + a, 4 * wall + b, 4 * wall + c) for wall in range(8) for a, b, c in ((0, 1, 2), (2, 1, 3))]
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 256, (512, 512, 4), dtype=np.uint8) for _ in range(8)]
    count = len(triangles)
    return Scene(
        positions=np.array(positions, dtype=np.float32),
        normals=_repeat((0.0, 1.0, 0.0), len(positions)),
        uvs=np.array([(0, 1), (0, 0), (1, 1), (1, 0)] * 8, dtype=np.float32),
        colors=np.full((len(positions), 4), 255, dtype=np.uint8),
        triangles=np.array(triangles, dtype=np.uint32),
        triangle_material=np.repeat(np.arange(8), 2).astype(np.uint16),
        triangle_object=np.zeros(count, dtype=np.uint32),
        triangle_category=np.zeros(count, dtype=np.uint16),
        materials=tuple(Material(texture=number, unlit=True, double_sided=True) for number in range(8)),
        textures=tuple(Texture(pixels=pixels) for pixels in pictures),
    )


def _repeat(vector: tuple[float, float, float], times: int) -> NDArray[np.float32]:
    return np.tile(np.array(vector, dtype=np.float32), (times, 1))


if __name__ == "__main__":
    print(measure_speed())
