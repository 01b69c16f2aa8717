"""The cameras of a robot, from their places on it to what the renderer draws for them.

Sensors that share lens and mount (colour and depth usually do) are drawn in one pass. What the
renderer delivers is handed on without a copy unless a sensor changes it; who has a place for it (`out`)
gets it drawn there in the first place.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import GoalImage
from nav_eval.records.geometry import Pose, Quaternion, Vec3, make_rotation, multiply_rotations, rotate_vector
from nav_eval.sensors import CameraSensor, CameraSettings, Channel, LensConfig, Sensor
from nav_eval.simulator.base import ObservationBuffers
from nav_eval.simulator.rendering import Camera, Frame, Renderer
from nav_eval.simulator.wide_lens import draw_wide_picture


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
    lens: LensConfig | None = None  #: instead of a pinhole

    @classmethod
    def from_settings(cls, camera: CameraSettings) -> "Mount":
        return cls(
            position=camera.position or (0.0, 0.0, 0.0),
            yaw=camera.yaw,
            pitch=camera.pitch,
            roll=camera.roll,
            width=camera.width,
            height=camera.height,
            hfov=camera.hfov,
            near=camera.near,
            far=camera.far,
            lens=camera.lens,
        )

    def apply_jitter(self, jitter: CameraJitter) -> "Mount":
        x, y, z = self.position
        return replace(
            self, position=(x, y + jitter.height, z), pitch=self.pitch + jitter.pitch, hfov=self.hfov + jitter.hfov
        )

    def make_camera(self, agent: Pose, *, tilt: float) -> Camera:
        """The camera in the world, for an agent that looks up by `tilt` degrees."""
        offset = rotate_vector(agent.rotation, self.position)
        x, y, z = (base + part for base, part in zip(agent.position, offset, strict=True))
        return Camera(
            position=(x, y, z),
            rotation=multiply_rotations(agent.rotation, self._make_rotation(tilt)),
            width=self.width,
            height=self.height,
            hfov=self.hfov,
            near=self.near,
            far=self.far,
        )

    def _make_rotation(self, tilt: float) -> Quaternion:
        return make_rotation(math.radians(self.yaw), math.radians(self.pitch + tilt), math.radians(self.roll))


class CameraRig:
    """The cameras of one robot in one episode, grouped by what one render pass draws."""

    def __init__(self, sensors: Mapping[str, Sensor], *, jitter: CameraJitter | None = None) -> None:
        self.passes: dict[Mount, dict[str, CameraSensor]] = {}
        for name, sensor in sensors.items():
            if isinstance(sensor, CameraSensor):
                mount = Mount.from_settings(sensor).apply_jitter(jitter or CameraJitter())
                self.passes.setdefault(mount, {})[name] = sensor
        self.mounts = {name: mount for mount, cameras in self.passes.items() for name in cameras}
        self.goal_pictures: dict[GoalImage, NDArray[np.uint8]] = {}  #: each is drawn once an episode

    def face(
        self, renderer: Renderer, agent: Pose, *, tilt: float = 0.0, out: ObservationBuffers | None = None
    ) -> "RigPictures":
        """What the cameras see from where the agent stands; nothing is drawn before somebody asks.

        Sensors named in `out` are drawn into the arrays there.
        """
        return RigPictures(self, renderer, agent, tilt=tilt, out=out or {})


class RigPictures:
    """The picture source of one moment: a pass is drawn for the first of its cameras and serves the others."""

    def __init__(
        self, rig: CameraRig, renderer: Renderer, agent: Pose, *, tilt: float, out: ObservationBuffers
    ) -> None:
        self._rig, self._renderer = rig, renderer
        self._agent, self._tilt = agent, tilt
        self._out = out
        self._frames: dict[Mount, Frame] = {}

    def draw_camera(self, name: str, camera: CameraSensor) -> NDArray[Any]:
        """The channel of the camera; a copy where a twin of the camera needs the same channel unchanged."""
        mount = self._rig.mounts[name]
        if mount not in self._frames:
            self._frames[mount] = self._draw(mount)
        picture: NDArray[Any] = getattr(self._frames[mount], camera.channel)
        channels = [twin.channel for twin in self._rig.passes[mount].values()]
        return picture.copy() if channels.count(camera.channel) > 1 else picture

    def list_waiting(self) -> list[Mount]:
        """The lenses whose pictures the renderer has not drawn yet; not wide ones, which are made of several."""
        return [mount for mount in self._rig.passes if mount.lens is None and mount not in self._frames]

    def list_channels(self, mount: Mount) -> frozenset[Channel]:
        return frozenset(camera.channel for camera in self._rig.passes[mount].values())

    def draw_goal(self, image: GoalImage) -> NDArray[np.uint8]:
        if image not in self._rig.goal_pictures:
            camera = Camera(
                position=image.pose.position,
                rotation=image.pose.rotation,
                width=image.width,
                height=image.height,
                hfov=image.hfov,
            )
            picture = self._renderer.render(camera, [Channel.RGB]).rgb
            assert picture is not None
            self._rig.goal_pictures[image] = picture
        return self._rig.goal_pictures[image]

    def _draw(self, mount: Mount) -> Frame:
        view, channels = mount.make_camera(self._agent, tilt=self._tilt), self.list_channels(mount)
        given = self._list_places(mount)
        out = _make_frame(mount, channels, given) if given else None
        if mount.lens is not None:
            return draw_wide_picture(self._renderer, view, mount.lens, channels, out)
        return self._renderer.render(view, channels, out=out) if out else self._renderer.render(view, channels)

    def _list_places(self, mount: Mount) -> dict[Channel, NDArray[Any]]:
        """Where the channels go that somebody has a place for."""
        cameras = self._rig.passes[mount].items()
        return {camera.channel: self._out[name] for name, camera in cameras if self._has_place(name, camera)}

    def _has_place(self, name: str, camera: CameraSensor) -> bool:
        """Whether the renderer can draw where the reading is wanted: not if the sensor delivers another type."""
        return name in self._out and camera.spec.dtype == camera.channel.dtype


def draw_together(moments: "Sequence[RigPictures]") -> None:
    """Draw what all cameras of several moments see, small pictures in one submission; one renderer shows them all."""
    waiting: dict[frozenset[Channel], list[tuple[RigPictures, Mount]]] = {}
    for moment in moments:
        for mount in moment.list_waiting():
            waiting.setdefault(moment.list_channels(mount), []).append((moment, mount))
    for channels, views in waiting.items():
        cameras = [mount.make_camera(moment._agent, tilt=moment._tilt) for moment, mount in views]
        room = [_make_frame(mount, channels, moment._list_places(mount)) for moment, mount in views]
        frames = moments[0]._renderer.render_batch(cameras, channels, out=room)
        for (moment, mount), frame in zip(views, frames, strict=True):
            moment._frames[mount] = frame


def _make_frame(mount: Mount, channels: Iterable[Channel], given: Mapping[Channel, NDArray[Any]]) -> Frame:
    """A frame of the arrays that were given, and of fresh ones where none was."""
    fresh = Frame.empty(mount.width, mount.height, set(channels) - given.keys())
    return replace(fresh, **{str(channel): array for channel, array in given.items()})
