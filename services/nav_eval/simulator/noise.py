"""Sensors that are wrong on purpose, the same for every team.

Noise is drawn from the benchmark's seed and the moment it is for, so a replay sees the same noise.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import NoiseConfig
from nav_eval.randomness import generator


def with_noise(picture: NDArray[Any], noise: NoiseConfig, *, seed: int, key: str) -> NDArray[Any]:
    """The picture as a worse camera would have taken it. Ids are never touched: half a category is none."""
    if noise.intensity == 0 or picture.dtype in (np.int32, np.uint32):
        return picture
    draw = generator(seed, "noise", key)
    if noise.model == "gaussian":
        return _gaussian(picture, noise.intensity, draw)
    return _redwood(picture, noise.intensity, draw)


def _gaussian(picture: NDArray[Any], intensity: float, draw: np.random.Generator) -> NDArray[Any]:
    """Independent noise per value; for colour the intensity is a share of full white, for depth it is metres."""
    full_scale = 255.0 if picture.dtype == np.uint8 else 1.0
    noisy = picture + draw.standard_normal(picture.shape, dtype=np.float32) * np.float32(intensity * full_scale)
    if picture.dtype == np.uint8:
        rounded: NDArray[np.uint8] = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
        return rounded
    return np.where(picture > 0, np.maximum(noisy, 0), 0).astype(picture.dtype)


def _redwood(picture: NDArray[Any], intensity: float, draw: np.random.Generator) -> NDArray[Any]:
    """A structured-light depth camera: error grows with the square of the distance, and edges wander by a pixel.

    Colour has no such model and is left as it is.
    """
    if picture.dtype == np.uint8:
        return picture
    rows, columns = np.indices(picture.shape)
    wander = np.rint(draw.standard_normal((2, *picture.shape)) * 0.5 * intensity).astype(np.int64)
    seen = picture[
        np.clip(rows + wander[0], 0, picture.shape[0] - 1), np.clip(columns + wander[1], 0, picture.shape[1] - 1)
    ]
    sigma = np.float32(0.0012 * intensity) + np.float32(0.0019 * intensity) * np.maximum(seen - np.float32(0.4), 0) ** 2
    noisy = seen + draw.standard_normal(picture.shape, dtype=np.float32) * sigma
    return np.where(seen > 0, np.maximum(noisy, 0), 0).astype(np.float32)
