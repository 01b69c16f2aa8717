"""Where the agent is and which way it faces, in the conventions of the field.

The start frame is the agent's own frame at the first step: x right, y up, z back. Two-dimensional
positions are [forward, right]; angles are radians, positive to the left.
"""

import math

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import CompassSensor, GpsSensor, PoseSensor
from nav_eval.dataset.episode import Pose, Vec3
from nav_eval.frames import conjugate, multiply, rotate, rotation_matrix, yaw_of
from nav_eval.simulator.sensors.base import Moment, Sensor, floats, register_sensor


def seen_from(pose: Pose, point: Vec3) -> Vec3:
    """A point of the world in the frame of a pose."""
    x, y, z = (there - here for there, here in zip(point, pose.position, strict=True))
    return rotate(conjugate(pose.rotation), (x, y, z))


def relative(start: Pose, now: Pose) -> Pose:
    """`now` in the frame of `start`."""
    return Pose(seen_from(start, now.position), multiply(conjugate(start.rotation), now.rotation))


def polar(point: Vec3, *, dimensions: int) -> NDArray[np.float32]:
    """[distance, angle to the left] on the floor, or [distance, angle to the left, angle up]."""
    right, up, back = point
    to_the_left = math.atan2(-right, -back)
    if dimensions == 2:
        return floats(math.hypot(right, back), to_the_left)
    return floats(math.hypot(right, up, back), to_the_left, math.atan2(up, math.hypot(right, back)))


def cartesian(point: Vec3, *, dimensions: int) -> NDArray[np.float32]:
    """[forward, right], or [right, up, back]."""
    right, up, back = point
    return floats(-back, right) if dimensions == 2 else floats(right, up, back)


@register_sensor("gps")
class Gps(Sensor):
    """How far the agent has come from where it started."""

    def __init__(self, config: GpsSensor) -> None:
        self._spherical = config.coordinate_system == "spherical"
        self._dimensions = config.dimensionality

    def read(self, moment: Moment) -> NDArray[np.float32]:
        place = seen_from(moment.start, moment.now.position)
        measure = polar if self._spherical else cartesian
        return measure(place, dimensions=self._dimensions)


@register_sensor("compass")
class Compass(Sensor):
    """How far the agent has turned from where it looked at the start."""

    def __init__(self, config: CompassSensor) -> None:
        self._as_vector = config.type == "vector"

    def read(self, moment: Moment) -> NDArray[np.float32]:
        turned = relative(moment.start, moment.now).rotation
        if self._as_vector:
            return floats(*rotate(turned, (0.0, 0.0, -1.0)))
        return floats(yaw_of(turned))


@register_sensor("pose")
class FullPose(Sensor):
    """Position and rotation as one 3×4 matrix [R | t], or as [x, y, z, qx, qy, qz, qw]."""

    def __init__(self, config: PoseSensor) -> None:
        self._in_world = config.frame == "world"
        self._as_matrix = config.rotation == "matrix"

    def read(self, moment: Moment) -> NDArray[np.float32]:
        pose = moment.now if self._in_world else relative(moment.start, moment.now)
        if not self._as_matrix:
            return floats(*pose.position, *pose.rotation)
        return np.column_stack([rotation_matrix(pose.rotation), pose.position]).astype(np.float32)
