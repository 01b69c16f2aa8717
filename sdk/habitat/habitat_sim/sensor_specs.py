"""What a sensor should be: plain records to which attributes may be added, as habitat-lab does."""

from enum import Enum
from typing import Any

import numpy as np

import magnum as mn


class SensorType(Enum):
    NONE = 0
    COLOR = 1
    DEPTH = 2
    NORMAL = 3
    SEMANTIC = 4
    PATH = 5
    GOAL = 6
    FORCE = 7
    TENSOR = 8
    TEXT = 9
    AUDIO = 10
    CUSTOM = 11


class SensorSubType(Enum):
    NONE = 0
    PINHOLE = 1
    ORTHOGRAPHIC = 2
    FISHEYE = 3
    EQUIRECTANGULAR = 4
    IMPULSERESPONSE = 5
    CUSTOM = 6


class FisheyeSensorModelType(Enum):
    DOUBLE_SPHERE = 0


class SensorSpec:
    """What every sensor has; up to 0.1.7 this was also how cameras were specified."""

    def __init__(self) -> None:
        self.uuid = ""
        self.sensor_type = SensorType.NONE
        self.sensor_subtype = SensorSubType.NONE
        self.position: Any = mn.Vector3(0.0, 1.5, 0.0)
        self.orientation: Any = mn.Vector3()
        self.noise_model = "None"
        self.noise_model_kwargs: dict[str, Any] = {}
        self.parameters: dict[str, str] = {}
        self.gpu2gpu_transfer = False

    def is_visual_sensor_spec(self) -> bool:
        return isinstance(self, VisualSensorSpec)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _are_equal(vars(self), vars(other))

    __hash__ = None  # type: ignore[assignment]


class VisualSensorSpec(SensorSpec):
    def __init__(self) -> None:
        super().__init__()
        self.resolution: Any = mn.Vector2i(128, 128)
        self.near = 0.01
        self.far = 1000.0
        self.channels = 4
        self.clear_color: Any = mn.Color4(0.0, 0.0, 0.0, 1.0)


class CameraSensorSpec(VisualSensorSpec):
    def __init__(self) -> None:
        super().__init__()
        self.uuid = "rgba_camera"
        self.sensor_type = SensorType.COLOR
        self.sensor_subtype = SensorSubType.PINHOLE
        self._hfov = mn.Deg(90.0)
        self.ortho_scale = 0.1

    @property
    def hfov(self) -> mn.Deg:
        return self._hfov

    @hfov.setter
    def hfov(self, angle: Any) -> None:
        """An angle, or a number of degrees."""
        self._hfov = mn.Deg(angle)


class CubeMapSensorBaseSpec(VisualSensorSpec):
    """Sensors that look in all directions."""

    def __init__(self) -> None:
        super().__init__()
        self.sensor_type = SensorType.COLOR


class EquirectangularSensorSpec(CubeMapSensorBaseSpec):
    def __init__(self) -> None:
        super().__init__()
        self.uuid = "equirectangular_rgba_camera"
        self.sensor_subtype = SensorSubType.EQUIRECTANGULAR


class FisheyeSensorSpec(CubeMapSensorBaseSpec):
    def __init__(self) -> None:
        super().__init__()
        self.uuid = "fisheye"
        self.sensor_subtype = SensorSubType.FISHEYE
        self.sensor_model_type = FisheyeSensorModelType.DOUBLE_SPHERE
        self.focal_length: Any = mn.Vector2(180.0, 180.0)
        self.principal_point_offset: Any = None  #: pixels; the middle of the picture if None


class FisheyeSensorDoubleSphereSpec(FisheyeSensorSpec):
    def __init__(self) -> None:
        super().__init__()
        self.alpha = 0.59
        self.xi = -0.18


class AudioSensorSpec(SensorSpec):
    """May be specified, but no sound is simulated."""

    def __init__(self) -> None:
        super().__init__()
        self.uuid = "audio"
        self.sensor_type = SensorType.AUDIO
        self.sensor_subtype = SensorSubType.IMPULSERESPONSE


def get_hfov_degrees(spec: Any) -> float:
    """Of a camera's specification, in whichever generation's way it was given."""
    if "hfov" in spec.parameters:
        return float(spec.parameters["hfov"])
    return float(getattr(spec, "hfov", mn.Deg(90.0)))


def _are_equal(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(_is_same(value, second[name]) for name, value in first.items())


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray | list | tuple) and isinstance(other, np.ndarray | list | tuple):
        return np.array_equal(np.asarray(one), np.asarray(other))
    return bool(one == other)
