"""Noise models by name."""

from typing import Any

from habitat_sim.registry import registry
from habitat_sim.sensors.noise_models.color_noise import (
    GaussianNoiseModel,
    PoissonNoiseModel,
    SaltAndPepperNoiseModel,
    SpeckleNoiseModel,
)
from habitat_sim.sensors.noise_models.no_noise_model import NoSensorNoiseModel
from habitat_sim.sensors.noise_models.redwood_depth_noise_model import RedwoodDepthNoiseModel
from habitat_sim.sensors.noise_models.sensor_noise_model import SensorNoiseModel


def make_sensor_noise_model(name: str, kwargs: dict[str, Any]) -> SensorNoiseModel:
    model = registry.get_noise_model(name)
    assert model is not None, f"There is no noise model {name!r}"
    made: SensorNoiseModel = model(**kwargs)
    return made


__all__ = [
    "GaussianNoiseModel",
    "NoSensorNoiseModel",
    "PoissonNoiseModel",
    "RedwoodDepthNoiseModel",
    "SaltAndPepperNoiseModel",
    "SensorNoiseModel",
    "SpeckleNoiseModel",
    "make_sensor_noise_model",
]
