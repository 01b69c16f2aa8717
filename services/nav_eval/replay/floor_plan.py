"""Maps of the storeys that an episode touches: the house from above with its upper part cut away.

The picture is taken by the renderer from so far up that lines of sight are nearly parallel, with everything
above breast height in front of the near plane. Where no renderer can be used, the walkable area is drawn
instead; on ground without maps, a plain sheet around what has to be shown.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.records.geometry import Vec3
from nav_eval.replay.model import Floor, Picture
from nav_eval.scene.navigation import Ground
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.top_down_map import BORDER, OUTSIDE, TopDownMap, find_floor_heights, make_top_down_map
from nav_eval.sensors import Channel
from nav_eval.simulator.scene_manager import SceneManager

if TYPE_CHECKING:  # needs OpenGL
    from nav_eval.simulator.rendering import Camera, PreparedScene

MARGIN = 0.6  #: metres around the walkable area, for walls and what stands at them
LONGEST_SIDE = 960  #: pixels
WEBP_QUALITY = 82
FINEST = 48.0  #: pixels per metre
STAIRS = 0.5  #: metres below a floor from where on one is on it, as in `scene.navigation.top_down_map`
_WALKABLE = np.array([[0, 0, 0, 0], [214, 220, 228, 255], [150, 165, 190, 255]], dtype=np.uint8)


@dataclass(frozen=True, kw_only=True, slots=True)
class MapExtent:
    """A rectangle of the world and how finely it is drawn."""

    left: float
    top: float
    width: int  #: pixels
    height: int
    scale: float  #: pixels per metre

    @classmethod
    def around(cls, points: Sequence[Vec3], *, margin: float) -> "MapExtent":
        xs, zs = [p[0] for p in points], [p[2] for p in points]
        left, top = min(xs) - margin, min(zs) - margin
        across, down = max(xs) + margin - left, max(zs) + margin - top
        scale = min(FINEST, LONGEST_SIDE / max(across, down))
        return cls(
            left=left, top=top, width=max(1, round(across * scale)), height=max(1, round(down * scale)), scale=scale
        )


class Storeys(Protocol):
    """What maps are asked of a scene."""

    def of(self, point: Vec3) -> int:
        """Index of the storey on which a place is."""

    def floors(self, wanted: Iterable[int]) -> dict[int, Floor]:
        """Their maps."""


class PlanCamera(Protocol):
    """Takes the picture of a storey, with transparency where there is nothing."""

    def take(self, extent: MapExtent, *, floor: float) -> NDArray[np.uint8]: ...


def find_storeys(ground: Ground, camera: PlanCamera | None, points: Sequence[Vec3]) -> Storeys:
    """The storeys of a navigation mesh; a sheet around the points on any other ground."""
    if isinstance(ground, NavigationMesh):
        heights = find_floor_heights(ground)
        if heights:
            return MeshStoreys(ground, heights, camera)
    return EmptyStorey(points)


class MeshStoreys:
    """The storeys of a scene."""

    def __init__(self, mesh: NavigationMesh, heights: tuple[float, ...], camera: PlanCamera | None) -> None:
        self._mesh, self._heights, self._camera = mesh, heights, camera

    def of(self, point: Vec3) -> int:
        return sum(point[1] >= height - STAIRS for height in self._heights[1:])

    def floors(self, wanted: Iterable[int]) -> dict[int, Floor]:
        return {storey: self._draw_floor(storey) for storey in sorted(set(wanted))}

    def _draw_floor(self, storey: int) -> Floor:
        area = make_top_down_map(self._mesh, storey)
        extent = _compute_extent(area)
        pixels = None if self._camera is None else self._camera.take(extent, floor=area.floor)
        if pixels is None:
            pixels = _draw_walkable(area, extent)
        return _make_floor(extent, area.floor, pixels)


class EmptyStorey:
    """One empty storey, large enough for everything that is shown on it."""

    def __init__(self, points: Sequence[Vec3]) -> None:
        self._points = points

    def of(self, point: Vec3) -> int:
        return 0

    def floors(self, wanted: Iterable[int]) -> dict[int, Floor]:
        extent = MapExtent.around(self._points, margin=2.0)
        height = min(point[1] for point in self._points)
        return {0: _make_floor(extent, height, np.zeros((extent.height, extent.width, 4), dtype=np.uint8))}


def _compute_extent(area: TopDownMap) -> MapExtent:
    rows, columns = np.nonzero(area.image != OUTSIDE)
    size = area.metres_per_pixel
    left, top = area.left + int(columns.min()) * size, area.top + int(rows.min()) * size
    right, bottom = area.left + (int(columns.max()) + 1) * size, area.top + (int(rows.max()) + 1) * size
    return MapExtent.around([(left, 0.0, top), (right, 0.0, bottom)], margin=MARGIN)


def _draw_walkable(area: TopDownMap, extent: MapExtent) -> NDArray[np.uint8]:
    """Where one can walk, and where that ends, at the scale of the extent."""
    padded = np.pad(np.minimum(area.image, BORDER), 1)
    metres = [(np.arange(n) + 0.5) / extent.scale for n in (extent.height, extent.width)]
    origins = ((extent.top, area.top, padded.shape[0]), (extent.left, area.left, padded.shape[1]))
    rows, columns = (
        np.clip(((origin + m - edge) // area.metres_per_pixel).astype(np.int64) + 1, 0, n - 1)
        for m, (origin, edge, n) in zip(metres, origins, strict=True)
    )
    colours: NDArray[np.uint8] = _WALKABLE[padded[np.ix_(rows, columns)]]
    return colours


def _make_floor(extent: MapExtent, height: float, pixels: NDArray[np.uint8]) -> Floor:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "WEBP", quality=WEBP_QUALITY, method=4)
    return Floor(
        height=height,
        left=extent.left,
        top=extent.top,
        pixels_per_metre=extent.scale,
        picture=Picture(data=file.getvalue(), width=extent.width, height=extent.height, media_type="image/webp"),
    )


BUILT_IN = "moderngl"
CUT = 1.5  #: metres above the floor: doorways are open, and most furniture is whole
BELOW = 0.6  #: metres below the floor that still show
FROM_ABOVE = 12.0  #: the camera's height in lengths of the map, which makes lines of sight nearly parallel
NARROWEST = math.radians(1.2)  #: the least field of view that we ask of the renderer
FINER = 2  #: pixels per pixel and side, for smooth edges
_DOWN = (-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  #: −Z of the world is up in the picture


def make_plan_camera(benchmark: BenchmarkConfig, episode: Episode, *, cache: Path) -> PlanCamera | None:
    """The camera for an episode's scene; None if the benchmark has a simulator of somebody else."""
    if benchmark.simulator.backend != BUILT_IN:
        return None
    scene = SceneManager(benchmark, cache=cache).open(episode.scene_id, benchmark.robot(episode.private.robot))
    return RenderedPlan(scene.source.prepared)


class RenderedPlan:
    """Pictures by the built-in renderer, which lives only as long as a picture takes."""

    def __init__(self, scene: "PreparedScene") -> None:
        self._scene = scene

    def take(self, extent: MapExtent, *, floor: float) -> NDArray[np.uint8]:
        from nav_eval.simulator.rendering import Renderer

        with Renderer(self._scene) as renderer:
            shot = renderer.render(_make_camera(extent, floor), [Channel.RGB, Channel.DEPTH])
        assert shot.rgb is not None
        assert shot.depth is not None
        there = np.where(shot.depth > 0.0, 255, 0).astype(np.uint8)
        return np.asarray(Image.fromarray(np.dstack([shot.rgb, there])).reduce(FINER))


def _make_camera(extent: MapExtent, floor: float) -> "Camera":
    from nav_eval.simulator.rendering import Camera

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
