"""Pictures of splats, in software: projected, sorted by depth, and laid over each other tile by tile.

The arithmetic is that of the paper (Kerbl et al. 2023): a Gaussian in space is one in the picture, widened by a pixel's
blur, and colours are added from front to back until nothing shines through. A tile holds its splats in order of depth,
equal ones in the file's order, so pictures are the same in every process. Splats are taken in parts, nearest first: a
tile that nothing shines through any more gets none of the later ones, and a part holds so many at most. So memory is
bounded however large splats are, and time by the splats in view and by how soon they hide what is behind them.
On a GPU `splat_quads` draws them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_kernel
from nav_eval.scene.splats import SplatCloud
from nav_eval.simulator.rendering.camera import Camera

TILE = 16  #: pixels
BLUR = 0.3  #: square pixels, added to both axes of every splat
REACH = 3.0  #: standard deviations: beyond, a splat is taken for nothing
EDGE = 1.3  #: how far outside of the view a splat is still taken as if it were at the border, as in the paper
OPAQUE = 1.0 / 255 / 4  #: what is left of the light when a pixel is done
FAINTEST = 1.0 / 255
MOST_MEMBERS = 1 << 22  #: splats in tiles that are sorted at once


class _Footprints(NamedTuple):
    """Splats in a picture; a named tuple because compiled kernels take it whole."""

    middles: NDArray[np.float32]  #: M × 2, pixels
    conics: NDArray[np.float32]  #: M × 3: the inverse of the covariance
    depths: NDArray[np.float32]  #: M, metres
    tiles: NDArray[np.int32]  #: M × 4: first and last column and row of tiles, the last ones excluded

    def pick(self, rows: NDArray[np.int64]) -> "_Footprints":
        return _Footprints(self.middles[rows], self.conics[rows], self.depths[rows], self.tiles[rows])


class _View(NamedTuple):
    """A camera for kernels."""

    axes: NDArray[np.float64]  #: 3 × 4: a point's metres to the right, down and ahead
    focal: float  #: pixels
    near: float  #: metres
    width: float
    height: float


def paint_splats(
    cloud: SplatCloud, camera: Camera, picture: NDArray[np.uint8], *, nearest: NDArray[np.float32] | None = None
) -> None:
    """Draw the cloud over a picture; what lies behind `nearest` (metres per pixel, 0 for nothing) is hidden by it."""
    marks, source = _project(cloud, camera)
    columns, rows = -(-camera.width // TILE), -(-camera.height // TILE)
    done = np.zeros(columns * rows, np.bool_)
    mixed = np.zeros((camera.height, camera.width, 4), np.float32)
    mixed[..., 3] = 1.0
    limit = np.zeros((1, 1), np.float32) if nearest is None else nearest
    for part in _split(marks.tiles):
        piece = _Footprints(marks.middles[part], marks.conics[part], marks.depths[part], marks.tiles[part])
        counts = np.zeros(columns * rows + 1, np.int64)
        _count_tiles(piece.tiles, columns, done, counts)
        starts = np.cumsum(counts)
        members = np.empty(int(starts[-1]), np.int32)
        _fill_tiles(piece.tiles, columns, done, starts[:-1].copy(), members)
        chosen = source[part]
        _blend_tiles(mixed, limit, starts, members, piece, cloud.colors[chosen], cloud.opacities[chosen], done)
        if done.all():
            break
    lay_over(mixed, picture)


def _split(tiles: NDArray[np.int32]) -> Iterator[slice]:
    """Splats in a row that touch MOST_MEMBERS tiles at most together; one alone may touch all there are."""
    touched = np.cumsum((tiles[:, 1] - tiles[:, 0]).astype(np.int64) * (tiles[:, 3] - tiles[:, 2]))
    start = 0
    while start < len(tiles):
        before = int(touched[start - 1]) if start else 0
        end = max(int(np.searchsorted(touched, before + MOST_MEMBERS, side="right")), start + 1)
        yield slice(start, end)
        start = end


def sort_by_depth(depths: NDArray[np.float32]) -> NDArray[np.int64]:
    """The order of positive depths, equal ones as they come: their bits sort like numbers, 16 at a time."""
    bits = np.ascontiguousarray(depths).view(np.uint32)
    order = np.argsort((bits & np.uint32(0xFFFF)).astype(np.uint16), kind="stable")
    high = (bits[order] >> np.uint32(16)).astype(np.uint16)
    return np.asarray(order[np.argsort(high, kind="stable")], np.int64)


def _project(cloud: SplatCloud, camera: Camera) -> tuple[_Footprints, NDArray[np.int64]]:
    """Every splat that touches the picture, as an ellipse in it, nearest first; and which splat it is."""
    clip, focal = camera.world_to_clip, camera.focal_length
    axes = np.stack([clip[0] * camera.width / (2 * focal), clip[1] * camera.height / (2 * focal), clip[3]])
    view = _View(axes, focal, camera.near, float(camera.width), float(camera.height))
    count = len(cloud)
    marks = _Footprints(
        np.empty((count, 2), np.float32),
        np.empty((count, 3), np.float32),
        np.empty(count, np.float32),
        np.empty((count, 4), np.int32),
    )
    shows = np.zeros(count, np.bool_)
    _project_all(cloud.centers, cloud.covariances, cloud.opacities, view, marks, shows)
    source = np.flatnonzero(shows)
    source = source[sort_by_depth(marks.depths[source])]
    return marks.pick(source), source


@compile_nogil_kernel
def _project_all(
    centers: NDArray[np.float32],
    covariances: NDArray[np.float32],
    opacities: NDArray[np.float32],
    view: _View,
    marks: _Footprints,
    shows: NDArray[np.bool_],
) -> None:
    axes, focal, width, height = view.axes, view.focal, view.width, view.height
    widest, tallest = EDGE * 0.5 * width / focal, EDGE * 0.5 * height / focal
    for index in range(len(centers)):
        x, y, z = float(centers[index, 0]), float(centers[index, 1]), float(centers[index, 2])
        depth = axes[2, 0] * x + axes[2, 1] * y + axes[2, 2] * z + axes[2, 3]
        if depth <= view.near or opacities[index] < FAINTEST:
            continue
        across = (axes[0, 0] * x + axes[0, 1] * y + axes[0, 2] * z + axes[0, 3]) / depth
        down = (axes[1, 0] * x + axes[1, 1] * y + axes[1, 2] * z + axes[1, 3]) / depth
        u, v = min(max(across, -widest), widest), min(max(down, -tallest), tallest)
        scale = focal / depth
        # how the place in the picture changes with the place in the world
        ax, bx = scale * (axes[0, 0] - u * axes[2, 0]), scale * (axes[1, 0] - v * axes[2, 0])
        ay, by = scale * (axes[0, 1] - u * axes[2, 1]), scale * (axes[1, 1] - v * axes[2, 1])
        az, bz = scale * (axes[0, 2] - u * axes[2, 2]), scale * (axes[1, 2] - v * axes[2, 2])
        c = covariances[index]
        px, qx = c[0] * ax + c[1] * ay + c[2] * az, c[0] * bx + c[1] * by + c[2] * bz
        py, qy = c[1] * ax + c[3] * ay + c[4] * az, c[1] * bx + c[3] * by + c[4] * bz
        pz, qz = c[2] * ax + c[4] * ay + c[5] * az, c[2] * bx + c[4] * by + c[5] * bz
        uu = ax * px + ay * py + az * pz + BLUR
        uv = bx * px + by * py + bz * pz
        vv = bx * qx + by * qy + bz * qz + BLUR
        determinant = uu * vv - uv * uv
        if not determinant > 0.0:
            continue
        column, row = focal * across + 0.5 * width, focal * down + 0.5 * height
        reach_u, reach_v = REACH * np.sqrt(uu), REACH * np.sqrt(vv)
        first_u, last_u = max(column - reach_u, 0.0), min(column + reach_u, width)
        first_v, last_v = max(row - reach_v, 0.0), min(row + reach_v, height)
        if first_u >= last_u or first_v >= last_v:
            continue
        marks.middles[index, 0], marks.middles[index, 1] = column, row
        conic = marks.conics[index]
        conic[0], conic[1], conic[2] = vv / determinant, -uv / determinant, uu / determinant
        marks.depths[index] = depth
        tiles = marks.tiles[index]
        tiles[0], tiles[1] = int(first_u) // TILE, (int(np.ceil(last_u)) + TILE - 1) // TILE
        tiles[2], tiles[3] = int(first_v) // TILE, (int(np.ceil(last_v)) + TILE - 1) // TILE
        shows[index] = True


@compile_nogil_kernel
def _count_tiles(tiles: NDArray[np.int32], columns: int, done: NDArray[np.bool_], counts: NDArray[np.int64]) -> None:
    for index in range(len(tiles)):
        for row in range(tiles[index, 2], tiles[index, 3]):
            for column in range(tiles[index, 0], tiles[index, 1]):
                if not done[row * columns + column]:
                    counts[row * columns + column + 1] += 1


@compile_nogil_kernel
def _fill_tiles(
    tiles: NDArray[np.int32],
    columns: int,
    done: NDArray[np.bool_],
    ends: NDArray[np.int64],
    members: NDArray[np.int32],
) -> None:
    for index in range(len(tiles)):
        for row in range(tiles[index, 2], tiles[index, 3]):
            for column in range(tiles[index, 0], tiles[index, 1]):
                tile = row * columns + column
                if not done[tile]:
                    members[ends[tile]] = index
                    ends[tile] += 1


@compile_nogil_kernel
def _blend_tiles(
    mixed: NDArray[np.float32],
    nearest: NDArray[np.float32],
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
    marks: _Footprints,
    colors: NDArray[np.float32],
    opacities: NDArray[np.float32],
    done: NDArray[np.bool_],
) -> None:
    """Add colours to `mixed`: red, green, blue, and the light that still shines through."""
    middles, conics, depths = marks.middles, marks.conics, marks.depths
    height, width = mixed.shape[0], mixed.shape[1]
    columns = (width + TILE - 1) // TILE
    is_limited = nearest.shape[0] == height and nearest.shape[1] == width
    for tile in range(len(starts) - 1):
        if starts[tile] == starts[tile + 1]:
            continue
        top, left = tile // columns * TILE, tile % columns * TILE
        is_done = True
        for row in range(top, min(top + TILE, height)):
            for column in range(left, min(left + TILE, width)):
                limit = nearest[row, column] if is_limited and nearest[row, column] > 0 else np.float32(np.inf)
                red, green, blue, light = mixed[row, column]
                for place in range(starts[tile], starts[tile + 1]):
                    index = members[place]
                    if depths[index] > limit or light < np.float32(OPAQUE):
                        break
                    du, dv = column + np.float32(0.5) - middles[index, 0], row + np.float32(0.5) - middles[index, 1]
                    power = conics[index, 0] * du * du + conics[index, 2] * dv * dv
                    power += np.float32(2.0) * conics[index, 1] * du * dv
                    if power > np.float32(REACH * REACH):
                        continue
                    alpha = min(np.float32(0.99), opacities[index] * np.exp(np.float32(-0.5) * power))
                    if alpha < np.float32(FAINTEST):
                        continue
                    share = alpha * light
                    red += share * colors[index, 0]
                    green += share * colors[index, 1]
                    blue += share * colors[index, 2]
                    light *= np.float32(1.0) - alpha
                mixed[row, column, 0], mixed[row, column, 1] = red, green
                mixed[row, column, 2], mixed[row, column, 3] = blue, light
                is_done &= light < np.float32(OPAQUE)
        done[tile] = is_done


@compile_nogil_kernel
def lay_over(mixed: NDArray[np.float32], picture: NDArray[np.uint8]) -> None:
    """Put mixed colours (red, green, blue, and what shines through) over a picture."""
    for row in range(picture.shape[0]):
        for column in range(picture.shape[1]):
            for channel in range(3):
                level = np.float32(255.0) * mixed[row, column, channel]
                level += mixed[row, column, 3] * picture[row, column, channel]
                picture[row, column, channel] = np.uint8(min(max(level + np.float32(0.5), 0.0), 255.0))
