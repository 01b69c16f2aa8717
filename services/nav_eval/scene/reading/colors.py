"""Colours as files store them (sRGB) and as light adds up (linear)."""

import numpy as np
from numpy.typing import NDArray


def linear_bytes(colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """N × 3 or N × 4 sRGB bytes as N × 4 linear bytes; alpha is linear already."""
    levels = np.rint(linear(np.arange(256) / 255.0) * 255.0).astype(np.uint8)
    rgba = np.full((len(colors), 4), 255, np.uint8)
    rgba[:, :3] = levels[colors[:, :3]]
    rgba[:, 3:] = colors[:, 3:] if colors.shape[1] == 4 else 255
    return rgba


def linear(srgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """sRGB to linear light, both 0 to 1."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
