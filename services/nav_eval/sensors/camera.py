"""The cameras: colour, depth, category and object ids; and what they get wrong on purpose, the same for every team.

A camera is a sensor that asks for one channel of a picture. Those that share lens and mount (colour and depth
usually do) share a render pass: who draws sees to that (`nav_eval.simulator.camera_rig`).
"""

import math
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from nav_eval.config_model import (
    Aliases,
    ConfigModel,
    Degrees,
    Flag,
    Hfov,
    NonNegative,
    Pixels,
    Positive,
    Tilt,
    Vec3,
    make_refusal,
)
from nav_eval.records.geometry import Pose, make_rotation
from nav_eval.sensors.base import Bounds, CameraSpec, DepthSpec, Sensor, SensorContext, SensorSpec


class NoiseConfig(ConfigModel):
    """What a sensor gets wrong on purpose; drawn from the benchmark's seed."""

    model: Literal["none", "gaussian", "redwood"] = "none"
    intensity: NonNegative = 0.1
    """Standard deviation as a fraction of the full scale (gaussian), or a multiplier (redwood)."""

    def apply(self, picture: NDArray[Any], random: np.random.Generator) -> NDArray[Any]:
        """The picture as a worse camera would have taken it. Ids are never touched: half a category is none."""
        if self.model == "none" or self.intensity == 0 or picture.dtype in (np.int32, np.uint32):
            return picture
        add_noise = _add_gaussian if self.model == "gaussian" else _add_redwood
        return add_noise(picture, self.intensity, random)


def _add_gaussian(picture: NDArray[Any], intensity: float, random: np.random.Generator) -> NDArray[Any]:
    """Independent noise per value; for colour the intensity is a share of full white, for depth it is metres."""
    full_scale = 255.0 if picture.dtype == np.uint8 else 1.0
    noisy = picture + random.standard_normal(picture.shape, dtype=np.float32) * np.float32(intensity * full_scale)
    if picture.dtype == np.uint8:
        rounded: NDArray[np.uint8] = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
        return rounded
    return np.where(picture > 0, np.maximum(noisy, 0), 0).astype(picture.dtype)


def _add_redwood(picture: NDArray[Any], intensity: float, random: np.random.Generator) -> NDArray[Any]:
    """A structured-light depth camera: error grows with the square of the distance, and edges wander by a pixel.

    Colour has no such model and is left as it is.
    """
    if picture.dtype == np.uint8:
        return picture
    rows, columns = np.indices(picture.shape)
    wander = np.rint(random.standard_normal((2, *picture.shape)) * 0.5 * intensity).astype(np.int64)
    seen = picture[
        np.clip(rows + wander[0], 0, picture.shape[0] - 1), np.clip(columns + wander[1], 0, picture.shape[1] - 1)
    ]
    sigma = np.float32(0.0012 * intensity) + np.float32(0.0019 * intensity) * np.maximum(seen - np.float32(0.4), 0) ** 2
    noisy = seen + random.standard_normal(picture.shape, dtype=np.float32) * sigma
    return np.where(seen > 0, np.maximum(noisy, 0), 0).astype(np.float32)


class Channel(StrEnum):
    """What can be drawn of a picture."""

    RGB = "rgb"  #: uint8, height × width × 3, sRGB
    DEPTH = "depth"  #: float32, height × width, metres along the optical axis; 0 where there is nothing
    SEMANTIC = "semantic"  #: int32, height × width, category id; 0 is "nothing"
    INSTANCE = "instance"  #: uint32, height × width, object id; 0 is "nothing"

    @property
    def dtype(self) -> str:
        return _DTYPES[self]

    def shape(self, width: int, height: int) -> tuple[int, ...]:
        return (height, width, 3) if self is Channel.RGB else (height, width)


_DTYPES = {Channel.RGB: "uint8", Channel.DEPTH: "float32", Channel.SEMANTIC: "int32", Channel.INSTANCE: "uint32"}


class LensConfig(ConfigModel):
    """How directions become pixels. Without a lens of its own, a camera is a pinhole with the field of view `hfov`."""

    model: Literal["equirectangular", "fisheye"]
    """All around, or a fisheye by the double-sphere model."""
    focal_length: tuple[Positive, Positive] = (364.84, 364.86)
    """Fisheye only: pixels, along the width and along the height."""
    principal_point: tuple[NonNegative, NonNegative] | None = None
    """Fisheye only: pixels from the left and from the top; the middle of the picture when not given."""
    alpha: Annotated[float, Field(ge=0.0, le=1.0)] = 0.59
    """Fisheye only: how the two spheres share the distortion."""
    xi: Annotated[float, Field(gt=-1.0, lt=1.0)] = -0.18
    """Fisheye only: how far the second sphere is from the first."""


class CameraSettings(ConfigModel):
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
    lens: LensConfig | None = None
    """All around or fisheye, instead of a pinhole with `hfov`; depth is then along the ray of each pixel."""
    noise: NoiseConfig = NoiseConfig()

    @model_serializer(mode="wrap")
    def _leave_out_what_nobody_said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A benchmark whose cameras are pinholes has the digest that it had before there were other lenses."""
        return {key: value for key, value in dump(self).items() if key != "lens" or value is not None}

    @model_validator(mode="after")
    def _near_before_far(self) -> "CameraSettings":
        if self.near >= self.far:
            raise make_refusal(f"has near = {self.near}, which must be less than far = {self.far}")
        return self


class CameraSensor(CameraSettings, Sensor):
    """A sensor that is one channel of a picture, with noise on it. A subclass names its channel."""

    is_rendered: ClassVar[bool] = True
    channel: ClassVar[Channel]

    @property
    def spec(self) -> SensorSpec:
        shape = self.channel.shape(self.width, self.height)
        return SensorSpec(kind=self.kind, dtype=self.channel.dtype, shape=shape, camera=self._make_camera_spec())

    @property
    def depth_spec(self) -> DepthSpec | None:
        """What the readings mean in metres, where they are depths."""
        return None

    @property
    def bounds(self) -> Bounds:
        return Bounds(0, np.iinfo(self.channel.dtype).max)

    def _make_camera_spec(self) -> CameraSpec | None:
        """Lens and place for the agent; there is no focal length to tell of a lens that is no pinhole."""
        if self.lens is not None:
            return None
        yaw, pitch, roll = (math.radians(angle) for angle in (self.yaw, self.pitch, self.roll))
        return CameraSpec(
            width=self.width,
            height=self.height,
            hfov=self.hfov,
            pose=Pose(self.position or (0.0, 0.0, 0.0), make_rotation(yaw, pitch, roll)),
            near=self.near,
            far=self.far,
            depth=self.depth_spec,
        )

    def read(self, name: str, context: SensorContext) -> NDArray[Any]:
        picture = context.pictures.draw_camera(name, self)
        return picture if self.noise.model == "none" else self.noise.apply(picture, context.make_generator(name))


class RgbSensor(CameraSensor):
    """Colour, height × width × 3, uint8."""

    channel: ClassVar[Channel] = Channel.RGB

    kind: Literal["rgb"] = "rgb"


class DepthSensor(CameraSensor):
    """Distance along the viewing axis in metres, height × width, float32."""

    aliases: ClassVar[Aliases] = {"fov": "hfov", "normalize_depth": "normalize"}
    channel: ClassVar[Channel] = Channel.DEPTH

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
            raise make_refusal(
                f"has min_depth = {self.min_depth}, which must be less than max_depth = {self.max_depth}"
            )
        return self

    @property
    def depth_spec(self) -> DepthSpec:
        return DepthSpec(minimum=self.min_depth, maximum=self.max_depth, normalized=self.normalize)

    @property
    def bounds(self) -> Bounds:
        return Bounds(0.0, 1.0) if self.normalize else Bounds(self.min_depth, self.max_depth)

    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        """Within the sensor's range; where there is nothing, the picture has 0 and so reads as the nearest."""
        depth: NDArray[np.float32] = super().read(name, context)
        np.clip(depth, np.float32(self.min_depth), np.float32(self.max_depth), out=depth)
        if self.normalize:
            depth -= np.float32(self.min_depth)
            depth /= np.float32(self.max_depth - self.min_depth)
        return depth


class SemanticSensor(CameraSensor):
    """Category id per pixel, height × width, int32; 0 is nothing."""

    channel: ClassVar[Channel] = Channel.SEMANTIC

    kind: Literal["semantic"] = "semantic"


class InstanceSensor(CameraSensor):
    """Object id per pixel, height × width, uint32; 0 is nothing."""

    channel: ClassVar[Channel] = Channel.INSTANCE

    kind: Literal["instance"] = "instance"
