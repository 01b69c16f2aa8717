"""Distance fields: how far every place is from a set of goals.

Dijkstra's order over nodes, but a node may hang on any earlier node that it sees (Theta*): its parent is
a corner of the shortest path or the goal itself. Between nodes, a place uses the parents of the nodes
around it. Every distance is therefore the length of a path that can be walked: never through a wall,
never below the straight line, on average well within one percent of the shortest.

Lengths follow the grade: heights smoothed over a stride, so that a stair is as long as a ramp beside it.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.heap import new_heap, pop, push
from nav_eval.scene.navigation.islands import joined
from nav_eval.scene.navigation.kernels import kernel
from nav_eval.scene.navigation.spans import EAST, NORTH, SOUTH, WEST
from nav_eval.scene.navigation.surface import ABSENT, FULL, Surface, blend, corners, locate, to_lattice
from nav_eval.scene.navigation.walking import march

SIDES = 8
LAYER = 0.5  #: metres of height; a line that ends farther off has ended on another floor
NOWHERE = -1  #: parent of a node without a way

#: a line of sight leaves the grade by at most this much, so that hills are not cut through
CHORD_TOLERANCE = 0.06

STRIDE = 0.15  #: metres; standard deviation of the smoothing that turns stairs into grades

Place = tuple[float, float, float]  #: (u, v, grade)


class Field(NamedTuple):
    """Distances over the nodes of a surface, and the goals numbered after them."""

    metres: NDArray[np.float64]
    """To the nearest goal; infinity without a way, 0 for goals."""
    parent: NDArray[np.int32]
    """The next corner of the way, a node or a goal."""
    goals: NDArray[np.float64]
    """Per goal u, v, grade and height."""


class _Sites(NamedTuple):
    """Where the nodes and, after them, the goals are."""

    u: NDArray[np.float64]
    v: NDArray[np.float64]
    grade: NDArray[np.float64]


class Graph(NamedTuple):
    """What every field of a surface needs; made once."""

    around: NDArray[np.int32]
    """Node → the nodes of the region on eight sides that can be reached straight; −1 for none."""
    grade: NDArray[np.float32]
    """Node → its smoothed height."""


@kernel
def _find_neighbours(surface: Surface) -> NDArray[np.int32]:
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
def _smoothed(links: NDArray[np.int32], heights: NDArray[np.float32], rounds: int) -> NDArray[np.float32]:
    """Heights averaged with their neighbours, round by round; each round adds half a column to the variance."""
    before, after = heights.astype(np.float64), np.empty(len(heights))
    for _ in range(rounds):
        for node in range(len(links)):
            pull = 0.0
            for side in range(4):
                other = links[node, side]
                if other >= 0:
                    pull += before[other] - before[node]
            after[node] = before[node] + pull / 4.0
        before, after = after, before
    return before.astype(np.float32)


def make_graph(surface: Surface) -> Graph:
    rounds = max(1, round(2.0 * (STRIDE / surface.tiling.spacing) ** 2))
    return Graph(_find_neighbours(surface), _smoothed(surface.links, surface.height, rounds))


@kernel
def _apart(sites: _Sites, spacing: float, first: int, second: int) -> float:
    """Metres between two sites."""
    du, dv = (sites.u[first] - sites.u[second]) * spacing, (sites.v[first] - sites.v[second]) * spacing
    dy = sites.grade[first] - sites.grade[second]
    return math.sqrt(du * du + dv * dv + dy * dy)


@kernel
def _sees(surface: Surface, grade: NDArray[np.float32], quad: int, start: Place, end: Place) -> bool:
    """Is the straight line between two places free, starting in this quad?"""
    along = (end[0] - start[0], end[1] - start[1])
    chord = (start[2], end[2] - start[2], CHORD_TOLERANCE)
    _, last, blocked, _, _ = march(surface, grade, quad, (start[0], start[1]), along, chord)
    return not blocked and abs(grade[last] - end[2]) <= LAYER


@kernel
def _node_sees(surface: Surface, graph: Graph, sites: _Sites, node: int, other: int) -> bool:
    """The same from a node; along a lattice line the quads on either side will do."""
    start = (sites.u[node], sites.v[node], sites.grade[node])
    end = (sites.u[other], sites.v[other], sites.grade[other])
    du, dv = end[0] - start[0], end[1] - start[1]
    for attempt in range(2):
        quad = node
        if du < 0.0 or (du == 0.0 and attempt == 1):
            quad = surface.links[quad, WEST]
        if quad >= 0 and (dv < 0.0 or (dv == 0.0 and attempt == 1)):
            quad = surface.links[quad, NORTH]
        if quad >= 0 and surface.quads[quad] != ABSENT and _sees(surface, graph.grade, quad, start, end):
            return True
        if du != 0.0 and dv != 0.0:
            return False
    return False


@kernel
def _sag(sites: _Sites, node: int, beside: int, other: int) -> float:
    """How far the straight grade from a node to `other` is off the one from its neighbour, at most."""
    du, dv = sites.u[other] - sites.u[node], sites.v[other] - sites.v[node]
    near_u, near_v = sites.u[other] - sites.u[beside], sites.v[other] - sites.v[beside]
    part = math.sqrt((near_u * near_u + near_v * near_v) / max(du * du + dv * dv, 1e-300))
    rise, near_rise = sites.grade[node] - sites.grade[other], sites.grade[beside] - sites.grade[other]
    return float(abs(part * rise - near_rise))


@kernel
def _between_sightings(surface: Surface, field: Field, sites: _Sites, sags: NDArray[np.float32], node: int) -> bool:
    """Does the line to a node's parent pass between two neighbours that hang on the same parent?

    Then it is free: an obstacle between their two lines of sight would be narrower than a quad, but
    obstacles are grown by the body and at least twice as wide. How far the grade may have left the line
    is summed up in `sags`, which is −1 for nodes that are not settled; beyond a limit one has to look.
    """
    links, parent = surface.links, field.parent
    other = parent[node]
    du, dv = sites.u[other] - sites.u[node], sites.v[other] - sites.v[node]
    side_u, side_v = EAST if du > 0.0 else WEST, SOUTH if dv > 0.0 else NORTH
    quad = node
    if du < 0.0:
        quad = links[quad, WEST]
    if dv < 0.0 and quad >= 0:
        quad = links[quad, NORTH]
    if quad < 0 or surface.quads[quad] != FULL:
        return False
    beside = links[node, side_u if abs(du) >= abs(dv) else side_v]
    diagonal = links[beside, side_v if abs(du) >= abs(dv) else side_u]
    if du == 0.0 or dv == 0.0:
        diagonal = beside
    if min(sags[beside], sags[diagonal]) < 0.0 or parent[beside] != other or parent[diagonal] != other:
        return False
    sag = max(_sag(sites, node, beside, other), _sag(sites, node, diagonal, other))
    sags[node] = max(sags[beside], sags[diagonal]) + sag
    return bool(sags[node] <= CHORD_TOLERANCE / 2.0)


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
    surface: Surface, graph: Graph, field: Field, sites: _Sites, sags: NDArray[np.float32], node: int
) -> tuple[float, int]:
    """The shortest way from a node over a settled neighbour or over what that neighbour hangs on."""
    around, spacing = graph.around, surface.tiling.spacing
    best, parent = math.inf, NOWHERE
    for side in range(SIDES):
        other = around[node, side]
        if other >= 0 and sags[other] >= 0.0:
            metres = field.metres[other] + _apart(sites, spacing, node, other)
            if metres < best:
                best, parent = metres, int(other)
    refused = NOWHERE
    for side in range(SIDES):
        other = around[node, side]
        if other < 0 or sags[other] < 0.0 or field.parent[other] == refused:
            continue
        corner = int(field.parent[other])
        metres = field.metres[corner] + _apart(sites, spacing, node, corner)
        if metres < best:
            if _node_sees(surface, graph, sites, node, corner):
                best, parent = metres, corner
            else:
                refused = corner
    return best, parent


@kernel
def _sites(surface: Surface, graph: Graph, goals: NDArray[np.float64]) -> _Sites:
    nodes, total = len(surface.i), len(surface.i) + len(goals)
    sites = _Sites(np.empty(total), np.empty(total), np.empty(total))
    for node in range(nodes):
        sites.u[node], sites.v[node], sites.grade[node] = surface.i[node], surface.j[node], graph.grade[node]
    for goal in range(len(goals)):
        sites.u[nodes + goal], sites.v[nodes + goal] = goals[goal, 0], goals[goal, 1]
        sites.grade[nodes + goal] = goals[goal, 2]
    return sites


@kernel
def spread(surface: Surface, graph: Graph, goals: NDArray[np.float64], quads: NDArray[np.int32]) -> Field:
    """The field of a set of goals, given as rows (u, v, –, height) and the quads that they are in."""
    nodes, spacing = len(surface.i), surface.tiling.spacing
    for goal in range(len(goals)):
        values = corners(graph.grade, surface.links, quads[goal])
        goals[goal, 2] = blend(values, goals[goal, 0] - surface.i[quads[goal]], goals[goal, 1] - surface.j[quads[goal]])
    sites = _sites(surface, graph, goals)
    total = nodes + len(goals)
    field = Field(np.full(total, math.inf), np.full(total, NOWHERE, dtype=np.int32), goals)
    around, metres, parent = graph.around, field.metres, field.parent
    heap, count = new_heap(nodes), 0
    sags, checked = np.full(nodes, -1.0, dtype=np.float32), np.zeros(nodes, dtype=np.bool_)
    for goal in range(len(goals)):
        metres[nodes + goal] = 0.0
        for corner in range(4):
            node = _corner(surface.links, quads[goal], corner)
            found = _apart(sites, spacing, node, nodes + goal)
            if (
                surface.margin[node] >= 0.0
                and found < metres[node]
                and _node_sees(surface, graph, sites, node, nodes + goal)
            ):
                metres[node], parent[node], checked[node] = found, nodes + goal, True
                count = push(heap, count, metres, node)
    while count > 0:
        node = pop(heap, count, metres)
        count -= 1
        if not checked[node]:  # its parent was only assumed to be in sight
            checked[node] = True
            if not _between_sightings(surface, field, sites, sags, node):
                sags[node] = -1.0
                if not _node_sees(surface, graph, sites, node, parent[node]):
                    metres[node], parent[node] = _best_parent(surface, graph, field, sites, sags, node)
                    count = push(heap, count, metres, node)
                    continue
        sags[node] = max(sags[node], 0.0)
        corner = int(parent[node])
        for side in range(SIDES):
            other = around[node, side]
            if other < 0 or sags[other] >= 0.0:
                continue
            found = metres[corner] + _apart(sites, spacing, other, corner)
            if found < metres[other]:
                metres[other], parent[other], checked[other] = found, corner, False
                count = push(heap, count, metres, other)
    return field


@kernel
def _site(surface: Surface, graph: Graph, field: Field, index: int) -> Place:
    """Where a node or goal is."""
    nodes = len(surface.i)
    if index < nodes:
        return float(surface.i[index]), float(surface.j[index]), float(graph.grade[index])
    return field.goals[index - nodes, 0], field.goals[index - nodes, 1], field.goals[index - nodes, 2]


@kernel
def _length(spacing: float, start: Place, end: Place) -> float:
    du, dv, dy = (start[0] - end[0]) * spacing, (start[1] - end[1]) * spacing, start[2] - end[2]
    return math.sqrt(du * du + dv * dv + dy * dy)


@kernel
def goal_of(field: Field, index: int) -> int:
    """The goal that the way over a node or goal ends at."""
    nodes = len(field.metres) - len(field.goals)
    while index < nodes:
        index = int(field.parent[index])
    return index - nodes


@kernel
def distance_from(surface: Surface, graph: Graph, field: Field, point: Place) -> tuple[bool, float, int]:
    """(is on the surface, metres to the nearest goal, first corner of the way)."""
    u, v = to_lattice(surface, point[0], point[2])
    quad = locate(surface, u, v, point[1])
    if quad < 0:
        return False, math.inf, NOWHERE
    spacing, values = surface.tiling.spacing, corners(graph.grade, surface.links, quad)
    here = (u, v, blend(values, u - surface.i[quad], v - surface.j[quad]))
    best, parent, refused = math.inf, NOWHERE, NOWHERE
    for corner in range(8):  # first over the parents of the quad's nodes, then over these nodes themselves
        node = _corner(surface.links, quad, corner % 4)
        ahead = int(field.parent[node]) if corner < 4 else node
        if surface.margin[node] < 0.0 or field.parent[node] == NOWHERE or ahead == refused:
            continue
        there = _site(surface, graph, field, ahead)
        metres = float(field.metres[ahead]) + _length(spacing, here, there)
        if metres < best:
            if _sees(surface, graph.grade, quad, here, there):
                best, parent = metres, ahead
            else:
                refused = ahead
    if parent != NOWHERE:  # the grade smooths heights, so on a stair it may fall short of the straight line
        goal = field.goals[goal_of(field, parent)]
        best = max(best, _length(spacing, (u, v, point[1]), (goal[0], goal[1], goal[3])))
    return True, best, parent
