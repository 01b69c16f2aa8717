"""Open ground: straight lines, no walls."""

import math

import numpy as np

from nav_eval.scene.navigation import OpenPlane

PLANE = OpenPlane()


def test_every_finite_place_is_ground():
    assert PLANE.is_navigable((1e6, 3.0, -2.0))
    assert PLANE.snap_point((1.0, 2.0, 3.0)) == (1.0, 2.0, 3.0)
    assert PLANE.island((0.0, 0.0, 0.0)) == 0
    assert PLANE.snap_point((math.nan, 0.0, 0.0)) is None
    assert PLANE.island((math.inf, 0.0, 0.0)) is None


def test_steps_keep_the_height_and_never_collide():
    assert PLANE.try_step((0.0, 1.0, 0.0), (0.3, 9.0, 0.4), sliding=False) == ((0.3, 1.0, 0.4), False)


def test_distances_are_straight_lines_to_the_nearest_goal():
    assert PLANE.geodesic_distance((0.0, 0.0, 0.0), (3.0, 0.0, 4.0)) == 5.0
    assert PLANE.geodesic_distance((0.0, 0.0, 0.0), [(3.0, 0.0, 4.0), (0.0, 0.0, 1.0)]) == 1.0
    assert PLANE.distance_field([(3.0, 0.0, 4.0)]).distance((3.0, 0.0, 0.0)) == 4.0
    assert PLANE.distance_field([]).distance((0.0, 0.0, 0.0)) == math.inf
    assert PLANE.shortest_path((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)) == [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]


def test_random_points_follow_the_seed():
    assert PLANE.random_navigable_point(4) == PLANE.random_navigable_point(np.random.default_rng(4))
    assert PLANE.random_navigable_point(4) != PLANE.random_navigable_point(5)
    assert abs(PLANE.random_navigable_point(6)[0]) <= PLANE.extent
