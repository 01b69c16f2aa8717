"""What one submission to OpenGL draws: which triangles, in which order, by which draw calls.

A submission shows the scene to one camera, or to several, each in a layer of its own. Triangles are listed view after
view, draw calls batch by batch, so that textures and programs change once for all views. Within a view the order
depends on the eye alone (batch, distance of the chunk, number), so that any subset of a scene is drawn in the same
relative order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.simulator.rendering.camera import (
    SLIVER,
    KernelCameras,
    get_view,
    list_drawable,
    make_projected_chunk,
    project_chunk,
)
from nav_eval.simulator.rendering.culling import InView
from nav_eval.simulator.rendering.prepared_scene import CHUNK_TRIANGLES as LANES
from nav_eval.simulator.rendering.prepared_scene import Chunks

TURN, BATCH, VIEW, START, LENGTH = range(5)
"""Columns of a stretch of triangles: see-through ones take turns, as what is behind comes first."""
_LAST_TURN = 1 << 30
_FIELDS = 5  #: of a stretch, and of a command too
_ALL, _ONE = ~np.uint64(0), np.uint64(1)


class DrawRun(NamedTuple):
    """What one call draws: neighbours among the triangles or, with several views, among the commands."""

    batch: int
    start: int
    length: int


class DrawList(NamedTuple):
    """The calls, in order."""

    runs: list[DrawRun]
    commands: NDArray[np.uint32]  #: with several views: a stretch of one view each, as OpenGL reads them

    @classmethod
    def for_one_view(cls, stretches: NDArray[np.int64]) -> "DrawList":
        runs = [DrawRun(batch, start, length) for _, batch, _, start, length in stretches.tolist()]
        return cls(runs, np.empty((0, _FIELDS), dtype=np.uint32))

    @classmethod
    def for_layers(cls, stretches: NDArray[np.int64]) -> "DrawList":
        """A call for all stretches with the same turn and batch."""
        commands, calls = np.empty((len(stretches), _FIELDS), dtype=np.uint32), np.empty((len(stretches), 3), np.int64)
        made = _order_for_layers(stretches, commands, calls)
        return cls([DrawRun(*each) for each in calls[:made].tolist()], commands)


@compile_nogil_kernel
def _order_for_layers(stretches: NDArray[np.int64], commands: NDArray[np.uint32], calls: NDArray[np.int64]) -> int:
    """Fill commands in the order of turn, batch and view, and the calls that draw them; returns how many calls."""
    keys = (stretches[:, TURN] << 32) | stretches[:, BATCH]
    made, previous = 0, -1
    order = np.argsort(keys, kind="mergesort")  # stable: views are listed one after the other
    for place in range(len(order)):
        turn_and_batch, stretch = keys[order[place]], stretches[order[place]]
        commands[place, 0], commands[place, 1], commands[place, 2] = 3 * stretch[LENGTH], 1, 3 * stretch[START]
        commands[place, 3], commands[place, 4] = 0, stretch[VIEW]
        if turn_and_batch != previous:
            calls[made, 0], calls[made, 1], calls[made, 2] = stretch[BATCH], place, 0
            made, previous = made + 1, turn_and_batch
        calls[made - 1, 2] += 1
    return made


class Gathering(NamedTuple):
    """Room for the triangles of a submission; a named tuple because compiled kernels take it whole."""

    keys: NDArray[np.uint64]  #: of chunks
    ends: NDArray[np.int64]  #: where the keys of each view end
    triangles: NDArray[np.uint32]  #: T × 3, corners
    stretches: NDArray[np.int64]  #: S × 5, see TURN, …

    @classmethod
    def over(cls, *, views: int, keys: int, stretches: int) -> "Gathering":
        """Without room for triangles: nobody knows yet how many will come."""
        return cls(
            np.empty(keys, dtype=np.uint64),
            np.zeros(views, dtype=np.int64),
            np.empty((0, 3), dtype=np.uint32),
            np.empty((stretches, _FIELDS), dtype=np.int64),
        )

    def reserve(self, *, triangles: int, stretches: int = 0) -> "Gathering":
        """Itself, or one with more room; keys are kept."""
        room = self
        if triangles > len(self.triangles):
            room = room._replace(triangles=np.empty((max(triangles, 2 * len(self.triangles)), 3), dtype=np.uint32))
        if stretches > len(self.stretches):
            room = room._replace(stretches=np.empty((stretches, _FIELDS), dtype=np.int64))
        return room


@compile_nogil_kernel
def list_keys(
    views: NDArray[np.int64],
    chunks: Chunks,
    cameras: KernelCameras,
    in_view: InView,
    rows: NDArray[np.int64],
    words: NDArray[np.uint64],
    out: Gathering,
    drawable: NDArray[np.uint64],
) -> int:
    """The keys of solid chunks with bits in the view's row of `words`; returns how many triangles they have.

    Until somebody looks at them, all triangles of the chunks in view are `drawable`.
    """
    found, most = 0, 0
    distance = np.empty(1, dtype=np.float32)
    for i in range(len(views)):
        view = views[i]
        for k in range(in_view.solid[view]):
            chunk = in_view.chunks[view, k]
            drawable[view, chunk] = _ALL
            if words[rows[view], chunk] != 0:
                out.keys[found] = _make_order_key(chunk, chunks, cameras.eye[view], distance)
                found += 1
                most += chunks.first[chunk + 1] - chunks.first[chunk]
        out.ends[i] = found
    return most


@compile_nogil_inline
def _make_order_key(chunk: int, chunks: Chunks, eye: NDArray[np.float64], distance: NDArray[np.float32]) -> np.uint64:
    """Sortable: batch, then nearest first, then the chunk's number, which is also how to get it back."""
    to_box, to_middle = 0.0, 0.0
    for axis in range(3):
        low, high = chunks.bounds[chunk, axis], chunks.bounds[chunk, axis + 3]
        outside = max(low - eye[axis], eye[axis] - high, 0.0)
        to_box += outside * outside
        to_middle += (0.5 * (low + high) - eye[axis]) ** 2
    distance[0] = to_box + 0.001 * to_middle
    ranked = np.uint64(distance.view(np.uint32)[0] >> np.uint32(7))
    return (np.uint64(chunks.batch[chunk]) << np.uint64(48)) | (ranked << np.uint64(24)) | np.uint64(chunk)


@compile_nogil_kernel
def gather_solid(
    views: NDArray[np.int64],
    chunks: Chunks,
    cameras: KernelCameras,
    rows: NDArray[np.int64],
    words: NDArray[np.uint64],
    reject: bool,
    out: Gathering,
    drawable: NDArray[np.uint64],
) -> tuple[int, int]:
    """The triangles in `words`, without slivers and (`reject`) misses; returns how many, and in how many stretches.

    Says of every triangle of the chunks that were looked at, drawn or not, whether it is `drawable`.
    """
    found, made, first = 0, 0, 0
    window = make_projected_chunk()
    for i in range(len(views)):
        view = views[i]
        camera = get_view(cameras, view)
        batch, start = -1, found
        for k in range(first, out.ends[i]):
            chunk = int(out.keys[k] & np.uint64(0xFFFFFF))
            if chunks.batch[chunk] != batch:
                made = _add_stretch(out.stretches, made, 0, batch, view, start, found)
                batch, start = int(chunks.batch[chunk]), found
            count = chunks.first[chunk + 1] - chunks.first[chunk]
            project_chunk(chunks.corners[chunk], count, camera, 0.0, window)
            mask = list_drawable(window, count, reject)
            drawable[view, chunk] = mask
            found = _gather_chunk(chunk, words[rows[view], chunk] & mask, chunks, out.triangles, found)
        made = _add_stretch(out.stretches, made, 0, batch, view, start, found)
        first = out.ends[i]
    return found, made


@compile_nogil_kernel
def reverse_order(triangles: NDArray[np.uint32], stretches: NDArray[np.int64]) -> None:
    """Have what was gathered drawn from the last triangle to the first."""
    count = len(triangles)
    for i in range(count // 2):
        for corner in range(3):
            first, last = triangles[i, corner], triangles[count - 1 - i, corner]
            triangles[i, corner], triangles[count - 1 - i, corner] = last, first
    stretches[:] = stretches[::-1].copy()
    for stretch in stretches:
        stretch[TURN] = _LAST_TURN - stretch[BATCH]
        stretch[START] = count - stretch[START] - stretch[LENGTH]


@compile_nogil_inline
def _gather_chunk(chunk: int, wanted: np.uint64, chunks: Chunks, out: NDArray[np.uint32], found: int) -> int:
    start = chunks.first[chunk]
    while wanted != 0:
        number = start + _find_lowest_bit(wanted)
        wanted &= wanted - _ONE
        out[found, 0] = chunks.triangles[number, 0]
        out[found, 1] = chunks.triangles[number, 1]
        out[found, 2] = chunks.triangles[number, 2]
        found += 1
    return found


@compile_nogil_inline
def _find_lowest_bit(mask: np.uint64) -> int:
    """The first triangle in a mask that is not empty: the number of bits below, counted in parallel."""
    below = ~mask & (mask - np.uint64(1))
    pairs = below - ((below >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + ((pairs >> np.uint64(2)) & np.uint64(0x3333333333333333))
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((eights * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compile_nogil_inline
def _add_stretch(
    stretches: NDArray[np.int64], made: int, turn: int, batch: int, view: int, start: int, end: int
) -> int:
    """Add one, unless it is empty; returns how many there are."""
    if start == end:
        return made
    stretches[made, TURN], stretches[made, BATCH], stretches[made, VIEW] = turn, batch, view
    stretches[made, START], stretches[made, LENGTH] = start, end - start
    return made + 1


@compile_nogil_kernel
def count_blended(chunks: Chunks, in_view: InView) -> int:
    """The see-through triangles that are in view, of all views."""
    total = 0
    for view in range(len(in_view.ends)):
        for k in range(in_view.solid[view], in_view.ends[view]):
            chunk = in_view.chunks[view, k]
            total += chunks.first[chunk + 1] - chunks.first[chunk]
    return total


@compile_nogil_kernel
def gather_blended(
    chunks: Chunks, cameras: KernelCameras, in_view: InView, words: NDArray[np.uint64], out: Gathering
) -> tuple[int, int]:
    """The see-through triangles in each view's row of `words`, the farthest first."""
    found, made = 0, 0
    room = len(out.triangles)
    numbers, batches, distances = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    window = make_projected_chunk()
    for view in range(len(in_view.ends)):
        camera = get_view(cameras, view)
        count = 0
        for k in range(in_view.solid[view], in_view.ends[view]):
            chunk = in_view.chunks[view, k]
            size = chunks.first[chunk + 1] - chunks.first[chunk]
            project_chunk(chunks.corners[chunk], size, camera, 0.0, window)
            for lane in range(size):
                if window.fate[lane] != SLIVER and (words[view, chunk] >> np.uint64(lane)) & np.uint64(1) != 0:
                    numbers[count] = chunks.first[chunk] + lane
                    batches[count] = chunks.batch[chunk]
                    distances[count] = -_measure_distance(chunks.corners[chunk], lane, camera.eye)
                    count += 1
        order = np.argsort(distances[:count], kind="mergesort")
        turn, batch, start = 0, -1, found
        for i in order:
            if batches[i] != batch:
                made = _add_stretch(out.stretches, made, turn, batch, view, start, found)
                turn, batch, start = turn + 1, int(batches[i]), found
            for corner in range(3):
                out.triangles[found, corner] = chunks.triangles[numbers[i], corner]
            found += 1
        made = _add_stretch(out.stretches, made, turn, batch, view, start, found)
    return found, made


@compile_nogil_inline
def _measure_distance(block: NDArray[np.float32], lane: int, eye: NDArray[np.float64]) -> float:
    """Of a triangle's middle, squared."""
    distance = 0.0
    for axis in range(3):
        middle = block[axis * LANES + lane] + block[(axis + 3) * LANES + lane] + block[(axis + 6) * LANES + lane]
        distance += (middle / 3.0 - eye[axis]) ** 2
    return distance
