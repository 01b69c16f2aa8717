"""How errands become sentences."""

import re
from typing import cast

import pytest

from nav_eval.scene.model import SceneObject
from nav_eval_worlds.instructions.chinese_words import NOUNS
from nav_eval_worlds.instructions.descriptions import Describer, Description, Reference
from nav_eval_worlds.instructions.errand_text import ERRANDS, StairsAhead, write_errands
from nav_eval_worlds.instructions.templates import Errand
from nav_eval_worlds.randomness import RandomStream, Split

NOBODY = cast(Describer, None)  # English names need none
WAYS = (
    None,
    StairsAhead(kind="up", flights=1, is_only=True),
    StairsAhead(kind="down", flights=1, is_only=False),
    StairsAhead(kind="up", flights=2, is_only=False),
)
LED_ON = r"(and (then|finally) )?"
CLAUSE = re.compile(rf"(^|[.,;:?] ){LED_ON}[^.,;:?]* and [^.,;:?]* and ", re.IGNORECASE)


def name(noun: str, size: float = 0.5) -> Reference:
    thing = SceneObject(object_id=1, category=noun, center=(0.0, 0.0, 0.0), size=(size, size, size), region="r")
    return Reference(things=(thing,), description=Description(noun=noun), text=f"the {noun}", short=f"the {noun}")


@pytest.mark.parametrize("split", ["seen", "unseen"])
def test_stairs_and_what_is_done_there_are_one_list(split: Split) -> None:
    vase, table, sofa = name("vase"), name("table"), name("sofa")
    errands = [Errand(thing=vase, to=table), Errand(thing=sofa, to=None), Errand(thing=vase, to=sofa)]
    led_up = 0
    for seed in range(400):
        draw = RandomStream(seed, "errands", split=split)
        stairs = [WAYS[(seed + number * (seed // 4 + 1)) % len(WAYS)] for number in range(5)]
        told = write_errands(errands, stairs, draw, language="en", describer=NOBODY)
        assert told is not None
        assert not CLAUSE.search(told.text), told.text
        assert not re.search(r"\band go (and )?(find|look|see|get)\b", told.text), told.text
        for ahead, words in zip(stairs, told.stairs, strict=True):
            assert (ahead is not None) == bool(words)
            assert words.lower() in told.text.lower()
        led_up += bool(re.search(r"stairs, (find|pick up|get|take|fetch|collect|retrieve|grab) ", told.text))
    assert led_up > 20  # the longer phrases are still used


@pytest.mark.parametrize("split", ["seen", "unseen"])
def test_nobody_is_sent_to_visit_a_small_thing(split: Split) -> None:
    said = {"cup": "", "books": "", "sofa": ""}
    for seed in range(80):
        for noun in said:
            errands = [Errand(thing=name(noun, 2.0 if noun == "sofa" else 0.2), to=None)]
            told = write_errands(
                errands, [None], RandomStream(seed, "visits", split=split), language="en", describer=NOBODY
            )
            assert told is not None
            said[noun] += told.text
    visits = re.compile(r"visit|stop by|check on|get yourself to|(to|reach) the cup|(to|reach) the books")
    assert visits.search(said["sofa"])
    assert not visits.search(said["cup"] + said["books"])
    assert "find the cup" in said["cup"]


def test_in_chinese_what_is_brought_is_put_on_its_place_and_pictures_are_no_photographs() -> None:
    for phrase in ERRANDS["zh"]["unseen"]["bring"]:
        assert "边上" not in phrase
        assert "{y}上" in phrase
    assert "最终" not in ERRANDS["zh"]["unseen"]["last"]
    assert NOUNS["picture"] == "装饰画"  # 画着一只猫的照片: nobody draws a photograph
