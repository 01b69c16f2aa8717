"""Answers in words: exact match, and the types by which SQA3D reports its questions.

Case, spaces around and between words, and a full stop at the end do not count. Nothing else is forgiven: "two" is not
"2", and no model judges.
"""

from collections.abc import Iterable

EXACT_MATCH = "exact_match"
QUESTION_TYPES = ("what", "is", "how", "can", "which")
"""By the first word of a question, in the order of SQA3D's tables; everything else is `other`."""


def normalize_answer(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".").rstrip()


def is_exact_match(answer: str, accepted: Iterable[str]) -> bool:
    """Whether an answer is one of those that count."""
    given = normalize_answer(answer)
    return bool(given) and given in {normalize_answer(text) for text in accepted}


def find_question_type(question: str) -> str:
    first = question.lower().split(maxsplit=1)[:1]
    return first[0] if first and first[0] in QUESTION_TYPES else "other"
