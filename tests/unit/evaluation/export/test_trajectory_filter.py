"""One line says which trajectories are wanted."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.dataset.trajectory_filter import DEEPEST, LONGEST, BadFilter, Filter

GOOD = {"success": True, "spl": 0.9, "length": 120, "scene": "house_7.glb", "episode": "17", "cause": None, "ne": None}
BAD = {"success": False, "spl": 0.0, "length": 500, "scene": "flat/3.glb", "episode": "e2", "cause": "agent_crash"}


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("success", True, False),
        ("not success", False, True),
        ("!success", False, True),
        ("spl>=0.8", True, False),
        ("spl >= .8 and length < 200", True, False),
        ("spl < 0.5 or length == 120", True, True),
        ("success, spl > 0.95", False, False),
        ("success && (spl > 0.95 || length<=120)", True, False),
        ("not (success or length > 1)", False, False),
        ("scene == house_7.glb", True, False),
        ("scene == 'house_7.glb'", True, False),
        ('scene ~ "house_*"', True, False),
        ("scene ~ house_*", True, False),
        ("scene ~ flat/?.glb", False, True),
        ("scene != house_7.glb", False, True),
        ("cause == null", True, False),
        ("cause = agent_crash", False, True),
        ("success == true", True, False),
        ("length > 1e2", True, True),
        ("length >= -5", True, True),
        ("scene > 3", False, False),  # a text is not more than a number
        ("ne < 3", False, False),  # what has no value is not wanted …
        ("ne != 3", True, True),  # … but differs from everything
        ("a or b and c", False, False),
        ("success or spl > 2 and length > 9999", True, False),  # `and` binds tighter
    ],
)
def test_filters(text, good, bad) -> None:
    wanted = Filter.parse(text)
    assert (wanted.matches(GOOD), wanted.matches(BAD)) == (good, bad)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "needs a name"),
        ("spl >=", "needs a value"),
        ("spl >= >= 2", "needs a value"),
        (">= 2", "needs a name"),
        ("success and", "needs a name"),
        ("and success", "where a name"),
        ("(success", "closing bracket"),
        ("success)", "ends too late"),
        ("spl 0.8", "ends too late"),
        ("spl >= 0.8; import os", "character 11"),
        ("__import__('os').system('x')", "character 17"),
        ("(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1), "nested too deeply"),
        ("a" * (LONGEST + 1), "too long"),
        ('scene == "open', "character"),
    ],
)
def test_what_cannot_be_understood_is_refused(text, said) -> None:
    with pytest.raises(BadFilter, match=said):
        Filter.parse(text)


def test_a_name_that_nobody_has_is_refused() -> None:
    wanted = Filter.parse("success and (sppl > 0.5 or not length)")
    assert list(wanted.names()) == ["success", "sppl", "length"]
    with pytest.raises(BadFilter, match=r"'sppl'.*length, scene, spl, success"):
        wanted.check({"success", "spl", "length", "scene"})


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_a_refusal(text: str) -> None:
    with contextlib.suppress(BadFilter):
        assert Filter.parse(text).matches(GOOD) in (True, False)
