"""Top-down maps of a navigation mesh, floor by floor, for previews and replays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.surface import ABSENT, FULL

OUTSIDE, INSIDE, BORDER = 0, 1, 2  #: map codes, as Habitat's

BIN = 0.25  #: metres of height per bin when looking for floors
LEAST_SHARE = 0.02  #: of the area, for a height to count as a floor


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TopDownMap:
    """A picture of one floor and how to find places on it."""

    image: NDArray[np.uint8]  #: rows along z, columns along x; OUTSIDE, INSIDE or BORDER
    metres_per_pixel: float
    left: float  #: x of the picture's left edge
    top: float  #: z of the picture's top edge
    floor: float  #: height of the floor

    def pixel(self, point: Vec3) -> tuple[int, int]:
        """(row, column) of a place; may lie outside of the picture."""
        return int((point[2] - self.top) // self.metres_per_pixel), int((point[0] - self.left) // self.metres_per_pixel)


def find_floor_heights(mesh: NavigationMesh) -> tuple[float, ...]:
    """The heights of the floors, from low to high: levels with a good share of the area, a storey apart."""
    inside = mesh.surface.height[mesh.surface.margin >= 0.0].astype(np.float64)
    if len(inside) == 0:
        return ()
    bins = np.floor(inside / BIN).astype(np.int64)
    lowest = int(bins.min())
    counts = np.bincount(bins - lowest)
    heights: list[float] = []
    for k in np.argsort(-counts, kind="stable"):
        if counts[k] < LEAST_SHARE * len(inside):
            break
        height = float(np.median(inside[bins == lowest + k]))
        if all(abs(height - known) >= mesh.shape.height for known in heights):
            heights.append(height)
    return tuple(sorted(heights))


def make_top_down_map(mesh: NavigationMesh, floor: int = 0) -> TopDownMap:
    """The map of one floor (0 is the lowest); stairs are on the map of the floor that they start from."""
    heights = find_floor_heights(mesh)
    if not 0 <= floor < len(heights):
        raise NavigationMeshError(f"There is no floor {floor}; this mesh has {len(heights)}.")
    lower, upper = (_compute_floor_boundary(heights, k) for k in (floor, floor + 1))
    surface = mesh.surface
    i0, j0 = int(surface.i.min()), int(surface.j.min())
    image = np.zeros((int(surface.j.max()) - j0 + 1, int(surface.i.max()) - i0 + 1), dtype=np.uint8)
    here = (surface.quads != ABSENT) & (surface.height >= lower) & (surface.height < upper)
    rows, columns = surface.j[here] - j0, surface.i[here] - i0
    image[rows, columns] = np.where(surface.quads[here] == FULL, INSIDE, BORDER)
    spacing = surface.tiling.spacing
    return TopDownMap(
        image=image, metres_per_pixel=spacing, left=(i0 + 0.5) * spacing, top=(j0 + 0.5) * spacing, floor=heights[floor]
    )


def _compute_floor_boundary(heights: tuple[float, ...], floor: int) -> float:
    """Where the part of a floor's map starts: half a metre below the floor."""
    if floor == 0:
        return -np.inf
    return heights[floor] - 0.5 if floor < len(heights) else np.inf
