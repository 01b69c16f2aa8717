"""Places on the border of the mesh are goals like any others: reachable, from both sides, however they are rounded."""

import math
from itertools import pairwise

import numpy as np
import pytest
from navigation_worlds import room_mesh

from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval_worlds.houses import generate_house

#: documented in docs/navigation.md: how far the two directions of one way may differ
SYMMETRY_SHARE, SYMMETRY_METRES = 0.02, 0.06


@pytest.fixture(scope="module")
def house():
    scene = generate_house(100, template="flat_2").scene
    return scene, build_navigation(scene, AgentShape(radius=0.18, height=0.88))


@pytest.fixture(params=["house", "boxes", "u shape"])
def mesh(request, house):
    return house[1] if request.param == "house" else room_mesh(request.param, 17.0)[0]


def round_to_float32(point):
    return tuple(float(np.float32(value)) for value in point)


def draw_border_point(mesh, random):
    """A navigable point that is a rounding error, or up to a centimetre and half a metre up, off the border."""
    start = mesh.random_navigable_point(int(random.integers(10**9)))
    angle = random.random() * 2 * math.pi
    end = (start[0] + 3 * math.cos(angle), start[1], start[2] + 3 * math.sin(angle))
    x, y, z = mesh.try_step(start, end, sliding=bool(random.random() < 0.5)).position
    off = float(10.0 ** random.uniform(-9, -2.1))
    moved = (x + off * math.cos(angle), y + random.uniform(-0.4, 0.4), z + off * math.sin(angle))
    return moved if mesh.is_navigable(moved) else (x, y, z)


def test_both_directions_are_finite_and_agree(mesh):
    random = np.random.default_rng(13)
    points = [draw_border_point(mesh, random) for _ in range(9)] + [mesh.random_navigable_point(4)]
    forms = (
        lambda point: point,
        round_to_float32,
        mesh.snap_point,
        lambda point: round_to_float32(mesh.snap_point(point)),
    )
    asked = 0
    for form in forms:
        placed = [form(point) for point in points]
        for a in placed:
            for b in placed:
                if mesh.island(a) is None or mesh.island(a) != mesh.island(b):
                    continue
                there, back = mesh.geodesic_distance(a, b), mesh.geodesic_distance(b, a)
                assert math.isfinite(there)
                assert there == pytest.approx(back, rel=SYMMETRY_SHARE, abs=SYMMETRY_METRES)
                asked += 1
    assert asked > 200


def test_every_object_of_a_house_can_be_walked_to(house):
    scene, mesh = house
    start = mesh.random_navigable_point(0)
    snapped = [mesh.snap_point(thing.center) for thing in scene.semantics.objects]
    goals = [place for place in snapped if place is not None and mesh.island(place) == mesh.island(start)]
    assert len(goals) == 163
    for goal in goals:
        for place in (goal, round_to_float32(goal)):
            assert math.isfinite(mesh.geodesic_distance(start, place))
            assert mesh.shortest_path(start, place)


def test_a_way_to_the_border_can_be_walked(house):
    _, mesh = house
    random = np.random.default_rng(5)
    start = mesh.random_navigable_point(3)
    for _ in range(20):
        goal = round_to_float32(mesh.snap_point(draw_border_point(mesh, random)))
        path = mesh.shortest_path(start, goal)
        for a, b in pairwise(path):
            assert math.dist(mesh.try_step(a, b, sliding=True).position, b) < 1e-3


def test_a_point_that_can_be_stood_at_is_not_moved_to_another_floor():
    """A centimetre off a low floor and close to a high one: what is navigable stays where it is navigable."""
    mesh, _ = room_mesh("door")
    place = mesh.snap_point((-3.9, 0.0, 2.0))
    beside = (place[0] - 0.005, 0.45, place[2])
    assert mesh.is_navigable(beside)
    assert math.dist(mesh.snap_point(beside), place) < 1e-9
