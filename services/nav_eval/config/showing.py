"""A resolved configuration on paper: YAML for people (and for loading again), JSON for programs."""

import json
from typing import Any

from nav_eval.config.digest import rules_digest
from nav_eval.config.loader import Resolved
from nav_eval.config.origin import KeyPath, dotted
from nav_eval.config.schema import BenchmarkConfig, ConfigModel
from nav_eval.config.writing import Comment, to_yaml


def as_yaml(resolved: Resolved[ConfigModel]) -> str:
    """The whole configuration; behind each value that somebody set stands where."""
    head = [f"# {resolved.source}{template_mark(resolved)}", f"# digest: {resolved.digest}"]
    head += [f"# files: {' < '.join(resolved.files)}"] if len(resolved.files) > 1 else []
    data = resolved.config.model_dump(mode="json")
    tree = {resolved.kind.keys[0]: data["objects"] if resolved.kind.name == "objects" else data}
    return "\n".join(head) + "\n" + to_yaml(tree, comment=_origin_comment(resolved))


def as_json(resolved: Resolved[ConfigModel]) -> str:
    """The same with everything that is known about it."""
    report: dict[str, Any] = {
        "kind": resolved.kind.name,
        "source": resolved.source,
        "files": list(resolved.files),
        "digest": resolved.digest,
        "config": resolved.config.model_dump(mode="json"),
        "origins": {dotted(path): str(origin) for path, origin in resolved.layer.origins.items() if path},
        "notes": list(resolved.notes),
    }
    if isinstance(resolved.config, BenchmarkConfig):
        report |= {"rules_digest": rules_digest(resolved.config), "template": resolved.config.is_template}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def template_mark(resolved: Resolved[ConfigModel]) -> str:
    is_template = isinstance(resolved.config, BenchmarkConfig) and resolved.config.is_template
    return " (template: dataset.data_path must be set by a child)" if is_template else ""


def _origin_comment(resolved: Resolved[ConfigModel]) -> Comment:
    def comment(path: KeyPath) -> str | None:
        origin = resolved.layer.origins.get(path[1:])
        return None if origin is None else str(origin)

    return comment
