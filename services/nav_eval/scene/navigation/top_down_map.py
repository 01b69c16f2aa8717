"""Top-down maps of a navigation mesh, floor by floor, for previews and replays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.surface import (
    ABSENT,
    FULL,
    Surface,
    find_nearest,
    get_height,
    get_island,
    locate,
    to_lattice,
)

OUTSIDE, INSIDE, BORDER = 0, 1, 2  #: map codes, as Habitat's

BIN = 0.25  #: metres of height per bin when looking for floors
NO_ISLAND = -1
SIDEWAYS = 0.01  #: metres off the region that still count, as Habitat has it
HIGHEST = 4.0  #: metres up or down that a place is looked for
MOST_PIXELS = 1 << 28
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TopDownView:
    """Which pixels of a rectangle can be stood at near one height, sampled at each pixel's lower corner."""

    islands: NDArray[np.int32]  #: rows along z, columns along x; the island at each pixel, NO_ISLAND for none

    @property
    def navigable(self) -> NDArray[np.bool_]:
        view: NDArray[np.bool_] = self.islands != NO_ISLAND
        return view


def make_top_down_view(
    mesh: NavigationMesh, *, lower: Vec3, upper: Vec3, metres_per_pixel: float, height: float, height_error: float = 0.5
) -> TopDownView:
    """What Habitat shows of a mesh between two corners, at one height."""
    if metres_per_pixel <= 0.0:
        raise NavigationMeshError(f"A pixel of {metres_per_pixel} m shows nothing; give a positive size.")
    pixel = np.float32(metres_per_pixel)  # Habitat counts in single precision: 6.1 m are 61 pixels of 0.1 m, not 60
    columns, rows = (int(abs(np.float32(upper[axis]) - np.float32(lower[axis])) / pixel) for axis in (0, 2))
    if columns * rows > MOST_PIXELS:
        raise NavigationMeshError(f"A view of {columns} × {rows} pixels is too large; make pixels larger.")
    islands = np.full((rows, columns), NO_ISLAND, dtype=np.int32)
    corner = (min(lower[0], upper[0]), float(height), min(lower[2], upper[2]))
    _sample_view(mesh.surface, islands, corner, float(metres_per_pixel), float(height_error))
    return TopDownView(islands=islands)


@compile_kernel
def _sample_view(
    surface: Surface, islands: NDArray[np.int32], corner: tuple[float, float, float], pixel: float, height_error: float
) -> None:
    for row in range(islands.shape[0]):
        for column in range(islands.shape[1]):
            x, z = corner[0] + column * pixel, corner[2] + row * pixel
            found, on_x, on_y, on_z = _find_standing_place(surface, (x, corner[1], z))
            if found and abs(on_y - corner[1]) <= height_error:
                u, v = to_lattice(surface, on_x, on_z)
                islands[row, column] = get_island(surface, locate(surface, u, v, on_y), u, v)


@compile_kernel
def _find_standing_place(surface: Surface, point: tuple[float, float, float]) -> tuple[bool, float, float, float]:
    """(found, x, y, z) at most `SIDEWAYS` off the point."""
    x, y, z = point
    u, v = to_lattice(surface, x, z)
    quad = locate(surface, u, v, y)
    if quad >= 0:
        return True, x, get_height(surface, quad, u, v), z
    found, on_x, on_y, on_z = find_nearest(surface, point, SIDEWAYS, HIGHEST)
    near = found and (on_x - x) * (on_x - x) + (on_z - z) * (on_z - z) <= SIDEWAYS * SIDEWAYS
    u, v = to_lattice(surface, on_x, on_z)
    return near and locate(surface, u, v, on_y) >= 0, on_x, on_y, on_z


def _compute_floor_boundary(heights: tuple[float, ...], floor: int) -> float:
    """Where the part of a floor's map starts: half a metre below the floor."""
    if floor == 0:
        return -np.inf
    return heights[floor] - 0.5 if floor < len(heights) else np.inf
