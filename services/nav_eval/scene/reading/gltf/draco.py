"""Draco-compressed primitives (KHR_draco_mesh_compression), unpacked by Google's own decoder.

The decoder trusts the counts in the stream's header and sets memory aside for them, so they are
compared with the limits first.
"""

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.reading.gltf.accessors import as_floats
from nav_eval.scene.reading.gltf.document import Document
from nav_eval.scene.reading.gltf.schema import DracoPrimitive, Primitive
from nav_eval.scene.reading.limits import check_limit

SEQUENTIAL, EDGEBREAKER = 0, 1
MESH = 1
HAS_METADATA = 0x8000


class DracoMesh(NamedTuple):
    corners: NDArray[np.uint32]
    """Vertex indices, three per triangle."""
    attributes: dict[str, NDArray[np.float32]]
    """Vertex arrays by glTF name; normalised integers are fractions already."""


def decode_primitive(document: Document, primitive: Primitive, *, where: str) -> DracoMesh | None:
    """The unpacked primitive; None where it is not compressed with Draco."""
    packed = primitive.extensions.draco
    if packed is None:
        return None
    content = bytes(document.view(packed.buffer_view))
    _check_counts(content, document=document, where=where)
    corners, arrays = _decode(content, document=document, where=where)
    return DracoMesh(corners, _by_name(document, primitive, packed, arrays, where=where))


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


def _by_name(
    document: Document,
    primitive: Primitive,
    packed: DracoPrimitive,
    arrays: dict[int, NDArray[Any]],
    *,
    where: str,
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
    first, position = _varint(content, position)
    second, _ = _varint(content, position)
    # Sequential: faces, points. Edgebreaker: vertices, faces.
    faces, vertices = (first, second) if method == SEQUENTIAL else (second, first)
    check_limit(faces, limit=document.limits.triangles, what="Draco triangles", source=document.source)
    check_limit(vertices, limit=document.limits.vertices, what="Draco vertices", source=document.source)


def _varint(content: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(content) and shift < 64:
        byte = content[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            break
    return value, position
