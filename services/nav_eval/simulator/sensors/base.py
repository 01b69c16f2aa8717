"""What a sensor is: a function of one moment of an episode.

Cameras are not here: pictures that share a lens are drawn together, so the simulator asks the
renderer for them in one go (`nav_eval.simulator.pictures`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Episode, Pose
from nav_eval.registry import Registry


@dataclass(frozen=True, slots=True)
class TextValue:
    """Words for the agent."""

    text: str
    tokens: tuple[str, ...] = ()


SensorValue: TypeAlias = NDArray[Any] | TextValue


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """All that a sensor may look at."""

    episode: Episode
    start: Pose  #: the agent at the first step, on the ground
    now: Pose  #: the agent at this step
    category_ids: dict[str, int]  #: of the scene, by name


class Sensor(ABC):
    """One entry of an observation. Built from the sensor's own configuration, its only argument."""

    @abstractmethod
    def read(self, moment: Moment) -> SensorValue:
        """What the agent senses now."""


SensorFactory: TypeAlias = Callable[[Any], Sensor]
S = TypeVar("S", bound=SensorFactory)

SENSORS: Registry[SensorFactory] = Registry("sensor", entry_point_group="nav_eval.sensors")


def register_sensor(kind: str) -> Callable[[S], S]:
    """Class decorator: make a sensor available to configurations by its kind."""

    def add(cls: S) -> S:
        SENSORS.register(kind)(cls)
        return cls

    return add


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)
