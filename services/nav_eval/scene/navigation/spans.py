"""Places to stand, and which of them an agent can step between.

A span is a carrying solid with room above it. Spans of neighbouring columns are linked when the step
between them is within the climb and the agent fits through; both must be each other's best choice, so
that floors on top of each other never mix.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.scene.navigation.ground import AgentShape
from nav_eval.scene.navigation.solids import CLIMB_TOLERANCE, Solids
from nav_eval.scene.navigation.tiles import COLUMNS, TILE, Tiling, TriangleBins, get_column

EAST, SOUTH, WEST, NORTH = range(4)  #: +x, +z, −x, −z


class Spans(NamedTuple):
    """All spans, column by column, from low to high."""

    first: NDArray[np.int64]  #: column → where its spans start; one more entry than columns
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    floor: NDArray[np.float32]
    ceiling: NDArray[np.float32]  #: bottom of the next solid above; infinity under the sky
    links: NDArray[np.int32]  #: span → its neighbours east, south, west and north; −1 for none


@compile_kernel
def _collect_spans(
    solids: Solids, origins: NDArray[np.int64], height: float
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
    total = 0
    for k in range(len(solids.floor)):
        total += 0 if math.isnan(solids.floor[k]) else 1
    first = np.zeros(len(solids.first), dtype=np.int64)
    i, j = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    floor, ceiling = np.empty(total, dtype=np.float32), np.empty(total, dtype=np.float32)
    written = 0
    for column in range(len(solids.first) - 1):
        tile, local = column // COLUMNS, column % COLUMNS
        for k in range(solids.first[column], solids.first[column + 1]):
            above = solids.bottom[k + 1] if k + 1 < solids.first[column + 1] else np.float32(math.inf)
            if math.isnan(solids.floor[k]) or above - solids.floor[k] < height:
                continue
            i[written], j[written] = origins[tile, 0] + local % TILE, origins[tile, 1] + local // TILE
            floor[written], ceiling[written] = solids.floor[k], above
            written += 1
        first[column + 1] = written
    return first, i, j, floor, ceiling


@compile_kernel
def _find_best_neighbour(spans: Spans, span: int, column: int, height: float, climb: float) -> int:
    best, nearest = -1, climb + CLIMB_TOLERANCE
    if column < 0:
        return best
    for other in range(spans.first[column], spans.first[column + 1]):
        off = abs(spans.floor[other] - spans.floor[span])
        room = min(spans.ceiling[other], spans.ceiling[span]) - max(spans.floor[other], spans.floor[span])
        if off <= nearest and room >= height:
            best, nearest = other, off
    return best


@compile_kernel
def link_spans(spans: Spans, tiling: Tiling, height: float, climb: float) -> None:
    """Fill in the links of every span."""
    for span in range(len(spans.floor)):
        for direction in range(4):
            step_i = (1 - direction) * (1 - direction % 2)
            step_j = (2 - direction) * (direction % 2)
            column = get_column(tiling, spans.i[span] + step_i, spans.j[span] + step_j)
            spans.links[span, direction] = _find_best_neighbour(spans, span, column, height, climb)
    for span in range(len(spans.floor)):
        for direction in range(2):
            other = spans.links[span, direction]
            if other >= 0 and spans.links[other, direction + 2] != span:
                spans.links[span, direction] = -1
    for span in range(len(spans.floor)):
        for direction in range(2, 4):
            other = spans.links[span, direction]
            if other >= 0 and spans.links[other, direction - 2] != span:
                spans.links[span, direction] = -1


def find_spans(solids: Solids, binned: TriangleBins, shape: AgentShape) -> Spans:
    """Where an agent can stand, before its radius is taken into account."""
    first, i, j, floor, ceiling = _collect_spans(solids, binned.origins, shape.height)
    total = int(first[-1])
    links = np.full((total, 4), -1, dtype=np.int32)
    spans = Spans(first, i[:total], j[:total], floor[:total], ceiling[:total], links)
    link_spans(spans, binned.tiling, shape.height, shape.max_climb)
    return spans
