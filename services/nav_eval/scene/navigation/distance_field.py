"""Distance fields: how far every place is from a set of goals.

Dijkstra's order over nodes, but any earlier node that it sees may be a node's parent (Theta*): that is
a corner of the shortest path or the goal itself. Between nodes, a place uses the parents of the nodes
around it. Every distance is therefore the length of a path that can be walked: never through a wall,
never below the straight line, on average well within one percent of the shortest.

A field spreads from its goals only as far as somebody asks, and goes on from there when somebody asks for
more. What is settled never changes, so the answers are the same bits in whatever order they are asked for.

The queue sorts nodes into buckets: those within a fraction of a step of each other come out in any order, but always
the same one: it depends on nothing but what was put in, so that every machine gets the same field. Each operation
takes constant time; a heap takes longer than all the rest of a field.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import bind_kernel, compile_inline, compile_scalar_kernel
from nav_eval.scene.navigation.movement import (
    CHORD_TOLERANCE,
    SIDES,
    TOUCH,
    Graph,
    LatticePoint,
    find_wall,
    get_adjacent,
    is_visible,
    is_visible_from_node,
)
from nav_eval.scene.navigation.spans import EAST, NORTH, SOUTH, WEST
from nav_eval.scene.navigation.surface import FULL, Surface, blend, get_corners, get_height, locate, to_lattice

BUCKETS = 1 << 10  #: a ring; keys in the queue differ by a few lattice steps at most
PER_STEP = 4  #: buckets per lattice step: a node's parent comes out well before it
NO_NODE = -1


class BucketQueue(NamedTuple):
    nodes: NDArray[Any]
    """Records with `bucket` (0 when not in the queue, numbered from 1), `after` and `before`, its neighbours there."""
    first: NDArray[np.int32]  #: bucket → its first node
    at: NDArray[np.int64]  #: the number of the bucket that is being emptied, and how many nodes are in the queue


@compile_inline
def push(queue: BucketQueue, node: int, key: float) -> None:
    """Add a node, or move it to a new key; keys count buckets. What comes late joins the bucket being emptied."""
    nodes, now = queue.nodes, queue.at[0]
    bucket = min(max(np.int64(key), now), now + BUCKETS - 1) % BUCKETS
    if nodes[node]["bucket"] == bucket + 1:
        return
    if nodes[node]["bucket"] != 0:
        _remove(queue, node)
    head = queue.first[bucket]
    nodes[node]["bucket"], nodes[node]["after"], nodes[node]["before"] = bucket + 1, head, NO_NODE
    if head != NO_NODE:
        nodes[head]["before"] = node
    queue.first[bucket] = node
    queue.at[1] += 1


@compile_inline
def pop(queue: BucketQueue) -> int:
    """Take out a node of the first bucket; NONE when the queue is empty."""
    if queue.at[1] == 0:
        return NO_NODE
    while queue.first[queue.at[0] % BUCKETS] == NO_NODE:
        queue.at[0] += 1
    node = int(queue.first[queue.at[0] % BUCKETS])
    _remove(queue, node)
    return node


@compile_inline
def _remove(queue: BucketQueue, node: int) -> None:
    nodes = queue.nodes
    before, after = nodes[node]["before"], nodes[node]["after"]
    if before == NO_NODE:
        queue.first[nodes[node]["bucket"] - 1] = after
    else:
        nodes[before]["after"] = after
    if after != NO_NODE:
        nodes[after]["before"] = before
    nodes[node]["bucket"] = 0
    queue.at[1] -= 1


NOWHERE = -1  #: instead of a corner, where there is no way
SAME_HEIGHT = 1e-5  #: metres; a position this near to the ground is on it, and farther off it is moved there

#: what is known of a node; nothing, a parent that it may see, one that it surely sees, and that nothing is shorter
UNTOUCHED, TENTATIVE, VERIFIED, SETTLED = range(4)

RECORD = np.dtype(
    [
        ("metres", np.float64),  # to the nearest goal
        ("parent", np.int32),  # the next corner of the way, a node or a goal
        ("sag", np.float32),  # how far the grade may have left the line to the parent
        ("after", np.int32),  # `BucketQueue`
        ("before", np.int32),
        ("bucket", np.int16),
        ("state", np.uint8),
    ],
    align=True,
)


GoalPlace = tuple[int, float, float, float]  #: (quad, u, v, height)


class FieldState(NamedTuple):
    """The state of a search from a set of goals; what is settled is final."""

    nodes: NDArray[Any]  #: a RECORD per node of the surface, and after them one per goal
    goals: NDArray[np.float64]  #: per goal u, v, grade, height and the margin that blocks a line to it
    queue: BucketQueue  #: the nodes that are next, in the same records


def make_field(surface: Surface, graph: Graph, goals: Sequence[GoalPlace]) -> FieldState:
    """The field of a set of goals on the surface."""
    nodes = np.zeros(len(surface.i) + len(goals), dtype=RECORD)  # takes memory only where it is touched
    queue = BucketQueue(nodes, np.full(BUCKETS, NO_NODE, dtype=np.int32), np.zeros(2, dtype=np.int64))
    places = np.array([(u, v, 0.0, height, 0.0) for _, u, v, height in goals], dtype=np.float64).reshape(-1, 5)
    field = FieldState(nodes, places, queue)
    bind_kernel(_start_search, surface, graph, field, np.array([quad for quad, *_ in goals], dtype=np.int32), like=())()
    return field


@compile_scalar_kernel
def _start_search(surface: Surface, graph: Graph, field: FieldState, quads: NDArray[np.int32]) -> None:
    goals = field.goals
    for goal in range(len(goals)):
        quad = quads[goal]
        u, v = _clamp_to_quad(surface, quad, goals[goal, 0], goals[goal, 1])
        a, b = u - surface.i[quad], v - surface.j[quad]
        goals[goal, 0], goals[goal, 1] = u, v
        goals[goal, 2] = blend(get_corners(graph.grade, surface.links, quad), a, b)
        goals[goal, 4] = find_wall(blend(get_corners(surface.margin, surface.links, quad), a, b))
        for corner in range(4):
            _offer_goal(surface, graph, field, _get_corner(surface.links, quad, corner), goal)


@compile_inline
def _clamp_to_quad(surface: Surface, quad: int, u: float, v: float) -> tuple[float, float]:
    """A place of a quad without what `locate` forgives at its edges: a line to there would leave the quad."""
    i, j = float(surface.i[quad]), float(surface.j[quad])
    return min(i + 1.0, max(i, u)), min(j + 1.0, max(j, v))


@compile_inline
def _offer_goal(surface: Surface, graph: Graph, field: FieldState, node: int, goal: int) -> None:
    """Make a goal the parent of a corner of its quad that sees it."""
    there = (field.goals[goal, 0], field.goals[goal, 1], field.goals[goal, 2])
    metres = _compute_length(surface.tiling.spacing, _get_node_place(surface, graph, node), there)
    if surface.margin[node] < 0.0 or (
        field.nodes[node]["state"] != UNTOUCHED and metres >= field.nodes[node]["metres"]
    ):
        return
    if is_visible_from_node(surface, graph.grade, node, there, field.goals[goal, 4]):
        _set_parent(surface, field, node, len(surface.i) + goal, metres, VERIFIED)


@compile_inline
def _set_parent(surface: Surface, field: FieldState, node: int, parent: int, metres: float, state: int) -> None:
    nodes = field.nodes
    nodes[node]["metres"], nodes[node]["parent"], nodes[node]["state"] = metres, parent, state
    push(field.queue, node, metres * (PER_STEP / surface.tiling.spacing))


@compile_inline
def _settle_quad(surface: Surface, graph: Graph, field: FieldState, quad: int) -> None:
    """Spread the field until the inside corners of a quad are settled."""
    for corner in range(4):
        node = _get_corner(surface.links, quad, corner)
        while surface.margin[node] >= 0.0 and field.nodes[node]["state"] != SETTLED:
            if not _expand_next(surface, graph, field):
                return


@compile_inline
def _expand_next(surface: Surface, graph: Graph, field: FieldState) -> bool:
    """Take up the next node; False when there is none left."""
    node = pop(field.queue)
    if node < 0:
        return False
    if field.nodes[node]["state"] == TENTATIVE and not _is_between_siblings(surface, graph, field, node):
        ahead = int(field.nodes[node]["parent"])
        parent = _get_place(surface, graph, field, ahead)
        if not is_visible_from_node(surface, graph.grade, node, parent, _get_wall(surface, field, ahead)):
            _set_best_parent(surface, graph, field, node)
            return True
    field.nodes[node]["state"] = SETTLED
    corner = int(field.nodes[node]["parent"])
    there, beyond = _get_place(surface, graph, field, corner), field.nodes[corner]["metres"]
    spacing, links, ways = surface.tiling.spacing, surface.links, int(graph.ways[node])
    for side in range(SIDES):
        if ways >> side & 1 == 0:
            continue
        other = get_adjacent(links, node, side)
        state = field.nodes[other]["state"]
        if state == SETTLED or (state != UNTOUCHED and field.nodes[other]["parent"] == corner):
            continue
        metres = beyond + _compute_length(spacing, _get_node_place(surface, graph, other), there)
        if state == UNTOUCHED or metres < field.nodes[other]["metres"]:
            _set_parent(surface, field, other, corner, metres, TENTATIVE)
    return True


@compile_inline
def _set_best_parent(surface: Surface, graph: Graph, field: FieldState, node: int) -> None:
    """The shortest way from a node over a settled neighbour or over that neighbour's parent."""
    links, spacing, ways = surface.links, surface.tiling.spacing, int(graph.ways[node])
    here = _get_node_place(surface, graph, node)
    best, parent, refused = math.inf, NOWHERE, int(field.nodes[node]["parent"])
    for side in range(SIDES):
        other = get_adjacent(links, node, side) if ways >> side & 1 else -1
        if other >= 0 and field.nodes[other]["state"] == SETTLED:
            metres = field.nodes[other]["metres"] + _compute_length(
                spacing, here, _get_node_place(surface, graph, other)
            )
            if metres < best:
                best, parent = metres, other
    for side in range(SIDES):
        other = get_adjacent(links, node, side) if ways >> side & 1 else -1
        if other < 0 or field.nodes[other]["state"] != SETTLED or field.nodes[other]["parent"] == refused:
            continue
        corner = int(field.nodes[other]["parent"])
        there = _get_place(surface, graph, field, corner)
        metres = field.nodes[corner]["metres"] + _compute_length(spacing, here, there)
        if metres < best:
            if is_visible_from_node(surface, graph.grade, node, there, _get_wall(surface, field, corner)):
                best, parent = metres, corner
            else:
                refused = corner
    _set_parent(surface, field, node, parent, best, VERIFIED)


@compile_inline
def _is_between_siblings(surface: Surface, graph: Graph, field: FieldState, node: int) -> bool:
    """Does the line to a node's parent pass between two neighbours with the same parent?

    Then it is free: an obstacle between their two lines of sight would be narrower than a quad, but
    obstacles are grown by the body and at least twice as wide. How far the grade may have left the line
    is summed up in `sag`; beyond a limit one has to look.
    """
    links, nodes = surface.links, field.nodes
    parent = nodes[node]["parent"]
    there = _get_place(surface, graph, field, int(parent))
    here = _get_node_place(surface, graph, node)
    du, dv = there[0] - here[0], there[1] - here[1]
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
    if nodes[beside]["parent"] != parent or nodes[diagonal]["parent"] != parent:
        return False
    if nodes[beside]["state"] != SETTLED or nodes[diagonal]["state"] != SETTLED:
        return False
    first = _compute_sag(here, _get_node_place(surface, graph, beside), there)
    second = _compute_sag(here, _get_node_place(surface, graph, diagonal), there)
    total = max(nodes[beside]["sag"], nodes[diagonal]["sag"]) + max(first, second)
    if total > CHORD_TOLERANCE / 2.0:
        return False
    nodes[node]["sag"] = total
    return True


@compile_inline
def _compute_sag(here: LatticePoint, beside: LatticePoint, there: LatticePoint) -> float:
    """How far the straight grade from a node to its parent is off the one from its neighbour, at most."""
    rise, near_rise = here[2] - there[2], beside[2] - there[2]
    if rise == 0.0 and near_rise == 0.0:
        return 0.0
    du, dv = there[0] - here[0], there[1] - here[1]
    near_u, near_v = there[0] - beside[0], there[1] - beside[1]
    part = math.sqrt((near_u * near_u + near_v * near_v) / max(du * du + dv * dv, 1e-300))
    return float(abs(part * rise - near_rise))


@compile_inline
def _get_corner(links: NDArray[np.int32], quad: int, corner: int) -> int:
    """One of the four nodes of a quad."""
    node = quad
    if corner % 2 == 1:
        node = links[node, EAST]
    if corner // 2 == 1:
        node = links[node, SOUTH]
    return int(node)


@compile_inline
def _get_node_place(surface: Surface, graph: Graph, node: int) -> LatticePoint:
    return float(surface.i[node]), float(surface.j[node]), float(graph.grade[node])


@compile_inline
def _get_place(surface: Surface, graph: Graph, field: FieldState, index: int) -> LatticePoint:
    """Where a node or goal is."""
    goal = index - len(surface.i)
    if goal < 0:
        return _get_node_place(surface, graph, index)
    return field.goals[goal, 0], field.goals[goal, 1], field.goals[goal, 2]


@compile_inline
def _get_wall(surface: Surface, field: FieldState, index: int) -> float:
    """The margin that blocks a line to a node or goal."""
    goal = index - len(surface.i)
    return TOUCH if goal < 0 else float(field.goals[goal, 4])


@compile_inline
def _compute_length(spacing: float, start: LatticePoint, end: LatticePoint) -> float:
    du, dv, dy = (start[0] - end[0]) * spacing, (start[1] - end[1]) * spacing, start[2] - end[2]
    return math.sqrt(du * du + dv * dv + dy * dy)


@compile_inline
def get_goal(field: FieldState, index: int) -> int:
    """The goal that the way over a node or goal ends at."""
    nodes = len(field.nodes) - len(field.goals)
    while index < nodes:
        index = int(field.nodes[index]["parent"])
    return index - nodes


@compile_scalar_kernel
def compute_distance(surface: Surface, graph: Graph, field: FieldState, point: LatticePoint) -> tuple[bool, float, int]:
    """(is on the surface, metres to the nearest goal, first corner of the way)."""
    u, v = to_lattice(surface, point[0], point[2])
    quad = locate(surface, u, v, point[1])
    if quad < 0:
        return False, math.inf, NOWHERE
    _settle_quad(surface, graph, field, quad)
    u, v = _clamp_to_quad(surface, quad, u, v)
    a, b, spacing = u - surface.i[quad], v - surface.j[quad], surface.tiling.spacing
    here = (u, v, blend(get_corners(graph.grade, surface.links, quad), a, b))
    own_wall = find_wall(blend(get_corners(surface.margin, surface.links, quad), a, b))
    best, parent, refused = math.inf, NOWHERE, NOWHERE
    for corner in range(8):  # first over the parents of the quad's nodes, then over these nodes themselves
        node = _get_corner(surface.links, quad, corner % 4)
        ahead = int(field.nodes[node]["parent"]) if corner < 4 else node
        if field.nodes[node]["state"] != SETTLED or ahead == refused:
            continue
        there = _get_place(surface, graph, field, ahead)
        metres = float(field.nodes[ahead]["metres"]) + _compute_length(spacing, here, there)
        if metres < best:
            wall = min(own_wall, _get_wall(surface, field, ahead))
            if is_visible(surface, graph.grade, quad, here, there, wall):
                best, parent = metres, ahead
            else:
                refused = ahead
    if parent != NOWHERE:  # the grade smooths heights, so on a stair it may fall short of the straight line
        goal, height = field.goals[get_goal(field, parent)], get_height(surface, quad, u, v)
        if abs(point[1] - height) < SAME_HEIGHT:
            height = point[1]
        best = max(best, _compute_length(spacing, (u, v, height), (goal[0], goal[1], goal[3])))
    return True, best, parent
