"""Buffer views packed with meshopt (EXT_ and KHR_meshopt_compression)."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.reading.gltf import meshopt_filters
from nav_eval.scene.reading.gltf.schema import MeshoptView
from nav_eval.scene.reading.limits import ReadLimits, check_limit

HEADERS = {"ATTRIBUTES": (0xA0, 0xA1), "TRIANGLES": (0xE0, 0xE1), "INDICES": (0xD0, 0xD1)}


class BrokenMeshopt(SceneError):
    """A meshopt stream is cut off or broken; export the file again."""


def decode_view(packed: memoryview, view: MeshoptView, *, source: str, limits: ReadLimits) -> NDArray[np.uint8]:
    """The `count` × `byteStride` bytes that the view stands for."""
    _check_layout(view, source, limits)
    data = np.frombuffer(packed, np.uint8)
    if not len(data) or int(data[0]) not in HEADERS[view.mode]:
        raise BrokenMeshopt(f"{source}: a meshopt stream has a wrong header. {BrokenMeshopt.__doc__}")
    if view.mode == "ATTRIBUTES":
        return meshopt_filters.apply_filter(view.filter, _attributes(data, view, source))
    return _indices(data, view, source)


def _check_layout(view: MeshoptView, source: str, limits: ReadLimits) -> None:
    stride, attributes = view.byte_stride, view.mode == "ATTRIBUTES"
    possible = stride % 4 == 0 and 4 <= stride <= 256 if attributes else stride in (2, 4)
    filtered = meshopt_filters.STRIDES.get(view.filter, ())
    fits = stride in filtered or (not filtered and view.filter in ("NONE", "EXPONENTIAL"))
    if view.mode not in HEADERS or not possible or not fits or (view.filter != "NONE" and not attributes):
        raise SceneError(
            f"{source}: meshopt mode {view.mode!r} with filter {view.filter!r} and {stride} bytes per element "
            "is not possible; export the file again."
        )
    largest = 3 * limits.triangles if not attributes else limits.vertices
    check_limit(view.count, limit=largest, what="elements in a meshopt stream", source=source)


def _attributes(data: NDArray[np.uint8], view: MeshoptView, source: str) -> NDArray[np.uint8]:
    from nav_eval.scene.reading.gltf.meshopt_codecs import unpack_attributes

    values = np.empty((view.count, view.byte_stride), np.uint8)
    if not unpack_attributes(data, values):
        raise BrokenMeshopt(f"{source}: vertex data. {BrokenMeshopt.__doc__}")
    return values


def _indices(data: NDArray[np.uint8], view: MeshoptView, source: str) -> NDArray[np.uint8]:
    from nav_eval.scene.reading.gltf.meshopt_codecs import unpack_indices, unpack_triangles

    values = np.empty(view.count, np.uint32)
    unpack = unpack_triangles if view.mode == "TRIANGLES" else unpack_indices
    if (view.mode == "TRIANGLES" and view.count % 3) or not unpack(data, values):
        raise BrokenMeshopt(f"{source}: index data. {BrokenMeshopt.__doc__}")
    narrow = values.astype(np.uint16 if view.byte_stride == 2 else np.uint32)
    return narrow.view(np.uint8).reshape(view.count, view.byte_stride)
