"""One number that says whether two configurations mean the same.

The canonical form is the validated model, so spelling, key order, comments, files and inheritance
have already vanished; what is left is written as JSON with sorted keys. Floats are written by
Python's shortest exact form, which is the same everywhere.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from nav_eval.config.schema import BenchmarkConfig, ConfigModel

#: What a benchmark says that no score depends on.
NOT_RULES: Mapping[str, Any] = {
    "name": True,
    "description": True,
    "version": True,
    "tags": True,
    "agent_service": True,
    "output": True,
    "evaluation": {"workers": True},
    "simulator": {"rendering": {"gpu": True, "cache_mb": True, "culling": True}},
}


def canonical_json(config: ConfigModel, *, exclude: Mapping[str, Any] | None = None) -> str:
    """The configuration as one line of JSON, the same for every way of writing it."""
    data = config.model_dump(mode="json", exclude=dict(exclude or {}))
    return json.dumps(_stable(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def config_digest(config: ConfigModel) -> str:
    """`sha256:…` over everything that the configuration says."""
    return _digest(canonical_json(config))


def rules_digest(benchmark: BenchmarkConfig) -> str:
    """`sha256:…` over what can change a score: equal for runs that may be compared."""
    return _digest(canonical_json(benchmark, exclude=NOT_RULES))


def _digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _stable(value: Any) -> Any:  # noqa: ANN401
    """The value with one zero: −0.0 and 0.0 are equal and must be written alike."""
    if isinstance(value, dict):
        return {key: _stable(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_stable(entry) for entry in value]
    return value + 0.0 if isinstance(value, float) else value
