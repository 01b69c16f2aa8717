"""pyrender as a peer of the rendering bench. Runs in a virtualenv of its own: pyrender pins an old PyOpenGL."""

import json
import os
import sys
import time
from pathlib import Path

os.environ["PYOPENGL_PLATFORM"] = "egl"

import numpy as np
import pyrender
import trimesh
from OpenGL.GL import GL_RENDERER, glGetString
from pyrender.constants import RenderFlags

WIDTH, HEIGHT = 640, 480


def main(scene_file: str, poses: list[list[float]]) -> None:
    loaded = trimesh.load(scene_file, force="scene")
    scene = pyrender.Scene.from_trimesh_scene(loaded, bg_color=(0, 0, 0, 0))
    yfov = 2 * np.arctan(np.tan(np.pi / 4) * HEIGHT / WIDTH)
    camera = scene.add(pyrender.PerspectiveCamera(yfov=yfov, aspectRatio=WIDTH / HEIGHT, znear=0.05, zfar=200.0))
    renderer = pyrender.OffscreenRenderer(WIDTH, HEIGHT)
    for pose in poses[:3]:
        scene.set_pose(camera, matrix(pose))
        renderer.render(scene, flags=RenderFlags.FLAT)
    name = glGetString(GL_RENDERER).decode()
    print(json.dumps({"renderer": name, "triangles": sum(len(g.faces) for g in loaded.geometry.values())}), flush=True)
    for line in sys.stdin:
        _, start, count = line.split()
        print(json.dumps(block(renderer, scene, camera, poses[int(start) :][: int(count)])), flush=True)


def block(
    renderer: pyrender.OffscreenRenderer, scene: pyrender.Scene, camera: pyrender.Node, poses: list[list[float]]
) -> dict[str, object]:
    """pyrender reads depth back whether it is wanted or not, so both modes cost the same."""
    cpu, means = 0.0, []
    for pose in poses:
        scene.set_pose(camera, matrix(pose))
        before = time.process_time()
        color, _ = renderer.render(scene, flags=RenderFlags.FLAT)
        cpu += time.process_time() - before
        means.append(np.rint(color.reshape(12, HEIGHT // 12, 16, -1, 3).mean(axis=(1, 3))).astype(int).ravel().tolist())
    return {"cpu_ms": 1000 * cpu / len(poses), "thumbnails": means}


def matrix(pose: list[float]) -> np.ndarray:
    x, y, z, yaw = pose
    cos, sin = np.cos(yaw), np.sin(yaw)
    return np.array([[cos, 0, sin, x], [0, 1, 0, y], [-sin, 0, cos, z], [0, 0, 0, 1]])


if __name__ == "__main__":
    main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text()))
