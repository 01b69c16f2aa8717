"""The navigable surface: where the centre of an agent may be, as data that every query shares.

Nodes sit on a square lattice, several above each other where floors are. A node knows its height and
its margin: metres to spare between the body and the nearest obstacle, negative where the body does not
fit. Four linked nodes span a quad; its diagonal from the first to the far corner cuts it into two
triangles on which height and margin are linear. The navigable region is where the margin is ≥ 0.

Lattice coordinates (u, v) are (x, z) in units of the spacing, shifted so that nodes are at integers.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.kernels import inlined, kernel
from nav_eval.scene.navigation.spans import EAST, SOUTH
from nav_eval.scene.navigation.tiles import Tiling, column_of

ABSENT, PARTIAL, FULL = 0, 1, 2  #: quads: outside; the region's border runs through it; inside

#: margins this far below zero still count as inside: rounding, never a visible distance
INSIDE = -1e-6

#: places this near to a quad's western or northern edge may belong to the neighbour, in quads
EDGE = 1e-9


class Surface(NamedTuple):
    """Flat read-only arrays over nodes, sorted by column and height."""

    tiling: Tiling
    first: NDArray[np.int32]
    """Column → its first node; one more entry than columns."""
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    height: NDArray[np.float32]
    margin: NDArray[np.float32]
    links: NDArray[np.int32]
    """Node → its neighbours east, south, west and north; −1 for none."""
    quads: NDArray[np.uint8]
    """ABSENT, PARTIAL or FULL: the quad of which the node is the corner with the least u and v."""
    island: NDArray[np.int32]
    """Connected part of the region; −1 outside of it."""


#: a quantity at the corners of a quad: first, east, south, far
Corners = tuple[float, float, float, float]


@inlined
def corners(values: NDArray[np.float32], links: NDArray[np.int32], quad: int) -> Corners:
    """A node quantity at the four corners of a quad."""
    east = links[quad, EAST]
    return (
        float(values[quad]),
        float(values[east]),
        float(values[links[quad, SOUTH]]),
        float(values[links[east, SOUTH]]),
    )


@inlined
def blend(values: Corners, a: float, b: float) -> float:
    """A quantity at the place (a, b) of a quad, 0 ≤ a, b ≤ 1."""
    first, east, south, far = values
    if a >= b:
        return first + a * (east - first) + b * (far - east)
    return first + b * (south - first) + a * (far - south)


@inlined
def slope(values: Corners, lower: bool) -> tuple[float, float]:
    """How a quantity grows along (u, v) on the triangle with a ≥ b (`lower`) or the other one."""
    first, east, south, far = values
    if lower:
        return east - first, far - east
    return far - south, south - first


@inlined
def to_lattice(surface: Surface, x: float, z: float) -> tuple[float, float]:
    return x / surface.tiling.spacing - 0.5, z / surface.tiling.spacing - 0.5


@inlined
def to_world(surface: Surface, u: float, v: float) -> tuple[float, float]:
    return (u + 0.5) * surface.tiling.spacing, (v + 0.5) * surface.tiling.spacing


@inlined
def _locate_in_column(surface: Surface, column: int, place: tuple[float, float], y: float) -> int:
    """The quad of a column that is in the region at (a, b) and nearest to y; −1 for none."""
    links, quads, margin, height = surface.links, surface.quads, surface.margin, surface.height
    best, nearest = -1, math.inf
    for quad in range(surface.first[column], surface.first[column + 1]):
        if quads[quad] == ABSENT:
            continue
        if quads[quad] == PARTIAL and blend(corners(margin, links, quad), place[0], place[1]) < INSIDE:
            continue
        off = abs(blend(corners(height, links, quad), place[0], place[1]) - y)
        if off < nearest:
            best, nearest = quad, off
    return best


@inlined
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
        column = column_of(surface.tiling, i - west, j - north)
        if column >= 0:
            quad = _locate_in_column(surface, column, (a + west, b + north), y)
            if quad >= 0:
                return quad
    return -1


@inlined
def height_at(surface: Surface, quad: int, u: float, v: float) -> float:
    return blend(corners(surface.height, surface.links, quad), u - surface.i[quad], v - surface.j[quad])


@kernel
def island_at(surface: Surface, quad: int, u: float, v: float) -> int:
    """The island of a place in the region: that of any inside corner of its triangle."""
    a, b = u - surface.i[quad], v - surface.j[quad]
    if surface.margin[quad] >= 0.0:
        return int(surface.island[quad])
    beside = surface.links[quad, EAST if a >= b else SOUTH]
    if surface.margin[beside] >= 0.0:
        return int(surface.island[beside])
    return int(surface.island[surface.links[surface.links[quad, EAST], SOUTH]])
