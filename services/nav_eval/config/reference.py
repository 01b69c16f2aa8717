"""The configuration reference: every key of every kind of file, as a page of Markdown.

It is written from the same JSON Schema that the models give to editors, so it cannot say anything else than what is
checked. `nav-eval config reference` prints it; docs/reference/configuration.md is its output.
"""

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

from nav_eval.config.json_schema import JsonSchema
from nav_eval.config.kinds import KINDS, Kind

_HEAD = """\
# Configuration reference

Every key of every kind of file. Written by `nav-eval config reference` from the schema that checks the files.
[Configuration](../configuration.md) explains how files, parents and overrides come together.
"""
_LONGEST_DEFAULT = 40
_BOUNDS = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
_UNBOUNDED = 10**9  #: limits as large as this only keep numbers finite


def configuration_reference() -> str:
    """The whole page."""
    definitions: dict[str, JsonSchema] = {}
    sections = [_kind_section(kind, definitions) for kind in KINDS.values()]
    shared = [_model_section(name, definitions[name]) for name in sorted(definitions)]
    return "\n".join([_HEAD, *sections, "## Parts\n", *shared])


def _kind_section(kind: Kind, definitions: dict[str, JsonSchema]) -> str:
    schema = kind.model.model_json_schema()
    for name, definition in schema.pop("$defs", {}).items():
        if all(other.model.__name__ != name for other in KINDS.values()):
            definitions[name] = definition
    about = _sentence(inspect.getdoc(kind.model))
    place = f"Begins with `{kind.keys[0]}:`, lives in `configs/{kind.folder}/`."
    return f"## {kind.name.capitalize()}\n\n{about} {place}\n\n{_table(schema)}"


def _model_section(name: str, schema: JsonSchema) -> str:
    return f"### {name}\n\n{_sentence(schema.get('description'))}\n\n{_table(schema)}"


def _table(schema: JsonSchema) -> str:
    rows = "".join(f"| {' | '.join(row)} |\n" for row in _rows(schema))
    return f"| key | value | default | |\n|---|---|---|---|\n{rows}" if rows else ""


def _rows(schema: JsonSchema) -> Iterator[tuple[str, str, str, str]]:
    required = schema.get("required", ())
    for key, entry in schema.get("properties", {}).items():
        default = "*required*" if key in required else _default(entry)
        yield f"`{key}`", _type(entry), default, _cell(entry.get("description", ""))


def _type(entry: Mapping[str, Any]) -> str:
    """What may stand there, in few words."""
    if "$ref" in entry:
        return _link(entry["$ref"])
    for key in ("anyOf", "oneOf"):
        if key in entry:
            return " or ".join(dict.fromkeys(_type(option) for option in entry[key]))
    if "const" in entry:
        return f"`{entry['const']}`"
    if "enum" in entry:
        return ", ".join(f"`{value}`" for value in entry["enum"])
    return _plain_type(entry)


def _plain_type(entry: Mapping[str, Any]) -> str:
    kind = entry.get("type")
    if kind == "array":
        return _array(entry)
    if kind == "object":
        values = entry.get("additionalProperties") or next(iter(entry.get("patternProperties", {}).values()), None)
        return f"mapping to {_type(values)}" if isinstance(values, Mapping) else "mapping"
    names = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "true or false",
        "null": "null",
    }
    return names.get(str(kind), "anything") + _bounds(entry)


def _array(entry: Mapping[str, Any]) -> str:
    parts = entry.get("prefixItems")
    if parts:
        return f"[{', '.join(_type(part) for part in parts)}]"
    items = entry.get("items")
    return f"list of {_type(items)}" if isinstance(items, Mapping) else "list"


def _bounds(entry: Mapping[str, Any]) -> str:
    limits = [
        f"{sign} {entry[key]:g}" for key, sign in _BOUNDS.items() if key in entry and abs(entry[key]) < _UNBOUNDED
    ]
    return f" {', '.join(limits)}" if limits else ""


def _link(reference: str) -> str:
    name = reference.rsplit("/", 1)[-1]
    own = next((kind.name for kind in KINDS.values() if kind.model.__name__ == name), None)
    return f"[{own}](#{own})" if own else f"[{name}](#{name.lower()})"


def _default(entry: Mapping[str, Any]) -> str:
    value = entry.get("default")
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return f"`{_cell(text)}`" if len(text) <= _LONGEST_DEFAULT else "its defaults"


def _sentence(text: str | None) -> str:
    return _cell(text or "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
