"""Left and right: directions on the map, in degrees to the left of −Z. They become words, never scores."""

import math
from collections.abc import Sequence
from itertools import pairwise

from nav_eval.dataset.episode import Vec3

AHEAD, ROUND = 35.0, 140.0  #: less is straight on, more is turning round


def heading(start: Vec3, end: Vec3) -> float:
    """The direction from one place to another."""
    return math.degrees(math.atan2(start[0] - end[0], start[2] - end[2]))


def wrapped(degrees: float) -> float:
    """In [−180, 180)."""
    return (degrees + 180.0) % 360.0 - 180.0


def side(degrees: float) -> str:
    return "left" if degrees > 0 else "right"


def sampled(corners: Sequence[Vec3], *, spacing: float) -> list[Vec3]:
    """Points along a path, evenly spaced."""
    points = [corners[0]]
    for start, end in pairwise(corners):
        count = max(1, round(math.dist(start, end) / spacing))
        for n in range(1, count + 1):
            part = n / count
            points.append(
                (
                    start[0] + (end[0] - start[0]) * part,
                    start[1] + (end[1] - start[1]) * part,
                    start[2] + (end[2] - start[2]) * part,
                )
            )
    return points
