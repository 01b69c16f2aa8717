"""What every distance field of a surface needs: which neighbours a node reaches straight, and its grade.

The grade is the height smoothed over a stride, so that a stair is as long as a ramp beside it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.islands import joined
from nav_eval.scene.navigation.kernels import inlined, kernel
from nav_eval.scene.navigation.spans import EAST, NORTH, SOUTH, WEST
from nav_eval.scene.navigation.surface import FULL, Surface

STRIDE = 0.15  #: metres; standard deviation of the smoothing

SIDES = 8  #: east, south, west, north, and the diagonals as `around` numbers them


class Graph(NamedTuple):
    """Flat read-only arrays over the nodes of a surface."""

    ways: NDArray[np.uint8]
    """Node → one bit per side on which a node of the region can be reached straight."""
    grade: NDArray[np.float32]
    """Node → its smoothed height."""


@inlined
def around(links: NDArray[np.int32], node: int, side: int) -> int:
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


@kernel
def _find_ways(surface: Surface) -> NDArray[np.uint8]:
    links, margin, quads = surface.links, surface.margin, surface.quads
    ways = np.zeros(len(surface.i), dtype=np.uint8)
    for node in range(len(ways)):
        if margin[node] < 0.0:
            continue
        bits = 0
        for side in range(6):
            if joined(links, margin, quads, node, side) >= 0:
                bits |= 1 << side
        north, west = links[node, NORTH], links[node, WEST]
        if north >= 0 and quads[north] == FULL:
            bits |= 1 << 6
        if west >= 0 and quads[west] == FULL:
            bits |= 1 << 7
        ways[node] = bits
    return ways


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
    graph = Graph(_find_ways(surface), _smoothed(surface.links, surface.height, rounds))
    for array in graph:
        array.flags.writeable = False
    return graph
