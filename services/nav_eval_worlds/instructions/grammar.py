"""Phrases with alternatives: `(walk|go) past {thing}( on your {side}|)` stands for four of them.

A phrase can be used where all its parts are known, and where it says what has to be said. First a template is drawn,
then one of its usable forms; what was said last is not said again while there is something else.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from nav_eval_worlds.randomness import RandomStream

Grammar = Mapping[str, tuple[str, ...]]

_CHOICE = re.compile(r"\(([^()]*)\)")
_PART = re.compile(r"\{(\w+)\}")


class Phrase(NamedTuple):
    """One form of a template."""

    text: str
    parts: frozenset[str]


@cache
def expand_template(template: str) -> tuple[Phrase, ...]:
    """Every form of a template; choices may lie within choices."""
    found = _CHOICE.search(template)
    if found is None:
        text = re.sub(r"\s+", " ", template).strip()
        return (Phrase(text, frozenset(_PART.findall(text))),)
    before, after = template[: found.start()], template[found.end() :]
    forms = [phrase for choice in found[1].split("|") for phrase in expand_template(before + choice + after)]
    return tuple(dict.fromkeys(forms))


class PhrasePicker:
    """Draws phrases of one grammar."""

    def __init__(self, grammar: Grammar, draw: RandomStream) -> None:
        self._grammar = grammar
        self._draw = draw
        self._used: list[str] = []

    def pick(
        self,
        key: str,
        known: frozenset[str] = frozenset(),
        *,
        needs: Sequence[frozenset[str]] = (frozenset(),),
        avoid: frozenset[str] = frozenset(),
    ) -> Phrase | None:
        """A phrase for `key` that says one of the `needs` and only what is known; None where there is none."""
        usable = {
            template: [
                phrase
                for phrase in expand_template(template)
                if phrase.parts <= known
                and any(need <= phrase.parts for need in needs)
                and phrase.text.partition(" ")[0] not in avoid
            ]
            for template in self._grammar.get(key, ())
        }
        templates = [template for template, phrases in usable.items() if phrases]
        if not templates:
            return None
        fresh = [template for template in templates if template not in self._used]
        chosen = self._draw.choice(fresh or templates)
        self._used.append(chosen)
        return self._draw.choice(usable[chosen])
