"""Large scenes in small steps: what is computed per triangle is computed block by block, to the same bits."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 16
"""Triangles or vertices that are computed with at a time: what is needed for it in between is as small as this."""


def iterate_blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, BLOCK):
        yield slice(start, min(start + BLOCK, count))


def compute_cross_products(points: NDArray[Any], triangles: NDArray[Any]) -> NDArray[np.float64]:
    """Out of the plane of every triangle, twice as long as its area."""
    corners = points[triangles].astype(np.float64)
    across: NDArray[np.float64] = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return across


def compute_unit_normals(points: NDArray[Any], triangles: NDArray[Any]) -> NDArray[np.float64]:
    """Of triangles that have an area."""
    normals = np.empty((len(triangles), 3))
    for block in iterate_blocks(len(triangles)):
        across = compute_cross_products(points, triangles[block])
        normals[block] = across / np.linalg.norm(across, axis=1, keepdims=True)
    return normals


def compute_areas(points: NDArray[Any], triangles: NDArray[Any]) -> NDArray[np.float64]:
    areas = np.empty(len(triangles))
    for block in iterate_blocks(len(triangles)):
        areas[block] = 0.5 * np.linalg.norm(compute_cross_products(points, triangles[block]), axis=1)
    return areas
