"""Sentences of language models as actions, by NaVILA's rules (docs/adapters/navila.md).

In this order: the word stop; "is move forward"; "is turn left"; "is turn right"; none of them means stop. A distance is
in centimetres and a turn in degrees; what is missing is one step, what is no multiple of a step is the nearest of the
first three multiples.
"""

import re
from typing import NamedTuple


class _Pattern(NamedTuple):
    action: str
    says: re.Pattern[str]  #: whether the sentence asks for this action
    amount: re.Pattern[str]  #: the number that follows it, and the word after that
    unit: int  #: centimetres or degrees of one action
    units: tuple[str, ...]  #: how that word may begin; others measure something else


def _make_pattern(action: str, words: str, unit: int, units: tuple[str, ...]) -> _Pattern:
    spaced = words.replace(" ", r"\s+")
    return _Pattern(
        action,
        re.compile(rf"\bis\s+{spaced}\b", re.IGNORECASE),
        re.compile(rf"\b{spaced}\s+(?:by\s+|about\s+)?(\d+(?:\.\d+)?)\s*([^\W\d_]+|°)?", re.IGNORECASE),
        unit,
        units,
    )


_STOP = re.compile(r"\bstop\b", re.IGNORECASE)
_PATTERNS = (
    _make_pattern("move_forward", "move forward", 25, ("cm", "centimet")),
    _make_pattern("turn_left", "turn left", 15, ("deg", "°")),
    _make_pattern("turn_right", "turn right", 15, ("deg", "°")),
)
_SMALL_WORDS = ("and", "then", "to", "toward", "towards", "in", "at", "into")  #: that are no unit
MAX_REPEATS = 10_000  #: no sentence means more


def parse_sentence(sentence: str) -> list[str]:
    """The actions that a sentence asks for, one at least."""
    if _STOP.search(sentence):
        return ["stop"]
    for pattern in _PATTERNS:
        if pattern.says.search(sentence):
            return [pattern.action] * _count_repeats(pattern, sentence)
    return ["stop"]


def _count_repeats(pattern: _Pattern, sentence: str) -> int:
    """How often; a model that asks for 0 cm still means the action, as in its own loop."""
    amount = _find_amount(pattern, sentence)
    if amount % pattern.unit:
        amount = min((pattern.unit, 2 * pattern.unit, 3 * pattern.unit), key=lambda step: abs(step - amount))
    return min(max(1, int(amount // pattern.unit)), MAX_REPEATS)


def _find_amount(pattern: _Pattern, sentence: str) -> float:
    found = pattern.amount.search(sentence)
    if found is None:
        return pattern.unit
    word = (found[2] or "").lower()
    measured = not word or word in _SMALL_WORDS or word.startswith(pattern.units)
    return float(found[1]) if measured and len(found[1]) < 12 else pattern.unit
