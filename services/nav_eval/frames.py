"""Conversions between our frame and other people's, in one place.

Ours: metres, right-handed, Y up, −Z forward; quaternions x, y, z, w; yaw positive to the left.
Nothing here is on the path that scores (headings there are exact steps), so libm is welcome.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Quaternion, Vec3

Matrix3 = NDArray[np.float64]

_Y_UP_FROM_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def quaternion_from_yaw(yaw: float) -> Quaternion:
    """The rotation that turns the agent to the left by `yaw` radians."""
    return (0.0, math.sin(yaw / 2), 0.0, math.cos(yaw / 2))


def yaw_of(rotation: Quaternion) -> float:
    """How far to the left of −Z the agent looks, in (−π, π]."""
    forward = rotate(rotation, (0.0, 0.0, -1.0))
    return math.atan2(-forward[0], -forward[2])


def rotation_matrix(rotation: Quaternion) -> Matrix3:
    """The 3×3 matrix of a unit quaternion."""
    x, y, z, w = rotation
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotate(rotation: Quaternion, vector: Vec3) -> Vec3:
    x, y, z = rotation_matrix(rotation) @ np.asarray(vector)
    return (float(x), float(y), float(z))


def conjugate(rotation: Quaternion) -> Quaternion:
    """The inverse of a unit quaternion."""
    x, y, z, w = rotation
    return (-x, -y, -z, w)


def multiply(first: Quaternion, second: Quaternion) -> Quaternion:
    """The rotation `second`, then `first`."""
    x1, y1, z1, w1 = first
    x2, y2, z2, w2 = second
    return (
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
    )


def xyzw_from_wxyz(rotation: tuple[float, float, float, float]) -> Quaternion:
    w, x, y, z = rotation
    return (x, y, z, w)


def y_up_from_z_up(points: NDArray[Any]) -> NDArray[Any]:
    """Points of a Z-up file (ScanNet, HM3D, Replica) in our frame: (x, y, z) → (x, z, −y)."""
    turned: NDArray[Any] = points @ _Y_UP_FROM_Z_UP.astype(points.dtype).T
    return turned


def lh_vln_position(position: Vec3) -> Vec3:
    """LH-VLN's model frame: x forward, y left, z up."""
    x, y, z = position
    return (-z, -x, y)


def lh_vln_rotation(rotation: Quaternion) -> Matrix3:
    """The rotation matrix that LH-VLN gives to its models."""
    x, y, z, w = rotation
    return rotation_matrix((-z, -x, y, w))


def lh_vln_heading(rotation: Quaternion) -> float:
    """LH-VLN's heading: 0 looks along our −Z, positive to the left."""
    matrix = lh_vln_rotation(rotation)
    return math.atan2(matrix[1, 0], matrix[0, 0])


def yaw_from_lh_vln_degrees(degrees: float) -> float:
    """LH-VLN's recorded yaw (180 looks along −Z, left positive) as ours, in (−π, π]."""
    yaw = math.radians(degrees - 180.0)
    return math.atan2(math.sin(yaw), math.cos(yaw))
