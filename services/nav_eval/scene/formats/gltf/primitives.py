"""A primitive's vertices and triangles, in the mesh's own frame.

Draco-compressed primitives (KHR_draco_mesh_compression) are unpacked by Google's own decoder, once the sizes that
they claim are within the limits. Morph targets and skins are frozen in the pose that the file's nodes describe.
"""

import struct
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.formats import geometry
from nav_eval.scene.formats.gltf.document import Document, as_floats, read_floats, read_integers
from nav_eval.scene.formats.gltf.nodes import PlacedNode
from nav_eval.scene.formats.gltf.schema import DracoPrimitive, Primitive
from nav_eval.scene.formats.scene_folder import check_limit

SEQUENTIAL, EDGEBREAKER = 0, 1
MESH = 1
HAS_METADATA = 0x8000


class DracoMesh(NamedTuple):
    corners: NDArray[np.uint32]  #: vertex indices, three per triangle
    attributes: dict[str, NDArray[np.float32]]  #: vertex arrays by glTF name; normalised integers are fractions already


def decode_primitive(document: Document, primitive: Primitive, *, where: str) -> DracoMesh | None:
    """The unpacked primitive; None where it is not compressed with Draco."""
    packed = primitive.extensions.draco
    if packed is None:
        return None
    content = bytes(document.view(packed.buffer_view))
    _check_counts(content, document=document, where=where)
    corners, arrays = _decode(content, document=document, where=where)
    return DracoMesh(corners, _map_by_name(document, primitive, packed, arrays, where=where))


def _decode(content: bytes, *, document: Document, where: str) -> tuple[NDArray[np.uint32], dict[int, NDArray[Any]]]:
    """Corners, and arrays by Draco's own attribute ids."""
    try:
        import DracoPy
    except ImportError as error:
        raise SceneError(
            f"{document.source}: is compressed with Draco; install DracoPy (pip install 'nav-eval[render]')."
        ) from error
    try:
        mesh = DracoPy.decode(content)
    except Exception as error:  # the decoder's own errors have no common base
        raise document.error(f"{where}: its Draco data cannot be decoded ({error}); export the file again.") from error
    arrays = {int(entry["unique_id"]): np.asarray(entry["data"]) for entry in mesh.attributes}
    return np.asarray(mesh.faces, np.uint32).ravel(), arrays


def _map_by_name(
    document: Document, primitive: Primitive, packed: DracoPrimitive, arrays: dict[int, NDArray[Any]], *, where: str
) -> dict[str, NDArray[np.float32]]:
    attributes = {}
    for name, unique_id in packed.attributes.items():
        if unique_id not in arrays or name not in primitive.attributes:
            raise document.error(f"{where}: its Draco data lacks {name}; export the file again.")
        accessor = document.item(document.gltf.accessors, primitive.attributes[name], "accessor")
        values = as_floats(arrays[unique_id], normalized=accessor.normalized)
        attributes[name] = values.reshape(len(values), -1)
    return attributes


def _check_counts(content: bytes, *, document: Document, where: str) -> None:
    if len(content) < 12 or content[:5] != b"DRACO":
        raise document.error(f"{where}: its Draco data does not begin like Draco data; export the file again.")
    kind, method, flags = struct.unpack_from("<BBH", content, 7)
    if kind != MESH or method not in (SEQUENTIAL, EDGEBREAKER) or flags & HAS_METADATA:
        raise document.error(f"{where}: its Draco data is not a plain mesh; export it without Draco metadata.")
    position = 11 + (method == EDGEBREAKER)  # edgebreaker streams name their traversal first
    first, position = _read_varint(content, position)
    second, _ = _read_varint(content, position)
    # Sequential: faces, points. Edgebreaker: vertices, faces.
    faces, vertices = (first, second) if method == SEQUENTIAL else (second, first)
    check_limit(faces, limit=document.limits.triangles, what="Draco triangles", source=document.source)
    check_limit(vertices, limit=document.limits.vertices, what="Draco vertices", source=document.source)


def _read_varint(content: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(content) and shift < 64:
        byte = content[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            break
    return value, position


A = TypeVar("A", NDArray[np.float32], NDArray[np.uint32])

POINTS, LINES, LINE_LOOP, LINE_STRIP, TRIANGLES, TRIANGLE_STRIP, TRIANGLE_FAN = range(7)
MODE_NAMES = ("POINTS", "LINES", "LINE_LOOP", "LINE_STRIP", "TRIANGLES", "TRIANGLE_STRIP", "TRIANGLE_FAN")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PrimitiveMesh:
    """What one primitive draws, before any node moves it."""

    positions: NDArray[np.float32]  #: V × 3
    triangles: NDArray[np.uint32]  #: T × 3
    normals: NDArray[np.float32] | None = None
    uv_sets: tuple[NDArray[np.float32], ...] = ()
    colors: NDArray[np.float32] | None = None  #: V × 4, linear
    joints: NDArray[np.uint32] | None = None  #: V × 4k
    weights: NDArray[np.float32] | None = None  #: V × 4k


def read_primitive(document: Document, primitive: Primitive, *, where: str) -> PrimitiveMesh | None:
    """The triangles of a primitive; None (and a warning) where it draws points or lines."""
    if not 0 <= primitive.mode < len(MODE_NAMES):
        raise document.error(f"{where} has the unknown mode {primitive.mode}; export the file again.")
    if primitive.mode < TRIANGLES:
        document.log.warn(f"{where} draws {MODE_NAMES[primitive.mode]}, which have no surface: left out.")
        return None
    if "POSITION" not in primitive.attributes:
        document.log.warn(f"{where} has no positions: left out.")
        return None
    attributes = _Attributes(document, primitive, where)
    positions = attributes.floats("POSITION", widths=(3,))
    if positions is None or not len(positions):
        return None
    corners = attributes.corners(len(positions))
    triangles = as_triangles(corners, attributes.mode)
    check_limit(len(triangles), limit=document.limits.triangles, what="triangles", source=document.source)
    return PrimitiveMesh(
        positions=positions,
        triangles=triangles,
        normals=attributes.floats("NORMAL", widths=(3,)),
        uv_sets=attributes.uv_sets(),
        colors=_add_alpha(attributes.floats("COLOR_0", widths=(3, 4))),
        joints=attributes.joints(),
        weights=attributes.weights(),
    )


def as_triangles(corners: NDArray[np.uint32], mode: int) -> NDArray[np.uint32]:
    """Triangle corners of a list, a strip or a fan, all counter-clockwise."""
    if mode == TRIANGLE_STRIP:
        triangles = np.stack([corners[:-2], corners[1:-1], corners[2:]], axis=1)
        triangles[1::2] = triangles[1::2][:, [1, 0, 2]]
        return triangles
    if mode == TRIANGLE_FAN:
        hub = np.broadcast_to(corners[:1], len(corners[2:]))
        return np.stack([corners[1:-1], corners[2:], hub], axis=1)
    return corners[: len(corners) // 3 * 3].reshape(-1, 3)


def add_normals(mesh: PrimitiveMesh) -> PrimitiveMesh:
    """The mesh with flat normals where the file has none, as glTF prescribes."""
    if mesh.normals is not None:
        return mesh
    corners = mesh.triangles.ravel()
    triangles = np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)
    positions = mesh.positions[corners]
    return replace(
        mesh,
        positions=positions,
        triangles=triangles,
        normals=np.repeat(geometry.compute_face_normals(positions, triangles), 3, axis=0),
        uv_sets=tuple(uvs[corners] for uvs in mesh.uv_sets),
        colors=None if mesh.colors is None else mesh.colors[corners],
        joints=None if mesh.joints is None else mesh.joints[corners],
        weights=None if mesh.weights is None else mesh.weights[corners],
    )


def _add_alpha(colors: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    if colors is None or colors.shape[1] == 4:
        return colors
    return np.concatenate([colors, np.ones((len(colors), 1), np.float32)], axis=1)


class _Attributes:
    """A primitive's arrays by name, wherever they are stored."""

    def __init__(self, document: Document, primitive: Primitive, where: str) -> None:
        self._document = document
        self._primitive = primitive
        self._where = where
        self._draco = decode_primitive(document, primitive, where=where)
        self._vertices: int | None = None

    @property
    def mode(self) -> int:
        return TRIANGLES if self._draco else self._primitive.mode

    def corners(self, vertices: int) -> NDArray[np.uint32]:
        """Vertex indices in drawing order."""
        if self._draco:
            corners = self._draco.corners
        elif self._primitive.indices is None:
            corners = np.arange(vertices, dtype=np.uint32)
        else:
            corners = read_integers(self._document, self._primitive.indices)[:, 0]
        if len(corners) and int(corners.max()) >= vertices:
            raise self._document.error(
                f"{self._where} uses vertex {int(corners.max())}, but has only {vertices}; export the file again."
            )
        return corners

    def floats(self, name: str, *, widths: tuple[int, ...]) -> NDArray[np.float32] | None:
        index = self._primitive.attributes.get(name)
        if index is None:
            return None
        if self._draco and name in self._draco.attributes:
            values = self._draco.attributes[name].astype(np.float32)
        else:
            values = read_floats(self._document, index)
        return self._check_values(values, name, widths)

    def uv_sets(self) -> tuple[NDArray[np.float32], ...]:
        sets: list[NDArray[np.float32]] = []
        while (uvs := self.floats(f"TEXCOORD_{len(sets)}", widths=(2,))) is not None:
            sets.append(uvs)
        return tuple(sets)

    def joints(self) -> NDArray[np.uint32] | None:
        sets: list[NDArray[np.uint32]] = []
        while (name := f"JOINTS_{len(sets)}") in self._primitive.attributes:
            if self._draco and name in self._draco.attributes:
                values = self._draco.attributes[name].astype(np.uint32)
            else:
                values = read_integers(self._document, self._primitive.attributes[name])
            sets.append(self._check_values(values, name, (4,)))
        return np.concatenate(sets, axis=1) if sets else None

    def weights(self) -> NDArray[np.float32] | None:
        sets: list[NDArray[np.float32]] = []
        while (values := self.floats(f"WEIGHTS_{len(sets)}", widths=(4,))) is not None:
            sets.append(values)
        return np.concatenate(sets, axis=1) if sets else None

    def _check_values(self, values: A, name: str, widths: tuple[int, ...]) -> A:
        if values.ndim != 2 or values.shape[1] not in widths:
            raise self._document.error(f"{self._where}: {name} has a wrong width; export the file again.")
        if self._vertices is None:
            self._vertices = len(values)
        if len(values) != self._vertices:
            raise self._document.error(
                f"{self._where}: {name} has {len(values):,} values for {self._vertices:,} vertices; "
                "export the file again."
            )
        return values


MORPHED = {"POSITION": "positions", "NORMAL": "normals"}


def apply_morph(
    document: Document, mesh: PrimitiveMesh, primitive: Primitive, *, weights: list[float], where: str
) -> PrimitiveMesh:
    """Vertices moved by the morph targets at their default weights."""
    for target, weight in zip(primitive.targets, weights, strict=False):
        for name, field in MORPHED.items():
            base = getattr(mesh, field)
            if weight == 0 or name not in target or base is None:
                continue
            offsets = read_floats(document, target[name])
            if offsets.shape != base.shape:
                raise document.error(f"{where}: a morph target does not fit its vertices; export the file again.")
            mesh = replace(mesh, **{field: base + np.float32(weight) * offsets})
    return mesh


def compute_joint_matrices(document: Document, skin_index: int, placed: dict[int, PlacedNode]) -> NDArray[np.float64]:
    """J × 4 × 4: from the bind pose to the world, per joint."""
    skin = document.item(document.gltf.skins, skin_index, "skin")
    missing = [joint for joint in skin.joints if joint not in placed]
    if missing or not skin.joints:
        raise document.error(f"skin {skin_index} has no usable joints (node {missing[:1]}); export the file again.")
    worlds = np.stack([placed[joint].matrix for joint in skin.joints])
    if skin.inverse_bind_matrices is None:
        return worlds
    inverse = read_floats(document, skin.inverse_bind_matrices)
    if inverse.shape[1] != 16 or len(inverse) < len(worlds):
        raise document.error(f"skin {skin_index}: its inverse bind matrices do not fit; export the file again.")
    return worlds @ inverse[: len(worlds)].astype(np.float64).reshape(-1, 4, 4).transpose(0, 2, 1)


def apply_skin(document: Document, mesh: PrimitiveMesh, joints: NDArray[np.float64], *, where: str) -> PrimitiveMesh:
    """Vertices carried to the world by their joints; the mesh's own node does not count."""
    if mesh.joints is None or mesh.weights is None or mesh.joints.shape != mesh.weights.shape:
        raise document.error(f"{where} has a skin, but no joints and weights per vertex; export the file again.")
    used = mesh.weights > 0
    if used.any() and int(mesh.joints[used].max()) >= len(joints):
        raise document.error(f"{where} uses joint {int(mesh.joints[used].max())} of {len(joints)}.")
    positions = np.zeros((len(mesh.positions), 3))
    normals = np.zeros((len(mesh.positions), 3))
    for column in range(mesh.joints.shape[1]):
        matrices = joints[np.where(used[:, column], mesh.joints[:, column], 0)]
        weights = mesh.weights[:, column, None].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            positions += weights * (_rotate(matrices, mesh.positions) + matrices[:, :3, 3])
            if mesh.normals is not None:
                normals += weights * _rotate(matrices, mesh.normals)
    with np.errstate(over="ignore"):
        posed = positions.astype(np.float32)  # triangles beyond every number are left out later
    return replace(
        mesh,
        positions=posed,
        normals=None if mesh.normals is None else geometry.normalize(normals),
    )


def _rotate(matrices: NDArray[np.float64], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    rotated: NDArray[np.float64] = np.einsum("vij,vj->vi", matrices[:, :3, :3], vectors.astype(np.float64))
    return rotated
