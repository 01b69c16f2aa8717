"""The region as convex polygons of at most six corners, as Recast makes them: few, and linked by whole edges."""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import mapbox_earcut
import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.polygons.cells import Cells, cut_cells
from nav_eval.scene.navigation.polygons.contours import Loop, trace_contours

MOST_CORNERS = 6
TOLERANCES = (0.01, 0.0025, 0.0)  #: metres that borders are straightened by; the finer ones where the first one fails
LEAST_AREA = 1e-5  #: m²; smaller polygons are merged first, readers leave them out
AREA_ERROR = 1e-4  #: share of a band's area that triangles may miss or count twice
NO_POLYGON = -1

Corners = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PolygonMesh:
    """Convex polygons, counter-clockwise when x points right and z up."""

    vertices: NDArray[np.float64]  #: V × 3
    polygons: tuple[Corners, ...]  #: vertices of each
    beyond: tuple[Corners, ...]  #: per edge of each polygon the polygon on its other side, NO_POLYGON for none
    islands: NDArray[np.int64]  #: index of the island that each polygon belongs to

    @cached_property
    def triangles(self) -> NDArray[np.float64]:
        """T × 3 × 3: every polygon as a fan, upwards."""
        return self.vertices[np.array(self._fans, dtype=np.int64).reshape(-1, 4)[:, :3]]

    @cached_property
    def _fans(self) -> list[tuple[int, int, int, int]]:
        return [
            (corners[0], corners[k + 1], corners[k], polygon)
            for polygon, corners in enumerate(self.polygons)
            for k in range(1, len(corners) - 1)
        ]

    @cached_property
    def bounds(self) -> tuple[Vec3, Vec3]:
        """The lower and the upper corner."""
        lower, upper = self.vertices.min(axis=0).tolist(), self.vertices.max(axis=0).tolist()
        return (lower[0], lower[1], lower[2]), (upper[0], upper[1], upper[2])

    def measure_area(self, island: int | None = None) -> float:
        """m² of the surface itself, slopes included; of everything unless an island is named."""
        edges = self.triangles[:, 1:] - self.triangles[:, :1]
        areas = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2.0
        owner = self.islands[[polygon for *_, polygon in self._fans]]
        return float(areas.sum() if island is None else areas[owner == island].sum())

    def measure_radius(self, island: int) -> float:
        """The largest distance of an island's corners from their mean; each polygon counts its own corners."""
        corners = [k for index, polygon in enumerate(self.polygons) if self.islands[index] == island for k in polygon]
        if not corners:
            return 0.0
        places = self.vertices[corners]
        return float(np.linalg.norm(places - places.mean(axis=0), axis=1).max())


def make_polygon_mesh(mesh: NavigationMesh) -> PolygonMesh:
    """The polygons of a navigation mesh."""
    cells = cut_cells(mesh.surface)
    for tolerance in TOLERANCES:
        polygons = _fill_contours(cells, trace_contours(cells, tolerance))
        if polygons is not None:
            return _number_polygons(mesh, cells.corners, polygons)
    raise NavigationMeshError("The navigation mesh cannot be cut into polygons; please report the scene.")


def _fill_contours(cells: Cells, contours: dict[int, list[Loop]]) -> list[Corners] | None:
    """Convex polygons within the outlines of every band; None where straightened outlines cross each other."""
    polygons: list[Corners] = []
    for loops in contours.values():
        triangles = _triangulate(cells.corners, loops)
        if triangles is None:
            return None
        polygons += _merge_triangles(cells.corners, triangles)
    return polygons


def _triangulate(corners: NDArray[np.float64], loops: list[Loop]) -> list[Corners] | None:
    areas = [_measure_signed_area(corners, loop) for loop in loops]
    outers = sorted((k for k, area in enumerate(areas) if area > 0.0), key=lambda k: areas[k])
    holes = _assign_holes(corners, loops, areas, outers)
    triangles: list[Corners] = []
    for k in outers:
        rings = [loops[k], *holes[k]]
        found = _cut_ears(corners, rings)
        filled, wanted = (math.fsum(_measure_signed_area(corners, p) for p in parts) for parts in (found, rings))
        if abs(filled - wanted) > AREA_ERROR * areas[k] + LEAST_AREA:
            return None
        triangles += found
    return triangles


def _assign_holes(
    corners: NDArray[np.float64], loops: list[Loop], areas: list[float], outers: list[int]
) -> dict[int, list[Loop]]:
    """The holes of each outer loop: of the smallest one around them."""
    holes: dict[int, list[Loop]] = defaultdict(list)
    for loop, area in zip(loops, areas, strict=True):
        around = (k for k in outers if area < 0.0 and areas[k] >= -area and _is_within(corners, loop, loops[k]))
        owner = next(around, None)
        if owner is not None:
            holes[owner].append(loop)
    return holes


def _cut_ears(corners: NDArray[np.float64], rings: list[Loop]) -> list[Corners]:
    names = [corner for ring in rings for corner in ring]
    ends = np.cumsum([len(ring) for ring in rings]).astype(np.uint32)
    flat = np.ascontiguousarray(corners[names][:, [0, 2]])
    found = mapbox_earcut.triangulate_float64(flat, ends).reshape(-1, 3).tolist()
    triangles = [(names[a], names[b], names[c]) for a, b, c in found]
    turned = [part if _measure_signed_area(corners, part) >= 0.0 else part[::-1] for part in triangles]
    return [(a, b, c) for a, b, c in turned if len({a, b, c}) == 3]


def _measure_signed_area(corners: NDArray[np.float64], loop: Loop | Corners) -> float:
    places = [(float(corners[k, 0]), float(corners[k, 2])) for k in loop]
    return math.fsum(a[0] * b[1] - b[0] * a[1] for a, b in zip(places, [*places[1:], places[0]], strict=True)) / 2.0


def _is_within(corners: NDArray[np.float64], inner: Loop, outer: Loop) -> bool:
    """Are most corners of a loop inside of another?"""
    a = corners[outer][:, [0, 2]]
    b = np.roll(a, -1, axis=0)
    inside = 0
    for x, z in corners[inner][:, [0, 2]]:
        crossing = (a[:, 1] > z) != (b[:, 1] > z)
        at = a[crossing, 0] + (z - a[crossing, 1]) * (b - a)[crossing, 0] / (b - a)[crossing, 1]
        inside += int(np.count_nonzero(at > x) % 2)
    return 2 * inside > len(inner)


class _Merger:
    """Polygons that grow over the edges they share, as long as they stay convex."""

    def __init__(self, corners: NDArray[np.float64], triangles: list[Corners]) -> None:
        self._corners = corners
        self.polygons: dict[int, Corners] = dict(enumerate(triangles))
        self._owner = {edge: index for index, polygon in self.polygons.items() for edge in _list_edges(polygon)}

    def merge_all(self) -> list[Corners]:
        inner = [edge for edge in self._owner if edge[0] < edge[1] and edge[::-1] in self._owner]
        flat = {
            index
            for index, polygon in self.polygons.items()
            if _measure_signed_area(self._corners, polygon) < LEAST_AREA
        }
        inner.sort(key=lambda edge: (not self._touches(edge, flat), -self._measure_edge(edge), edge))
        for edge in inner:
            self._try_merge(edge)
        return list(self.polygons.values())

    def _touches(self, edge: tuple[int, int], wanted: set[int]) -> bool:
        return self._owner[edge] in wanted or self._owner[edge[::-1]] in wanted

    def _measure_edge(self, edge: tuple[int, int]) -> float:
        return math.dist(self._corners[edge[0]], self._corners[edge[1]])

    def _try_merge(self, edge: tuple[int, int]) -> None:
        first, second = self._owner[edge], self._owner[edge[::-1]]
        if first == second:
            return
        one, other = _start_at(self.polygons[first], edge[1]), _start_at(self.polygons[second], edge[0])
        joined = one + other[1:-1]
        if len(joined) > MOST_CORNERS or len(set(joined)) < len(joined) or not self._is_convex(joined):
            return
        self.polygons[first] = joined
        del self.polygons[second], self._owner[edge], self._owner[edge[::-1]]
        for side in _list_edges(joined):
            self._owner[side] = first

    def _is_convex(self, polygon: Corners) -> bool:
        places = [(float(self._corners[k, 0]), float(self._corners[k, 2])) for k in polygon]
        return all(
            (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]) >= -1e-12
            for a, b, c in zip(places, [*places[1:], *places[:1]], [*places[2:], *places[:2]], strict=True)
        )


def _merge_triangles(corners: NDArray[np.float64], triangles: list[Corners]) -> list[Corners]:
    return _Merger(corners, triangles).merge_all()


def _list_edges(polygon: Corners) -> list[tuple[int, int]]:
    return list(zip(polygon, (*polygon[1:], polygon[0]), strict=True))


def _start_at(polygon: Corners, corner: int) -> Corners:
    at = polygon.index(corner)
    return polygon[at:] + polygon[:at]


def _number_polygons(mesh: NavigationMesh, corners: NDArray[np.float64], polygons: list[Corners]) -> PolygonMesh:
    used = sorted({corner for polygon in polygons for corner in polygon})
    number = {corner: k for k, corner in enumerate(used)}
    renamed = tuple(tuple(number[corner] for corner in polygon) for polygon in polygons)
    owner = {edge: index for index, polygon in enumerate(renamed) for edge in _list_edges(polygon)}
    beyond = tuple(tuple(owner.get((b, a), NO_POLYGON) for a, b in _list_edges(polygon)) for polygon in renamed)
    vertices = corners[used]
    return PolygonMesh(vertices, renamed, beyond, _find_islands(mesh, vertices, renamed, beyond))


def _find_islands(
    mesh: NavigationMesh, vertices: NDArray[np.float64], polygons: tuple[Corners, ...], beyond: tuple[Corners, ...]
) -> NDArray[np.int64]:
    """The island of each polygon: that of the middle of the largest polygon which it is connected with."""
    islands = np.full(len(polygons), -1, dtype=np.int64)
    areas = [_measure_signed_area(vertices, polygon) for polygon in polygons]
    for seed in sorted(range(len(polygons)), key=lambda index: -areas[index]):
        if islands[seed] >= 0:
            continue
        x, y, z = vertices[list(polygons[seed])].mean(axis=0).tolist()
        index = mesh.island((x, y, z))
        if index is None:
            continue
        stack = [seed]
        while stack:
            polygon = stack.pop()
            islands[polygon] = index
            stack += [other for other in beyond[polygon] if other != NO_POLYGON and islands[other] < 0]
    return islands
