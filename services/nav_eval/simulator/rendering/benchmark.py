"""How fast a scene is drawn: the measurement behind `nav-eval bench render`.

CPU time of the whole process per frame is the figure to compare, as it hardly depends on what else
the machine does; frames per second go with it. Loading is everything between the scene's file and
the first picture: reading or mapping the scene, sending it to OpenGL, compiling shaders, and looking
around once in every cell that will be visited (at most LOOK_SECONDS), which later frames profit from.
Finding poses is not part of it.
"""

import resource
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nav_eval.scene.reading import read_scene
from nav_eval.scene.reading import scene_digest as file_digest
from nav_eval.simulator.rendering.camera import Camera
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.frame import Channel
from nav_eval.simulator.rendering.renderer import Renderer
from nav_eval.simulator.rendering.store import prepared_scene
from nav_eval.simulator.rendering.visibility import cell_of
from nav_eval.simulator.rendering.walk import EyePose, seeded_walk

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
        return Camera.looking(pose.position, yaw=pose.yaw, width=self.width, height=self.height, hfov=self.hfov)


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
    walk = seeded_walk(read_scene(path), steps=steps, seed=seed) if poses is None else list(poses)
    started = time.perf_counter()
    prepared = prepared_scene(cache, file_digest(path), lambda: read_scene(path))
    with Renderer(prepared, device=device) as renderer:
        warm_up(renderer, lens, walk)
        load_seconds = time.perf_counter() - started
        wall, cpu = timed(renderer, lens, walk)
        return Measurement(
            fps=len(walk) / wall,
            cpu_ms_per_frame=1000 * cpu / len(walk),
            triangles=prepared.triangle_count,
            load_s=load_seconds,
            rss_mb=_resident_megabytes(),
            renderer=device.name,
            poses=walk,
        )


def warm_up(renderer: Renderer, lens: Lens, poses: Sequence[EyePose]) -> None:
    """Look around where the poses are, as long as there is time, and compile what the timed frames will need."""
    first_in_cell = {cell_of(pose.position): pose for pose in reversed(poses)}
    deadline = time.perf_counter() + LOOK_SECONDS
    for pose in reversed(first_in_cell.values()):
        if time.perf_counter() > deadline:
            break
        renderer.look_around(pose.position, lens.channels)
    for pose in poses[:WARM_UP_FRAMES]:
        renderer.render(lens.camera(pose), lens.channels)


def timed(renderer: Renderer, lens: Lens, poses: Iterable[EyePose]) -> tuple[float, float]:
    """Wall and CPU seconds for one picture per pose, delivered in fresh arrays as a sensor delivers them."""
    cameras = [lens.camera(pose) for pose in poses]
    wall, cpu = time.perf_counter(), time.process_time()
    for camera in cameras:
        renderer.render(camera, lens.channels)
    return time.perf_counter() - wall, time.process_time() - cpu


def _resident_megabytes() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 2**20
