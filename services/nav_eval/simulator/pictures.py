"""The cameras of a robot: which pictures to draw, and what the sensors make of them.

Sensors that share lens and mount (colour and depth usually do) are drawn in one pass. What the
renderer delivers is handed on without a copy unless a sensor changes it; who has a place for it (`out`)
gets it drawn there in the first place.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import DepthSensor, PictureSensor, SensorConfig
from nav_eval.dataset.episode import Pose, Quaternion, Vec3
from nav_eval.frames import multiply, rotate
from nav_eval.simulator.base import Places
from nav_eval.simulator.noise import with_noise
from nav_eval.simulator.rendering import Camera, Channel, Frame, Renderer
from nav_eval.simulator.rendering.camera import rotation_from_angles


@dataclass(frozen=True, kw_only=True, slots=True)
class CameraJitter:
    """How a camera differs from what its configuration says; nothing by default."""

    height: float = 0.0  #: metres up
    pitch: float = 0.0  #: degrees up
    hfov: float = 0.0  #: degrees wider


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A lens and its place on the robot: sensors with equal mounts see the same picture."""

    position: Vec3  #: metres from the base: x right, y up, z back
    yaw: float  #: degrees to the left
    pitch: float  #: degrees up
    roll: float
    width: int
    height: int
    hfov: float
    near: float
    far: float

    @classmethod
    def of(cls, sensor: PictureSensor) -> "Mount":
        return cls(
            position=sensor.position or (0.0, 0.0, 0.0),
            yaw=sensor.yaw,
            pitch=sensor.pitch,
            roll=sensor.roll,
            width=sensor.width,
            height=sensor.height,
            hfov=sensor.hfov,
            near=sensor.near,
            far=sensor.far,
        )

    def jittered(self, jitter: CameraJitter) -> "Mount":
        x, y, z = self.position
        return replace(
            self, position=(x, y + jitter.height, z), pitch=self.pitch + jitter.pitch, hfov=self.hfov + jitter.hfov
        )

    def camera(self, agent: Pose, *, tilt: float) -> Camera:
        """The camera in the world, for an agent that looks up by `tilt` degrees."""
        offset = rotate(agent.rotation, self.position)
        x, y, z = (base + part for base, part in zip(agent.position, offset, strict=True))
        return Camera(
            position=(x, y, z),
            rotation=multiply(agent.rotation, self._rotation(tilt)),
            width=self.width,
            height=self.height,
            hfov=self.hfov,
            near=self.near,
            far=self.far,
        )

    def _rotation(self, tilt: float) -> Quaternion:
        return rotation_from_angles(math.radians(self.yaw), math.radians(self.pitch + tilt), math.radians(self.roll))


class Pictures:
    """The picture sensors of one robot."""

    def __init__(self, sensors: Mapping[str, SensorConfig], *, jitter: CameraJitter | None = None) -> None:
        self._views: dict[Mount, dict[str, PictureSensor]] = {}
        for name, sensor in sensors.items():
            if isinstance(sensor, PictureSensor):
                mount = Mount.of(sensor).jittered(jitter or CameraJitter())
                self._views.setdefault(mount, {})[name] = sensor

    def take(
        self,
        renderer: Renderer,
        agent: Pose,
        *,
        tilt: float,
        wanted: Iterable[str],
        noise_key: tuple[int, str],
        out: Places | None = None,
    ) -> dict[str, NDArray[Any]]:
        """The pictures that were asked for; `noise_key` is the seed and the moment that noise is drawn for.

        Sensors named in `out` are drawn into the arrays there, and those very arrays are returned.
        """
        chosen = frozenset(wanted)
        pictures: dict[str, NDArray[Any]] = {}
        for mount, sensors in self._views.items():
            here = {name: sensor for name, sensor in sensors.items() if name in chosen}
            if here:
                camera = mount.camera(agent, tilt=tilt)
                kinds = [Channel(sensor.kind) for sensor in here.values()]  # type: ignore[attr-defined]
                channels = set(kinds)
                if out:
                    frame = renderer.render(camera, channels, out=_frame_of(out, here, mount, channels))
                else:
                    frame = renderer.render(camera, channels)
                for kind, (name, sensor) in zip(kinds, here.items(), strict=True):
                    is_shared = kinds.count(kind) > 1
                    pictures[name] = _developed(name, sensor, frame, noise_key, is_shared=is_shared)
        return {name: _put(picture, out, name) for name, picture in pictures.items()} if out else pictures


def _frame_of(out: Places, sensors: Mapping[str, PictureSensor], mount: Mount, channels: Iterable[Channel]) -> Frame:
    """A frame of the arrays that were given, and of fresh ones where none was."""
    given = {Channel(s.kind): out[name] for name, s in sensors.items() if name in out}  # type: ignore[attr-defined]
    fresh = Frame.empty(mount.width, mount.height, set(channels) - given.keys())
    return replace(fresh, **{str(channel): array for channel, array in given.items()})


def _put(picture: NDArray[Any], out: Places, name: str) -> NDArray[Any]:
    """The picture in its place; noise and sensors that share a channel make a copy necessary."""
    if name not in out or out[name] is picture:
        return picture
    np.copyto(out[name], picture)
    return out[name]


def _developed(
    name: str, sensor: PictureSensor, frame: Frame, noise_key: tuple[int, str], *, is_shared: bool
) -> NDArray[Any]:
    """What the sensor makes of the renderer's picture; one that other sensors also use is left alone."""
    picture: NDArray[Any] = getattr(frame, sensor.kind)  # type: ignore[attr-defined]
    if is_shared:
        picture = picture.copy()
    if sensor.noise.model != "none":
        seed, moment = noise_key
        picture = with_noise(picture, sensor.noise, seed=seed, key=f"{moment}/{name}")
    return _ranged(picture, sensor) if isinstance(sensor, DepthSensor) else picture


def _ranged(depth: NDArray[np.float32], sensor: DepthSensor) -> NDArray[np.float32]:
    """Metres within the sensor's range; where there is nothing, depth is 0 and so reads as the nearest."""
    np.clip(depth, np.float32(sensor.min_depth), np.float32(sensor.max_depth), out=depth)
    if sensor.normalize:
        depth -= np.float32(sensor.min_depth)
        depth /= np.float32(sensor.max_depth - sensor.min_depth)
    return depth
