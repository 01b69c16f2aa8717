"""How fast a scene is drawn: the measurement behind `nav-eval bench render`.

CPU time of the whole process per frame is the figure to compare, as it hardly depends on what else
the machine does; frames per second go with it. Loading is everything between the scene's file and
the first picture: reading or mapping the scene, sending it to OpenGL, compiling shaders, and looking
around once in every cell that will be visited (at most LOOK_SECONDS), which later frames profit from.
Finding poses is not part of it.
"""

import math
import resource
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.formats import compute_scene_digest, read_scene
from nav_eval.scene.model import Scene
from nav_eval.scene.navigation import Ground, build_navigation
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering.camera import Camera
from nav_eval.simulator.rendering.culling import get_cell
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.preparation import load_or_prepare
from nav_eval.simulator.rendering.renderer import Renderer

EYE_HEIGHT = 1.25
STEP = 0.25
TURN = math.radians(30)


class EyePose(NamedTuple):
    """Where the camera is, and its yaw in radians, positive to the left; it looks level."""

    x: float
    y: float
    z: float
    yaw: float

    @property
    def position(self) -> Vec3:
        return (self.x, self.y, self.z)


def make_walk(scene: Scene, *, steps: int, seed: int = 0) -> list[EyePose]:
    """The first `steps` poses of a walk through the scene."""
    rng = np.random.default_rng(seed)
    try:
        poses = walk_on(build_navigation(scene), rng)
    except NavigationMeshError:
        poses = _sample_poses(scene, rng)
    return list(islice(poses, steps))


def walk_on(ground: Ground, rng: np.random.Generator) -> Iterator[EyePose]:
    """Endless; from one place of an island to the next."""
    here = ground.random_navigable_point(rng)
    yaw = float(rng.uniform(-math.pi, math.pi))
    yield _make_eye_pose(here, yaw)
    while True:
        goal = ground.random_navigable_point(rng, island=ground.island(here))
        for start, end in pairwise(ground.shortest_path(here, goal)):
            for pose in _walk_along(start, end, yaw):
                yaw = pose.yaw
                yield pose
            here = end


def _walk_along(start: Vec3, end: Vec3, yaw: float) -> Iterator[EyePose]:
    """Turn towards the end of a straight stretch, then walk it."""
    x, y, z = (b - a for a, b in zip(start, end, strict=True))
    length = math.hypot(x, z)
    if length < STEP / 2:
        return
    heading = math.atan2(-x, -z)
    while abs(missing := math.remainder(heading - yaw, 2 * math.pi)) > 1e-9:
        yaw += max(-TURN, min(TURN, missing))
        yield _make_eye_pose(start, yaw)
    for number in range(1, max(1, round(length / STEP)) + 1):
        share = min(1.0, number * STEP / length)
        yield _make_eye_pose((start[0] + share * x, start[1] + share * y, start[2] + share * z), yaw)


def _sample_poses(scene: Scene, rng: np.random.Generator) -> Iterator[EyePose]:
    lower, upper = (corner.astype(float) for corner in scene.bounds)
    yaw = 0.0
    while True:
        x, y, z = lower + (upper - lower) * rng.uniform(0.3, 0.7, 3)
        for _ in range(12):
            yaw = math.remainder(yaw + TURN, 2 * math.pi)
            yield EyePose(float(x), float(y), float(z), yaw)


def _make_eye_pose(foot: Vec3, yaw: float) -> EyePose:
    return EyePose(float(foot[0]), float(foot[1]) + EYE_HEIGHT, float(foot[2]), math.remainder(yaw, 2 * math.pi))


LOOK_SECONDS = 3.0
WARM_UP_FRAMES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Lens:
    """What every frame of a measurement has in common."""

    channels: frozenset[Channel]
    width: int
    height: int
    hfov: float

    def camera(self, pose: EyePose) -> Camera:
        return Camera.from_angles(pose.position, yaw=pose.yaw, width=self.width, height=self.height, hfov=self.hfov)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """What drawing a walk cost."""

    fps: float  #: frames per second of wall time
    cpu_ms_per_frame: float  #: process CPU of all threads
    triangles: int  #: of the scene file
    load_s: float  #: wall time from the file to the first picture
    rss_mb: float  #: resident memory after the last frame
    renderer: str  #: GL_RENDERER
    poses: list[EyePose]


def measure(
    path: Path, *, lens: Lens, steps: int, poses: Sequence[EyePose] | None, cache: Path, device: Device, seed: int = 0
) -> Measurement:
    """Draw a scene along given poses, or along a seeded walk."""
    walk = make_walk(read_scene(path), steps=steps, seed=seed) if poses is None else list(poses)
    started = time.perf_counter()
    prepared = load_or_prepare(cache, compute_scene_digest(path), lambda: read_scene(path))
    with Renderer(prepared, device=device) as renderer:
        warm_up(renderer, lens, walk)
        load_seconds = time.perf_counter() - started
        wall, cpu = measure_frames(renderer, lens, walk)
        return Measurement(
            fps=len(walk) / wall,
            cpu_ms_per_frame=1000 * cpu / len(walk),
            triangles=prepared.triangle_count,
            load_s=load_seconds,
            rss_mb=_read_resident_megabytes(),
            renderer=device.name,
            poses=walk,
        )


def warm_up(renderer: Renderer, lens: Lens, poses: Sequence[EyePose]) -> None:
    """Look around where the poses are, as long as there is time, and compile what the timed frames will need."""
    first_in_cell = {get_cell(pose.position): pose for pose in reversed(poses)}
    deadline = time.perf_counter() + LOOK_SECONDS
    for pose in reversed(first_in_cell.values()):
        if time.perf_counter() > deadline:
            break
        renderer.look_around(pose.position, lens.channels)
    for pose in poses[:WARM_UP_FRAMES]:
        renderer.render(lens.camera(pose), lens.channels)


def measure_frames(renderer: Renderer, lens: Lens, poses: Iterable[EyePose]) -> tuple[float, float]:
    """Wall and CPU seconds for one picture per pose, delivered in fresh arrays as a sensor delivers them."""
    cameras = [lens.camera(pose) for pose in poses]
    wall, cpu = time.perf_counter(), time.process_time()
    for camera in cameras:
        renderer.render(camera, lens.channels)
    return time.perf_counter() - wall, time.process_time() - cpu


def _read_resident_megabytes() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 2**20
