"""Where a picture's time goes: CPU of its parts, by leaving out one thing after the other.

Repeated walks through `small_house.glb` (a building of our own where it is not there), 640×480, colour, in software.
Whole pictures, and OpenGL's share of them in several ways (with nearest texels, without textures, without triangles,
…), take turns pose by pose, so a busy machine is unfair to none; of each pose the best of several rounds counts.
"""

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import moderngl
import numpy as np

from bench.buildings import building
from bench.shared_data import find_shared_data
from nav_eval.scene.formats import read_scene, write_glb
from nav_eval.scene.model import Texture
from nav_eval.scene.navigation import AgentShape
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering import Camera, Device, PreparedScene, Renderer, gpu_scene
from nav_eval.simulator.rendering.camera import Frame
from nav_eval.simulator.rendering.culling import get_cell
from nav_eval.simulator.rendering.draw_list import DrawList
from nav_eval.simulator.rendering.shaders import ProgramKind, make_fragment_source
from nav_eval.simulator.rendering.throughput import make_walk
from nav_eval.simulator.scene_manager import SceneSource

SMALL_HOUSE = find_shared_data("scenes/small_house.glb")
STEPS, ROUNDS = 100, 4
COLOR = frozenset({Channel.RGB})


def run() -> dict[str, object]:
    os.environ.setdefault("LP_NUM_THREADS", "0")
    figures: dict[str, object] = {"load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        file = SMALL_HOUSE if SMALL_HOUSE.exists() else Path(folder) / "house.glb"
        if not file.exists():
            write_glb(building(rooms=12), file)
        source = SceneSource(path=file, things=(), root=file.parent, cache=Path(folder) / "cache", lighting="flat")
        prepared = source.prepare_for(source.ground(AgentShape()))
        walk = make_walk(read_scene(file), steps=STEPS, seed=1)
        cameras = [Camera.from_angles(pose.position, yaw=pose.yaw) for pose in walk]
        costs, triangles = _measure(prepared, cameras)
    figures |= {"renderer": Device.open().name, "triangles_drawn": triangles}
    return figures | _split(costs)


def _split(costs: dict[str, float]) -> dict[str, object]:
    """Milliseconds of the parts, which add up to the picture."""
    parts = {
        "clearing_and_flushing": costs["nothing"],
        "vertices": costs["one_pixel"] - costs["nothing"],
        "pixels_of_one_color": costs["one_color"] - costs["one_pixel"],
        "one_texel_per_pixel": costs["nearest"] - costs["one_color"],
        "blending_four_texels": costs["drawn"] - costs["nearest"],
        "choosing_proving_reading": costs["picture"] - costs["drawn"],
    }
    figures: dict[str, object] = {"picture_ms": costs["picture"]}
    figures |= {f"{name}_ms": cost for name, cost in parts.items()}
    figures["drawing_share"] = costs["drawn"] / costs["picture"]
    return figures


class _Way(NamedTuple):
    """A renderer, and what is left out of what it draws."""

    renderer: Renderer
    trim: Callable[[DrawList], DrawList] = lambda plan: plan
    pixels: tuple[int, int] | None = None  #: all that may be drawn


def _measure(prepared: PreparedScene, cameras: list[Camera]) -> tuple[dict[str, float], float]:
    """Milliseconds per picture by way, and triangles per picture."""
    device = Device.open()
    whole, nearest, plain = (Renderer(prepared, device=device) for _ in range(3))
    for camera in (*cameras, *cameras):
        whole.render(camera, COLOR)
    ways = {
        "drawn": _Way(whole),
        "nothing": _Way(whole, lambda plan: plan._replace(runs=[])),
        "one_pixel": _Way(whole, pixels=(1, 1)),
    }
    with patch.object(gpu_scene, "_create_texture", _create_nearest):
        ways["nearest"] = _warm_up(_Way(nearest), whole, cameras)
    with patch.object(gpu_scene, "make_fragment_source", _make_plain_source):
        ways["one_color"] = _warm_up(_Way(plain), whole, cameras)
    costs = np.full((len(ways) + 1, len(cameras)), np.inf)
    triangles = 0
    for _ in range(ROUNDS):
        for number, camera in enumerate(cameras):
            began = time.thread_time()
            whole.render(camera, COLOR)
            costs[-1, number] = min(costs[-1, number], time.thread_time() - began)
            for row, way in enumerate(ways.values()):
                seconds, drawn = _draw(way, whole, camera)
                costs[row, number] = min(costs[row, number], seconds)
                triangles += drawn if row == 0 else 0
    names = (*ways, "picture")
    return dict(zip(names, 1000 * costs.mean(axis=1), strict=True)), triangles / ROUNDS / len(cameras)


def _warm_up(way: _Way, guesser: Renderer, cameras: list[Camera]) -> _Way:
    """While its programs and textures are made by what is patched."""
    for camera in cameras:
        _draw(way, guesser, camera)
    return way


def _draw(way: _Way, guesser: Renderer, camera: Camera) -> tuple[float, int]:
    """CPU seconds of OpenGL drawing what one renderer has learned to be visible, and how many triangles that is."""
    painter, sets = way.renderer._painter, guesser._painter._sets
    context = way.renderer.device.context
    with context:
        target = way.renderer._get_target(camera, COLOR, layers=1)
        shot = painter._start([camera], target, [Frame.empty(camera.width, camera.height, COLOR)])
        context.enable_only(moderngl.DEPTH_TEST | moderngl.CULL_FACE)
        context.front_face, context.depth_func = "cw", "<"
        painter._gpu.set_views(shot.views)
        target.canvas.begin((0, 0, 0))
        plan = painter._load(shot, shot.every_view, np.array(sets.enter([get_cell(camera.position)])), sets.words)
        trimmed = way.trim(plan)
        context.finish()
        with _clip(target.canvas, way.pixels):
            began = time.thread_time()
            target.canvas.begin((0, 0, 0))
            painter._gpu.draw(trimmed, target.canvas.outputs, layered=False)
            context.finish()
            seconds = time.thread_time() - began
    return seconds, sum(run.length for run in plan.runs)


@contextmanager
def _clip(canvas: object, pixels: tuple[int, int] | None) -> Iterator[None]:
    framebuffer: Any = canvas._framebuffer  # type: ignore[attr-defined]  # moderngl's types know no way to stop clipping
    framebuffer.scissor = None if pixels is None else (0, 0, *pixels)
    yield
    framebuffer.scissor = None


_create = gpu_scene._create_texture


def _create_nearest(context: moderngl.Context, texture: Texture, *, trilinear: bool) -> moderngl.Texture:
    created = _create(context, texture, trilinear=trilinear)
    created.filter = (moderngl.NEAREST_MIPMAP_NEAREST, moderngl.NEAREST)
    return created


def _make_plain_source(kind: ProgramKind) -> str:
    """Everything but the look into the texture: its coordinates are the colour."""
    source = make_fragment_source(kind)
    return re.sub(r"texture\(picture, at_uv\)", "vec4(at_uv, 0.0, 1.0)", source)
