"""Rectilinear plane geometry in whole millimetres, so that nothing ever nearly touches.

The plane is (x, z) of the scene. Outlines run with the inside on their left (x to the right, z up
on paper), so the inward normal of an edge is its direction turned left.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

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

    def grown(self, by: int) -> "Rect":
        return Rect(self.x0 - by, self.z0 - by, self.x1 + by, self.z1 + by)

    def moved(self, x: int, z: int) -> "Rect":
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
        return _sign(self.end[0] - self.start[0]), _sign(self.end[1] - self.start[1])

    @property
    def normal(self) -> Point:
        """Towards the inside."""
        x, z = self.direction
        return -z, x

    def at(self, along: int, inward: int = 0) -> Point:
        """The point that far along the edge and that far into the room."""
        (dx, dz), (nx, nz) = self.direction, self.normal
        return self.start[0] + dx * along + nx * inward, self.start[1] + dz * along + nz * inward

    def along(self, point: Point) -> int:
        """How far along the edge a point lies."""
        dx, dz = self.direction
        return (point[0] - self.start[0]) * dx + (point[1] - self.start[1]) * dz

    def rect(self, low: int, high: int, depth: int) -> Rect:
        """The strip of the room between two places along the edge."""
        return spanning([self.at(low), self.at(high, depth)])


def spanning(points: Iterable[Point]) -> Rect:
    xs, zs = zip(*points, strict=True)
    return Rect(min(xs), min(zs), max(xs), max(zs))


def bounding(rects: Sequence[Rect]) -> Rect:
    return Rect(min(r.x0 for r in rects), min(r.z0 for r in rects), max(r.x1 for r in rects), max(r.z1 for r in rects))


def cells(rects: Sequence[Rect], holes: Sequence[Rect] = ()) -> list[Rect]:
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
def outline(rects: tuple[Rect, ...]) -> tuple[Point, ...]:
    """The corners of a union without holes, inside on the left."""
    following = dict(_boundary_steps(cells(rects)))
    start = min(following)
    corners: list[Point] = []
    here = start
    while True:
        step = following[here]
        if not corners or not _in_line(corners[-1], here, step):
            corners.append(here)
        here = step
        if here == start:
            break
    if _in_line(corners[-1], corners[0], corners[1]):
        corners.pop(0)
    return tuple(corners)


def _boundary_steps(parts: Sequence[Rect]) -> list[tuple[Point, Point]]:
    steps: set[tuple[Point, Point]] = set()
    for r in parts:
        corners = [(r.x0, r.z0), (r.x1, r.z0), (r.x1, r.z1), (r.x0, r.z1)]
        for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
            if (end, start) in steps:
                steps.remove((end, start))
            else:
                steps.add((start, end))
    return sorted(steps)


def edges(corners: Sequence[Point]) -> list[Edge]:
    return [Edge(a, b) for a, b in zip(corners, (*corners[1:], corners[0]), strict=True)]


def inset(corners: Sequence[Point], by: int) -> tuple[Point, ...]:
    """The outline moved inwards on all sides."""
    sides = edges(corners)
    moved = []
    for before, after in zip(sides[-1:] + sides[:-1], sides, strict=True):
        (bx, bz), (ax, az) = before.normal, after.normal
        moved.append((after.start[0] + by * (bx + ax), after.start[1] + by * (bz + az)))
    return tuple(moved)


def shared(one: Edge, other: Edge) -> tuple[int, int] | None:
    """The part of `one`, as distances along it, where `other` runs the opposite way on the same line."""
    axis = 0 if one.start[1] == one.end[1] else 1
    line = one.start[1 - axis]
    if other.start[1 - axis] != line or other.end[1 - axis] != line:
        return None
    if (one.end[axis] > one.start[axis]) == (other.end[axis] > other.start[axis]):
        return None
    low, high = max(0, one.along(other.end)), min(one.length, one.along(other.start))
    return (low, high) if high > low else None


def remaining(length: int, taken: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is left of [0, length] without the taken intervals."""
    free, here = [], 0
    for low, high in sorted(taken):
        if low > here:
            free.append((here, low))
        here = max(here, high)
    if here < length:
        free.append((here, length))
    return free


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _in_line(a: Point, b: Point, c: Point) -> bool:
    return (a[0] == b[0] == c[0]) or (a[1] == b[1] == c[1])
