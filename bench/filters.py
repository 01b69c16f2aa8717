"""What a cheaper texture filter does to pictures: error against many samples per pixel, and CPU.

The truth is a picture of four times the width and height, averaged. Differences are means over pixels and channels, of
255. Mesa is told not to cheat for trilinear pictures here, as our devices let it (`device.SOFTWARE_DEFAULTS`).
"""

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.rendering import SMALL_HOUSE
from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import Scene
from nav_eval.simulator.rendering import Camera, Channel, Device, Renderer, prepare_scene
from nav_eval.simulator.rendering.throughput import make_walk
from nav_eval_worlds.houses import generate_house

WIDTH, HEIGHT, SAMPLES, POSES = 640, 480, 4, 20


def run() -> dict[str, object]:
    os.environ["GALLIVM_PERF"] = "no_brilinear"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NAV_EVAL_CACHE"] = str(Path(folder))
        figures = _compare("generated", generate_house(1).scene)
        if SMALL_HOUSE.exists():
            figures |= _compare("small_house", read_scene(SMALL_HOUSE))
    return figures


def _compare(name: str, scene: Scene) -> dict[str, object]:
    prepared, device = prepare_scene(scene), Device.open()
    poses = make_walk(scene, steps=10 * POSES, seed=1)[::10]
    gaps: dict[str, list[float]] = {"trilinear_error": [], "bilinear_error": [], "difference": [], "seen_percent": []}
    with (
        Renderer(prepared, device=device, trilinear=True) as blended,
        Renderer(prepared, device=device, trilinear=False) as plain,
    ):
        for pose in poses:
            cameras = [
                Camera.from_angles(pose.position, yaw=pose.yaw, width=WIDTH * times, height=HEIGHT * times)
                for times in (1, SAMPLES)
            ]
            truth = _take(blended, cameras[1]).reshape(HEIGHT, SAMPLES, WIDTH, SAMPLES, 3).mean(axis=(1, 3))
            one, other = _take(blended, cameras[0]), _take(plain, cameras[0])
            gaps["trilinear_error"].append(np.abs(one - truth).mean())
            gaps["bilinear_error"].append(np.abs(other - truth).mean())
            gaps["difference"].append(np.abs(one - other).mean())
            gaps["seen_percent"].append(100 * (np.abs(one - other).max(axis=2) > 8).mean())
        costs = {"trilinear": _measure(blended, cameras[0]), "bilinear": _measure(plain, cameras[0])}
    figures: dict[str, object] = {f"{name}_{key}": float(np.mean(values)) for key, values in gaps.items()}
    return figures | {f"{name}_{key}_cpu_ms": value for key, value in costs.items()}


def _take(renderer: Renderer, camera: Camera) -> np.ndarray:
    rgb = renderer.render(camera, [Channel.RGB]).rgb
    assert rgb is not None
    return rgb.astype(np.float64)


def _measure(renderer: Renderer, camera: Camera) -> float:
    """CPU milliseconds of one picture, the best of some."""
    best = np.inf
    for _ in range(20):
        before = time.process_time()
        renderer.render(camera, [Channel.RGB])
        best = min(best, time.process_time() - before)
    return 1000 * best
