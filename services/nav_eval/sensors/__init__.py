"""Sensors: what an agent gets to know at each step. Importing this registers the built-in kinds, a class each."""

from nav_eval.sensors.base import (
    SENSORS,
    TEXT,
    BlankPictures,
    Bounds,
    CameraSpec,
    DepthSpec,
    NoPictures,
    PictureSource,
    Sensor,
    SensorContext,
    SensorSpec,
    SensorValue,
    TextValue,
    register_sensor,
)
from nav_eval.sensors.camera import (
    CameraSensor,
    CameraSettings,
    Channel,
    DepthSensor,
    InstanceSensor,
    LensConfig,
    NoiseConfig,
    RgbSensor,
    SemanticSensor,
)
from nav_eval.sensors.goal import (
    CategoriesSensor,
    ImageGoalSensor,
    InstructionSensor,
    ObjectGoalSensor,
    PointGoalSensor,
)
from nav_eval.sensors.position import CompassSensor, GpsSensor, PoseSensor

__all__ = [
    "SENSORS",
    "TEXT",
    "BlankPictures",
    "Bounds",
    "CameraSensor",
    "CameraSettings",
    "CameraSpec",
    "CategoriesSensor",
    "Channel",
    "CompassSensor",
    "DepthSensor",
    "DepthSpec",
    "GpsSensor",
    "ImageGoalSensor",
    "InstanceSensor",
    "InstructionSensor",
    "LensConfig",
    "NoPictures",
    "NoiseConfig",
    "ObjectGoalSensor",
    "PictureSource",
    "PointGoalSensor",
    "PoseSensor",
    "RgbSensor",
    "SemanticSensor",
    "Sensor",
    "SensorContext",
    "SensorSpec",
    "SensorValue",
    "TextValue",
    "list_kinds",
    "register_sensor",
]

_BUILT_IN: tuple[type[Sensor], ...] = (
    RgbSensor,
    DepthSensor,
    SemanticSensor,
    InstanceSensor,
    InstructionSensor,
    GpsSensor,
    CompassSensor,
    PoseSensor,
    PointGoalSensor,
    ObjectGoalSensor,
    CategoriesSensor,
    ImageGoalSensor,
)
for _sensor in _BUILT_IN:
    register_sensor(_sensor)


def list_kinds() -> list[str]:
    """Every kind that a configuration may name: ours in the order of the manual, then those of plug-ins."""
    built_in: list[str] = [sensor.model_fields["kind"].default for sensor in _BUILT_IN]
    return [*built_in, *(kind for kind in SENSORS if kind not in built_in)]
