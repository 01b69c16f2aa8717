"""What the bare shape of a scene says about itself: floors, ceilings, storeys, size.

Buildings have one direction along which a few large planes (floors, ceilings) carry much of the
area; walls share their area out over many smaller planes. That is enough to notice a building that
lies on its side or is drawn in centimetres. It is evidence, not proof: whoever knows better says so.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Scene
from nav_eval.scene.reading import geometry

PLANE_THICKNESS = 0.1  # metres: what counts as one floor
FLATNESS = 0.95  # cosine: how level a floor must be
MAJOR_SHARE = 0.3  # of the largest plane's area: what counts as a floor of its own
STOREY_HEIGHTS = (2.0, 5.5)  # metres from floor to ceiling


@dataclass(frozen=True, kw_only=True, slots=True)
class AxisEvidence:
    """How much a building looks as if this axis were its vertical."""

    extent: float  #: metres between the outermost surfaces, strays left out
    largest_plane: float  #: square metres at one height
    level_area: float  #: square metres of level surface at any height
    floors: tuple[float, ...]  #: heights of the large planes that face up
    ceilings: tuple[float, ...]  #: heights of those that face down

    @property
    def score(self) -> float:
        return float(np.sqrt(self.largest_plane * self.level_area))

    @property
    def storey_height(self) -> float | None:
        """The first plausible distance from a floor to a ceiling, to the next floor, or to the top."""
        for floor in self.floors:
            gaps = [height - floor for height in sorted((*self.ceilings, *self.floors))]
            plausible = [gap for gap in gaps if STOREY_HEIGHTS[0] <= gap <= STOREY_HEIGHTS[1]]
            if plausible:
                return plausible[0]
        return self.extent if STOREY_HEIGHTS[0] <= self.extent <= STOREY_HEIGHTS[1] else None


class Shape:
    """Surface statistics of a scene, each computed once."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._axes: dict[int, AxisEvidence] = {}

    @cached_property
    def _areas(self) -> NDArray[np.float64]:
        return np.asarray(np.linalg.norm(self._area_vectors, axis=1)) / 2

    @cached_property
    def _area_vectors(self) -> NDArray[np.float64]:
        return geometry.area_vectors(self._scene.positions, self._scene.triangles)

    @cached_property
    def normals(self) -> NDArray[np.float64]:
        return self._area_vectors / np.maximum(2 * self._areas, np.finfo(np.float64).tiny)[:, None]

    @property
    def areas(self) -> NDArray[np.float64]:
        return self._areas

    def along(self, axis: int) -> AxisEvidence:
        """The evidence for axis 0, 1 or 2 as the vertical."""
        if axis not in self._axes:
            self._axes[axis] = self._gather(axis)
        return self._axes[axis]

    def level_share(self, axis: int) -> float:
        """How much of all surface is square to an axis."""
        total = float(self._areas.sum())
        return self.along(axis).level_area / total if total else 0.0

    def strongest_plane(self) -> tuple[NDArray[np.float64], float]:
        """The direction that most surface faces (or turns its back to), and how much of all surface that is."""
        axis = np.abs(self.normals).argmax(axis=1)[:, None]
        unsigned = self.normals * np.sign(np.take_along_axis(self.normals, axis, axis=1))
        cells, cell = np.unique(np.rint(unsigned * 8).astype(np.int8), axis=0, return_inverse=True)
        areas = np.bincount(cell.ravel(), self._areas)
        center = cells[areas.argmax()] / np.linalg.norm(cells[areas.argmax()])
        members = np.abs(self.normals @ center) > FLATNESS
        along = self.normals[members] * np.sign(self.normals[members] @ center)[:, None]
        direction = (along * self._areas[members, None]).sum(axis=0)
        # Tables and seats are seen from above: the side with more surface is up.
        facing = float((np.sign(self.normals[members] @ direction) * self._areas[members]).sum())
        direction *= (1.0 if facing >= 0 else -1.0) / np.linalg.norm(direction)
        return direction, float(self._areas[members].sum() / self._areas.sum())

    def _gather(self, axis: int) -> AxisEvidence:
        heights = self._scene.positions[:, axis][self._scene.triangles].astype(np.float64)
        low, high = self._span(heights)
        up, down = (self._planes(axis, sign, heights.mean(axis=1), low, high) for sign in (1, -1))
        return AxisEvidence(
            extent=high - low,
            largest_plane=float(max(up[1].max(), down[1].max())),
            level_area=float(up[1].sum() + down[1].sum()),
            floors=_major(*up),
            ceilings=_major(*down),
        )

    def _span(self, heights: NDArray[np.float64]) -> tuple[float, float]:
        """Lowest and highest surface, but for the outermost half percent of the area."""
        low = _quantile(heights.min(axis=1), self._areas, 0.005)
        high = _quantile(heights.max(axis=1), self._areas, 0.995)
        return low, max(high, low)

    def _planes(
        self, axis: int, sign: int, heights: NDArray[np.float64], low: float, high: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Heights and areas of level surface that faces `sign`, in slices one floor thick."""
        level = sign * self.normals[:, axis] > FLATNESS
        slices = int(min((high - low) / PLANE_THICKNESS + 1, 100_000))
        area, edges = np.histogram(
            heights[level], bins=slices, range=(low - 1e-3, high + 1e-3), weights=self._areas[level]
        )
        return (edges[:-1] + edges[1:]) / 2, area


def _major(heights: NDArray[np.float64], areas: NDArray[np.float64]) -> tuple[float, ...]:
    if areas.max() <= 0:
        return ()
    return tuple(float(height) for height in heights[areas >= MAJOR_SHARE * areas.max()])


def _quantile(values: NDArray[np.float64], weights: NDArray[np.float64], share: float) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, share * total[-1])])
