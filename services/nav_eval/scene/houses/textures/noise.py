"""Seamless noise from basic arithmetic only, so that every machine paints the same bytes."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.houses.randomness import Draw

Array = NDArray[np.float64]


def noise(draw: Draw, shape: tuple[int, int], cells: tuple[int, int]) -> Array:
    """Smooth periodic noise in [0, 1]; `cells` bumps down and across."""
    lattice = draw.units(*cells)
    return _stretched(_stretched(lattice, shape[0]).T, shape[1]).T


def layered(draw: Draw, shape: tuple[int, int], cells: tuple[int, int], octaves: int) -> Array:
    """Noise over noise, each octave twice as fine and half as strong."""
    total, weight, whole = np.zeros(shape), 1.0, 0.0
    for octave in range(octaves):
        scale = 1 << octave
        fine = (min(cells[0] * scale, shape[0]), min(cells[1] * scale, shape[1]))
        total += weight * noise(draw, shape, fine)
        whole, weight = whole + weight, weight / 2
    return total / whole


def speckle(draw: Draw, shape: tuple[int, int]) -> Array:
    """Independent pixels in [0, 1]."""
    return draw.units(*shape)


def coordinates(shape: tuple[int, int]) -> tuple[Array, Array]:
    """Rows and columns of the pixel centres in [0, 1), as broadcastable arrays."""
    rows = (np.arange(shape[0]) + 0.5)[:, None] / shape[0]
    columns = (np.arange(shape[1]) + 0.5)[None, :] / shape[1]
    return rows, columns


def _stretched(lattice: Array, size: int) -> Array:
    """Interpolate the rows of a periodic lattice to `size` rows."""
    count = len(lattice)
    place = np.arange(size) * (count / size)
    low = place.astype(np.int64)
    part = place - low
    smooth = (part * part * (3 - 2 * part))[:, None]
    first, second = lattice[low % count], lattice[(low + 1) % count]
    stretched: Array = first + (second - first) * smooth
    return stretched
