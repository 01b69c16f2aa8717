"""How fast a scene is drawn: the measurement behind `nav-eval bench render`.

CPU time of the whole process per frame is the figure to compare, as it hardly depends on what else
the machine does; frames per second go with it. Loading is everything between the scene's file and the
first picture that an evaluation does as well: preparing or mapping the scene, sending it to OpenGL, compiling shaders.
Finding the ground and poses is not part of it. The walk is then taken twice in one process: the first time is what an
episode in a new place costs, the second what one costs where others were before.
"""

import math
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Scene
from nav_eval.scene.navigation import AgentShape, Ground, build_navigation
from nav_eval.sensors import Channel
from nav_eval.simulator.rendering.camera import Camera
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.glance import EYE_HEIGHT
from nav_eval.simulator.rendering.renderer import Renderer
from nav_eval.simulator.scene_manager import SceneSource

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
    try:
        ground = build_navigation(scene)
    except NavigationMeshError:
        ground = None
    return _take_walk(ground, lambda: scene, steps=steps, seed=seed)


def _take_walk(ground: Ground | None, read: Callable[[], Scene], *, steps: int, seed: int) -> list[EyePose]:
    """On the ground; without one, at random in the scene."""
    rng = np.random.default_rng(seed)
    poses = walk_on(ground, rng) if ground is not None else _sample_poses(read(), rng)
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

    fps: float  #: frames per second of wall time, on the first walk
    cpu_ms_per_frame: float  #: process CPU of all threads, on the first walk
    first_walk_cpu_ms_per_frame: float  #: the same
    repeated_walk_cpu_ms_per_frame: float  #: the second time along the same poses
    triangles: int  #: of the scene file
    load_s: float  #: wall time from the file to the first picture
    rss_mb: float  #: resident memory after the last frame
    renderer: str  #: GL_RENDERER
    poses: list[EyePose]


def measure(
    path: Path, *, lens: Lens, steps: int, poses: Sequence[EyePose] | None, cache: Path, device: Device, seed: int = 0
) -> Measurement:
    """Draw a scene along given poses, or along a seeded walk."""
    source = SceneSource(path=path, things=(), root=path.parent, cache=cache)
    ground = _find_ground(source)
    walk = _take_walk(ground, lambda: source.furnished.scene, steps=steps, seed=seed) if poses is None else list(poses)
    started = time.perf_counter()
    prepared = source.prepared if ground is None else source.prepare_for(ground)
    with Renderer(prepared, device=device) as renderer:
        renderer.render(lens.camera(walk[0]), lens.channels)
        load_seconds = time.perf_counter() - started
        wall, cpu = measure_frames(renderer, lens, walk)
        _, again = measure_frames(renderer, lens, walk)
        return Measurement(
            fps=len(walk) / wall,
            cpu_ms_per_frame=1000 * cpu / len(walk),
            first_walk_cpu_ms_per_frame=1000 * cpu / len(walk),
            repeated_walk_cpu_ms_per_frame=1000 * again / len(walk),
            triangles=prepared.triangle_count,
            load_s=load_seconds,
            rss_mb=_read_resident_megabytes(),
            renderer=device.name,
            poses=walk,
        )


def _find_ground(source: SceneSource) -> Ground | None:
    """None where there is nowhere to stand."""
    try:
        return source.ground(AgentShape())
    except NavigationMeshError:
        return None


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
