"""The contract of a noise model."""

from abc import ABC, abstractmethod
from typing import Any

from habitat_sim.sensor_specs import SensorType


class SensorNoiseModel(ABC):
    """Changes what a sensor saw. `gpu_device_id` is accepted and not used."""

    def __init__(self, gpu_device_id: int | None = None, **_: Any) -> None:
        self.gpu_device_id = gpu_device_id

    @staticmethod
    def is_valid_sensor_type(sensor_type: SensorType) -> bool:
        """Which sensors it is for; all unless said otherwise."""
        return True

    @abstractmethod
    def apply(self, sensor_observation: Any) -> Any:
        """The noisy picture."""

    def __call__(self, sensor_observation: Any) -> Any:
        return self.apply(sensor_observation)
