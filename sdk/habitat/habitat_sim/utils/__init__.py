"""Helpers around the simulator; `settings` joins them once agents are there."""

from habitat_sim.utils import common, manager_utils, validators, viz_utils
from habitat_sim.utils.common import quat_from_angle_axis, quat_rotate_vector

__all__ = ["common", "manager_utils", "quat_from_angle_axis", "quat_rotate_vector", "validators", "viz_utils"]
