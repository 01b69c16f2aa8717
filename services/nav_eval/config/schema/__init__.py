"""Every configuration model, one room per idea."""

from nav_eval.config.schema.actions import ActionConfig
from nav_eval.config.schema.agent_service import AgentServiceConfig
from nav_eval.config.schema.base import ConfigModel
from nav_eval.config.schema.benchmark import BenchmarkConfig
from nav_eval.config.schema.cameras import CameraConfig, LightConfig
from nav_eval.config.schema.competition import (
    BaselineConfig,
    CompetitionConfig,
    LimitsConfig,
    PhaseConfig,
    QuotaConfig,
    RankingConfig,
    VisibilityConfig,
)
from nav_eval.config.schema.dataset import DatasetConfig, GenerateConfig
from nav_eval.config.schema.evaluation import EvaluationConfig, OutputConfig
from nav_eval.config.schema.objects import (
    BaseObjCfg,
    MeshObjCfg,
    ObjectConfig,
    PrimitiveCubeCfg,
    PrimitiveCylinderCfg,
    PrimitiveSphereCfg,
)
from nav_eval.config.schema.randomization import DRConfig
from nav_eval.config.schema.robot import RobotConfig
from nav_eval.config.schema.scenario import ScenarioConfig
from nav_eval.config.schema.sensors import (
    CategoriesSensor,
    CompassSensor,
    DepthSensor,
    GpsSensor,
    ImageGoalSensor,
    InstanceSensor,
    InstructionSensor,
    NoiseConfig,
    ObjectGoalSensor,
    PictureSensor,
    PointGoalSensor,
    PoseSensor,
    RgbSensor,
    SemanticSensor,
    SensorConfig,
)
from nav_eval.config.schema.simulator import NavMeshConfig, PhysicsConfig, RenderingConfig, SimulatorConfig
from nav_eval.config.schema.task import MetricConfig, ScoringConfig, TaskConfig

__all__ = [
    "ActionConfig",
    "AgentServiceConfig",
    "BaseObjCfg",
    "BaselineConfig",
    "BenchmarkConfig",
    "CameraConfig",
    "CategoriesSensor",
    "CompassSensor",
    "CompetitionConfig",
    "ConfigModel",
    "DRConfig",
    "DatasetConfig",
    "DepthSensor",
    "EvaluationConfig",
    "GenerateConfig",
    "GpsSensor",
    "ImageGoalSensor",
    "InstanceSensor",
    "InstructionSensor",
    "LightConfig",
    "LimitsConfig",
    "MeshObjCfg",
    "MetricConfig",
    "NavMeshConfig",
    "NoiseConfig",
    "ObjectConfig",
    "ObjectGoalSensor",
    "OutputConfig",
    "PhaseConfig",
    "PhysicsConfig",
    "PictureSensor",
    "PointGoalSensor",
    "PoseSensor",
    "PrimitiveCubeCfg",
    "PrimitiveCylinderCfg",
    "PrimitiveSphereCfg",
    "QuotaConfig",
    "RankingConfig",
    "RenderingConfig",
    "RgbSensor",
    "RobotConfig",
    "ScenarioConfig",
    "ScoringConfig",
    "SemanticSensor",
    "SensorConfig",
    "SimulatorConfig",
    "TaskConfig",
    "VisibilityConfig",
]
