"""Quaternions of numpy-quaternion and of Magnum, and lists [x, y, z, w], into one another."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import quaternion as qt
from numpy.typing import NDArray

import magnum as mn

_SMALLEST_ANGLE = 1e-5


def quat_from_coeffs(coeffs: Sequence[float] | NDArray[Any]) -> qt.quaternion:
    """Of x, y, z, w."""
    return qt.quaternion(float(coeffs[3]), float(coeffs[0]), float(coeffs[1]), float(coeffs[2]))


def quat_to_coeffs(quat: qt.quaternion) -> NDArray[np.float64]:
    """To x, y, z, w."""
    return np.array([quat.x, quat.y, quat.z, quat.w])


def quat_to_magnum(quat: qt.quaternion) -> mn.Quaternion:
    return mn.Quaternion.from_numbers((quat.x, quat.y, quat.z, quat.w))


def quat_from_magnum(quat: mn.Quaternion) -> qt.quaternion:
    x, y, z, w = quat.numbers
    return qt.quaternion(w, x, y, z)


def quat_to_angle_axis(quat: qt.quaternion) -> tuple[float, NDArray[np.float64]]:
    """The angle and the axis; x where nothing is turned."""
    vector = qt.as_rotation_vector(quat)
    angle = float(np.linalg.norm(vector))
    if angle < _SMALLEST_ANGLE:
        return 0.0, np.array([1.0, 0.0, 0.0])
    return angle, vector / angle


def quat_from_angle_axis(theta: float, axis: NDArray[Any]) -> qt.quaternion:
    direction = np.asarray(axis, dtype=np.float64)
    return qt.from_rotation_vector(theta * direction / np.linalg.norm(direction))


def quat_from_two_vectors(v0: NDArray[Any], v1: NDArray[Any]) -> qt.quaternion:
    """The shortest turn of one direction to another."""
    first, second = (np.asarray(v, dtype=np.float64) / np.linalg.norm(v) for v in (v0, v1))
    cosine = float(np.dot(first, second))
    if cosine < -1.0 + 1e-8:  # any axis across will do
        across = np.cross(first, np.eye(3)[int(np.argmin(np.abs(first)))])
        across /= np.linalg.norm(across)
        return qt.quaternion(0.0, *across)
    scale = math.sqrt((1.0 + cosine) * 2.0)
    return qt.quaternion(scale / 2.0, *(np.cross(first, second) / scale))


def angle_between_quats(q1: Any, q2: Any) -> float:
    """Radians between two rotations, of Magnum's or numpy's kind."""
    first, second = (quat if isinstance(quat, mn.Quaternion) else quat_to_magnum(quat) for quat in (q1, q2))
    x, y, z, w = (first.inverted() * second).numbers
    return 2.0 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))


def quat_rotate_vector(quat: qt.quaternion, v: Any) -> NDArray[np.float64]:
    vector = qt.quaternion(0.0, *(float(number) for number in v))
    turned: NDArray[np.float64] = (quat * vector * quat.inverse()).imag
    return turned


def random_quaternion() -> mn.Quaternion:
    """Uniform over all rotations, from numpy's global generator."""
    u, v, w = np.random.rand(3)
    a, b = math.sqrt(1.0 - u), math.sqrt(u)
    return mn.Quaternion.from_numbers(
        (a * math.sin(math.tau * v), a * math.cos(math.tau * v), b * math.sin(math.tau * w), b * math.cos(math.tau * w))
    )
