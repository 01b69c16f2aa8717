"""The navigable surface: where the centre of an agent may be, as data that every query shares.

Nodes sit on a square lattice, several above each other where floors are. A node knows its height and
its margin: metres to spare between the body and the nearest obstacle, negative where the body does not
fit. Four linked nodes span a quad; its diagonal from the first to the far corner cuts it into two
triangles on which height and margin are linear. The navigable region is where the margin is ≥ 0.

Lattice coordinates (u, v) are (x, z) in units of the spacing, shifted so that nodes are at integers.

The nearest place is searched in rings of columns until no farther ring can win. Things stand on the floor
below them, so a floor above the point counts as three times as far: a ceiling lamp belongs to its room,
not to the storey above. Random places are uniform by area: quads of an island are drawn uniformly and a place within
is kept if it is in the region, which makes the border exact without measuring it. Only `random()` of the generator
is used, whose stream is stable.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_inline, compile_kernel
from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.spans import EAST, SOUTH
from nav_eval.scene.navigation.tiles import Tiling, get_column

ABSENT, PARTIAL, FULL = 0, 1, 2  #: quads: outside; the region's border runs through it; inside

#: margins this far below zero still count as inside: rounding, never a visible distance
INSIDE = -1e-6

#: places this near to a quad's western or northern edge may belong to the neighbour, in quads
EDGE = 1e-9


class Surface(NamedTuple):
    """Flat read-only arrays over nodes, sorted by column and height."""

    tiling: Tiling
    first: NDArray[np.int32]  #: column → its first node; one more entry than columns
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    height: NDArray[np.float32]
    margin: NDArray[np.float32]
    links: NDArray[np.int32]  #: node → its neighbours east, south, west and north; −1 for none
    quads: NDArray[np.uint8]
    """ABSENT, PARTIAL or FULL: the quad of which the node is the corner with the least u and v."""
    island: NDArray[np.int32]  #: connected part of the region; −1 outside of it


#: a quantity at the corners of a quad: first, east, south, far
Corners = tuple[float, float, float, float]


@compile_inline
def get_corners(values: NDArray[np.float32], links: NDArray[np.int32], quad: int) -> Corners:
    """A node quantity at the four corners of a quad."""
    east = links[quad, EAST]
    return (
        float(values[quad]),
        float(values[east]),
        float(values[links[quad, SOUTH]]),
        float(values[links[east, SOUTH]]),
    )


@compile_inline
def blend(values: Corners, a: float, b: float) -> float:
    """A quantity at the place (a, b) of a quad, 0 ≤ a, b ≤ 1."""
    first, east, south, far = values
    if a >= b:
        return first + a * (east - first) + b * (far - east)
    return first + b * (south - first) + a * (far - south)


@compile_inline
def compute_slope(values: Corners, lower: bool) -> tuple[float, float]:
    """How a quantity grows along (u, v) on the triangle with a ≥ b (`lower`) or the other one."""
    first, east, south, far = values
    if lower:
        return east - first, far - east
    return far - south, south - first


@compile_inline
def to_lattice(surface: Surface, x: float, z: float) -> tuple[float, float]:
    return x / surface.tiling.spacing - 0.5, z / surface.tiling.spacing - 0.5


@compile_inline
def to_world(surface: Surface, u: float, v: float) -> tuple[float, float]:
    return (u + 0.5) * surface.tiling.spacing, (v + 0.5) * surface.tiling.spacing


@compile_inline
def _locate_in_column(surface: Surface, column: int, place: tuple[float, float], y: float) -> int:
    """The quad of a column that is in the region at (a, b) and nearest to y; −1 for none."""
    links, quads, margin, height = surface.links, surface.quads, surface.margin, surface.height
    best, nearest = -1, math.inf
    for quad in range(surface.first[column], surface.first[column + 1]):
        if quads[quad] == ABSENT:
            continue
        if quads[quad] == PARTIAL and blend(get_corners(margin, links, quad), place[0], place[1]) < INSIDE:
            continue
        off = abs(blend(get_corners(height, links, quad), place[0], place[1]) - y)
        if off < nearest:
            best, nearest = quad, off
    return best


@compile_inline
def locate(surface: Surface, u: float, v: float, y: float) -> int:
    """The quad of the region at (u, v) whose height is nearest to y; −1 where the region has no such place.

    Quads are closed: a place on the edge of the last quad belongs to it.
    """
    if not (abs(u) < 1e9 and abs(v) < 1e9):
        return -1
    i, j = math.floor(u), math.floor(v)
    a, b = u - i, v - j
    for attempt in range(4):
        west, north = attempt % 2, attempt // 2
        if (west == 1 and a > EDGE) or (north == 1 and b > EDGE):
            continue
        column = get_column(surface.tiling, i - west, j - north)
        if column >= 0:
            quad = _locate_in_column(surface, column, (a + west, b + north), y)
            if quad >= 0:
                return quad
    return -1


@compile_inline
def get_height(surface: Surface, quad: int, u: float, v: float) -> float:
    return blend(get_corners(surface.height, surface.links, quad), u - surface.i[quad], v - surface.j[quad])


@compile_kernel
def get_island(surface: Surface, quad: int, u: float, v: float) -> int:
    """The island of a place in the region: that of any inside corner of its triangle."""
    a, b = u - surface.i[quad], v - surface.j[quad]
    if surface.margin[quad] >= 0.0:
        return int(surface.island[quad])
    beside = surface.links[quad, EAST if a >= b else SOUTH]
    if surface.margin[beside] >= 0.0:
        return int(surface.island[beside])
    return int(surface.island[surface.links[surface.links[quad, EAST], SOUTH]])


ABOVE = 3.0

#: corners (a, b) of a quad's two triangles
_TRIANGLES = np.array([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])


@compile_kernel
def _find_nearest_on_segment(
    place: tuple[float, float], start: tuple[float, float], end: tuple[float, float]
) -> tuple[float, float]:
    along = (end[0] - start[0], end[1] - start[1])
    length = along[0] * along[0] + along[1] * along[1]
    if length == 0.0:
        return start
    part = ((place[0] - start[0]) * along[0] + (place[1] - start[1]) * along[1]) / length
    part = min(1.0, max(0.0, part))
    return start[0] + part * along[0], start[1] + part * along[1]


@compile_kernel
def _clip_to_inside(surface: Surface, quad: int, lower: int, corners: NDArray[np.float64]) -> int:
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


@compile_kernel
def _find_nearest_in_polygon(a: float, b: float, corners: NDArray[np.float64], count: int) -> tuple[float, float]:
    best_a, best_b, nearest = corners[0, 0], corners[0, 1], math.inf
    inside = count > 2
    for k in range(count):
        following = (k + 1) % count
        start, end = (corners[k, 0], corners[k, 1]), (corners[following, 0], corners[following, 1])
        if (end[0] - start[0]) * (b - start[1]) - (end[1] - start[1]) * (a - start[0]) < 0.0:
            inside = False
        on_a, on_b = _find_nearest_on_segment((a, b), start, end)
        off = (on_a - a) * (on_a - a) + (on_b - b) * (on_b - b)
        if off < nearest:
            best_a, best_b, nearest = on_a, on_b, off
    if inside:
        return a, b
    return best_a, best_b


@compile_kernel
def _find_nearest_in_quad(
    surface: Surface, quad: int, u: float, v: float, corners: NDArray[np.float64]
) -> tuple[float, float]:
    """The place of the region within a quad that is nearest to (u, v) seen from above."""
    a, b = u - surface.i[quad], v - surface.j[quad]
    if surface.quads[quad] == FULL:
        return surface.i[quad] + min(1.0, max(0.0, a)), surface.j[quad] + min(1.0, max(0.0, b))
    best_a, best_b, nearest = 0.0, 0.0, math.inf
    for lower in range(2):
        count = _clip_to_inside(surface, quad, lower, corners)
        if count == 0:
            continue
        on_a, on_b = _find_nearest_in_polygon(a, b, corners, count)
        off = (on_a - a) * (on_a - a) + (on_b - b) * (on_b - b)
        if off < nearest:
            best_a, best_b, nearest = on_a, on_b, off
    return surface.i[quad] + best_a, surface.j[quad] + best_b


@compile_kernel
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
        on_u, on_v = _find_nearest_in_quad(surface, quad, u, v, corners)
        rise = get_height(surface, quad, on_u, on_v) - y
        rise = rise * ABOVE if rise > 0.0 else rise
        flat = ((on_u - u) * (on_u - u) + (on_v - v) * (on_v - v)) * surface.tiling.spacing * surface.tiling.spacing
        distance = math.sqrt(flat + rise * rise)
        if distance < best[0]:
            best = (distance, quad, on_u, on_v)
    return best


@compile_kernel
def find_nearest(
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
                column = get_column(surface.tiling, i + across, j + down)
                if column >= 0:
                    best = _search_column(surface, (u, v, point[1]), column, best, corners)
    if best[1] < 0:
        return False, 0.0, 0.0, 0.0
    x, z = to_world(surface, best[2], best[3])
    return True, x, get_height(surface, best[1], best[2], best[3]), z


@compile_kernel
def _search_column_in_box(
    surface: Surface,
    place: tuple[float, float, float],
    column: int,
    wanted: tuple[float, float, float, int],
    best: tuple[float, int, float, float],
    corners: NDArray[np.float64],
) -> tuple[float, int, float, float]:
    """Improve (distance, quad, u, v) with the quads of one column; `wanted` is sideways, upright, climb, island."""
    (u, v, y), spacing = place, surface.tiling.spacing
    for quad in range(surface.first[column], surface.first[column + 1]):
        if surface.quads[quad] == ABSENT:
            continue
        on_u, on_v = _find_nearest_in_quad(surface, quad, u, v, corners)
        off_u, off_v = abs(on_u - u) * spacing, abs(on_v - v) * spacing
        rise = abs(get_height(surface, quad, on_u, on_v) - y)
        if max(off_u, off_v) > wanted[0] or rise > wanted[1]:
            continue
        if off_u == 0.0 and off_v == 0.0:
            rise = max(0.0, rise - wanted[2])
        distance = math.sqrt(off_u * off_u + off_v * off_v + rise * rise)
        if distance < best[0] and (wanted[3] < 0 or get_island(surface, quad, on_u, on_v) == wanted[3]):
            best = (distance, quad, on_u, on_v)
    return best


@compile_kernel
def find_nearest_in_box(
    surface: Surface, point: tuple[float, float, float], box: tuple[float, float], climb: float, island: int
) -> tuple[bool, float, float, float]:
    """(found, x, y, z): the nearest place within box[0] metres along x and z and box[1] along y, as Detour chooses.

    Straight above or below the region, the first `climb` metres of height count nothing. A negative island is any.
    """
    u, v = to_lattice(surface, point[0], point[2])
    if not (abs(u) < 1e9 and abs(v) < 1e9 and abs(point[1]) < 1e9):
        return False, 0.0, 0.0, 0.0
    corners, spacing = np.empty((4, 2)), surface.tiling.spacing
    i, j = math.floor(u), math.floor(v)
    best, wanted = (math.inf, -1, 0.0, 0.0), (box[0], box[1], climb, island)
    for ring in range(math.ceil(box[0] / spacing) + 2):
        if best[0] < (ring - 1) * spacing:
            break
        for across in range(-ring, ring + 1):
            edge = abs(across) == ring
            for down in range(-ring, ring + 1, 1 if edge else max(1, 2 * ring)):
                column = get_column(surface.tiling, i + across, j + down)
                if column >= 0:
                    best = _search_column_in_box(surface, (u, v, point[1]), column, wanted, best, corners)
    if best[1] < 0:
        return False, 0.0, 0.0, 0.0
    x, z = to_world(surface, best[2], best[3])
    if best[2] == u and best[3] == v:  # where it was, to the bit
        x, z = point[0], point[2]
    return True, x, get_height(surface, best[1], best[2], best[3]), z


MAX_DRAWS = 10_000
ANY_ISLAND = -1


def draw_point(
    surface: Surface, quads: NDArray[np.int64], rng: np.random.Generator, island: int, *, tries: int = MAX_DRAWS
) -> Vec3:
    """A place of the island, whose quads are given; of any island if it is ANY_ISLAND."""
    for _ in range(tries):
        quad = int(quads[int(rng.random() * len(quads))])
        a, b = float(rng.random()), float(rng.random())
        if blend(get_corners(surface.margin, surface.links, quad), a, b) < INSIDE:
            continue
        u, v = float(surface.i[quad]) + a, float(surface.j[quad]) + b
        if island == ANY_ISLAND or get_island(surface, quad, u, v) == island:
            x, z = to_world(surface, u, v)
            return (x, get_height(surface, quad, u, v), z)
    raise NavigationMeshError(f"Island {island} is too small to draw a point from; ask for another one.")


def find_quads_near(surface: Surface, quads: NDArray[np.int64], centre: Vec3, radius: float) -> NDArray[np.int64]:
    """Those of some quads that may have a place within a radius."""
    spacing, reach = surface.tiling.spacing, radius + surface.tiling.spacing
    off_x = (surface.i[quads] + 1.0) * spacing - centre[0]
    off_z = (surface.j[quads] + 1.0) * spacing - centre[2]
    return quads[(abs(off_x) <= reach) & (abs(off_z) <= reach) & (off_x * off_x + off_z * off_z <= 2.0 * reach * reach)]


def find_quads(surface: Surface, island: int) -> NDArray[np.int64]:
    """Quads with a corner on the island; all there are if it is ANY_ISLAND."""
    present = np.flatnonzero(surface.quads != ABSENT)
    if island == ANY_ISLAND:
        return present
    east, south = surface.links[present, EAST], surface.links[present, SOUTH]
    corners_of_quads = np.stack([present, east, south, surface.links[east, SOUTH]])
    on_island: NDArray[np.bool_] = (surface.island[corners_of_quads] == island).any(axis=0)
    return present[on_island]
