"""Rays through the triangles of a house, as machine code: what blocks light, and how far away.

Triangles are kept in a tree of boxes. All arithmetic is plain IEEE double precision, so the same house gives the same
light on every machine.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_inline, compile_kernel, compile_scalar_kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LEAF = 4  #: triangles in one leaf of the tree
STACK = 128  #: more than the tree is deep
NEAREST = 1e-4  #: metres; what is nearer than this is the surface itself


class RayTree(NamedTuple):
    """Triangles as corner and two sides, in the order of the leaves, and the boxes around them."""

    triangles: Array  #: N × 9
    boxes: Array  #: M × 6: low corner, high corner
    children: Indices  #: M × 2: the two children, or the first triangle and minus the number of them


def make_ray_tree(corners: Array) -> RayTree:
    """The tree of N × 3 × 3 corners."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    count = len(corners)
    order, boxes, children = np.arange(count), np.empty((2 * count + 1, 6)), np.zeros((2 * count + 1, 2), np.int64)
    used = _split_boxes(np.ascontiguousarray(low), np.ascontiguousarray(high), order, boxes, children)
    chosen = corners[order]
    sides = np.concatenate([chosen[:, 0], chosen[:, 1] - chosen[:, 0], chosen[:, 2] - chosen[:, 0]], axis=1)
    return RayTree(np.ascontiguousarray(sides), boxes[:used].copy(), children[:used].copy())


@compile_kernel
def _split_boxes(low: Array, high: Array, order: Indices, boxes: Array, children: Indices) -> int:
    """Halve the longest side of each box until few triangles are left in it; how many boxes that makes.

    The arrays are the caller's: code that returns new ones needs numba in each process.
    """
    count = len(low)
    stack = np.empty((256, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, count
    used, top = 1, 1
    while top > 0:
        top -= 1
        node, start, end = stack[top, 0], stack[top, 1], stack[top, 2]
        for axis in range(3):
            boxes[node, axis], boxes[node, 3 + axis] = np.inf, -np.inf
            for place in range(start, end):
                boxes[node, axis] = min(boxes[node, axis], low[order[place], axis])
                boxes[node, 3 + axis] = max(boxes[node, 3 + axis], high[order[place], axis])
        if end - start <= LEAF:
            children[node, 0], children[node, 1] = start, start - end
            continue
        longest = 0
        for axis in range(1, 3):
            if boxes[node, 3 + axis] - boxes[node, axis] > boxes[node, 3 + longest] - boxes[node, longest]:
                longest = axis
        middle = boxes[node, longest] + boxes[node, 3 + longest]
        cut = start
        for place in range(start, end):
            number = order[place]
            if low[number, longest] + high[number, longest] < middle:
                order[place], order[cut] = order[cut], number
                cut += 1
        if cut in (start, end):
            cut = (start + end) // 2
        children[node, 0], children[node, 1] = used, used + 1
        stack[top, 0], stack[top, 1], stack[top, 2] = used, start, cut
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = used + 1, cut, end
        top += 2
        used += 2
    return used


@compile_inline
def _measure_hit(triangles: Array, place: int, start: Array, direction: Array) -> float:
    """How far along the ray one triangle is; infinity beside it."""
    ex, ey, ez = triangles[place, 3], triangles[place, 4], triangles[place, 5]
    fx, fy, fz = triangles[place, 6], triangles[place, 7], triangles[place, 8]
    dx, dy, dz = direction[0], direction[1], direction[2]
    px, py, pz = dy * fz - dz * fy, dz * fx - dx * fz, dx * fy - dy * fx
    area = ex * px + ey * py + ez * pz
    if area == 0.0:
        return np.inf
    sx, sy, sz = start[0] - triangles[place, 0], start[1] - triangles[place, 1], start[2] - triangles[place, 2]
    u = (sx * px + sy * py + sz * pz) / area
    if u < 0.0 or u > 1.0:
        return np.inf
    qx, qy, qz = sy * ez - sz * ey, sz * ex - sx * ez, sx * ey - sy * ex
    v = (dx * qx + dy * qy + dz * qz) / area
    if v < 0.0 or u + v > 1.0:
        return np.inf
    return float((fx * qx + fy * qy + fz * qz) / area)


@compile_inline
def _is_passed_by(boxes: Array, node: int, start: Array, direction: Array, reach: float) -> bool:
    """Whether a ray ends before a box, or does not meet it."""
    enter, leave = 0.0, reach
    for axis in range(3):
        if direction[axis] != 0.0:
            one = (boxes[node, axis] - start[axis]) / direction[axis]
            other = (boxes[node, 3 + axis] - start[axis]) / direction[axis]
            enter, leave = max(enter, min(one, other)), min(leave, max(one, other))
            if enter > leave:
                return True
        elif start[axis] < boxes[node, axis] or start[axis] > boxes[node, 3 + axis]:
            return True
    return enter > leave


@compile_scalar_kernel
def find_hit(tree: RayTree, stack: Indices, start: Array, direction: Array, reach: float) -> float:
    """How far it is to the nearest triangle on the way, or `reach`.

    `stack` is room for `STACK` numbers that the caller lends.
    """
    triangles, boxes, children = tree.triangles, tree.boxes, tree.children
    stack[0] = 0
    top = 1
    nearest = reach
    while top > 0:
        top -= 1
        node = stack[top]
        if _is_passed_by(boxes, node, start, direction, nearest):
            continue
        if children[node, 1] > 0:
            stack[top], stack[top + 1] = children[node, 0], children[node, 1]
            top += 2
            continue
        for place in range(children[node, 0], children[node, 0] - children[node, 1]):
            distance = _measure_hit(triangles, place, start, direction)
            if NEAREST < distance < nearest:
                nearest = distance
    return nearest


@compile_inline
def _is_blocking(tree: RayTree, leaf: int, start: Array, direction: Array, reach: float) -> bool:
    """Whether a triangle of a leaf is in the way."""
    for place in range(tree.children[leaf, 0], tree.children[leaf, 0] - tree.children[leaf, 1]):
        if NEAREST < _measure_hit(tree.triangles, place, start, direction) < reach:
            return True
    return False


@compile_scalar_kernel
def find_blocker(tree: RayTree, stack: Indices, start: Array, direction: Array, reach: float, guess: int) -> int:
    """A leaf with a triangle that is in the way, -1 if there is none.

    What was in the way of a ray close by nearly always is again: `guess` is tried first, -1 is no guess. It changes no
    answer. Larger boxes let through whatever a box within them does, also as rounded (neither subtraction nor division
    turns an order round), so a leaf is looked into exactly if its own box is met.
    """
    boxes, children = tree.boxes, tree.children
    if (
        guess >= 0
        and not _is_passed_by(boxes, guess, start, direction, reach)
        and _is_blocking(tree, guess, start, direction, reach)
    ):
        return guess
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if _is_passed_by(boxes, node, start, direction, reach):
            continue
        if children[node, 1] > 0:
            stack[top], stack[top + 1] = children[node, 0], children[node, 1]
            top += 2
        elif _is_blocking(tree, node, start, direction, reach):
            return int(node)
    return -1
