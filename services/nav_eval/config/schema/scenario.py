"""A scenario: who walks (robots), what stands around (objects), cameras, lamps and how much of it is randomised."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    Field,
    FieldSerializationInfo,
    SerializerFunctionWrapHandler,
    field_serializer,
    model_serializer,
    model_validator,
)

from nav_eval.config.schema.task import Sensors, find_sensor_kind
from nav_eval.config_model import (
    Aliases,
    Color,
    ConfigModel,
    FilePath,
    Flag,
    Fraction,
    LaterField,
    Name,
    NonNegative,
    Number,
    Positive,
    Quaternion,
    Seed,
    Text,
    Tilt,
    Vec3,
    check_unique,
    make_refusal,
)
from nav_eval.sensors import SENSORS, CameraSensor, CameraSettings, Sensor


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
    def _only_what_is_said(self, sensors: dict[str, Sensor], info: FieldSerializationInfo) -> dict[str, Any]:
        """What is not said about a sensor comes from the task, so a default must not look as if it were said."""
        return {name: sensor.model_dump(mode=info.mode, exclude_unset=True) for name, sensor in sensors.items()}

    @model_validator(mode="after")
    def _check(self) -> "RobotConfig":
        if self.max_slope < 0:
            raise make_refusal(f"has max_slope = {self.max_slope}; it must not be negative")
        for joint, (low, high) in self.joint_limits.items():
            if low > high:
                raise make_refusal(f"limits joint {joint!r} to [{low}, {high}]; write the lower limit first")
        return self


DEFAULT_ROBOT = RobotConfig(name="default_agent")


Scale = tuple[Positive, Positive, Positive]
_NUMBER = r"[+-]?\d+(\.\d+)?"
UpAxis = Annotated[str, Field(pattern=rf"^(auto|[+-]?[xyz]|{_NUMBER},{_NUMBER},{_NUMBER})$")]


class BaseObjCfg(ConfigModel):
    """What every object has."""

    name: Name
    category: Text | None = None
    """Semantic label; the object's name when not given."""
    position: Vec3 = (0.0, 0.0, 0.0)
    """Metres in the scene's frame: where the object's centre is."""
    rotation: Quaternion = (0.0, 0.0, 0.0, 1.0)
    """Quaternion [x, y, z, w]."""
    scale: Positive | Scale = 1.0
    mass: Positive | None = None
    """Kilograms."""
    friction: NonNegative | None = None
    restitution: Fraction | None = None
    fixed: Flag = False
    """Nothing moves it."""
    collision_enabled: Flag = True
    """It blocks robots and cuts the navigation mesh."""
    collision_group: Name | None = None
    color: Color | None = None
    """Red, green, blue in 0…1."""


class MeshObjCfg(BaseObjCfg):
    """An object from a mesh file."""

    type: Literal["MeshObjCfg"] = "MeshObjCfg"
    mesh_path: FilePath
    up: Annotated[UpAxis, LaterField] = "auto"
    """Which way is up in the file: x, y, z, -x, -y, -z, three numbers "x,y,z", or what its format says."""


class PrimitiveCubeCfg(BaseObjCfg):
    """A box."""

    type: Literal["PrimitiveCubeCfg"] = "PrimitiveCubeCfg"
    size: Scale
    """Full extents in metres."""


class PrimitiveSphereCfg(BaseObjCfg):
    """A ball."""

    type: Literal["PrimitiveSphereCfg"] = "PrimitiveSphereCfg"
    radius: Positive


class PrimitiveCylinderCfg(BaseObjCfg):
    """An upright cylinder."""

    type: Literal["PrimitiveCylinderCfg"] = "PrimitiveCylinderCfg"
    radius: Positive
    height: Positive


ObjectConfig = Annotated[
    MeshObjCfg | PrimitiveCubeCfg | PrimitiveSphereCfg | PrimitiveCylinderCfg, Field(discriminator="type")
]


Level = Annotated[int, Field(strict=True, ge=0, le=3)]


class DRConfig(ConfigModel):
    """Domain randomisation: 0 nothing, 1 scene and materials, 2 also light, 3 also the camera."""

    aliases: ClassVar[Aliases] = {"randomization_seed": "seed"}

    level: Level = 0
    scene_mode: Level = 0
    """0 the bare shell, 1 with large furniture, 2 furnished differently, 3 with small distractors as well."""
    random_scene: Flag | None = None
    """Overrides what `level` says about the scene; the same holds for the next three."""
    random_textures: Flag | None = None
    random_lighting: Flag | None = None
    random_camera: Flag | None = None
    clutter_scene: Flag = False
    """Add small objects that have nothing to do with the task."""
    seed: Seed | None = None
    """Null draws a new one for every run, which is recorded with the result."""

    @property
    def varies_scene(self) -> bool:
        return self._varies(self.random_scene, from_level=1)

    @property
    def varies_textures(self) -> bool:
        return self._varies(self.random_textures, from_level=1)

    @property
    def varies_lighting(self) -> bool:
        return self._varies(self.random_lighting, from_level=2)

    @property
    def varies_camera(self) -> bool:
        return self._varies(self.random_camera, from_level=3)

    @property
    def varies(self) -> bool:
        """Whether anything is drawn at all."""
        drawn = (self.varies_scene, self.varies_textures, self.varies_lighting, self.varies_camera)
        return any(drawn) or self.clutter_scene

    def _varies(self, switch: bool | None, *, from_level: int) -> bool:
        return self.level >= from_level if switch is None else switch


class CameraConfig(CameraSettings):
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
            return {**data, "kind": find_sensor_kind(data["name"], {})}
        except ValueError:  # a name of its own: a colour camera
            return data

    @model_serializer(mode="wrap")
    def _only_what_is_said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is not said comes from the sensor of the same name, so a default must not look as if it were said."""
        return {key: value for key, value in dump(self).items() if key in self.model_fields_set}

    @model_validator(mode="after")
    def _one_direction(self) -> "CameraConfig":
        if self.look_at is not None and self.model_fields_set & {"yaw", "pitch"}:
            raise make_refusal("has look_at as well as yaw or pitch; give one of them")
        if self.look_at is not None and self.look_at == self.position:
            raise make_refusal("looks at its own position")
        return self

    def settings(self) -> dict[str, Any]:
        """What this camera sets about the sensor of its name."""
        said = self.model_fields_set & set(CameraSettings.model_fields)
        return {name: getattr(self, name) for name in sorted(said)}

    def sensor(self) -> Sensor:
        """The sensor that this camera adds if there is none of its name."""
        return SENSORS.get(self.kind)(**self.settings())


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
            raise make_refusal("has a direction of length 0")
        return self


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
        check_unique((robot.name for robot in self.robots), what="robot")
        check_unique((thing.name for thing in (*self.objects, *self.obstacles)), what="object")
        check_unique((light.name for light in self.lights), what="light")
        check_unique((f"{camera.robot or '*'}/{camera.name}" for camera in self.cameras), what="camera")
        for camera in self.cameras:
            if camera.robot is not None and self.robot(camera.robot) is None:
                raise make_refusal(f"has a camera {camera.name!r} on the robot {camera.robot!r}, which does not exist")
        return self

    def robot(self, name: str | None = None) -> RobotConfig | None:
        """The robot called `name`; the first one when no name is given."""
        if name is None:
            return self.robots[0]
        return next((robot for robot in self.robots if robot.name == name), None)

    def sensors(self, of_task: dict[str, Sensor], *, robot: RobotConfig) -> dict[str, Sensor]:
        """The task's sensors, refined and completed by what the robot and the cameras say, and mounted."""
        suite = dict(of_task)
        for name, sensor in robot.sensors.items():
            said = {field: getattr(sensor, field) for field in sensor.model_fields_set - {"kind"}}
            known = suite.get(name)
            suite[name] = known.model_copy(update=said) if known is not None and known.kind == sensor.kind else sensor
        for camera in self.cameras:
            if camera.robot in (None, robot.name):
                known = suite.get(camera.name)
                refined = camera.sensor() if known is None else known.model_copy(update=camera.settings())
                suite[camera.name] = _aim_camera(refined, camera.look_at, robot)
        return {name: _mount_sensor(sensor, robot) for name, sensor in suite.items()}


def _mount_sensor(sensor: Sensor, robot: RobotConfig) -> Sensor:
    if isinstance(sensor, CameraSensor) and sensor.position is None:
        return sensor.model_copy(update={"position": (0.0, robot.camera_height, 0.0)})
    return sensor


def _aim_camera(sensor: Sensor, look_at: Vec3 | None, robot: RobotConfig) -> Sensor:
    """The camera with the yaw and pitch that put `look_at` into the middle of its picture."""
    mounted = _mount_sensor(sensor, robot)
    if look_at is None or not isinstance(mounted, CameraSensor) or mounted.position is None:
        return sensor
    right, up, back = (target - eye for target, eye in zip(look_at, mounted.position, strict=True))
    yaw = math.degrees(math.atan2(-right, -back))
    pitch = math.degrees(math.atan2(up, math.hypot(right, back)))
    return mounted.model_copy(update={"yaw": yaw, "pitch": pitch})
