"""Names: what a board can show, and which names an eye takes for the same one.

A key is what is left of a name when everything is gone that an eye passes over: what shows nothing, case, width,
accents, the alphabet (Unicode's list of confusables, UTS 39), kinds of dashes, quotes and spaces, `I`, `l` and `1`.
Two names with one key are one name. It is strict on purpose: who is refused by mistake chooses another name.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import groupby

from nav_eval_store.errors import StoreError

LONGEST_NAME = 60
MOST_MARKS = 2
"""Accents on one letter; more of them paint over the lines above and below."""
MOST_ROUNDS = 8
"""Of looking for look-alikes of look-alikes; two or three are enough for every character there is."""
COMPANIONS = (
    frozenset({"LATIN", "GREEK"}),  # π0, β-VAE
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"}),
)
"""Scripts that people write together; any other one stands alone (UTS 39, "highly restrictive")."""
_SHOWS_NOTHING = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U00013441\U00013442\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point, and what is drawn as a blank: Braille without dots, a note without a head."""
_LATIN_NAME = re.compile(
    r"(?:.*LATIN.* LETTER|REGIONAL INDICATOR SYMBOL LETTER|LATIN LETTER SMALL CAPITAL) "
    r"(?:SMALL CAPITAL |SCRIPT |DOTLESS )?(?P<letter>[A-Z])(?: WITH .*)?"
)


def normalize_name(name: str) -> str:
    """A name that a board can show: something to read, and nothing that plays tricks."""
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise StoreError("A team name has 1 to {most} printable characters.", most=LONGEST_NAME)
    name = " ".join(_SHOWS_NOTHING.sub("", name).split())
    if not make_name_key(name):
        raise StoreError("A team's name needs a letter, a digit or a symbol that can be seen.")
    if any(count > MOST_MARKS for count in _count_marks(unicodedata.normalize("NFD", name))):
        raise StoreError("A team's name has at most {most} accents on a letter.", most=MOST_MARKS)
    _refuse_mixed_scripts(name)
    return name


def _count_marks(name: str) -> Iterator[int]:
    """How many accents follow each other, for each run of them."""
    for is_mark, run in groupby(name, _is_mark):
        if is_mark:
            yield sum(1 for _ in run)


def _refuse_mixed_scripts(name: str) -> None:
    from confusable_homoglyphs import categories

    scripts = categories.unique_aliases(unicodedata.normalize("NFKC", name)) - {"COMMON", "INHERITED"}
    if len(scripts) > 1 and not any(scripts <= together for together in COMPANIONS):
        listed = ", ".join(script.title() for script in sorted(scripts))
        raise StoreError("A team's name is written in one alphabet; this one mixes {scripts}.", scripts=listed)


def make_name_key(name: str) -> str:
    """Equal for names that look equal, of teams, users and competitions."""
    for _ in range(MOST_ROUNDS):  # small letters have look-alikes of their own: Ρ looks like P, and ρ like p
        before, name = name, _fold(name)
        if name == before:
            break
    return name


def _fold(name: str) -> str:
    seen = _drop_accents("".join(map(_find_look, _SHOWS_NOTHING.sub("", name))))
    plain = unicodedata.normalize("NFKC", seen).casefold()
    strokes = plain.translate(_ONE_STROKE).replace("rn", "m").replace("vv", "w")
    return "-".join("".join(map(_find_gap, strokes)).split())


_ONE_STROKE = str.maketrans("i1|0", "lllo")


def _find_gap(letter: str) -> str:
    """Spaces, dashes, quotes and other punctuation part words, whichever they are."""
    return " " if unicodedata.category(letter)[0] in "PZ" or unicodedata.category(letter) == "Sk" else letter


def _drop_accents(text: str) -> str:
    """Without accents on our own letters; those of other alphabets make other letters."""
    kept: list[str] = []
    base = "a"
    for letter in text:
        if not _is_mark(letter):
            base = letter
        if not (_is_mark(letter) and base.isascii()):
            kept.append(letter)
    return "".join(kept)


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter) in ("Mn", "Me")


@cache
def _find_look(letter: str) -> str:
    """What it looks like: letters of our own alphabet if there are any, else one of those that look like it."""
    if letter.isascii() or unicodedata.category(letter).startswith("M"):
        return letter
    alike = _find_class(letter)
    found = (_find_plain(each) for each in alike)
    small_capitals = (_find_plain(each.upper()) for each in alike)  # м is a small M
    return next((text for text in (*found, *small_capitals) if text is not None), alike[0])


def _find_class(letter: str) -> tuple[str, ...]:
    """Those that look alike, in the same order for each of them: first the one that Unicode names for all."""
    near = _look_alikes().get(letter, ())
    if len(near) == 1 and len(_look_alikes()[near[0]]) > 1:
        return near + _look_alikes()[near[0]]
    return (letter, *near) if len(near) > 1 else tuple(sorted({letter, *near}))


@cache
def _look_alikes() -> dict[str, tuple[str, ...]]:
    """Unicode's list; letters that are written from right to left stand between marks in it."""
    from confusable_homoglyphs.confusables import confusables_data

    return {
        key.strip("\u200e"): tuple(sorted(entry["c"].strip("\u200e") for entry in entries))
        for key, entries in confusables_data.items()
    }


def _find_plain(text: str) -> str | None:
    """The same in our own alphabet: without accents, hooks and strokes; None if it is of another one."""
    bare = _drop_accents(unicodedata.normalize("NFKD", text))
    if bare.isascii():
        return bare
    if len(bare) == 1 and (named := _LATIN_NAME.fullmatch(unicodedata.name(bare, ""))):
        return named["letter"].lower()
    return None
