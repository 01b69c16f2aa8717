"""Every configuration model, one room per idea."""

from nav_eval.config.schema.agent_service import AgentServiceConfig
from nav_eval.config.schema.benchmark import (
    BenchmarkConfig,
    DatasetConfig,
    EvaluationConfig,
    OutputConfig,
    SimulatorConfig,
)
from nav_eval.config.schema.competition import CompetitionConfig, RankingConfig
from nav_eval.config.schema.generation import GenerateConfig
from nav_eval.config.schema.rig import RigConfig
from nav_eval.config.schema.scenario import (
    DRConfig,
    LightConfig,
    MeshObjCfg,
    ObjectConfig,
    PrimitiveCubeCfg,
    PrimitiveCylinderCfg,
    PrimitiveSphereCfg,
    RobotConfig,
    ScenarioConfig,
)
from nav_eval.config.schema.task import ActionConfig, MetricConfig, ScoringConfig, TaskConfig
from nav_eval.config_model import ConfigModel

__all__ = [
    "ActionConfig",
    "AgentServiceConfig",
    "BenchmarkConfig",
    "CompetitionConfig",
    "ConfigModel",
    "DRConfig",
    "DatasetConfig",
    "EvaluationConfig",
    "GenerateConfig",
    "LightConfig",
    "MeshObjCfg",
    "MetricConfig",
    "ObjectConfig",
    "OutputConfig",
    "PrimitiveCubeCfg",
    "PrimitiveCylinderCfg",
    "PrimitiveSphereCfg",
    "RankingConfig",
    "RigConfig",
    "RobotConfig",
    "ScenarioConfig",
    "ScoringConfig",
    "SimulatorConfig",
    "TaskConfig",
]
