"""habitat-sim's Python interface on nav-eval: navigation, sensors, semantics; no physics."""

from nav_eval_habitat.conflicts import refuse_conflicts

refuse_conflicts()

from nav_eval_habitat.api_level import LEVEL

__version__ = ".".join(map(str, LEVEL.release))

audio_enabled = built_with_bullet = cuda_enabled = vhacd_enabled = False
stage_id = -1
MapStringString = dict

from habitat_sim import (
    agent,
    attributes,
    attributes_managers,
    errors,
    geo,
    gfx,
    logging,
    metadata,
    nav,
    physics,
    scene,
    sensor,
    sensors,
    sim,
    simulator,
    utils,
)
from habitat_sim.agent.agent import ActionSpec, Agent, AgentConfiguration, AgentState, SixDOFPose
from habitat_sim.agent.controls import (
    ActuationSpec,
    ObjectControls,
    PyRobotNoisyActuationSpec,
    SceneNodeControl,
    controls,
    default_controls,
    object_controls,
    pyrobot_noisy_controls,
)
from habitat_sim.nav import (
    GreedyFollowerCodes,
    GreedyGeodesicFollower,
    HitRecord,
    MultiGoalShortestPath,
    NavMeshSettings,
    PathFinder,
    ShortestPath,
    VectorGreedyCodes,
)
from habitat_sim.registry import registry
from habitat_sim.replay import ReplayRenderer, ReplayRendererConfiguration
from habitat_sim.rigid_state import RigidState
from habitat_sim.scene_graph import SceneGraph, SceneNode, SceneNodeType
from habitat_sim.sensor import (
    AudioSensor,
    AudioSensorSpec,
    CameraSensorSpec,
    EquirectangularSensor,
    EquirectangularSensorSpec,
    FisheyeSensorDoubleSphereSpec,
    FisheyeSensorModelType,
    FisheyeSensorSpec,
    RLRAudioPropagationChannelLayout,
    RLRAudioPropagationChannelLayoutType,
    RLRAudioPropagationConfiguration,
    Sensor,
    SensorFactory,
    SensorSpec,
    SensorSubType,
    SensorType,
    VisualSensorSpec,
)
from habitat_sim.sim_config import Configuration, SimulatorConfiguration
from habitat_sim.simulator import Simulator
from habitat_sim.utils import settings

import habitat_sim._ext.habitat_sim_bindings
import habitat_sim.bindings
