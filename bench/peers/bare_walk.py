"""The renderer alone, as an evaluation opens it: `python bare_walk.py BENCHMARK.json WALK.json [stay]`.

Draws the pictures of a walk in a process that has seen nothing, and prints what that took: no agent, no body, no score.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from nav_eval.cache import get_cache_folder
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.records.geometry import Pose
from nav_eval.simulator.camera_rig import Mount
from nav_eval.simulator.rendering import Channel, Device, Frame, Renderer
from nav_eval.simulator.scene_manager import SceneManager

CHANNELS = frozenset({Channel.RGB})
READS = 50


def main(benchmark: BenchmarkConfig, walk: list[tuple[list[float], list[float], str]]) -> None:
    place = SceneManager(benchmark, cache=get_cache_folder()).open(walk[0][2], benchmark.robot(None))
    mount = Mount.from_settings(benchmark.sensors()["rgb"])
    cameras = [mount.make_camera(Pose(tuple(at), tuple(turned)), tilt=0.0) for at, turned, _ in walk]
    frame = Frame.empty(mount.width, mount.height, CHANNELS)
    with Renderer(place.prepared, device=Device.open()) as renderer:
        renderer.render(cameras[0], CHANNELS, out=frame)
        wall, cpu = time.perf_counter(), time.process_time()
        for camera in cameras:
            renderer.render(camera, CHANNELS, out=frame)
        seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        print(json.dumps(seconds | {"read_back_ms": _measure_read_back(renderer.device, mount)}), flush=True)
        if "stay" in sys.argv:  # until somebody has looked at it
            sys.stdin.read()


def _measure_read_back(device: Device, mount: Mount) -> float:
    """CPU of fetching the pixels of a picture that is finished: all that could be done while another one is drawn."""
    pixels = np.empty((mount.height, mount.width, 4), dtype=np.uint8)
    with device.context as context:
        canvas = context.simple_framebuffer((mount.width, mount.height))
        canvas.clear()
        canvas.read_into(pixels, components=4)
        began = time.process_time()
        for _ in range(READS):
            canvas.read_into(pixels, components=4)
        spent = time.process_time() - began
        canvas.release()
    return 1000 * spent / READS


if __name__ == "__main__":
    main(BenchmarkConfig.model_validate_json(Path(sys.argv[1]).read_bytes()), json.loads(Path(sys.argv[2]).read_text()))
