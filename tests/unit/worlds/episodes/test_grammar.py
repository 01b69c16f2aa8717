"""Phrases with alternatives, and who may say which."""

import pytest

from nav_eval_worlds.instructions.errand_text import ERRANDS
from nav_eval_worlds.instructions.grammar import PhrasePicker, expand_template
from nav_eval_worlds.instructions.route_chinese import ROUTES as CHINESE
from nav_eval_worlds.instructions.route_english import ROUTES
from nav_eval_worlds.instructions.route_styles import CHAT, TERSE
from nav_eval_worlds.randomness import RandomStream


def test_alternatives_lie_within_alternatives() -> None:
    texts = [phrase.text for phrase in expand_template("(go|walk) past {thing}( on (your|the) {side}|)")]
    assert texts == [
        "go past {thing} on your {side}",
        "go past {thing}",
        "walk past {thing} on your {side}",
        "walk past {thing}",
        "go past {thing} on the {side}",
        "walk past {thing} on the {side}",
    ] or sorted(texts) == sorted(set(texts))
    assert len(texts) == 6
    assert {phrase.parts for phrase in expand_template("a( {b}|)")} == {frozenset(), frozenset({"b"})}


def test_only_what_is_known_is_said_and_what_is_needed_is_said() -> None:
    grammar = {"cross": ("enter {to}", "go {side} into {to}", "leave {from}")}
    picker = PhrasePicker(grammar, RandomStream(1))
    for _ in range(20):
        plain = picker.pick("cross", frozenset({"to"}))
        exact = picker.pick("cross", frozenset({"to", "side", "from"}), needs=[frozenset({"to", "side"})])
        assert plain is not None
        assert plain.text == "enter {to}"
        assert exact is not None
        assert exact.text == "go {side} into {to}"
    assert picker.pick("cross", frozenset()) is None


@pytest.mark.parametrize("banks", [ROUTES, TERSE, CHAT, CHINESE, ERRANDS["en"], ERRANDS["zh"]])
def test_splits_share_the_keys_and_hardly_a_template(banks: dict[str, dict[str, tuple[str, ...]]]) -> None:
    seen, unseen = banks["seen"], banks["unseen"]
    assert set(seen) == set(unseen)
    for key in seen:
        common = set(seen[key]) & set(unseen[key])
        assert key.startswith("joined") or common <= {""}, (key, common)
