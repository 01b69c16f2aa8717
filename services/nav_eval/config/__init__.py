"""Configuration: what the YAML files say, merged, overridden, validated, and reduced to a digest."""

from nav_eval.config.digest import canonical_json, config_digest, rules_digest
from nav_eval.config.loader import (
    Resolved,
    load_benchmark,
    load_competition,
    load_scenario,
    load_simulator,
    load_task,
    resolve,
)
from nav_eval.config.names import Names
from nav_eval.config.schema import (
    AgentServiceConfig,
    BenchmarkConfig,
    CompetitionConfig,
    DatasetConfig,
    DRConfig,
    EvaluationConfig,
    OutputConfig,
    RobotConfig,
    ScenarioConfig,
    SimulatorConfig,
    TaskConfig,
)

__all__ = [
    "AgentServiceConfig",
    "BenchmarkConfig",
    "CompetitionConfig",
    "DRConfig",
    "DatasetConfig",
    "EvaluationConfig",
    "Names",
    "OutputConfig",
    "Resolved",
    "RobotConfig",
    "ScenarioConfig",
    "SimulatorConfig",
    "TaskConfig",
    "canonical_json",
    "config_digest",
    "load_benchmark",
    "load_competition",
    "load_scenario",
    "load_simulator",
    "load_task",
    "resolve",
    "rules_digest",
]
