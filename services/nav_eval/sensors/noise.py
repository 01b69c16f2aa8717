"""Noise as Habitat's sensors have it: functions of a picture and a generator, with Habitat's names and defaults.

Equal generators give equal pictures. Colour is uint8 with any number of channels; depth is float32 metres, 0 where
there is nothing. `NoiseConfig` is what a configuration of ours may ask for; these are for those who bring
Habitat's settings.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Colour = NDArray[np.uint8]
Depth = NDArray[np.float32]

REDWOOD_BASELINE = 35.130  #: disparity times metres of the camera that the model was measured with
REDWOOD_STEPS = 8.0  #: per unit of disparity: what the camera can tell apart
REDWOOD_FARTHEST = 10.0  #: metres; nothing is measured beyond
_REDWOOD_SIZE = (480, 640)  #: of that camera


def add_gaussian_noise(
    picture: Colour, random: np.random.Generator, *, intensity: float = 0.2, mean: float = 0.0, sigma: float = 1.0
) -> Colour:
    """`GaussianNoiseModel`: independent for every value, `intensity` is a share of full white."""
    noise = (random.standard_normal(picture.shape) * sigma + mean) * intensity
    return _to_bytes(picture / 255.0 + noise)


def add_speckle_noise(
    picture: Colour, random: np.random.Generator, *, intensity: float = 0.2, mean: float = 0.0, sigma: float = 1.0
) -> Colour:
    """`SpeckleNoiseModel`: in proportion to the value."""
    share = picture / 255.0
    return _to_bytes(share + share * (random.standard_normal(picture.shape) * sigma + mean) * intensity)


def add_poisson_noise(picture: Colour, random: np.random.Generator) -> Colour:
    """`PoissonNoiseModel`: photons counted in as many steps as the picture has values, rounded up to a power of two."""
    share = picture / 255.0
    steps = 2.0 ** math.ceil(math.log2(max(1, len(np.unique(picture)))))
    return _to_bytes(random.poisson(share * steps) / steps)


def add_salt_and_pepper_noise(
    picture: Colour, random: np.random.Generator, *, salt_share: float = 0.5, amount: float = 0.05, salt: int = 1
) -> Colour:
    """`SaltAndPepperNoiseModel`: some values become `salt`, some 0. Habitat's salt is 1, not white, and so is ours."""
    noisy = picture.copy()
    for share, value in ((salt_share, salt), (1.0 - salt_share, 0)):
        count = math.ceil(amount * picture.size * share)
        # Habitat never touches the last row, column and channel
        places = tuple(random.integers(0, max(1, extent - 1), count) for extent in picture.shape)
        noisy[places] = value
    return noisy


def add_redwood_noise(
    depth: Depth,
    random: np.random.Generator,
    *,
    multiplier: float = 1.0,
    distortion: NDArray[np.floating[Any]] | None = None,
) -> Depth:
    """`RedwoodDepthNoiseModel`: a structured-light camera. Pixels wander and come in pairs, disparity has whole steps.

    `distortion` is the model's table of 80 × 80 × 5 factors, which is not ours to ship; without it depths are not bent.
    """
    rows, columns = np.indices(depth.shape)
    wander = random.standard_normal((3, *depth.shape)).astype(np.float32)
    y, x = (
        (np.clip(places + wander[axis] * 0.25 * multiplier, 0, extent - 1) + 0.5).astype(np.int64)
        for axis, (places, extent) in enumerate(zip((rows, columns), depth.shape, strict=True))
    )
    seen = depth[y - y % 2, x - x % 2].astype(np.float64)
    true = seen if distortion is None else _adjust_depth(seen, x, y, distortion)
    with np.errstate(divide="ignore", invalid="ignore"):
        disparity = np.round((REDWOOD_BASELINE / true + wander[2] * 0.027778 * multiplier) * REDWOOD_STEPS)
        noisy = REDWOOD_BASELINE * REDWOOD_STEPS / disparity
    nothing = (seen <= 0.0) | (seen >= REDWOOD_FARTHEST) | (true <= 0.0) | ~(disparity > 1e-5)
    return np.where(nothing, 0.0, noisy).astype(np.float32)


def _adjust_depth(
    depth: NDArray[np.float64], x: NDArray[np.int64], y: NDArray[np.int64], table: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Depths divided by the factors of the table, which is for cells of 8 × 6 pixels and for every two metres."""
    factors = table.reshape(80, 80, 5).astype(np.float64)
    height, width = depth.shape
    row = (y / max(1, height - 1) * (_REDWOOD_SIZE[0] - 1) + 0.5).astype(np.int64) // 6
    column = (x / max(1, width - 1) * (_REDWOOD_SIZE[1] - 1) + 0.5).astype(np.int64) // 8
    after = ((depth + 1.0) / 2.0).astype(np.int64)
    part = (depth - (2.0 * after - 1.0)) / 2.0
    near, far = (factors[row, column, np.clip(layer, 0, 4)] for layer in (after - 1, after))
    factor = (1.0 - part) * near + part * far
    return np.where(factor < 1e-5, 0.0, depth / np.maximum(factor, 1e-5))


def _to_bytes(share: NDArray[np.float64]) -> Colour:
    """Rounded down, as Habitat does."""
    clipped: Colour = (np.clip(share, 0.0, 1.0) * 255.0).astype(np.uint8)
    return clipped
