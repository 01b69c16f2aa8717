"""Smaller copies of textures, made once when a scene is prepared: OpenGL took longer for them than for uploading.

Every level is half as wide and high as the one before, rounded down, to a single texel; sizes that are not powers of
two are sampled between texels, as drivers do. Colours of lit surfaces are averaged as light, not as bytes.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_kernel
from nav_eval.scene.color import to_linear


def make_mipmaps(pixels: NDArray[np.uint8], *, linear: bool = False) -> NDArray[np.uint8]:
    """All smaller levels of a height × width × 4 texture, one after the other, as plain bytes.

    `linear` is for sRGB colours, whose mean is taken in linear light.
    """
    levels, level = [np.empty(0, dtype=np.uint8)], np.ascontiguousarray(pixels)
    for height, width in _list_sizes(*pixels.shape[:2]):
        smaller = np.empty((height, width, 4), dtype=np.uint8)
        if linear:
            _shrink_light(level, smaller, _DECODED, _ENCODED)
        else:
            _shrink(level, smaller)
        levels.append(smaller.reshape(-1))
        level = smaller
    return np.concatenate(levels)


def split_mipmaps(pixels: NDArray[np.uint8], smaller: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """The levels of a texture, the largest first."""
    levels, start = [pixels], 0
    for height, width in _list_sizes(*pixels.shape[:2]):
        end = start + 4 * height * width
        levels.append(smaller[start:end].reshape(height, width, 4))
        start = end
    return levels


def _list_sizes(height: int, width: int) -> list[tuple[int, int]]:
    return [(max(1, height >> level), max(1, width >> level)) for level in range(1, max(height, width).bit_length())]


@compile_nogil_kernel
def _shrink(pixels: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    height, width = pixels.shape[:2]
    down, across = height / out.shape[0], width / out.shape[1]
    for row in range(out.shape[0]):
        y = (row + 0.5) * down - 0.5
        top = int(y)
        bottom, low = min(top + 1, height - 1), y - top
        for column in range(out.shape[1]):
            x = (column + 0.5) * across - 0.5
            left = int(x)
            right, far = min(left + 1, width - 1), x - left
            for k in range(4):
                above = pixels[top, left, k] * (1 - far) + pixels[top, right, k] * far
                below = pixels[bottom, left, k] * (1 - far) + pixels[bottom, right, k] * far
                out[row, column, k] = np.uint8(above * (1 - low) + below * low + 0.5)


_STEPS = 16384
_DECODED = to_linear(np.arange(256) / 255) * _STEPS
"""Of each sRGB byte, its light in steps,"""
_ENCODED = np.searchsorted(to_linear((np.arange(255) + 0.5) / 255) * _STEPS, np.arange(_STEPS + 1)).astype(np.uint8)
"""and the nearest byte of each step."""


@compile_nogil_kernel
def _shrink_light(
    pixels: NDArray[np.uint8], out: NDArray[np.uint8], decoded: NDArray[np.float64], encoded: NDArray[np.uint8]
) -> None:
    """`_shrink` for colours: bytes to light, the mean, and back; alpha as it is."""
    height, width = pixels.shape[:2]
    down, across = height / out.shape[0], width / out.shape[1]
    for row in range(out.shape[0]):
        y = (row + 0.5) * down - 0.5
        top = int(y)
        bottom, low = min(top + 1, height - 1), y - top
        for column in range(out.shape[1]):
            x = (column + 0.5) * across - 0.5
            left = int(x)
            right, far = min(left + 1, width - 1), x - left
            for k in range(3):
                above = decoded[pixels[top, left, k]] * (1 - far) + decoded[pixels[top, right, k]] * far
                below = decoded[pixels[bottom, left, k]] * (1 - far) + decoded[pixels[bottom, right, k]] * far
                out[row, column, k] = encoded[int(above * (1 - low) + below * low + 0.5)]
            above_alpha = pixels[top, left, 3] * (1 - far) + pixels[top, right, 3] * far
            below_alpha = pixels[bottom, left, 3] * (1 - far) + pixels[bottom, right, 3] * far
            out[row, column, 3] = np.uint8(above_alpha * (1 - low) + below_alpha * low + 0.5)
