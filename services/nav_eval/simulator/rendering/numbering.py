"""Numbers for what is equal: rows of whole numbers, found again by hashing, which beats sorting millions of them."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.jit import compiled, inlined


@compiled
def distinct(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Equal rows get equal numbers, counted as they first appear; and where each number first appears."""
    size = 16
    while size < 2 * len(rows):
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    numbers, first = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.int32)
    found = 0
    for i in range(len(rows)):
        slot = _mixed(rows[i]) & (size - 1)
        while slots[slot] >= 0 and not _equal(rows[first[slots[slot]]], rows[i]):
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot], first[found] = found, i
            found += 1
        numbers[i] = slots[slot]
    return numbers, first[:found]


@inlined
def _mixed(row: NDArray[np.int32]) -> int:
    mixed = np.uint64(0)
    for value in row:
        mixed = (mixed ^ np.uint64(np.uint32(value))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return int(mixed >> np.uint64(16))


@inlined
def _equal(one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    same = True
    for k in range(len(one)):
        same &= one[k] == other[k]
    return same
