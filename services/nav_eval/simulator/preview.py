"""Pictures of a scene for people: a map of every floor, and what one sees from a few places.

What nobody can walk in (a single thing, a scene in the wrong unit) is shown from outside.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nav_eval.randomness import make_generator
from nav_eval.records.geometry import measure_distance
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.top_down_map import BORDER, INSIDE, find_floor_heights, make_top_down_map
from nav_eval.simulator.rendering import Camera, Channel, Renderer
from nav_eval.simulator.scene_manager import SceneSource

EYE_HEIGHT = 1.25
YAWS = 8  #: directions that are tried at each place
PLACES = 24  #: places that are tried
_MAP_COLORS = np.array([[30, 32, 36], [214, 220, 228], [120, 140, 170]], dtype=np.uint8)
_PIXELS_PER_CELL = 2


def write_previews(source: SceneSource, mesh: NavigationMesh, out: Path, *, views: int, seed: int) -> Iterator[Path]:
    """Write map_<floor>.png and view_<n>.png; yields each file as it is written."""
    out.mkdir(parents=True, exist_ok=True)
    for floor in range(len(find_floor_heights(mesh))):
        path = out / f"map_{floor}.png"
        Image.fromarray(draw_map(mesh, floor)).save(path)
        yield path
    with Renderer(source.prepared) as renderer:
        for number, camera in enumerate(choose_views(mesh, renderer, count=views, seed=seed)):
            path = out / f"view_{number}.png"
            Image.fromarray(_take_picture(renderer, camera)).save(path)
            yield path


def _take_picture(renderer: Renderer, camera: Camera) -> NDArray[np.uint8]:
    picture = renderer.render(camera, [Channel.RGB]).rgb
    assert picture is not None
    return picture


def draw_map(mesh: NavigationMesh, floor: int) -> NDArray[np.uint8]:
    """A floor from above: where one can walk, and where it ends."""
    image = make_top_down_map(mesh, floor).image
    colors = _MAP_COLORS[np.minimum(image, max(INSIDE, BORDER))]
    return np.repeat(np.repeat(colors, _PIXELS_PER_CELL, axis=0), _PIXELS_PER_CELL, axis=1)


def choose_views(mesh: NavigationMesh, renderer: Renderer, *, count: int, seed: int) -> list[Camera]:
    """Of many views, those that look far and stand far from each other."""
    if not can_walk(mesh):
        return _look_from_outside(renderer, count)
    rng = make_generator(seed, "preview")
    candidates = []
    for _ in range(PLACES):
        x, y, z = mesh.random_navigable_point(rng)
        yaw = 2 * np.pi * float(rng.integers(YAWS)) / YAWS
        camera = Camera.from_angles((x, y + EYE_HEIGHT, z), yaw=yaw)
        depth = renderer.render(camera, [Channel.DEPTH]).depth
        assert depth is not None
        candidates.append((float(np.median(depth)), camera))
    candidates.sort(key=lambda scored: -scored[0])
    return _spread([camera for _, camera in candidates], count)


def can_walk(mesh: NavigationMesh) -> bool:
    """Whether there is any ground to stand on."""
    return any(island.index is not None for island in mesh.islands)


def _look_from_outside(renderer: Renderer, count: int) -> list[Camera]:
    """From all around, a little above, with the whole scene in view."""
    bounds = renderer.prepared.chunks.bounds.astype(np.float64)
    lower, upper = bounds[:, :3].min(axis=0), bounds[:, 3:].max(axis=0)
    radius = max(float(np.linalg.norm(upper - lower)) / 2, 1e-3)
    away, pitch = 2.2 * radius, -np.radians(20.0)
    cameras = []
    for number in range(count):
        yaw = np.radians(30.0) + 2 * np.pi * number / count
        back = np.array([np.sin(yaw) * np.cos(pitch), -np.sin(pitch), np.cos(yaw) * np.cos(pitch)])
        x, y, z = ((lower + upper) / 2 + away * back).tolist()
        camera = Camera.from_angles((x, y, z), yaw=float(yaw), pitch=float(pitch))
        cameras.append(replace(camera, hfov=60.0, near=0.02 * away, far=4.0 * away))
    return cameras


def _spread(cameras: list[Camera], count: int) -> list[Camera]:
    """The first ones, leaving out any that stands next to one already chosen while there are others."""
    chosen: list[Camera] = []
    for camera in cameras:
        if len(chosen) < count and all(measure_distance(camera.position, other.position) > 1.5 for other in chosen):
            chosen.append(camera)
    return [*chosen, *(camera for camera in cameras if camera not in chosen)][:count]
