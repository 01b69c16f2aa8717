"""Which trajectories are wanted, in a line: `success and spl >= 0.8 and (length < 200 or scene ~ "house_*")`.

Names, numbers, words and comparisons; nothing is ever evaluated as Python. A name that no trajectory has is
an error rather than a filter that lets nothing through.
"""

import fnmatch
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from nav_eval.errors import RecordError

Record: TypeAlias = Mapping[str, Any]
LONGEST = 4_000  #: characters
DEEPEST = 40  #: brackets and nots within each other

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<text>"[^"]*"|'[^']*')
    | (?P<sign><=|>=|==|!=|&&|\|\||[<>=~!(),&|])
    | (?P<word>[\w*][\w./:*?-]*)
    )""",
    re.VERBOSE,
)
_AND, _OR, _NOT = {"and", "&&", "&", ","}, {"or", "||", "|"}, {"not", "!"}
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: bool(a == b),
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
    "~": lambda a, b: fnmatch.fnmatchcase(str(a), str(b)),
}
_ORDERED = {"<", "<=", ">", ">="}
_WORDS: Mapping[str, Any] = {"true": True, "false": False, "null": None, "none": None}


class BadFilter(RecordError):
    """A filter cannot be understood; the message says where."""


class Filter(ABC):
    """A condition on a trajectory's head."""

    @abstractmethod
    def matches(self, record: Record) -> bool: ...

    @abstractmethod
    def names(self) -> Iterator[str]:
        """What it asks about."""

    def check(self, known: Collection[str]) -> None:
        """Refuse names that nothing has."""
        for name in self.names():
            if known and name not in known:
                raise BadFilter(f"No trajectory has {name!r}; there are {', '.join(sorted(known))}.")

    @staticmethod
    def parse(text: str) -> "Filter":
        """The filter that a line says."""
        return _Parser(text).parse()


@dataclass(frozen=True, slots=True)
class _Compared(Filter):
    name: str
    sign: str
    value: Any

    def matches(self, record: Record) -> bool:
        """What has no value is not comparable, and therefore not wanted, except by `!=`."""
        found = record.get(self.name)
        if found is None and self.value is not None:
            return self.sign == "!="
        if self.sign in _ORDERED and not (_is_number(found) and _is_number(self.value)):
            return False
        return _COMPARISONS[self.sign](found, self.value)

    def names(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True, slots=True)
class _True(Filter):
    name: str

    def matches(self, record: Record) -> bool:
        return bool(record.get(self.name))

    def names(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True, slots=True)
class _Not(Filter):
    inner: Filter

    def matches(self, record: Record) -> bool:
        return not self.inner.matches(record)

    def names(self) -> Iterator[str]:
        return self.inner.names()


@dataclass(frozen=True, slots=True)
class _Joined(Filter):
    join: Callable[[Iterator[bool]], bool]
    parts: tuple[Filter, ...]

    def matches(self, record: Record) -> bool:
        return self.join(part.matches(record) for part in self.parts)

    def names(self) -> Iterator[str]:
        for part in self.parts:
            yield from part.names()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


class _Parser:
    """One method per rule; `or` binds weakest, `not` strongest."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise BadFilter(f"A filter of {len(text)} characters is too long; {LONGEST} are allowed.")
        self._text = text
        self._tokens = list(_split_tokens(text))
        self._next = 0
        self._depth = 0

    def parse(self) -> Filter:
        found = self._any()
        if self._peek() is not None:
            raise self._refusal("ends too late")
        return found

    def _any(self) -> Filter:
        return self._parse_chain(_OR, any, self._all)

    def _all(self) -> Filter:
        return self._parse_chain(_AND, all, self._one)

    def _parse_chain(self, signs: set[str], join: Callable[[Any], bool], part: Callable[[], Filter]) -> Filter:
        parts = [part()]
        while self._skip(signs):
            parts.append(part())
        return parts[0] if len(parts) == 1 else _Joined(join, tuple(parts))

    def _one(self) -> Filter:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._refusal("is nested too deeply")
        try:
            if self._skip(_NOT):
                return _Not(self._one())
            if self._skip({"("}):
                inner = self._any()
                if not self._skip({")"}):
                    raise self._refusal("lacks a closing bracket")
                return inner
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Filter:
        name = self._take({"word"}, "a name")
        if name.text.lower() in _AND | _OR | _NOT:
            raise self._refusal(f"has {name.text!r} where a name should be")
        token = self._peek()
        if token is None or token.text not in _COMPARISONS:
            return _True(name.text)
        self._next += 1
        return _Compared(name.text, token.text, self._value())

    def _value(self) -> Any:  # noqa: ANN401 - a number, a text, or true, false, null
        token = self._take({"number", "text", "word"}, "a value")
        if token.kind == "number":
            return float(token.text)
        if token.kind == "text":
            return token.text[1:-1]
        return _WORDS.get(token.text.lower(), token.text)

    def _take(self, kinds: set[str], what: str) -> _Token:
        token = self._peek()
        if token is None or token.kind not in kinds:
            raise self._refusal(f"needs {what}")
        self._next += 1
        return token

    def _skip(self, signs: set[str]) -> bool:
        token = self._peek()
        if token is None or token.kind not in {"sign", "word"} or token.text.lower() not in signs:
            return False
        self._next += 1
        return True

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _refusal(self, problem: str) -> BadFilter:
        token = self._peek()
        place = "at its end" if token is None else f"at {token.text!r} (character {token.at + 1})"
        return BadFilter(f"The filter {self._text!r} {problem}, {place}. Example: success and spl >= 0.8")


def _split_tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise BadFilter(f"The filter {text!r} has something that is neither name nor value at character {at + 1}.")
        yield _Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup))
        at = match.end()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
