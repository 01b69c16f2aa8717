"""Helpers around the simulator; `settings` joins them once agents are there."""

from habitat_sim.utils import common, manager_utils, validators, viz_utils

__all__ = ["common", "manager_utils", "validators", "viz_utils"]
