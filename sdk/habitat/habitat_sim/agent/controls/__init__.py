"""What actions do to nodes."""

from habitat_sim.agent.controls import default_controls
from habitat_sim.agent.controls.controls import ActuationSpec, SceneNodeControl
from habitat_sim.agent.controls.object_controls import ObjectControls
from habitat_sim.agent.controls.pyrobot_noisy_controls import PyRobotNoisyActuationSpec

__all__ = ["ActuationSpec", "ObjectControls", "PyRobotNoisyActuationSpec", "SceneNodeControl", "default_controls"]
