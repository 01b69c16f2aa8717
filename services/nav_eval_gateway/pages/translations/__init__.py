"""What pages say, one JSON file per language with the same keys: `{"board.title": "Leaderboard"}`.

A text may name values in braces. A key that ends in `.one` is the form for a `count` of one.

Refusals stand in the code, in English, as patterns with values (`nav_eval_store.errors.Refusal`); `refusals_zh.json`
has them by these patterns.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from nav_eval_gateway.responses import parse_qualities

LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "中文"}
"""Code and name of each language, the first is the usual one."""
USUAL = next(iter(LANGUAGES))


@cache
def load_catalogue(language: str) -> Mapping[str, str]:
    """All texts of a language."""
    texts: dict[str, str] = json.loads((files(__package__) / f"{language}.json").read_text("utf-8"))
    return texts


@cache
def load_refusals(language: str) -> Mapping[str, str]:
    """Patterns of refusals in another language, by those that stand in the code."""
    if language == USUAL:
        return {}
    texts: dict[str, str] = json.loads((files(__package__) / f"refusals_{language}.json").read_text("utf-8"))
    return texts


class Translator:
    """The texts of one language, as templates call them: `t("board.title")`."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._texts = load_catalogue(language)
        self.gap = "" if language == "zh" else " "
        """Between sentences: Chinese ones end in a wide stop."""

    def __call__(self, key: str, **values: Any) -> str:  # noqa: ANN401
        if values.get("count") == 1 and f"{key}.one" in self._texts:
            key = f"{key}.one"
        text = self._texts[key]
        return text.format(**values) if values else text

    def get(self, key: str, default: str) -> str:
        """A text, or `default` where words were added to the platform that pages do not know."""
        return self._texts.get(key, default)

    def refusal(self, pattern: str, values: Mapping[str, object]) -> str:
        """What was refused, in this language; as it was written where nobody has translated it."""
        text = load_refusals(self.language).get(pattern, pattern)
        return (
            text.format(**{key: self._translate_value(key, value) for key, value in values.items()}) if values else text
        )

    def _translate_value(self, key: str, value: object) -> object:
        """Values that are words of ours have names: `state.running`."""
        return self._texts.get(f"{key}.{value}", value) if self.language != USUAL else value

    def under(self, prefix: str) -> dict[str, str]:
        """All texts whose keys begin so, for a script that has none of its own."""
        return {key.removeprefix(prefix): text for key, text in self._texts.items() if key.startswith(prefix)}


@cache
def make_translator(language: str) -> Translator:
    return Translator(language)


def choose_language(wish: str | None, accept: str) -> str:
    """What a reader wants: their choice, else what the browser says, else English."""
    if wish is not None and wish in LANGUAGES:
        return wish
    qualities = parse_qualities(accept)
    for name in sorted(qualities, key=qualities.__getitem__, reverse=True):
        code = name.partition("-")[0]
        if code in LANGUAGES:
            return code
    return USUAL
