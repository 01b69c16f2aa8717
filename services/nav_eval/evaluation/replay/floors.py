"""Maps of the storeys that an episode touches: the house from above with its upper part cut away.

The picture is taken by the renderer from so far up that lines of sight are nearly parallel, with everything
above breast height in front of the near plane. Where no renderer can be used, the walkable area is drawn
instead; on ground without maps, a plain sheet around what has to be shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nav_eval.dataset.episode import Vec3
from nav_eval.evaluation.replay.model import Floor, Picture
from nav_eval.scene.navigation import Ground
from nav_eval.scene.navigation.maps import BORDER, OUTSIDE, TopDownMap, floor_heights, top_down
from nav_eval.scene.navigation.mesh import NavigationMesh

MARGIN = 0.6  #: metres around the walkable area, for walls and what stands at them
LONGEST_SIDE = 960  #: pixels
WEBP_QUALITY = 82
FINEST = 48.0  #: pixels per metre
STAIRS = 0.5  #: metres below a floor from where on one is on it, as in `scene.navigation.maps`
_WALKABLE = np.array([[0, 0, 0, 0], [214, 220, 228, 255], [150, 165, 190, 255]], dtype=np.uint8)


@dataclass(frozen=True, kw_only=True, slots=True)
class Extent:
    """A rectangle of the world and how finely it is drawn."""

    left: float
    top: float
    width: int  #: pixels
    height: int
    scale: float  #: pixels per metre

    @classmethod
    def around(cls, points: Sequence[Vec3], *, margin: float) -> "Extent":
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

    def take(self, extent: Extent, *, floor: float) -> NDArray[np.uint8]: ...


def storeys_of(ground: Ground, camera: PlanCamera | None, points: Sequence[Vec3]) -> Storeys:
    """The storeys of a navigation mesh; a sheet around the points on any other ground."""
    if isinstance(ground, NavigationMesh):
        heights = floor_heights(ground)
        if heights:
            return MeshStoreys(ground, heights, camera)
    return Sheet(points)


class MeshStoreys:
    """The storeys of a scene."""

    def __init__(self, mesh: NavigationMesh, heights: tuple[float, ...], camera: PlanCamera | None) -> None:
        self._mesh, self._heights, self._camera = mesh, heights, camera

    def of(self, point: Vec3) -> int:
        return sum(point[1] >= height - STAIRS for height in self._heights[1:])

    def floors(self, wanted: Iterable[int]) -> dict[int, Floor]:
        return {storey: self._floor(storey) for storey in sorted(set(wanted))}

    def _floor(self, storey: int) -> Floor:
        area = top_down(self._mesh, storey)
        extent = _extent_of(area)
        pixels = None if self._camera is None else self._camera.take(extent, floor=area.floor)
        if pixels is None:
            pixels = _walkable(area, extent)
        return _floor(extent, area.floor, pixels)


class Sheet:
    """One empty storey, large enough for everything that is shown on it."""

    def __init__(self, points: Sequence[Vec3]) -> None:
        self._points = points

    def of(self, point: Vec3) -> int:
        return 0

    def floors(self, wanted: Iterable[int]) -> dict[int, Floor]:
        extent = Extent.around(self._points, margin=2.0)
        height = min(point[1] for point in self._points)
        return {0: _floor(extent, height, np.zeros((extent.height, extent.width, 4), dtype=np.uint8))}


def _extent_of(area: TopDownMap) -> Extent:
    rows, columns = np.nonzero(area.image != OUTSIDE)
    size = area.metres_per_pixel
    left, top = area.left + int(columns.min()) * size, area.top + int(rows.min()) * size
    right, bottom = area.left + (int(columns.max()) + 1) * size, area.top + (int(rows.max()) + 1) * size
    return Extent.around([(left, 0.0, top), (right, 0.0, bottom)], margin=MARGIN)


def _walkable(area: TopDownMap, extent: Extent) -> NDArray[np.uint8]:
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


def _floor(extent: Extent, height: float, pixels: NDArray[np.uint8]) -> Floor:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "WEBP", quality=WEBP_QUALITY, method=4)
    return Floor(
        height=height,
        left=extent.left,
        top=extent.top,
        pixels_per_metre=extent.scale,
        picture=Picture(data=file.getvalue(), width=extent.width, height=extent.height, media_type="image/webp"),
    )
