"""Distance fields: how far every place is from a set of goals.

Dijkstra's order over nodes, but a node may hang on any earlier node that it sees (Theta*): its parent is
a corner of the shortest path or the goal itself. Between nodes, a place uses the parents of the nodes
around it. Every distance is therefore the length of a path that can be walked: never through a wall,
never below the straight line, on average well within one percent of the shortest.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.heap import new_heap, pop, push
from nav_eval.scene.navigation.islands import joined
from nav_eval.scene.navigation.kernels import kernel
from nav_eval.scene.navigation.spans import EAST, NORTH, SOUTH, WEST
from nav_eval.scene.navigation.surface import ABSENT, FULL, Surface, height_at, locate, to_lattice
from nav_eval.scene.navigation.walking import march

SIDES = 8
NOWHERE = -1  #: parent of a node without a way

#: a line of sight leaves the floor by at most this much, so that hills are not cut through
CHORD_TOLERANCE = 0.25

Place = tuple[float, float, float]  #: (u, v, height)


class Field(NamedTuple):
    """Over the nodes of a surface, and the goals after them."""

    u: NDArray[np.float64]
    v: NDArray[np.float64]
    height: NDArray[np.float64]
    metres: NDArray[np.float64]
    """To the nearest goal; infinity without a way."""
    parent: NDArray[np.int32]
    """The next corner of the way, a node or a goal."""


@kernel
def find_neighbours(surface: Surface) -> NDArray[np.int32]:
    """Per node the nodes of the region on eight sides that can be reached straight, −1 for none."""
    around = np.full((len(surface.i), SIDES), -1, dtype=np.int32)
    links, margin, quads = surface.links, surface.margin, surface.quads
    for node in range(len(around)):
        if margin[node] < 0.0:
            continue
        for side in range(6):
            around[node, side] = joined(links, margin, quads, node, side)
        north, west = links[node, NORTH], links[node, WEST]
        if north >= 0 and quads[north] == FULL:
            around[node, 6] = links[north, EAST]
        if west >= 0 and quads[west] == FULL:
            around[node, 7] = links[west, SOUTH]
    return around


@kernel
def _apart(field: Field, spacing: float, first: int, second: int) -> float:
    """Metres between two nodes."""
    du, dv = (field.u[first] - field.u[second]) * spacing, (field.v[first] - field.v[second]) * spacing
    dy = field.height[first] - field.height[second]
    return math.sqrt(du * du + dv * dv + dy * dy)


@kernel
def _sees(surface: Surface, quad: int, start: Place, end: Place) -> bool:
    """Is the straight line between two places free, starting in this quad?"""
    along = (end[0] - start[0], end[1] - start[1])
    chord = (start[2], end[2] - start[2], CHORD_TOLERANCE)
    _, last, blocked, _, _ = march(surface, quad, (start[0], start[1]), along, chord)
    return not blocked and abs(surface.height[last] - end[2]) <= 2.0 * CHORD_TOLERANCE


@kernel
def _node_sees(surface: Surface, field: Field, node: int, other: int) -> bool:
    """The same from a node; along a lattice line the quads on either side will do."""
    start = (field.u[node], field.v[node], field.height[node])
    end = (field.u[other], field.v[other], field.height[other])
    du, dv = end[0] - start[0], end[1] - start[1]
    for attempt in range(2):
        quad = node
        if du < 0.0 or (du == 0.0 and attempt == 1):
            quad = surface.links[quad, WEST]
        if quad >= 0 and (dv < 0.0 or (dv == 0.0 and attempt == 1)):
            quad = surface.links[quad, NORTH]
        if quad >= 0 and surface.quads[quad] != ABSENT and _sees(surface, quad, start, end):
            return True
        if du != 0.0 and dv != 0.0:
            return False
    return False


@kernel
def _corner(links: NDArray[np.int32], quad: int, corner: int) -> int:
    """One of the four nodes of a quad."""
    node = quad
    if corner % 2 == 1:
        node = links[node, EAST]
    if corner // 2 == 1:
        node = links[node, SOUTH]
    return int(node)


@kernel
def _best_parent(
    surface: Surface, field: Field, around: NDArray[np.int32], settled: NDArray[np.bool_], node: int
) -> tuple[float, int]:
    """The shortest way from a node over a settled neighbour or over what that neighbour hangs on."""
    spacing = surface.tiling.spacing
    best, parent = math.inf, NOWHERE
    for side in range(SIDES):
        other = around[node, side]
        if other >= 0 and settled[other]:
            metres = field.metres[other] + _apart(field, spacing, node, other)
            if metres < best:
                best, parent = metres, int(other)
    refused = NOWHERE
    for side in range(SIDES):
        other = around[node, side]
        if other < 0 or not settled[other] or field.parent[other] == refused:
            continue
        corner = int(field.parent[other])
        metres = field.metres[corner] + _apart(field, spacing, node, corner)
        if metres < best:
            if _node_sees(surface, field, node, corner):
                best, parent = metres, corner
            else:
                refused = corner
    return best, parent


@kernel
def _empty_field(surface: Surface, goals: NDArray[np.float64]) -> Field:
    """Coordinates of the nodes and the goals, distances not known yet."""
    nodes, total = len(surface.i), len(surface.i) + len(goals)
    field = Field(
        np.empty(total),
        np.empty(total),
        np.empty(total),
        np.full(total, math.inf),
        np.full(total, NOWHERE, dtype=np.int32),
    )
    for node in range(nodes):
        field.u[node], field.v[node], field.height[node] = surface.i[node], surface.j[node], surface.height[node]
    for goal in range(len(goals)):
        field.u[nodes + goal], field.v[nodes + goal] = goals[goal, 0], goals[goal, 1]
        field.height[nodes + goal], field.metres[nodes + goal] = goals[goal, 2], 0.0
    return field


@kernel
def spread(
    surface: Surface, around: NDArray[np.int32], goals: NDArray[np.float64], goal_quads: NDArray[np.int32]
) -> Field:
    """The field of a set of goals, given as rows (u, v, height) and the quads that they are in."""
    nodes, spacing = len(surface.i), surface.tiling.spacing
    field = _empty_field(surface, goals)
    metres, parent = field.metres, field.parent
    heap, count = new_heap(nodes), 0
    settled, checked = np.zeros(nodes, dtype=np.bool_), np.zeros(nodes, dtype=np.bool_)
    for goal in range(len(goals)):
        for corner in range(4):
            node = _corner(surface.links, goal_quads[goal], corner)
            found = _apart(field, spacing, node, nodes + goal)
            if surface.margin[node] >= 0.0 and found < metres[node] and _node_sees(surface, field, node, nodes + goal):
                metres[node], parent[node], checked[node] = found, nodes + goal, True
                count = push(heap, count, metres, node)
    while count > 0:
        node = pop(heap, count, metres)
        count -= 1
        if not checked[node]:  # its parent was only assumed to be in sight
            checked[node] = True
            if not _node_sees(surface, field, node, parent[node]):
                metres[node], parent[node] = _best_parent(surface, field, around, settled, node)
                count = push(heap, count, metres, node)
                continue
        settled[node] = True
        corner = int(parent[node])
        for side in range(SIDES):
            other = around[node, side]
            if other < 0 or settled[other]:
                continue
            found = metres[corner] + _apart(field, spacing, other, corner)
            if found < metres[other]:
                metres[other], parent[other], checked[other] = found, corner, False
                count = push(heap, count, metres, other)
    return field


@kernel
def _from_place(surface: Surface, field: Field, here: Place, other: int) -> float:
    """Metres from a place over a node or goal."""
    du = (here[0] - field.u[other]) * surface.tiling.spacing
    dv = (here[1] - field.v[other]) * surface.tiling.spacing
    dy = here[2] - field.height[other]
    return float(field.metres[other]) + math.sqrt(du * du + dv * dv + dy * dy)


@kernel
def distance_from(surface: Surface, field: Field, x: float, y: float, z: float) -> tuple[bool, float, int]:
    """(is on the surface, metres to the nearest goal, first corner of the way)."""
    u, v = to_lattice(surface, x, z)
    quad = locate(surface, u, v, y)
    if quad < 0:
        return False, math.inf, NOWHERE
    here = (u, v, height_at(surface, quad, u, v))
    best, parent, refused = math.inf, NOWHERE, NOWHERE
    for corner in range(8):  # first over the parents of the quad's nodes, then over these nodes themselves
        node = _corner(surface.links, quad, corner % 4)
        ahead = int(field.parent[node]) if corner < 4 else node
        if surface.margin[node] < 0.0 or field.parent[node] == NOWHERE or ahead == refused:
            continue
        metres = _from_place(surface, field, here, ahead)
        if metres < best:
            if _sees(surface, quad, here, (field.u[ahead], field.v[ahead], field.height[ahead])):
                best, parent = metres, ahead
            else:
                refused = ahead
    return True, best, parent
