"""What there is to say about a scene that was just read: its shape, its figures, and whether an agent could walk in it.

Nothing here changes the scene. What looks wrong is said, with the argument that would set it right. Buildings have one
direction along which a few large planes (floors, ceilings) carry much of the area: enough to notice one that lies on
its side or is drawn in centimetres. It is evidence, not proof: whoever knows better says so.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.formats import geometry
from nav_eval.scene.model import ReadLog, Scene

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
        for gap in self._iterate_gaps():
            if STOREY_HEIGHTS[0] <= gap <= STOREY_HEIGHTS[1]:
                return gap
        return self.extent if STOREY_HEIGHTS[0] <= self.extent <= STOREY_HEIGHTS[1] else None

    def has_storey(self, scale: float) -> bool:
        """Whether some ceiling or floor is as far above a floor as in a house, if the file is in such units."""
        return any(STOREY_HEIGHTS[0] <= scale * gap <= STOREY_HEIGHTS[1] for gap in self._iterate_gaps())

    def _iterate_gaps(self) -> Iterator[float]:
        for floor in self.floors:
            yield from (height - floor for height in sorted((*self.ceilings, *self.floors)))


class Shape:
    """Surface statistics of a scene, each computed once."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._axes: dict[int, AxisEvidence] = {}

    @cached_property
    def _facing(self) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Areas and unit normals of all triangles, worked out piece by piece."""
        count = len(self._scene.triangles)
        areas, normals = np.empty(count), np.empty((count, 3), np.float32)
        for part in geometry.iterate_slices(count):
            vectors = geometry.compute_area_vectors(self._scene.positions, self._scene.triangles[part])
            lengths = np.linalg.norm(vectors, axis=1)
            areas[part] = lengths / 2
            normals[part] = vectors / np.maximum(lengths, np.finfo(np.float64).tiny)[:, None]
        return areas, normals

    @property
    def areas(self) -> NDArray[np.float64]:
        return self._facing[0]

    @property
    def normals(self) -> NDArray[np.float32]:
        return self._facing[1]

    def along(self, axis: int) -> AxisEvidence:
        """The evidence for axis 0, 1 or 2 as the vertical."""
        if axis not in self._axes:
            self._axes[axis] = self._gather(axis)
        return self._axes[axis]

    def level_share(self, axis: int) -> float:
        """How much of all surface is square to an axis."""
        total = float(self.areas.sum())
        return self.along(axis).level_area / total if total else 0.0

    def strongest_plane(self) -> tuple[NDArray[np.float64], float]:
        """The direction that most surface faces (or turns its back to), and how much of all surface that is."""
        axis = np.abs(self.normals).argmax(axis=1)[:, None]
        unsigned = self.normals * np.sign(np.take_along_axis(self.normals, axis, axis=1))
        cells, cell = np.unique(np.rint(unsigned * 8).astype(np.int8), axis=0, return_inverse=True)
        areas = np.bincount(cell.ravel(), self.areas)
        center = cells[areas.argmax()] / np.linalg.norm(cells[areas.argmax()])
        members = np.abs(self.normals @ center) > FLATNESS
        along = self.normals[members] * np.sign(self.normals[members] @ center)[:, None]
        direction = (along * self.areas[members, None]).sum(axis=0)
        # Tables and seats are seen from above: the side with more surface is up.
        facing = float((np.sign(self.normals[members] @ direction) * self.areas[members]).sum())
        direction *= (1.0 if facing >= 0 else -1.0) / np.linalg.norm(direction)
        return direction, float(self.areas[members].sum() / self.areas.sum())

    def _gather(self, axis: int) -> AxisEvidence:
        heights = self._scene.positions[:, axis][self._scene.triangles]
        middles = heights.mean(axis=1, dtype=np.float64)
        low, high = self._span(heights)
        up, down = (self._planes(axis, sign, middles, low, high) for sign in (1, -1))
        return AxisEvidence(
            extent=high - low,
            largest_plane=float(max(up[1].max(), down[1].max())),
            level_area=float(up[1].sum() + down[1].sum()),
            floors=_pick_major(*up),
            ceilings=_pick_major(*down),
        )

    def _span(self, heights: NDArray[np.float32]) -> tuple[float, float]:
        """Lowest and highest surface, but for the outermost half percent of the area."""
        low = _find_quantile(heights.min(axis=1), self.areas, 0.005)
        high = _find_quantile(heights.max(axis=1), self.areas, 0.995)
        return low, max(high, low)

    def _planes(
        self, axis: int, sign: int, heights: NDArray[np.float64], low: float, high: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Heights and areas of level surface that faces `sign`, in slices one floor thick."""
        level = sign * self.normals[:, axis] > FLATNESS
        slices = int(min((high - low) / PLANE_THICKNESS + 1, 100_000))
        area, edges = np.histogram(
            heights[level], bins=slices, range=(low - 1e-3, high + 1e-3), weights=self.areas[level]
        )
        return (edges[:-1] + edges[1:]) / 2, area


def _pick_major(heights: NDArray[np.float64], areas: NDArray[np.float64]) -> tuple[float, ...]:
    if areas.max() <= 0:
        return ()
    return tuple(float(height) for height in heights[areas >= MAJOR_SHARE * areas.max()])


def _find_quantile(values: NDArray[np.float64], weights: NDArray[np.float64], share: float) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, share * total[-1])])


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspection:
    """Figures and sentences, ready to be printed or written as JSON."""

    file: str
    triangles: int  #: usable ones
    file_triangles: int  #: those without area included
    vertices: int
    meshes: int
    materials: int
    unlit_materials: int
    textures: int
    texture_pixels: int
    lights: int
    lower: Vec3
    upper: Vec3
    size: Vec3
    up: str
    floors: tuple[float, ...]  #: heights of the large level surfaces
    storey_height: float | None  #: metres from a floor to what is above it
    watertight: bool  #: every edge has two sides: the surface encloses a space
    volume: float | None  #: cubic metres, if watertight
    objects: int
    regions: int
    categories: dict[str, int]  #: how many objects of each, most frequent first
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def inspect_scene(scene: Scene) -> Inspection:
    """The figures of a scene."""
    lower, upper = (_round_vector(corner.tolist()) for corner in scene.bounds)
    vertical = Shape(scene).along(1)
    volume = _measure_volume(scene)
    counts = Counter(thing.category for thing in scene.semantics.objects)
    return Inspection(
        file=scene.report.source,
        triangles=len(scene.triangles),
        file_triangles=scene.report.file_triangles,
        vertices=len(scene.positions),
        meshes=scene.report.meshes,
        materials=len(scene.materials),
        unlit_materials=sum(material.unlit for material in scene.materials),
        textures=len(scene.textures),
        texture_pixels=sum(texture.pixels.shape[0] * texture.pixels.shape[1] for texture in scene.textures),
        lights=len(scene.lights),
        lower=lower,
        upper=upper,
        size=_round_vector([high - low for low, high in zip(lower, upper, strict=True)]),
        up=scene.report.up,
        floors=tuple(round(height, 2) for height in vertical.floors),
        storey_height=None if vertical.storey_height is None else round(vertical.storey_height, 2),
        watertight=volume is not None,
        volume=volume,
        objects=len(scene.semantics.objects),
        regions=len(scene.semantics.regions),
        categories=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        notes=scene.report.notes,
        warnings=scene.report.warnings,
    )


def _measure_volume(scene: Scene) -> float | None:
    """None where the surface is open; vertices that differ only in normal or texture count as one."""
    places = (scene.positions + np.float32(0)).view(np.dtype((np.void, 12))).ravel()  # −0 is 0
    merged = np.unique(places, return_inverse=True)[1].astype(np.uint64)
    first = merged[scene.triangles].ravel()
    second = merged[np.roll(scene.triangles, -1, axis=1)].ravel()
    edges = np.minimum(first, second) << np.uint64(32) | np.maximum(first, second)
    edges.sort()
    is_paired = len(edges) % 2 == 0 and (edges[::2] == edges[1::2]).all() and (edges[1:-1:2] != edges[2::2]).all()
    if not is_paired or (first == second).any():
        return None
    pieces = (scene.positions[scene.triangles[part]].astype(np.float64) for part in _iterate_triangles(scene))
    volume = sum(float(np.einsum("ij,ij->", np.cross(p[:, 0], p[:, 1]), p[:, 2])) / 6 for p in pieces)
    return round(volume, 4)


def _iterate_triangles(scene: Scene) -> Iterator[slice]:
    return geometry.iterate_slices(len(scene.triangles))


def _round_vector(values: list[float]) -> Vec3:
    x, y, z = (round(float(value), 4) for value in values)
    return x, y, z


LARGEST = 10_000.0  # metres: beyond this a unit other than the metre is certain
TALLEST = 60.0  # metres: beyond this a unit other than the metre is likely
SMALLEST = 1.5  # metres: nobody stands up in this
UNITS = {"centimetres": 0.01, "millimetres": 0.001, "inches": 0.0254, "feet": 0.3048}
COARSE = 0.001  # metres between neighbouring float32 coordinates


def check_plausible(scene: Scene, log: ReadLog) -> None:
    """Refuse what is certainly not in metres; warn of what probably is not."""
    lower, upper = scene.bounds
    size = (upper - lower).astype(np.float64)
    if size.max() > LARGEST:
        raise SceneError(f"{log.source}: is {_format_metres(size)}; no building is that large.{_format_advice(scene)}")
    if size[1] > TALLEST:
        log.warn(f"The scene is {_format_metres(size)}, taller than any house.{_format_advice(scene)}")
    elif size.max() < SMALLEST:
        log.warn(f"The scene is {_format_metres(size)}, too small to stand in. If it is a miniature, pass a scale.")
    _check_precision(np.maximum(np.abs(lower), np.abs(upper)).max(), log)


def _check_precision(farthest: np.float32, log: ReadLog) -> None:
    step = float(np.spacing(np.float32(farthest)))
    if step > COARSE:
        log.note(
            f"The scene lies {farthest:,.0f} m from the origin, where coordinates are {step * 1000:.1f} mm apart; "
            "coordinates are kept, as episodes refer to them."
        )


def _format_advice(scene: Scene) -> str:
    vertical = Shape(scene).along(1)
    by_storey = [unit for unit, factor in UNITS.items() if vertical.has_storey(factor)]
    low, high = STOREY_HEIGHTS[0], 3 * STOREY_HEIGHTS[1]
    by_height = [unit for unit, factor in UNITS.items() if low <= vertical.extent * factor <= high]
    for unit in (*by_storey, *by_height):
        return f" If it is drawn in {unit}, pass scale={UNITS[unit]:g}."
    return " If it is not drawn in metres, pass the scale."


def _format_metres(size: NDArray[np.float64]) -> str:
    return " × ".join(f"{value:,.2f}" for value in size) + " m large"
