"""JSON Schema of the configuration files for editors, and the configuration reference for readers.

A file may say less than the model needs, because parents say the rest; and more, because names and
shorthands are allowed. So the models' own schema is loosened in the places where the loader is.

The reference has every key of every kind of file as a page of Markdown. It is written from the same schema, so it
cannot say anything else than what is checked. `nav-eval config reference` prints it;
docs/reference/configuration.md is its output.
"""

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

from nav_eval.config.file_kinds import KINDS, ConfigKind
from nav_eval.config.schema import ActionConfig, ConfigModel, MetricConfig
from nav_eval.config.schema.competition import VisibilityConfig
from nav_eval.config_model import read_field_docs
from nav_eval.sensors import SENSORS, list_kinds

JsonSchema = dict[str, Any]
_SCHEMA_URL = "https://json-schema.org/draft/2020-12/schema"

#: Entries of lists are never merged, so they must be complete.
_COMPLETE = frozenset({"ActionConfig", "MetricConfig", "PhaseConfig", "BaselineConfig", "CameraConfig", "LightConfig"})


def make_file_schema(kind: ConfigKind) -> JsonSchema:
    """What a file of this kind may hold."""
    schema = _make_model_schema(kind.model)
    definitions: JsonSchema = schema.pop("$defs", {})
    definitions[kind.model.__name__] = schema
    for name, definition in definitions.items():
        _loosen(name, definition)
    body: JsonSchema = {"$ref": f"#/$defs/{kind.model.__name__}"}
    if kind.name == "objects":
        body = schema["properties"]["objects"]
    root: JsonSchema = {"type": "object", "properties": dict.fromkeys(kind.keys, body), "additionalProperties": False}
    if kind.name == "benchmark":  # the sections may also stand beside `benchmark:`
        root["properties"] |= schema["properties"]
    return {"$schema": _SCHEMA_URL, "title": f"nav-eval {kind.name}", **root, "$defs": definitions}


def _make_model_schema(model: type[ConfigModel]) -> JsonSchema:
    """Of the model alone, with the texts under its fields."""
    schema, models = model.model_json_schema(), _list_models()
    for name, definition in {**schema.get("$defs", {}), model.__name__: schema}.items():
        for key, text in read_field_docs(models[name]).items() if name in models else ():
            definition["properties"][key]["description"] = text
    return schema


def _loosen(name: str, definition: JsonSchema) -> None:
    model = _list_models().get(name)
    if model is None:
        return
    properties = definition.setdefault("properties", {})
    for theirs, ours in model.aliases.items():
        properties[theirs] = properties[ours]
    if name not in _COMPLETE and not name.endswith("ObjCfg") and not name.startswith("Primitive"):
        definition.pop("required", None)
    for kind in KINDS.values():
        if kind.model is model and kind.name != "objects":
            properties["extends"] = {
                "type": "string",
                "description": "Name or path of the configuration to start from.",
            }
            for key in kind.references:
                properties[key] = _allow_name(properties[key])
    if "sensors" in properties:
        properties["sensors"] = _loosen_sensors(properties["sensors"])
    if model in (ActionConfig, MetricConfig, VisibilityConfig):
        whole = dict(definition)
        definition.clear()
        definition["anyOf"] = [{"type": "string"}, whole]


def _allow_name(schema: JsonSchema) -> JsonSchema:
    """A part in full, or its name; for a list, so for each entry."""
    if schema.get("type") == "array":
        return schema | {"items": {"anyOf": [{"type": "string"}, schema["items"]]}}
    return {"anyOf": [{"type": "string"}, schema]}


def _loosen_sensors(schema: JsonSchema) -> JsonSchema:
    any_kind = [{"$ref": f"#/$defs/{SENSORS.get(kind).__name__}"} for kind in list_kinds()]
    entry = {"anyOf": [*any_kind, {"type": ["boolean", "null"]}]}
    by_name = {"type": "object", "additionalProperties": entry, "description": schema.get("description", "")}
    return {"anyOf": [by_name, {"type": "array", "items": {"type": "string"}}]}


def _list_models() -> dict[str, type[ConfigModel]]:
    found: dict[str, type[ConfigModel]] = {}
    waiting: list[type[ConfigModel]] = [ConfigModel]
    while waiting:
        model = waiting.pop()
        found[model.__name__] = model
        waiting += model.__subclasses__()
    return found


_HEAD = """\
# Configuration reference

Every key of every kind of file. Written by `nav-eval config reference` from the schema that checks the files.
[Configuration](../configuration.md) explains how files, parents and overrides come together.
"""
_LONGEST_DEFAULT = 40
_BOUNDS = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
_UNBOUNDED = 10**9  #: limits as large as this only keep numbers finite


def render_reference() -> str:
    """The whole page."""
    definitions: dict[str, JsonSchema] = {}
    sections = [_render_kind(kind, definitions) for kind in KINDS.values()]
    shared = [_render_model(name, definitions[name]) for name in sorted(definitions)]
    return "\n".join([_HEAD, *sections, "## Parts\n", *shared])


def _render_kind(kind: ConfigKind, definitions: dict[str, JsonSchema]) -> str:
    schema = _make_model_schema(kind.model)
    for name, definition in schema.pop("$defs", {}).items():
        if all(other.model.__name__ != name for other in KINDS.values()):
            definitions[name] = definition
    about = _format_cell(inspect.getdoc(kind.model) or "")
    place = f"Begins with `{kind.keys[0]}:`, lives in `configs/{kind.folder}/`."
    return f"## {kind.name.capitalize()}\n\n{about} {place}\n\n{_render_table(schema)}"


def _render_model(name: str, schema: JsonSchema) -> str:
    return f"### {name}\n\n{_format_cell(schema.get('description', ''))}\n\n{_render_table(schema)}"


def _render_table(schema: JsonSchema) -> str:
    rows = "".join(f"| {' | '.join(row)} |\n" for row in _list_rows(schema))
    return f"| key | value | default | |\n|---|---|---|---|\n{rows}" if rows else ""


def _list_rows(schema: JsonSchema) -> Iterator[tuple[str, str, str, str]]:
    required = schema.get("required", ())
    for key, entry in schema.get("properties", {}).items():
        default = "*required*" if key in required else _format_default(entry)
        yield f"`{key}`", _describe_type(entry), default, _format_cell(entry.get("description", ""))


def _describe_type(entry: Mapping[str, Any]) -> str:
    """What may stand there, in few words."""
    if "$ref" in entry:
        return _format_link(entry["$ref"])
    for key in ("anyOf", "oneOf"):
        if key in entry:
            return " or ".join(dict.fromkeys(_describe_type(option) for option in entry[key]))
    if "const" in entry:
        return f"`{entry['const']}`"
    if "enum" in entry:
        return ", ".join(f"`{value}`" for value in entry["enum"])
    return _describe_plain_type(entry)


def _describe_plain_type(entry: Mapping[str, Any]) -> str:
    kind = entry.get("type")
    if kind == "array":
        return _describe_array(entry)
    if kind == "object":
        values = entry.get("additionalProperties") or next(iter(entry.get("patternProperties", {}).values()), None)
        return f"mapping to {_describe_type(values)}" if isinstance(values, Mapping) else "mapping"
    names = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "true or false",
        "null": "null",
    }
    return names.get(str(kind), "anything") + _describe_bounds(entry)


def _describe_array(entry: Mapping[str, Any]) -> str:
    parts = entry.get("prefixItems")
    if parts:
        return f"[{', '.join(_describe_type(part) for part in parts)}]"
    items = entry.get("items")
    return f"list of {_describe_type(items)}" if isinstance(items, Mapping) else "list"


def _describe_bounds(entry: Mapping[str, Any]) -> str:
    limits = [
        f"{sign} {entry[key]:g}" for key, sign in _BOUNDS.items() if key in entry and abs(entry[key]) < _UNBOUNDED
    ]
    return f" {', '.join(limits)}" if limits else ""


def _format_link(reference: str) -> str:
    name = reference.rsplit("/", 1)[-1]
    own = next((kind.name for kind in KINDS.values() if kind.model.__name__ == name), None)
    return f"[{own}](#{own})" if own else f"[{name}](#{name.lower()})"


def _format_default(entry: Mapping[str, Any]) -> str:
    value = entry.get("default")
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return f"`{_format_cell(text)}`" if len(text) <= _LONGEST_DEFAULT else "its defaults"


def _format_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
