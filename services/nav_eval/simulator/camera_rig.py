"""The cameras of a robot, from their places on it to what the renderer draws for them.

Sensors that share lens and mount (colour and depth usually do) are drawn in one pass. What the
renderer delivers is handed on without a copy unless a sensor changes it; who has a place for it (`out`)
gets it drawn there in the first place.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import GoalImage
from nav_eval.records.geometry import Pose, Quaternion, Vec3, make_rotation, multiply_rotations, rotate_vector
from nav_eval.sensors import CameraSensor, CameraSettings, Channel, LensConfig, Sensor
from nav_eval.simulator.base import ObservationBuffers
from nav_eval.simulator.rendering import Camera, Frame, PendingFrames, Renderer
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
            rotation=multiply_rotations(agent.rotation, _make_rotation(self.yaw, self.pitch + tilt, self.roll)),
            width=self.width,
            height=self.height,
            hfov=self.hfov,
            near=self.near,
            far=self.far,
        )


@lru_cache(maxsize=256)
def _make_rotation(yaw: float, pitch: float, roll: float) -> Quaternion:
    """From degrees; a robot knows a few only."""
    return make_rotation(math.radians(yaw), math.radians(pitch), math.radians(roll))


class _Pass:
    """What one render pass draws, as far as it is the same wherever the robot stands."""

    def __init__(self, mount: Mount, cameras: Mapping[str, CameraSensor]) -> None:
        self.mount = mount
        channels = [camera.channel for camera in cameras.values()]
        self.channels = frozenset(channels)
        #: those that several cameras deliver
        self.shared = {channel for channel in channels if channels.count(channel) > 1}
        #: the renderer cannot draw where the reading is wanted if the sensor delivers another type
        self.in_place = {
            name: camera.channel for name, camera in cameras.items() if camera.spec.dtype == camera.channel.dtype
        }

    def list_places(self, out: ObservationBuffers) -> dict[Channel, NDArray[Any]]:
        """Where the channels go that somebody has a place for."""
        return {channel: out[name] for name, channel in self.in_place.items() if name in out}

    def make_frame(self, given: Mapping[Channel, NDArray[Any]]) -> Frame:
        """A frame of the arrays that were given, and of fresh ones where none was."""
        width, height = self.mount.width, self.mount.height
        fresh = {
            str(channel): np.empty(channel.shape(width, height), channel.dtype)
            for channel in self.channels
            if channel not in given
        }
        return Frame(**fresh, **{str(channel): array for channel, array in given.items()})


class CameraRig:
    """The cameras of one robot in one episode, grouped by what one render pass draws."""

    def __init__(self, sensors: Mapping[str, Sensor], *, jitter: CameraJitter | None = None) -> None:
        self.passes: dict[Mount, dict[str, CameraSensor]] = {}
        for name, sensor in sensors.items():
            if isinstance(sensor, CameraSensor):
                mount = Mount.from_settings(sensor).apply_jitter(jitter or CameraJitter())
                self.passes.setdefault(mount, {})[name] = sensor
        self.mounts = {name: mount for mount, cameras in self.passes.items() for name in cameras}
        self.drawn = [_Pass(mount, cameras) for mount, cameras in self.passes.items()]
        self.by_camera = {name: each for each in self.drawn for name in self.passes[each.mount]}
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
        self._frames: dict[_Pass, Frame] = {}
        self._pending: list[PendingFrames] = []  #: of these frames, some are not filled yet

    def draw_camera(self, name: str, camera: CameraSensor) -> NDArray[Any]:
        """The channel of the camera; a copy where a twin of the camera needs the same channel unchanged."""
        for pending in self._pending:
            pending.collect()
        self._pending.clear()
        whole = self._rig.by_camera[name]
        if whole not in self._frames:
            self._frames[whole] = self._draw(whole)
        picture: NDArray[Any] = getattr(self._frames[whole], camera.channel)
        return picture.copy() if camera.channel in whole.shared else picture

    def list_waiting(self) -> list[_Pass]:
        """What the renderer has not drawn yet; not what wide lenses see, which is made of several pictures."""
        return [each for each in self._rig.drawn if each.mount.lens is None and each not in self._frames]

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

    def _draw(self, whole: _Pass) -> Frame:
        view, channels = whole.mount.make_camera(self._agent, tilt=self._tilt), whole.channels
        given = whole.list_places(self._out)
        out = whole.make_frame(given) if given else None
        if whole.mount.lens is not None:
            return draw_wide_picture(self._renderer, view, whole.mount.lens, channels, out)
        return self._renderer.render(view, channels, out=out) if out else self._renderer.render(view, channels)


def draw_together(moments: "Sequence[RigPictures]") -> None:
    """Draw what all cameras of several moments see, small pictures in one submission; one renderer shows them all.

    On a graphics card the pixels are waited for when the first camera is asked for them.
    """
    waiting: dict[frozenset[Channel], list[tuple[RigPictures, _Pass]]] = {}
    for moment in moments:
        for whole in moment.list_waiting():
            waiting.setdefault(whole.channels, []).append((moment, whole))
    for channels, views in waiting.items():
        cameras = [whole.mount.make_camera(moment._agent, tilt=moment._tilt) for moment, whole in views]
        room = [whole.make_frame(whole.list_places(moment._out)) for moment, whole in views]
        pending = moments[0]._renderer.submit(cameras, channels, out=room)
        for (moment, whole), frame in zip(views, room, strict=True):
            moment._frames[whole] = frame
        for moment in dict.fromkeys(moment for moment, _ in views):
            moment._pending += pending
