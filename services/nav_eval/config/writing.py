"""Writing YAML that people read: short lists on one line, and a comment where one is due."""

from collections.abc import Callable, Iterator
from typing import Any

import yaml

from nav_eval.config.origin import KeyPath

Comment = Callable[[KeyPath], str | None]
_COMMENT_COLUMN = 58


def to_yaml(tree: dict[str, Any], *, comment: Comment | None = None) -> str:
    """The tree as YAML, with what `comment` says about a path behind its value."""
    return "".join(f"{line}\n" for line in _lines(tree, (), comment or (lambda _: None)))


def _lines(tree: dict[str, Any], path: KeyPath, comment: Comment) -> Iterator[str]:
    indent = "  " * len(path)
    for key, value in tree.items():
        here = (*path, key)
        name = f"{indent}{_scalar(key)}:"
        if isinstance(value, dict) and value and not _is_short(value):
            yield name
            yield from _lines(value, here, comment)
        elif isinstance(value, list) and not _is_short(value):
            yield _commented(name, comment(here))
            yield from _items(value, here, comment)
        else:
            yield _commented(f"{name} {_flow(value)}", comment(here))


def _items(values: list[Any], path: KeyPath, comment: Comment) -> Iterator[str]:
    indent = "  " * len(path)
    for index, value in enumerate(values):
        if isinstance(value, dict) and value and not _is_short(value):
            # an entry's keys stand one level below the dash, which takes the place of the indentation
            first, *rest = _lines(value, (*path, index), comment)
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest
        else:
            yield _commented(f"{indent}- {_flow(value)}", comment((*path, index)))


def _is_short(value: dict[str, Any] | list[Any]) -> bool:
    """Whether a collection reads better on one line: no nesting, and not long."""
    entries = value.values() if isinstance(value, dict) else value
    flat = not any(isinstance(entry, dict | list) and entry for entry in entries)
    return flat and (isinstance(value, list) or len(value) <= 4) and len(_flow(value)) <= 72


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def _scalar(key: object) -> str:
    return _flow(str(key))


def _commented(line: str, comment: str | None) -> str:
    return line if not comment else f"{line:<{_COMMENT_COLUMN}}  # {comment}"
