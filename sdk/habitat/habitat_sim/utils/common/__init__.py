"""Quaternions and colours."""

import numpy as np

import magnum as mn
from habitat_sim.utils.common import common, quaternion_utils
from habitat_sim.utils.common.common import colorize_ids, d3_40_colors_hex, d3_40_colors_rgb
from habitat_sim.utils.common.quaternion_utils import (
    angle_between_quats,
    quat_from_angle_axis,
    quat_from_coeffs,
    quat_from_magnum,
    quat_from_two_vectors,
    quat_rotate_vector,
    quat_to_angle_axis,
    quat_to_coeffs,
    quat_to_magnum,
    random_quaternion,
)


def orthonormalize_rotation_shear(transformation: mn.Matrix4) -> mn.Matrix4:
    """The same pose with axes of unit length that stand on one another."""
    rows = np.asarray(transformation, dtype=np.float64)
    q, r = np.linalg.qr(rows[:3, :3])
    return mn.Matrix4.from_(q * np.sign(np.diagonal(r)), rows[:3, 3])


__all__ = [
    "angle_between_quats",
    "colorize_ids",
    "common",
    "d3_40_colors_hex",
    "d3_40_colors_rgb",
    "orthonormalize_rotation_shear",
    "quat_from_angle_axis",
    "quat_from_coeffs",
    "quat_from_magnum",
    "quat_from_two_vectors",
    "quat_rotate_vector",
    "quat_to_angle_axis",
    "quat_to_coeffs",
    "quat_to_magnum",
    "quaternion_utils",
    "random_quaternion",
]
