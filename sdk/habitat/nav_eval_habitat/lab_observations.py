"""An observation of ours as habitat-lab would deliver it to an agent."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PADDING, UNKNOWN = 0, 1  #: the first two numbers of the field's vocabularies

#: the numbers that habitat-lab's data sets give to what may be looked for
_HM3D = ("chair", "bed", "plant", "toilet", "tv_monitor", "sofa")
_MP3D = (
    "chair", "table", "picture", "cabinet", "cushion", "sofa", "bed", "chest_of_drawers", "plant", "sink", "toilet",
    "stool", "towel", "tv_monitor", "shower", "bathtub", "counter", "fireplace", "gym_equipment", "seating", "clothes",
)  # fmt: skip

#: what habitat-lab calls a sensor where we call it by its kind alone
_LAB_NAMES = {"pointgoal": "pointgoal_with_gps_compass"}


class Vocabulary:
    """Words to numbers: those of a file, or else as they come."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._is_open = not words
        self._numbers = {word: number for number, word in enumerate(words or ("<pad>", "<unk>"))}

    @classmethod
    def from_file(cls, path: Path) -> "Vocabulary":
        """A list of words, or a data set's `instruction_vocab` with its `word_list`."""
        content = json.loads(path.read_text())
        while isinstance(content, dict):
            content = content.get("instruction_vocab") or content["word_list"]
        return cls([str(word) for word in content])

    def encode(self, words: Sequence[str]) -> list[int]:
        return [self._encode(word) for word in words]

    def _encode(self, word: str) -> int:
        if word.isdigit():  # the data set gave numbers in the first place
            return int(word)
        if self._is_open:
            return self._numbers.setdefault(word, len(self._numbers))
        return self._numbers.get(word, UNKNOWN)


class LabObservations:
    """Translates the moments of one task."""

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self._vocabulary = vocabulary or Vocabulary()
        self._categories: dict[str, int] = {}

    def translate(self, observation: Any) -> dict[str, Any]:
        """By the lab's names: pictures with a last axis, depth in [0, 1], ids as int64, words as a dictionary."""
        specs: Mapping[str, Any] = observation.episode.task.sensors
        made: dict[str, Any] = {
            _LAB_NAMES.get(name, name): _convert(specs.get(name), value) for name, value in observation.items()
        }
        episode = observation.episode
        if episode.instruction:
            made["instruction"] = {
                "text": episode.instruction,
                "tokens": self._vocabulary.encode(episode.tokens or episode.instruction.lower().split()),
                "trajectory_id": 0,  # the lab leaks the true one; nobody may see it here
            }
        if episode.object_category is not None and _is_missing(made.get("objectgoal")):
            made["objectgoal"] = np.array([self._number_category(episode.object_category)], dtype=np.int64)
        return made

    def _number_category(self, name: str) -> int:
        for known in (_HM3D, _MP3D):
            if name in known:
                return known.index(name)
        return self._categories.setdefault(name, len(_MP3D) + len(self._categories))


def _is_missing(value: object) -> bool:
    return value is None or not isinstance(value, np.ndarray)


def _convert(spec: Any, value: NDArray[Any]) -> NDArray[Any]:
    kind = getattr(spec, "kind", "")
    if kind == "depth":
        return normalize_depth(value, getattr(spec.camera, "depth", None))[..., None]
    if kind in ("semantic", "instance"):
        return value.astype(np.int32)[..., None]
    if kind == "objectgoal":
        return value.astype(np.int64)
    return value


def normalize_depth(metres: NDArray[Any], depth: Any) -> NDArray[np.float32]:
    """Clipped to the camera's range and scaled to [0, 1], unless it is already."""
    if depth is not None and depth.normalized:
        return np.asarray(metres, dtype=np.float32)
    nearest, farthest = (0.0, 10.0) if depth is None else (depth.minimum, depth.maximum)
    scaled: NDArray[np.float32] = (np.clip(metres, nearest, farthest) - np.float32(nearest)) / np.float32(
        farthest - nearest
    )
    return scaled.astype(np.float32)
