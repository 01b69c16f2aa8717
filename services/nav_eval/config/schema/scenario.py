"""The surroundings: robots, objects, cameras, lamps and how much of it is randomised."""

import math
from typing import Annotated

from pydantic import Field, model_validator

from nav_eval.config.schema.base import ConfigModel, Name, Text, Vec3, refusal, unique
from nav_eval.config.schema.cameras import CameraConfig, LightConfig
from nav_eval.config.schema.objects import ObjectConfig
from nav_eval.config.schema.randomization import DRConfig
from nav_eval.config.schema.robot import DEFAULT_ROBOT, RobotConfig
from nav_eval.config.schema.sensors import PictureSensor, SensorConfig


class ScenarioConfig(ConfigModel):
    """What the simulator sets up around an episode."""

    name: Name | None = None
    description: Text | None = None
    robots: Annotated[tuple[RobotConfig, ...], Field(min_length=1)] = (DEFAULT_ROBOT,)
    """The first one walks, unless the episode asks for another by name."""
    objects: tuple[ObjectConfig, ...] = ()
    obstacles: tuple[ObjectConfig, ...] = ()
    """Objects that are only in the way: no task refers to them."""
    domain_randomization: DRConfig = DRConfig()
    cameras: tuple[CameraConfig, ...] = ()
    lights: tuple[LightConfig, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "ScenarioConfig":
        unique((robot.name for robot in self.robots), what="robot")
        unique((thing.name for thing in (*self.objects, *self.obstacles)), what="object")
        unique((light.name for light in self.lights), what="light")
        unique((f"{camera.robot or '*'}/{camera.name}" for camera in self.cameras), what="camera")
        for camera in self.cameras:
            if camera.robot is not None and self.robot(camera.robot) is None:
                raise refusal(f"has a camera {camera.name!r} on the robot {camera.robot!r}, which does not exist")
        return self

    def robot(self, name: str | None = None) -> RobotConfig | None:
        """The robot called `name`; the first one when no name is given."""
        if name is None:
            return self.robots[0]
        return next((robot for robot in self.robots if robot.name == name), None)

    def sensors(self, of_task: dict[str, SensorConfig], *, robot: RobotConfig) -> dict[str, SensorConfig]:
        """The task's sensors, refined and completed by what the robot and the cameras say, and mounted."""
        suite = dict(of_task)
        for name, sensor in robot.sensors.items():
            said = {field: getattr(sensor, field) for field in sensor.model_fields_set - {"kind"}}
            suite[name] = _refined(suite[name], said) if _same_kind(suite.get(name), sensor) else sensor
        for camera in self.cameras:
            if camera.robot in (None, robot.name):
                known = suite.get(camera.name)
                suite[camera.name] = _refined(known, camera.settings()) if known is not None else camera.sensor()
                suite[camera.name] = _turned(suite[camera.name], camera.look_at, robot)
        return {name: _mounted(sensor, robot) for name, sensor in suite.items()}


def _same_kind(known: SensorConfig | None, sensor: SensorConfig) -> bool:
    return known is not None and known.kind == sensor.kind


def _refined(sensor: SensorConfig, said: dict[str, object]) -> SensorConfig:
    return sensor.model_copy(update=said)


def _mounted(sensor: SensorConfig, robot: RobotConfig) -> SensorConfig:
    if isinstance(sensor, PictureSensor) and sensor.position is None:
        return sensor.model_copy(update={"position": (0.0, robot.camera_height, 0.0)})
    return sensor


def _turned(sensor: SensorConfig, look_at: Vec3 | None, robot: RobotConfig) -> SensorConfig:
    """The camera with the yaw and pitch that put `look_at` into the middle of its picture."""
    mounted = _mounted(sensor, robot)
    if look_at is None or not isinstance(mounted, PictureSensor) or mounted.position is None:
        return sensor
    right, up, back = (target - eye for target, eye in zip(look_at, mounted.position, strict=True))
    yaw = math.degrees(math.atan2(-right, -back))
    pitch = math.degrees(math.atan2(up, math.hypot(right, back)))
    return mounted.model_copy(update={"yaw": yaw, "pitch": pitch})
