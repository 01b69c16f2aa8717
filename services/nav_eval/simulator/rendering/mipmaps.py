"""Smaller copies of textures, made once when a scene is prepared: OpenGL took longer for them than for uploading.

Every level is half as wide and high as the one before, rounded down, to a single texel; sizes that are not powers of
two are sampled between texels, as drivers do.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_kernel


def make_mipmaps(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """All smaller levels of a height × width × 4 texture, one after the other, as plain bytes."""
    levels, level = [np.empty(0, dtype=np.uint8)], np.ascontiguousarray(pixels)
    for height, width in _list_sizes(*pixels.shape[:2]):
        smaller = np.empty((height, width, 4), dtype=np.uint8)
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
