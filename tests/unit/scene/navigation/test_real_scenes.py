"""Scenes that people made: floors right, walls solid, stairs climbed."""

import math
from functools import cache

import numpy as np
import pytest

from nav_eval.scene.formats import read_scene
from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.scene.navigation.top_down_map import find_floor_heights
from support.paths import ROOT

SCENES = ROOT / "../shared/data/scenes"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SCENES.is_dir(), reason="the sample scenes are not here"),
]


@cache
def mesh_of(name, climb=0.2):
    return build_navigation(read_scene(SCENES / f"{name}.glb"), AgentShape(max_climb=climb))


def test_the_small_house_is_one_ground():
    mesh = mesh_of("small_house")
    assert mesh.islands[0].height == pytest.approx(0.0, abs=0.02)
    assert mesh.area == pytest.approx(138, abs=8)  # 19 × 11 m less garden corners, walls and furniture
    assert sum(part.index is not None for part in mesh.islands) == 1
    assert all(part.area < 3 for part in mesh.islands[1:])  # tables, beds, shelves


def test_a_walk_through_the_small_house_is_longer_than_the_straight_line():
    mesh = mesh_of("small_house")
    bedroom, dining = mesh.snap_point((-7.5, 0.0, -3.5)), mesh.snap_point((7.0, 0.0, -3.0))
    distance = mesh.geodesic_distance(bedroom, dining)
    assert math.dist(bedroom, dining) * 1.02 < distance < math.dist(bedroom, dining) * 1.5


def test_the_hospital_has_two_floors_and_no_way_through_the_ceiling():
    # its stairs run into the upper floor's slab, which has no opening: two grounds, as Recast finds as well
    mesh = mesh_of("hospital_two_floors")
    assert find_floor_heights(mesh) == pytest.approx((0.0, 3.0), abs=0.05)
    lower, upper = mesh.islands[0], mesh.islands[1]
    assert lower.area == pytest.approx(1140, rel=0.03)
    assert upper.area == pytest.approx(1130, rel=0.03)
    start = mesh.snap_point((0.0, 0.0, 0.0))
    above = mesh.snap_point((start[0], 3.0, start[2]))
    assert above is not None
    assert abs(above[1] - 3.0) < 0.1
    assert mesh.geodesic_distance(start, above) == math.inf


@pytest.mark.parametrize(("climb", "connected"), [(0.2, False), (0.35, True)])
def test_stairs_of_the_collision_world_need_the_climb(climb, connected):
    mesh = mesh_of("collision-world", climb)
    lower, upper = mesh.snap_point((0.0, -1.75, 10.0)), mesh.snap_point((14.0, 0.3, -10.0))
    assert lower[1] == pytest.approx(-1.75, abs=0.05)
    assert (upper[1] > 0) is connected  # else the upper floor is only a platform, and the ground below is nearest
    assert math.isfinite(mesh.geodesic_distance(lower, upper))


@pytest.mark.parametrize("name", ["small_house", "collision-world", "hospital_two_floors"])
def test_long_walks_stay_on_the_ground(name):
    mesh = mesh_of(name)
    rng = np.random.default_rng(0)
    turns = np.cumsum(rng.normal(0, 0.4, 20_000))
    moves = 0.25 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    start = mesh.random_navigable_point(0)
    positions, collided = mesh.walk(start, moves, sliding=True)
    assert 0.001 < collided.mean() < 0.9
    assert all(mesh.island(tuple(position)) == 0 for position in positions[::20].tolist())
    steps = np.linalg.norm(np.diff(positions[:, [0, 2]], axis=0), axis=1)
    assert steps.max() < 0.2501
    assert np.abs(np.diff(positions[:, 1])).max() < 0.5
