"""What the words of an episode speak of: things that must keep their look, whatever else is varied.

"The red cushion" means one while all cushions stay as they are, and "the bedroom with the light pink walls" while no
other wall is repainted. So everything counts that could be called by a word of the text.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from nav_eval.dataset.episode import Episode
from nav_eval.scene.model import Semantics
from nav_eval_worlds.instructions.words import can_be_called, get_noun, to_plural

#: parts of the building: "wall lamp" and "floor mat" do not speak of the wall and the floor
_SHELL = re.compile(r"\b(wall|floor|ceiling)s?\b(?! (?:lamp|cabinet|mat|clock|mirror|light|plan))")
_SHELL_NAMES = ("wall", "floor", "ceiling")
_WORD = re.compile(r"\w+")
_NOUN_KEYS = frozenset({"noun", "on", "beside", "above"})


def find_mentioned(semantics: Semantics, episode: Episode) -> frozenset[int]:
    """Ids of everything that the episode's words mention, or that may be taken for it."""
    text = " ".join(_list_texts(episode)).lower()
    called, beginnings = _list_called(semantics)
    said = [name for name in set(_SHELL.findall(text)) if name in called]
    may_be_said = (noun for word in set(_WORD.findall(text)) for noun in beginnings.get(word, ()))
    said += [noun for noun in may_be_said if _is_said(text, noun)]
    seen = (number for number in episode.private.info.get("evidence", ()) if isinstance(number, int))
    return frozenset(seen).union(*(called[name] for name in said))


class _Names(NamedTuple):
    """What things of a scene are called."""

    called: dict[str, frozenset[int]]  #: every name, and what may be called by it
    beginnings: dict[str, list[str]]  #: those that are no parts of the building, by the first word of one or several


_CALLED: OrderedDict[int, tuple[Semantics, _Names]] = OrderedDict()
_PLURALS: dict[str, str] = {}
_KEPT = 8  #: scenes whose names are remembered: every episode asks for them


def _list_called(semantics: Semantics) -> _Names:
    if id(semantics) not in _CALLED:
        _CALLED[id(semantics)] = (semantics, _find_names(semantics))
        while len(_CALLED) > _KEPT:
            _CALLED.popitem(last=False)
    return _CALLED[id(semantics)][1]


def _find_names(semantics: Semantics) -> _Names:
    called = _find_called(semantics)
    beginnings: dict[str, list[str]] = {}
    for noun in called:
        if noun not in _SHELL_NAMES:
            for word in {word for form in (noun, _to_plural(noun)) for word in _WORD.findall(form)[:1]}:
                beginnings.setdefault(word, []).append(noun)
    return _Names(called, beginnings)


def _find_called(semantics: Semantics) -> dict[str, frozenset[int]]:
    shell = {name: [t.object_id for t in semantics.objects if t.category == name] for name in _SHELL_NAMES}
    others = [thing for thing in semantics.objects if thing.category not in _SHELL_NAMES]
    nouns = {noun for thing in semantics.objects for noun in (thing.category, get_noun(thing)) if noun}
    called = {noun: [t.object_id for t in others if can_be_called(noun, t)] for noun in sorted(nouns)}
    return {name: frozenset(numbers) for name, numbers in (called | shell).items()}


def _is_said(text: str, noun: str) -> bool:
    """Whether a text has the noun, as one or as several."""
    return _has_word(text, noun) or _has_word(text, _to_plural(noun))


def _to_plural(noun: str) -> str:
    return _PLURALS.get(noun) or _PLURALS.setdefault(noun, to_plural(noun))


def _has_word(text: str, word: str) -> bool:
    """What the pattern `\\b…\\b` finds; compiling one for each noun takes longer than the rest of a reset's words."""
    place = text.find(word)
    while place >= 0:
        if _is_edge(text, place) and _is_edge(text, place + len(word)):
            return True
        place = text.find(word, place + 1)
    return False


def _is_edge(text: str, place: int) -> bool:
    """Whether a word begins or ends here."""
    before, after = text[max(place - 1, 0) : place], text[place : place + 1]
    return _is_in_word(before) != _is_in_word(after)


def _is_in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _list_texts(episode: Episode) -> list[str]:
    """The instruction, and the English of what is said in another language."""
    info = episode.private.info
    texts = [] if episode.instruction is None else [episode.instruction.text]
    texts += [text for text in info.get("references", ()) if isinstance(text, str)]
    for statement in info.get("statements", ()):
        if isinstance(statement, dict):
            _add_nouns(statement, texts)
    return texts


def _add_nouns(statement: Mapping[str, object], nouns: list[str]) -> None:
    """The nouns of a stored statement, however deep."""
    for key, value in statement.items():
        if isinstance(value, dict):
            _add_nouns(value, nouns)
        elif isinstance(value, str) and key in _NOUN_KEYS:
            nouns.append(value)
