"""Constants and functions of `magnum.math` that Habitat's users need."""

import math
from typing import Any

import numpy as np

from magnum.angles import Rad
from magnum.quaternions import Quaternion
from magnum.ranges import Range2D, Range2Di, Range3D
from magnum.vectors import Vector3

pi, tau, e, inf, nan = math.pi, math.tau, math.e, math.inf, math.nan
pi_half, pi_quarter = math.pi / 2, math.pi / 4
sqrt2, sqrt3, sqrt_half = math.sqrt(2), math.sqrt(3), math.sqrt(0.5)


def dot(first: Any, second: Any) -> float:
    return float(first.dot(second)) if isinstance(first, Quaternion) else float(np.dot(first, second))


def cross(first: Any, second: Any) -> Any:
    made = np.cross(np.asarray(first), np.asarray(second))
    return Vector3(made) if made.shape == (3,) else float(made)


def angle(first: Any, second: Any) -> Rad:
    """Between two vectors of unit length, or half of what is between two rotations."""
    return Rad(math.acos(float(np.clip(dot(first, second), -1.0, 1.0))))


def lerp(first: Any, second: Any, t: float) -> Any:
    if isinstance(first, Quaternion):
        return (first * (1.0 - t) + second * t).normalized()
    return first * (1.0 - t) + second * t


def slerp(first: Quaternion, second: Quaternion, t: float) -> Quaternion:
    cosine = dot(first, second)
    half = math.acos(float(np.clip(cosine, -1.0, 1.0)))
    if abs(cosine) > 1.0 - 1e-7:
        return first
    sine = math.sin(half)
    return first * (math.sin((1.0 - t) * half) / sine) + second * (math.sin(t * half) / sine)


def slerp_shortest_path(first: Quaternion, second: Quaternion, t: float) -> Quaternion:
    return slerp(first, -second if dot(first, second) < 0 else second, t)


def min(first: Any, second: Any) -> Any:
    """The smaller, number by number."""
    return type(first)(np.minimum(first, second))


def max(first: Any, second: Any) -> Any:
    """The larger, number by number."""
    return type(first)(np.maximum(first, second))


def fmod(first: Any, second: Any) -> Any:
    """What is left of a division, with the sign of the first."""
    return type(first)(np.fmod(first, second))


def clamp(value: Any, lower: Any, upper: Any) -> Any:
    return type(value)(np.clip(value, lower, upper))


Box = Range2D | Range2Di | Range3D


def join(first: Box, second: Box) -> Box:
    """The smallest box around both; one without size does not count."""
    if not np.asarray(first.size).any():
        return second
    if not np.asarray(second.size).any():
        return first
    return type(first)(np.minimum(first.min, second.min), np.maximum(first.max, second.max))


def intersect(first: Box, second: Box) -> Box:
    """What both have in common; an empty box if nothing."""
    lower, upper = np.maximum(first.min, second.min), np.minimum(first.max, second.max)
    return type(first)(lower, upper) if (np.asarray(lower) < np.asarray(upper)).all() else type(first)()


def isnan(value: Any) -> Any:
    return np.isnan(np.asarray(value, dtype=np.float64))


def sqrt(value: float) -> float:
    return math.sqrt(value)
