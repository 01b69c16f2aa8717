"""Small things of later generators lie on what carries them, in rooms where one expects them."""

from collections.abc import Callable

import pytest

from nav_eval_worlds.houses import GeneratedHouse
from nav_eval_worlds.houses.house import LATER_CATEGORIES, SMALL_THINGS
from nav_eval_worlds.houses.placement.everyday import choose_small_things
from nav_eval_worlds.houses.plan.model import ROOM_KINDS
from nav_eval_worlds.houses.validation import find_problems
from nav_eval_worlds.instructions.chinese_words import NOUNS, ROOMS
from nav_eval_worlds.instructions.words import NO_TARGET
from nav_eval_worlds.randomness import RandomStream

HouseMaker = Callable[..., GeneratedHouse]


def test_small_things_lie_on_furniture(house: HouseMaker) -> None:
    made = house(1, "flat_1", "seen", 2)
    small = [item for item in made.scene.semantics.objects if item.category in SMALL_THINGS]
    assert len(small) >= 4
    assert all("on" in item.attributes for item in small)
    assert find_problems(made) == []


def test_the_first_generator_has_none_of_them(house: HouseMaker) -> None:
    made = house(1, "flat_1", "seen", 1)
    assert not {item.category for item in made.scene.semantics.objects} & set(SMALL_THINGS)
    assert not set(made.scene.semantics.categories) & set(SMALL_THINGS)


@pytest.mark.parametrize(
    ("surface", "room", "category", "often"),
    [
        ("coffee", "living room", "remote control", True),
        ("coffee", "waiting room", "remote control", False),
        ("workbench", "garage", "tool", True),
        ("vanity", "bathroom", "cup", True),
        ("vanity", "restroom", "cup", False),
        ("desk", "office", "phone", True),
        ("books", "living room", "folder", False),
        ("books", "office", "folder", True),
    ],
)
def test_things_are_where_one_looks_for_them(surface: str, room: str, category: str, often: bool) -> None:
    found = [
        maker(RandomStream(seed, "made", generator=2)).category
        for seed in range(30)
        for maker in choose_small_things(surface, room, RandomStream(seed, "choice", generator=2))
    ]
    assert (category in found) is often


def test_all_of_them_can_be_spoken_of_in_chinese() -> None:
    assert set(SMALL_THINGS) <= set(NOUNS)


def test_offices_shops_and_clinics_can_be_spoken_of_in_chinese() -> None:
    assert set(ROOM_KINDS) <= set(ROOMS)
    assert set(LATER_CATEGORIES) - NO_TARGET <= set(NOUNS)
    assert len(set(ROOMS.values())) == len(ROOMS)  # no two are called alike
