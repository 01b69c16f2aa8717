"""Tints of vertices, painted anew: what `prepared_scene` works out once, in a fraction of a millisecond per look.

A tint is a byte, so that the power function of sRGB becomes a search among 255 thresholds.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.scene.color import to_linear
from nav_eval.simulator.rendering.prepared_scene import SHADED, UNLIT

_STEPS = 4096
_THRESHOLDS = np.append(to_linear((np.arange(255) + 0.5) / 255), np.inf)
"""The light from which on each byte becomes the next one,"""
_STARTS = np.searchsorted(_THRESHOLDS, np.arange(_STEPS + 1) / _STEPS).astype(np.int64)
"""and the byte to begin the search with, by light in steps."""


class Brush(NamedTuple):
    """Which vertex is painted how; kernels take it whole."""

    vertex: NDArray[np.int32]  #: of the scene, by painted vertex
    patch: NDArray[np.int32]  #: the paint of each, a row of the following
    kind: NDArray[np.int64]  #: UNLIT, DULL or SHADED
    base: NDArray[np.float64]  #: P × 4, linear colours
    glow: NDArray[np.float64]  #: P × 3, added to it
    light: NDArray[np.float64]  #: by painted vertex, what dull surfaces get; empty where nothing is dull
    sheen: NDArray[np.float64]  #: and mirror on top


def paint_tints(brush: Brush, colors: NDArray[np.uint8], curve: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    """Fill `out`, four bytes per vertex, from the scene's vertex colours; `curve` changes these, by channel."""
    _paint(brush, colors, curve, _THRESHOLDS, _STARTS, out)


def encode_tints(light: NDArray[np.float64]) -> NDArray[np.uint8]:
    """sRGB bytes of linear colours (V × 3), opaque."""
    tints = np.full((len(light), 4), 255, dtype=np.uint8)
    _encode_rows(light, _THRESHOLDS, _STARTS, tints)
    return tints


@compile_nogil_kernel
def _paint(
    brush: Brush,
    colors: NDArray[np.uint8],
    curve: NDArray[np.uint8],
    thresholds: NDArray[np.float64],
    starts: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> None:
    for i in range(len(brush.vertex)):
        vertex, patch = brush.vertex[i], brush.patch[i]
        kind = brush.kind[patch]
        for k in range(3):
            color = curve[k, colors[vertex, k]]
            if kind == SHADED:
                out[i, k] = color
                continue
            value = color / 255.0 * brush.base[patch, k]
            if kind != UNLIT:
                value = value * brush.light[i, k] + brush.sheen[i, k]
            out[i, k] = _encode(value + brush.glow[patch, k], thresholds, starts)
        out[i, 3] = np.uint8(min(max(colors[vertex, 3] * brush.base[patch, 3], 0.0), 255.0) + 0.5)


@compile_nogil_kernel
def _encode_rows(
    light: NDArray[np.float64], thresholds: NDArray[np.float64], starts: NDArray[np.int64], out: NDArray[np.uint8]
) -> None:
    for i in range(len(light)):
        for k in range(3):
            out[i, k] = _encode(light[i, k], thresholds, starts)


@compile_nogil_inline
def _encode(value: float, thresholds: NDArray[np.float64], starts: NDArray[np.int64]) -> int:
    clipped = min(max(value, 0.0), 1.0)
    byte = int(starts[int(clipped * (len(starts) - 1))])
    while clipped >= thresholds[byte]:
        byte += 1
    return byte
