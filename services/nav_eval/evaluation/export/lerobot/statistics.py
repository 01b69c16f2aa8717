"""The statistics that LeRobot normalises by: exact for numbers, from a sample of pixels for pictures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
SAMPLED_FRAMES = 100  #: of an episode
SAMPLED_PIXELS = 150  #: of a picture's longer side
Statistics = dict[str, NDArray[Any]]


def of_column(column: NDArray[Any]) -> Statistics:
    """Of the rows of one column; one value per number in a row."""
    rows = column.reshape(len(column), -1).astype(np.float64)
    return {
        "min": rows.min(axis=0),
        "max": rows.max(axis=0),
        "mean": rows.mean(axis=0),
        "std": rows.std(axis=0),
        "count": np.array([len(rows)]),
        **{name: np.quantile(rows, share, axis=0) for name, share in QUANTILES.items()},
    }


class PictureStatistics:
    """Of the pictures of one camera along one episode, as they go by; values are in [0, 1]."""

    def __init__(self, frames: int) -> None:
        self._every = max(1, frames // SAMPLED_FRAMES)
        self._seen = 0
        self._count = 0
        self._histogram = np.zeros((3, 256), np.int64)

    def add(self, picture: NDArray[np.uint8]) -> None:
        if self._seen % self._every == 0:
            stride = max(1, max(picture.shape[:2]) // SAMPLED_PIXELS)
            sample = picture[::stride, ::stride]
            for channel in range(3):
                self._histogram[channel] += np.bincount(sample[..., channel].ravel(), minlength=256)
            self._count += 1
        self._seen += 1

    def result(self) -> Statistics:
        levels = np.arange(256) / 255.0
        total = self._histogram.sum(axis=1)
        mean = self._histogram @ levels / total
        variance = self._histogram @ levels**2 / total - mean**2
        below = np.cumsum(self._histogram, axis=1) / total[:, None]
        values = {
            "min": levels[np.argmax(self._histogram > 0, axis=1)],
            "max": levels[255 - np.argmax(self._histogram[:, ::-1] > 0, axis=1)],
            "mean": mean,
            "std": np.sqrt(np.maximum(variance, 0.0)),
            **{name: levels[np.argmax(below >= share, axis=1)] for name, share in QUANTILES.items()},
        }
        return {**{name: value.reshape(3, 1, 1) for name, value in values.items()}, "count": np.array([self._count])}


def together(parts: Sequence[Mapping[str, NDArray[Any]]]) -> Statistics:
    """Of several episodes as one; quantiles are the mean of the episodes', as LeRobot's own."""
    counts = np.array([float(part["count"][0]) for part in parts])
    weights = counts / counts.sum()

    def weighted(name: str) -> NDArray[Any]:
        return np.tensordot(weights, np.stack([part[name] for part in parts]), axes=1)

    mean = weighted("mean")
    spread = [part["std"] ** 2 + (part["mean"] - mean) ** 2 for part in parts]
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": mean,
        "std": np.sqrt(np.tensordot(weights, np.stack(spread), axes=1)),
        "count": np.array([int(counts.sum())]),
        **{name: weighted(name) for name in QUANTILES},
    }


def plain(statistics: Mapping[str, NDArray[Any]], *, names: Sequence[str] | None = None) -> dict[str, Any]:
    """As JSON has it."""
    return {name: value.tolist() for name, value in statistics.items() if names is None or name in names}
