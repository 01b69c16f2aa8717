"""Sensors by name."""

from typing import Any


class SensorSuite(dict[str, Any]):
    def add(self, sensor: Any) -> None:
        self[sensor.specification().uuid] = sensor
