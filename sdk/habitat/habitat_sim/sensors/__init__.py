"""Sensor wrappers and noise."""

from habitat_sim.sensors import noise_models
from habitat_sim.sensors.noise_models import make_sensor_noise_model
from habitat_sim.sensors.sensor_suite import SensorSuite

__all__ = ["SensorSuite", "make_sensor_noise_model", "noise_models"]
