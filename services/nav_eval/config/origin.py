"""Where a value came from, so that every message and `config show` can say it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KeyPath = tuple[str | int, ...]
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """A place that a person can go to."""

    source: str  #: a file, `environment variable X`, or `override 'x=y'`
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Layer:
    """A part of a configuration, and where each of its values came from."""

    tree: Tree
    origins: dict[KeyPath, Origin]

    def origin(self, path: KeyPath) -> Origin | None:
        """Where the value at `path` came from, or something in it, or the nearest thing around it."""
        inside = (origin for place, origin in self.origins.items() if path and place[: len(path)] == path)
        if (origin := self.origins.get(path) or next(inside, None)) is not None or not path:
            return origin
        return self.origin(path[:-1])


def dotted(path: KeyPath) -> str:
    """`scenario_config.robots[0].height`"""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def shown(path: Path) -> str:
    """A path as a reader would type it from here."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)
    return str(path) if relative.startswith("..") else relative


def in_words(value: object, *, limit: int = 60) -> str:
    """A value as YAML would write it, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"
