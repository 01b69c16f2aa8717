"""What an agent may sense.

A sensor's kind is its name (`rgb`, `depth`, …), the part of its name before an underscore
(`rgb_left`), or an explicit `kind`; the seeds already use `type` for other things (`type: text`).
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from nav_eval.config.schema.base import (
    Aliases,
    ConfigModel,
    Degrees,
    Flag,
    Hfov,
    Name,
    NonNegative,
    Pixels,
    Positive,
    Tilt,
    Vec3,
    did_you_mean,
    refusal,
)


class NoiseConfig(ConfigModel):
    """What a sensor gets wrong on purpose; drawn from the benchmark's seed."""

    model: Literal["none", "gaussian", "redwood"] = "none"
    intensity: NonNegative = 0.1
    """Standard deviation as a fraction of the full scale (gaussian), or a multiplier (redwood)."""


class PictureSensor(ConfigModel):
    """What every camera-like sensor has."""

    aliases: ClassVar[Aliases] = {"fov": "hfov"}

    width: Pixels = 640
    height: Pixels = 480
    hfov: Hfov = 90.0
    """Horizontal field of view in degrees; pixels are square."""
    position: Vec3 | None = None
    """Metres from the robot's base (x right, y up, z back); at the robot's `camera_height` when not given."""
    yaw: Degrees = 0.0
    """Degrees to the left of straight ahead."""
    pitch: Tilt = 0.0
    """Degrees above the horizon."""
    roll: Degrees = 0.0
    near: Positive = 0.01
    """Metres; nothing closer is drawn."""
    far: Positive = 1000.0
    noise: NoiseConfig = NoiseConfig()

    @model_validator(mode="after")
    def _near_before_far(self) -> "PictureSensor":
        if self.near >= self.far:
            raise refusal(f"has near = {self.near}, which must be less than far = {self.far}")
        return self


class RgbSensor(PictureSensor):
    """Colour, height × width × 3, uint8."""

    kind: Literal["rgb"] = "rgb"


class DepthSensor(PictureSensor):
    """Distance along the viewing axis in metres, height × width, float32."""

    aliases: ClassVar[Aliases] = {"fov": "hfov", "normalize_depth": "normalize"}

    kind: Literal["depth"] = "depth"
    min_depth: NonNegative = 0.0
    """Metres; anything closer reads as this."""
    max_depth: Positive = 10.0
    """Metres; anything farther reads as this."""
    normalize: Flag = False
    """Scale [min_depth, max_depth] to [0, 1], as Habitat does by default, instead of metres."""

    @model_validator(mode="after")
    def _min_before_max(self) -> "DepthSensor":
        if self.min_depth >= self.max_depth:
            raise refusal(f"has min_depth = {self.min_depth}, which must be less than max_depth = {self.max_depth}")
        return self


class SemanticSensor(PictureSensor):
    """Category id per pixel, height × width, int32; 0 is nothing."""

    kind: Literal["semantic"] = "semantic"


class InstanceSensor(PictureSensor):
    """Object id per pixel, height × width, int32; 0 is nothing."""

    kind: Literal["instance"] = "instance"


class InstructionSensor(ConfigModel):
    """What the agent is told."""

    kind: Literal["instruction"] = "instruction"
    type: Literal["text"] = "text"
    include_tokens: Flag = True
    """Send the instruction's words as well."""


class GpsSensor(ConfigModel):
    """Where the agent is, relative to where it started."""

    kind: Literal["gps"] = "gps"
    coordinate_system: Literal["cartesian", "spherical"] = "cartesian"
    dimensionality: Literal[2, 3] = 2
    """2: [forward, right] as in Habitat; 3: [x right, y up, z back]; both in the start frame."""


class CompassSensor(ConfigModel):
    """Which way the agent faces, relative to how it started."""

    kind: Literal["compass"] = "compass"
    type: Literal["angle", "vector"] = "angle"
    """Radians, positive to the left; or the unit vector [x, y, z]."""


class PoseSensor(ConfigModel):
    """Position and rotation together, as the LH-VLN challenge gives them."""

    kind: Literal["pose"] = "pose"
    frame: Literal["start", "world"] = "start"
    rotation: Literal["matrix", "quaternion"] = "matrix"


class PointGoalSensor(ConfigModel):
    """Where the goal is, for PointNav."""

    kind: Literal["pointgoal"] = "pointgoal"
    goal_format: Literal["polar", "cartesian"] = "polar"
    dimensionality: Literal[2, 3] = 2
    updates: Flag = True
    """Measured from where the agent is now (Habitat's `pointgoal_with_gps_compass`), not from the start."""


class ObjectGoalSensor(ConfigModel):
    """Which category to find, for ObjectNav."""

    kind: Literal["objectgoal"] = "objectgoal"
    goal_spec: Literal["category_name", "category_id"] = "category_name"


class CategoriesSensor(ConfigModel):
    """The names behind the numbers that semantic cameras show: one per line, the first is number 0."""

    kind: Literal["categories"] = "categories"


class ImageGoalSensor(ConfigModel):
    """The picture of the goal, for ImageNav."""

    aliases: ClassVar[Aliases] = {"fov": "hfov"}

    kind: Literal["imagegoal"] = "imagegoal"
    width: Pixels | None = None
    """As the episode says when not given."""
    height: Pixels | None = None
    hfov: Hfov | None = None


SensorConfig = Annotated[
    RgbSensor
    | DepthSensor
    | SemanticSensor
    | InstanceSensor
    | InstructionSensor
    | GpsSensor
    | CompassSensor
    | PoseSensor
    | PointGoalSensor
    | ObjectGoalSensor
    | CategoriesSensor
    | ImageGoalSensor,
    Field(discriminator="kind"),
]

SENSOR_CLASSES: dict[str, type[ConfigModel]] = {
    cls.model_fields["kind"].default: cls for cls in get_args(get_args(SensorConfig)[0])
}


def kind_of(name: str, settings: Mapping[str, Any]) -> str:
    """The kind of the sensor called `name`."""
    if "kind" in settings:
        kind = settings["kind"]
        if isinstance(kind, str) and kind in SENSOR_CLASSES:
            return kind
        raise refusal(
            f"has kind {kind!r}.{did_you_mean(str(kind), SENSOR_CLASSES)} Known: {', '.join(SENSOR_CLASSES)}."
        )
    for candidate in (name, name.split("_", maxsplit=1)[0]):
        if candidate in SENSOR_CLASSES:
            return candidate
    if "width" in settings and "height" in settings:  # the seeds' `wrist_camera: {width: 256, height: 256}`
        return "rgb"
    raise refusal(
        f"has a sensor {name!r}, whose kind is not clear.{did_you_mean(name, SENSOR_CLASSES)} "
        f"Give it a `kind`: {', '.join(SENSOR_CLASSES)}."
    )


def _with_kinds(value: object) -> object:
    """Sensors by name, each with its kind; a list of names is a shorthand, and `false` takes a sensor away."""
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        value = dict.fromkeys(value)
    if not isinstance(value, Mapping):
        return value
    return {str(name): _with_kind(str(name), entry) for name, entry in value.items() if entry is not False}


def _with_kind(name: str, entry: object) -> object:
    entry = {} if entry is None or entry is True else entry
    return {**entry, "kind": kind_of(name, entry)} if isinstance(entry, Mapping) else entry


Sensors = Annotated[dict[Name, SensorConfig], BeforeValidator(_with_kinds)]
