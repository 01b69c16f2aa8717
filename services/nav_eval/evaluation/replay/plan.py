"""The plan camera: a storey of a scene, looked at from above with everything over breast height cut away."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.evaluation.replay.floors import Extent, PlanCamera
from nav_eval.simulator.rendering import Camera, Channel, PreparedScene, Renderer
from nav_eval.simulator.scene_manager import SceneManager

BUILT_IN = "moderngl"
CUT = 1.5  #: metres above the floor: doorways are open, and most furniture is whole
BELOW = 0.6  #: metres below the floor that still show
FROM_ABOVE = 12.0  #: the camera's height in lengths of the map, which makes lines of sight nearly parallel
NARROWEST = math.radians(1.2)  #: the least field of view that we ask of the renderer
FINER = 2  #: pixels per pixel and side, for smooth edges
_DOWN = (-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  #: −Z of the world is up in the picture


def plan_camera(benchmark: BenchmarkConfig, episode: Episode, *, cache: Path) -> PlanCamera | None:
    """The camera for an episode's scene; None if the benchmark has a simulator of somebody else."""
    if benchmark.simulator.backend != BUILT_IN:
        return None
    scene = SceneManager(benchmark, cache=cache).open(episode.scene_id, benchmark.robot(episode.private.robot))
    return RenderedPlan(scene.prepared)


class RenderedPlan:
    """Pictures by the built-in renderer, which lives only as long as a picture takes."""

    def __init__(self, scene: PreparedScene) -> None:
        self._scene = scene

    def take(self, extent: Extent, *, floor: float) -> NDArray[np.uint8]:
        with Renderer(self._scene) as renderer:
            shot = renderer.render(_camera(extent, floor), [Channel.RGB, Channel.DEPTH])
        assert shot.rgb is not None
        assert shot.depth is not None
        there = np.where(shot.depth > 0.0, 255, 0).astype(np.uint8)
        return np.asarray(Image.fromarray(np.dstack([shot.rgb, there])).reduce(FINER))


def _camera(extent: Extent, floor: float) -> Camera:
    across, down = extent.width / extent.scale, extent.height / extent.scale
    above = min(FROM_ABOVE * max(across, down), across / 2 / math.tan(NARROWEST / 2))
    return Camera(
        position=(extent.left + across / 2, floor + above, extent.top + down / 2),
        rotation=_DOWN,
        width=FINER * extent.width,
        height=FINER * extent.height,
        hfov=2 * math.degrees(math.atan(across / 2 / above)),
        near=above - CUT,
        far=above + BELOW,
    )
