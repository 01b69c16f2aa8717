"""Cameras and lamps that a scenario adds."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from nav_eval.config.schema.base import Color, ConfigModel, Name, NonNegative, Positive, Vec3, refusal
from nav_eval.config.schema.sensors import SENSOR_CLASSES, PictureSensor, SensorConfig, kind_of


class CameraConfig(PictureSensor):
    """A camera: it refines the sensor of the same name, or adds one."""

    name: Name
    type: Literal["pinhole"] = "pinhole"
    kind: Literal["rgb", "depth", "semantic", "instance"] = "rgb"
    """What it sees; follows from the name (`depth`, `rgb_left`) when not given."""
    robot: Name | None = None
    """The robot that carries it; every robot when not given."""
    look_at: Vec3 | None = None
    """A point, in the robot's frame, in the middle of the picture; instead of yaw and pitch."""

    @model_validator(mode="before")
    @classmethod
    def _kind_from_name(cls, data: object) -> object:
        if not isinstance(data, Mapping) or "kind" in data or not isinstance(data.get("name"), str):
            return data
        try:
            return {**data, "kind": kind_of(data["name"], {})}
        except ValueError:  # a name of its own: a colour camera
            return data

    @model_serializer(mode="wrap")
    def _only_what_is_said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is not said comes from the sensor of the same name, so a default must not look as if it were said."""
        return {key: value for key, value in dump(self).items() if key in self.model_fields_set}

    @model_validator(mode="after")
    def _one_direction(self) -> "CameraConfig":
        if self.look_at is not None and self.model_fields_set & {"yaw", "pitch"}:
            raise refusal("has look_at as well as yaw or pitch; give one of them")
        if self.look_at is not None and self.look_at == self.position:
            raise refusal("looks at its own position")
        return self

    def settings(self) -> dict[str, Any]:
        """What this camera sets about the sensor of its name."""
        said = self.model_fields_set & set(PictureSensor.model_fields)
        return {name: getattr(self, name) for name in sorted(said)}

    def sensor(self) -> SensorConfig:
        """The sensor that this camera adds if there is none of its name."""
        return SENSOR_CLASSES[self.kind](**self.settings())  # type: ignore[return-value]


class LightConfig(ConfigModel):
    """A lamp."""

    name: Name
    type: Literal["sun", "point", "ambient"] = "point"
    color: Color = (1.0, 1.0, 1.0)
    intensity: NonNegative = 1.0
    temperature: Positive | None = None
    """Kelvin; tints `color`."""
    position: Vec3 = (0.0, 2.5, 0.0)
    """Metres in the scene's frame, for a point light."""
    direction: Vec3 = (0.0, -1.0, 0.0)
    """Where a sun shines to."""
    range: Positive = 15.0
    """Metres; a point light reaches no farther."""

    @model_validator(mode="after")
    def _some_direction(self) -> "LightConfig":
        if self.direction == (0.0, 0.0, 0.0):
            raise refusal("has a direction of length 0")
        return self
