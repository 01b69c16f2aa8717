"""Who walks: the body that an agent steers."""

from typing import Any, ClassVar, Literal

from pydantic import Field, FieldSerializationInfo, field_serializer, model_validator

from nav_eval.config.schema.base import (
    Aliases,
    ConfigModel,
    FilePath,
    Name,
    NonNegative,
    Number,
    Positive,
    Quaternion,
    Tilt,
    Vec3,
    refusal,
)
from nav_eval.config.schema.sensors import SensorConfig, Sensors


class RobotConfig(ConfigModel):
    """One robot. For navigation its cylinder and its sensors matter; the rest is for manipulation."""

    aliases: ClassVar[Aliases] = {"model_type": "type"}

    name: Name
    type: Literal["navigation", "manipulation", "mobile_manipulation"] = "navigation"
    action_space: Literal["discrete", "continuous"] = "discrete"
    control_mode: Literal["velocity", "position", "torque"] | None = None
    """How a continuous robot is commanded."""
    height: Positive = 1.5
    """Metres; it walks under nothing lower."""
    radius: Positive = 0.1
    """Metres; it walks through nothing narrower than twice this."""
    max_climb: NonNegative = 0.2
    """Metres; the highest step it takes."""
    max_slope: Tilt = 45.0
    """Degrees; the steepest floor it walks on."""
    camera_height: NonNegative = 1.25
    """Metres above the base, for every camera that has no position of its own."""
    mass: Positive | None = None
    sensors: Sensors = Field(default_factory=dict)
    """What this robot senses, on top of the task's sensors; also where it carries them."""

    urdf_path: FilePath | None = None
    usd_path: FilePath | None = None
    mjcf_path: FilePath | None = None
    default_position: Vec3 | None = None
    """Where it stands if no episode says so."""
    default_rotation: Quaternion | None = None
    default_joint_positions: dict[str, Number] = Field(default_factory=dict)
    joint_limits: dict[str, tuple[Number, Number]] = Field(default_factory=dict)
    gripper: str | None = None
    gripper_open_q: tuple[Number, ...] = ()
    gripper_close_q: tuple[Number, ...] = ()
    ee_body_name: str | None = None
    """The body at the end of the arm."""

    @field_serializer("sensors")
    def _only_what_is_said(self, sensors: dict[str, SensorConfig], info: FieldSerializationInfo) -> dict[str, Any]:
        """What is not said about a sensor comes from the task, so a default must not look as if it were said."""
        return {name: sensor.model_dump(mode=info.mode, exclude_unset=True) for name, sensor in sensors.items()}

    @model_validator(mode="after")
    def _check(self) -> "RobotConfig":
        if self.max_slope < 0:
            raise refusal(f"has max_slope = {self.max_slope}; it must not be negative")
        for joint, (low, high) in self.joint_limits.items():
            if low > high:
                raise refusal(f"limits joint {joint!r} to [{low}, {high}]; write the lower limit first")
        return self


DEFAULT_ROBOT = RobotConfig(name="default_agent")
