"""A scene made ready for drawing: what can be computed once is computed once, and kept.

Triangles are grouped into batches (one texture and one way of drawing each) and, inside a batch, into
compact chunks, so that most of a scene is rejected box by box. Surfaces that show both sides become two triangles, so
that back-face culling holds for everything. Colour factors, vertex colours and light are folded into one tint per
vertex: a vertex holds everything that it shows (position, texture coordinates, tint and surface) in one record. Lit
surfaces whose look depends on where one stands keep a normal as well and are shaded when they are drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.errors import BadPreparedScene
from nav_eval.scene.color import to_srgb
from nav_eval.scene.model import AlphaMode, Material, Scene, Texture, Wrap
from nav_eval.scene.splats import SplatCloud
from nav_eval.simulator.rendering.lighting import FacingShares, Lighting, is_dull
from nav_eval.simulator.rendering.outlooks import NO_OUTLOOKS, Outlooks
from nav_eval.simulator.rendering.texel_files import StoredTexture
from nav_eval.simulator.rendering.triangle_blocks import compute_cross_products, iterate_blocks

VERTEX = np.dtype([("position", "<f4", 3), ("uv", "<f4", 2), ("tint", "u1", 4), ("surface", "<u4")])
"""`surface` is the row of `PreparedScene.surfaces` that the pixel belongs to. `tint` is a factor on the texture's
bytes; where a batch is shaded, a linear factor on its colour."""
DETAIL = np.dtype([("normal", "<f4", 3), ("back", "u1", 4)])
"""What else a vertex of a lit surface has while it is prepared: a normal if it is shaded, the tint of its far side."""
UNLIT, DULL, SHADED = 0, 1, 2
"""Whether a material's colours are final, its light is folded into tints, or it is shaded pixel by pixel."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Triangles that one draw call can draw."""

    texture: int | None  #: index into `PreparedScene.textures`
    tinted: bool  #: False: the texture's bytes are the picture's bytes
    alpha_mode: AlphaMode = AlphaMode.OPAQUE
    alpha_cutoff: float = 0.0
    shaded: int | None = None  #: index into `PreparedScene.materials` where it is shaded pixel by pixel


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


@dataclass(frozen=True, kw_only=True, slots=True, weakref_slot=True, eq=False)
class PreparedScene:
    """Everything the renderer needs, and nothing else; arrays may be memory-mapped."""

    digest: str  #: of the scene and of the version of this preparation
    triangle_count: int  #: of the scene as it was read
    vertices: NDArray[np.void]  #: dtype `VERTEX`
    chunks: Chunks
    batches: tuple[Batch, ...]  #: opaque ones first, then masks, then blended ones
    textures: tuple[Texture, ...]
    mipmaps: tuple[tuple[NDArray[np.uint8], ...], ...]  #: the smaller levels of each texture, see `mipmaps`
    normals: NDArray[np.float32]  #: V × 3; empty where nothing is shaded
    materials: tuple[Material, ...]  #: of what is shaded
    lighting: Lighting  #: that it is shaded by
    surfaces: NDArray[np.int64]  #: S × 2, category id and object id; row 0 is "nothing"
    background: tuple[int, int, int]  #: where there is no geometry
    splats: SplatCloud | None = None  #: what colour pictures show instead of the triangles
    moving_chunks: int = 0  #: so many in front hold what each look of a canvas places anew (`canvas`)
    moving_vertices: int = 0  #: so many at the end are theirs,
    placed_vertices: int = 0  #: of which so many, the first, may be shown by the look at hand
    tints: NDArray[np.uint32] | None = None  #: of a canvas, by vertex, in place of those in `vertices`
    texels: Path | None = None  #: where the textures lie, see `texel_files`; None while they are in memory only
    stored: Mapping[int, StoredTexture] = field(default_factory=dict)  #: textures of looks, by identity
    outlooks: Outlooks = NO_OUTLOOKS  #: for the renderer to start from; they change no picture

    @property
    def size(self) -> float:
        """The largest coordinate: how much single precision can be off."""
        return float(np.abs(self.chunks.bounds).max(initial=0.0))

    @property
    def first_blended_chunk(self) -> int:
        solid = sum(batch.alpha_mode is not AlphaMode.BLEND for batch in self.batches)
        return int(np.searchsorted(self.chunks.batch, solid))


class VertexTable(NamedTuple):
    """Vertices, no two equal, and the triangles with an area over them."""

    vertices: NDArray[np.void]  #: dtype `VERTEX`
    details: NDArray[np.void] | None  #: dtype `DETAIL`, by vertex; None where nothing is lit
    triangles: NDArray[np.int32]
    source: NDArray[np.int32]  #: which of the scene's triangles each of these is
    origin: NDArray[np.int32]  #: by vertex: a vertex of the scene that it was, and its material


class VertexOrigins(NamedTuple):
    """Where the vertices of a prepared scene come from."""

    vertex: NDArray[np.int32]  #: of the scene; of several alike, one
    material: NDArray[np.int32]
    is_back: NDArray[np.bool_]  #: whether it belongs to the far side of a lit surface


def classify_materials(scene: Scene, lighting: Lighting) -> NDArray[np.int64]:
    """UNLIT, DULL or SHADED, by material."""
    kinds = np.array([UNLIT if material.unlit else DULL for material in scene.materials], dtype=np.int64)
    colors = scene.colors[scene.triangles]
    varied = (colors != colors[:, :1]).any(axis=(1, 2))
    interpolated = np.zeros(len(kinds), dtype=bool)
    interpolated[np.unique(scene.triangle_material[varied])] = True
    for number, material in enumerate(scene.materials):
        can_fold = lighting.is_uniform if material.texture is None else lighting.can_fold
        if kinds[number] == DULL and (interpolated[number] or not can_fold or not is_dull(material)):
            kinds[number] = SHADED
    return kinds


def build_vertices(
    scene: Scene, surface: NDArray[np.int32], *, kinds: NDArray[np.int64], lighting: Lighting
) -> VertexTable:
    """All that is drawn; `surface` is by triangle, `kinds` by material."""
    source = np.flatnonzero(_has_area(scene)).astype(np.int32)
    material = scene.triangle_material[source]
    rows = np.empty((len(source), 3, 3), dtype=np.int32)
    rows[..., 0], rows[..., 1], rows[..., 2] = scene.triangles[source], material[:, None], surface[source, None]
    number, first = number_distinct(rows.reshape(-1, 3))
    vertex, material_of_vertex, surface_of_vertex = rows.reshape(-1, 3)[first].T
    del rows  # it is large
    vertices = np.zeros(len(first), dtype=VERTEX)
    vertices["position"] = scene.positions[vertex] + np.float32(0.0)  # -0 is 0
    vertices["uv"] = scene.uvs[vertex] * _compute_uv_scales(scene)[material_of_vertex]
    for block in iterate_blocks(len(vertices)):
        vertices["tint"][block] = _compute_tints(scene, vertex[block], material_of_vertex[block])
    vertices["surface"] = surface_of_vertex
    details = _add_light(scene, vertices, vertex, material_of_vertex, kinds, lighting) if kinds.any() else None
    words = [_get_words(vertices), material_of_vertex[:, None]]
    if details is not None:
        words.append(_get_words(details))
    again, first = number_distinct(np.concatenate(words, axis=1))
    triangles = again[number].reshape(-1, 3)
    origin = np.stack([vertex, material_of_vertex], axis=1)[first]
    return VertexTable(vertices[first], None if details is None else details[first], triangles, source, origin)


def _get_words(records: NDArray[np.void]) -> NDArray[np.int32]:
    """Records as rows of numbers."""
    return records.view(np.int32).reshape(len(records), records.dtype.itemsize // 4)


def _has_area(scene: Scene) -> NDArray[np.bool_]:
    have_area = np.zeros(len(scene.triangles), dtype=bool)
    for block in iterate_blocks(len(scene.triangles)):
        triangles = scene.triangles[block]
        if not np.isfinite(scene.positions[triangles]).all():
            source = scene.report.source or "The scene"
            raise BadPreparedScene(f"{source} has vertices that are not finite; read it again.")
        have_area[block] = np.linalg.norm(compute_cross_products(scene.positions, triangles), axis=1) > 0
    return have_area


def _compute_tints(
    scene: Scene,
    vertex: NDArray[np.int32],
    material: NDArray[np.int32],
    *,
    light: NDArray[np.float64] | float = 1.0,
    sheen: NDArray[np.float64] | None = None,
) -> NDArray[np.uint8]:
    """Factor on the texture's bytes. sRGB is nearly a power law, so encoding the factor encodes the product."""
    base = np.array([material.base_color for material in scene.materials], dtype=np.float64).reshape(-1, 4)
    glow = np.array([material.emissive for material in scene.materials], dtype=np.float64).reshape(-1, 3)
    tint = scene.colors[vertex] / 255.0 * base[material]
    tint[:, :3] *= light
    tint[:, :3] += glow[material]
    if sheen is not None:
        plain = np.array([material.texture is None for material in scene.materials])
        tint[:, :3] += np.where(plain[material, None], sheen, 0.0)  # on a texture it would be a factor
    tint[:, :3] = to_srgb(tint[:, :3])
    return np.round(np.clip(tint, 0.0, 1.0) * 255).astype(np.uint8)


def _add_light(
    scene: Scene,
    vertices: NDArray[np.void],
    vertex: NDArray[np.int32],
    material: NDArray[np.int32],
    kinds: NDArray[np.int64],
    lighting: Lighting,
) -> NDArray[np.void]:
    """Fold light into the tints of dull surfaces, give shaded ones linear tints; what else lit ones need."""
    details = np.zeros(len(vertices), dtype=DETAIL)
    details["back"] = vertices["tint"]
    kind, normals = kinds[material], scene.normals[vertex].astype(np.float64)
    dull, shaded = np.flatnonzero(kind == DULL), np.flatnonzero(kind == SHADED)
    for side, tints in ((1.0, vertices["tint"]), (-1.0, details["back"])):
        light, sheen = FacingShares.over(side * normals[dull], lighting).add_up(lighting)
        tints[dull] = _compute_tints(scene, vertex[dull], material[dull], light=light, sheen=sheen)
    vertices["tint"][shaded, :3] = scene.colors[vertex[shaded], :3]
    details["back"][shaded] = vertices["tint"][shaded]
    details["normal"][shaded] = normals[shaded] + 0.0
    return details


def _compute_uv_scales(scene: Scene) -> NDArray[np.float32]:
    """What `preparation._expand_mirrors` does to texture coordinates, by material."""
    half = {Wrap.MIRROR: 0.5}
    textures = [None if material.texture is None else scene.textures[material.texture] for material in scene.materials]
    scales = [(half.get(t.wrap_u, 1.0), half.get(t.wrap_v, 1.0)) if t else (1.0, 1.0) for t in textures]
    return np.array(scales, dtype=np.float32).reshape(-1, 2)


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
