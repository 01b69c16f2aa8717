"""One JSON value in, one typed record out, and a refusal that names file, record, field and value.

msgspec says where it failed only as a path into what it was given. Here that path is followed again,
slowly and only when something is wrong, to tell the reader which value it was.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from nav_eval.errors import DatasetError

T = TypeVar("T")

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_LOCATED = re.compile(r"(?P<problem>.*) - at `(?:key` in `)?\$(?P<path>.*)`", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]")
_NAMES = ("episode_id", "question_id", "id")
_LONGEST_VALUE = 80

Step = str | int
Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a dataset something stands, for messages."""

    file: Path
    record: str = ""  #: "episode '7'"; nothing when the file as a whole is meant

    def at(self, record: str) -> "Place":
        return Place(self.file, record)

    def episode(self, episode_id: object) -> "Place":
        return Place(self.file, f"episode {str(episode_id)!r}")

    def refuse(self, problem: str) -> DatasetError:
        """The error to raise; the caller's sentence says what is allowed."""
        return DatasetError(": ".join(filter(None, (str(self.file), self.record, problem))))


def decode(data: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T], *, place: Place) -> T:
    """The record in `data`, or a refusal that names what is wrong with it."""
    try:
        return decoder.decode(data)
    except DECODE_ERRORS as error:
        raise explain(error, bytes(data), place=place) from error


def explain(error: Exception, data: bytes, *, place: Place) -> DatasetError:
    """What to tell the reader about a failed decoding of `data`."""
    if isinstance(error, RecursionError):
        return place.refuse("is nested too deeply.")
    if isinstance(error, UnicodeDecodeError):
        return place.refuse("is not UTF-8 text.")
    try:
        tree = json.loads(data)  # lenient: takes the NaN and Infinity that Python itself writes
    except json.JSONDecodeError as malformed:
        return place.refuse(f"is not valid JSON at line {malformed.lineno} column {malformed.colno}: {malformed.msg}.")
    except RecursionError:
        return place.refuse("is nested too deeply.")
    except ValueError:
        return place.refuse(f"is not valid JSON: {error}.")
    return _explain_value(str(error), tree, place=_named(place, tree))


def _explain_value(message: str, tree: Json, *, place: Place) -> DatasetError:
    for steps, value in _non_finite(tree, []):
        return place.refuse(f"{_field(steps)} is {value}; only finite numbers are allowed.")
    located = _LOCATED.fullmatch(message)
    if located is None:
        return place.refuse(f"{_lower_first(message)}.")
    steps = list(_steps(located["path"]))
    subject = f"{_field(steps)}{_shown(tree, steps)}: " if steps else ""
    return place.refuse(f"{subject}{_lower_first(located['problem'])}.")


def _named(place: Place, tree: Json) -> Place:
    """A record that carries its own name is called by it."""
    named = tree.get("public", tree) if isinstance(tree, dict) else None
    if not isinstance(named, dict):
        return place
    name = next((named[key] for key in _NAMES if isinstance(named.get(key), str | int)), None)
    return place if name is None else place.episode(name)


def _steps(path: str) -> Iterator[Step]:
    for step in _STEP.finditer(path.partition("[...]")[0]):  # a dict's values have no names in these paths
        yield step["field"] if step["index"] is None else int(step["index"])


def _field(steps: list[Step]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")


def _shown(tree: Json, steps: list[Step]) -> str:
    """The value at the end of the path, unless it is a container: then the problem says enough."""
    try:
        for step in steps:
            tree = tree[step]
    except (KeyError, IndexError, TypeError):
        return ""
    if isinstance(tree, dict | list):
        return ""
    text = json.dumps(tree, ensure_ascii=False)
    return f" is {text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + '…'}"


def _non_finite(tree: Json, steps: list[Step]) -> Iterator[tuple[list[Step], str]]:
    if isinstance(tree, float) and not math.isfinite(tree):
        yield steps, json.dumps(tree)
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, child in children:
        yield from _non_finite(child, [*steps, step])


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
