"""Which triangles go to OpenGL, and in which order.

Rejection is conservative: what is rejected surely touches no pixel, so the picture does not change.
The order depends on the eye alone, so that any subset of a scene is drawn in the same relative order.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.chunks import CHUNK_TRIANGLES as LANES
from nav_eval.simulator.rendering.chunks import GROUP
from nav_eval.simulator.rendering.jit import compiled, inlined
from nav_eval.simulator.rendering.prepared import Chunks
from nav_eval.simulator.rendering.projection import HITS, SLIVER, View, new_window, project


@compiled
def chunks_in_view(chunks: Chunks, view: View, out: NDArray[np.int32]) -> int:
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


@inlined
def _is_outside(boxes: NDArray[np.float32], box: int, planes: NDArray[np.float64]) -> bool:
    for k in range(6):
        reach = planes[k, 3]
        for axis in range(3):
            normal = planes[k, axis]
            reach += normal * (boxes[box, axis + 3] if normal > 0 else boxes[box, axis])
        if reach < -1e-3:
            return True
    return False


@inlined
def _is_turned_away(chunks: Chunks, chunk: int, view: View) -> bool:
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


@compiled
def order_keys(indices: NDArray[np.int32], chunks: Chunks, eye: NDArray[np.float64]) -> NDArray[np.uint64]:
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


@compiled
def gather(
    keys: NDArray[np.uint64],
    words: NDArray[np.uint64],
    chunks: Chunks,
    view: View,
    reject: bool,
    out: NDArray[np.uint32],
    per_batch: NDArray[np.int64],
) -> int:
    """Copy the triangles in `words` to `out`, chunk by chunk, without slivers and (`reject`) without misses."""
    per_batch[:] = 0
    found = 0
    window = new_window()
    for i in range(len(keys)):
        chunk = np.int64(keys[i] & np.uint64(0xFFFFFF))
        start = chunks.first[chunk]
        count = chunks.first[chunk + 1] - start
        project(chunks.corners[chunk], count, view, 0.0, window)
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


@compiled
def gather_blended(
    indices: NDArray[np.int32],
    words: NDArray[np.uint64],
    chunks: Chunks,
    view: View,
    triangles: NDArray[np.int64],
    batches: NDArray[np.int32],
    distances: NDArray[np.float64],
) -> int:
    """The triangles in `words` by number, with their batch and how far their middle is from the eye, squared."""
    found = 0
    window = new_window()
    for i in range(len(indices)):
        chunk = indices[i]
        start = chunks.first[chunk]
        count = chunks.first[chunk + 1] - start
        block = chunks.corners[chunk]
        project(block, count, view, 0.0, window)
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
