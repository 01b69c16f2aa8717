"""How far every span is from what stops the body, measured along the floor.

A brush fire over linked spans: each carries the nearest blocker it knows to its neighbours. Going along
the links keeps floors apart, and a step of a stair is no wall to the step below it.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.kernels import kernel
from nav_eval.scene.navigation.outlines import Outlines, Sightings, neighbour
from nav_eval.scene.navigation.polygons import distance_to_polygon
from nav_eval.scene.navigation.shape import AgentShape
from nav_eval.scene.navigation.spans import Spans


class Clearance(NamedTuple):
    """Distance to the nearest blocker, in metres, capped where it no longer matters."""

    metres: NDArray[np.float32]
    blocker: NDArray[np.int32]
    """Which blocker that is; −1 beyond the cap."""


@kernel
def spread_clearance(
    spans: Spans, sightings: Sightings, outlines: Outlines, farthest: float
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    total = len(spans.floor)
    distance, nearest = np.full(total, farthest), np.full(total, -1, dtype=np.int32)
    waiting, queue = np.zeros(total, dtype=np.bool_), np.empty(total + 1, dtype=np.int32)
    head, tail = 0, 0
    for k in range(len(sightings.span)):
        span, blocker = sightings.span[k], sightings.blocker[k]
        first, last = outlines.first[blocker], outlines.first[blocker + 1]
        found = distance_to_polygon(spans.i[span] + 0.5, spans.j[span] + 0.5, outlines.corners, first, last)
        if found < distance[span]:
            distance[span], nearest[span] = found, blocker
            if not waiting[span]:
                waiting[span] = True
                queue[tail] = span
                tail = (tail + 1) % (total + 1)
    while head != tail:
        span = queue[head]
        head = (head + 1) % (total + 1)
        waiting[span] = False
        first, last = outlines.first[nearest[span]], outlines.first[nearest[span] + 1]
        for side in range(8):
            other = neighbour(spans.links, span, side)
            if other < 0:
                continue
            found = distance_to_polygon(spans.i[other] + 0.5, spans.j[other] + 0.5, outlines.corners, first, last)
            if found < distance[other]:
                distance[other], nearest[other] = found, nearest[span]
                if not waiting[other]:
                    waiting[other] = True
                    queue[tail] = other
                    tail = (tail + 1) % (total + 1)
    return distance, nearest


def measure_clearance(spans: Spans, sightings: Sightings, outlines: Outlines, shape: AgentShape) -> Clearance:
    """The clearance of every span, exact up to the radius and a little beyond."""
    farthest = shape.radius / shape.spacing + 2.0 * math.sqrt(2.0)
    distance, blocker = spread_clearance(spans, sightings, outlines, farthest)
    return Clearance((distance * shape.spacing).astype(np.float32), blocker)
