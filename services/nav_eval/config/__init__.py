"""Configuration: what the YAML files say, merged, overridden, validated, and reduced to a digest."""

from nav_eval.config.loader import (
    compute_config_digest,
    compute_rules_digest,
    load_benchmark,
    load_competition,
    load_scenario,
    load_simulator,
    load_task,
    resolve,
    to_canonical_json,
)
from nav_eval.config.schema import BenchmarkConfig, CompetitionConfig, TaskConfig
from nav_eval.config_model import KnownNames

__all__ = [
    "BenchmarkConfig",
    "CompetitionConfig",
    "KnownNames",
    "TaskConfig",
    "compute_config_digest",
    "compute_rules_digest",
    "load_benchmark",
    "load_competition",
    "load_scenario",
    "load_simulator",
    "load_task",
    "resolve",
    "to_canonical_json",
]
