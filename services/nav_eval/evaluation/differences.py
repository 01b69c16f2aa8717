"""What is not as a run says: one place, what stands there, and what should."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nav_eval.plain_text import clean_text

LONGEST_SHOWN = 200  #: characters of a value
MISSING = "missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One thing that is not what the run says."""

    where: str  #: "run", a file, or an episode
    what: str  #: which quantity
    stated: str | None  #: None where `what` is no quantity: then it is said what is wrong with it
    found: str
    step: int | None = None  #: the first step that differs

    def __str__(self) -> str:
        at = "" if self.step is None else f" at step {self.step}"
        place = f"{_show(self.where)}{at}: {_show(self.what)}"
        if self.stated is None:
            return f"{place}: {_show(self.found)}"
        return f"{place} is {_show(self.stated)}, should be {_show(self.found)}"


def _show(text: str) -> str:
    """On one line, without what a terminal obeys: a forged value must not write a verdict of its own."""
    shown = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
    return clean_text(shown)


def compare_values(where: str, what: str, stated: Any, found: Any) -> Iterator[Difference]:  # noqa: ANN401 - JSON
    """The innermost places where two JSON values differ."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for name in sorted({**stated, **found}):
            yield from compare_values(where, f"{what} {name}", stated.get(name, MISSING), found.get(name, MISSING))
    elif not is_same_value(stated, found):
        yield Difference(where=where, what=what, stated=str(stated), found=str(found))


def compare_stated(where: str, what: str, stated: Any, found: Any) -> Iterator[Difference]:  # noqa: ANN401 - JSON
    """The same, where a key that is not stated means its default: files of earlier versions have fewer keys."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for name in stated:
            yield from compare_stated(where, f"{what} {name}".strip(), stated[name], found.get(name, MISSING))
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for number, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from compare_stated(where, f"{what} {number}", one, other)
    elif not is_same_value(stated, found):
        yield Difference(where=where, what=what, stated=str(stated), found=str(found))


def is_same_value(stated: object, found: object) -> bool:
    """As JSON would show it: 1, 1.0 and true are three values, and so are 0.0 and −0.0."""
    if type(stated) is not type(found):
        return False
    if isinstance(stated, dict) and isinstance(found, dict):
        return stated.keys() == found.keys() and all(is_same_value(stated[name], found[name]) for name in stated)
    if isinstance(stated, list) and isinstance(found, list):
        return len(stated) == len(found) and all(map(is_same_value, stated, found))
    return stated == found and (stated != 0 or str(stated) == str(found))
