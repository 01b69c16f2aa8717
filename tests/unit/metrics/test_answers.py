"""Exact match of answers in words, and the types of questions."""

import pytest

from nav_eval.metrics.answers import find_question_type, is_exact_match


@pytest.mark.parametrize(
    ("answer", "accepted", "match"),
    [
        ("two", ["two"], True),
        (" Two. ", ["two"], True),  # case, spaces and a full stop do not count
        ("office   chair", ["Office chair"], True),
        ("chair", ["office chair"], False),  # nothing is contained, all is equal
        ("2", ["two"], False),
        ("left", ["right", "left"], True),
        ("", [""], False),
        ("...", ["."], False),
    ],
)
def test_exact_match(answer: str, accepted: list[str], match: bool) -> None:
    assert is_exact_match(answer, accepted) is match


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is in front of me?", "what"),
        ("Is the door open?", "is"),
        ("How many chairs are there?", "how"),
        ("Can I see the window?", "can"),
        ("Which direction should I go?", "which"),
        ("Am I near the sink?", "other"),
        ("Whatever you see?", "other"),  # a whole word
        ("", "other"),
    ],
)
def test_question_types(question: str, kind: str) -> None:
    assert find_question_type(question) == kind
