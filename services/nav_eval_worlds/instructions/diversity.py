"""How varied a set of instructions is, in the measures that language generation is compared by.

A text is its words, in lower case and without punctuation; Chinese is counted by characters. An opening is the first
three words. A 4-gram is shared when another text has it as well.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

OPENING = 3  #: words
GRAM = 4  #: words

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’-][^\W_\u3400-\u9fff]+)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Diversity:
    """Figures over a set of texts."""

    texts: int
    distinct_texts: int
    vocabulary: int
    mean_words: float
    distinct_4: float
    """Different 4-grams, as a share of all."""
    shared_4: float
    """4-grams that another text has too, as a share of all."""
    openings: int
    """Different first three words."""


def split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def compute_diversity(texts: Sequence[str]) -> Diversity:
    """Figures over these texts; shares are 0 where no text has four words."""
    words = [split_words(text) for text in texts]
    grams = [[tuple(own[n : n + GRAM]) for n in range(len(own) - GRAM + 1)] for own in words]
    owners = Counter(gram for own in grams for gram in set(own))
    total = sum(map(len, grams))
    shared = sum(owners[gram] > 1 for own in grams for gram in own)
    return Diversity(
        texts=len(texts),
        distinct_texts=len({tuple(own) for own in words}),
        vocabulary=len({word for own in words for word in own}),
        mean_words=round(fmean(map(len, words)), 1) if words else 0.0,
        distinct_4=round(len(owners) / total, 3) if total else 0.0,
        shared_4=round(shared / total, 3) if total else 0.0,
        openings=len({tuple(own[:OPENING]) for own in words}),
    )
