"""Instructions said again in other words, by a plug-in such as a local language model; nothing needs one.

A package announces a callable in the entry-point group `nav_eval.paraphrasers`. It gets a text and gives another one.
What it gives is taken only if it states the same: the same things, rooms, openings and colours in the same order, the
same sides, turns and stairs in the same order, as many refusals ("not the kitchen"), and nothing with an article that
the text did not speak of. Otherwise the text stays as it was.
The original is kept with the episode, so that whoever checks the file can compare the two again.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from nav_eval.dataset.episode import Episode
from nav_eval.randomness import derive_seed
from nav_eval.registry import Registry
from nav_eval_worlds.colours import SHADES
from nav_eval_worlds.instructions import chinese_words
from nav_eval_worlds.instructions.words import (
    LANDMARKS,
    LATER_PORTABLE,
    PORTABLE,
    get_synonym,
    to_instruction,
    to_plural,
)

ORIGINAL = "original_text"  #: in `info` of an episode whose text was paraphrased
TRIES = 3  #: texts that are asked for before the original stays
_ROOMS = (*chinese_words.ROOMS, "corridor", "hall", "lobby", "meeting room", "reception", "shop", "waiting room")
_BUILDING = ("ceiling", "door", "doorway", "wall", "window")
_DIRECTIONS = {
    "left": ("left",),
    "right": ("right",),
    "around": ("turn around", "turn round", "turn back", "about-face", "the other way", "behind you"),
    "up": ("upstairs", "up the stairs", "up the steps", "climb", "stairs up", "steps up"),
    "down": ("downstairs", "down the stairs", "down the steps", "descend", "stairs down", "steps down"),
}
_REFUSALS = ("not", "don't", "never", "ignore", "skip", "avoid", "without", "no")
_NEUTRAL = frozenset({
    "area", "beginning", "bit", "bottom", "corner", "couple", "destination", "direction", "end", "entrance", "far",
    "few", "first", "flight", "floor", "foot", "front", "goal", "good", "half", "head", "hard", "last", "left",
    "little", "middle", "moment", "move", "next", "one", "opening", "opposite", "other", "place", "point", "quick",
    "rest", "right", "room", "same", "second", "short", "side", "sharp", "slight", "spot", "staircase", "stairs",
    "start", "step", "steps", "third", "top", "turn", "walk", "way",
})  # fmt: skip
"""Words that may follow an article and state nothing new."""
_ARTICLES = re.compile(r"\b(?:the|a|an|some|any|two|three)\s+([a-z'-]+)")
_CHINESE_DIRECTIONS = {
    "left": ("左",),
    "right": ("右",),
    "around": ("转身", "掉头", "往回", "背后"),
    "up": ("上楼", "楼梯上", "上楼梯", "上去"),
    "down": ("下楼", "楼梯下", "下楼梯", "下去"),
}
_CHINESE_REFUSALS = ("不", "别", "无需", "忽略", "略过")


class Paraphraser(Protocol):
    """What a plug-in offers."""

    def __call__(self, text: str, *, language: str, seed: int) -> str:
        """The text in other words. The same seed gives the same words, so that a file can be made again."""


PARAPHRASERS: Registry[Paraphraser] = Registry("paraphraser", entry_point_group="nav_eval.paraphrasers")


class Content(NamedTuple):
    """What a text states, as far as words show it."""

    things: tuple[str, ...]  #: things, rooms, openings and colours
    directions: tuple[str, ...]
    refusals: int


def rewrite_texts(episodes: Iterable[Episode], paraphraser: Paraphraser, *, seed: int) -> Iterator[Episode]:
    """The episodes, those whose text can be said otherwise in other words."""
    for episode in episodes:
        yield _rewrite(episode, paraphraser, seed)


def _rewrite(episode: Episode, paraphraser: Paraphraser, seed: int) -> Episode:
    told = episode.instruction
    if told is None:
        return episode
    language = told.language or "en"
    for attempt in range(TRIES):
        number = derive_seed(seed, "paraphrase", episode.episode_id, attempt) % 2**63
        text = " ".join(paraphraser(told.text, language=language, seed=number).split())
        if text and text != told.text and not find_changes(told.text, text, language=language):
            public = replace(episode.public, instruction=to_instruction(text, language=language))
            info = {**episode.private.info, ORIGINAL: told.text}
            return replace(episode, public=public, private=replace(episode.private, info=info))
    return episode


def find_changes(original: str, other: str, *, language: str = "en") -> list[str]:
    """What a text says that another does not, a sentence each; empty where both state the same."""
    before, after = find_content(original, language=language), find_content(other, language=language)
    found = [*_compare("names", before.things, after.things), *_compare("says", before.directions, after.directions)]
    if before.refusals != after.refusals:
        found.append(f"it refuses {after.refusals} times instead of {before.refusals}")
    return found + ([] if language == "zh" else _find_strangers(original.lower(), other.lower()))


def _find_strangers(original: str, other: str) -> list[str]:
    """Words with an article that the original does not have: things that we have no name for."""
    known = {word for name in _list_names() for word in name.split()} | set(re.findall(r"[a-z'-]+", original))
    said = dict.fromkeys(_ARTICLES.findall(other))
    return [f'it speaks of "{word}", which the text did not' for word in said if word not in known | _NEUTRAL]


def _compare(verb: str, before: tuple[str, ...], after: tuple[str, ...]) -> Iterator[str]:
    lost, added = Counter(before) - Counter(after), Counter(after) - Counter(before)
    yield from (f'it no longer {verb} "{word}"' for word in lost)
    yield from (f'it {verb} "{word}", which the text did not' for word in added)
    if not lost and not added and before != after:
        yield f"it {verb} the same in another order"


def find_content(text: str, *, language: str = "en") -> Content:
    """The words of a text that bind."""
    if language == "zh":
        return _read(text, _list_chinese_names(), _CHINESE_DIRECTIONS, _CHINESE_REFUSALS, bounded=False)
    return _read(text.lower().replace("’", "'"), _list_names(), _DIRECTIONS, _REFUSALS, bounded=True)


def _read(
    text: str,
    names: dict[str, str],
    directions: dict[str, tuple[str, ...]],
    refusals: Iterable[str],
    *,
    bounded: bool,
) -> Content:
    ways = {words: name for name, said in directions.items() for words in said}
    negations = dict.fromkeys(refusals, "")
    return Content(
        tuple(names[word] for word in _find_words(text, names, bounded=bounded)),
        tuple(ways[word] for word in _find_words(text, ways, bounded=bounded)),
        len(_find_words(text, negations, bounded=bounded)),
    )


def _find_words(text: str, words: Iterable[str], *, bounded: bool) -> list[str]:
    """Those that a text has, in its order; longer ones first, so that a coffee table is no table."""
    edge = r"\b" if bounded else ""
    either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.findall(f"{edge}(?:{either}){edge}", text)


def _list_names() -> dict[str, str]:
    """Every name of a thing, room, opening or colour, and the one that stands for it and its synonyms."""
    things = (*PORTABLE, *LATER_PORTABLE, *LANDMARKS, *chinese_words.NOUNS)
    nouns = {name for name in (*things, *_BUILDING, *_ROOMS) if name and name != "stairs"}
    nouns |= {noun.split()[-1] for noun in nouns if noun not in _ROOMS} - {"room"}
    nouns |= {"couch", "pillow", "bin", "mug", "television", "photo", "fridge"}
    names = {word: get_synonym(noun) for noun in nouns for word in (noun, to_plural(noun))}
    return names | {colour: colour for colour in SHADES} | {"fridge": "refrigerator"}


def _list_chinese_names() -> dict[str, str]:
    tables = (chinese_words.NOUNS, chinese_words.ROOMS, chinese_words.COLOURS, chinese_words.OPENINGS)
    return {word: name for table in tables for name, word in table.items()}
