"""JSON Schema of the configuration files, for editors that complete and check YAML.

A file may say less than the model needs, because parents say the rest; and more, because names and
shorthands are allowed. So the models' own schema is loosened in the places where the loader is.
"""

from typing import Any

from nav_eval.config.kinds import KINDS, Kind
from nav_eval.config.schema import ActionConfig, ConfigModel, MetricConfig
from nav_eval.config.schema.sensors import SENSOR_CLASSES

JsonSchema = dict[str, Any]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"

#: Entries of lists are never merged, so they must be complete.
_COMPLETE = frozenset({"ActionConfig", "MetricConfig", "PhaseConfig", "BaselineConfig", "CameraConfig", "LightConfig"})


def file_schema(kind: Kind) -> JsonSchema:
    """What a file of this kind may hold."""
    schema = kind.model.model_json_schema()
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
    return {"$schema": _DIALECT, "title": f"nav-eval {kind.name}", **root, "$defs": definitions}


def _loosen(name: str, definition: JsonSchema) -> None:
    model = _models().get(name)
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
                properties[key] = _or_named(properties[key])
    if "sensors" in properties:
        properties["sensors"] = _sensors(properties["sensors"])
    if model in (ActionConfig, MetricConfig):
        whole = dict(definition)
        definition.clear()
        definition["anyOf"] = [{"type": "string"}, whole]


def _or_named(schema: JsonSchema) -> JsonSchema:
    """A part in full, or its name; for a list, so for each entry."""
    if schema.get("type") == "array":
        return schema | {"items": {"anyOf": [{"type": "string"}, schema["items"]]}}
    return {"anyOf": [{"type": "string"}, schema]}


def _sensors(schema: JsonSchema) -> JsonSchema:
    any_kind = [{"$ref": f"#/$defs/{model.__name__}"} for model in SENSOR_CLASSES.values()]
    entry = {"anyOf": [*any_kind, {"type": ["boolean", "null"]}]}
    by_name = {"type": "object", "additionalProperties": entry, "description": schema.get("description", "")}
    return {"anyOf": [by_name, {"type": "array", "items": {"type": "string"}}]}


def _models() -> dict[str, type[ConfigModel]]:
    found: dict[str, type[ConfigModel]] = {}
    waiting: list[type[ConfigModel]] = [ConfigModel]
    while waiting:
        model = waiting.pop()
        found[model.__name__] = model
        waiting += model.__subclasses__()
    return found
