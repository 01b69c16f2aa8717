"""The trained policy in plain numpy: one layer, one GRU, one layer.

PyTorch trains it; an agent that answers one observation at a time needs no more than this, and its image stays small.
Weights are arrays in an `.npz` file, read without pickle.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

NAMES = (
    "encode.weight", "encode.bias",
    "memory.weight_ih_l0", "memory.weight_hh_l0", "memory.bias_ih_l0", "memory.bias_hh_l0",
    "decide.weight", "decide.bias",
)  # fmt: skip


class Policy:
    """Chances of the next action, step by step; `start` forgets the episode before."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        missing = set(NAMES) - set(weights)
        if missing:
            raise ValueError(f"These are not the weights of this policy: {', '.join(sorted(missing))} missing.")
        self._weights = {name: np.asarray(weights[name], np.float32) for name in NAMES}
        self.start()

    @classmethod
    def load(cls, path: Path) -> Policy:
        with np.load(path, allow_pickle=False) as file:
            return cls({name: file[name] for name in file.files})

    @property
    def inputs(self) -> int:
        return int(self._weights["encode.weight"].shape[1])

    def start(self) -> None:
        self._hidden = np.zeros(self._weights["memory.weight_hh_l0"].shape[1], np.float32)

    def chances(self, numbers: Array) -> Array:
        """One probability per action; `numbers` is what `Senses.numbers` gives."""
        encoded = np.maximum(self._layer("encode.weight", numbers, "encode.bias"), 0.0)
        self._hidden = self._remembered(encoded)
        scores = self._layer("decide.weight", self._hidden, "decide.bias")
        powers = np.exp(scores - scores.max())
        return powers / powers.sum()

    def _remembered(self, encoded: Array) -> Array:
        """PyTorch's GRU cell."""
        given = np.split(self._layer("memory.weight_ih_l0", encoded, "memory.bias_ih_l0"), 3)
        kept = np.split(self._layer("memory.weight_hh_l0", self._hidden, "memory.bias_hh_l0"), 3)
        reset, update = (_sigmoid(given[gate] + kept[gate]) for gate in (0, 1))
        new = np.tanh(given[2] + reset * kept[2])
        hidden: Array = (1 - update) * new + update * self._hidden
        return hidden

    def _layer(self, weight: str, values: Array, bias: str) -> Array:
        product: Array = self._weights[weight] @ values + self._weights[bias]
        return product


def _sigmoid(values: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-values))
