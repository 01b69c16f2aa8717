"""What is said about a way, before it is said in a language: statements with their parts.

A statement is true of the map and seen from where it is made. Its parts may be said or left out; `needs` lists the sets
of parts of which one has to be said, so that nobody can take another way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nav_eval.records.geometry import Vec3
from nav_eval_worlds.instructions.descriptions import Description, Reference

Side = Literal["left", "right", "ahead"]
Kind = Literal[
    "start", "ahead", "turn", "around", "cross", "turn_after", "bend", "past", "toward", "between", "along", "across",
    "pass_room", "up", "down", "stop",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomPart:
    """A room, said so that it is clear which."""

    kind: str
    holds: Reference | None = None  #: what tells it from others of its kind, seen on entering
    which: Literal["", "next", "other"] = ""  #: where the way has been in another one of the kind


#: a thing, a room, the name of an opening, or a side
Part = Reference | RoomPart | str


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One thing worth saying."""

    kind: Kind
    at: Vec3  #: where it is true
    heading: float  #: of somebody who walks there, in degrees left of −Z
    parts: Mapping[str, Part] = field(default_factory=dict)
    needs: tuple[frozenset[str], ...] = (frozenset(),)
    is_needed: bool = False  #: without it the way is not clear


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenStatement:
    """A statement with the words that were found for it."""

    statement: Statement
    words: str
    parts: frozenset[str]  #: those that were said

    def record(self) -> dict[str, Any]:
        """What a checker needs to know, as it is stored with the episode."""
        said: dict[str, Any] = {
            "kind": self.statement.kind,
            "words": self.words,
            "at": [round(value, 3) for value in self.statement.at],
            "heading": round(self.statement.heading, 1),
        }
        for name in sorted(self.parts):
            said[name] = _record_part(self.statement.parts[name])
        return said


def _record_part(part: Part) -> str | dict[str, Any]:
    if isinstance(part, RoomPart):
        room: dict[str, Any] = {"room": part.kind}
        return room if part.holds is None else {**room, "holds": _record_part(part.holds)}
    if isinstance(part, Reference):
        return {"object_id": part.things[0].object_id, **record_description(part.description)}
    return part


def record_description(description: Description) -> dict[str, str]:
    """What is said of a thing, without its room."""
    names = ("noun", "colour", "shows", "on", "beside", "above")
    return {name: value for name in names if (value := getattr(description, name)) is not None}
