"""From accessors to arrays: every component type, strides, normalised integers, sparse values."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from nav_eval.scene.reading.gltf.document import Document
from nav_eval.scene.reading.gltf.schema import Accessor, Sparse
from nav_eval.scene.reading.limits import check_limit

COMPONENT_TYPES: dict[int, np.dtype[np.generic]] = {
    5120: np.dtype("i1"),
    5121: np.dtype("u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


def read_accessor(document: Document, index: int) -> NDArray[np.generic]:
    """The values as stored: `count` × width, in the accessor's own type."""
    accessor = document.item(document.gltf.accessors, index, "accessor")
    where = f"accessor {index}"
    dtype = _dtype(document, accessor.component_type, where)
    width = WIDTHS.get(accessor.type, 0)
    if not width:
        raise document.error(f"{where} has the unknown type {accessor.type!r}; export the file again.")
    limit = max(document.limits.vertices, 3 * document.limits.triangles)
    check_limit(accessor.count, limit=limit, what=f"elements in {where}", source=document.source)
    values = _dense(document, accessor, dtype=dtype, width=width, where=where)
    if accessor.sparse is not None:
        values = _overlay(document, values, accessor.sparse, where=where)
    return values


def read_floats(document: Document, index: int) -> NDArray[np.float32]:
    """The values as numbers: normalised integers become fractions."""
    accessor = document.item(document.gltf.accessors, index, "accessor")
    return as_floats(read_accessor(document, index), normalized=accessor.normalized)


def as_floats(values: NDArray[Any], *, normalized: bool) -> NDArray[np.float32]:
    """Numbers, or fractions of the largest number that the type can hold."""
    floats = values.astype(np.float32)
    if normalized and values.dtype.kind in "iu":
        return np.asarray(np.maximum(floats / np.iinfo(values.dtype).max, -1), np.float32)
    return floats


def read_integers(document: Document, index: int) -> NDArray[np.uint32]:
    """The values as indices (joints, vertices)."""
    values = read_accessor(document, index)
    if values.dtype.kind != "u":
        raise document.error(f"accessor {index} holds indices but its type is {values.dtype}; export the file again.")
    return values.astype(np.uint32)


def _dtype(document: Document, component_type: int, where: str) -> np.dtype[np.generic]:
    if component_type not in COMPONENT_TYPES:
        raise document.error(f"{where} has the unknown componentType {component_type}; export the file again.")
    return COMPONENT_TYPES[component_type]


def _dense(
    document: Document, accessor: Accessor, *, dtype: np.dtype[np.generic], width: int, where: str
) -> NDArray[np.generic]:
    if accessor.buffer_view is None:
        return np.zeros((accessor.count, width), dtype)
    return _elements(
        document, accessor.buffer_view, offset=accessor.byte_offset, count=accessor.count,
        dtype=dtype, width=width, where=where,
    )  # fmt: skip


def _elements(
    document: Document, view: int, *, offset: int, count: int, dtype: np.dtype[np.generic], width: int, where: str
) -> NDArray[np.generic]:
    """`count` elements of a buffer view, as a view into its bytes where possible."""
    data = np.frombuffer(document.view(view), np.uint8)
    size = dtype.itemsize * width
    stride = document.stride(view) or size
    end = offset + (count - 1) * stride + size
    if stride < size or (count and end > len(data)):
        raise document.error(
            f"{where} needs {end:,} bytes (stride {stride}), but bufferView {view} has {len(data):,}; "
            "the file is cut off or broken."
        )
    if not count:
        return np.zeros((0, width), dtype)
    rows = as_strided(data[offset:], shape=(count, size), strides=(stride, 1), writeable=False)
    return np.ascontiguousarray(rows).view(dtype)


def _overlay(document: Document, values: NDArray[np.generic], sparse: Sparse, *, where: str) -> NDArray[np.generic]:
    """The dense values with the sparse ones put in their places."""
    if sparse.count > len(values):
        raise document.error(f"{where} replaces {sparse.count:,} of {len(values):,} values; export the file again.")
    places = _elements(
        document, sparse.indices.buffer_view, offset=sparse.indices.byte_offset, count=sparse.count,
        dtype=_dtype(document, sparse.indices.component_type, where), width=1, where=f"{where} (sparse indices)",
    )[:, 0]  # fmt: skip
    replaced = _elements(
        document, sparse.values.buffer_view, offset=sparse.values.byte_offset, count=sparse.count,
        dtype=values.dtype, width=values.shape[1], where=f"{where} (sparse values)",
    )  # fmt: skip
    if places.dtype.kind != "u" or (sparse.count and int(places.max()) >= len(values)):
        raise document.error(f"{where} replaces values past its end; export the file again.")
    values = values.copy()
    values[places] = replaced
    return values
