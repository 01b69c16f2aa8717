"""From a scene as it was read to a scene that can be drawn fast."""

import hashlib
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import AlphaMode, Light, Material, Scene, Texture, Wrap
from nav_eval.simulator.rendering.chunks import (
    blocks,
    chunk_bounds,
    group_boxes,
    kd_chunks,
    longest_edges,
    normal_cones,
)
from nav_eval.simulator.rendering.errors import BadPreparedScene
from nav_eval.simulator.rendering.prepared import VERTEX, Batch, Chunks, PreparedScene

T = TypeVar("T", bound=np.generic)

PREPARATION_VERSION = 4
"""Part of every digest: raise it when anything in this package changes what is prepared."""
WHITE = 255
BLACK = (0, 0, 0)
_DRAWN_AFTER = {AlphaMode.OPAQUE: 0, AlphaMode.MASK: 1, AlphaMode.BLEND: 2}


def prepare(scene: Scene) -> PreparedScene:
    """Batches, chunks and tints of a scene."""
    faces = _faces(scene)
    batches, batch_of_face = _batches(scene, faces)
    order, chunk_first, chunk_batch = _chunk_faces(faces, batch_of_face)
    faces = faces.take(order)
    surfaces, surface_of_face = _surfaces(scene, faces)
    vertices, triangles = _vertices(scene, faces, surface_of_face)
    points = vertices["position"][triangles]
    return PreparedScene(
        digest=scene_digest(scene),
        triangle_count=len(scene.triangles),
        vertices=_frozen(vertices),
        chunks=_chunks(points, faces, triangles=triangles, first=chunk_first, batch=chunk_batch),
        batches=batches,
        textures=tuple(_without_mirrors(texture) for texture in scene.textures),
        surfaces=_frozen(surfaces),
        background=BLACK,
    )


def scene_digest(scene: Scene) -> str:
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

    corners: NDArray[np.uint32]  #: F × 3, vertex indices of the scene
    source: NDArray[np.int64]  #: F, triangle of the scene
    is_back: NDArray[np.bool_]  #: F
    material: NDArray[np.uint16]  #: F
    centroids: NDArray[np.float32]  #: F × 3
    normals: NDArray[np.float64]  #: F × 3, unit length, out of the triangle's plane

    def take(self, order: NDArray[np.int64]) -> "_Faces":
        return _Faces(*(getattr(self, name)[order] for name in self.__slots__))


def _faces(scene: Scene) -> _Faces:
    points = scene.positions.astype(np.float64)[scene.triangles]
    if not np.isfinite(points).all():
        raise BadPreparedScene(f"{scene.report.source or 'The scene'} has vertices that are not finite; read it again.")
    across = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    doubled_area = np.linalg.norm(across, axis=1)
    front = np.flatnonzero(doubled_area > 0)
    two_sided = np.array([material.double_sided for material in scene.materials], dtype=bool)
    back = front[two_sided[scene.triangle_material[front]]]
    source = np.concatenate([front, back])
    normals = across[source] / doubled_area[source, None]
    normals[len(front) :] *= -1
    return _Faces(
        corners=np.concatenate([scene.triangles[front], scene.triangles[back][:, ::-1]]),
        source=source,
        is_back=np.arange(len(source)) >= len(front),
        material=scene.triangle_material[source],
        centroids=points.mean(axis=1)[source].astype(np.float32),
        normals=normals,
    )


def _batches(scene: Scene, faces: _Faces) -> tuple[tuple[Batch, ...], NDArray[np.int32]]:
    """The distinct ways of drawing that the scene needs, and the one that each face is drawn with."""
    tinted = _tinted_materials(scene)
    of_material = [_batch(material, tinted[i]) for i, material in enumerate(scene.materials)]
    used = {of_material[i] for i in np.unique(faces.material)}
    batches = tuple(sorted(used, key=_batch_order))
    numbers = {batch: number for number, batch in enumerate(batches)}
    number_of_material = np.array([numbers.get(batch, -1) for batch in of_material], dtype=np.int32)
    return batches, number_of_material[faces.material]


def _batch(material: Material, tinted: bool) -> Batch:
    cutoff = material.alpha_cutoff if material.alpha_mode is AlphaMode.MASK else 0.0
    return Batch(
        texture=material.texture,
        tinted=bool(tinted) or material.texture is None,
        alpha_mode=material.alpha_mode,
        alpha_cutoff=cutoff,
    )


def _batch_order(batch: Batch) -> tuple[float, ...]:
    texture = -1 if batch.texture is None else batch.texture
    return (_DRAWN_AFTER[batch.alpha_mode], texture, batch.tinted, batch.alpha_cutoff)


def _tinted_materials(scene: Scene) -> NDArray[np.bool_]:
    """Materials whose pixels are not simply the texture's bytes."""
    tinted = np.array([material.base_color != (1.0, 1.0, 1.0, 1.0) for material in scene.materials], dtype=bool)
    coloured_vertex = (scene.colors != WHITE).any(axis=1)
    coloured_triangle = coloured_vertex[scene.triangles].any(axis=1)
    tinted[np.unique(scene.triangle_material[coloured_triangle])] = True
    return tinted


def _chunk_faces(
    faces: _Faces, batch_of_face: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The faces' new order, where each chunk starts in it, and the batch of each chunk.

    A chunk holds one batch and one of six facings only: seen from behind it is rejected as a whole.
    """
    kind = batch_of_face.astype(np.int64) * 6 + _facings(faces.normals)
    by_kind = np.argsort(kind, kind="stable")
    kinds, edges = np.unique(kind[by_kind], return_index=True)
    edges = np.append(edges, len(kind))
    orders, starts, chunk_batch = [], [np.zeros(1, dtype=np.int64)], []
    for number, low, high in zip(kinds, edges[:-1], edges[1:], strict=True):
        order, first = kd_chunks(faces.centroids[by_kind[low:high]])
        orders.append(by_kind[low:high][order])
        starts.append(first[1:] + low)
        chunk_batch.append(np.full(len(first) - 1, number // 6, dtype=np.int32))
    return _joined(orders, np.int64), np.concatenate(starts), _joined(chunk_batch, np.int32)


def _facings(normals: NDArray[np.float64]) -> NDArray[np.int64]:
    """Which of ±x, ±y, ±z a normal is closest to."""
    axis = np.abs(normals).argmax(axis=1)
    facings: NDArray[np.int64] = 2 * axis + (normals[np.arange(len(normals)), axis] < 0)
    return facings


def _joined(parts: Iterable[NDArray[T]], dtype: type[T]) -> NDArray[T]:
    return np.concatenate([np.empty(0, dtype=dtype), *parts])


def _surfaces(scene: Scene, faces: _Faces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct (category, object) pairs, and the row of each face; row 0 is what the background shows."""
    pairs = np.stack([scene.triangle_category, scene.triangle_object], axis=1).astype(np.int64)
    rows, row_of_triangle = np.unique(pairs, axis=0, return_inverse=True)
    table = np.concatenate([np.zeros((1, 2), dtype=np.int64), rows])
    return table, row_of_triangle.reshape(-1)[faces.source] + 1


def _vertices(
    scene: Scene, faces: _Faces, surface_of_face: NDArray[np.int64]
) -> tuple[NDArray[np.void], NDArray[np.uint32]]:
    """One vertex per distinct (vertex, side, material, surface), and the triangles over them.

    Vertices are numbered as the triangles first use them: OpenGL's cache of finished vertices is small.
    """
    look = (faces.is_back * len(scene.materials) + faces.material) * len(scene.positions)
    key = (surface_of_face * (2 * len(scene.materials) * len(scene.positions)) + look)[:, None] + faces.corners
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    first, number = first[order], np.empty_like(order)
    number[order] = np.arange(len(order))
    face, corner = np.divmod(first, 3)
    source = faces.corners[face, corner]
    vertices = np.zeros(len(first), dtype=VERTEX)
    vertices["position"] = scene.positions[source]
    vertices["uv"] = scene.uvs[source] * _uv_scales(scene)[faces.material[face]]
    vertices["surface"] = surface_of_face[face]
    vertices["tint"] = _tints(scene, source, faces.material[face])
    return vertices, number[inverse].reshape(-1, 3).astype(np.uint32)


def _tints(scene: Scene, vertex: NDArray[np.uint32], material: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Factor on the texture's bytes. sRGB is nearly a power law, so encoding the factor encodes the product."""
    base = np.array([material.base_color for material in scene.materials], dtype=np.float64).reshape(-1, 4)
    glow = np.array([material.emissive for material in scene.materials], dtype=np.float64).reshape(-1, 3)
    tint = scene.colors[vertex] / 255.0 * base[material]
    tint[:, :3] += glow[material]
    tint[:, :3] = srgb_encoded(tint[:, :3])
    return np.round(np.clip(tint, 0.0, 1.0) * 255).astype(np.uint8)


def _without_mirrors(texture: Texture) -> Texture:
    """A texture that repeats mirrored is one of twice the size that plainly repeats."""
    pixels, wrap_u, wrap_v = texture.pixels, texture.wrap_u, texture.wrap_v
    if wrap_u is Wrap.MIRROR:
        pixels, wrap_u = np.concatenate([pixels, pixels[:, ::-1]], axis=1), Wrap.REPEAT
    if wrap_v is Wrap.MIRROR:
        pixels, wrap_v = np.concatenate([pixels, pixels[::-1]], axis=0), Wrap.REPEAT
    return replace(texture, pixels=pixels, wrap_u=wrap_u, wrap_v=wrap_v)


def _uv_scales(scene: Scene) -> NDArray[np.float32]:
    """What `_without_mirrors` does to texture coordinates, by material."""
    half = {Wrap.MIRROR: 0.5}
    textures = [None if material.texture is None else scene.textures[material.texture] for material in scene.materials]
    scales = [(half.get(t.wrap_u, 1.0), half.get(t.wrap_v, 1.0)) if t else (1.0, 1.0) for t in textures]
    return np.array(scales, dtype=np.float32).reshape(-1, 2)


def srgb_encoded(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear light to sRGB, both 0 to 1."""
    clipped = np.clip(linear, 0.0, 1.0)
    return np.where(clipped <= 0.0031308, clipped * 12.92, 1.055 * clipped ** (1 / 2.4) - 0.055)


def _chunks(
    points: NDArray[np.float32],
    faces: _Faces,
    *,
    triangles: NDArray[np.uint32],
    first: NDArray[np.int64],
    batch: NDArray[np.int32],
) -> Chunks:
    bounds, longest = chunk_bounds(points, first), longest_edges(points, first)
    group_bounds, group_longest = group_boxes(bounds, longest)
    return Chunks(
        first=_frozen(first),
        batch=_frozen(batch),
        bounds=_frozen(bounds),
        cones=_frozen(normal_cones(faces.normals, first)),
        longest=_frozen(longest),
        group_bounds=_frozen(group_bounds),
        group_longest=_frozen(group_longest),
        corners=_frozen(blocks(points, first)),
        triangles=_frozen(triangles),
    )


def _frozen(array: NDArray[T]) -> NDArray[T]:
    """Read-only like arrays mapped from a file, so that kernels are compiled once for both."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
