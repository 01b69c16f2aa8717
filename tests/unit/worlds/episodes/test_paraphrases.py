"""A paraphrase is taken only if it states the same."""

import pytest

from nav_eval.dataset.episode import Episode, Instruction, PrivateEpisode, PublicEpisode
from nav_eval.records.geometry import Pose
from nav_eval_worlds.instructions.paraphrases import ORIGINAL, find_changes, rewrite_texts

TEXT = "Turn left and leave the bedroom. Pass the red sofa on your right, go upstairs, and stop at the coffee table."


def make_episode(text: str, language: str = "en") -> Episode:
    public = PublicEpisode(episode_id="e", instruction=Instruction(text=text, language=language))
    return Episode(public=public, private=PrivateEpisode(scene_id="s", start=Pose((0.0, 0.0, 0.0))))


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        (TEXT.replace("Turn left and leave", "Go left, out of"), None),
        (TEXT.replace("sofa", "couch").replace("go upstairs", "climb the stairs"), None),
        (TEXT.replace("left", "right"), 'no longer says "left"'),
        (TEXT.replace("Turn left and leave", "Leave"), 'no longer says "left"'),
        (TEXT.replace("red ", ""), 'no longer names "red"'),
        (TEXT.replace("coffee table", "table"), 'no longer names "coffee table"'),
        (TEXT.replace("upstairs", "on"), 'no longer says "up"'),
        (TEXT.replace("upstairs", "downstairs"), 'says "down", which the text did not'),
        (TEXT.replace("stop at", "stop between the lamp and"), 'names "lamp", which'),
        (TEXT.replace("stop at", "stop between the giraffe and"), 'speaks of "giraffe"'),
        (TEXT.replace("Pass", "Do not pass"), "refuses 1 times instead of 0"),
        (
            "Stop at the coffee table after going left, out of the bedroom, past the red sofa on the right, upstairs.",
            "order",
        ),
    ],
)
def test_what_changes_is_found(other: str, problem: str | None) -> None:
    found = find_changes(TEXT, other)
    assert found == [] if problem is None else any(problem in sentence for sentence in found)


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ("先右转，再从卫生间出去，沿楼梯下去，走到客厅里白色的花瓶旁边。", True),
        ("先左转，再从卫生间出去，沿楼梯下去，走到客厅里白色的花瓶旁边。", False),
        ("先右转，再从卫生间出去，走到客厅里白色的花瓶旁边。", False),
        ("先右转，再从卫生间出去，沿楼梯下去，走到客厅里白色的花瓶旁边，别去厨房。", False),
    ],
)
def test_chinese_is_compared_too(other: str, is_same: bool) -> None:
    text = "右拐，出卫生间，顺楼梯下去。紧接着前往客厅，抵达白色的花瓶跟前即可。"
    assert (find_changes(text, other, language="zh") == []) is is_same


def test_a_toy_paraphraser_is_believed_where_it_tells_the_truth() -> None:
    def say_again(text: str, *, language: str, seed: int) -> str:
        assert language == "en"
        return text.replace("Pass the red sofa", "Walk  past the red couch")

    (told,) = rewrite_texts([make_episode(TEXT)], say_again, seed=1)
    assert told.instruction is not None
    assert "Walk past the red couch on your right" in told.instruction.text
    assert told.private.info[ORIGINAL] == TEXT


def test_one_that_lies_changes_nothing_and_is_asked_thrice() -> None:
    seeds = []

    def lie(text: str, *, language: str, seed: int) -> str:
        seeds.append(seed)
        return text.replace("left", "right")

    (told,) = rewrite_texts([make_episode(TEXT)], lie, seed=1)
    assert told == make_episode(TEXT)
    assert len(set(seeds)) == 3
