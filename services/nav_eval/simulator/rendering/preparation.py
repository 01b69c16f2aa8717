"""From a scene as it was read to a scene that can be drawn fast, and that scene on disk.

The file is plain arrays, mapped into memory, so that a second process starts at once.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import ArrayFile, write_arrays
from nav_eval.errors import BadPreparedScene
from nav_eval.scene.model import AlphaMode, Light, Material, Scene, Texture, Wrap
from nav_eval.simulator.rendering.decimation import EDGE, ScaledMesh, decimate
from nav_eval.simulator.rendering.mipmaps import make_mipmaps
from nav_eval.simulator.rendering.prepared_scene import (
    VERTEX,
    Batch,
    Chunks,
    PreparedScene,
    build_vertices,
    compute_chunk_bounds,
    compute_group_boxes,
    compute_longest_edges,
    compute_normal_cones,
    make_blocks,
    number_distinct,
    split_into_chunks,
)

T = TypeVar("T", bound=np.generic)

PREPARATION_VERSION = 6
"""Part of every digest: raise it when anything in this package changes what is prepared."""
ROUNDED_BITS = 20
"""Merging may change positions and texture coordinates beyond this many leading bits: what OpenGL rounds away too,"""
TEXEL_PARTS = 256
"""and texture coordinates by 1/256 of a texel, which is as fine as OpenGL need filter."""
PLACE = 8
"""Vertices so many roundings apart are at the same place: meshes that meet, each moved by a matrix of its own."""
WHITE = 255
BLACK = (0, 0, 0)
_DRAWN_AFTER = {AlphaMode.OPAQUE: 0, AlphaMode.MASK: 1, AlphaMode.BLEND: 2}


def prepare_scene(scene: Scene) -> PreparedScene:
    """Batches, chunks and tints of a scene."""
    surfaces, surface_of_triangle = _number_surfaces(scene)
    vertices, triangles, source = build_vertices(scene, surface_of_triangle)
    triangles, kept = _decimate_faces(scene, vertices, triangles, scene.triangle_material[source])
    two_sided = np.array([m.double_sided for m in scene.materials])
    faces = _make_faces(vertices, triangles, scene.triangle_material[source[kept]], two_sided=two_sided)
    batches, batch_of_face = _make_batches(scene, faces)
    order, chunk_first, chunk_batch = _split_faces(faces, batch_of_face)
    faces = faces.take(order)
    vertices, corners = _order_by_use(vertices, faces)
    points = vertices["position"][corners]
    textures = tuple(_expand_mirrors(texture) for texture in scene.textures)
    return PreparedScene(
        digest=compute_render_digest(scene),
        triangle_count=len(scene.triangles),
        vertices=_freeze(vertices),
        chunks=_make_chunks(points, faces, triangles=corners, first=chunk_first, batch=chunk_batch),
        batches=batches,
        textures=textures,
        mipmaps=tuple(_freeze(make_mipmaps(texture.pixels)) for texture in textures),
        surfaces=_freeze(surfaces),
        background=BLACK,
    )


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

    corners: NDArray[np.int64]  #: F × 3, vertices
    is_back: NDArray[np.bool_]  #: F
    material: NDArray[np.uint16]  #: F
    centroids: NDArray[np.float32]  #: F × 3
    normals: NDArray[np.float64]  #: F × 3, unit length, out of the triangle's plane

    def take(self, order: NDArray[np.int64]) -> "_Faces":
        return _Faces(*(getattr(self, name)[order] for name in self.__slots__))


def _make_faces(
    vertices: NDArray[np.void],
    triangles: NDArray[np.int64],
    material: NDArray[np.uint16],
    *,
    two_sided: NDArray[np.bool_],
) -> _Faces:
    points = vertices["position"].astype(np.float64)[triangles]
    across = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    normals = across / np.linalg.norm(across, axis=1, keepdims=True)
    centroids = points.mean(axis=1).astype(np.float32)
    back = np.flatnonzero(two_sided[material])
    return _Faces(
        corners=np.concatenate([triangles, triangles[back][:, ::-1]]),
        is_back=np.arange(len(triangles) + len(back)) >= len(triangles),
        material=np.concatenate([material, material[back]]),
        centroids=np.concatenate([centroids, centroids[back]]),
        normals=np.concatenate([normals, -normals[back]]),
    )


def _make_batches(scene: Scene, faces: _Faces) -> tuple[tuple[Batch, ...], NDArray[np.int32]]:
    """The distinct ways of drawing that the scene needs, and the one that each face is drawn with."""
    tinted = _find_tinted_materials(scene)
    of_material = [_make_batch(material, tinted[i]) for i, material in enumerate(scene.materials)]
    used = {of_material[i] for i in np.unique(faces.material)}
    batches = tuple(sorted(used, key=_get_batch_order))
    numbers = {batch: number for number, batch in enumerate(batches)}
    number_of_material = np.array([numbers.get(batch, -1) for batch in of_material], dtype=np.int32)
    return batches, number_of_material[faces.material]


def _make_batch(material: Material, tinted: bool) -> Batch:
    cutoff = material.alpha_cutoff if material.alpha_mode is AlphaMode.MASK else 0.0
    tinted = bool(tinted) or material.texture is None
    return Batch(texture=material.texture, tinted=tinted, alpha_mode=material.alpha_mode, alpha_cutoff=cutoff)


def _get_batch_order(batch: Batch) -> tuple[float, ...]:
    texture = -1 if batch.texture is None else batch.texture
    return (_DRAWN_AFTER[batch.alpha_mode], texture, batch.tinted, batch.alpha_cutoff)


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


def _number_surfaces(scene: Scene) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct (category, object) pairs, and the row of each triangle; row 0 is what the background shows."""
    pairs = np.stack([scene.triangle_category, scene.triangle_object], axis=1).astype(np.int64)
    rows, row_of_triangle = np.unique(pairs, axis=0, return_inverse=True)
    table = np.concatenate([np.zeros((1, 2), dtype=np.int64), rows])
    return table, row_of_triangle.reshape(-1) + 1


def _decimate_faces(
    scene: Scene, vertices: NDArray[np.void], triangles: NDArray[np.int64], material: NDArray[np.uint16]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The triangles that flat surfaces need, and which triangle each was.

    Glass keeps its triangles: it is sorted by them.
    """
    look = np.zeros(len(vertices), dtype=np.int64)
    look[triangles] = material[:, None]
    positions = vertices["position"].astype(np.float64)
    shift = max(np.abs(positions).max(initial=0.0) * 2.0**-ROUNDED_BITS, 1e-30)
    points = positions / shift
    uvs = vertices["uv"] / _compute_uv_tolerances(scene, vertices, look)[look, None]
    blended = np.array([material.alpha_mode is AlphaMode.BLEND for material in scene.materials], dtype=bool)
    surface = ScaledMesh(
        triangles=triangles,
        points=points,
        values=np.concatenate([uvs, vertices["tint"]], axis=1),
        place=number_distinct(np.rint(points / PLACE).astype(np.int32))[0],
        is_fixed=blended[look],
    )
    return decimate(surface, longest=EDGE / shift)


def _compute_uv_tolerances(scene: Scene, vertices: NDArray[np.void], look: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how much texture coordinates may be off, by material: a small part of a texel, or rounding."""
    largest = np.zeros(len(scene.materials))
    np.maximum.at(largest, look, np.abs(vertices["uv"]).max(axis=1, initial=0.0))
    sides = [max(scene.textures[m.texture].pixels.shape[:2]) if m.texture is not None else 0 for m in scene.materials]
    texel = np.array([1 / side if side else np.inf for side in sides])
    return np.maximum(texel / TEXEL_PARTS, largest * 2.0**-ROUNDED_BITS)


def _order_by_use(vertices: NDArray[np.void], faces: _Faces) -> tuple[NDArray[np.void], NDArray[np.uint32]]:
    """Vertices numbered as the triangles first use them: OpenGL's cache of finished vertices is small."""
    used = faces.corners + faces.is_back[:, None] * len(vertices)
    number, first = number_distinct(used.reshape(-1, 1).astype(np.int32))
    return vertices[used.reshape(-1)[first] % len(vertices)], number.reshape(-1, 3).astype(np.uint32)


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


_CHUNK_ARRAYS: dict[str, tuple[type[np.generic], int]] = {
    "first": (np.int64, 1), "batch": (np.int32, 1), "bounds": (np.float32, 2), "cones": (np.float32, 2),
    "longest": (np.float32, 1), "group_bounds": (np.float32, 2), "group_longest": (np.float32, 1),
    "corners": (np.float32, 2), "triangles": (np.uint32, 2),
}  # fmt: skip


def get_prepared_path(cache: Path, digest: str) -> Path:
    """Where the prepared scene of a digest is kept."""
    return cache / "rendering" / f"{PREPARATION_VERSION}-{digest[:32]}"


def load_or_prepare(cache: Path, digest: str, read: Callable[[], Scene]) -> PreparedScene:
    """The prepared scene of this digest from the cache; made from what `read` returns where it is not there yet.

    A cache that cannot be written to (read-only, full) is done without.
    """
    path = get_prepared_path(cache, digest)
    if path.exists():
        return load_prepared(path)
    prepared = prepare_scene(read())
    try:
        save_prepared(prepared, path)
    except OSError:
        return prepared
    return load_prepared(path)


def save_prepared(scene: PreparedScene, path: Path) -> None:
    """Write a prepared scene to a file."""
    textures = {f"texture-{number}": texture.pixels for number, texture in enumerate(scene.textures)}
    mipmaps = {f"mipmaps-{number}": levels for number, levels in enumerate(scene.mipmaps)}
    arrays = {**scene.chunks._asdict(), "vertices": scene.vertices, "surfaces": scene.surfaces, **textures, **mipmaps}
    about = {
        "version": PREPARATION_VERSION,
        "digest": scene.digest,
        "triangle_count": scene.triangle_count,
        "batches": [asdict(batch) for batch in scene.batches],
        "textures": [{"wrap_u": t.wrap_u, "wrap_v": t.wrap_v, "nearest": t.nearest} for t in scene.textures],
        "background": scene.background,
    }
    write_arrays(path, arrays, about=about)


def load_prepared(path: Path) -> PreparedScene:
    """A scene that `save_prepared` wrote, its arrays mapped from the file."""
    try:
        file = ArrayFile(path)
        about = file.about
        if about["version"] != PREPARATION_VERSION:
            raise ValueError(f"it is of version {about['version']}, this is version {PREPARATION_VERSION}")
        red, green, blue = about["background"]
        return PreparedScene(
            digest=about["digest"],
            triangle_count=about["triangle_count"],
            vertices=file.array("vertices", VERTEX, 1),
            chunks=Chunks(**{name: file.array(name, dtype, axes) for name, (dtype, axes) in _CHUNK_ARRAYS.items()}),
            batches=tuple(
                Batch(**{**batch, "alpha_mode": AlphaMode(batch["alpha_mode"])}) for batch in about["batches"]
            ),
            textures=tuple(_load_texture(file, number, look) for number, look in enumerate(about["textures"])),
            mipmaps=tuple(file.array(f"mipmaps-{number}", np.uint8, 1) for number in range(len(about["textures"]))),
            surfaces=file.array("surfaces", np.int64, 2),
            background=(red, green, blue),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadPreparedScene(
            f"{path} is not a whole prepared scene ({error}); delete it, it will be made again."
        ) from error


def _load_texture(file: ArrayFile, number: int, look: dict[str, Any]) -> Texture:
    pixels = file.array(f"texture-{number}", np.uint8, 3)
    return Texture(
        pixels=pixels, wrap_u=Wrap(look["wrap_u"]), wrap_v=Wrap(look["wrap_v"]), nearest=bool(look["nearest"])
    )
