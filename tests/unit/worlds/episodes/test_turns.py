"""Which turns of a way are worth a word."""

import math
from types import SimpleNamespace
from typing import cast

import pytest

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Region
from nav_eval_worlds.episodes.route_plan import find_turn
from nav_eval_worlds.episodes.site import Site
from nav_eval_worlds.episodes.way import SPACING, Way

HALL = Region(region_id="hall", category="hallway", lower=(-50.0, 0.0, -50.0), upper=(50.0, 3.0, 50.0))


def make_way(*legs: tuple[float, float]) -> Way:
    """A way in one room, of legs: degrees to the left of where it began, and metres."""
    points: list[Vec3] = [(0.0, 0.0, 0.0)]
    for degrees, metres in legs:
        dx, dz = -math.sin(math.radians(degrees)) * SPACING, -math.cos(math.radians(degrees)) * SPACING
        for _ in range(round(metres / SPACING)):
            x, _, z = points[-1]
            points.append((x + dx, 0.0, z + dz))
    place = SimpleNamespace(around=SimpleNamespace(region_at=lambda point: HALL))
    return Way(cast(Site, place), points)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("aside", [0.6, 0.8, 1.0, 1.2])
def test_a_bend_that_the_way_takes_back_at_once_is_none(side: int, aside: float) -> None:
    way = make_way((0, 4.0), (side * 80, aside), (0, 4.0))
    (stretch,) = way.stretches
    assert max(abs(way.measure_turn(at)) for at in range(30, 60)) >= 55  # sharp enough to be seen
    assert find_turn(way, stretch) is None


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("later", [4.0, 1.6])
def test_a_corner_is_a_turn_to_its_side(side: int, later: float) -> None:
    way = make_way((0, 4.0), (side * 80, later), (side * 80 if later > 2 else side * 20, 4.0))
    (stretch,) = way.stretches
    at = find_turn(way, stretch)
    assert at is not None
    assert abs(at - 40) <= 3 or later < 2
    assert side * way.measure_turn(at) >= 55


@pytest.mark.parametrize("legs", [((0, 8.0),), ((0, 4.0), (30, 4.0)), ((0, 1.0), (80, 4.0))])
def test_straight_ways_slight_bends_and_corners_at_the_beginning_are_none(
    legs: tuple[tuple[float, float], ...],
) -> None:
    way = make_way(*legs)
    (stretch,) = way.stretches
    assert find_turn(way, stretch) is None
