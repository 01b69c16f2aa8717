"""Reading YAML strictly, because configuration files come from people and may come from strangers.

PyYAML keeps the last of two equal keys without a word, reads `010` as 8 and `1e-3` as a text, and
expands aliases without bound. Here a duplicate key is refused with both lines, numbers are what they
look like, and size, depth and expansion are limited. Every value remembers its line.
"""

import math
import re
from pathlib import Path
from typing import Any

import yaml

from nav_eval.config.layers import ConfigLayer, KeyPath, Origin, format_key_path, format_path
from nav_eval.errors import ConfigError

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_VALUES = 50_000  #: after expanding aliases

TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z|[-+]?[0-9]+[eE][-+]?[0-9]+\Z")
_NOT_A_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_BOOL = re.compile(r"(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)\Z")
_NULL = re.compile(r"(~|null|Null|NULL|)\Z")
_TRUE = frozenset({"yes", "true", "on"})
SCALARS = (
    ("null", _NULL),
    ("bool", _BOOL),
    ("int", _INT),
    ("float", _FLOAT),
    ("float", _NOT_A_NUMBER),
)
"""Type, and what is read as one where no quotes stand around it."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """libyaml's parser where there is one, with the scalars of YAML 1.2 and 1.1's words for true and false."""

    yaml_implicit_resolvers: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _name, _pattern in SCALARS:
    _Loader.add_implicit_resolver(TAG + _name, _pattern, None)


def read_yaml(path: Path) -> ConfigLayer:
    """The mapping in the file at `path`."""
    return parse_mapping(read_text(path), source=format_path(path))


def read_text(path: Path) -> str:
    """The text of a file that may not exist, may not be a file, and may not be text."""
    name = format_path(path)
    if path.is_dir():
        raise ConfigError(f"{name} is a folder; give a YAML file in it.")
    if not path.exists():
        raise ConfigError(f"{name} does not exist.")
    if not path.is_file():
        raise ConfigError(f"{name} is not a regular file.")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{name} is larger than {MAX_BYTES:,} bytes; that is no configuration.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{name}, line {line}: not UTF-8 text (byte 0x{data[error.start]:02x}); save the file as UTF-8."
        ) from error


def parse_mapping(text: str, *, source: str, interpolation: bool = False) -> ConfigLayer:
    """The mapping in a YAML text; `interpolation` lets Hydra's `${…}` pass, as text."""
    root = _parse_nodes(text, source=source)
    if root is None:
        raise ConfigError(f"{source} is empty; start with `benchmark:`, `task:` or another kind of configuration.")
    builder = _Builder(source, interpolation=interpolation)
    value = builder.build(root, ())
    if not isinstance(value, dict):
        raise ConfigError(
            f"{source} holds {_describe_type(value)}, not a mapping; start with a line such as `benchmark:`."
        )
    return ConfigLayer(value, builder.origins)


def parse_value(text: str, *, source: str) -> Any:  # noqa: ANN401  any YAML value is one
    """The one value in a YAML text: what stands behind `=` in an override."""
    root = _parse_nodes(text, source=source)
    return None if root is None else _Builder(source).build(root, ())


def _parse_nodes(text: str, *, source: str) -> yaml.Node | None:
    try:
        _check_depth(text, source)
        node: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(_describe_syntax_error(error, text, source)) from error
    return node


def _check_depth(text: str, source: str) -> None:
    """Refuse deep nesting before anything recursive sees it; the parser itself is not recursive."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            line = event.start_mark.line + 1
            raise ConfigError(f"{source}, line {line}: nested more than {MAX_DEPTH} levels deep.")


def _describe_syntax_error(error: yaml.YAMLError, text: str, source: str) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        reason = " ".join(str(error).split())
        return f"{source} is not valid YAML: {reason}."
    number = error.problem_mark.line + 1
    lines = text.splitlines()
    line = lines[number - 1] if number <= len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return f"{source}, line {number}: indented with a tab; YAML wants spaces."
    context = f"{error.context}, " if error.context else ""
    return f"{source}, line {number}: not valid YAML: {context}{error.problem}."


class _Builder:
    """Turns YAML nodes into plain values, and notes where each one stood."""

    def __init__(self, source: str, *, interpolation: bool = False) -> None:
        self.origins: dict[KeyPath, Origin] = {}
        self._source = source
        self._interpolation = interpolation
        self._count = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:  # noqa: ANN401
        self._count += 1
        if self._count > MAX_VALUES:
            raise self._refusal(node, f"more than {MAX_VALUES:,} values once its aliases are expanded")
        if len(path) > MAX_DEPTH:
            raise self._refusal(node, f"nested more than {MAX_DEPTH} levels deep")
        self.origins.setdefault(path, self._origin(node))
        if isinstance(node, yaml.MappingNode) and node.tag == TAG + "map":
            return self._build_mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == TAG + "seq":
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._build_scalar(node, path)
        raise self._refusal(node, f"the tag {node.tag!r} is not allowed")

    def _build_mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._build_key(key_node, path)
            here = (*path, key)
            if key in result:
                first = self.origins[here].line
                raise self._refusal(key_node, f"the key {format_key_path(here)} is given twice, first in line {first}")
            self.origins[here] = self._origin(key_node)
            result[key] = self.build(value_node, here)
        return result

    def _build_key(self, node: yaml.Node, path: KeyPath) -> str:
        if isinstance(node, yaml.ScalarNode) and node.value == "<<" and not node.style:
            raise self._refusal(node, "merge keys (<<) are not supported; use `extends`")
        if not isinstance(node, yaml.ScalarNode):
            raise self._refusal(node, "a key must be a word, not a list or a mapping")
        if node.tag == TAG + "null":
            raise self._refusal(node, f"an empty key{' in ' + format_key_path(path) if path else ''}")
        return str(node.value)

    def _build_scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:  # noqa: ANN401
        text = str(node.value)
        match node.tag.removeprefix(TAG):
            case "str":
                return self._build_string(node, text, path)
            case "null":
                return None
            case "bool":
                return text.lower() in _TRUE
            case "int" if _INT.match(text) and len(text) <= 20:
                return int(text)
            case "float" | "int":
                return self._build_float(node, text, path)
        raise self._refusal(node, f"the tag {node.tag!r} is not allowed")

    def _build_string(self, node: yaml.Node, text: str, path: KeyPath) -> str:
        if "${" in text and not self._interpolation:
            raise self._refusal(
                node, f"{_format_name(path)} uses an interpolation (${{…}}), which is not supported; write the value"
            )
        return text

    def _build_float(self, node: yaml.Node, text: str, path: KeyPath) -> float:
        try:
            value = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            raise self._refusal(node, f"{_format_name(path)} is {text!r}, which is not a number") from None
        if not math.isfinite(value):
            raise self._refusal(node, f"{_format_name(path)} is {text}; a number must be finite")
        return value

    def _origin(self, node: yaml.Node) -> Origin:
        return Origin(self._source, node.start_mark.line + 1)

    def _refusal(self, node: yaml.Node, text: str) -> ConfigError:
        return ConfigError(f"{self._origin(node)}: {text}.")


def _format_name(path: KeyPath) -> str:
    return format_key_path(path) or "the value"


def _describe_type(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "nothing")
