"""Sensors: what an agent gets to know at each step. Importing this registers the built-in ones."""

from nav_eval.simulator.sensors import goals, position
from nav_eval.simulator.sensors.base import SENSORS, Moment, Sensor, SensorValue, TextValue, register_sensor

__all__ = ["SENSORS", "Moment", "Sensor", "SensorValue", "TextValue", "goals", "position", "register_sensor"]
