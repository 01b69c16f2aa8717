"""Our renderer as a peer of the rendering bench; see `bench.rendering` for the protocol."""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np

from nav_eval.cache import get_cache_folder
from nav_eval.scene.navigation import AgentShape
from nav_eval.simulator.rendering import Camera, Channel, Device, Renderer
from nav_eval.simulator.rendering.throughput import EyePose
from nav_eval.simulator.scene_manager import SceneSource

RIG = (math.radians(60), 0.0, math.radians(-60))


def main(scene: Path, poses: list[EyePose]) -> None:
    # pyrender's FLAT and the naive peer show colours as they are in the file
    source = SceneSource(path=scene, things=(), root=scene.parent, cache=get_cache_folder(), lighting="flat")
    prepared = source.prepare_for(source.ground(AgentShape()))
    device = Device.open()
    renderers: dict[str, Renderer] = {}
    print(json.dumps({"renderer": device.name, "triangles": prepared.triangle_count}), flush=True)
    for line in sys.stdin:
        mode, start, count = line.split()
        if mode not in renderers:  # one each, so that the first walk of every `newN_` mode is a first walk
            renderers[mode] = Renderer(prepared, device=device)
            _block(renderers[mode], mode, poses if mode.startswith("seen_") else poses[:1])
        print(json.dumps(_block(renderers[mode], mode, poses[int(start) :][: int(count)])), flush=True)


def _block(renderer: Renderer, mode: str, poses: list[EyePose]) -> dict[str, object]:
    shots = [_cameras(mode, pose) for pose in poses]
    channels = frozenset(map(Channel, mode.rpartition("_")[2].split("+")))
    cpu, means = 0.0, []
    for shot in shots:
        before = time.process_time()
        frames = renderer.render_views(shot, channels)
        cpu += time.process_time() - before
        if len(frames) == 1 and frames[0].rgb is not None:
            means.append(thumbnail(frames[0].rgb))
    return {"cpu_ms": 1000 * cpu / len(shots), "thumbnails": means}


def _cameras(mode: str, pose: EyePose) -> list[Camera]:
    if "rig_" in mode:
        return [Camera.from_angles(pose.position, yaw=pose.yaw + turn, width=366, height=366) for turn in RIG]
    return [Camera.from_angles(pose.position, yaw=pose.yaw)]


def thumbnail(rgb: np.ndarray) -> list[int]:
    """12 × 16 mean colours: enough to see whether two renderers drew the same room."""
    return np.rint(rgb.reshape(12, 40, 16, 40, 3).mean(axis=(1, 3))).astype(int).ravel().tolist()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [EyePose(*pose) for pose in json.loads(Path(sys.argv[2]).read_text())])
