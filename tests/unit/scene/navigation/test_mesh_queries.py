"""Asking the mesh: what must hold for every point and every step."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from navigation_worlds import Box, crosses, floor, gap_to, room, room_mesh, solid, stairs, together

from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation import AgentShape, Ground, build_navigation

RADIUS = 0.2
coordinates = st.floats(-6, 6)
worlds = st.sampled_from([(name, turn) for name in ("two walls", "u shape", "boxes") for turn in (0.0, 17.0)])
angles = st.floats(0, 2 * math.pi)
unhurried = settings(deadline=None)  # the first example builds a mesh


def towards(start, angle, length):
    return (start[0] + length * math.cos(angle), start[1], start[2] + length * math.sin(angle))


@unhurried
@given(worlds, coordinates, st.floats(-1, 2), coordinates)
def test_snapping_ends_on_the_ground_and_twice_is_once(world, x, y, z):
    mesh, boxes = room_mesh(*world)
    snapped = mesh.snap_point((x, y, z))
    if snapped is not None:
        assert mesh.is_navigable(snapped)
        assert mesh.snap_point(snapped) == snapped
        assert all(math.isfinite(part) for part in snapped)
        assert min(gap_to(box, snapped) for box in boxes) >= RADIUS - 0.01


@unhurried
@given(worlds, coordinates, coordinates)
def test_snapping_finds_the_nearest_place(world, x, z):
    mesh, _ = room_mesh(*world)
    snapped = mesh.snap_point((x, 0.0, z))
    for angle in np.linspace(0, 2 * math.pi, 8, endpoint=False):
        for length in (0.1, 0.4):
            other = towards((x, 0.0, z), angle, length)
            if mesh.is_navigable(other):
                assert snapped is not None
                assert math.dist(snapped, (x, 0.0, z)) <= length + 0.011  # what `is_navigable` forgives


@given(worlds, st.integers(0, 10**6), angles, st.sampled_from([0.05, 0.25, 1.0, 5.0]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_steps_stay_on_the_ground_and_never_cross_a_wall(world, seed, angle, length, sliding):
    mesh, boxes = room_mesh(*world)
    start = mesh.random_navigable_point(seed)
    end = towards(start, angle, length)
    position, collided = mesh.try_step(start, end, sliding=sliding)
    assert mesh.is_navigable(position)
    assert mesh.island(position) == mesh.island(start)
    assert math.dist(start, position) <= length + 1e-9
    if not collided:
        assert math.dist(position, end) < 5e-3  # grazing a wall may bend a step by what a collision forgives
    if not sliding:
        assert not any(crosses(box, start, position) for box in boxes)
        along = (position[0] - start[0]) * math.sin(angle) - (position[2] - start[2]) * math.cos(angle)
        assert abs(along) < 1e-9  # on the line


@unhurried
@given(worlds, st.integers(0, 10**6), angles)
def test_a_step_onto_open_ground_ends_exactly_where_it_should(world, seed, angle):
    mesh, boxes = room_mesh(*world)
    start = mesh.random_navigable_point(seed)
    end = towards(start, angle, 0.25)
    if min(gap_to(box, start) for box in boxes) > 0.5:
        assert mesh.try_step(start, end, sliding=False) == ((end[0], start[1], end[2]), False)


@pytest.mark.parametrize("turn", [0.0, 17.0, 30.0, 45.0, 60.0])
def test_sliding_keeps_the_motion_along_the_wall(turn):
    geometry, _ = room(6, 6, turn=turn)
    mesh = build_navigation(geometry, AgentShape(radius=RADIUS))
    wall = math.radians(turn)  # a wall runs in this direction, at 3 m from the origin
    out = (math.sin(wall), -math.cos(wall))
    start = mesh.snap_point((2.78 * out[0], 0.0, 2.78 * out[1]))
    heading = wall - math.radians(40)  # into the wall at 40°
    end = towards(start, heading, 0.25)
    position, collided = mesh.try_step(start, end, sliding=True)
    made = (position[0] - start[0]) * math.cos(wall) + (position[2] - start[2]) * math.sin(wall)
    assert made == pytest.approx(0.25 * math.cos(math.radians(40)), abs=0.01)
    assert collided
    stopped, _ = mesh.try_step(start, end, sliding=False)
    assert math.dist(start, stopped) < 0.05


def test_a_corner_stops_a_sliding_step():
    geometry, _ = room(6, 6)
    mesh = build_navigation(geometry, AgentShape(radius=RADIUS))
    position, collided = mesh.try_step((2.6, 0.0, 2.6), (4.0, 0.0, 4.2), sliding=True)
    assert position == pytest.approx((2.8, 0.0, 2.8), abs=0.01)
    assert collided


def test_steps_climb_stairs_and_come_down_again():
    upper = floor([(14 * 0.28, -2), (14 * 0.28 + 3, -2), (14 * 0.28 + 3, 2), (14 * 0.28, 2)], y=14 * 0.18)
    ground = floor([(-3, -2), (0.2, -2), (0.2, 2), (-3, 2)])
    mesh = build_navigation(together(ground, stairs(14), upper))
    start = position = (-1.0, 0.0, 0.0)
    heights = []
    for _ in range(26):
        position, collided = mesh.try_step(position, (position[0] + 0.25, position[1], position[2]), sliding=False)
        assert not collided
        heights.append(position[1])
    assert heights == sorted(heights)
    assert position[1] == pytest.approx(14 * 0.18, abs=1e-3)
    for _ in range(26):
        position, _ = mesh.try_step(position, (position[0] - 0.25, position[1], position[2]), sliding=False)
    assert position == pytest.approx(start, abs=1e-3)


def test_a_ledge_is_not_stepped_over():
    mesh = build_navigation(
        together(floor([(-2, -2), (2, -2), (2, 2), (-2, 2)], y=1.0), floor([(-6, -6), (6, -6), (6, 6), (-6, 6)])),
        keep_platforms=True,
    )
    position, collided = mesh.try_step((1.5, 1.0, 0.0), (3.0, 1.0, 0.0), sliding=True)
    assert collided
    assert position[1] == 1.0
    assert position[0] <= 2.0


def test_a_step_from_off_the_ground_starts_at_the_nearest_place():
    mesh, _ = room_mesh("two walls")
    position, collided = mesh.try_step((-1.5, 0.0, -1.5), (-2.5, 0.0, -1.5), sliding=True)
    assert position == pytest.approx((-2.5, 0.0, -1.5))
    assert not collided
    assert mesh.try_step((50.0, 0.0, 0.0), (50.2, 0.0, 0.0), sliding=True) == ((50.0, 0.0, 0.0), True)


@pytest.mark.parametrize(
    "point", [(math.nan, 0, 0), (math.inf, 0, 0), (0, math.nan, 0), (1e300, 0, 0), (0, 0, -math.inf)]
)
def test_points_that_are_none_are_nowhere(point):
    mesh, _ = room_mesh("two walls")
    assert not mesh.is_navigable(point)
    assert mesh.snap_point(point) is None
    assert mesh.island(point) is None
    assert mesh.geodesic_distance(point, (0.0, 0.0, 0.0)) == math.inf
    assert mesh.try_step(point, (0.0, 0.0, 0.0), sliding=True).collided


def test_a_target_that_is_no_place_leaves_the_agent_on_the_ground():
    mesh, _ = room_mesh("two walls")
    for end in [(math.nan, 0.0, 0.0), (math.inf, 0.0, 0.0), (0.0, 0.0, -1e300)]:
        position, _ = mesh.try_step((0.0, 0.0, 0.0), end, sliding=True)
        assert mesh.is_navigable(position)


def test_height_errors_up_to_half_a_metre_are_forgiven():
    mesh, _ = room_mesh("two walls")
    assert mesh.is_navigable((0.0, 0.4, 0.0))
    assert not mesh.is_navigable((0.0, 0.6, 0.0))
    assert mesh.island((0.0, 0.6, 0.0)) is None


def test_a_centimetre_over_the_border_is_forgiven():
    mesh, _ = room_mesh("two walls")  # its border is at x = 4.8
    assert mesh.is_navigable((4.808, 0.0, 0.0))
    assert mesh.island((4.808, 0.0, 0.0)) == 0
    assert not mesh.is_navigable((4.815, 0.0, 0.0))


def test_random_points_are_uniform_by_area():
    mesh, _ = room_mesh("two walls")
    points = np.array([mesh.random_navigable_point(seed) for seed in range(2000)])
    left = np.mean(points[:, 0] < -1.5)
    assert left == pytest.approx(0.35, abs=0.035)  # the part left of the first wall, of 10 m of width
    assert all(mesh.is_navigable(tuple(point)) for point in points[:200].tolist())


def test_random_points_come_from_the_island_that_is_named():
    mesh = build_navigation(
        together(floor([(-3, -2), (0, -2), (0, 2), (-3, 2)]), floor([(2, -2), (4, -2), (4, 2), (2, 2)]))
    )
    assert [part.index for part in mesh.islands] == [0, 1]
    assert all(mesh.random_navigable_point(seed)[0] < 0 for seed in range(20))
    assert all(mesh.random_navigable_point(seed, island=1)[0] > 2 for seed in range(20))
    with pytest.raises(NavigationMeshError, match="no island 2"):
        mesh.random_navigable_point(0, island=2)


def test_equal_seeds_give_equal_points():
    mesh, _ = room_mesh("boxes")
    rng = np.random.default_rng(5)
    assert mesh.random_navigable_point(5) == mesh.random_navigable_point(rng)
    assert mesh.random_navigable_point(rng) != mesh.random_navigable_point(5)


def test_many_steps_in_one_call_are_the_same_steps():
    mesh, _ = room_mesh("boxes", turn=17.0)
    rng = np.random.default_rng(1)
    moves = rng.normal(0, 0.2, (400, 2))
    start = position = mesh.random_navigable_point(3)
    positions, collided = mesh.walk(start, moves, sliding=True)
    for k, (dx, dz) in enumerate(moves.tolist()):
        position, bumped = mesh.try_step(position, (position[0] + dx, position[1], position[2] + dz), sliding=True)
        assert (tuple(positions[k].tolist()), bool(collided[k])) == (position, bumped)
    assert 0 < collided.sum() < 400


def test_a_mesh_is_a_ground():
    ground: Ground = room_mesh("boxes")[0]
    assert ground.island(ground.random_navigable_point(0)) == 0


def test_two_builds_are_the_same_bits():
    geometry, _ = room(5, 5, Box(0, 0, 0.5, 0.5, 33), turn=12)
    first, second = (build_navigation(together(geometry, solid(Box(1, 1, 0.2, 0.2)))) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first.surface[1:], second.surface[1:], strict=True))


@pytest.mark.slow
def test_warming_up_leaves_nothing_to_compile():
    from nav_eval.scene.navigation import movement
    from nav_eval.scene.navigation.distance_field import compute_distance
    from nav_eval.scene.navigation.warmup import warm_up

    warm_up()
    before = [len(kernel.dispatcher.signatures) for kernel in (movement.step, compute_distance)]
    geometry, _ = room(3, 3, turn=5)
    mesh = build_navigation(geometry)
    mesh.geodesic_distance(mesh.random_navigable_point(0), mesh.random_navigable_point(1))
    mesh.try_step((0.0, 0.0, 0.0), (0.1, 0.0, 0.0), sliding=False)
    assert [len(kernel.dispatcher.signatures) for kernel in (movement.step, compute_distance)] == before
