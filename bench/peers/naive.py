"""The yardstick: what a straightforward ModernGL renderer does.

One vertex and index buffer per mesh, a mipmapped trilinear texture each, one draw per mesh, nothing
culled. Depth is a second pass of the same draws. Pictures are read with three components and flipped.
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("LP_NUM_THREADS", "0")

import moderngl
import numpy as np

from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import Scene
from nav_eval.simulator.rendering import Camera
from nav_eval.simulator.rendering.throughput import EyePose

WIDTH, HEIGHT = 640, 480
VERTEX = """
#version 330
uniform mat4 mvp; in vec3 position; in vec2 uv; out vec2 at;
void main() { gl_Position = mvp * vec4(position, 1.0); at = uv; }
"""
COLOR = (
    "#version 330\nuniform sampler2D picture; in vec2 at; out vec4 color; void main() { color = texture(picture, at); }"
)
DEPTH = "#version 330\nin vec2 at; out float depth; void main() { depth = 1.0 / gl_FragCoord.w; }"


class Naive:
    def __init__(self, scene: Scene) -> None:
        self.context = moderngl.create_context(standalone=True, backend="egl")
        self.color = self.context.program(vertex_shader=VERTEX, fragment_shader=COLOR)
        self.depth = self.context.program(vertex_shader=VERTEX, fragment_shader=DEPTH)
        textures = [self._texture(texture.pixels) for texture in scene.textures]
        white = self._texture(np.full((1, 1, 4), 255, dtype=np.uint8))
        self.meshes = []
        for triangles, material in _meshes(scene):
            index = scene.materials[material].texture
            self.meshes.append((*self._mesh(scene, triangles), white if index is None else textures[index]))
        size = (WIDTH, HEIGHT)
        self.color_target = self.context.framebuffer(
            [self.context.texture(size, 4)], self.context.depth_renderbuffer(size)
        )
        self.depth_target = self.context.framebuffer(
            [self.context.texture(size, 1, dtype="f4")], self.context.depth_renderbuffer(size)
        )

    def _texture(self, pixels: np.ndarray) -> moderngl.Texture:
        texture = self.context.texture((pixels.shape[1], pixels.shape[0]), 4, np.ascontiguousarray(pixels))
        texture.build_mipmaps()
        texture.filter = (moderngl.LINEAR_MIPMAP_LINEAR, moderngl.LINEAR)
        return texture

    def _mesh(self, scene: Scene, triangles: np.ndarray) -> tuple[moderngl.VertexArray, moderngl.VertexArray]:
        used, indices = np.unique(triangles, return_inverse=True)
        vertices = np.concatenate([scene.positions[used], scene.uvs[used]], axis=1).astype("f4")
        vbo = self.context.buffer(vertices.tobytes())
        ibo = self.context.buffer(indices.astype("u4").tobytes())
        colored = self.context.vertex_array(self.color, [(vbo, "3f 2f", "position", "uv")], ibo)
        return colored, self.context.vertex_array(self.depth, [(vbo, "3f 8x", "position")], ibo)

    def render(self, camera: Camera, *, depth: bool) -> tuple[np.ndarray, np.ndarray | None]:
        mvp = (np.diag([1.0, -1.0, 1.0, 1.0]) @ camera.world_to_clip).T.astype("f4").tobytes()
        self.context.enable_only(moderngl.DEPTH_TEST)
        self.color_target.use()
        self.color_target.clear()
        for colored, _, texture in self.meshes:
            texture.use(0)
            self.color["mvp"].write(mvp)
            colored.render()
        rgb = np.frombuffer(self.color_target.read(components=3), np.uint8).reshape(HEIGHT, WIDTH, 3)[::-1].copy()
        if not depth:
            return rgb, None
        self.depth_target.use()
        self.depth_target.clear()
        for _, deep, _ in self.meshes:
            self.depth["mvp"].write(mvp)
            deep.render()
        raw = self.depth_target.read(components=1, dtype="f4")
        return rgb, np.frombuffer(raw, np.float32).reshape(HEIGHT, WIDTH)[::-1].copy()


def _meshes(scene: Scene) -> list[tuple[np.ndarray, int]]:
    """One per object and material."""
    key = scene.triangle_object.astype(np.int64) * len(scene.materials) + scene.triangle_material
    order = np.argsort(key, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
    return [(scene.triangles[group], int(scene.triangle_material[group[0]])) for group in groups]


def main(scene: Path, poses: list[EyePose]) -> None:
    naive = Naive(read_scene(scene))
    for pose in poses[:2]:
        naive.render(Camera.from_angles(pose.position, yaw=pose.yaw), depth=True)
    print(json.dumps({"renderer": naive.context.info["GL_RENDERER"], "meshes": len(naive.meshes)}), flush=True)
    for line in sys.stdin:
        mode, start, count = line.split()
        cpu, means = 0.0, []
        chosen = poses[int(start) :][: int(count)]
        for pose in chosen:
            camera = Camera.from_angles(pose.position, yaw=pose.yaw)
            before = time.process_time()
            rgb, _ = naive.render(camera, depth=mode == "rgb+depth")
            cpu += time.process_time() - before
            means.append(np.rint(rgb.reshape(12, 40, 16, 40, 3).mean(axis=(1, 3))).astype(int).ravel().tolist())
        print(json.dumps({"cpu_ms": 1000 * cpu / len(chosen), "thumbnails": means}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [EyePose(*pose) for pose in json.loads(Path(sys.argv[2]).read_text())])
