"""How statements become sentences."""

import pytest

from nav_eval.scene.model import SceneObject
from nav_eval_worlds.instructions.descriptions import Description, Reference
from nav_eval_worlds.instructions.route_chinese import ChineseRoute
from nav_eval_worlds.instructions.route_text import EnglishRoute
from nav_eval_worlds.instructions.statements import RoomPart, Statement
from nav_eval_worlds.randomness import RandomStream, Split


def name(noun: str) -> Reference:
    thing = SceneObject(object_id=1, category=noun, center=(0.0, 0.0, 0.0), size=(0.5, 0.5, 0.5), region="r")
    return Reference(things=(thing,), description=Description(noun=noun), text=f"the {noun}", short=f"the {noun}")


def make_statement(kind: str, **parts: object) -> Statement:
    return Statement(kind=kind, at=(0.0, 0.0, 0.0), heading=0.0, parts=parts, needs=(frozenset(parts),))  # type: ignore[arg-type]


@pytest.mark.parametrize("split", ["seen", "unseen"])
def test_words_agree_with_what_they_speak_of(split: Split) -> None:
    said = ""
    for seed in range(60):
        route = EnglishRoute("plain", RandomStream(seed, "route", split=split))
        told = route.write([make_statement("stop", thing=name("shoes"), side="left")])
        said += "" if told is None else told.text
    assert "shoes are on your left" in said or "them" in said or "shoes will be" in said
    assert "shoes is" not in said
    assert " it" not in said


def test_nobody_is_asked_in_chinese_to_be_where_they_are_and_the_goal_is_no_next_step() -> None:
    plan = [
        make_statement("start", room=RoomPart(kind="kitchen")),
        make_statement("cross", to=RoomPart(kind="hallway")),
        make_statement("stop", thing=name("sofa")),
    ]
    texts = []
    for seed in range(80):
        told = ChineseRoute("chatty", RandomStream(seed, "route", split="unseen")).write(plan)
        assert told is not None
        texts.append(told.text)
    assert any("劳驾" in text for text in texts)
    assert any("。目的地" in text for text in texts)
    for text in texts:
        assert text.startswith(("起点", "你站在"))
        assert not any(
            f"{word}{goal}" in text for word in ("随后", "紧接着", "而后", "下一步") for goal in ("目的地", "终点")
        )


@pytest.mark.parametrize("split", ["seen", "unseen"])
def test_a_sentence_does_not_say_twice_which_room_one_is_in(split: Split) -> None:
    hallway = RoomPart(kind="hallway")
    plan = [
        make_statement("cross", to=hallway),
        make_statement("along", room=hallway),
        make_statement("stop", thing=name("sofa")),
    ]
    for seed in range(120):
        told = EnglishRoute("verbose", RandomStream(seed, "route", split=split)).write(plan)
        assert told is not None
        assert all(sentence.lower().count("hallway") < 2 for sentence in told.text.split(". ")[1:]), told.text


def test_notes_do_not_begin_with_what_comes_next_and_nobody_walks_round_a_mirror() -> None:
    plan = [
        make_statement("cross", to=RoomPart(kind="hallway")),
        make_statement("past", thing=name("mirror"), side="left"),
        make_statement("stop", thing=name("sofa")),
    ]
    for style in ("terse", "plain"):
        for seed in range(80):
            told = EnglishRoute(style, RandomStream(seed, "route", split="unseen")).write(plan)
            assert told is not None
            assert not told.text.startswith("Next")
            assert "skirt" not in told.text.lower()
