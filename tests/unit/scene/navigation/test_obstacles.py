"""Things placed in a scene cut its mesh."""

import math

import numpy as np
import pytest
from navigation_worlds import Box, Geometry, floor, gap_to, room, solid, together

from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.scene.navigation.obstacles import add_obstacles, make_box, make_cylinder

RADIUS = 0.2


@pytest.fixture(scope="module")
def plain():
    geometry, _ = room(8, 6)
    return build_navigation(geometry, AgentShape(radius=RADIUS))


@pytest.mark.parametrize("height", [0.5, 3.0])  # lower and taller than the agent
@pytest.mark.parametrize("yaw", [0.0, 25.0])
def test_a_box_is_walked_around(plain, height, yaw):
    mesh = add_obstacles(plain, [make_box((0.0, height / 2, 0.0), (2.0, height, 1.0), yaw_degrees=yaw)])
    box = Box(0, 0, 1, 0.5, turn=-yaw)
    for seed in range(300):
        assert gap_to(box, mesh.random_navigable_point(seed)) > RADIUS - 0.01
    assert not mesh.is_navigable((0.0, 0.0, 0.0))
    snapped = mesh.snap_point((0.3, 0.0, 0.4))
    assert gap_to(box, snapped) == pytest.approx(RADIUS, abs=0.01)
    assert plain.is_navigable((0.0, 0.0, 0.0))
    assert plain.area - mesh.area == pytest.approx(2 * 1 + 2 * 3 * RADIUS + math.pi * RADIUS**2, rel=0.03)


def test_it_is_the_mesh_that_building_with_the_box_gives(plain):
    triangles = make_box((1.0, 0.6, 0.5), (1.0, 1.2, 0.8), yaw_degrees=30)
    geometry, _ = room(8, 6)
    merged = Geometry(triangles.reshape(-1, 3), np.arange(triangles.size // 3, dtype=np.uint32).reshape(-1, 3))
    built = build_navigation(together(geometry, merged), AgentShape(radius=RADIUS))
    cut = add_obstacles(plain, [triangles])
    assert cut.area == pytest.approx(built.area, rel=2e-3)
    start, goal = (-3.0, 0.0, 0.5), (3.0, 0.0, 0.5)
    assert cut.geodesic_distance(start, goal) == pytest.approx(built.geodesic_distance(start, goal), rel=5e-3)


def test_a_cylinder_keeps_its_distance(plain):
    mesh = add_obstacles(plain, [make_cylinder((0.0, 1.0, 0.0), radius=0.5, height=2.0)])
    snapped = mesh.snap_point((0.4, 0.0, 0.1))
    assert math.hypot(snapped[0], snapped[2]) == pytest.approx(0.7, abs=0.01)


def test_low_things_are_stepped_over_and_high_ones_passed_under(plain):
    rug = make_box((0.0, 0.02, 0.0), (2.0, 0.04, 2.0))
    lamp = make_box((2.0, 2.2, 0.0), (0.5, 0.5, 0.5))
    mesh = add_obstacles(plain, [rug, lamp])
    assert mesh.area == plain.area


def test_a_row_of_things_splits_the_ground_and_the_larger_part_stays_the_ground(plain):
    wall = [make_box((1.0, 0.5, z), (0.4, 1.0, 1.1)) for z in np.arange(-3, 3.1, 1.0)]
    mesh = add_obstacles(plain, wall)
    kept = [part for part in mesh.islands if part.index is not None]
    assert [part.index for part in kept] == [0, 1]
    assert mesh.island((-2.0, 0.0, 0.0)) == 0
    assert mesh.island((3.0, 0.0, 0.0)) == 1
    assert mesh.geodesic_distance((-2.0, 0.0, 0.0), (3.0, 0.0, 0.0)) == math.inf


def test_things_on_another_storey_change_nothing_below():
    mesh = build_navigation(
        together(
            floor([(-3, -3), (3, -3), (3, 3), (-3, 3)]),
            floor([(-3, -3), (3, -3), (3, 3), (-3, 3)], y=3.0),
            solid(Box(0, 0, 0.1, 0.1, top=0.1)),
        ),
        keep_platforms=True,
    )
    cut = add_obstacles(mesh, [make_box((0.0, 3.5, 0.0), (1.0, 1.0, 1.0))])
    assert cut.is_navigable((0.0, 0.0, 0.0))
    assert not cut.is_navigable((0.0, 3.0, 0.0))


@pytest.mark.parametrize("bad", [np.zeros((2, 3)), np.full((1, 3, 3), np.nan), np.eye(3)[None] * 1000])
def test_things_that_are_none_are_refused(plain, bad):
    with pytest.raises(NavigationMeshError, match="obstacle"):
        add_obstacles(plain, [bad])


def test_nothing_placed_is_nothing_changed(plain):
    assert add_obstacles(plain, []).islands == plain.islands
