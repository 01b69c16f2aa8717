"""Cutting a heap of triangles into small compact chunks, so that most of a scene is rejected box by box.

A chunk holds at most 64 triangles: which of them can be seen from somewhere fits one 64-bit mask.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.jit import compiled

CHUNK_TRIANGLES = 64
GROUP = 16
"""Neighbouring chunks that are rejected together where possible."""


def chunk_bounds(points: NDArray[np.float32], first: NDArray[np.int64]) -> NDArray[np.float32]:
    """Lower and upper corner of every chunk; `points` are the three corners per triangle."""
    if len(points) == 0:
        return np.empty((0, 6), dtype=np.float32)
    lower = np.minimum.reduceat(points.min(axis=1), first[:-1])
    upper = np.maximum.reduceat(points.max(axis=1), first[:-1])
    return np.concatenate([lower, upper], axis=1)


def longest_edges(points: NDArray[np.float32], first: NDArray[np.int64]) -> NDArray[np.float32]:
    """The longest edge in every chunk."""
    if len(points) == 0:
        return np.empty(0, dtype=np.float32)
    edges = np.linalg.norm(points - np.roll(points, 1, axis=1), axis=2).max(axis=1)
    return np.maximum.reduceat(edges, first[:-1]).astype(np.float32)


def normal_cones(normals: NDArray[np.float64], first: NDArray[np.int64]) -> NDArray[np.float32]:
    """The narrowest cones around the mean direction of each chunk's unit normals."""
    if len(normals) == 0:
        return np.empty((0, 5), dtype=np.float32)
    sums = np.add.reduceat(normals, first[:-1])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    axes = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 1e-9)
    along = (normals * np.repeat(axes, np.diff(first), axis=0)).sum(axis=1)
    cosines = np.clip(np.minimum.reduceat(along, first[:-1]) - 1e-4, 0.0, 1.0)
    return np.concatenate([axes, cosines[:, None], np.sqrt(1 - cosines**2)[:, None]], axis=1).astype(np.float32)


def group_boxes(
    bounds: NDArray[np.float32], longest: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Boxes and longest edges of every GROUP chunks."""
    starts = np.arange(0, len(bounds), GROUP)
    if len(starts) == 0:
        return bounds, longest
    lower = np.minimum.reduceat(bounds[:, :3], starts)
    upper = np.maximum.reduceat(bounds[:, 3:], starts)
    return np.concatenate([lower, upper], axis=1), np.maximum.reduceat(longest, starts)


def blocks(points: NDArray[np.float32], first: NDArray[np.int64]) -> NDArray[np.float32]:
    """Coordinates by chunk and lane; lanes that a chunk does not fill are never looked at."""
    sizes = np.diff(first)
    chunk = np.repeat(np.arange(len(sizes)), sizes)
    lane = np.arange(len(points)) - np.repeat(first[:-1], sizes)
    filled = np.zeros((len(sizes), 9, CHUNK_TRIANGLES), dtype=np.float32)
    filled[chunk, :, lane] = points.reshape(-1, 9)
    return filled.reshape(len(sizes), 9 * CHUNK_TRIANGLES)


def kd_chunks(centroids: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of the triangles, and where each chunk starts in it (the end included).

    Splits at the median of the longest side; the left half is a whole number of chunks, so that all
    but the last few are full.
    """
    order = np.arange(len(centroids), dtype=np.int64)
    starts = _split(np.ascontiguousarray(centroids, dtype=np.float32), order, CHUNK_TRIANGLES)
    return order, starts


@compiled
def _split(points: NDArray[np.float32], order: NDArray[np.int64], leaf: int) -> NDArray[np.int64]:
    count = len(order)
    starts = np.empty((count + leaf - 1) // leaf + 1, dtype=np.int64)
    found = 0
    stack = np.empty((128, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, count
    depth = 1 if count > 0 else 0
    while depth > 0:
        depth -= 1
        low, high = stack[depth, 0], stack[depth, 1]
        if high - low <= leaf:
            starts[found] = low
            found += 1
            continue
        middle = low + leaf * (((high - low + leaf - 1) // leaf + 1) // 2)
        _select(points, order, low, high, middle, _longest_axis(points, order, low, high))
        stack[depth, 0], stack[depth, 1] = middle, high
        stack[depth + 1, 0], stack[depth + 1, 1] = low, middle
        depth += 2
    starts[found] = count
    return starts[: found + 1]


@compiled
def _longest_axis(points: NDArray[np.float32], order: NDArray[np.int64], low: int, high: int) -> int:
    best, longest = 0, -1.0
    for axis in range(3):
        smallest = largest = points[order[low], axis]
        for i in range(low, high):
            value = points[order[i], axis]
            smallest = min(smallest, value)
            largest = max(largest, value)
        if largest - smallest > longest:
            best, longest = axis, largest - smallest
    return best


@compiled
def _select(points: NDArray[np.float32], order: NDArray[np.int64], low: int, high: int, nth: int, axis: int) -> None:
    """Quickselect: afterwards nothing before position `nth` lies beyond what stands at it."""
    left, right = low, high - 1
    while left < right:
        pivot = points[order[(left + right) // 2], axis]
        i, j = left, right
        while i <= j:
            while points[order[i], axis] < pivot:
                i += 1
            while points[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if nth <= j:
            right = j
        elif nth >= i:
            left = i
        else:
            return
