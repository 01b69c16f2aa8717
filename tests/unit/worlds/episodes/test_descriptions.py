"""Words that mean one thing: the checker on small rooms whose every confusion is known."""

from collections.abc import Callable

import pytest

from nav_eval.scene.model import Region, SceneObject, Semantics
from nav_eval_worlds.episodes.site import Site
from nav_eval_worlds.instructions.descriptions import Describer
from nav_eval_worlds.instructions.words import is_target

KITCHEN, BEDROOM, OTHER_BEDROOM = (
    Region(region_id=name, category=kind, lower=(x, 0.0, 0.0), upper=(x + 9.0, 2.5, 9.0))
    for name, kind, x in (("kitchen_1", "kitchen", 0.0), ("bedroom_1", "bedroom", 10.0), ("bedroom_2", "bedroom", 20.0))
)


def thing(number: int, category: str, x: float, *, colour: str | None = None, **said: str) -> SceneObject:
    """A small cube on the floor; the room follows from x."""
    room = (KITCHEN, BEDROOM, OTHER_BEDROOM)[int(x // 10)]
    attributes = {key: value for key, value in said.items() if key in ("on", "shows")}
    return SceneObject(
        object_id=number,
        category=category,
        center=(x, 0.25, 5.0),
        size=(0.5, 0.5, 0.5),
        region=room.region_id,
        name=said.get("name"),
        attributes=attributes | ({"colour": colour} if colour else {}),
    )


def describer(*things: SceneObject) -> Describer:
    return Describer(Semantics(objects=things, regions=(KITCHEN, BEDROOM, OTHER_BEDROOM)))


@pytest.mark.parametrize(
    ("others", "text"),
    [
        # the noun is enough; the room always says where to look
        ([], "the vase in the kitchen"),
        ([thing(2, "cup", 3.0)], "the vase in the kitchen"),
        # one in another room is no rival
        ([thing(2, "vase", 13.0)], "the vase in the kitchen"),
        # colour is the cheapest modifier
        ([thing(2, "vase", 3.0, colour="red")], "the green vase in the kitchen"),
        # "green" may be the dark green one, so colour does not help; the sofa does
        (
            [thing(2, "vase", 8.0, colour="dark green"), thing(3, "sofa", 1.8)],
            "the vase next to the sofa in the kitchen",
        ),
        # 1.2 m from the sofa may be "next to" it: no word singles this one out
        ([thing(2, "vase", 3.2, colour="dark green"), thing(3, "sofa", 1.8)], "one of the vases in the kitchen"),
        # alike in every way: any of them will do
        ([thing(2, "vase", 5.0, colour="green")], "one of the vases in the kitchen"),
    ],
)
def test_the_cheapest_words_that_mean_one_vase(others: list[SceneObject], text: str) -> None:
    vase = thing(1, "vase", 1.0, colour="green")
    found = describer(vase, *others).describe(vase)
    assert found is not None
    assert found.text == text
    assert vase in found.things


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (thing(1, "cabinet", 1.0), thing(2, "cabinet", 5.0, name="shoe cabinet")),  # the general word may mean either
        (thing(1, "chair", 1.0), thing(2, "armchair", 5.0)),
        (thing(1, "book", 1.0), thing(2, "books", 5.0)),
        (thing(1, "picture", 1.0), thing(2, "painting", 5.0)),
        (thing(1, "sink", 1.0, name="kitchen sink"), thing(2, "sink", 5.0)),
    ],
)
def test_words_that_may_mean_two_things_mean_both_or_are_not_used(said: SceneObject, heard: SceneObject) -> None:
    reference = describer(said, heard).describe(said)
    assert reference is None or reference.things == (said, heard)


def test_a_special_word_is_enough_among_general_ones() -> None:
    shoe_cabinet = thing(1, "cabinet", 1.0, name="shoe cabinet")
    found = describer(shoe_cabinet, thing(2, "cabinet", 5.0)).describe(shoe_cabinet)
    assert found is not None
    assert found.text == "the shoe cabinet in the kitchen"


def test_rooms_of_one_kind_are_told_apart_by_what_only_one_has() -> None:
    lamp, other = thing(1, "lamp", 11.0), thing(2, "lamp", 21.0)
    piano = thing(3, "piano", 18.0)
    found = describer(lamp, other, piano).describe(lamp)
    assert found is not None
    assert found.text == "the lamp in the bedroom with the piano"
    assert found.things == (lamp,)


def test_rooms_of_one_kind_are_told_apart_by_their_walls() -> None:
    walls = [thing(8, "wall", 11.0, colour="light green"), thing(9, "wall", 21.0, colour="white")]
    lamp, other = thing(1, "lamp", 11.0), thing(2, "lamp", 21.0)
    found = describer(lamp, other, *walls).describe(lamp)
    assert found is not None
    assert found.text == "the lamp in the bedroom with the light green walls"


def test_nothing_is_said_where_nothing_helps() -> None:
    lamp, other = thing(1, "lamp", 11.0), thing(2, "lamp", 21.0)
    assert describer(lamp, other).describe(lamp) is None


def test_paintings_are_known_by_what_they_show() -> None:
    cat, boat = thing(1, "painting", 1.0, shows="a cat"), thing(2, "painting", 5.0, shows="a sailing boat")
    found = describer(cat, boat).describe(cat)
    assert found is not None
    assert found.text == "the painting of a cat in the kitchen"


def test_in_a_real_flat_every_description_means_exactly_its_things(site_of: Callable[[str], Site]) -> None:
    semantics = site_of("lh_vln").around.semantics
    words = Describer(semantics)
    targets = [item for item in semantics.objects if is_target(item)]
    found = [(item, reference) for item in targets if (reference := words.describe(item)) is not None]
    assert len(found) > len(targets) / 2
    for item, reference in found:
        assert item in reference.things
        assert words.resolve(reference.description) == reference.things
        assert reference.text.startswith("the " if reference.is_unique else "one of the ")
