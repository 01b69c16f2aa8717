"""Colours between sRGB, as pictures store them, and linear light, which can be added and averaged."""

import numpy as np
from numpy.typing import NDArray


def to_linear(srgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """sRGB to linear light, both 0 to 1."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def to_srgb(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear light to sRGB, both 0 to 1."""
    clipped = np.clip(linear, 0.0, 1.0)
    return np.where(clipped <= 0.0031308, clipped * 12.92, 1.055 * clipped ** (1 / 2.4) - 0.055)
