"""What actions do to nodes."""

from habitat_sim.agent.controls import controls, default_controls, object_controls, pyrobot_noisy_controls
from habitat_sim.agent.controls.controls import ActuationSpec, SceneNodeControl
from habitat_sim.agent.controls.object_controls import ObjectControls
from habitat_sim.agent.controls.pyrobot_noisy_controls import PyRobotNoisyActuationSpec
from habitat_sim.registry import registry

register_move_fn = registry.register_move_fn  #: where it was before there was a registry

__all__ = [
    "ActuationSpec",
    "ObjectControls",
    "PyRobotNoisyActuationSpec",
    "SceneNodeControl",
    "controls",
    "default_controls",
    "object_controls",
    "pyrobot_noisy_controls",
    "register_move_fn",
]
