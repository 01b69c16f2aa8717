"""The nearest obstacle: which place of the region's border is nearest to a point, and how near.

The straight line to the nearest place of the border leaves the region nowhere before, so only heights have to be looked
at to stay on one floor. Pieces of the border are found over a grid of square bins.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.polygons.cells import OUTSIDE, Cells, cut_cells
from nav_eval.scene.navigation.surface import Surface

BIN = 0.25  #: metres
STOREY = 0.5  #: metres of height that a border may differ at the same place; farther off, 45° more


class ObstaclePoint(NamedTuple):
    """The nearest place where the body would touch something."""

    position: Vec3  #: on the border of the region; the point itself where nothing is near enough
    normal: Vec3  #: from there towards the point, a unit vector along the floor; zeros where nothing is near enough
    distance: float  #: along the floor, at most the radius that was searched


@dataclass(frozen=True, slots=True, eq=False)
class BorderIndex:
    """The border of a region, quick to search."""

    pieces: NDArray[np.float64]  #: B × 2 × 3, sorted by bin; the region is to their left, seen from below
    first: NDArray[np.int64]  #: bin → its first piece
    origin: tuple[float, float]  #: least x and z
    shape: tuple[int, int]  #: bins along x and z

    def find_nearest_obstacle(self, point: Vec3, radius: float = 2.0) -> ObstaclePoint:
        """The obstacle nearest to a place on the ground, if there is one within `radius` metres along the floor."""
        here = (float(point[0]), float(point[1]), float(point[2]))
        at, x, y, z, metres = _search(self.pieces, self.first, self.origin, self.shape, here, float(radius))
        if at < 0:
            return ObstaclePoint(here, (0.0, 0.0, 0.0), float(radius))
        return ObstaclePoint((x, y, z), self._compute_normal(at, (here[0] - x, here[2] - z), metres), metres)

    def _compute_normal(self, piece: int, away: tuple[float, float], metres: float) -> Vec3:
        if metres > 1e-9:
            return (away[0] / metres, 0.0, away[1] / metres)
        (a_x, _, a_z), (b_x, _, b_z) = self.pieces[piece].tolist()
        length = math.hypot(b_x - a_x, b_z - a_z) or 1.0
        return (-(b_z - a_z) / length, 0.0, (b_x - a_x) / length)


def index_border(surface: Surface, cells: Cells | None = None) -> BorderIndex:
    """The border of a surface's region."""
    cells = cells or cut_cells(surface)
    outer = cells.beyond == OUTSIDE
    pieces = np.stack([cells.corners[cells.start[outer]], cells.corners[cells.end[outer]]], axis=1)
    lower = pieces[:, :, [0, 2]].reshape(-1, 2).min(axis=0, initial=np.inf)
    lower = np.where(np.isfinite(lower), lower, 0.0)
    middle = ((pieces.mean(axis=1)[:, [0, 2]] - lower) / BIN).astype(np.int64)
    across, along = (int(middle[:, k].max(initial=0)) + 1 for k in (0, 1))
    number = middle[:, 1] * across + middle[:, 0]
    order = np.argsort(number, kind="stable")
    first = np.searchsorted(number[order], np.arange(across * along + 1))
    return BorderIndex(pieces[order], first, (float(lower[0]), float(lower[1])), (across, along))


@compile_kernel
def _search(
    pieces: NDArray[np.float64],
    first: NDArray[np.int64],
    origin: tuple[float, float],
    shape: tuple[int, int],
    point: tuple[float, float, float],
    radius: float,
) -> tuple[int, float, float, float, float]:
    """(piece or −1, x, y, z, metres) of the nearest place; rings of bins until no farther one can win."""
    column, row = math.floor((point[0] - origin[0]) / BIN), math.floor((point[2] - origin[1]) / BIN)
    best, x, y, z, nearest = -1, 0.0, 0.0, 0.0, radius
    for ring in range(math.ceil(radius / BIN) + 3):
        if nearest < (ring - 2) * BIN:  # pieces are shorter than a bin, and are in the bin of their middle
            break
        for j in range(max(0, row - ring), min(shape[1], row + ring + 1)):
            whole = abs(j - row) == ring
            for i in range(column - ring, column + ring + 1, 1 if whole or ring == 0 else 2 * ring):
                if i < 0 or i >= shape[0]:
                    continue
                for k in range(first[j * shape[0] + i], first[j * shape[0] + i + 1]):
                    a_x, a_z = pieces[k, 0, 0], pieces[k, 0, 2]
                    du, dv = pieces[k, 1, 0] - a_x, pieces[k, 1, 2] - a_z
                    length = du * du + dv * dv
                    part = ((point[0] - a_x) * du + (point[2] - a_z) * dv) / length if length > 0.0 else 0.0
                    part = min(1.0, max(0.0, part))
                    on_x, on_z = a_x + part * du, a_z + part * dv
                    on_y = pieces[k, 0, 1] + part * (pieces[k, 1, 1] - pieces[k, 0, 1])
                    metres = math.sqrt((on_x - point[0]) ** 2 + (on_z - point[2]) ** 2)
                    if metres < nearest and abs(on_y - point[1]) <= STOREY + metres:
                        best, x, y, z, nearest = k, on_x, on_y, on_z, metres
    return best, x, y, z, nearest
