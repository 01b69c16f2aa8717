"""The region cut into cells: whole quads, and what the border leaves of the others, with corners that they share.

A corner is a number: that of a node, or one beyond them for the place where the border crosses the line between two
nodes. Cells that touch name the same corners, so which edges lead to another cell is known without comparing places.
Cells of one band are about equally high; the edges between bands are kept, so that stairs and ramps survive
in polygons that know heights at their corners only.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.scene.navigation.spans import EAST, SOUTH
from nav_eval.scene.navigation.surface import ABSENT, FULL, PARTIAL, Surface

BAND = 0.1  #: metres; heights in a band are this close to that of its first quad
OUTSIDE = -1  #: instead of a band, beyond the border


class Cells(NamedTuple):
    """The edges of all cells, with the region to their left when x points right and z up."""

    corners: NDArray[np.float64]  #: x, y, z of every corner by number; nodes first
    start: NDArray[np.int64]  #: corner where an edge starts
    end: NDArray[np.int64]
    band: NDArray[np.int64]  #: of the cell that an edge belongs to
    beyond: NDArray[np.int64]  #: of the cell on its other side; OUTSIDE for none


def cut_cells(surface: Surface) -> Cells:
    """The cells of a surface, as edges."""
    band = _label_bands(surface.links, surface.quads, surface.height, BAND)
    full = np.flatnonzero(surface.quads == FULL)
    ring = _get_ring(surface, full)
    start, end = ring.T.ravel(), np.roll(ring, -1, axis=1).T.ravel()
    partial = _clip_quads(surface)
    edges = np.array(partial.edges, dtype=np.int64).reshape(-1, 3)
    start, end = np.concatenate([start, edges[:, 0]]), np.concatenate([end, edges[:, 1]])
    owner = band[np.concatenate([np.tile(full, 4), edges[:, 2]])]
    corners = np.concatenate([_get_node_places(surface), _get_crossing_places(surface, partial.crossings)])
    return Cells(corners, start, end, owner, _find_beyond(start, end, owner, len(corners)))


@compile_kernel
def _label_bands(
    links: NDArray[np.int32], quads: NDArray[np.uint8], height: NDArray[np.float32], most: float
) -> NDArray[np.int64]:
    """Number the bands in the order of their first quads."""
    labels, stack = np.full(len(quads), -1, dtype=np.int64), np.empty(4 * len(quads) + 1, dtype=np.int64)
    count = 0
    for seed in range(len(quads)):
        if quads[seed] == 0 or labels[seed] >= 0:
            continue
        labels[seed], stack[0], depth = count, seed, 1
        while depth > 0:
            depth -= 1
            quad = stack[depth]
            for side in range(4):
                beside = links[quad, side]
                if beside < 0 or quads[beside] == 0 or labels[beside] >= 0:
                    continue
                if abs(height[beside] - height[seed]) <= most:
                    labels[beside], stack[depth] = count, beside
                    depth += 1
        count += 1
    return labels


def _get_ring(surface: Surface, quads: NDArray[np.int64]) -> NDArray[np.int64]:
    """The four nodes of each quad, one after the other."""
    east, south = surface.links[quads, EAST], surface.links[quads, SOUTH]
    return np.stack([quads, east, surface.links[east, SOUTH], south], axis=1).astype(np.int64)


class _Clipped(NamedTuple):
    edges: list[tuple[int, int, int]]  #: start, end, quad
    crossings: list[tuple[int, int]]  #: the nodes between which the border runs through, by number


def _clip_quads(surface: Surface) -> _Clipped:
    """What the border leaves of the quads that it runs through."""
    assert ABSENT == 0
    quads = np.flatnonzero(surface.quads == PARTIAL)
    rings, numbers = _get_ring(surface, quads).tolist(), dict[tuple[int, int], int]()
    margins: list[float] = surface.margin.tolist()
    edges: list[tuple[int, int, int]] = []
    for quad, (first, east, far, south) in zip(quads.tolist(), rings, strict=True):
        for triangle in ((first, east, far), (first, far, south)):
            corners = _clip_triangle(triangle, margins, numbers)
            if len(corners) > 2:
                edges += [(a, b, quad) for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)]
    return _Clipped(edges, list(numbers))


def _clip_triangle(nodes: tuple[int, int, int], margins: list[float], numbers: dict[tuple[int, int], int]) -> list[int]:
    corners: list[int] = []
    for here, there in zip(nodes, (*nodes[1:], nodes[0]), strict=True):
        if margins[here] >= 0.0:
            corners.append(here)
        if margins[here] * margins[there] < 0.0:
            pair = (min(here, there), max(here, there))
            corners.append(len(margins) + numbers.setdefault(pair, len(numbers)))
    return corners


def _get_node_places(surface: Surface) -> NDArray[np.float64]:
    spacing = surface.tiling.spacing
    return np.stack([(surface.i + 0.5) * spacing, surface.height, (surface.j + 0.5) * spacing], axis=1).astype(
        np.float64
    )


def _get_crossing_places(surface: Surface, crossings: list[tuple[int, int]]) -> NDArray[np.float64]:
    pairs = np.array(crossings, dtype=np.int64).reshape(-1, 2)
    places = _get_node_places(surface)
    here, there = (surface.margin[pairs[:, k]].astype(np.float64) for k in (0, 1))
    part = (here / (here - there))[:, None]
    crossed: NDArray[np.float64] = places[pairs[:, 0]] * (1.0 - part) + places[pairs[:, 1]] * part
    return crossed


def _find_beyond(
    start: NDArray[np.int64], end: NDArray[np.int64], band: NDArray[np.int64], corners: int
) -> NDArray[np.int64]:
    """The band of the cell that has each edge the other way round."""
    key, other_way = start * corners + end, end * corners + start
    order = np.argsort(key, kind="stable")
    at = np.minimum(np.searchsorted(key[order], other_way), len(key) - 1)
    found = order[at] if len(key) else order
    beyond: NDArray[np.int64] = np.where(key[found] == other_way, band[found], OUTSIDE) if len(key) else band
    return beyond
