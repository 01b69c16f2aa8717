"""Copies between what OpenGL reads back and what a sensor delivers."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.simulator.rendering.jit import compiled


@compiled
def without_alpha(rgba: NDArray[np.uint8], rgb: NDArray[np.uint8]) -> None:
    """Four pixels at a time: sixteen bytes in, three words out."""
    pixels = rgba.reshape(-1).view(np.uint32)
    words = rgb.reshape(-1)[: len(pixels) // 4 * 12].view(np.uint32)
    low, middle, high = np.uint32(0xFF), np.uint32(0xFFFF), np.uint32(0xFFFFFF)
    for i in range(len(pixels) // 4):
        a, b, c, d = pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2], pixels[4 * i + 3]
        words[3 * i] = (a & high) | ((b & low) << np.uint32(24))
        words[3 * i + 1] = ((b >> np.uint32(8)) & middle) | ((c & middle) << np.uint32(16))
        words[3 * i + 2] = ((c >> np.uint32(16)) & low) | ((d & high) << np.uint32(8))
    source, target = rgba.reshape(-1, 4), rgb.reshape(-1, 3)
    for i in range(len(pixels) // 4 * 4, len(pixels)):
        for k in range(3):
            target[i, k] = source[i, k]


@compiled
def look_up(rows: NDArray[np.uint32], table: NDArray[np.int64], column: int, out: NDArray[np.generic]) -> None:
    """out = table[rows, column], for tables that are small and pictures that are not."""
    height, width = rows.shape
    for y in range(height):
        for x in range(width):
            out[y, x] = table[rows[y, x], column]
