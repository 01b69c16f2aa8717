"""Lines of sight: may one walk straight from here to there?

A line follows the surface from quad to quad. It must also stay near to the grade, so that hills are walked
over and not cut through, and end on the floor that it was meant for.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.kernels import inlined
from nav_eval.scene.navigation.spans import NORTH, WEST
from nav_eval.scene.navigation.surface import ABSENT, Surface
from nav_eval.scene.navigation.walking import march

LAYER = 0.5  #: metres of height; a line that ends farther off has ended on another floor

#: a line of sight leaves the grade by at most this much
CHORD_TOLERANCE = 0.06

Place = tuple[float, float, float]  #: (u, v, grade)


@inlined
def sees(surface: Surface, grade: NDArray[np.float32], quad: int, start: Place, end: Place) -> bool:
    """Is the straight line between two places free, starting in this quad?"""
    along = (end[0] - start[0], end[1] - start[1])
    chord = (start[2], end[2] - start[2], CHORD_TOLERANCE)
    _, last, blocked, _, _ = march(surface, grade, quad, (start[0], start[1]), along, chord)
    return not blocked and abs(grade[last] - end[2]) <= LAYER


@inlined
def sees_from_node(surface: Surface, grade: NDArray[np.float32], node: int, end: Place) -> bool:
    """The same from a node; along a lattice line the quads on either side will do."""
    start = (float(surface.i[node]), float(surface.j[node]), float(grade[node]))
    du, dv = end[0] - start[0], end[1] - start[1]
    for attempt in range(2):
        quad = node
        if du < 0.0 or (du == 0.0 and attempt == 1):
            quad = surface.links[quad, WEST]
        if quad >= 0 and (dv < 0.0 or (dv == 0.0 and attempt == 1)):
            quad = surface.links[quad, NORTH]
        if quad >= 0 and surface.quads[quad] != ABSENT and sees(surface, grade, quad, start, end):
            return True
        if du != 0.0 and dv != 0.0:
            return False
    return False
