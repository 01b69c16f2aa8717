"""Tints of vertices, painted anew: what `prepared_scene` works out once, in a fraction of a millisecond per look.

Most vertices of a scene share their paint with others: patch, vertex colour and way of facing are the same. So each
such paint (an ink) is mixed once per look, and vertices take theirs. A tint is a byte, so that the power function of
sRGB becomes a look at a table and one comparison.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_uncounted_inline, compile_uncounted_kernel
from nav_eval.scene.color import to_linear
from nav_eval.simulator.rendering.prepared_scene import SHADED, UNLIT, number_distinct

_STEPS = 4096  #: of light; none holds more than one of the thresholds
_THRESHOLDS = np.append(to_linear((np.arange(255) + 0.5) / 255), np.inf)
"""The light from which on each byte becomes the next one,"""
_STARTS = np.searchsorted(_THRESHOLDS, np.arange(_STEPS + 1) / _STEPS).astype(np.uint8)
"""and the byte at the beginning of each step."""
_FRACTIONS = np.arange(256) / 255.0


class Inks(NamedTuple):
    """All paints of a canvas, patch after patch; kernels take it whole."""

    first: NDArray[np.int64]  #: P + 1, where the inks of each patch start
    color: NDArray[np.uint32]  #: which of the look's vertex colours,
    facing: NDArray[np.uint32]  #: and of its ways of facing each has
    of_vertex: NDArray[np.uint32]  #: the ink of each vertex
    mixed: NDArray[np.uint32]  #: the tint of each ink, for the look at hand


class Brush(NamedTuple):
    """What becomes of the inks; kernels take it whole."""

    kind: NDArray[np.int64]  #: P: UNLIT, DULL or SHADED
    base: NDArray[np.float64]  #: P × 4, linear colours
    glow: NDArray[np.float64]  #: P × 3, added to it
    is_plain: NDArray[np.bool_]  #: P: without a texture, so that it may mirror
    light: NDArray[np.float64]  #: by way of facing, what dull surfaces get
    sheen: NDArray[np.float64]  #: and mirror on top


def find_inks(patch: NDArray[np.int32], color: NDArray[np.int32], facing: NDArray[np.int32], *, patches: int) -> Inks:
    """The distinct paints of vertices."""
    number, first = number_distinct(np.stack([patch, color, facing], axis=1).astype(np.int32))
    order = np.argsort(patch[first], kind="stable")
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    first = first[order]
    starts = np.searchsorted(patch[first], np.arange(patches + 1)).astype(np.int64)
    unsigned = np.uint32  # kernels need not look whether they count from the end
    return Inks(
        first=starts,
        color=color[first].astype(unsigned),
        facing=facing[first].astype(unsigned),
        of_vertex=place[number].astype(unsigned),
        mixed=np.zeros(len(first), dtype=np.uint32),
    )


def paint_tints(inks: Inks, brush: Brush, colors: NDArray[np.uint8], out: NDArray[np.uint32]) -> None:
    """Fill `out`, a word of four bytes per vertex, from the look's vertex colours (N × 4)."""
    _mix(inks, brush, colors, _FRACTIONS, _THRESHOLDS, _STARTS, inks.mixed)
    _spread(inks.mixed, inks.of_vertex, out)


@compile_uncounted_kernel
def _mix(
    inks: Inks,
    brush: Brush,
    colors: NDArray[np.uint8],
    fractions: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    starts: NDArray[np.uint8],
    out: NDArray[np.uint32],
) -> None:
    base, glow, light, sheen = brush.base, brush.glow, brush.light, brush.sheen
    for patch in range(len(inks.first) - 1):
        kind, plain = brush.kind[patch], brush.is_plain[patch]
        red, green, blue, cover = base[patch, 0], base[patch, 1], base[patch, 2], base[patch, 3]
        red_glow, green_glow, blue_glow = glow[patch, 0], glow[patch, 1], glow[patch, 2]
        for i in range(np.uint64(inks.first[patch]), np.uint64(inks.first[patch + 1])):
            own, alpha = inks.color[i], colors[inks.color[i], 3]
            if cover != 1.0:
                alpha = np.uint8(min(max(alpha * cover, 0.0), 255.0) + 0.5)
            if kind == SHADED:
                out[i] = pack_tint(colors[own, 0], colors[own, 1], colors[own, 2], alpha)
                continue
            r, g, b = (
                fractions[colors[own, 0]] * red,
                fractions[colors[own, 1]] * green,
                fractions[colors[own, 2]] * blue,
            )
            if kind != UNLIT:
                facing = inks.facing[i]
                r, g, b = r * light[facing, 0], g * light[facing, 1], b * light[facing, 2]
                if plain:
                    r, g, b = r + sheen[facing, 0], g + sheen[facing, 1], b + sheen[facing, 2]
            out[i] = pack_tint(
                encode_light(r + red_glow, thresholds, starts),
                encode_light(g + green_glow, thresholds, starts),
                encode_light(b + blue_glow, thresholds, starts),
                alpha,
            )


@compile_uncounted_kernel
def _spread(mixed: NDArray[np.uint32], of_vertex: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
    for i in range(len(of_vertex)):
        out[i] = mixed[of_vertex[i]]


@compile_uncounted_inline
def pack_tint(red: int | np.uint8, green: int | np.uint8, blue: int | np.uint8, alpha: int | np.uint8) -> np.uint32:
    """Four bytes as the word that holds them in this order in memory."""
    return np.uint32(np.uint32(red) | np.uint32(green) << 8 | np.uint32(blue) << 16 | np.uint32(alpha) << 24)


@compile_uncounted_inline
def encode_light(value: float, thresholds: NDArray[np.float64], starts: NDArray[np.uint8]) -> int:
    """The sRGB byte of a linear colour."""
    clipped = min(max(value, 0.0), 1.0)
    byte = starts[np.uint64(clipped * (len(starts) - 1))]  # unsigned: nobody asks whether to count from the end
    return int(byte + np.uint8(clipped >= thresholds[byte]))


def get_tables() -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """What `encode_light` looks at."""
    return _THRESHOLDS, _STARTS
