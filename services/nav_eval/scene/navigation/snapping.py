"""The nearest place on the surface.

Rings of columns around the point are searched until no farther ring can win. Things stand on the floor
below them, so a floor above the point counts as three times as far: a ceiling lamp belongs to its room,
not to the storey above.
"""

import math

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.kernels import kernel
from nav_eval.scene.navigation.spans import EAST, SOUTH
from nav_eval.scene.navigation.surface import FULL, PARTIAL, Surface, height_at, to_lattice, to_world
from nav_eval.scene.navigation.tiles import column_of

ABOVE = 3.0

#: corners (a, b) of a quad's two triangles
_TRIANGLES = np.array([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])


@kernel
def _nearest_on_segment(
    place: tuple[float, float], start: tuple[float, float], end: tuple[float, float]
) -> tuple[float, float]:
    along = (end[0] - start[0], end[1] - start[1])
    length = along[0] * along[0] + along[1] * along[1]
    if length == 0.0:
        return start
    part = ((place[0] - start[0]) * along[0] + (place[1] - start[1]) * along[1]) / length
    part = min(1.0, max(0.0, part))
    return start[0] + part * along[0], start[1] + part * along[1]


@kernel
def _inside_polygon(surface: Surface, quad: int, lower: int, corners: NDArray[np.float64]) -> int:
    """The part of a triangle of the quad with margin ≥ 0, as corners (a, b); returns how many."""
    nodes = np.empty(3, dtype=np.int32)
    nodes[0] = quad
    far = surface.links[surface.links[quad, EAST], SOUTH]
    nodes[1] = surface.links[quad, EAST] if lower == 0 else far
    nodes[2] = far if lower == 0 else surface.links[quad, SOUTH]
    count = 0
    for k in range(3):
        following = (k + 1) % 3
        here, there = float(surface.margin[nodes[k]]), float(surface.margin[nodes[following]])
        if here >= 0.0:
            corners[count, 0], corners[count, 1] = _TRIANGLES[lower, k, 0], _TRIANGLES[lower, k, 1]
            count += 1
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            part = here / (here - there)
            for c in range(2):
                along = _TRIANGLES[lower, following, c] - _TRIANGLES[lower, k, c]
                corners[count, c] = _TRIANGLES[lower, k, c] + part * along
            count += 1
    return count


@kernel
def _nearest_in_polygon(a: float, b: float, corners: NDArray[np.float64], count: int) -> tuple[float, float]:
    best_a, best_b, nearest = corners[0, 0], corners[0, 1], math.inf
    inside = count > 2
    for k in range(count):
        following = (k + 1) % count
        start, end = (corners[k, 0], corners[k, 1]), (corners[following, 0], corners[following, 1])
        if (end[0] - start[0]) * (b - start[1]) - (end[1] - start[1]) * (a - start[0]) < 0.0:
            inside = False
        on_a, on_b = _nearest_on_segment((a, b), start, end)
        off = (on_a - a) * (on_a - a) + (on_b - b) * (on_b - b)
        if off < nearest:
            best_a, best_b, nearest = on_a, on_b, off
    if inside:
        return a, b
    return best_a, best_b


@kernel
def _nearest_in_quad(
    surface: Surface, quad: int, u: float, v: float, corners: NDArray[np.float64]
) -> tuple[float, float]:
    """The place of the region within a quad that is nearest to (u, v) seen from above."""
    a, b = u - surface.i[quad], v - surface.j[quad]
    if surface.quads[quad] == FULL:
        return surface.i[quad] + min(1.0, max(0.0, a)), surface.j[quad] + min(1.0, max(0.0, b))
    best_a, best_b, nearest = 0.0, 0.0, math.inf
    for lower in range(2):
        count = _inside_polygon(surface, quad, lower, corners)
        if count == 0:
            continue
        on_a, on_b = _nearest_in_polygon(a, b, corners, count)
        off = (on_a - a) * (on_a - a) + (on_b - b) * (on_b - b)
        if off < nearest:
            best_a, best_b, nearest = on_a, on_b, off
    return surface.i[quad] + best_a, surface.j[quad] + best_b


@kernel
def _search_column(
    surface: Surface,
    place: tuple[float, float, float],
    column: int,
    best: tuple[float, int, float, float],
    corners: NDArray[np.float64],
) -> tuple[float, int, float, float]:
    """Improve (distance, quad, u, v) with the quads of one column."""
    u, v, y = place
    for quad in range(surface.first[column], surface.first[column + 1]):
        if surface.quads[quad] != FULL and surface.quads[quad] != PARTIAL:
            continue
        on_u, on_v = _nearest_in_quad(surface, quad, u, v, corners)
        rise = height_at(surface, quad, on_u, on_v) - y
        rise = rise * ABOVE if rise > 0.0 else rise
        flat = ((on_u - u) * (on_u - u) + (on_v - v) * (on_v - v)) * surface.tiling.spacing * surface.tiling.spacing
        distance = math.sqrt(flat + rise * rise)
        if distance < best[0]:
            best = (distance, quad, on_u, on_v)
    return best


@kernel
def nearest(
    surface: Surface, point: tuple[float, float, float], reach: float, farthest: float
) -> tuple[bool, float, float, float]:
    """(found, x, y, z): the nearest place within `reach` metres sideways and `farthest` in all."""
    u, v = to_lattice(surface, point[0], point[2])
    if not (abs(u) < 1e9 and abs(v) < 1e9 and abs(point[1]) < 1e9):
        return False, 0.0, 0.0, 0.0
    corners = np.empty((4, 2))
    i, j = math.floor(u), math.floor(v)
    best = (farthest, -1, 0.0, 0.0)
    for ring in range(math.ceil(reach / surface.tiling.spacing) + 1):
        if best[0] < (ring - 1) * surface.tiling.spacing:
            break
        for across in range(-ring, ring + 1):
            edge = abs(across) == ring
            for down in range(-ring, ring + 1, 1 if edge else max(1, 2 * ring)):
                column = column_of(surface.tiling, i + across, j + down)
                if column >= 0:
                    best = _search_column(surface, (u, v, point[1]), column, best, corners)
    if best[1] < 0:
        return False, 0.0, 0.0, 0.0
    x, z = to_world(surface, best[2], best[3])
    return True, x, height_at(surface, best[1], best[2], best[3]), z
