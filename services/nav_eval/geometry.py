"""Small geometry on the path that scores: only + − × ÷ √, so that every machine gets the same bits."""

import math

from nav_eval.dataset.episode import Vec3


def straight_line(start: Vec3, end: Vec3) -> float:
    """Metres as the crow flies; spelled out because library norms differ in the last bit."""
    x, y, z = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    return math.sqrt(x * x + y * y + z * z)
