"""Writing YAML that people read: short lists on one line, and a comment where one is due.

`nav-eval config show` writes a resolved configuration. `nav-eval config new` writes a benchmark to fill in: keys that a
new benchmark needs are written out; all others stand as comments with their defaults and what they are for.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml
from pydantic_core import PydanticUndefined

from nav_eval.config.file_kinds import KINDS
from nav_eval.config.layers import KeyPath, format_key_path
from nav_eval.config.loader import ResolvedConfig, Search, compute_rules_digest, resolve
from nav_eval.config.resolver import ConfigSearchPath
from nav_eval.config.schema import (
    AgentServiceConfig,
    BenchmarkConfig,
    ConfigModel,
    DatasetConfig,
    EvaluationConfig,
    OutputConfig,
)
from nav_eval.config.schema.benchmark import DEFAULT_FORMATS
from nav_eval.config.yaml_reader import SCALARS, TAG
from nav_eval.config_model import read_field_docs
from nav_eval.errors import ConfigError

Comment = Callable[[KeyPath], str | None]
_COMMENT_COLUMN = 58
NEWLINE = "\n"


class _Dumper(yaml.SafeDumper):
    """Quotes texts that look like something else to PyYAML, and those that do so to our reader alone: `1E3`."""


for _name, _pattern in SCALARS:
    _Dumper.add_implicit_resolver(TAG + _name, _pattern, None)


def to_yaml(tree: dict[str, Any], *, comment: Comment | None = None) -> str:
    """The tree as YAML, with what `comment` says about a path behind its value."""
    return "".join(f"{line}\n" for line in _render_lines(tree, (), comment or (lambda _: None)))


def _render_lines(tree: dict[str, Any], path: KeyPath, comment: Comment) -> Iterator[str]:
    indent = "  " * len(path)
    for key, value in tree.items():
        here = (*path, key)
        name = f"{indent}{_render_flow(str(key))}:"
        if isinstance(value, dict) and value and not _is_short(value):
            yield name
            yield from _render_lines(value, here, comment)
        elif isinstance(value, list) and not _is_short(value):
            yield _add_comment(name, comment(here))
            yield from _render_items(value, here, comment)
        elif isinstance(value, str) and _is_block(value):
            yield f"{name} {'|' if value.endswith(NEWLINE) else '|-'}"
            yield from (f"{indent}  {line}" if line else "" for line in value.removesuffix(NEWLINE).split(NEWLINE))
        else:
            yield _add_comment(f"{name} {_render_flow(value)}", comment(here))


def _is_block(text: str) -> bool:
    """Whether a text of several lines can stand as it is: what YAML would fold, drop or count wrongly is quoted."""
    lines = text.removesuffix(NEWLINE).split(NEWLINE)
    plain = all(line.isprintable() for line in lines) and lines[0][:1] not in ("", " ") and lines[-1] != ""
    return len(lines) > 1 and plain


def _render_items(values: list[Any], path: KeyPath, comment: Comment) -> Iterator[str]:
    indent = "  " * len(path)
    for index, value in enumerate(values):
        if isinstance(value, dict) and value and not _is_short(value):
            # an entry's keys stand one level below the dash, which takes the place of the indentation
            first, *rest = _render_lines(value, (*path, index), comment)
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest
        else:
            yield _add_comment(f"{indent}- {_render_flow(value)}", comment((*path, index)))


def _is_short(value: dict[str, Any] | list[Any]) -> bool:
    """Whether a collection reads better on one line: no nesting, and not long."""
    entries = value.values() if isinstance(value, dict) else value
    flat = not any(isinstance(entry, dict | list) and entry for entry in entries)
    return flat and (isinstance(value, list) or len(value) <= 4) and len(_render_flow(value)) <= 72


def _render_flow(value: object) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=True, allow_unicode=True, width=10_000, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _add_comment(line: str, comment: str | None) -> str:
    return line if not comment else f"{line:<{_COMMENT_COLUMN}}  # {comment}"


def as_yaml(resolved: ResolvedConfig[ConfigModel]) -> str:
    """The whole configuration; behind each value that somebody set stands where."""
    head = [f"# {resolved.source}{format_template_mark(resolved)}", f"# digest: {resolved.digest}"]
    head += [f"# files: {' < '.join(resolved.files)}"] if len(resolved.files) > 1 else []
    data = resolved.config.model_dump(mode="json")
    tree = {resolved.kind.keys[0]: data["objects"] if resolved.kind.name == "objects" else data}
    return "\n".join(head) + "\n" + to_yaml(tree, comment=_make_origin_comment(resolved))


def as_json(resolved: ResolvedConfig[ConfigModel]) -> str:
    """The same with everything that is known about it."""
    report: dict[str, Any] = {
        "kind": resolved.kind.name,
        "source": resolved.source,
        "files": list(resolved.files),
        "digest": resolved.digest,
        "config": resolved.config.model_dump(mode="json"),
        "origins": {format_key_path(path): str(origin) for path, origin in resolved.layer.origins.items() if path},
        "notes": list(resolved.notes),
    }
    if isinstance(resolved.config, BenchmarkConfig):
        report |= {"rules_digest": compute_rules_digest(resolved.config), "template": resolved.config.is_template}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def format_template_mark(resolved: ResolvedConfig[ConfigModel]) -> str:
    is_template = isinstance(resolved.config, BenchmarkConfig) and resolved.config.is_template
    return " (template: dataset.data_path must be set by a child)" if is_template else ""


def _make_origin_comment(resolved: ResolvedConfig[ConfigModel]) -> Comment:
    def comment(path: KeyPath) -> str | None:
        origin = resolved.layer.origins.get(path[1:])
        return None if origin is None else str(origin)

    return comment


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
SUCCESS_DISTANCES = {
    "vln": 3.0,
    "lh_vln": 1.0,
    "objectnav": 0.1,
    "imagenav": 0.1,
    "pointnav": 0.2,
    "localization": 0.5,
    "sqa3d_qa": 0.5,
    "eqa": 1.0,
}


def render_new_benchmark(name: str, *, extends: str | None, task: str | None, search: Search | None = None) -> str:
    """The text of a benchmark that starts from another one, or from a task."""
    if not _NAME.match(name):
        raise ConfigError(f"{name!r} cannot be the name of a benchmark: use letters, digits, - and _.")
    if extends is not None and task is None:
        parent = resolve(extends, kind="benchmark", environ={}, search=search).config
        assert isinstance(parent, BenchmarkConfig)
        return _from_parent(name, extends, parent)
    if task is not None and extends is None:
        ConfigSearchPath.default(search).find(KINDS["task"], task)
        return _from_task(name, task)
    raise ConfigError("Give either --extends BENCHMARK or --task TASK.")


def _from_parent(name: str, extends: str, parent: BenchmarkConfig) -> str:
    head = [
        f"  extends: {extends}",
        *_render_head(name),
        "",
        "  # Only what differs from the parent, whose values stand here as comments.",
    ]
    given: Given = {"output": {"log_dir": f"logs/evaluations/{name}"}}
    if parent.is_template:
        given["dataset"] = {"data_path": None, "split": None}
    return _render_document(f"A benchmark based on {extends}", [*head, *_render_sections(given, parent)])


def _from_task(name: str, task: str) -> str:
    given: Given = {
        "dataset": {"type": task, "format": DEFAULT_FORMATS.get(task, "nav_eval"), "data_path": None, "split": "val"},
        "evaluation": {"max_steps": 500, "success_distance": SUCCESS_DISTANCES.get(task, 1.0)},
        "output": {"log_dir": f"logs/evaluations/{name}"},
    }
    head = [
        *_render_head(name),
        "",
        f"  task: {task}  # a name in configs/tasks, or a task in full",
        "  scenario_config: default  # a name in configs/scenarios, or a scenario in full",
        "  simulator: default  # a name in configs/simulator, or a simulator in full",
    ]
    return _render_document(f"A benchmark for the task {task}", [*head, *_render_sections(given)])


def _render_document(what: str, lines: list[str]) -> str:
    opening = [
        f"# {what}.",
        "# `nav-eval config validate FILE` checks it; `nav-eval config show FILE` shows what it means.",
        "benchmark:",
    ]
    return "\n".join([*opening, *lines]) + "\n"


def _render_head(name: str) -> list[str]:
    return [f"  name: {name}", "  # description: one line", '  version: "1.0"', "  tags: []"]


def _render_sections(given: Given, parent: BenchmarkConfig | None = None) -> Iterator[str]:
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
            yield _render_setting(key, value, _get_description(model, key), active=key in said)


def _render_setting(key: str, value: object, doc: str, *, active: bool) -> str:
    text = to_yaml({key: list(value) if isinstance(value, tuple) else value}).strip()
    note = "  # must be set" if active and value is None else f"  # {doc}" if doc else ""
    return f"    {text}{note}" if active else f"    # {text}{note}"


def _get_description(model: type[ConfigModel], key: str) -> str:
    return read_field_docs(model).get(key, "").split("\n", maxsplit=1)[0]
