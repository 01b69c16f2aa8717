"""Which triangles a depth picture does not prove hidden.

The test errs on the side of "may show": positions by `camera.SLACK` and the scene's rounding,
depths by the steps of the depth buffer. What it calls hidden loses the depth test at every pixel.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.simulator.rendering.camera import (
    GUARD,
    HITS,
    SLACK,
    TOLERANCE,
    UNCLEAR,
    KernelCamera,
    KernelCameras,
    ProjectedChunk,
    get_view,
    make_projected_chunk,
    project_chunk,
)
from nav_eval.simulator.rendering.culling import InView
from nav_eval.simulator.rendering.prepared_scene import CHUNK_TRIANGLES as LANES
from nav_eval.simulator.rendering.prepared_scene import GROUP, Chunks

TILE_BITS = 2
TILE = 1 << TILE_BITS
"""Pixels. A tile knows the farthest depth in it, and hides whatever is farther."""
BLOCK_BITS = 3
BLOCK = 1 << BLOCK_BITS
"""Tiles. So does a block of 8 × 8 tiles."""


class DepthPicture(NamedTuple):
    """Depth at three resolutions; of several pictures, with one axis more."""

    metres: NDArray[np.float32]  #: per pixel; 0 where there is nothing
    tiles: NDArray[np.float32]  #: the farthest in every tile; infinity where a pixel shows nothing
    blocks: NDArray[np.float32]  #: the farthest in every block of tiles

    @classmethod
    def over(cls, metres: NDArray[np.float32]) -> "DepthPicture":
        """Room for what `summarize_depth` fills."""
        *several, height, width = metres.shape
        down, across = -(-height // TILE), -(-width // TILE)
        tiles = np.empty((*several, down, across), dtype=np.float32)
        return cls(metres, tiles, np.empty((*several, -(-down // BLOCK), -(-across // BLOCK)), dtype=np.float32))


@compile_nogil_inline
def _get_picture(pictures: DepthPicture, index: int) -> DepthPicture:
    """One of several."""
    return DepthPicture(pictures.metres[index], pictures.tiles[index], pictures.blocks[index])


@compile_nogil_kernel
def summarize_depths(pictures: DepthPicture) -> None:
    for view in range(len(pictures.metres)):
        summarize_depth(_get_picture(pictures, view))


@compile_nogil_kernel
def convert_depth_buffer(
    raw: NDArray[np.uint32], near: NDArray[np.float64], far: NDArray[np.float64], out: NDArray[np.float32]
) -> None:
    """Undo the projection of several pictures; a cleared pixel becomes 0."""
    count, height, width = raw.shape
    for i in range(count):
        scale = np.float32((1 / near[i] - 1 / far[i]) / 4294967295.0)
        start = np.float32(1 / near[i])
        for y in range(height):
            for x in range(width):
                value = np.float32(1.0) / (start - scale * np.float32(raw[i, y, x]))
                out[i, y, x] = np.float32(0.0) if raw[i, y, x] >= np.uint32(0xFFFFFF00) else value


@compile_nogil_kernel
def summarize_depth(picture: DepthPicture) -> None:
    """Fill in the farthest depth of tiles and blocks: four rows at a time, then four columns of what they have."""
    metres, tiles, blocks = picture.metres, picture.tiles, picture.blocks
    height, width = metres.shape
    down, across = tiles.shape
    columns = np.zeros(across * TILE, dtype=np.float32)  # what lies beyond the picture is 0: nearer than anything
    nothing, infinite = np.float32(0.0), np.float32(np.inf)
    blocks[:] = nothing
    for tile_y in range(down):
        first = tile_y * TILE
        second, third, fourth = min(first + 1, height - 1), min(first + 2, height - 1), min(first + 3, height - 1)
        for x in range(width):
            a, b, c, d = metres[first, x], metres[second, x], metres[third, x], metres[fourth, x]
            nearest = _find_lesser(_find_lesser(a, b), _find_lesser(c, d))
            farthest = _find_greater(_find_greater(a, b), _find_greater(c, d))
            columns[x] = infinite if nearest == nothing else farthest
        for tile_x in range(across):
            x = tile_x * TILE
            left, right = _find_greater(columns[x], columns[x + 1]), _find_greater(columns[x + 2], columns[x + 3])
            tiles[tile_y, tile_x] = _find_greater(left, right)
        block_y = tile_y // BLOCK
        for block_x in range(blocks.shape[1]):
            for tile_x in range(block_x * BLOCK, min(block_x * BLOCK + BLOCK, across)):
                blocks[block_y, block_x] = _find_greater(tiles[tile_y, tile_x], blocks[block_y, block_x])


@compile_nogil_inline
def _find_lesser(a: np.float32, b: np.float32) -> np.float32:
    """min() would spend instructions on what is not a number."""
    return a if a < b else b


@compile_nogil_inline
def _find_greater(a: np.float32, b: np.float32) -> np.float32:
    return a if a > b else b


class KnownTriangles(NamedTuple):
    """What has been drawn already, or need not be looked for."""

    words: NDArray[np.uint64]  #: R × C
    rows: NDArray[np.int64]  #: N, which of them belongs to a view
    drawable: NDArray[np.uint64]  #: N × C; what else there is touches no pixel


class FoundTriangles(NamedTuple):
    """What may show, by view."""

    words: NDArray[np.uint64]  #: N × C; of chunks in view
    counts: NDArray[np.int64]  #: N, how many


@compile_nogil_kernel
def find_unhidden_solid(
    views: NDArray[np.int64],
    chunks: Chunks,
    in_view: InView,
    known: KnownTriangles,
    cameras: KernelCameras,
    pictures: DepthPicture,
    spread: float,
    out: FoundTriangles,
) -> None:
    """`find_unhidden` for the solid chunks of several views."""
    for i in range(len(views)):
        view = views[i]
        indices = in_view.chunks[view, : in_view.solid[view]]
        camera, picture = get_view(cameras, view), _get_picture(pictures, view)
        words, drawable = known.words[known.rows[view]], known.drawable[view]
        out.counts[view] = find_unhidden(indices, words, drawable, chunks, camera, picture, spread, out.words[view])


@compile_nogil_kernel
def find_unhidden_blended(
    in_view: InView, chunks: Chunks, cameras: KernelCameras, pictures: DepthPicture, out: NDArray[np.uint64]
) -> None:
    """`find_unhidden` for what is see-through."""
    nothing = np.zeros(out.shape[1], dtype=np.uint64)
    everything = ~nothing
    for view in range(len(out)):
        indices = in_view.chunks[view, in_view.solid[view] : in_view.ends[view]]
        camera, picture = get_view(cameras, view), _get_picture(pictures, view)
        find_unhidden(indices, nothing, everything, chunks, camera, picture, 0.0, out[view])


@compile_nogil_kernel
def add_found(
    views: NDArray[np.int64],
    in_view: InView,
    rows: NDArray[np.int64],
    found: NDArray[np.uint64],
    words: NDArray[np.uint64],
) -> None:
    """Add what was found among the solid chunks of views to their rows of `words`."""
    for i in range(len(views)):
        view = views[i]
        for k in range(in_view.solid[view]):
            chunk = in_view.chunks[view, k]
            words[rows[view], chunk] |= found[view, chunk]


@compile_nogil_kernel
def find_unhidden(
    indices: NDArray[np.int32],
    known: NDArray[np.uint64],
    drawable: NDArray[np.uint64],
    chunks: Chunks,
    view: KernelCamera,
    picture: DepthPicture,
    spread: float,
    out: NDArray[np.uint64],
) -> int:
    """Triangles of `drawable` outside `known` that may show, as words into `out`; returns how many.

    `spread` widens every triangle by that many pixels: 0 answers for this picture, a larger one also
    catches what a slightly different picture would show.
    """
    found = 0
    window = make_projected_chunk()
    group, group_is_hidden = -1, False
    for i in range(len(indices)):
        chunk = indices[i]
        out[chunk] = np.uint64(0)
        count = chunks.first[chunk + 1] - chunks.first[chunk]
        rest = drawable[chunk] & ~known[chunk]
        if count < 64:
            rest &= (np.uint64(1) << np.uint64(count)) - np.uint64(1)
        if rest == 0:
            continue
        if chunk // GROUP != group:
            group = chunk // GROUP
            longest = chunks.group_longest[group]
            group_is_hidden = _is_box_hidden(chunks.group_bounds, group, longest, view, picture, spread)
        if group_is_hidden or _is_box_hidden(chunks.bounds, chunk, chunks.longest[chunk], view, picture, spread):
            continue
        block = chunks.corners[chunk]
        project_chunk(block, count, view, spread, window)
        for lane in range(count):
            bit = np.uint64(1) << np.uint64(lane)
            fate = window.fate[lane]
            if rest & bit == 0 or fate < HITS:
                continue
            if fate == UNCLEAR or not _is_triangle_hidden(window, lane, view, picture, spread):
                out[chunk] |= bit
                found += 1
    return found


@compile_nogil_inline
def _is_box_hidden(
    boxes: NDArray[np.float32], box: int, longest: float, view: KernelCamera, picture: DepthPicture, spread: float
) -> bool:
    """True if the picture is nearer than the box wherever it may show.

    A triangle may overshoot its own depth range once (see `project_chunk`), which its longest edge bounds.
    """
    m = view.matrix
    x, y, z = boxes[box, 0], boxes[box, 1], boxes[box, 2]
    dx, dy, dz = boxes[box, 3] - x, boxes[box, 4] - y, boxes[box, 5] - z
    base_w = m[2, 0] * x + m[2, 1] * y + m[2, 2] * z + m[2, 3]
    base_x = m[0, 0] * x + m[0, 1] * y + m[0, 2] * z + m[0, 3]
    base_y = m[1, 0] * x + m[1, 1] * y + m[1, 2] * z + m[1, 3]
    nearest = base_w + min(m[2, 0] * dx, 0.0) + min(m[2, 1] * dy, 0.0) + min(m[2, 2] * dz, 0.0)
    if nearest <= GUARD:
        return False
    left = top = np.inf
    right = bottom = -np.inf
    for corner in range(8):
        i, j, k = dx * (corner & 1), dy * ((corner >> 1) & 1), dz * (corner >> 2)
        inverse = 1.0 / (base_w + m[2, 0] * i + m[2, 1] * j + m[2, 2] * k)
        px = (base_x + m[0, 0] * i + m[0, 1] * j + m[0, 2] * k) * inverse
        py = (base_y + m[1, 0] * i + m[1, 1] * j + m[1, 2] * k) * inverse
        left, right = px if px < left else left, px if px > right else right
        top, bottom = py if py < top else top, py if py > bottom else bottom
    slack = SLACK + spread + view.rounding / nearest
    if right + slack < 0 or bottom + slack < 0 or left - slack > view.width or top - slack > view.height:
        return True
    closest = 2.0 / nearest - 1.0 / (nearest + longest) + 4 * view.depth_step
    distance = (1.0 - TOLERANCE - view.relative / nearest) / closest
    first_x, last_x = _clamp_to_pixels(left - slack, right + slack, view.width)
    first_y, last_y = _clamp_to_pixels(top - slack, bottom + slack, view.height)
    return _is_range_hidden(picture, first_x, last_x, first_y, last_y, distance)


@compile_nogil_inline
def _get_corner(window: ProjectedChunk, lane: int, corner: int) -> tuple[float, float, float]:
    at = 3 * corner * LANES + lane
    return float(window.points[at]), float(window.points[at + LANES]), float(window.points[at + 2 * LANES])


@compile_nogil_inline
def _is_triangle_hidden(
    window: ProjectedChunk, lane: int, view: KernelCamera, picture: DepthPicture, spread: float
) -> bool:
    """True if at every pixel that it may cover the picture is nearer than the triangle; tiles first."""
    spans = window.spans
    first_x, last_x = _clamp_to_pixels(spans[lane], spans[LANES + lane], view.width)
    first_y, last_y = _clamp_to_pixels(spans[2 * LANES + lane], spans[3 * LANES + lane], view.height)
    if _is_range_hidden(picture, first_x, last_x, first_y, last_y, spans[4 * LANES + lane]):
        return True

    ax, ay, aq = _get_corner(window, lane, 0)
    bx, by, bq = _get_corner(window, lane, 1)
    cx, cy, cq = _get_corner(window, lane, 2)
    most, step = max(aq, bq, cq), 4 * view.depth_step
    slack = SLACK + spread + view.rounding * most
    limit = 1.0 - TOLERANCE - view.relative * most
    closest = 2 * most - min(aq, bq, cq) + step  # see `project_chunk`
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    per_area = 1.0 / area
    gx = ((bq - aq) * (cy - ay) - (cq - aq) * (by - ay)) * per_area
    gy = ((cq - aq) * (bx - ax) - (bq - aq) * (cx - ax)) * per_area
    steep = abs(gx) + abs(gy)
    side = -1.0 if area < 0 else 1.0
    ab_room = -slack * (abs(bx - ax) + abs(by - ay))
    bc_room = -slack * (abs(cx - bx) + abs(cy - by))
    ca_room = -slack * (abs(ax - cx) + abs(ay - cy))
    for tile_y in range(first_y >> TILE_BITS, (last_y >> TILE_BITS) + 1):
        for tile_x in range(first_x >> TILE_BITS, (last_x >> TILE_BITS) + 1):
            middle_x, middle_y = (tile_x + 0.5) * TILE, (tile_y + 0.5) * TILE
            here = aq + gx * (middle_x - ax) + gy * (middle_y - ay) + steep * (0.5 * TILE + slack) + step
            if min(here, closest) * picture.tiles[tile_y, tile_x] < limit:
                continue
            for row in range(max(first_y, tile_y * TILE), min(last_y, tile_y * TILE + TILE - 1) + 1):
                y = row + 0.5
                for column in range(max(first_x, tile_x * TILE), min(last_x, tile_x * TILE + TILE - 1) + 1):
                    x = column + 0.5
                    pixel = picture.metres[row, column]
                    q = aq + gx * (x - ax) + gy * (y - ay) + steep * slack + step
                    if pixel != 0.0 and (q * pixel < limit or closest * pixel < limit):
                        continue
                    if (
                        side * ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) >= ab_room
                        and side * ((cx - bx) * (y - by) - (cy - by) * (x - bx)) >= bc_room
                        and side * ((ax - cx) * (y - cy) - (ay - cy) * (x - cx)) >= ca_room
                    ):
                        return False
    return True


@compile_nogil_inline
def _clamp_to_pixels(low: float, high: float, size: int) -> tuple[int, int]:
    """The first and the last whole pixel of a stretch that begins before the end and ends after the start."""
    first, last = int(low), int(high)
    return (0 if first < 0 else first), (size - 1 if last >= size else last)


@compile_nogil_inline
def _is_range_hidden(
    picture: DepthPicture, first_x: int, last_x: int, first_y: int, last_y: int, distance: float
) -> bool:
    """True if everything in this range of pixels is nearer than `distance`; blocks first, then tiles."""
    left, right, top, bottom = first_x >> TILE_BITS, last_x >> TILE_BITS, first_y >> TILE_BITS, last_y >> TILE_BITS
    for block_y in range(top >> BLOCK_BITS, (bottom >> BLOCK_BITS) + 1):
        for block_x in range(left >> BLOCK_BITS, (right >> BLOCK_BITS) + 1):
            if picture.blocks[block_y, block_x] < distance:
                continue
            for y in range(max(top, block_y * BLOCK), min(bottom, block_y * BLOCK + BLOCK - 1) + 1):
                for x in range(max(left, block_x * BLOCK), min(right, block_x * BLOCK + BLOCK - 1) + 1):
                    if picture.tiles[y, x] >= distance:
                        return False
    return True
