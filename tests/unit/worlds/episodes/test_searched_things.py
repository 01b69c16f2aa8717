"""What is large enough to be looked for by the name of its category."""

from collections.abc import Callable

import pytest

from nav_eval.generator_version import GeneratorVersion
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import SceneObject
from nav_eval_worlds.episodes.balance import Quota
from nav_eval_worlds.episodes.base import GenerationRequest
from nav_eval_worlds.episodes.single_goal import ObjectNavGenerator, is_worth_a_search
from nav_eval_worlds.episodes.site import Site


@pytest.mark.parametrize(
    ("size", "first", "second"),
    [
        ((0.05, 0.02, 0.2), True, False),  # a remote control
        ((0.16, 0.02, 0.24), True, False),  # a tablet
        ((0.08, 0.3, 0.08), True, False),  # a bottle
        ((0.1, 0.1, 0.1), False, False),  # a cup
        ((0.4, 0.15, 0.4), True, True),  # a cushion
        ((0.02, 0.3, 0.3), True, True),  # a picture on a wall
        ((0.3, 0.2, 0.2), True, True),  # a toaster
        ((0.5, 1.0, 0.5), True, True),  # a chair
    ],
)
def test_small_things_are_no_goals_of_the_second_generator(size: Vec3, first: bool, second: bool) -> None:
    verdicts: dict[GeneratorVersion, bool] = {1: first, 2: second}
    for generator, expected in verdicts.items():
        for turned in (size, size[::-1]):
            thing = SceneObject(object_id=1, category="thing", center=(0.0, 0.0, 0.0), size=turned, region="r")
            assert is_worth_a_search(thing, generator) is expected


def test_the_generator_leaves_small_categories_out_from_version_two_on(site_of: Callable[[str], Site]) -> None:
    site = site_of("objectnav")
    sought: dict[GeneratorVersion, set[str]] = {}
    versions: tuple[GeneratorVersion, ...] = (1, 2)
    for generator in versions:
        order = GenerationRequest(benchmark=site.benchmark, count=1, seed=1, split="test", generator=generator)
        made = ObjectNavGenerator([site], order, Quota(expected=1))
        sought[generator] = {goal.category for goal in made.sought(site)}
    assert sought[2] < sought[1]
    for category in sought[1] - sought[2]:
        things = [thing for thing in site.around.semantics.objects if thing.category == category]
        assert not any(is_worth_a_search(thing, 2) for thing in things)
