"""A scene made ready for drawing: what can be computed once is computed once, and kept.

Triangles are grouped into batches (one texture and one way of drawing each) and, inside a batch, into
compact chunks, so that most of a scene is rejected box by box. Surfaces that show both sides become two triangles, so
that back-face culling holds for everything. Colour factors, vertex colours and light are folded into one tint per
vertex: a vertex holds everything that it shows (position, texture coordinates, tint and surface) in one record.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.errors import BadPreparedScene
from nav_eval.scene.model import AlphaMode, Scene, Texture, Wrap
from nav_eval.simulator.rendering.outlooks import NO_OUTLOOKS, Outlooks

VERTEX = np.dtype([("position", "<f4", 3), ("uv", "<f4", 2), ("tint", "u1", 4), ("surface", "<u4")])
"""`surface` is the row of `PreparedScene.surfaces` that the pixel belongs to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Triangles that one draw call can draw."""

    texture: int | None  #: index into `PreparedScene.textures`
    tinted: bool  #: False: the texture's bytes are the picture's bytes
    alpha_mode: AlphaMode = AlphaMode.OPAQUE
    alpha_cutoff: float = 0.0


class Chunks(NamedTuple):
    """Triangles in compact groups of at most 64; a named tuple because compiled kernels take it whole."""

    first: NDArray[np.int64]  #: C + 1, where each chunk starts in `triangles`
    batch: NDArray[np.int32]  #: C, never decreasing
    bounds: NDArray[np.float32]  #: C × 6, lower and upper corner
    cones: NDArray[np.float32]
    """C × 5: a direction, and cosine and sine of the angle around it that holds all normals of the chunk."""
    longest: NDArray[np.float32]  #: C, metres of the longest edge
    group_bounds: NDArray[np.float32]  #: the same boxes for every GROUP chunks in a row,
    group_longest: NDArray[np.float32]  #: and the same lengths
    corners: NDArray[np.float32]
    """C × (9 · 64), the coordinates of the triangles' corners: first all x of corner a, lane by lane, then all y, …"""
    triangles: NDArray[np.uint32]  #: T × 3, chunk after chunk


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PreparedScene:
    """Everything the renderer needs, and nothing else; arrays may be memory-mapped."""

    digest: str  #: of the scene and of the version of this preparation
    triangle_count: int  #: of the scene as it was read
    vertices: NDArray[np.void]  #: dtype `VERTEX`
    chunks: Chunks
    batches: tuple[Batch, ...]  #: opaque ones first, then masks, then blended ones
    textures: tuple[Texture, ...]
    mipmaps: tuple[NDArray[np.uint8], ...]  #: of each texture, see `mipmaps`
    surfaces: NDArray[np.int64]  #: S × 2, category id and object id; row 0 is "nothing"
    background: tuple[int, int, int]  #: where there is no geometry
    outlooks: Outlooks = NO_OUTLOOKS  #: for the renderer to start from; they change no picture

    @property
    def size(self) -> float:
        """The largest coordinate: how much single precision can be off."""
        return float(np.abs(self.chunks.bounds).max(initial=0.0))

    @property
    def first_blended_chunk(self) -> int:
        solid = sum(batch.alpha_mode is not AlphaMode.BLEND for batch in self.batches)
        return int(np.searchsorted(self.chunks.batch, solid))


def build_vertices(
    scene: Scene, surface: NDArray[np.int64]
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64]]:
    """The vertices, no two equal; the triangles with an area over them; and which of the scene's each of these is."""
    source = np.flatnonzero(_has_area(scene))
    material = scene.triangle_material[source]
    rows = np.empty((len(source), 3, 3), dtype=np.int32)
    rows[..., 0], rows[..., 1], rows[..., 2] = scene.triangles[source], material[:, None], surface[source, None]
    number, first = number_distinct(rows.reshape(-1, 3))
    vertex, material_of_vertex, surface_of_vertex = rows.reshape(-1, 3)[first].T
    vertices = np.zeros(len(first), dtype=VERTEX)
    vertices["position"] = scene.positions[vertex] + np.float32(0.0)  # -0 is 0
    vertices["uv"] = scene.uvs[vertex] * _compute_uv_scales(scene)[material_of_vertex]
    vertices["tint"] = _compute_tints(scene, vertex, material_of_vertex)
    vertices["surface"] = surface_of_vertex
    words = np.empty((len(vertices), VERTEX.itemsize // 4 + 1), dtype=np.int32)
    words[:, :-1], words[:, -1] = vertices.view(np.int32).reshape(words[:, :-1].shape), material_of_vertex
    again, first = number_distinct(words)
    return vertices[first], again[number].reshape(-1, 3).astype(np.int64), source


def _has_area(scene: Scene) -> NDArray[np.bool_]:
    points = scene.positions.astype(np.float64)[scene.triangles]
    if not np.isfinite(points).all():
        raise BadPreparedScene(f"{scene.report.source or 'The scene'} has vertices that are not finite; read it again.")
    across = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    have_area: NDArray[np.bool_] = np.linalg.norm(across, axis=1) > 0
    return have_area


def _compute_tints(scene: Scene, vertex: NDArray[np.uint32], material: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Factor on the texture's bytes. sRGB is nearly a power law, so encoding the factor encodes the product."""
    base = np.array([material.base_color for material in scene.materials], dtype=np.float64).reshape(-1, 4)
    glow = np.array([material.emissive for material in scene.materials], dtype=np.float64).reshape(-1, 3)
    tint = scene.colors[vertex] / 255.0 * base[material]
    tint[:, :3] += glow[material]
    tint[:, :3] = encode_srgb(tint[:, :3])
    return np.round(np.clip(tint, 0.0, 1.0) * 255).astype(np.uint8)


def _compute_uv_scales(scene: Scene) -> NDArray[np.float32]:
    """What `preparation._expand_mirrors` does to texture coordinates, by material."""
    half = {Wrap.MIRROR: 0.5}
    textures = [None if material.texture is None else scene.textures[material.texture] for material in scene.materials]
    scales = [(half.get(t.wrap_u, 1.0), half.get(t.wrap_v, 1.0)) if t else (1.0, 1.0) for t in textures]
    return np.array(scales, dtype=np.float32).reshape(-1, 2)


def encode_srgb(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear light to sRGB, both 0 to 1."""
    clipped = np.clip(linear, 0.0, 1.0)
    return np.where(clipped <= 0.0031308, clipped * 12.92, 1.055 * clipped ** (1 / 2.4) - 0.055)


@compile_nogil_kernel
def number_distinct(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Equal rows get equal numbers, counted as they first appear; and where each number first appears."""
    size = 16
    while size < 2 * len(rows):
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    numbers, first = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.int32)
    found = 0
    for i in range(len(rows)):
        slot = _hash_row(rows[i]) & (size - 1)
        while slots[slot] >= 0 and not _is_equal(rows[first[slots[slot]]], rows[i]):
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot], first[found] = found, i
            found += 1
        numbers[i] = slots[slot]
    return numbers, first[:found]


@compile_nogil_inline
def _hash_row(row: NDArray[np.int32]) -> int:
    mixed = np.uint64(0)
    for value in row:
        mixed = (mixed ^ np.uint64(np.uint32(value))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return int(mixed >> np.uint64(16))


@compile_nogil_inline
def _is_equal(one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    same = True
    for k in range(len(one)):
        same &= one[k] == other[k]
    return same


CHUNK_TRIANGLES = 64
"""At most; which of them can be seen from somewhere fits one 64-bit mask."""
GROUP = 16
"""Neighbouring chunks that are rejected together where possible."""


def compute_chunk_bounds(points: NDArray[np.float32], first: NDArray[np.int64]) -> NDArray[np.float32]:
    """Lower and upper corner of every chunk; `points` are the three corners per triangle."""
    if len(points) == 0:
        return np.empty((0, 6), dtype=np.float32)
    lower = np.minimum.reduceat(points.min(axis=1), first[:-1])
    upper = np.maximum.reduceat(points.max(axis=1), first[:-1])
    return np.concatenate([lower, upper], axis=1)


def compute_longest_edges(points: NDArray[np.float32], first: NDArray[np.int64]) -> NDArray[np.float32]:
    """The longest edge in every chunk."""
    if len(points) == 0:
        return np.empty(0, dtype=np.float32)
    edges = np.linalg.norm(points - np.roll(points, 1, axis=1), axis=2).max(axis=1)
    return np.maximum.reduceat(edges, first[:-1]).astype(np.float32)


def compute_normal_cones(normals: NDArray[np.float64], first: NDArray[np.int64]) -> NDArray[np.float32]:
    """The narrowest cones around the mean direction of each chunk's unit normals."""
    if len(normals) == 0:
        return np.empty((0, 5), dtype=np.float32)
    sums = np.add.reduceat(normals, first[:-1])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    axes = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 1e-9)
    along = (normals * np.repeat(axes, np.diff(first), axis=0)).sum(axis=1)
    cosines = np.clip(np.minimum.reduceat(along, first[:-1]) - 1e-4, 0.0, 1.0)
    return np.concatenate([axes, cosines[:, None], np.sqrt(1 - cosines**2)[:, None]], axis=1).astype(np.float32)


def compute_group_boxes(
    bounds: NDArray[np.float32], longest: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Boxes and longest edges of every GROUP chunks."""
    starts = np.arange(0, len(bounds), GROUP)
    if len(starts) == 0:
        return bounds, longest
    lower = np.minimum.reduceat(bounds[:, :3], starts)
    upper = np.maximum.reduceat(bounds[:, 3:], starts)
    return np.concatenate([lower, upper], axis=1), np.maximum.reduceat(longest, starts)


def make_blocks(points: NDArray[np.float32], first: NDArray[np.int64]) -> NDArray[np.float32]:
    """Coordinates by chunk and lane; lanes that a chunk does not fill are never looked at."""
    sizes = np.diff(first)
    chunk = np.repeat(np.arange(len(sizes)), sizes)
    lane = np.arange(len(points)) - np.repeat(first[:-1], sizes)
    filled = np.zeros((len(sizes), 9, CHUNK_TRIANGLES), dtype=np.float32)
    filled[chunk, :, lane] = points.reshape(-1, 9)
    return filled.reshape(len(sizes), 9 * CHUNK_TRIANGLES)


def split_into_chunks(centroids: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of the triangles, and where each chunk starts in it (the end included).

    Splits at the median of the longest side; the left half is a whole number of chunks, so that all
    but the last few are full.
    """
    order = np.arange(len(centroids), dtype=np.int64)
    starts = _split(np.ascontiguousarray(centroids, dtype=np.float32), order, CHUNK_TRIANGLES)
    return order, starts


@compile_nogil_kernel
def _split(points: NDArray[np.float32], order: NDArray[np.int64], leaf: int) -> NDArray[np.int64]:
    count = len(order)
    starts = np.empty((count + leaf - 1) // leaf + 1, dtype=np.int64)
    found = 0
    stack = np.empty((128, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, count
    depth = 1 if count > 0 else 0
    while depth > 0:
        depth -= 1
        low, high = stack[depth, 0], stack[depth, 1]
        if high - low <= leaf:
            starts[found] = low
            found += 1
            continue
        middle = low + leaf * (((high - low + leaf - 1) // leaf + 1) // 2)
        _select(points, order, low, high, middle, _find_longest_axis(points, order, low, high))
        stack[depth, 0], stack[depth, 1] = middle, high
        stack[depth + 1, 0], stack[depth + 1, 1] = low, middle
        depth += 2
    starts[found] = count
    return starts[: found + 1]


@compile_nogil_kernel
def _find_longest_axis(points: NDArray[np.float32], order: NDArray[np.int64], low: int, high: int) -> int:
    best, longest = 0, -1.0
    for axis in range(3):
        smallest = largest = points[order[low], axis]
        for i in range(low, high):
            value = points[order[i], axis]
            smallest = min(smallest, value)
            largest = max(largest, value)
        if largest - smallest > longest:
            best, longest = axis, largest - smallest
    return best


@compile_nogil_kernel
def _select(points: NDArray[np.float32], order: NDArray[np.int64], low: int, high: int, nth: int, axis: int) -> None:
    """Quickselect: afterwards nothing before position `nth` lies beyond what stands at it."""
    left, right = low, high - 1
    while left < right:
        pivot = points[order[(left + right) // 2], axis]
        i, j = left, right
        while i <= j:
            while points[order[i], axis] < pivot:
                i += 1
            while points[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if nth <= j:
            right = j
        elif nth >= i:
            left = i
        else:
            return
