"""Answers in words: exact match, and the types by which SQA3D reports its questions.

Case, spaces around and between words, and a full stop at the end do not count. Nothing else is forgiven: "two" is not
"2", and no model judges. In `eqa` a number is a number however it is written, and an article in front of a thing does
not count either.
"""

from collections.abc import Callable, Iterable

EXACT_MATCH = "exact_match"
QUESTION_TYPES = ("what", "is", "how", "can", "which")
"""By the first word of a question, in the order of SQA3D's tables; everything else is `other`."""


def normalize_answer(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".").rstrip()


def is_exact_match(answer: str, accepted: Iterable[str], *, normalize: Callable[[str], str] = normalize_answer) -> bool:
    """Whether an answer is one of those that count."""
    given = normalize(answer)
    return bool(given) and given in {normalize(text) for text in accepted}


_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip


def to_plain_answer(text: str) -> str:
    """An answer of `eqa` as it is compared: "The kitchen." is "kitchen", "Two" and "2.0" are "2"."""
    words = normalize_answer(text).split()
    if words[:1] in (["a"], ["an"], ["the"]):
        words = words[1:]
    plain = " ".join(words)
    if plain in _NUMBERS:
        return str(_NUMBERS.index(plain))
    whole, _, fraction = plain.partition(".")
    return str(int(whole)) if whole.isdecimal() and whole.isascii() and not fraction.strip("0") else plain


def find_question_type(question: str) -> str:
    first = question.lower().split(maxsplit=1)[:1]
    return first[0] if first and first[0] in QUESTION_TYPES else "other"
