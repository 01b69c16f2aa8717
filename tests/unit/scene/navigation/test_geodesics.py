"""Geodesic distances against the exact visibility graph, and what every distance must obey."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from navigation_worlds import ROOMS, crosses, exact_distances, flat, floor, room_mesh, stairs, together

from nav_eval.scene.navigation import build_navigation

seeds = st.integers(0, 10**6)
GOAL = (-3.0, 0.0, 0.0)

unhurried = settings(deadline=None)  # the first example builds a mesh
worlds = st.sampled_from([(name, turn) for name in ROOMS for turn in (0.0, 17.0)])


@pytest.mark.parametrize("turn", [0.0, 17.0])
@pytest.mark.parametrize("name", ROOMS)
def test_distances_are_within_one_percent_of_exact_on_average(name, turn):
    mesh, boxes = room_mesh(name, turn)
    errors = []
    for seed in range(2):
        goal = mesh.random_navigable_point(seed)
        points = [mesh.random_navigable_point(1000 * seed + k + 10) for k in range(30)]
        exact = exact_distances(boxes, 0.2, flat(goal), np.array([flat(point) for point in points]))
        field = mesh.distance_field([goal])
        ours = np.array([field.distance(point) for point in points])
        far = exact > 1.0
        errors.append((ours[far] - exact[far]) / exact[far])
    relative = np.concatenate(errors)
    assert relative.mean() < 0.01
    assert np.percentile(relative, 95) < 0.02
    assert relative.max() < 0.05
    assert relative.min() > -0.003  # below the exact way only by the resolution of the walls


@unhurried
@given(worlds, seeds, seeds)
def test_never_below_the_straight_line_and_nothing_to_itself(world, first, second):
    mesh, _ = room_mesh(*world)
    a, b = mesh.random_navigable_point(first), mesh.random_navigable_point(second % 5)
    distance = mesh.geodesic_distance(a, b)
    assert distance >= math.dist(a, b) - 1e-12
    assert mesh.geodesic_distance(b, b) == 0.0


@unhurried
@given(worlds, st.integers(0, 4), st.integers(0, 4), seeds)
def test_symmetric_and_triangular_within_the_accuracy(world, first, second, third):
    mesh, _ = room_mesh(*world)
    a, b, c = (mesh.random_navigable_point(seed) for seed in (first, second, third))
    there, back = mesh.geodesic_distance(a, b), mesh.geodesic_distance(b, a)
    assert there == pytest.approx(back, rel=0.02, abs=0.01)
    assert mesh.geodesic_distance(c, a) <= 1.02 * (mesh.geodesic_distance(c, b) + mesh.geodesic_distance(b, a)) + 0.01


@unhurried
@given(worlds, st.integers(0, 4), seeds)
def test_paths_are_walkable_and_as_long_as_they_say(world, goal_seed, seed):
    mesh, boxes = room_mesh(*world)
    start, goal = mesh.random_navigable_point(seed), mesh.random_navigable_point(goal_seed)
    path = mesh.shortest_path(start, goal)
    assert (path[0], path[-1]) == (start, goal)
    assert sum(math.dist(a, b) for a, b in pairwise(path)) == pytest.approx(
        mesh.geodesic_distance(start, goal), rel=1e-9
    )
    for a, b in pairwise(path):
        assert not any(crosses(box, a, b) for box in boxes)
        assert mesh.try_step(a, b, sliding=False).position == pytest.approx(b, abs=1e-3)


@unhurried
@given(seeds, st.floats(0, 2 * math.pi))
def test_a_step_changes_the_distance_by_no_more_than_the_step(seed, angle):
    mesh, _ = room_mesh("u shape", 17.0)
    field = mesh.distance_field([mesh.random_navigable_point(1)])
    start = mesh.random_navigable_point(seed)
    position, _ = mesh.try_step(
        start, (start[0] + 0.1 * math.cos(angle), 0.0, start[2] + 0.1 * math.sin(angle)), sliding=True
    )
    assert abs(field.distance(position) - field.distance(start)) <= 0.1 + 0.06


def test_the_order_of_questions_does_not_matter():
    mesh, _ = room_mesh("u shape", 17.0)
    goals = [mesh.random_navigable_point(seed) for seed in (1, 2)]
    points = [mesh.random_navigable_point(seed) for seed in range(100, 160)]
    by_distance = sorted(points, key=mesh.distance_field(goals).distance)
    for order in (points, by_distance, by_distance[::-1]):
        field = mesh._make_field(tuple(goals))
        answers = {point: field.distance(point) for point in order}
        assert answers == {point: mesh.distance_field(goals).distance(point) for point in points}


def test_a_field_spreads_no_farther_than_it_is_asked():
    mesh, _ = room_mesh("door")
    near, far = sorted((mesh.random_navigable_point(seed) for seed in range(20)), key=lambda p: math.dist(p, GOAL))[
        ::19
    ]
    field = mesh._make_field((GOAL,))
    touched = []
    for point in (near, far):
        field.distance(point)
        touched.append(np.count_nonzero(field._field.nodes["state"]))
    assert touched[0] < touched[1] / 3


def test_the_nearest_of_several_goals_counts():
    mesh, _ = room_mesh("door")
    goals = [mesh.random_navigable_point(seed) for seed in range(4)]
    start = mesh.random_navigable_point(9)
    apart = [mesh.geodesic_distance(start, goal) for goal in goals]
    assert mesh.geodesic_distance(start, goals) == pytest.approx(min(apart), rel=0.01)
    assert mesh.distance_field(goals) is mesh.distance_field(goals)


def test_goals_off_the_ground_are_moved_onto_it_and_hopeless_ones_left_out():
    mesh, _ = room_mesh("two walls")
    start, good, lost = (-3.0, 0.0, 0.0), (3.0, 0.7, 0.0), (90.0, 0.0, 0.0)
    assert mesh.geodesic_distance(start, [good, lost]) == mesh.geodesic_distance(start, (3.0, 0.0, 0.0))
    assert mesh.geodesic_distance(start, [lost]) == math.inf
    assert mesh.geodesic_distance(start, []) == math.inf
    assert mesh.shortest_path(start, lost) == []
    assert mesh.shortest_path(lost, start) == []


def test_other_islands_are_infinitely_far():
    mesh = build_navigation(
        together(floor([(-3, -2), (0, -2), (0, 2), (-3, 2)]), floor([(2, -2), (4, -2), (4, 2), (2, 2)]))
    )
    assert mesh.geodesic_distance((-1.0, 0.0, 0.0), (3.0, 0.0, 0.0)) == math.inf
    assert mesh.shortest_path((-1.0, 0.0, 0.0), (3.0, 0.0, 0.0)) == []


def test_a_stair_is_as_long_as_the_ramp_beside_it():
    count, run, rise = 14, 0.28, 0.18
    length, top = count * run, count * rise
    ground, upper = (
        floor([(-2, -3), (0.05, -3), (0.05, 3), (-2, 3)]),
        floor([(length, -3), (length + 2, -3), (length + 2, 3), (length, 3)], y=top),
    )
    ramp = floor([(0, 0, 1), (length, top, 1), (length, top, 3), (0, 0, 3)])
    mesh = build_navigation(together(ground, upper, stairs(count, z=-2, width=2.0), ramp))
    by_stair = mesh.geodesic_distance((-1.0, 0.0, -2.0), (length + 1, top, -2.0))
    by_ramp = mesh.geodesic_distance((-1.0, 0.0, 2.0), (length + 1, top, 2.0))
    exact = 2 + math.hypot(length, top)
    assert by_ramp == pytest.approx(exact, rel=0.01)
    assert by_stair == pytest.approx(exact, rel=0.03)


def test_old_fields_are_forgotten_when_there_are_too_many(monkeypatch):
    mesh, _ = room_mesh("door", radius=0.3)
    first = mesh.distance_field([(0.0, 0.0, 1.0)])
    monkeypatch.setattr("nav_eval.scene.navigation.mesh.FIELD_BYTES", first.nbytes)
    mesh.distance_field([(0.0, 0.0, 2.0)])
    assert mesh.distance_field([(0.0, 0.0, 1.0)]) is not first
