"""A binary heap of nodes that can be moved forward, ordered by key and then by number.

Ties broken by number make every order, and with it every distance field, the same everywhere.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.kernels import kernel


class Heap(NamedTuple):
    nodes: NDArray[np.int32]
    """The heap itself."""
    place: NDArray[np.int32]
    """Node → where it is in the heap; −1 when it is not."""


@kernel
def new_heap(size: int) -> Heap:
    return Heap(np.empty(size, dtype=np.int32), np.full(size, -1, dtype=np.int32))


@kernel
def _before(keys: NDArray[np.float64], first: int, second: int) -> bool:
    return bool(keys[first] < keys[second] or (keys[first] == keys[second] and first < second))


@kernel
def _put(heap: Heap, place: int, node: int) -> None:
    heap.nodes[place] = node
    heap.place[node] = place


@kernel
def push(heap: Heap, count: int, keys: NDArray[np.float64], node: int) -> int:
    """Add a node, or move it forward after its key has shrunk; returns the new count."""
    place = int(heap.place[node])
    if place < 0:
        place = count
        count += 1
    while place > 0:
        parent = (place - 1) // 2
        if not _before(keys, node, heap.nodes[parent]):
            break
        _put(heap, place, heap.nodes[parent])
        place = parent
    _put(heap, place, node)
    return count


@kernel
def pop(heap: Heap, count: int, keys: NDArray[np.float64]) -> int:
    """Take the first node out; the caller's count goes down by one."""
    top, node = int(heap.nodes[0]), heap.nodes[count - 1]
    heap.place[top] = -1
    count -= 1
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _before(keys, heap.nodes[child + 1], heap.nodes[child]):
            child += 1
        if not _before(keys, heap.nodes[child], node):
            break
        _put(heap, place, heap.nodes[child])
        place = child
    if count > 0:
        _put(heap, place, node)
    return top
