"""Which chunks a camera may see, and which triangles are believed to show.

Rejection is conservative: what is rejected surely touches no pixel, so the picture does not change.

What can be seen from where is learned while looking, as a set of triangles per cell of eye positions, and starts with
what was seen when the scene was prepared (`outlooks`). A set is a
guess that saves work and never decides a pixel: the renderer checks the depth picture for triangles that could still
show, draws those too and adds them. So pictures do not depend on what was learned before, only their cost does.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.simulator.rendering.camera import KernelCamera, KernelCameras, get_view
from nav_eval.simulator.rendering.outlooks import CELL_METRES, NO_OUTLOOKS, Cell, Outlooks, SparseWords
from nav_eval.simulator.rendering.prepared_scene import GROUP, Chunks


class InView(NamedTuple):
    """Which chunks each of several cameras may see."""

    chunks: NDArray[np.int32]  #: N × C; of every row only the first are used, in ascending order:
    solid: NDArray[np.int64]  #: N, how many of them are solid,
    ends: NDArray[np.int64]  #: N, and how many there are

    @classmethod
    def over(cls, *, views: int, chunks: int) -> "InView":
        return cls(np.empty((views, chunks), np.int32), np.empty(views, np.int64), np.empty(views, np.int64))

    def take(self, views: int) -> "InView":
        """The first ones."""
        return InView(self.chunks[:views], self.solid[:views], self.ends[:views])


@compile_nogil_kernel
def find_chunks(chunks: Chunks, cameras: KernelCameras, first_blended: int, out: InView) -> None:
    """What all of the cameras may see; chunks from `first_blended` on are not solid."""
    for view in range(len(cameras.eye)):
        count = find_chunks_in_view(chunks, get_view(cameras, view), out.chunks[view])
        out.ends[view] = count
        out.solid[view] = np.searchsorted(out.chunks[view, :count], first_blended)


@compile_nogil_kernel
def find_chunks_in_view(chunks: Chunks, view: KernelCamera, out: NDArray[np.int32]) -> int:
    """The chunks that are not wholly outside the view nor all turned away from the eye, in ascending order."""
    found = 0
    for group in range(len(chunks.group_bounds)):
        if _is_outside(chunks.group_bounds, group, view.planes):
            continue
        for chunk in range(group * GROUP, min(group * GROUP + GROUP, len(chunks.bounds))):
            if not _is_outside(chunks.bounds, chunk, view.planes) and not _is_turned_away(chunks, chunk, view):
                out[found] = chunk
                found += 1
    return found


@compile_nogil_inline
def _is_outside(boxes: NDArray[np.float32], box: int, planes: NDArray[np.float64]) -> bool:
    for k in range(6):
        reach = planes[k, 3]
        for axis in range(3):
            normal = planes[k, axis]
            reach += normal * (boxes[box, axis + 3] if normal > 0 else boxes[box, axis])
        if reach < -1e-3:
            return True
    return False


@compile_nogil_inline
def _is_turned_away(chunks: Chunks, chunk: int, view: KernelCamera) -> bool:
    """True if every triangle of the chunk shows its back, by at least a millimetre.

    OpenGL then culls it as well, or it is a sliver: rounding moves no vertex across that much.
    """
    along, reach, distance, size = 0.0, 0.0, 0.0, 0.0
    for axis in range(3):
        low, high = chunks.bounds[chunk, axis], chunks.bounds[chunk, axis + 3]
        direction, half = chunks.cones[chunk, axis], 0.5 * (high - low)
        away = 0.5 * (low + high) - view.eye[axis]
        along += direction * away
        reach += abs(direction) * half
        distance += away * away
        size += half * half
    cosine, sine = chunks.cones[chunk, 3], chunks.cones[chunk, 4]
    room = cosine * (along - reach) - sine * (np.sqrt(distance) + np.sqrt(size))
    return along > reach and room > 1e-3 + view.relative


Direction = tuple[int, int]

DIRECTIONS = 12
"""Sectors of a full turn. Having looked into a sector once, a cell is believed to know what shows there."""
OPEN_CELLS = 64
"""Cells whose sets are at hand at the same time."""
_LEVEL = frozenset((heading, pitch) for heading in range(DIRECTIONS) for pitch in (-1, 0, 1))
"""Where outlooks look: not far up or down."""
_NEIGHBOURS = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)]


def get_cell(position: Iterable[float]) -> Cell:
    x, y, z = (math.floor(value / CELL_METRES) for value in position)
    return (x, y, z)


def get_direction(axis: Iterable[float]) -> Direction:
    """Heading and pitch of an optical axis, by sector."""
    x, y, z = axis
    sector = 2 * math.pi / DIRECTIONS
    return round(math.atan2(-x, -z) / sector) % DIRECTIONS, round(math.asin(max(-1.0, min(1.0, y))) / sector)


class VisibilitySets:
    """One bit per triangle and cell; a chunk's bits are one 64-bit word."""

    def __init__(self, chunk_count: int, outlooks: Outlooks = NO_OUTLOOKS) -> None:
        """A cell that is new to the sets begins with the outlooks around it."""
        self.words = np.zeros((2 * OPEN_CELLS, chunk_count), dtype=np.uint64)
        """The sets of the cells that were entered last, a row each; the other half is room for `with_neighbours`."""
        self._rows: dict[Cell, int] = {}  #: the cell that was not entered for longest comes first
        self._outlooks = outlooks
        self._stored: dict[Cell, SparseWords] = {}
        self._looked: dict[Cell, set[Direction]] = {}

    def __len__(self) -> int:
        return len(self._looked)

    def enter(self, cells: Sequence[Cell]) -> list[int]:
        """The rows of `words` that are those of these cells, until others are entered; OPEN_CELLS of them at most."""
        for cell in cells:
            if cell in self._rows:
                self._rows[cell] = self._rows.pop(cell)
        for cell in cells:
            if cell not in self._rows:
                self._load(cell)
        return [self._rows[cell] for cell in cells]

    def knows(self, cell: Cell, direction: Direction) -> bool:
        return direction in self._looked.get(cell, ())

    def remember(self, cell: Cell, direction: Direction) -> None:
        self._looked.setdefault(cell, set()).add(direction)

    def with_neighbours(self, cell: Cell) -> int:
        """The row of a set of everything in this cell, which was entered, and in all cells around it."""
        row = self._rows[cell] + OPEN_CELLS
        self.words[row] = self.words[self._rows[cell]]
        x, y, z = cell
        for dx, dy, dz in _NEIGHBOURS:
            neighbour = (x + dx, y + dy, z + dz)
            if neighbour in self._rows:
                self.words[row] |= self.words[self._rows[neighbour]]
            elif neighbour in self._stored:
                chunks, words = self._stored[neighbour]
                self.words[row, chunks] |= words
        return row

    def _load(self, cell: Cell) -> None:
        row = len(self._rows) if len(self._rows) < OPEN_CELLS else self._leave(next(iter(self._rows)))
        self._rows[cell] = row
        if cell in self._stored:
            chunks, words = self._stored[cell]
            self.words[row, chunks] = words
            return
        for chunks, words in self._outlooks.find(cell):
            self.words[row, chunks] |= words
            self._looked[cell] = set(_LEVEL)

    def _leave(self, cell: Cell) -> int:
        """Keep what the set of a cell is; its row is free then."""
        row = self._rows.pop(cell)
        chunks = np.flatnonzero(self.words[row]).astype(np.int32)
        self._stored[cell] = chunks, self.words[row, chunks]
        self.words[row, chunks] = 0
        return row
