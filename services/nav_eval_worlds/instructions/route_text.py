"""Routes as texts: which statements are said, in which style, and how they become sentences."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from nav_eval_worlds.instructions.descriptions import Reference
from nav_eval_worlds.instructions.grammar import Phrase, PhrasePicker
from nav_eval_worlds.instructions.route_english import NO_VERB, ROUTES
from nav_eval_worlds.instructions.route_styles import CHAT, TERSE
from nav_eval_worlds.instructions.statements import Part, RoomPart, SpokenStatement, Statement
from nav_eval_worlds.instructions.words import is_plural, to_sentence
from nav_eval_worlds.randomness import RandomStream

#: how people give directions, and how often
STYLES = (
    ("plain", 5.0),
    ("terse", 2.0),
    ("verbose", 2.0),
    ("chatty", 2.5),
    ("second person", 2.0),
    ("distractor", 2.0),
)
#: how many statements a text of a style has, where there are as many
LENGTHS = {
    "plain": (3, 5),
    "terse": (4, 6),
    "verbose": (4, 5),
    "chatty": (3, 5),
    "second person": (3, 5),
    "distractor": (4, 5),
}
ON_WALLS = frozenset({"clock", "mirror", "painting", "picture", "radiator", "wall cabinet", "wall lamp"})
AGREEING = frozenset({"it", "is"})  #: words of phrases that agree with the thing that is spoken of
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class RouteText:
    """An instruction, and what it states."""

    text: str
    style: str
    spoken: tuple[SpokenStatement, ...]


class RouteWriter(Protocol):
    """Says a plan in one language and style."""

    def write(self, statements: Sequence[Statement]) -> RouteText | None:
        """The text; None where a needed statement cannot be said."""


class Clause(NamedTuple):
    """A statement in words, before it is part of a sentence."""

    text: str
    spoken: SpokenStatement
    is_command: bool  #: begins with a verb, so that it can be joined
    room: RoomPart | None = None  #: where one is afterwards, if that is new


def select_statements(plan: Sequence[Statement], style: str, draw: RandomStream) -> list[Statement]:
    """All that is needed, and some of the rest; nothing is mentioned twice."""
    fewest, most = LENGTHS[style]
    needed = [statement for statement in plan if statement.is_needed]
    room = max(0, draw.integer(fewest, most) - len(needed))
    optional = [statement for statement in plan if not statement.is_needed]
    order = sorted(
        draw.shuffle(optional), key=lambda one: not (style == "distractor" and one.kind in ("pass_room", "past"))
    )
    kept, mentioned = list(needed), _list_mentioned(needed)
    for statement in order:
        things = _list_mentioned([statement])
        if room and not things & mentioned:
            kept.append(statement)
            mentioned |= things
            room -= 1
    return [statement for statement in plan if any(statement is one for one in kept)]


def _list_mentioned(statements: Sequence[Statement]) -> set[object]:
    """Things that are named, and rooms that are walked through: each is worth one statement."""
    found: set[object] = set()
    for statement in statements:
        for name in ("thing", "other", "by", "ahead"):
            part = statement.parts.get(name)
            if isinstance(part, Reference):
                found.add(part.things[0].object_id)
        if statement.kind in ("along", "across"):
            found.add(statement.at)
    return found


class EnglishRoute:
    """Says a plan in one style."""

    def __init__(self, style: str, draw: RandomStream) -> None:
        self._style, self._draw = style, draw
        self._words = PhrasePicker(TERSE[draw.split] if style == "terse" else ROUTES[draw.split], draw.fork("words"))
        self._chat = PhrasePicker(CHAT[draw.split], draw.fork("chat"))

    def write(self, statements: Sequence[Statement]) -> RouteText | None:
        """The text; None where a statement has no phrase."""
        clauses: list[Clause] = []
        for statement in statements:
            clause = self._say(statement)
            if clause is None:
                return None
            clauses.append(clause)
        text = self._write_notes(clauses) if self._style == "terse" else self._write_sentences(clauses)
        return RouteText(text=text, style=self._style, spoken=tuple(clause.spoken for clause in clauses))

    def _say(self, statement: Statement) -> Clause | None:
        key, known = str(statement.kind), frozenset(statement.parts) | AGREEING
        if self._style == "distractor" and statement.kind == "pass_room":
            key = "warn" if self._draw.chance(0.5) else key
        if statement.kind == "stop" and self._style != "terse" and _is_on_wall(statement.parts["thing"]):
            key = "stop_wall"
        avoid = NO_VERB if self._style == "second person" and statement.kind != "start" else frozenset()
        phrase = self._words.pick(key, known, needs=statement.needs, avoid=avoid)
        return None if phrase is None else self._make_clause(statement, phrase)

    def _make_clause(self, statement: Statement, phrase: Phrase) -> Clause:
        text, parts = phrase.text, phrase.parts - AGREEING
        for name in parts:
            text = text.replace("{" + name + "}", self._name(statement.parts[name]))
        is_several = _is_several(statement)
        text = text.replace("{it}", "them" if is_several else "it").replace("{is}", "are" if is_several else "is")
        is_command = phrase.text.partition(" ")[0] not in NO_VERB and statement.kind != "start"
        to = statement.parts.get("to")
        room = to if isinstance(to, RoomPart) else None
        return Clause(text, SpokenStatement(statement=statement, words=text, parts=parts), is_command, room)

    def _name(self, part: Part) -> str:
        if isinstance(part, RoomPart):
            name = f"{part.which} {part.kind}".strip()
            words = f"the {name}" if part.holds is None else f"the {name} with {part.holds.short}"
        else:
            words = part.short if isinstance(part, Reference) else part
        words = re.sub(r"\btv\b", "TV", words)
        return words.removeprefix("the ") if self._style == "terse" else words

    def _write_notes(self, clauses: Sequence[Clause]) -> str:
        """Fragments, two or three to a line; the end stands alone."""
        *body, end = [clause.text for clause in clauses]
        notes = [", ".join(group) for group in _cut(body, self._draw, sizes=(2, 3))]
        if notes and self._draw.chance(0.5):
            return " ".join([*(to_sentence(note) for note in notes), to_sentence(end)])
        return to_sentence(", ".join([*notes, end]))

    def _write_sentences(self, clauses: Sequence[Clause]) -> str:
        sentences = []
        room: RoomPart | None = None
        is_begun = False  # something has been asked for
        for group in self._group(clauses):
            sentences.append(self._write_sentence(group, room, is_begun=is_begun))
            room = group[-1].room
            is_begun = is_begun or group[0].spoken.statement.kind != "start"
        if self._style == "chatty" and self._draw.chance(0.35):
            sentences.append(to_sentence(self._pick_chat("bye")))
        return " ".join(sentences)

    def _group(self, clauses: Sequence[Clause]) -> list[list[Clause]]:
        """Commands are joined, two or three at most; everything else is a sentence of its own."""
        runs: list[list[Clause]] = []
        for clause in clauses:
            if runs and clause.is_command and runs[-1][-1].is_command:
                runs[-1].append(clause)
            else:
                runs.append([clause])
        sizes = (1, 2) if self._style == "verbose" else (1, 2, 2, 3)
        return [group for run in runs for group in _cut(run, self._draw, sizes=sizes)]

    def _write_sentence(self, group: Sequence[Clause], room: RoomPart | None, *, is_begun: bool) -> str:
        text = self._join([clause.text for clause in group])
        if not group[0].is_command:
            return to_sentence(text)
        if self._style in ("second person", "chatty"):
            text = text.replace("; ", " and ")  # what is asked of somebody is one request
        if self._style == "second person":
            text = f"{self._pick_chat('you')} {text}"
        elif self._style == "chatty" and not is_begun:
            if self._draw.chance(0.35):
                return to_sentence(f"{self._pick_chat('ask')} {text}?")
            text = f"{self._pick_chat('hello')} {text}"
        elif self._style == "verbose" and self._draw.chance(0.4):
            text = f"{self._pick_chat('fuss')} {text}"
        start = self._start(room, says_room=_is_naming_its_room(group[0])) if is_begun else ""
        return to_sentence(f"{start}{text}")

    def _start(self, room: RoomPart | None, *, says_room: bool) -> str:
        """A word or two that tie a sentence to the one before."""
        often = {"verbose": 0.8, "second person": 0.4}.get(self._style, 0.35)
        if not self._draw.chance(often):
            return ""
        if room is not None and not says_room and self._draw.chance(0.5):
            phrase = self._words.pick("starter_in", frozenset({"room"}))
            return phrase.text.replace("{room}", self._name(RoomPart(kind=room.kind))) + " " if phrase else ""
        phrase = self._words.pick("starter")
        return f"{phrase.text} " if phrase else ""

    def _join(self, texts: Sequence[str]) -> str:
        if len(texts) == 1:
            return texts[0]
        phrase = self._words.pick("joined_two" if len(texts) == 2 else "joined_three", frozenset("abc"))
        joined = phrase.text if phrase else "{a}, {b}"
        for name, text in zip("abc", texts, strict=False):
            joined = joined.replace("{" + name + "}", text)
        return joined

    def _pick_chat(self, key: str) -> str:
        phrase = self._chat.pick(key)
        return "" if phrase is None else phrase.text


def _is_naming_its_room(clause: Clause) -> bool:
    """Whether a clause says which room one is in: once is enough."""
    is_inside = clause.spoken.statement.kind in ("along", "across", "stop")
    return "from" in clause.spoken.parts or (is_inside and "room" in clause.spoken.parts)


def _is_several(statement: Statement) -> bool:
    """Whether what a statement speaks of is called by a plural: shoes, building blocks."""
    part = statement.parts.get("thing") or statement.parts.get("ahead")
    return isinstance(part, Reference) and is_plural(part.description.noun)


def _is_on_wall(part: Part) -> bool:
    """Whether a thing is on a wall: one stands before it, not beside it."""
    if not isinstance(part, Reference):
        return False
    return bool({part.things[0].category, part.description.noun} & ON_WALLS)


def _cut(items: Sequence[T], draw: RandomStream, *, sizes: Sequence[int]) -> list[list[T]]:
    """In pieces of drawn sizes."""
    pieces, rest = [], list(items)
    while rest:
        size = draw.choice(sizes)
        pieces.append(rest[:size])
        rest = rest[size:]
    return pieces
