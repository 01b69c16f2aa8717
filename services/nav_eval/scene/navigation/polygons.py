"""Cutting convex polygons with planes: the arithmetic under rasterisation and obstacle outlines.

Polygons are rows (x, y, z) of a preallocated float64 array, and a count.
"""

import math

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.kernels import kernel

Polygon = NDArray[np.float64]

MAX_CORNERS = 32


@kernel
def copy(source: Polygon, count: int, target: Polygon) -> None:
    """Corner by corner: whole-array expressions take seconds to compile."""
    for k in range(count):
        target[k, 0], target[k, 1], target[k, 2] = source[k, 0], source[k, 1], source[k, 2]


@kernel
def cut(source: Polygon, count: int, target: Polygon, axis: int, bound: float, sign: float) -> int:
    """Keep the part where sign · (coordinate − bound) ≥ 0; returns the corners written to target."""
    kept = 0
    for k in range(count):
        following = k + 1 if k + 1 < count else 0
        here = sign * (source[k, axis] - bound)
        there = sign * (source[following, axis] - bound)
        if here >= 0.0:
            for c in range(3):
                target[kept, c] = source[k, c]
            kept += 1
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            part = here / (here - there)
            for c in range(3):
                target[kept, c] = source[k, c] + part * (source[following, c] - source[k, c])
            target[kept, axis] = bound
            kept += 1
    return kept


@kernel
def cut_to_slab(polygon: Polygon, count: int, spare: Polygon, axis: int, lower: float, upper: float) -> int:
    """Keep the part between two planes, in place."""
    count = cut(polygon, count, spare, axis, lower, 1.0)
    return cut(spare, count, polygon, axis, upper, -1.0)


@kernel
def range_of(polygon: Polygon, count: int, axis: int) -> tuple[float, float]:
    lower, upper = math.inf, -math.inf
    for k in range(count):
        lower = min(lower, polygon[k, axis])
        upper = max(upper, polygon[k, axis])
    return lower, upper


@kernel
def cells_of(lower: float, upper: float) -> tuple[int, int]:
    """First and last unit cell that an interval reaches; touching the next cell's border is not reaching."""
    first = math.floor(lower)
    return first, max(first, math.ceil(upper) - 1)


@kernel
def distance_to_polygon(u: float, v: float, corners: Polygon, first: int, last: int) -> float:
    """From a point to a convex polygon (corners[first:last] as u, v, counter-clockwise); 0 inside."""
    nearest = math.inf
    outside = last - first < 3
    for k in range(first, last):
        following = k + 1 if k + 1 < last else first
        along_u, along_v = corners[following, 0] - corners[k, 0], corners[following, 1] - corners[k, 1]
        to_u, to_v = u - corners[k, 0], v - corners[k, 1]
        if along_u * to_v - along_v * to_u < 0.0:
            outside = True
        length = along_u * along_u + along_v * along_v
        part = 0.0 if length == 0.0 else (along_u * to_u + along_v * to_v) / length
        part = min(1.0, max(0.0, part))
        off_u, off_v = to_u - part * along_u, to_v - part * along_v
        nearest = min(nearest, off_u * off_u + off_v * off_v)
    return math.sqrt(nearest) if outside else 0.0
