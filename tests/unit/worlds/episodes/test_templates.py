"""The sentences of generated instructions: two banks without a common template, and English in every combination."""

import re
from itertools import pairwise
from string import Formatter

import pytest

from nav_eval.scene.model import SceneObject
from nav_eval_worlds.instructions.descriptions import Description, Reference
from nav_eval_worlds.instructions.templates import (
    ERRAND_BANKS,
    ROUTES,
    SITUATIONS,
    Errand,
    Phrases,
    Templates,
    render_errands,
)
from nav_eval_worlds.instructions.words import (
    can_be_called,
    can_be_coloured,
    can_be_put_on,
    get_noun,
    get_pronoun,
    is_portable,
    join_words,
    to_plural,
    to_sentence,
)
from nav_eval_worlds.randomness import RandomStream, Split


def errand_templates(split: Split) -> set[str]:
    bank = ERRAND_BANKS[split]
    said = {*bank.find, *bank.bring, *bank.two, *bank.three, *bank.four, *bank.wrap}
    return said - {"{all}"}


def test_seen_and_unseen_errands_share_no_template() -> None:
    assert errand_templates("seen").isdisjoint(errand_templates("unseen"))


@pytest.mark.parametrize("banks", [ROUTES, SITUATIONS])
def test_seen_and_unseen_phrases_share_no_template(banks: dict[Split, Templates]) -> None:
    assert banks["seen"].keys() == banks["unseen"].keys()
    for key, templates in banks["seen"].items():
        assert set(templates).isdisjoint(banks["unseen"][key])


@pytest.mark.parametrize("banks", [ROUTES, SITUATIONS])
def test_both_banks_say_the_same_things(banks: dict[Split, Templates]) -> None:
    """What one template tells, all of its key tell: a side that is left out would make the others unfair."""
    for key in banks["seen"]:
        told = [
            {name for _, name, _, _ in Formatter().parse(template) if name and name != "opening"}
            for bank in banks.values()
            for template in bank[key]
        ]
        assert all(names == told[0] for names in told), key


def reference(noun: str, room: str = "kitchen") -> Reference:
    return Reference(
        description=Description(noun=noun), things=(), text=f"the {noun} in the {room}", short=f"the {noun}"
    )


@pytest.mark.parametrize("split", ["seen", "unseen"])
@pytest.mark.parametrize(
    "errands",
    [
        [Errand(thing=reference("vase"))],
        [Errand(thing=reference("books"), to=reference("desk"))],
        [Errand(thing=reference("vase")), Errand(thing=reference("shoes"), to=reference("bench"))],
        [Errand(thing=reference("cup"), to=reference("desk")), *[Errand(thing=reference(n)) for n in ("tv", "bed")]],
        [Errand(thing=reference(noun)) for noun in ("cup", "tv", "bed", "sink")],
    ],
)
def test_errands_are_said_in_order_and_in_sentences(errands: list[Errand], split: Split) -> None:
    wanted = [leg.text for errand in errands for leg in errand.legs]
    for seed in range(40):
        text = render_errands(errands, RandomStream(seed, split=split))
        places = [text.index(words) for words in wanted]
        assert places == sorted(places)
        assert re.fullmatch(r"([A-Z][^.{}]*\.( |$))+", text), text
        assert not re.search(r": [^.]*: |\b(it) (to|on) .*\bbooks\b", text), text
        assert (" them " in text) == any(
            errand.to and errand.thing.description.noun.endswith("s") for errand in errands
        )


def test_the_same_words_do_not_come_twice_in_a_row() -> None:
    phrases = Phrases(ROUTES, RandomStream(1))
    said = [phrases.say("leave", room="kitchen") for _ in range(6)]
    assert all(one != other for one, other in pairwise(said))


@pytest.mark.parametrize(
    ("noun", "many"),
    [("vase", "vases"), ("box", "boxes"), ("bench", "benches"), ("bookshelf", "bookshelves"), ("books", "books"),
     ("toy", "toys"), ("dining room", "dining rooms"), ("laundry", "laundries")],
)  # fmt: skip
def test_plurals(noun: str, many: str) -> None:
    assert to_plural(noun) == many


def test_small_words() -> None:
    assert (get_pronoun("books"), get_pronoun("vase")) == ("them", "it")
    assert [join_words(parts) for parts in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
    assert (to_sentence("go on"), to_sentence("Go on.")) == ("Go on.", "Go on.")


def thing(category: str, *, name: str | None = None, colour: str = "green", size: float = 0.3) -> SceneObject:
    return SceneObject(
        object_id=1, category=category, name=name, center=(0, 0, 0), size=(size,) * 3, attributes={"colour": colour}
    )


@pytest.mark.parametrize(
    ("noun", "other", "may"),
    [
        ("cabinet", thing("cabinet", name="shoe cabinet"), True),  # the general word
        ("shoe cabinet", thing("cabinet"), False),  # the special word
        ("chair", thing("armchair"), True),
        ("sofa", thing("couch"), True),
        ("books", thing("book"), True),
        ("table lamp", thing("floor lamp"), False),
        ("cup", thing("cupboard"), False),
    ],
)
def test_what_a_word_may_mean(noun: str, other: SceneObject, may: bool) -> None:
    assert can_be_called(noun, other) is may


@pytest.mark.parametrize(
    ("said", "own", "may"),
    [("green", "dark green", True), ("dark green", "green", False), ("green", "green", True), ("red", "green", False)],
)
def test_what_a_colour_may_mean(said: str, own: str, may: bool) -> None:
    assert can_be_coloured(said, thing("vase", colour=own)) is may


def test_what_can_be_carried_and_where_it_belongs() -> None:
    assert is_portable(thing("toy", name="teddy bear"))
    assert not is_portable(thing("box", size=1.2))
    assert not is_portable(thing("stove"))
    assert not can_be_put_on(thing("kettle"), thing("bed"))
    assert can_be_put_on(thing("kettle"), thing("desk"))
    assert can_be_put_on(thing("toy", name="teddy bear"), thing("bed"))
    assert get_noun(thing("sink", name="kitchen sink")) == "sink"


@pytest.mark.parametrize("banks", [ROUTES])
def test_clauses_can_be_joined_by_and(banks: dict[Split, Templates]) -> None:
    for bank in banks.values():
        assert not [template for templates in bank.values() for template in templates if " and " in template]
