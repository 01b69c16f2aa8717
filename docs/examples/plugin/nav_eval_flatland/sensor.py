"""A sensor: a receiver for the beacons that stand at the goals."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nav_eval.config_model import Fraction, Positive
from nav_eval.records.geometry import measure_distance
from nav_eval.sensors import Bounds, Sensor, SensorContext, SensorSpec


class BeaconSensor(Sensor):
    """How loud the nearest beacon is: 1 beside it, 0 out of range."""

    kind: Literal["beacon"] = "beacon"
    range: Positive = 5.0
    """Metres; a beacon that is farther away is not heard."""
    noise: Fraction = 0.0
    """Standard deviation of what is heard; drawn from the benchmark's seed."""

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype="float32", shape=(1,))

    @property
    def bounds(self) -> Bounds:
        return Bounds(0.0, 1.0)

    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        here = context.now.position
        nearest = min((measure_distance(here, goal.position) for goal in context.episode.goals), default=self.range)
        heard = 1.0 - nearest / self.range + self.noise * context.make_generator(name).standard_normal()
        return np.array([np.clip(heard, 0.0, 1.0)], np.float32)
