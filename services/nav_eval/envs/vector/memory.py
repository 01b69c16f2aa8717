"""The memory that all processes of a vector environment see.

Observations are drawn here by whoever renders them and read here by whoever learns from them; the numbers
of a step (actions, rewards, endings, the numeric part of `info`) lie beside them. So a step sends one byte
to each worker and gets back a word, whatever the size of its pictures.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

ALIGNMENT = 64  #: bytes; no two arrays share a cache line
Shape: TypeAlias = tuple[str, tuple[int, ...]]
"""dtype and shape of one environment's part."""

#: the numeric part of `info`; equal to what Gymnasium makes of the single environment's values
INFO: Mapping[str, str] = {"step": "int64", "distance_to_goal": "float64", "collided": "bool", "is_success": "bool"}
STEP: Mapping[str, str] = {"reward": "float64", "terminated": "bool", "truncated": "bool"}
FINAL = "final/"  #: before the names of what an episode ended with, where the next one begins in the same step
OBSERVATION, ACTION = "observation/", "action"


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """What lies where; travels to the workers as JSON."""

    num_envs: int
    arrays: dict[str, Shape]

    @property
    def offsets(self) -> dict[str, int]:
        offsets, end = {}, 0
        for name, shape in self.arrays.items():
            offsets[name] = end
            end += -(-_nbytes(shape, self.num_envs) // ALIGNMENT) * ALIGNMENT
        return offsets

    @property
    def size(self) -> int:
        return sum(-(-_nbytes(shape, self.num_envs) // ALIGNMENT) * ALIGNMENT for shape in self.arrays.values())


def layout_of(num_envs: int, observations: spaces.Dict, actions: "spaces.Space[Any]", *, with_final: bool) -> Layout:
    """Room for everything that passes between the processes; texts are sent when they change."""
    boxes = {name: box for name, box in observations.items() if isinstance(box, spaces.Box)}
    arrays: dict[str, Shape] = {ACTION: (str(actions.dtype), actions.shape or ())}
    arrays |= {name: (dtype, ()) for name, dtype in {**STEP, **INFO}.items()}
    arrays |= {OBSERVATION + name: (str(box.dtype), box.shape) for name, box in boxes.items()}
    if with_final:
        arrays |= {FINAL + name: (dtype, ()) for name, dtype in INFO.items()}
        arrays |= {FINAL + OBSERVATION + name: (str(box.dtype), box.shape) for name, box in boxes.items()}
    return Layout(num_envs=num_envs, arrays=arrays)


class SharedArrays:
    """Arrays over one piece of shared memory, each with a row per environment."""

    def __init__(self, layout: Layout, memory: Any) -> None:  # noqa: ANN401 - anything with a buffer
        self.layout = layout
        self.memory = memory
        self._arrays = {name: self._array(name, offset) for name, offset in layout.offsets.items()}

    @classmethod
    def create(cls, layout: Layout, context: SpawnContext) -> "SharedArrays":
        """Fresh memory. Python places it in /dev/shm while there is room, and in a file otherwise."""
        return cls(layout, context.RawArray("b", max(1, layout.size)))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def under(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays whose names begin so, without that beginning."""
        return {name.removeprefix(prefix): a for name, a in self._arrays.items() if name.startswith(prefix)}

    def row(self, prefix: str, env: int) -> dict[str, NDArray[Any]]:
        """One environment's part of them: views, which the renderer can draw into."""
        return {name: array[env] for name, array in self.under(prefix).items()}

    def _array(self, name: str, offset: int) -> NDArray[Any]:
        dtype, shape = self.layout.arrays[name]
        whole = (self.layout.num_envs, *shape)
        count = int(np.prod(whole))
        return np.frombuffer(self.memory, dtype, count=count, offset=offset).reshape(whole)


def _nbytes(shape: Shape, num_envs: int) -> int:
    dtype, one = shape
    return int(np.dtype(dtype).itemsize * num_envs * np.prod(one, dtype=np.int64))
