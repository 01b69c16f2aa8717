"""Offices, shops and clinics, and that nothing floats in any building of the second generator."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nav_eval.errors import UnknownName
from nav_eval.generator_version import GeneratorVersion
from nav_eval_worlds.houses import GeneratedHouse, generate_house, generation
from nav_eval_worlds.houses.plan.model import PUBLIC_TEMPLATES
from nav_eval_worlds.houses.support import find_floating
from nav_eval_worlds.houses.validation import find_problems

HouseMaker = Callable[..., GeneratedHouse]
WANTED = {
    "office_floor": {"desk", "office chair", "reception desk", "toilet"},
    "shop": {"counter", "shelf"},
    "clinic": {"examination table", "bench", "desk", "sink"},
}


@pytest.mark.slow
@pytest.mark.parametrize("template", PUBLIC_TEMPLATES)
@pytest.mark.parametrize("split", ["seen", "unseen"])
def test_a_building_keeps_every_promise(house: HouseMaker, template: str, split: str) -> None:
    made = house(4, template, split, 2)
    assert find_problems(made) == []
    assert {item.category for item in made.scene.semantics.objects} >= WANTED[template]


def test_the_first_generator_makes_homes_only() -> None:
    with pytest.raises(UnknownName, match="duplex_5"):
        generate_house(1, template="clinic")
    with pytest.raises(UnknownName, match="clinic"):
        generate_house(1, template="palace", generator=2)


def test_a_thing_in_the_air_is_noticed(house: HouseMaker) -> None:
    made = house(1, "flat_1", "seen", 2)
    assert list(find_floating(made)) == []
    for wanted in (lambda placed: placed.on is not None, lambda placed: placed.piece.category == "bed"):
        number = next(number for number, placed in enumerate(made.furniture) if wanted(placed))
        x, y, z = made.furniture[number].position
        lifted = replace(made.furniture[number], position=(x, y + 0.05, z))
        furniture = (*made.furniture[:number], lifted, *made.furniture[number + 1 :])
        assert any("cm away" in finding for finding in find_floating(replace(made, furniture=furniture)))


@pytest.mark.parametrize(("generator", "attempts"), [(1, 1), (2, 2)])
def test_a_house_with_a_thing_in_the_air_is_drawn_anew(
    generator: GeneratorVersion, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[GeneratedHouse] = []

    def lift_in_the_first(*arguments: Any) -> GeneratedHouse:
        made = make(*arguments)
        if not drawn:
            number = next(number for number, placed in enumerate(made.furniture) if placed.piece.category == "bed")
            x, y, z = made.furniture[number].position
            lifted = replace(made.furniture[number], position=(x, y + 0.05, z))
            made = replace(made, furniture=(*made.furniture[:number], lifted, *made.furniture[number + 1 :]))
        drawn.append(made)
        return made

    make = generation._generate_once
    monkeypatch.setattr(generation, "_generate_once", lift_in_the_first)
    kept = generate_house(1, template="flat_1", generator=generator)
    assert len(drawn) == attempts
    assert kept.furniture == drawn[-1].furniture
    assert bool(list(find_floating(kept))) == (generator == 1)


@pytest.mark.slow
def test_nothing_floats_among_five_hundred_things(house: HouseMaker) -> None:
    houses = [house(seed, template, split, 2) for seed, template, split in CASES]
    assert sum(len(made.furniture) for made in houses) > 500
    assert [finding for made in houses for finding in find_floating(made)] == []


CASES = [(1, "flat_2", "unseen"), (2, "house_2", "seen"), (3, "duplex_3", "seen"), (4, "clinic", "seen")]
