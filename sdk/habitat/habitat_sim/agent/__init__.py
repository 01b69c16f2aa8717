"""Agents: bodies with sensors that actions move."""

from habitat_sim.agent import controls
from habitat_sim.agent.agent import ActionSpec, Agent, AgentConfiguration, AgentState, SixDOFPose
from habitat_sim.agent.controls import ActuationSpec, ObjectControls, PyRobotNoisyActuationSpec, SceneNodeControl

__all__ = [
    "ActionSpec",
    "ActuationSpec",
    "Agent",
    "AgentConfiguration",
    "AgentState",
    "ObjectControls",
    "PyRobotNoisyActuationSpec",
    "SceneNodeControl",
    "SixDOFPose",
    "controls",
]
