"""`nav-eval config new`: a benchmark to fill in, with every key there is and what it is for.

Keys that a new benchmark needs are written out; all others stand as comments with their defaults.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import PydanticUndefined

from nav_eval.config.kinds import KINDS
from nav_eval.config.library import Library
from nav_eval.config.loader import Search, resolve
from nav_eval.config.schema import (
    AgentServiceConfig,
    BenchmarkConfig,
    ConfigModel,
    DatasetConfig,
    EvaluationConfig,
    OutputConfig,
)
from nav_eval.config.schema.dataset import DEFAULT_FORMATS
from nav_eval.config.writing import to_yaml
from nav_eval.errors import ConfigError

Given = dict[str, dict[str, Any]]

SECTIONS: Mapping[str, type[ConfigModel]] = {
    "dataset": DatasetConfig,
    "evaluation": EvaluationConfig,
    "agent_service": AgentServiceConfig,
    "output": OutputConfig,
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
_HIDDEN = frozenset({"stop_threshold", "generate"})

#: What a task usually calls a success, in metres.
SUCCESS_DISTANCES = {"vln": 3.0, "lh_vln": 1.0, "objectnav": 0.1, "imagenav": 0.1, "pointnav": 0.2, "localization": 0.5}


def new_benchmark(name: str, *, extends: str | None, task: str | None, search: Search | None = None) -> str:
    """The text of a benchmark that starts from another one, or from a task."""
    if not _NAME.match(name):
        raise ConfigError(f"{name!r} cannot be the name of a benchmark: use letters, digits, - and _.")
    if extends is not None and task is None:
        parent = resolve(extends, kind="benchmark", environ={}, search=search).config
        assert isinstance(parent, BenchmarkConfig)
        return _from_parent(name, extends, parent)
    if task is not None and extends is None:
        Library.default(search).find(KINDS["task"], task)
        return _from_task(name, task)
    raise ConfigError("Give either --extends BENCHMARK or --task TASK.")


def _from_parent(name: str, extends: str, parent: BenchmarkConfig) -> str:
    head = [
        f"  extends: {extends}",
        *_head(name),
        "",
        "  # Only what differs from the parent, whose values stand here as comments.",
    ]
    given: Given = {"output": {"log_dir": f"logs/evaluations/{name}"}}
    if parent.is_template:
        given["dataset"] = {"data_path": None, "split": None}
    return _document(f"A benchmark based on {extends}", [*head, *_sections(given, parent)])


def _from_task(name: str, task: str) -> str:
    given: Given = {
        "dataset": {"type": task, "format": DEFAULT_FORMATS.get(task, "nav_eval"), "data_path": None, "split": "val"},
        "evaluation": {"max_steps": 500, "success_distance": SUCCESS_DISTANCES.get(task, 1.0)},
        "output": {"log_dir": f"logs/evaluations/{name}"},
    }
    head = [
        *_head(name),
        "",
        f"  task: {task}  # a name in configs/tasks, or a task in full",
        "  scenario_config: default  # a name in configs/scenarios, or a scenario in full",
        "  simulator: default  # a name in configs/simulator, or a simulator in full",
    ]
    return _document(f"A benchmark for the task {task}", [*head, *_sections(given)])


def _document(what: str, lines: list[str]) -> str:
    opening = [
        f"# {what}.",
        "# `nav-eval config validate FILE` checks it; `nav-eval config show FILE` shows what it means.",
        "benchmark:",
    ]
    return "\n".join([*opening, *lines]) + "\n"


def _head(name: str) -> list[str]:
    return [f"  name: {name}", "  # description: one line", '  version: "1.0"', "  tags: []"]


def _sections(given: Given, parent: BenchmarkConfig | None = None) -> Iterator[str]:
    """Every key of every section: those that are given, and as comments those that have a value already."""
    for section, model in SECTIONS.items():
        said, inherited = given.get(section, {}), getattr(parent, section, None)
        yield ""
        yield f"  {section}:" if said else f"  # {section}:"
        for key, field in model.model_fields.items():
            if key in _HIDDEN:
                continue
            default = None if field.default is PydanticUndefined else field.default
            value = said[key] if key in said else getattr(inherited, key, default)
            yield _line(key, value, _doc(model, key), active=key in said)


def _line(key: str, value: object, doc: str, *, active: bool) -> str:
    text = to_yaml({key: list(value) if isinstance(value, tuple) else value}).strip()
    note = "  # must be set" if active and value is None else f"  # {doc}" if doc else ""
    return f"    {text}{note}" if active else f"    # {text}{note}"


def _doc(model: type[ConfigModel], key: str) -> str:
    return (model.model_fields[key].description or "").split("\n", maxsplit=1)[0]
