"""From a scene as it was read to a scene that can be drawn fast."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import AlphaMode, Light, Material, Scene, Texture, Wrap
from nav_eval.scene.splats import list_splat_arrays
from nav_eval.simulator.rendering.decimation import EDGE, ScaledMesh, decimate
from nav_eval.simulator.rendering.lighting import choose_lighting
from nav_eval.simulator.rendering.mipmaps import make_mipmaps, split_mipmaps
from nav_eval.simulator.rendering.prepared_scene import (
    CHUNK_TRIANGLES,
    SHADED,
    UNLIT,
    Batch,
    Chunks,
    PreparedScene,
    VertexOrigins,
    VertexTable,
    build_vertices,
    classify_materials,
    compute_chunk_bounds,
    compute_group_boxes,
    compute_longest_edges,
    compute_normal_cones,
    make_blocks,
    number_distinct,
    split_into_chunks,
)
from nav_eval.simulator.rendering.triangle_blocks import compute_areas, compute_unit_normals, iterate_blocks

T = TypeVar("T", bound=np.generic)

PREPARATION_VERSION = 11
"""Part of every digest: raise it when anything in this package changes what is prepared."""
ROUNDED_BITS = 20
"""Merging may change positions and texture coordinates beyond this many leading bits: what OpenGL rounds away too,"""
TEXEL_PARTS = 256
"""and texture coordinates by 1/256 of a texel, which is as fine as OpenGL need filter."""
PLACE = 8
"""Vertices so many roundings apart are at the same place: meshes that meet, each moved by a matrix of its own."""
NORMAL_PARTS = 255
"""Merging may change a normal by 1/255, which changes light by about one step of a byte."""
WHITE = 255
BLACK = (0, 0, 0)
_DRAWN_AFTER = {AlphaMode.OPAQUE: 0, AlphaMode.MASK: 1, AlphaMode.BLEND: 2}


def prepare_scene(scene: Scene) -> PreparedScene:
    """Batches, chunks and tints of a scene."""
    return prepare_with_origins(scene)[0]


def prepare_with_origins(scene: Scene) -> tuple[PreparedScene, VertexOrigins]:
    """The same, and where its vertices come from: enough to paint them anew."""
    surfaces, surface_of_triangle = _number_surfaces(scene)
    lighting = choose_lighting(scene)
    kinds = classify_materials(scene, lighting)
    table = build_vertices(scene, surface_of_triangle, kinds=kinds, lighting=lighting)
    del surface_of_triangle  # large, as the next step is
    triangles, kept = _decimate_faces(scene, table)
    two_sided = np.array([m.double_sided for m in scene.materials])
    material = scene.triangle_material[table.source[kept]]
    faces = _make_faces(table.vertices, triangles, material, two_sided=two_sided)
    batches, batch_of_face = _make_batches(scene, faces, kinds)
    order, chunk_first, chunk_batch = _split_faces(faces, batch_of_face)
    faces = faces.take(order)
    vertices, normals, corners, origins = _order_by_use(table, faces)
    points = vertices["position"][corners]
    textures = tuple(_expand_mirrors(texture) for texture in scene.textures)
    linear = _find_lit_pictures(scene, kinds)
    prepared = PreparedScene(
        digest=compute_render_digest(scene),
        triangle_count=len(scene.triangles),
        vertices=_freeze(vertices),
        chunks=_make_chunks(points, faces, triangles=corners, first=chunk_first, batch=chunk_batch),
        batches=batches,
        textures=textures,
        mipmaps=tuple(_make_levels(texture, linear=i in linear) for i, texture in enumerate(textures)),
        normals=_freeze(normals if (kinds == SHADED).any() else normals[:0]),
        materials=scene.materials if (kinds == SHADED).any() else (),
        lighting=lighting,
        surfaces=_freeze(surfaces),
        background=BLACK,
        splats=scene.splats,
    )
    return prepared, origins


def _make_levels(texture: Texture, *, linear: bool) -> tuple[NDArray[np.uint8], ...]:
    pixels = texture.pixels
    return tuple(map(_freeze, split_mipmaps(pixels, make_mipmaps(pixels, linear=linear))[1:]))


def _find_lit_pictures(scene: Scene, kinds: NDArray[np.int64]) -> frozenset[int]:
    """Textures that are colours of lit surfaces alone: they are made smaller in linear light."""
    data, colors, final = set[int](), set[int](), set[int]()
    for kind, material in zip(kinds, scene.materials, strict=True):
        shading = material.shading
        shown = {material.texture, shading.emission_map} - {None}
        (final if kind == UNLIT else colors).update(index for index in shown if index is not None)
        data.update(index for index in material.maps if index not in shown)
    return frozenset(colors - final - data)


def compute_render_digest(scene: Scene) -> str:
    """Of everything that can change a picture."""
    digest = hashlib.blake2b(f"nav-eval rendering {PREPARATION_VERSION}".encode(), digest_size=20)
    arrays: tuple[NDArray[np.generic], ...] = (
        scene.positions,
        scene.normals,
        scene.uvs,
        scene.colors,
        scene.triangles,
        scene.triangle_material,
        scene.triangle_object,
        scene.triangle_category,
        *(texture.pixels for texture in scene.textures),
        *(() if scene.splats is None else list_splat_arrays(scene.splats).values()),
    )
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    samplers = [(texture.wrap_u, texture.wrap_v, texture.nearest) for texture in scene.textures]
    looks: list[Material | Light] = [*scene.materials, *scene.lights]
    digest.update(repr((samplers, [astuple(look) for look in looks])).encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class _Faces:
    """Triangles with a side: the far side of a two-sided surface is a triangle of its own."""

    corners: NDArray[np.int32]  #: F × 3, vertices
    is_back: NDArray[np.bool_]  #: F
    material: NDArray[np.uint16]  #: F
    centroids: NDArray[np.float32]  #: F × 3
    normals: NDArray[np.float64]  #: F × 3, unit length, out of the triangle's plane
    areas: NDArray[np.float64]  #: F, square metres

    def take(self, order: NDArray[np.int64]) -> "_Faces":
        return _Faces(*(getattr(self, name)[order] for name in self.__slots__))


def _make_faces(
    vertices: NDArray[np.void],
    triangles: NDArray[np.int32],
    material: NDArray[np.uint16],
    *,
    two_sided: NDArray[np.bool_],
) -> _Faces:
    positions = vertices["position"]
    normals, areas = compute_unit_normals(positions, triangles), compute_areas(positions, triangles)
    centroids = np.empty((len(triangles), 3), dtype=np.float32)
    for block in iterate_blocks(len(triangles)):
        centroids[block] = positions[triangles[block]].astype(np.float64).mean(axis=1)
    back = np.flatnonzero(two_sided[material])
    return _Faces(
        corners=np.concatenate([triangles, triangles[back][:, ::-1]]),
        is_back=np.arange(len(triangles) + len(back)) >= len(triangles),
        material=np.concatenate([material, material[back]]),
        centroids=np.concatenate([centroids, centroids[back]]),
        normals=np.concatenate([normals, -normals[back]]),
        areas=np.concatenate([areas, areas[back]]),
    )


def _make_batches(scene: Scene, faces: _Faces, kinds: NDArray[np.int64]) -> tuple[tuple[Batch, ...], NDArray[np.int32]]:
    """The distinct ways of drawing that the scene needs, and the one that each face is drawn with."""
    tinted = _find_tinted_materials(scene) | (kinds != UNLIT)
    of_material = [
        _make_batch(material, tinted[i], shaded=i if kinds[i] == SHADED else None)
        for i, material in enumerate(scene.materials)
    ]
    batches = _order_batches(of_material, faces)
    numbers = {batch: number for number, batch in enumerate(batches)}
    number_of_material = np.array([numbers.get(batch, -1) for batch in of_material], dtype=np.int32)
    return batches, number_of_material[faces.material]


def _order_batches(of_material: Sequence[Batch], faces: _Faces) -> tuple[Batch, ...]:
    """Those that have faces. What is fine is drawn before what is large, as furniture stands before walls.

    So few pixels are painted twice, wherever the eye is: a sixth less of them in houses.
    """
    areas, counts = Counter[Batch](), Counter[Batch]()
    by_material = np.bincount(faces.material, faces.areas), np.bincount(faces.material)
    for batch, area, count in zip(of_material, *by_material, strict=False):
        areas[batch] += area
        counts[batch] += int(count)
    used = [batch for batch, count in counts.items() if count]
    return tuple(sorted(used, key=lambda batch: _get_batch_order(batch, area=areas[batch], count=counts[batch])))


def _make_batch(material: Material, tinted: bool, *, shaded: int | None) -> Batch:
    cutoff = material.alpha_cutoff if material.alpha_mode is AlphaMode.MASK else 0.0
    tinted = bool(tinted) or material.texture is None
    return Batch(
        texture=material.texture, tinted=tinted, alpha_mode=material.alpha_mode, alpha_cutoff=cutoff, shaded=shaded
    )


def _get_batch_order(batch: Batch, *, area: float, count: int) -> tuple[float, ...]:
    """Of so many faces with this area together: by how much of it a chunk has."""
    coarseness = area / -(-count // CHUNK_TRIANGLES)
    texture = -1 if batch.texture is None else batch.texture
    shaded = -1 if batch.shaded is None else batch.shaded
    return (_DRAWN_AFTER[batch.alpha_mode], coarseness, texture, batch.tinted, batch.alpha_cutoff, shaded)


def _find_tinted_materials(scene: Scene) -> NDArray[np.bool_]:
    """Materials whose pixels are not simply the texture's bytes."""
    tinted = np.array([material.base_color != (1.0, 1.0, 1.0, 1.0) for material in scene.materials], dtype=bool)
    coloured_vertex = (scene.colors != WHITE).any(axis=1)
    coloured_triangle = coloured_vertex[scene.triangles].any(axis=1)
    tinted[np.unique(scene.triangle_material[coloured_triangle])] = True
    return tinted


def _split_faces(
    faces: _Faces, batch_of_face: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The faces' new order, where each chunk starts in it, and the batch of each chunk.

    A chunk holds one batch and one of six facings only: seen from behind it is rejected as a whole.
    """
    kind = batch_of_face.astype(np.int64) * 6 + _classify_facings(faces.normals)
    by_kind = np.argsort(kind, kind="stable")
    kinds, edges = np.unique(kind[by_kind], return_index=True)
    edges = np.append(edges, len(kind))
    orders, starts, chunk_batch = [], [np.zeros(1, dtype=np.int64)], []
    for number, low, high in zip(kinds, edges[:-1], edges[1:], strict=True):
        order, first = split_into_chunks(faces.centroids[by_kind[low:high]])
        orders.append(by_kind[low:high][order])
        starts.append(first[1:] + low)
        chunk_batch.append(np.full(len(first) - 1, number // 6, dtype=np.int32))
    return _join(orders, np.int64), np.concatenate(starts), _join(chunk_batch, np.int32)


def _classify_facings(normals: NDArray[np.float64]) -> NDArray[np.int64]:
    """Which of ±x, ±y, ±z a normal is closest to."""
    axis = np.abs(normals).argmax(axis=1)
    facings: NDArray[np.int64] = 2 * axis + (normals[np.arange(len(normals)), axis] < 0)
    return facings


def _join(parts: Iterable[NDArray[T]], dtype: type[T]) -> NDArray[T]:
    return np.concatenate([np.empty(0, dtype=dtype), *parts])


def _number_surfaces(scene: Scene) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The distinct (category, object) pairs, and the row of each triangle; row 0 is what the background shows."""
    pairs = np.stack([scene.triangle_category, scene.triangle_object], axis=1).astype(np.int64)
    rows, row_of_triangle = np.unique(pairs, axis=0, return_inverse=True)
    table = np.concatenate([np.zeros((1, 2), dtype=np.int64), rows])
    return table, row_of_triangle.reshape(-1).astype(np.int32) + np.int32(1)


def _decimate_faces(scene: Scene, table: VertexTable) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The triangles that flat surfaces need, and which triangle each was.

    Glass keeps its triangles: it is sorted by them.
    """
    vertices, triangles = table.vertices, table.triangles
    look = np.zeros(len(vertices), dtype=np.int32)
    look[triangles] = scene.triangle_material[table.source][:, None]
    points = vertices["position"].astype(np.float64)
    shift = max(np.abs(points).max(initial=0.0) * 2.0**-ROUNDED_BITS, 1e-30)
    points /= shift
    blended = np.array([material.alpha_mode is AlphaMode.BLEND for material in scene.materials], dtype=bool)
    surface = ScaledMesh(
        triangles=triangles,
        points=points,
        values=_scale_values(table, _compute_uv_tolerances(scene, vertices, look), look),
        place=_number_places(points),
        is_fixed=blended[look],
    )
    return decimate(surface, longest=EDGE / shift)


def _number_places(points: NDArray[np.float64]) -> NDArray[np.int32]:
    cells = np.empty(points.shape, dtype=np.int32)
    for block in iterate_blocks(len(points)):
        cells[block] = np.rint(points[block] / PLACE)
    return number_distinct(cells)[0]


def _scale_values(table: VertexTable, tolerances: NDArray[np.float64], look: NDArray[np.int32]) -> NDArray[np.float64]:
    """All that is interpolated across a triangle but its place, in units of how far it may be off."""
    vertices, details = table.vertices, table.details
    values = np.empty((len(vertices), 6 if details is None else 13))
    for block in iterate_blocks(len(vertices)):
        values[block, :2] = vertices["uv"][block] / tolerances[look[block], None]
        values[block, 2:6] = vertices["tint"][block]
        if details is not None:
            values[block, 6:10] = details["back"][block]
            values[block, 10:] = details["normal"][block] * NORMAL_PARTS
    return values


def _compute_uv_tolerances(scene: Scene, vertices: NDArray[np.void], look: NDArray[np.int32]) -> NDArray[np.float64]:
    """By how much texture coordinates may be off, by material: a small part of a texel, or rounding."""
    largest = np.zeros(len(scene.materials))
    np.maximum.at(largest, look, np.abs(vertices["uv"]).max(axis=1, initial=0.0))
    sides = [max((max(scene.textures[i].pixels.shape[:2]) for i in m.maps), default=0) for m in scene.materials]
    texel = np.array([1 / side if side else np.inf for side in sides])
    return np.maximum(texel / TEXEL_PARTS, largest * 2.0**-ROUNDED_BITS)


def _order_by_use(
    table: VertexTable, faces: _Faces
) -> tuple[NDArray[np.void], NDArray[np.float32], NDArray[np.uint32], VertexOrigins]:
    """Vertices numbered as the triangles first use them: OpenGL's cache of finished vertices is small.

    Their normals come with them; the far side of a lit surface has light of its own.
    """
    count = len(table.vertices)
    used = faces.corners + faces.is_back[:, None] * count
    number, first = number_distinct(used.reshape(-1, 1).astype(np.int32))
    chosen = used.reshape(-1)[first]
    vertices, corners = table.vertices[chosen % count], number.reshape(-1, 3).astype(np.uint32)
    is_back = chosen >= count
    vertex, material = np.ascontiguousarray(table.origin[chosen % count].T)
    origins = VertexOrigins(vertex, material, is_back)
    if table.details is None:
        return vertices, np.zeros((0, 3), dtype=np.float32), corners, origins
    details = table.details[chosen % count]
    vertices["tint"][is_back] = details["back"][is_back]
    return vertices, np.where(is_back[:, None], -details["normal"], details["normal"]), corners, origins


def _expand_mirrors(texture: Texture) -> Texture:
    """A texture that repeats mirrored is one of twice the size that plainly repeats."""
    pixels, wrap_u, wrap_v = texture.pixels, texture.wrap_u, texture.wrap_v
    if wrap_u is Wrap.MIRROR:
        pixels, wrap_u = np.concatenate([pixels, pixels[:, ::-1]], axis=1), Wrap.REPEAT
    if wrap_v is Wrap.MIRROR:
        pixels, wrap_v = np.concatenate([pixels, pixels[::-1]], axis=0), Wrap.REPEAT
    return replace(texture, pixels=pixels, wrap_u=wrap_u, wrap_v=wrap_v)


def _make_chunks(
    points: NDArray[np.float32],
    faces: _Faces,
    *,
    triangles: NDArray[np.uint32],
    first: NDArray[np.int64],
    batch: NDArray[np.int32],
) -> Chunks:
    bounds, longest = compute_chunk_bounds(points, first), compute_longest_edges(points, first)
    group_bounds, group_longest = compute_group_boxes(bounds, longest)
    return Chunks(
        first=_freeze(first),
        batch=_freeze(batch),
        bounds=_freeze(bounds),
        cones=_freeze(compute_normal_cones(faces.normals, first)),
        longest=_freeze(longest),
        group_bounds=_freeze(group_bounds),
        group_longest=_freeze(group_longest),
        corners=_freeze(make_blocks(points, first)),
        triangles=_freeze(triangles),
    )


def _freeze(array: NDArray[T]) -> NDArray[T]:
    """Read-only like arrays mapped from a file, so that kernels are compiled once for both."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
