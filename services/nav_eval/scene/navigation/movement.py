"""Moving and seeing on the surface: straight until the border, then stop or slide; and the graph of distance fields.

A straight line is followed from quad to quad along the links, so it can neither jump through a thin wall
nor change the floor it is on. Within a quad on the border, the margin is linear along the line, and its
zero is where the body touches. Sliding keeps the part of the motion along the border, again and again.

The graph knows which neighbours a node reaches straight, and its grade: the height smoothed over a stride, so that a
stair is as long as a ramp beside it. A line of sight must stay near to the grade, so that hills are walked over and
not cut through.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_inline, compile_kernel, compile_scalar_kernel
from nav_eval.scene.navigation.islands import find_joined_node
from nav_eval.scene.navigation.spans import EAST, NORTH, SOUTH, WEST
from nav_eval.scene.navigation.surface import (
    ABSENT,
    FULL,
    INSIDE,
    PARTIAL,
    Corners,
    Surface,
    blend,
    compute_slope,
    get_corners,
    get_height,
    locate,
    to_lattice,
    to_world,
)

MAX_SLIDES = 64  #: border pieces that one step may follow
MAX_QUADS = 1 << 20  #: quads that one line may cross
TOUCH = -1e-9  #: a margin below this is a wall: far inside of what `locate` forgives

#: the same for lines of sight that start or end at a place which `locate` had to forgive: it forgives them, too
FORGIVING_TOUCH = 2.0 * INSIDE

#: t of the line, quad there, was it blocked, and the direction away from the border
Stop = tuple[float, int, bool, float, float]


@compile_inline
def _find_border_crossing(
    margins: Corners, start: tuple[float, float], end: tuple[float, float], wall: float
) -> tuple[float, bool]:
    """How far (0 to 1, 2 for all of it) a segment within a quad stays inside, and is that in the triangle a ≥ b?

    A margin below `wall` is outside.
    """
    before, after = start[0] - start[1], end[0] - end[1]
    at_start, at_end = blend(margins, start[0], start[1]), blend(margins, end[0], end[1])
    turn, at_turn = 0.0, at_start
    if (before < 0.0 < after) or (after < 0.0 < before):
        turn = before / (before - after)
        place = start[0] + turn * (end[0] - start[0])
        at_turn = blend(margins, place, place)
        if at_turn < wall and at_turn < at_start:
            return turn * max(0.0, at_start) / (max(0.0, at_start) - at_turn), before > 0.0
    if at_end < wall and at_end < at_turn:
        rest = (1.0 - turn) * max(0.0, at_turn) / (max(0.0, at_turn) - at_end)
        return turn + rest, after > 0.0 or (after == 0.0 and before > 0.0)
    return 2.0, True


@compile_inline
def _clamp_unit(value: float) -> float:
    return min(1.0, max(0.0, value))


@compile_inline
def find_present_quad(links: NDArray[np.int32], quads: NDArray[np.uint8], quad: int, direction: int) -> int:
    """The present quad on one side of a quad, −1 if there is none."""
    if quad < 0:
        return -1
    beside = links[quad, direction]
    return int(beside) if beside >= 0 and quads[beside] != ABSENT else -1


@compile_inline
def _find_stop(
    margins: Corners, place: tuple[float, float], along: tuple[float, float], times: tuple[float, float], wall: float
) -> tuple[float, float, float]:
    """When a line touches the border within a quad (2 for never), and the direction away from the border.

    `place` is where the line was at time 0, seen from the quad's first corner.
    """
    t, leave = times
    here = (_clamp_unit(place[0] + t * along[0]), _clamp_unit(place[1] + t * along[1]))
    there = (_clamp_unit(place[0] + leave * along[0]), _clamp_unit(place[1] + leave * along[1]))
    part, lower = _find_border_crossing(margins, here, there, wall)
    if part > 1.0:
        return 2.0, 0.0, 0.0
    away = compute_slope(margins, lower)
    return t + part * (leave - t), away[0], away[1]


@compile_inline
def march(
    surface: Surface,
    height: NDArray[np.float32],
    quad: int,
    start: tuple[float, float],
    along: tuple[float, float],
    chord: tuple[float, float, float],
    wall: float = TOUCH,
) -> Stop:
    """Follow start + t · along from t = 0 to 1 until something stops it.

    `chord` is (height at t = 0, rise, tolerance): a line of sight ends where `height` leaves it by more. A margin
    below `wall` stops every line.
    Distances to the next lattice lines are compared by products: exact for nodes, and no division inside.
    """
    links, quads, margin = surface.links, surface.quads, surface.margin
    (u, v), (du, dv) = start, along
    side_u, side_v = EAST if du > 0.0 else WEST, SOUTH if dv > 0.0 else NORTH
    unit_u, unit_v = math.copysign(1.0, du), math.copysign(1.0, dv)
    reach_u, reach_v = abs(du), abs(dv)
    i, j = float(surface.i[quad]), float(surface.j[quad])
    rise = chord[1] / max(reach_u, reach_v, 1e-300)
    t = 0.0
    for _ in range(MAX_QUADS):
        ahead_u = (i + 1.0 - u if du > 0.0 else u - i) if du != 0.0 else math.inf
        ahead_v = (j + 1.0 - v if dv > 0.0 else v - j) if dv != 0.0 else math.inf
        done = ahead_u >= reach_u and ahead_v >= reach_v
        by_u, by_v = ahead_u * reach_v, ahead_v * reach_u
        if quads[quad] == PARTIAL:
            leave = 1.0 if done else (ahead_u / reach_u if by_u <= by_v else ahead_v / reach_v)
            margins = get_corners(margin, links, quad)
            touch, away_u, away_v = _find_stop(margins, (u - i, v - j), along, (t, leave), wall)
            if touch <= 1.0:
                return touch, quad, True, away_u, away_v
        if done:
            return 1.0, quad, False, 0.0, 0.0
        covered = ahead_u if reach_u >= reach_v else ahead_v
        if abs(height[quad] - (chord[0] + covered * rise)) > chord[2]:
            return t, quad, True, 0.0, 0.0
        away_u, away_v = 0.0, 0.0
        if by_u < by_v:
            beyond, away_u = int(links[quad, side_u]), -unit_u
            i += unit_u
        elif by_v < by_u:
            beyond, away_v = int(links[quad, side_v]), -unit_v
            j += unit_v
        else:  # through the corner, if the quad on either side of it is there
            first, second = find_present_quad(links, quads, quad, side_u), find_present_quad(links, quads, quad, side_v)
            beyond = max(
                find_present_quad(links, quads, first, side_v), find_present_quad(links, quads, second, side_u)
            )
            away_u, away_v = -unit_u if first < 0 else 0.0, -unit_v if second < 0 or first >= 0 else 0.0
            i, j = i + unit_u, j + unit_v
        if beyond < 0 or quads[beyond] != FULL:
            t = max(0.0, ahead_u / reach_u if by_u <= by_v else ahead_v / reach_v)
            if beyond < 0 or quads[beyond] == ABSENT:
                return t, quad, True, away_u, away_v
        quad = beyond
    return t, quad, True, 0.0, 0.0


_ANY_HEIGHT = (0.0, 0.0, math.inf)


@compile_inline
def slide(
    surface: Surface, quad: int, start: tuple[float, float], end: tuple[float, float]
) -> tuple[int, float, float]:
    """Where a body ends that keeps heading for `end` and follows the borders in its way.

    It comes as near to the end as it can, but its way is never longer than the straight one would have been.
    """
    u, v = start
    budget = math.sqrt((end[0] - u) * (end[0] - u) + (end[1] - v) * (end[1] - v))
    least = 1e-9 + 1e-9 * budget
    away_u, away_v, stalled = 0.0, 0.0, 0
    for _ in range(MAX_SLIDES):
        du, dv = end[0] - u, end[1] - v
        into = du * away_u + dv * away_v
        if into < 0.0:
            squared = away_u * away_u + away_v * away_v
            du, dv = du - into / squared * away_u, dv - into / squared * away_v
        length = math.sqrt(du * du + dv * dv)
        if length <= least or budget <= least:
            break
        if length > budget:
            du, dv, length = du * budget / length, dv * budget / length, budget
        t, quad, blocked, next_u, next_v = march(surface, surface.height, quad, (u, v), (du, dv), _ANY_HEIGHT)
        u, v, budget = u + t * du, v + t * dv, budget - t * length
        stalled = stalled + 1 if t * length <= least else 0
        if stalled > 2 or (blocked and next_u == 0.0 and next_v == 0.0):
            break  # in a corner each border leads back into the other one
        away_u, away_v = next_u, next_v
    return quad, u, v


@compile_scalar_kernel
def step(
    surface: Surface, start: tuple[float, float, float], end: tuple[float, float], sliding: bool
) -> tuple[bool, float, float, float, bool]:
    """(found, x, y, z, collided); found is False when the start is not on the surface."""
    u, v = to_lattice(surface, start[0], start[2])
    quad = locate(surface, u, v, start[1])
    if quad < 0:
        return False, start[0], start[1], start[2], True
    end_u, end_v = to_lattice(surface, end[0], end[1])
    if not (abs(end_u) < 1e9 and abs(end_v) < 1e9):
        return True, start[0], get_height(surface, quad, u, v), start[2], True
    along = (end_u - u, end_v - v)
    t, last, blocked, _, _ = march(surface, surface.height, quad, (u, v), along, _ANY_HEIGHT)
    if not blocked:
        return True, end[0], get_height(surface, last, end_u, end_v), end[1], False
    if sliding:
        last, u, v = slide(surface, quad, (u, v), (end_u, end_v))
    else:
        u, v = u + t * along[0], v + t * along[1]
    x, z = to_world(surface, u, v)
    asked = (end[0] - start[0]) * (end[0] - start[0]) + (end[1] - start[2]) * (end[1] - start[2])
    made = (x - start[0]) * (x - start[0]) + (z - start[2]) * (z - start[2])
    return True, x, get_height(surface, last, u, v), z, made + 1e-5 < asked


@compile_kernel
def walk(
    surface: Surface, start: tuple[float, float, float], moves: NDArray[np.float64], sliding: bool
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Many steps in one call: after each move (dx, dz), the position and whether it was cut short."""
    positions, collided = np.empty((len(moves), 3)), np.zeros(len(moves), dtype=np.bool_)
    x, y, z = start
    for k in range(len(moves)):
        _, x, y, z, collided[k] = step(surface, (x, y, z), (x + moves[k, 0], z + moves[k, 1]), sliding)
        positions[k, 0], positions[k, 1], positions[k, 2] = x, y, z
    return positions, collided


STRIDE = 0.15  #: metres; standard deviation of the smoothing

SIDES = 8  #: east, south, west, north, and the diagonals as `get_adjacent` numbers them


class Graph(NamedTuple):
    """Flat read-only arrays over the nodes of a surface."""

    ways: NDArray[np.uint8]  #: node → one bit per side on which a node of the region can be reached straight
    grade: NDArray[np.float32]  #: node → its smoothed height


@compile_inline
def get_adjacent(links: NDArray[np.int32], node: int, side: int) -> int:
    """The node on one of eight sides; only where `ways` has the bit."""
    if side < 4:
        return int(links[node, side])
    if side == 4:
        return int(links[links[node, EAST], SOUTH])
    if side == 5:
        return int(links[links[node, WEST], NORTH])
    if side == 6:
        return int(links[links[node, NORTH], EAST])
    return int(links[links[node, WEST], SOUTH])


@compile_kernel
def _find_ways(surface: Surface) -> NDArray[np.uint8]:
    links, margin, quads = surface.links, surface.margin, surface.quads
    ways = np.zeros(len(surface.i), dtype=np.uint8)
    for node in range(len(ways)):
        if margin[node] < 0.0:
            continue
        bits = 0
        for side in range(6):
            if find_joined_node(links, margin, quads, node, side) >= 0:
                bits |= 1 << side
        north, west = links[node, NORTH], links[node, WEST]
        if north >= 0 and quads[north] == FULL:
            bits |= 1 << 6
        if west >= 0 and quads[west] == FULL:
            bits |= 1 << 7
        ways[node] = bits
    return ways


@compile_kernel
def _smooth_heights(links: NDArray[np.int32], heights: NDArray[np.float32], rounds: int) -> NDArray[np.float32]:
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
    graph = Graph(_find_ways(surface), _smooth_heights(surface.links, surface.height, rounds))
    for array in graph:
        array.flags.writeable = False
    return graph


LAYER = 0.5  #: metres of height; a line that ends farther off has ended on another floor

#: a line of sight leaves the grade by at most this much
CHORD_TOLERANCE = 0.06

LatticePoint = tuple[float, float, float]  #: (u, v, grade)


@compile_inline
def find_wall(margin: float) -> float:
    """Below which margin a line of sight is blocked that starts or ends at a place with this margin.

    Places a rounding error outside of the region are still on the surface; a line must not be stopped by its own end.
    """
    return TOUCH if margin >= TOUCH else FORGIVING_TOUCH


@compile_inline
def is_visible(
    surface: Surface, grade: NDArray[np.float32], quad: int, start: LatticePoint, end: LatticePoint, wall: float
) -> bool:
    """Is the straight line between two places free, starting in this quad? A margin below `wall` blocks it."""
    along = (end[0] - start[0], end[1] - start[1])
    chord = (start[2], end[2] - start[2], CHORD_TOLERANCE)
    _, last, blocked, _, _ = march(surface, grade, quad, (start[0], start[1]), along, chord, wall)
    return not blocked and abs(grade[last] - end[2]) <= LAYER


@compile_inline
def is_visible_from_node(
    surface: Surface, grade: NDArray[np.float32], node: int, end: LatticePoint, wall: float
) -> bool:
    """The same from a node; along a lattice line the quads on either side will do."""
    start = (float(surface.i[node]), float(surface.j[node]), float(grade[node]))
    du, dv = end[0] - start[0], end[1] - start[1]
    for attempt in range(2):
        quad = node
        if du < 0.0 or (du == 0.0 and attempt == 1):
            quad = surface.links[quad, WEST]
        if quad >= 0 and (dv < 0.0 or (dv == 0.0 and attempt == 1)):
            quad = surface.links[quad, NORTH]
        if quad >= 0 and surface.quads[quad] != ABSENT and is_visible(surface, grade, quad, start, end, wall):
            return True
        if du != 0.0 and dv != 0.0:
            return False
    return False
