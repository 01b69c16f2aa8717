"""The outlines of bands of cells, as loops of few corners.

An outline is straightened between the corners where three bands, or two and the outside, meet. A stretch that two
bands share is straightened once, so that both keep the same corners and polygons on both sides have equal edges.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.polygons.cells import Cells

HEIGHT_WEIGHT = 0.1  #: a corner may be this much farther off its line upwards than sideways

Loop = list[int]  #: corners, the inside to the left


class _Outline:
    """The edges between bands, and those to the outside."""

    def __init__(self, cells: Cells) -> None:
        kept = cells.band != cells.beyond
        columns = (cells.start[kept], cells.end[kept], cells.band[kept], cells.beyond[kept])
        self.corners = cells.corners
        self.next: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        self.beyond: dict[tuple[int, int], int] = {}
        sides: set[tuple[int, int]] = set()
        for start, end, band, beyond in zip(*(column.tolist() for column in columns), strict=True):
            self.next[band][start].append(end)
            self.beyond[start, end] = beyond
            sides.add((min(start, end), max(start, end)))
        self.valence = Counter(corner for side in sides for corner in side)

    def is_joint(self, before: int, corner: int, after: int) -> bool:
        """Does the outline meet others here, or change what is beyond it?"""
        return self.valence[corner] > 2 or self.beyond[before, corner] != self.beyond[corner, after]


def trace_contours(cells: Cells, tolerance: float) -> dict[int, list[Loop]]:
    """Per band its outlines: outer ones counter-clockwise in (x, z), holes clockwise."""
    outline = _Outline(cells)
    straight: dict[tuple[int, ...], list[int]] = {}
    return {
        band: [
            loop for raw in _join_edges(outline, edges) if len(loop := _simplify(outline, raw, tolerance, straight)) > 2
        ]
        for band, edges in sorted(outline.next.items())
    }


def _join_edges(outline: _Outline, edges: dict[int, list[int]]) -> Iterable[Loop]:
    """Edges put together to loops; where several go on, the one farthest to the left."""
    for first in sorted(edges):
        while edges[first]:
            loop, before, here = [first], first, edges[first].pop()
            while here != first:
                loop.append(here)
                ways = edges[here]
                choice = 0 if len(ways) == 1 else _find_leftmost(outline.corners, before, here, ways)
                before, here = here, ways.pop(choice)
            yield loop


def _find_leftmost(corners: NDArray[np.float64], before: int, here: int, ways: Sequence[int]) -> int:
    came = corners[here] - corners[before]
    leave = corners[list(ways)] - corners[here]
    turn = np.arctan2(came[0] * leave[:, 2] - came[2] * leave[:, 0], came[0] * leave[:, 0] + came[2] * leave[:, 2])
    return int(np.argmax(np.where(turn > np.pi - 1e-9, -np.pi, turn)))


def _simplify(outline: _Outline, loop: Loop, tolerance: float, done: dict[tuple[int, ...], list[int]]) -> Loop:
    count = len(loop)
    joints = [k for k in range(count) if outline.is_joint(loop[k - 1], loop[k], loop[(k + 1) % count])]
    if not joints:
        joints = [loop.index(min(loop))]  # the same corner for both sides of a closed seam
    result: Loop = []
    for k, start in enumerate(joints):
        length = (joints[(k + 1) % len(joints)] - start) % count or count
        arc = [loop[(start + step) % count] for step in range(length + 1)]
        result += _simplify_arc(outline.corners, arc, tolerance, done)[:-1]
    return result


def _simplify_arc(
    corners: NDArray[np.float64], arc: list[int], tolerance: float, done: dict[tuple[int, ...], list[int]]
) -> list[int]:
    """The corners of a stretch that matter; the same ones from both sides."""
    backwards = arc[::-1] < arc
    key = tuple(arc[::-1] if backwards else arc)
    if key not in done:
        done[key] = [key[k] for k in _find_significant(corners[list(key)], tolerance)]
    return done[key][::-1] if backwards else done[key]


def _find_significant(places: NDArray[np.float64], tolerance: float) -> list[int]:
    """Douglas and Peucker's choice of places of a line: none of the others is farther off than the tolerance."""
    scaled = places * [1.0, HEIGHT_WEIGHT, 1.0]
    last = len(places) - 1
    keep, open_parts = {0, last}, [(0, last)]
    if last > 2 and np.array_equal(scaled[0], scaled[last]):  # closed: the farthest place is a second end
        middle = int(np.argmax(((scaled - scaled[0]) ** 2).sum(axis=1)))
        keep.add(middle)
        open_parts = [(0, middle), (middle, last)]
    while open_parts:
        start, end = open_parts.pop()
        if end - start < 2:
            continue
        off = _measure_distances(scaled[start + 1 : end], scaled[start], scaled[end])
        farthest = int(np.argmax(off))
        if off[farthest] > tolerance:
            middle = start + 1 + farthest
            keep.add(middle)
            open_parts += [(start, middle), (middle, end)]
    return sorted(keep)


def _measure_distances(
    places: NDArray[np.float64], start: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.float64]:
    """From places to a straight line between two ends."""
    along = end - start
    length = float(along @ along)
    part = np.clip((places - start) @ along / length, 0.0, 1.0) if length > 0.0 else np.zeros(len(places))
    off: NDArray[np.float64] = np.linalg.norm(places - start - part[:, None] * along, axis=1)
    return off
