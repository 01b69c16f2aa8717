"""A navigation mesh as triangles and border lines: for those who draw it, measure it, or ask for the nearest wall.

The region of a mesh is where the margin, linear on every triangle of the lattice, is not negative. So each triangle is
whole, cut once, or absent, and the border is made of the cuts.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.spans import EAST, SOUTH
from nav_eval.scene.navigation.surface import ABSENT, Surface

Points = NDArray[np.float64]


class Obstacle(NamedTuple):
    """The nearest border."""

    distance: float
    position: Vec3
    normal: Vec3  #: horizontal, from the border to who asked


class MeshOutline:
    """The geometry of one mesh, made when it is first asked for."""

    def __init__(self, mesh: NavigationMesh) -> None:
        self._mesh = mesh

    @cached_property
    def _parts(self) -> tuple[Points, NDArray[np.int32], Points]:
        return _cut_region(self._mesh.surface)

    @property
    def triangles(self) -> Points:
        """T × 3 × 3."""
        return self._parts[0]

    @property
    def islands(self) -> NDArray[np.int32]:
        """Of each triangle."""
        return self._parts[1]

    @property
    def borders(self) -> Points:
        """B × 2 × 3."""
        return self._parts[2]

    @cached_property
    def bounds(self) -> tuple[Points, Points]:
        corners = self.triangles.reshape(-1, 3)
        return corners.min(axis=0), corners.max(axis=0)

    def get_soup(self, island: int = -1) -> tuple[Points, NDArray[np.int64]]:
        """Vertices, each once, and three indices per triangle; of one island or of all, island by island."""
        wanted = sorted(set(self.islands.tolist())) if island < 0 else [island]
        vertices: list[Points] = []
        indices: list[NDArray[np.int64]] = []
        first = 0
        for part in wanted:
            corners = self.triangles[self.islands == part].reshape(-1, 3)
            unique, inverse = np.unique(corners.round(6), axis=0, return_inverse=True)
            vertices.append(unique)
            indices.append(inverse.reshape(-1) + first)
            first += len(unique)
        return np.concatenate(vertices or [np.zeros((0, 3))]), np.concatenate(indices or [np.zeros(0, np.int64)])

    @cached_property
    def island_radii(self) -> dict[int, float]:
        """The largest distance of a vertex of the island from the mean of its vertices."""
        return {int(island): _compute_radius(self.get_soup(int(island))[0]) for island in np.unique(self.islands)}

    def find_obstacle(self, point: Vec3, reach: float) -> Obstacle | None:
        """The nearest border within reach, seen from a point on the mesh."""
        distance, x, y, z = _find_nearest_border(self.borders, point, self._mesh.shape.height / 2, reach)
        if math.isinf(distance):
            return None
        away = (point[0] - x, 0.0, point[2] - z)
        length = math.hypot(away[0], away[2]) or 1.0
        return Obstacle(distance, (x, y, z), (away[0] / length, 0.0, away[2] / length))


def _compute_radius(vertices: Points) -> float:
    return float(np.linalg.norm(vertices - vertices.mean(axis=0), axis=1).max())


def _cut_region(surface: Surface) -> tuple[Points, NDArray[np.int32], Points]:
    quads = np.flatnonzero(surface.quads != ABSENT)
    east, south = surface.links[quads, EAST], surface.links[quads, SOUTH]
    far = surface.links[east, SOUTH]
    nodes = np.concatenate([np.stack([quads, east, far], axis=1), np.stack([quads, far, south], axis=1)])
    spacing = surface.tiling.spacing
    places = np.stack(
        [
            (surface.i[nodes] + 0.5) * spacing,
            surface.height[nodes].astype(np.float64),
            (surface.j[nodes] + 0.5) * spacing,
        ],
        axis=2,
    )
    margins = surface.margin[nodes].astype(np.float64)
    return _cut_triangles(places, margins, surface.island[nodes])


def _cut_triangles(
    places: Points, margins: Points, islands: NDArray[np.int32]
) -> tuple[Points, NDArray[np.int32], Points]:
    """Keep what has a margin of at least 0."""
    inside = margins >= 0.0
    count = inside.sum(axis=1)
    triangles, owners, borders = [places[count == 3]], [islands[count == 3, 0]], [np.zeros((0, 2, 3))]
    for corner in range(3):
        second, third = (corner + 1) % 3, (corner + 2) % 3
        only = inside[:, corner]
        for lone, keeps in ((only & (count == 1), True), (~only & (count == 2), False)):
            apex, left, right = places[lone, corner], places[lone, second], places[lone, third]
            to_left = _cut(apex, left, margins[lone, corner], margins[lone, second])
            to_right = _cut(apex, right, margins[lone, corner], margins[lone, third])
            borders.append(np.stack([to_left, to_right], axis=1))
            if keeps:
                triangles.append(np.stack([apex, to_left, to_right], axis=1))
                owners.append(islands[lone, corner])
            else:
                triangles += [np.stack([to_left, left, right], axis=1), np.stack([to_left, right, to_right], axis=1)]
                owners += [islands[lone, second]] * 2
    return np.concatenate(triangles), np.concatenate(owners), np.concatenate(borders)


def _cut(start: Points, end: Points, here: Points, there: Points) -> Points:
    """Where the margin is 0 between two corners."""
    return start + (here / (here - there))[:, None] * (end - start)


@compile_kernel
def _find_nearest_border(
    borders: Points, point: tuple[float, float, float], storey: float, reach: float
) -> tuple[float, float, float, float]:
    """(distance, x, y, z) over all border lines of the same storey; infinity beyond the reach."""
    best, at_x, at_y, at_z = reach * reach, 0.0, 0.0, 0.0
    found = False
    for k in range(len(borders)):
        ax, ay, az = borders[k, 0, 0], borders[k, 0, 1], borders[k, 0, 2]
        if abs(ay - point[1]) > storey:
            continue
        bx, by, bz = borders[k, 1, 0] - ax, borders[k, 1, 1] - ay, borders[k, 1, 2] - az
        length = bx * bx + bz * bz
        part = 0.0 if length == 0.0 else ((point[0] - ax) * bx + (point[2] - az) * bz) / length
        part = min(1.0, max(0.0, part))
        x, z = ax + part * bx, az + part * bz
        square = (x - point[0]) * (x - point[0]) + (z - point[2]) * (z - point[2])
        if square < best:
            best, at_x, at_y, at_z, found = square, x, ay + part * by, z, True
    return (math.sqrt(best) if found else math.inf), at_x, at_y, at_z
