"""What pydantic objects to, in sentences that name the place, the value and what is allowed."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from nav_eval.config.origin import KeyPath, Layer, dotted, in_words
from nav_eval.config.schema.base import did_you_mean

Context = Mapping[str, Any]
_NOWHERE = object()

_PHRASES: dict[str, Callable[[Context], str]] = {
    "int_type": lambda _: "must be a whole number",
    "int_from_float": lambda _: "must be a whole number",
    "float_type": lambda _: "must be a number",
    "bool_type": lambda _: "must be true or false",
    "string_type": lambda _: "must be a text",
    "greater_than": lambda ctx: f"must be greater than {ctx['gt']:g}",
    "greater_than_equal": lambda ctx: f"must be at least {ctx['ge']:g}",
    "less_than": lambda ctx: f"must be less than {ctx['lt']:g}",
    "less_than_equal": lambda ctx: f"must be at most {ctx['le']:g}",
    "finite_number": lambda _: "must be a finite number",
    "literal_error": lambda ctx: f"must be {_one_of(ctx['expected'])}",
    "tuple_type": lambda _: "must be a list",
    "list_type": lambda _: "must be a list",
    "too_short": lambda ctx: f"must have at least {ctx['min_length']} {_entries(ctx['min_length'])}",
    "too_long": lambda ctx: f"must have at most {ctx['max_length']} {_entries(ctx['max_length'])}",
    "dict_type": lambda _: "must be a mapping (indented `key: value` lines)",
    "model_type": lambda _: "must be a mapping (indented `key: value` lines)",
    "model_attributes_type": lambda _: "must be a mapping (indented `key: value` lines)",
    "string_too_short": lambda _: "must not be empty",
    "string_too_long": lambda ctx: f"must have at most {ctx['max_length']} characters",
    "string_pattern_mismatch": lambda ctx: f"has characters that are not allowed; it must match {ctx['pattern']}",
    "union_tag_invalid": lambda ctx: f"has {ctx['discriminator']} {ctx['tag']!r}; it must be {ctx['expected_tags']}",
    "union_tag_not_found": lambda ctx: f"needs a {ctx['discriminator']}",
    "timezone_aware": lambda _: "needs a time zone, e.g. 2026-09-01T00:00:00Z",
    "datetime_type": lambda _: "must be a date and time, e.g. 2026-09-01T00:00:00Z",
    "datetime_parsing": lambda _: "must be a date and time, e.g. 2026-09-01T00:00:00Z",
    "datetime_from_date_parsing": lambda _: "must be a date and time, e.g. 2026-09-01T00:00:00Z",
}


def described(error: ValidationError, layer: Layer, *, kind: str, source: str) -> str:
    """Every objection, each once: one sentence, or a list with a heading."""
    sentences: dict[KeyPath, list[str]] = {}
    for entry in error.errors(include_url=False):
        if _follows_from_another(entry):
            continue
        path = _key_path(entry, layer)
        phrase = _phrase(entry)
        if phrase not in sentences.setdefault(path, []):
            sentences[path].append(phrase)
    lines = [
        f"{layer.origin(path) or source}: {_subject(path, layer, kind, phrases[0])}{', or '.join(phrases)}"
        for path, phrases in sentences.items()
    ]
    finished = [line if line.endswith((".", "?")) else f"{line}." for line in lines]
    if len(finished) == 1:
        return finished[0]
    return f"{source} has {len(finished)} problems:\n" + "\n".join(f"  {line}" for line in finished)


def _follows_from_another(entry: ErrorDetails) -> bool:
    """A list counts as too short for pydantic when its entries are wrong, which is said already."""
    return entry["type"] == "too_short" and bool(len(entry["input"]) >= entry["ctx"]["min_length"])


def _phrase(entry: ErrorDetails) -> str:
    context = entry.get("ctx", {})
    if entry["type"] == "missing":
        return "is missing" if isinstance(entry["loc"][-1], str) else f"needs entry number {entry['loc'][-1] + 1}"
    if entry["type"] in _PHRASES:
        phrase = _PHRASES[entry["type"]](context)
        return phrase + _hint(entry)
    message: str = entry["msg"]
    return message


def _hint(entry: ErrorDetails) -> str:
    value = entry["input"]
    if entry["type"] == "string_type" and isinstance(value, int | float) and not isinstance(value, bool):
        return f'; put it in quotes: "{value}"'
    if entry["type"] == "literal_error" and isinstance(value, str):
        choices = entry["ctx"]["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        return f".{hint}" if (hint := did_you_mean(value, choices)) else ""
    return ""


def _key_path(entry: ErrorDetails, layer: Layer) -> KeyPath:
    """Pydantic's location without the union tags in it, which are no keys of the file."""
    path: list[str | int] = []
    node: object = layer.tree
    for part in entry["loc"]:
        if (child := _child(node, part)) is not _NOWHERE:
            path.append(part)
            node = child
    if entry["type"] == "missing" and isinstance(entry["loc"][-1], str):
        path.append(entry["loc"][-1])
    if entry["type"] == "unknown_key":
        path.append(entry["ctx"]["key"])
    return tuple(path)


def _subject(path: KeyPath, layer: Layer, kind: str, phrase: str) -> str:
    if not path:
        return f"the {kind} "
    if phrase.startswith("unknown key"):
        return f"{dotted(path)}: "
    node: object = layer.tree
    for part in path:
        node = _child(node, part)
    return f"{dotted(path)} " if node is _NOWHERE or isinstance(node, dict) else f"{dotted(path)} = {in_words(node)} "


def _child(node: object, part: str | int) -> object:
    if isinstance(node, dict):
        return node.get(part, _NOWHERE)
    if isinstance(node, list) and isinstance(part, int) and part < len(node):
        return node[part]
    return _NOWHERE


def _one_of(expected: str) -> str:
    return expected if " or " not in expected else f"one of {expected}"


def _entries(count: int) -> str:
    return "entry" if count == 1 else "entries"
