"""The shape of a navigation mesh, for those who draw it, measure it, or ask for the nearest wall."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.polygons.border import BorderIndex, index_border
from nav_eval.scene.navigation.polygons.convex_parts import PolygonMesh, make_polygon_mesh

Soup = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Vertices, and three indices per triangle."""


class MeshOutline:
    def __init__(self, mesh: NavigationMesh) -> None:
        self._mesh = mesh
        self._radii: dict[int, float] = {}

    @cached_property
    def polygons(self) -> PolygonMesh:
        return make_polygon_mesh(self._mesh)

    @cached_property
    def border(self) -> BorderIndex:
        return index_border(self._mesh.surface)

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        lower, upper = self.polygons.bounds
        return np.array(lower), np.array(upper)

    def get_soup(self, island: int = -1) -> Soup:
        """The triangles of one island, or of all, island by island: each has three vertices of its own."""
        wanted = sorted(set(self.polygons.islands.tolist())) if island < 0 else [island]
        fans = [fan for part in wanted for fan in self._list_fans(part)]
        corners = np.array(fans, dtype=np.int64).reshape(-1)
        return self.polygons.vertices[corners], np.arange(len(corners))

    def _list_fans(self, island: int) -> list[tuple[int, int, int]]:
        shapes = [
            corners
            for owner, corners in zip(self.polygons.islands, self.polygons.polygons, strict=True)
            if owner == island
        ]
        return [(corners[0], corners[k + 1], corners[k]) for corners in shapes for k in range(1, len(corners) - 1)]

    def measure_radius(self, island: int) -> float:
        if island not in self._radii:
            self._radii[island] = self.polygons.measure_radius(island)
        return self._radii[island]
