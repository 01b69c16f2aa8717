"""What a task offers to an agent and allows it: sensors and actions, without anything of the scene."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

TEXT = "text"
"""The dtype of sensors that are words."""

DTYPES = frozenset(
    ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
)  #: what a tensor may be made of; objects never


@dataclass(frozen=True, kw_only=True, slots=True)
class SensorSpec:
    """One sensor of the task."""

    kind: str  #: rgb, depth, semantic, gps, …
    dtype: str  #: one of DTYPES, or TEXT
    shape: tuple[int, ...] = ()  #: 0 stands for an extent that differs from episode to episode

    @property
    def nbytes(self) -> int:
        """How much memory one reading takes; 0 when that is not known beforehand."""
        return 0 if self.dtype == TEXT else math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionSpec:
    """One action of the task."""

    arguments: Mapping[str, tuple[float, float]] = field(default_factory=dict)  #: which it takes, between which values


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskInterface:
    """What every episode of a run has in common, as the agent is told."""

    name: str  #: vln, lh_vln, …
    sensors: Mapping[str, SensorSpec]
    actions: Mapping[str, ActionSpec]
    max_steps: int = 0  #: actions per episode; 0 means no limit

    def only(self, names: frozenset[str]) -> "TaskInterface":
        """The same task with these sensors alone."""
        kept = {name: spec for name, spec in self.sensors.items() if name in names}
        return TaskInterface(name=self.name, sensors=kept, actions=self.actions, max_steps=self.max_steps)
