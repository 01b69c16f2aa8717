"""What meshopt does to unpacked attributes: unfolding normals, rotations, floats and colours."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Bytes per element that each filter works on.
STRIDES: dict[str, tuple[int, ...]] = {"OCTAHEDRAL": (4, 8), "QUATERNION": (8,), "COLOR": (4, 8)}


def apply_filter(name: str, values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """`values` (count × stride bytes) after the named filter."""
    filters = {"OCTAHEDRAL": _octahedral, "QUATERNION": _quaternion, "EXPONENTIAL": _exponential, "COLOR": _color}
    if name == "NONE":
        return values
    return np.ascontiguousarray(filters[name](values)).view(np.uint8).reshape(values.shape)


def _octahedral(values: NDArray[np.uint8]) -> NDArray[Any]:
    """Unit vectors that were folded onto a square; the fourth component passes through."""
    stored: NDArray[Any] = values.view("i1" if values.shape[1] == 4 else "<i2")
    largest = 127 if values.shape[1] == 4 else 32767
    one = np.maximum(stored[:, 2].astype(np.float32), 1)
    x, y = stored[:, 0] / one, stored[:, 1] / one
    z = 1 - np.abs(x) - np.abs(y)
    fold = np.minimum(z, 0)
    x, y = x - np.copysign(fold, x), y - np.copysign(fold, y)
    vectors = np.stack([x, y, z], axis=1)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    unfolded = stored.copy()
    unfolded[:, :3] = _rounded(vectors * largest)
    return unfolded


def _quaternion(values: NDArray[np.uint8]) -> NDArray[Any]:
    """Rotations without their largest component, which the last two bits name."""
    stored = values.view(np.dtype("<i2")).astype(np.int32)
    one = (stored[:, 3] | 3).astype(np.float32)
    smaller = stored[:, :3] / np.where(one == 0, 1, one)[:, None] * np.float32(np.sqrt(0.5))
    largest = np.sqrt(np.maximum(0, 1 - (smaller**2).sum(axis=1)))
    place = stored[:, 3] & 3
    rows = np.arange(len(stored))
    unfolded = np.empty((len(stored), 4), np.dtype("<i2"))
    unfolded[rows, place] = _rounded(largest * 32767)
    for offset in range(3):
        unfolded[rows, (place + 1 + offset) % 4] = _rounded(np.clip(smaller[:, offset], -1, 1) * 32767)
    return unfolded


def _exponential(values: NDArray[np.uint8]) -> NDArray[Any]:
    """Floats stored as 8 bits of exponent and 24 bits of mantissa."""
    stored = values.view(np.dtype("<i4"))
    exponent, mantissa = stored >> 24, (stored << 8) >> 8
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(mantissa.astype(np.float64), exponent), "<f4")


def _color(values: NDArray[np.uint8]) -> NDArray[Any]:
    """Colours stored as luma and two chroma values, of as many bits as the alpha's highest bit says."""
    signed = np.dtype("i1") if values.shape[1] == 4 else np.dtype("<i2")
    unsigned = np.dtype("u1") if values.shape[1] == 4 else np.dtype("<u2")
    chroma, plain = values.view(signed).astype(np.int32), values.view(unsigned).astype(np.int32)
    luma, co, cg, alpha = plain[:, 0], chroma[:, 1], chroma[:, 2], plain[:, 3]
    _, bits = np.frexp(alpha.astype(np.float64))
    full = np.maximum((1 << bits) - 1, 1)
    alpha = alpha & (full >> 1)
    alpha = (alpha << 1) | (alpha & 1)
    colors = np.stack([luma + co - cg, luma + cg, luma - co - cg, alpha], axis=1)
    largest = np.iinfo(unsigned).max
    return np.asarray(np.clip(_rounded(colors * (largest / full)[:, None]), 0, largest), unsigned)


def _rounded(values: NDArray[Any]) -> NDArray[Any]:
    """To the nearest integer, halves away from zero."""
    return np.asarray(np.copysign(np.floor(np.abs(values) + 0.5), values))
