"""The OpenAPI document: what FastAPI makes of the routes, with tags explained and an example for every body.

`python -m nav_eval_gateway.openapi docs/openapi.json` writes it down, for readers and for generators of clients. It
refuses when a client that works today would not work tomorrow; `--allow-breaking` is for a new version of the API.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI

JSON = "application/json"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
TAGS = {
    "competitions": "What one can take part in. Public.",
    "leaderboards": "The standing of a phase, how it came to be, and two submissions side by side.",
    "users": "Registering, logging in, and who one is.",
    "tokens": "What scripts and the SDK log in with.",
    "teams": "Founding, inviting, joining, leaving, and what is left of the quota.",
    "submissions": "Creating one, following it, cancelling and repeating it.",
    "uploads": "Images by tus 1.0: a cut upload goes on where it broke off.",
    "events": "What happens, as it happens (server-sent events).",
    "evidence": "What a submission left behind: episodes, logs, replays, files.",
    "webhooks": "Word of what happens, sent to you and signed.",
    "exports": "Competitions to take away.",
    "organising": "The organiser's verbs. Each says why, and each is a line of the audit log.",
    "health": "For those who watch over the gateway.",
}
Schema = Mapping[str, Any]


def install(app: FastAPI) -> None:
    """Let `app` serve the finished document."""
    usual = app.openapi

    def make_finished() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = usual()
            document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
            _add_examples(document)
        return app.openapi_schema or usual()

    app.openapi = make_finished  # type: ignore[method-assign]


def list_operations(document: Schema) -> Iterator[tuple[str, dict[str, Any]]]:
    """`GET /api/v1/me` and what the document says of it."""
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield f"{method.upper()} {path}", methods[method]


def _add_examples(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for _, operation in list_operations(document):
        bodies = [
            operation.get("requestBody", {}),
            *(a for code, a in operation["responses"].items() if code[0] == "2"),
        ]
        for body in bodies:
            media = body.get("content", {}).get(JSON)
            if media and media.get("schema") and "example" not in media:
                media["example"] = make_example(media["schema"], schemas)


_BY_FORMAT = {
    "uuid": "0b5d7c1e-8f8c-4b4f-9a53-0e6b5f2e9f11",
    "date-time": "2026-09-01T12:00:00Z",
    "password": "a long pass phrase",
    "binary": "",
}


def make_example(schema: Schema, schemas: Mapping[str, Schema]) -> Any:  # noqa: ANN401
    """Something of this shape: the example that its author gave, or one made of its parts."""
    schema = _resolve(schema, schemas)
    for known in ("const", "default"):
        if schema.get(known) is not None:
            return schema[known]
    if given := schema.get("examples") or schema.get("enum"):
        return _add_nulls(given[0], schema, schemas)
    if choices := _list_choices(schema):
        return make_example(choices[0], schemas)
    make = _BY_TYPE.get(schema.get("type", ""))
    return make(schema, schemas) if make is not None else None


def _resolve(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _list_choices(schema: Schema) -> Sequence[Schema]:
    found: Sequence[Schema] = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or ()
    return found


def _add_nulls(value: Any, schema: Schema, schemas: Mapping[str, Schema]) -> Any:  # noqa: ANN401
    """FastAPI drops nulls from examples, where they are as good as any other value."""
    schema = _resolve(schema, schemas)
    if isinstance(value, list):
        return [_add_nulls(item, schema.get("items", {}), schemas) for item in value]
    if not isinstance(value, dict):
        return value
    parts = schema.get("properties") or {}
    nulls = {name: None for name in schema.get("required", ()) if name not in value and _is_nullable(parts[name])}
    return {**{name: _add_nulls(part, parts.get(name, {}), schemas) for name, part in value.items()}, **nulls}


def _is_nullable(schema: Schema) -> bool:
    return any(choice.get("type") == "null" for choice in _list_choices(schema))


def _make_object(schema: Schema, schemas: Mapping[str, Schema]) -> dict[str, Any]:
    if "properties" not in schema:
        value = schema.get("additionalProperties")
        return {"tar": make_example(value, schemas)} if isinstance(value, dict) else {}
    return {name: make_example(part, schemas) for name, part in schema["properties"].items()}


def _make_array(schema: Schema, schemas: Mapping[str, Schema]) -> list[Any]:
    if "prefixItems" in schema:
        return [make_example(part, schemas) for part in schema["prefixItems"]]
    return [make_example(schema["items"], schemas)] if "items" in schema else []


_BY_TYPE: Mapping[str, Callable[[Schema, Mapping[str, Schema]], Any]] = {
    "object": _make_object,
    "array": _make_array,
    "string": lambda schema, _: _BY_FORMAT.get(schema.get("format", ""), "text"),
    "number": lambda schema, _: float(schema.get("minimum", 0.5)),
    "integer": lambda schema, _: int(schema.get("minimum", 1)),
    "boolean": lambda _schema, _schemas: True,
}


def find_breaking_changes(before: Schema, after: Schema) -> list[str]:
    """What a client of `before` cannot do any more, or would be surprised by."""
    old, new = dict(list_operations(before)), dict(list_operations(after))
    found = [f"{name}: gone" for name in old.keys() - new.keys()]
    for name in old.keys() & new.keys():
        found += [f"{name}: {change}" for change in _find_operation_changes(old[name], new[name], before, after)]
    return sorted(found)


def _find_operation_changes(old: Schema, new: Schema, before: Schema, after: Schema) -> Iterator[str]:
    known = {_get_key(parameter) for parameter in old.get("parameters", ())}
    for parameter in new.get("parameters", ()):
        if parameter.get("required") and _get_key(parameter) not in known:
            yield f"needs the {parameter['in']} parameter {parameter['name']!r} now"
    for parameter in known - {_get_key(parameter) for parameter in new.get("parameters", ())}:
        yield f"takes the {parameter[0]} parameter {parameter[1]!r} no more"
    yield from _find_request_changes(
        _find_properties(old.get("requestBody"), before), _find_properties(new.get("requestBody"), after)
    )
    for code in (code for code in old["responses"] if code.startswith("2")):
        if code not in new["responses"]:
            yield f"answers {code} no more"
        else:
            yield from _find_answer_changes(
                _find_properties(old["responses"][code], before), _find_properties(new["responses"][code], after)
            )


def _get_key(parameter: Schema) -> tuple[str, str]:
    return parameter["in"], parameter["name"]


def _find_properties(body: Schema | None, document: Schema) -> Schema:
    """The properties of a JSON object, or of the objects of a list."""
    schema = (body or {}).get("content", {}).get(JSON, {}).get("schema", {})
    schema = schema.get("items", schema)
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Schema = document["components"]["schemas"].get(name, schema)
    return found


def _find_request_changes(old: Schema, new: Schema) -> Iterator[str]:
    for name in set(new.get("required", ())) - set(old.get("required", ())):
        yield f"needs {name!r} in the body now"
    for name in old.get("properties", {}).keys() - new.get("properties", {}).keys():
        yield f"takes {name!r} in the body no more"


def _find_answer_changes(old: Schema, new: Schema) -> Iterator[str]:
    for name, part in old.get("properties", {}).items():
        if name not in new.get("properties", {}):
            yield f"{name!r} is missing in the answer"
        elif part.get("type") != new["properties"][name].get("type"):
            yield f"{name!r} has another type in the answer"


def format_document(document: Schema) -> str:
    """The document as it is kept; the version of the program changes without the API."""
    kept = {**document, "info": {**document["info"], "version": "1"}}
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"


def make_document() -> dict[str, Any]:
    """The document of this program; nothing is opened or started."""
    from nav_eval_gateway.app import create_app
    from nav_eval_gateway.settings import GatewaySettings
    from nav_eval_store.settings import StoreSettings
    from nav_eval_store.work.broker import Broker

    store = StoreSettings(database="sqlite:///unused.db", blobs="unused")
    settings = GatewaySettings(store=store, broker=Broker("redis://unused"), secret_key="unused")  # noqa: S106
    return create_app(settings).openapi()


def main(arguments: list[str]) -> int:
    """Write the document down, unless that would break clients."""
    file = Path(next(word for word in arguments if not word.startswith("-")))
    broken = find_breaking_changes(json.loads(file.read_text()), make_document()) if file.exists() else []
    if broken and "--allow-breaking" not in arguments:
        print("Clients that work today would not work any more:", *broken, sep="\n  ", file=sys.stderr)
        return 1
    file.write_text(format_document(make_document()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
