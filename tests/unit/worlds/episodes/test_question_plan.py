"""Which questions are asked: the answer does not depend on the words, and options are not confused."""

from collections import Counter

from nav_eval_worlds.episodes.house_facts import Fact
from nav_eval_worlds.episodes.question_plan import plan_questions
from nav_eval_worlds.randomness import RandomStream


def make_fact(scene: int, words: tuple[str, ...], answer: str, *, kind: str = "existence") -> Fact:
    return Fact(kind=kind, words=words, answer=answer, scene=f"house_{scene}", region="r", evidence=())


def test_what_has_one_answer_everywhere_is_not_asked() -> None:
    facts = [make_fact(scene, ("sink", "kitchen"), "yes") for scene in range(9)]
    assert plan_questions(facts, count=5, draw=RandomStream(0)) == []


def test_rare_things_are_not_there_as_often_as_they_are() -> None:
    """Each thing is in one house of ten; who always says no is right half the time."""
    facts = [
        make_fact(scene, (f"thing {n}", "kitchen"), "yes" if scene == n % 10 else "no")
        for n in range(400)
        for scene in range(10)
    ]
    planned = plan_questions(facts, count=1000, draw=RandomStream(3))
    assert len(planned) == 400  # each once: the rarest answer is true in one house
    said = Counter(question.fact.answer for question in planned)
    assert abs(said["yes"] - 200) < 1.96 * 10


def test_colours_that_are_offered_differ_plainly() -> None:
    shades = ["dark grey", "black", "grey", "light grey", "red"]
    facts = [make_fact(scene, ("sofa",), colour, kind="colour") for scene, colour in enumerate(shades)]
    (question,) = plan_questions(facts, count=5, draw=RandomStream(0))
    assert "red" in question.options
    assert not {"dark grey", "black"} <= set(question.options)
    assert question.fact.answer in question.options


def test_kinds_take_turns() -> None:
    facts = [
        make_fact(scene, (f"thing {n}",), answer, kind=kind)
        for n in range(9)
        for kind, answers in (("existence", ("yes", "no")), ("count", ("1", "2")))
        for scene, answer in enumerate(answers)
    ]
    planned = plan_questions(facts, count=8, draw=RandomStream(0))
    assert Counter(question.fact.kind for question in planned) == {"existence": 4, "count": 4}
