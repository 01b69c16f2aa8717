"""What the environment and the command line say on top of the files.

`NAV_EVAL__EVALUATION__MAX_STEPS=100` and `evaluation.max_steps=100` mean the same; the command line
wins. Values are YAML, so lists and nulls can be written too: `task.metrics=[success, spl]`.
"""

from collections.abc import Iterator, Mapping, Sequence

from nav_eval.config.kinds import BENCHMARK_SECTIONS, KINDS, Kind
from nav_eval.config.layers import nested
from nav_eval.config.origin import KeyPath, Layer, Origin
from nav_eval.config.reading import parse_value
from nav_eval.errors import ConfigError

PREFIX = "NAV_EVAL__"


def from_environment(environ: Mapping[str, str], kind: Kind) -> Iterator[Layer]:
    """One layer per variable that speaks about a configuration of this kind, in a fixed order."""
    for name in sorted(environ):
        if not name.startswith(PREFIX):
            continue
        path = _path(name.removeprefix(PREFIX).lower().split("__"), source := f"environment variable {name}")
        if _concerns(kind, path):
            yield _layer(_relative(path, kind), environ[name], source)


def from_command_line(overrides: Sequence[str], kind: Kind) -> Iterator[Layer]:
    """One layer per `key=value`, in the order given."""
    for text in overrides:
        key, equals, value = text.partition("=")
        source = f"override '{text}'"
        if not equals:
            raise ConfigError(f"{source} has no '='; write key=value, e.g. evaluation.max_steps=100.")
        yield _layer(_relative(_path(key.strip().split("."), source), kind), value, source)


def _layer(path: KeyPath, value: str, source: str) -> Layer:
    if not path:
        raise ConfigError(f"{source} names no key; write e.g. evaluation.max_steps=100.")
    return nested(path, parse_value(value, source=source), Origin(source))


def _path(parts: list[str], source: str) -> KeyPath:
    if not all(parts):
        raise ConfigError(f"{source} has an empty part in its key; write e.g. evaluation.max_steps=100.")
    return tuple(int(part) if part.isdigit() and len(part) < 10 else part for part in parts)


def _concerns(kind: Kind, path: KeyPath) -> bool:
    """Variables are addressed from the top of a benchmark; other kinds listen to their own key."""
    if path[0] in kind.keys:
        return True
    others = {key for other in KINDS.values() for key in other.keys} - BENCHMARK_SECTIONS
    return kind.name == "benchmark" and path[0] not in others


def _relative(path: KeyPath, kind: Kind) -> KeyPath:
    return path[1:] if path and path[0] in kind.keys else path
