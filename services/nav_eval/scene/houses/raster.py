"""Floors as grids of 5 cm cells."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.houses.plan.geometry import Point, Rect

CELL = 50  #: millimetres

Mask = NDArray[np.bool_]
Metric = NDArray[np.floating]


def slices(rect: Rect, origin: Point, *, whole: bool) -> tuple[slice, slice]:
    """Rows and columns of the cells wholly inside the rectangle, or of all it touches."""
    x0, z0, x1, z1 = rect.x0 - origin[0], rect.z0 - origin[1], rect.x1 - origin[0], rect.z1 - origin[1]
    if whole:
        return slice(max(-(-z0 // CELL), 0), max(z1 // CELL, 0)), slice(max(-(-x0 // CELL), 0), max(x1 // CELL, 0))
    return slice(max(z0 // CELL, 0), max(-(-z1 // CELL), 0)), slice(max(x0 // CELL, 0), max(-(-x1 // CELL), 0))


def dilated(blocked: Mask, radius: int) -> Mask:
    """Cells whose middle is closer than the radius to the middle of a blocked one, the border included."""
    reach = radius // CELL
    padded = np.pad(blocked, reach, constant_values=True)
    grown = np.zeros_like(blocked)
    height, width = blocked.shape
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            if (down * down + right * right) * CELL * CELL <= radius * radius:
                grown |= padded[reach + down : reach + down + height, reach + right : reach + right + width]
    return grown


def flooded(free: Mask, start: tuple[int, int]) -> Mask:
    """The free cells that hang together with the start."""
    reached = np.zeros_like(free)
    reached[start] = free[start]
    while True:
        grown = reached
        for axis in (0, 1):
            grown = grown | _swept(free, grown, axis)
        if (grown == reached).all():
            return reached
        reached = grown


def middles(mask: Mask, origin: Point) -> tuple[Metric, Metric]:
    """Where the marked cells are, x and z in millimetres."""
    rows, columns = np.nonzero(mask)
    return origin[0] + (columns + 0.5) * CELL, origin[1] + (rows + 0.5) * CELL


def distance_to(rect: Rect, x: Metric, z: Metric) -> float:
    """From a rectangle to the nearest of the points; infinite without points."""
    if not len(x):
        return float("inf")
    dx = np.maximum(np.maximum(rect.x0 - x, x - rect.x1), 0)
    dz = np.maximum(np.maximum(rect.z0 - z, z - rect.z1), 0)
    return float(np.sqrt((dx * dx + dz * dz).min()))


def _swept(free: Mask, reached: Mask, axis: int) -> Mask:
    """Spread along all free runs of one axis that hold a reached cell."""
    runs = np.cumsum(~free, axis=axis)
    lines = np.arange(free.shape[1 - axis]) * (free.shape[axis] + 1)
    numbers = runs + (lines[None, :] if axis == 0 else lines[:, None])
    hit = np.zeros(int(numbers.max()) + 1, bool)
    hit[numbers[reached]] = True
    spread: Mask = hit[numbers] & free
    return spread
