"""Rectilinear plane geometry in whole millimetres, so that nothing ever nearly touches; and floors as 5 cm grids.

The plane is (x, z) of the scene. Outlines run with the inside on their left (x to the right, z up
on paper), so the inward normal of an edge is its direction turned left.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Point = tuple[int, int]


class Rect(NamedTuple):
    """An axis-aligned rectangle."""

    x0: int
    z0: int
    x1: int
    z1: int

    @property
    def width(self) -> int:
        return self.x1 - self.x0

    @property
    def depth(self) -> int:
        return self.z1 - self.z0

    @property
    def area(self) -> float:
        """Square metres."""
        return self.width * self.depth / 1e6

    @property
    def center(self) -> Point:
        return (self.x0 + self.x1) // 2, (self.z0 + self.z1) // 2

    def grow(self, by: int) -> "Rect":
        return Rect(self.x0 - by, self.z0 - by, self.x1 + by, self.z1 + by)

    def translate(self, x: int, z: int) -> "Rect":
        return Rect(self.x0 + x, self.z0 + z, self.x1 + x, self.z1 + z)

    def overlaps(self, other: "Rect") -> bool:
        """Touching is not overlapping."""
        return self.x0 < other.x1 and other.x0 < self.x1 and self.z0 < other.z1 and other.z0 < self.z1

    def contains(self, point: Point) -> bool:
        return self.x0 <= point[0] <= self.x1 and self.z0 <= point[1] <= self.z1

    def encloses(self, other: "Rect") -> bool:
        return self.x0 <= other.x0 and self.z0 <= other.z0 and other.x1 <= self.x1 and other.z1 <= self.z1


class Edge(NamedTuple):
    """A directed side of an outline; the inside is on its left."""

    start: Point
    end: Point

    @property
    def length(self) -> int:
        return abs(self.end[0] - self.start[0]) + abs(self.end[1] - self.start[1])

    @property
    def direction(self) -> Point:
        return _get_sign(self.end[0] - self.start[0]), _get_sign(self.end[1] - self.start[1])

    @property
    def normal(self) -> Point:
        """Towards the inside."""
        x, z = self.direction
        return -z, x

    def at(self, along: int, inward: int = 0) -> Point:
        """The point that far along the edge and that far into the room."""
        dx, dz = self.direction
        return self.start[0] + dx * along - dz * inward, self.start[1] + dz * along + dx * inward

    def along(self, point: Point) -> int:
        """How far along the edge a point lies."""
        dx, dz = self.direction
        return (point[0] - self.start[0]) * dx + (point[1] - self.start[1]) * dz

    def rect(self, low: int, high: int, depth: int) -> Rect:
        """The strip of the room between two places along the edge."""
        return get_spanning_rect([self.at(low), self.at(high, depth)])


def get_spanning_rect(points: Iterable[Point]) -> Rect:
    xs, zs = zip(*points, strict=True)
    return Rect(min(xs), min(zs), max(xs), max(zs))


def get_bounding_rect(rects: Sequence[Rect]) -> Rect:
    return Rect(min(r.x0 for r in rects), min(r.z0 for r in rects), max(r.x1 for r in rects), max(r.z1 for r in rects))


def cut_cells(rects: Sequence[Rect], holes: Sequence[Rect] = ()) -> list[Rect]:
    """The union of the rectangles without the holes, cut so that every neighbour shares whole sides."""
    xs = sorted({x for r in (*rects, *holes) for x in (r.x0, r.x1)})
    zs = sorted({z for r in (*rects, *holes) for z in (r.z0, r.z1)})
    found = []
    for x0, x1 in pairwise(xs):
        for z0, z1 in pairwise(zs):
            cell = Rect(x0, z0, x1, z1)
            if any(r.encloses(cell) for r in rects) and not any(h.encloses(cell) for h in holes):
                found.append(cell)
    return found


@lru_cache(maxsize=4096)
def find_outline(rects: tuple[Rect, ...]) -> tuple[Point, ...]:
    """The corners of a union without holes, inside on the left."""
    following = dict(_find_boundary_steps(cut_cells(rects)))
    start = min(following)
    corners: list[Point] = []
    here = start
    while True:
        step = following[here]
        if not corners or not _is_in_line(corners[-1], here, step):
            corners.append(here)
        here = step
        if here == start:
            break
    if _is_in_line(corners[-1], corners[0], corners[1]):
        corners.pop(0)
    return tuple(corners)


def _find_boundary_steps(parts: Sequence[Rect]) -> list[tuple[Point, Point]]:
    steps: set[tuple[Point, Point]] = set()
    for r in parts:
        corners = [(r.x0, r.z0), (r.x1, r.z0), (r.x1, r.z1), (r.x0, r.z1)]
        for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
            if (end, start) in steps:
                steps.remove((end, start))
            else:
                steps.add((start, end))
    return sorted(steps)


def get_edges(corners: Sequence[Point]) -> list[Edge]:
    return [Edge(a, b) for a, b in zip(corners, (*corners[1:], corners[0]), strict=True)]


def shrink_outline(corners: Sequence[Point], by: int) -> tuple[Point, ...]:
    """The outline moved inwards on all sides."""
    sides = get_edges(corners)
    moved = []
    for before, after in zip(sides[-1:] + sides[:-1], sides, strict=True):
        (bx, bz), (ax, az) = before.normal, after.normal
        moved.append((after.start[0] + by * (bx + ax), after.start[1] + by * (bz + az)))
    return tuple(moved)


def find_shared_span(one: Edge, other: Edge) -> tuple[int, int] | None:
    """The part of `one`, as distances along it, where `other` runs the opposite way on the same line."""
    axis = 0 if one.start[1] == one.end[1] else 1
    line = one.start[1 - axis]
    if other.start[1 - axis] != line or other.end[1 - axis] != line:
        return None
    if (one.end[axis] > one.start[axis]) == (other.end[axis] > other.start[axis]):
        return None
    low, high = max(0, one.along(other.end)), min(one.length, one.along(other.start))
    return (low, high) if high > low else None


def find_remaining(length: int, taken: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is left of [0, length] without the taken intervals."""
    free, here = [], 0
    for low, high in sorted(taken):
        if low > here:
            free.append((here, low))
        here = max(here, high)
    if here < length:
        free.append((here, length))
    return free


def _get_sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _is_in_line(a: Point, b: Point, c: Point) -> bool:
    return (a[0] == b[0] == c[0]) or (a[1] == b[1] == c[1])


CELL = 50  #: millimetres

Mask = NDArray[np.bool_]
Metric = NDArray[np.floating]


def get_slices(rect: Rect, origin: Point, *, whole: bool) -> tuple[slice, slice]:
    """Rows and columns of the cells wholly inside the rectangle, or of all it touches."""
    x0, z0, x1, z1 = rect.x0 - origin[0], rect.z0 - origin[1], rect.x1 - origin[0], rect.z1 - origin[1]
    if whole:
        return slice(max(-(-z0 // CELL), 0), max(z1 // CELL, 0)), slice(max(-(-x0 // CELL), 0), max(x1 // CELL, 0))
    return slice(max(z0 // CELL, 0), max(-(-z1 // CELL), 0)), slice(max(x0 // CELL, 0), max(-(-x1 // CELL), 0))


def dilate(blocked: Mask, radius: int) -> Mask:
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


def flood(free: Mask, start: tuple[int, int]) -> Mask:
    """The free cells that hang together with the start."""
    reached = np.zeros_like(free)
    reached[start] = free[start]
    while True:
        grown = reached
        for axis in (0, 1):
            grown = grown | _sweep(free, grown, axis)
        if (grown == reached).all():
            return reached
        reached = grown


def get_middles(mask: Mask, origin: Point) -> tuple[Metric, Metric]:
    """Where the marked cells are, x and z in millimetres."""
    rows, columns = np.nonzero(mask)
    return origin[0] + (columns + 0.5) * CELL, origin[1] + (rows + 0.5) * CELL


def measure_distance_to(rect: Rect, x: Metric, z: Metric) -> float:
    """From a rectangle to the nearest of the points; infinite without points."""
    if not len(x):
        return float("inf")
    dx = np.maximum(np.maximum(rect.x0 - x, x - rect.x1), 0)
    dz = np.maximum(np.maximum(rect.z0 - z, z - rect.z1), 0)
    return float(np.sqrt((dx * dx + dz * dz).min()))


def _sweep(free: Mask, reached: Mask, axis: int) -> Mask:
    """Spread along all free runs of one axis that hold a reached cell."""
    runs = np.cumsum(~free, axis=axis)
    lines = np.arange(free.shape[1 - axis]) * (free.shape[axis] + 1)
    numbers = runs + (lines[None, :] if axis == 0 else lines[:, None])
    hit = np.zeros(int(numbers.max()) + 1, bool)
    hit[numbers[reached]] = True
    spread: Mask = hit[numbers] & free
    return spread
