"""Names that Habitat keeps in its C++ extension."""

from habitat_sim.core_config import Configuration, ConfigValType
from habitat_sim.nav import (
    GreedyFollowerCodes,
    GreedyGeodesicFollowerImpl,
    MultiGoalShortestPath,
    PathFinder,
    ShortestPath,
)
from habitat_sim.replay import ReplayRenderer, ReplayRendererConfiguration
from habitat_sim.rigid_state import RigidState
from habitat_sim.scene_graph import SceneGraph, SceneNode, SceneNodeType
from habitat_sim.sensor import *  # noqa: F403
from habitat_sim.sim import SimulatorBackend
from habitat_sim.sim_config import SimulatorConfiguration

audio_enabled = built_with_bullet = cuda_enabled = vhacd_enabled = False
stage_id = -1

__all__ = [
    "ConfigValType",
    "Configuration",
    "GreedyFollowerCodes",
    "GreedyGeodesicFollowerImpl",
    "MultiGoalShortestPath",
    "PathFinder",
    "ReplayRenderer",
    "ReplayRendererConfiguration",
    "RigidState",
    "SceneGraph",
    "SceneNode",
    "SceneNodeType",
    "ShortestPath",
    "SimulatorBackend",
    "SimulatorConfiguration",
    "audio_enabled",
    "built_with_bullet",
    "cuda_enabled",
    "stage_id",
    "vhacd_enabled",
]
