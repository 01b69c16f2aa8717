"""Which island lies under every cell of a grid: the map that habitat-lab draws on."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.scene.navigation.mesh import SIDEWAYS_ERROR, NavigationMesh
from nav_eval.scene.navigation.surface import Surface, find_nearest, get_height, get_island, locate, to_lattice


def make_island_view(
    mesh: NavigationMesh,
    corner: tuple[float, float],
    shape: tuple[int, int],
    *,
    pixel: float,
    height: float,
    eps: float,
) -> NDArray[np.int32]:
    """Rows along z, columns along x, each sampled at its lower corner; −1 where nobody can stand near that height."""
    view = np.full(shape, -1, dtype=np.int32)
    _sample_islands(mesh.surface, (corner[0], height, corner[1]), pixel, eps, view)
    return view


@compile_kernel
def _sample_islands(
    surface: Surface, corner: tuple[float, float, float], pixel: float, eps: float, view: NDArray[np.int32]
) -> None:
    y = corner[1]
    for row in range(view.shape[0]):
        for column in range(view.shape[1]):
            x, z = corner[0] + column * pixel, corner[2] + row * pixel
            u, v = to_lattice(surface, x, z)
            quad = locate(surface, u, v, y)
            if quad < 0:
                found, x, _, z = find_nearest(surface, (x, y, z), SIDEWAYS_ERROR, eps + SIDEWAYS_ERROR)
                if not found:
                    continue
                u, v = to_lattice(surface, x, z)
                quad = locate(surface, u, v, y)
            if quad >= 0 and abs(get_height(surface, quad, u, v) - y) <= eps:
                view[row, column] = get_island(surface, quad, u, v)
