"""No noise: each picture is the reader's own already."""

from typing import Any

from habitat_sim.registry import registry
from habitat_sim.sensors.noise_models.sensor_noise_model import SensorNoiseModel


@registry.register_noise_model(name="None")
class NoSensorNoiseModel(SensorNoiseModel):
    def apply(self, sensor_observation: Any) -> Any:
        return sensor_observation
