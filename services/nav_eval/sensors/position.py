"""Where the agent is and which way it faces, in the conventions of the field: GPS, compass, pose.

The start frame is the agent's own frame at the first step: x right, y up, z back. Two-dimensional
positions are [forward, right]; angles are radians, positive to the left.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nav_eval.records.geometry import (
    Pose,
    Vec3,
    get_yaw,
    invert_rotation,
    multiply_rotations,
    rotate_vector,
    to_rotation_matrix,
)
from nav_eval.sensors.base import Bounds, Sensor, SensorContext, SensorSpec

FARTHEST = 4e6
"""Metres. Coordinates are within a million metres of zero, so nothing is farther from anything."""


class GpsSensor(Sensor):
    """Where the agent is, relative to where it started."""

    kind: Literal["gps"] = "gps"
    coordinate_system: Literal["cartesian", "spherical"] = "cartesian"
    dimensionality: Literal[2, 3] = 2
    """2: [forward, right] as in Habitat; 3: [x right, y up, z back]; both in the start frame."""

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype="float32", shape=(self.dimensionality,))

    @property
    def bounds(self) -> Bounds:
        return get_place_bounds(self.dimensionality, polar=self.coordinate_system == "spherical")

    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        measure = to_polar if self.coordinate_system == "spherical" else to_cartesian
        return measure(to_frame(context.start, context.now.position), dimensions=self.dimensionality)


class CompassSensor(Sensor):
    """Which way the agent faces, relative to how it started."""

    kind: Literal["compass"] = "compass"
    type: Literal["angle", "vector"] = "angle"
    """Radians, positive to the left; or the unit vector [x, y, z]."""

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype="float32", shape=(3,) if self.type == "vector" else (1,))

    @property
    def bounds(self) -> Bounds:
        return Bounds(-1.0, 1.0) if self.type == "vector" else Bounds(-math.pi, math.pi)

    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        rotation = to_relative_pose(context.start, context.now).rotation
        if self.type == "vector":
            return np.array(rotate_vector(rotation, (0.0, 0.0, -1.0)), np.float32)
        return np.array([get_yaw(rotation)], np.float32)


class PoseSensor(Sensor):
    """Position and rotation together, as the LH-VLN challenge gives them."""

    kind: Literal["pose"] = "pose"
    frame: Literal["start", "world"] = "start"
    rotation: Literal["matrix", "quaternion"] = "matrix"

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype="float32", shape=(3, 4) if self.rotation == "matrix" else (7,))

    @property
    def bounds(self) -> Bounds:
        high = [1.0] * 3 + [FARTHEST] if self.rotation == "matrix" else [FARTHEST] * 3 + [1.0] * 4
        return Bounds(np.negative(high), high)

    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        """One 3×4 matrix [R | t], or [x, y, z, qx, qy, qz, qw]."""
        pose = context.now if self.frame == "world" else to_relative_pose(context.start, context.now)
        if self.rotation == "quaternion":
            return np.array([*pose.position, *pose.rotation], np.float32)
        return np.column_stack([to_rotation_matrix(pose.rotation), pose.position]).astype(np.float32)


def to_frame(pose: Pose, point: Vec3) -> Vec3:
    """A point of the world in the frame of a pose."""
    x, y, z = (there - here for there, here in zip(point, pose.position, strict=True))
    return rotate_vector(invert_rotation(pose.rotation), (x, y, z))


def to_relative_pose(start: Pose, now: Pose) -> Pose:
    """`now` in the frame of `start`."""
    return Pose(to_frame(start, now.position), multiply_rotations(invert_rotation(start.rotation), now.rotation))


def to_polar(point: Vec3, *, dimensions: int) -> NDArray[np.float32]:
    """[distance, angle to the left] on the floor, or [distance, angle to the left, angle up]."""
    right, up, back = point
    to_the_left = math.atan2(-right, -back)
    if dimensions == 2:
        return np.array([math.hypot(right, back), to_the_left], np.float32)
    return np.array([math.hypot(right, up, back), to_the_left, math.atan2(up, math.hypot(right, back))], np.float32)


def to_cartesian(point: Vec3, *, dimensions: int) -> NDArray[np.float32]:
    """[forward, right], or [right, up, back]."""
    right, up, back = point
    return np.array([-back, right] if dimensions == 2 else [right, up, back], np.float32)


def get_place_bounds(dimensions: int, *, polar: bool) -> Bounds:
    """The bounds of what `to_polar` or `to_cartesian` gives."""
    if not polar:
        return Bounds(-FARTHEST, FARTHEST)
    angles = [math.pi, math.pi / 2][: dimensions - 1]
    return Bounds([0.0, *(-angle for angle in angles)], [FARTHEST, *angles])
