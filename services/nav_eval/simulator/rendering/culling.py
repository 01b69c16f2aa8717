"""Which triangles go to OpenGL, and in which order.

Rejection is conservative: what is rejected surely touches no pixel, so the picture does not change.
The order depends on the eye alone, so that any subset of a scene is drawn in the same relative order.

What can be seen from where is learned while looking, as a set of triangles per cell of eye positions, and starts with
what was seen when the scene was prepared (`outlooks`). A set is a
guess that saves work and never decides a pixel: the renderer checks the depth picture for triangles that could still
show, draws those too and adds them. So pictures do not depend on what was learned before, only their cost does.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.simulator.rendering.camera import HITS, SLIVER, KernelCamera, make_projected_chunk, project_chunk
from nav_eval.simulator.rendering.outlooks import CELL_METRES, NO_OUTLOOKS, Cell, Outlooks, SparseWords
from nav_eval.simulator.rendering.prepared_scene import CHUNK_TRIANGLES as LANES
from nav_eval.simulator.rendering.prepared_scene import GROUP, Chunks


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


@compile_nogil_kernel
def make_order_keys(indices: NDArray[np.int32], chunks: Chunks, eye: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Sortable keys: batch, then nearest first, then the chunk's number, which is also how to get it back."""
    keys = np.empty(len(indices), dtype=np.uint64)
    distance = np.empty(1, dtype=np.float32)
    for i in range(len(indices)):
        chunk = indices[i]
        to_box, to_middle = 0.0, 0.0
        for axis in range(3):
            low, high = chunks.bounds[chunk, axis], chunks.bounds[chunk, axis + 3]
            outside = max(low - eye[axis], eye[axis] - high, 0.0)
            to_box += outside * outside
            to_middle += (0.5 * (low + high) - eye[axis]) ** 2
        distance[0] = to_box + 0.001 * to_middle
        ranked = np.uint64(distance.view(np.uint32)[0] >> np.uint32(7))
        keys[i] = (np.uint64(chunks.batch[chunk]) << np.uint64(48)) | (ranked << np.uint64(24)) | np.uint64(chunk)
    return keys


@compile_nogil_kernel
def gather_triangles(
    keys: NDArray[np.uint64],
    words: NDArray[np.uint64],
    chunks: Chunks,
    view: KernelCamera,
    reject: bool,
    out: NDArray[np.uint32],
    per_batch: NDArray[np.int64],
) -> int:
    """Copy the triangles in `words` to `out`, chunk by chunk, without slivers and (`reject`) without misses."""
    per_batch[:] = 0
    found = 0
    window = make_projected_chunk()
    for i in range(len(keys)):
        chunk = np.int64(keys[i] & np.uint64(0xFFFFFF))
        start = chunks.first[chunk]
        count = chunks.first[chunk + 1] - start
        project_chunk(chunks.corners[chunk], count, view, 0.0, window)
        before = found
        for lane in range(count):
            fate = window.fate[lane]
            wanted = (words[chunk] >> np.uint64(lane)) & np.uint64(1) != 0
            if wanted and fate != SLIVER and (fate >= HITS or not reject):
                out[found, 0] = chunks.triangles[start + lane, 0]
                out[found, 1] = chunks.triangles[start + lane, 1]
                out[found, 2] = chunks.triangles[start + lane, 2]
                found += 1
        per_batch[chunks.batch[chunk]] += found - before
    return found


@compile_nogil_kernel
def gather_blended(
    indices: NDArray[np.int32],
    words: NDArray[np.uint64],
    chunks: Chunks,
    view: KernelCamera,
    triangles: NDArray[np.int64],
    batches: NDArray[np.int32],
    distances: NDArray[np.float64],
) -> int:
    """The triangles in `words` by number, with their batch and how far their middle is from the eye, squared."""
    found = 0
    window = make_projected_chunk()
    for i in range(len(indices)):
        chunk = indices[i]
        start = chunks.first[chunk]
        count = chunks.first[chunk + 1] - start
        block = chunks.corners[chunk]
        project_chunk(block, count, view, 0.0, window)
        for lane in range(count):
            if window.fate[lane] == SLIVER or (words[chunk] >> np.uint64(lane)) & np.uint64(1) == 0:
                continue
            distance = 0.0
            for axis in range(3):
                middle = (
                    block[axis * LANES + lane] + block[(axis + 3) * LANES + lane] + block[(axis + 6) * LANES + lane]
                )
                distance += (middle / 3.0 - view.eye[axis]) ** 2
            triangles[found] = start + lane
            batches[found] = chunks.batch[chunk]
            distances[found] = distance
            found += 1
    return found


Direction = tuple[int, int]

DIRECTIONS = 12
"""Sectors of a full turn. Having looked into a sector once, a cell is believed to know what shows there."""
_LEVEL = frozenset((heading, pitch) for heading in range(DIRECTIONS) for pitch in (-1, 0, 1))
"""Where outlooks look: not far up or down."""
_NEIGHBOURS = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)]
_NOTHING = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint64))


def get_cell(position: Iterable[float]) -> Cell:
    x, y, z = (math.floor(value / CELL_METRES) for value in position)
    return (x, y, z)


def get_direction(view: KernelCamera) -> Direction:
    """Heading and pitch of the optical axis, by sector."""
    x, y, z = view.matrix[2, :3].tolist()
    sector = 2 * math.pi / DIRECTIONS
    return round(math.atan2(-x, -z) / sector) % DIRECTIONS, round(math.asin(max(-1.0, min(1.0, y))) / sector)


class VisibilitySets:
    """One bit per triangle and cell; a chunk's bits are one 64-bit word."""

    def __init__(self, chunk_count: int, outlooks: Outlooks = NO_OUTLOOKS) -> None:
        """A cell that is new to the sets begins with the outlooks around it."""
        self.words = np.zeros(chunk_count, dtype=np.uint64)  #: of the cell that was entered last
        self._cell: Cell | None = None
        self._outlooks = outlooks
        self._stored: dict[Cell, SparseWords] = {}
        self._looked: dict[Cell, set[Direction]] = {}

    def __len__(self) -> int:
        return len(self._looked)

    def enter(self, cell: Cell) -> None:
        """Make `words` those of this cell; what was added to them since is kept for the cell before."""
        if cell == self._cell:
            return
        self._leave()
        self._cell = cell
        if cell in self._stored:
            chunks, words = self._stored[cell]
            self.words[chunks] = words
            return
        for chunks, words in self._outlooks.find(cell):
            self.words[chunks] |= words
            self._looked[cell] = set(_LEVEL)

    def knows(self, cell: Cell, direction: Direction) -> bool:
        return direction in self._looked.get(cell, ())

    def remember(self, cell: Cell, direction: Direction) -> None:
        self._looked.setdefault(cell, set()).add(direction)

    def with_neighbours(self) -> NDArray[np.uint64]:
        """The words of the entered cell and of all cells around it."""
        union = self.words.copy()
        x, y, z = self._cell or (0, 0, 0)
        for dx, dy, dz in _NEIGHBOURS:
            chunks, words = self._stored.get((x + dx, y + dy, z + dz), _NOTHING)
            union[chunks] |= words
        return union

    def _leave(self) -> None:
        if self._cell is not None:
            chunks = np.flatnonzero(self.words).astype(np.int32)
            self._stored[self._cell] = chunks, self.words[chunks]
            self.words[chunks] = 0
            self._cell = None
