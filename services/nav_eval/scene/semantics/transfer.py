"""Carrying labels from one mesh of a place to another.

Data sets keep annotations on a mesh of its own, which may be cut into triangles differently from
the one that is shown. Each triangle takes the label of the annotated triangle whose middle is
nearest to its own.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

CELL = 0.1  # metres: annotated meshes have a triangle every few centimetres
REACH = 0.5  # metres: farther away it is something else


def nearest(points: NDArray[np.float32], targets: NDArray[np.float32]) -> NDArray[np.int64]:
    """For each point the nearest target within reach (the first of equals), −1 where there is none."""
    found = np.full(len(points), -1, np.int64)
    if not len(points) or not len(targets):
        return found
    buckets = 1 << max(len(targets).bit_length(), 4)
    keys = _keys(targets.astype(np.float64), buckets)
    order = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[order], np.arange(buckets + 1))
    _search(points.astype(np.float64), targets.astype(np.float64), order, starts, found)
    return found


@njit(cache=True)
def _keys(points: NDArray[np.float64], buckets: int) -> NDArray[np.int64]:
    """The place of each point's cell in the hash table."""
    keys = np.empty(len(points), np.int64)
    for index in range(len(points)):
        keys[index] = _bucket(_cell(points[index, 0]), _cell(points[index, 1]), _cell(points[index, 2]), buckets)
    return keys


@njit(cache=True)
def _cell(coordinate: float) -> int:
    return int(np.floor(coordinate / CELL))


@njit(cache=True)
def _bucket(x: int, y: int, z: int, buckets: int) -> int:
    return (x * 73856093 ^ y * 19349663 ^ z * 83492791) & (buckets - 1)


@njit(cache=True)
def _search(
    points: NDArray[np.float64],
    targets: NDArray[np.float64],
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    buckets, rings = len(starts) - 1, int(np.ceil(REACH / CELL))
    for index in range(len(points)):
        px, py, pz = points[index]
        cx, cy, cz = _cell(px), _cell(py), _cell(pz)
        best = REACH * REACH
        for ring in range(rings + 1):
            if (ring - 1) * CELL > np.sqrt(best):  # nothing nearer can lie farther out
                break
            for x in range(cx - ring, cx + ring + 1):
                for y in range(cy - ring, cy + ring + 1):
                    edge = abs(x - cx) == ring or abs(y - cy) == ring
                    for z in range(cz - ring, cz + ring + 1, 1 if edge or ring == 0 else 2 * ring):
                        bucket = _bucket(x, y, z, buckets)
                        for place in range(starts[bucket], starts[bucket + 1]):
                            target = order[place]
                            dx, dy, dz = targets[target, 0] - px, targets[target, 1] - py, targets[target, 2] - pz
                            distance = dx * dx + dy * dy + dz * dz
                            if distance < best or (distance == best and target < found[index]):
                                best = distance
                                found[index] = target
