"""A primitive's vertices and triangles, in the mesh's own frame."""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.reading import geometry
from nav_eval.scene.reading.gltf import draco
from nav_eval.scene.reading.gltf.accessors import read_floats, read_integers
from nav_eval.scene.reading.gltf.document import Document
from nav_eval.scene.reading.gltf.schema import Primitive
from nav_eval.scene.reading.limits import check_limit

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
        colors=_with_alpha(attributes.floats("COLOR_0", widths=(3, 4))),
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


def with_normals(mesh: PrimitiveMesh) -> PrimitiveMesh:
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
        normals=np.repeat(geometry.face_normals(positions, triangles), 3, axis=0),
        uv_sets=tuple(uvs[corners] for uvs in mesh.uv_sets),
        colors=None if mesh.colors is None else mesh.colors[corners],
        joints=None if mesh.joints is None else mesh.joints[corners],
        weights=None if mesh.weights is None else mesh.weights[corners],
    )


def _with_alpha(colors: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    if colors is None or colors.shape[1] == 4:
        return colors
    return np.concatenate([colors, np.ones((len(colors), 1), np.float32)], axis=1)


class _Attributes:
    """A primitive's arrays by name, wherever they are stored."""

    def __init__(self, document: Document, primitive: Primitive, where: str) -> None:
        self._document = document
        self._primitive = primitive
        self._where = where
        self._draco = draco.decode_primitive(document, primitive, where=where)
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
        return self._checked(values, name, widths)

    def uv_sets(self) -> tuple[NDArray[np.float32], ...]:
        names = (f"TEXCOORD_{index}" for index in range(len(self._primitive.attributes)))
        sets = []
        for name in names:
            uvs = self.floats(name, widths=(2,))
            if uvs is None:
                break
            sets.append(uvs)
        return tuple(sets)

    def joints(self) -> NDArray[np.uint32] | None:
        sets: list[NDArray[np.uint32]] = []
        while (name := f"JOINTS_{len(sets)}") in self._primitive.attributes:
            if self._draco and name in self._draco.attributes:
                values = self._draco.attributes[name].astype(np.uint32)
            else:
                values = read_integers(self._document, self._primitive.attributes[name])
            sets.append(self._checked(values, name, (4,)))
        return np.concatenate(sets, axis=1) if sets else None

    def weights(self) -> NDArray[np.float32] | None:
        sets: list[NDArray[np.float32]] = []
        while (values := self.floats(f"WEIGHTS_{len(sets)}", widths=(4,))) is not None:
            sets.append(values)
        return np.concatenate(sets, axis=1) if sets else None

    def _checked(self, values: A, name: str, widths: tuple[int, ...]) -> A:
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
