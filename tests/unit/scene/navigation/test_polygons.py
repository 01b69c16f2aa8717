"""The region as polygons: what they cover, what they measure, the nearest obstacle, and files of them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from navigation_worlds import ROOMS, Box, floor, room, room_mesh, solid, stairs, together

from nav_eval.scene.navigation import AgentShape, build_navigation, read_navmesh
from nav_eval.scene.navigation.polygons import index_border, make_polygon_mesh, write_navmesh
from nav_eval.scene.navigation.recast_settings import RecastSettings

unhurried = settings(deadline=None, max_examples=50)


def two_floors():
    """A floor, a stair of fourteen steps and the floor that it leads to, partly above the first."""
    top, length = 14 * 0.18, 14 * 0.28
    lower, upper = (
        floor([(-3, -3), (length + 2, -3), (length + 2, 3), (-3, 3)]),
        floor([(length, -1), (length + 3, -1), (length + 3, 1), (length, 1)], y=top),
    )
    return build_navigation(together(lower, upper, stairs(14)), AgentShape(radius=0.2), keep_platforms=True)


@pytest.mark.parametrize("turn", [0.0, 17.0])
@pytest.mark.parametrize("name", ROOMS)
def test_polygons_cover_the_region_and_are_convex_and_linked(name, turn):
    mesh, _ = room_mesh(name, turn)
    polygons = make_polygon_mesh(mesh)
    assert polygons.measure_area() == pytest.approx(mesh.area, rel=0.01)
    assert polygons.measure_area(0) == pytest.approx(mesh.area, rel=0.01)
    for index, (corners, beyond) in enumerate(zip(polygons.polygons, polygons.beyond, strict=True)):
        assert 3 <= len(corners) <= 6
        places = polygons.vertices[list(corners)][:, [0, 2]]
        edges = np.roll(places, -1, axis=0) - places
        turns = edges[:, 0] * np.roll(edges[:, 1], -1) - edges[:, 1] * np.roll(edges[:, 0], -1)
        assert (turns > -1e-9).all()
        for other in beyond:
            assert other == -1 or index in polygons.beyond[other]


def test_there_are_few_of_them():
    mesh, _ = room_mesh("two walls")
    assert len(make_polygon_mesh(mesh).polygons) < 60


def test_the_triangles_look_up_and_lie_on_the_ground():
    mesh = two_floors()
    triangles = make_polygon_mesh(mesh).triangles
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    assert (normals[:, 1] > -1e-9).all()
    for middle in triangles.mean(axis=1):
        assert mesh.is_navigable(tuple(middle))
        assert abs(mesh.snap_point(tuple(middle))[1] - middle[1]) < 0.2


def test_a_stair_joins_its_floors_and_bounds_hold_everything():
    mesh = two_floors()
    polygons = make_polygon_mesh(mesh)
    assert set(polygons.islands.tolist()) == {0}
    lower, upper = polygons.bounds
    assert upper[1] - lower[1] == pytest.approx(14 * 0.18, abs=0.02)
    assert (polygons.vertices >= lower).all()


def test_the_radius_of_an_island_is_that_of_its_corners():
    mesh, _ = room_mesh("door")  # 8 × 8 m, the body has 0.2 m
    polygons = make_polygon_mesh(mesh)
    assert 0.9 * math.hypot(3.8, 3.8) < polygons.measure_radius(0) < 1.4 * math.hypot(3.8, 3.8)
    assert polygons.measure_radius(7) == 0.0


@unhurried
@given(st.sampled_from(list(ROOMS)), st.sampled_from([0.0, 17.0]), st.integers(0, 10**6))
def test_the_nearest_obstacle_is_the_true_one(name, turn, seed):
    mesh, boxes = room_mesh(name, turn)
    point = mesh.random_navigable_point(seed)
    found = index_border(mesh.surface).find_nearest_obstacle(point, 30.0)
    true = min(_measure_box_distance(box, point) for box in boxes) - 0.2
    assert found.distance == pytest.approx(true, abs=0.02)
    assert math.dist(found.position, point) == pytest.approx(found.distance, abs=1e-9)
    assert math.hypot(*found.normal) == pytest.approx(1.0)
    if found.distance > 1e-3:
        assert np.dot(np.subtract(point, found.position), found.normal) == pytest.approx(found.distance)


def _measure_box_distance(box: Box, point) -> float:
    corners = box.corners()
    return min(_measure_segment_distance(a, b, (point[0], point[2])) for a, b in pairwise([*corners, corners[0]]))


def _measure_segment_distance(a, b, point) -> float:
    along = b - a
    part = min(1.0, max(0.0, float(np.dot(np.subtract(point, a), along) / np.dot(along, along))))
    return math.dist(a + part * along, point)


def test_an_obstacle_beyond_the_radius_is_none():
    mesh, _ = room_mesh("u shape")
    point = mesh.snap_point((-4.0, 0.0, 0.0))
    found = index_border(mesh.surface).find_nearest_obstacle(point, 0.05)
    assert (found.distance, found.normal) == (0.05, (0.0, 0.0, 0.0))
    assert found.position == pytest.approx(point)


def test_the_obstacle_is_on_the_same_floor():
    table = solid(Box(0, 0, 0.3, 0.3, bottom=3.0, top=3.7))
    geometry, _ = room(8, 8, turn=0.0)
    upstairs = floor([(-4, -4), (4, -4), (4, 4), (-4, 4)], y=3.0)
    mesh = build_navigation(together(geometry, upstairs, table), AgentShape(radius=0.2), keep_platforms=True)
    border = index_border(mesh.surface)
    assert border.find_nearest_obstacle((0.0, 0.0, 1.0), 2.0).distance == 2.0
    assert border.find_nearest_obstacle((0.0, 3.0, 1.0), 2.0).distance == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("world", ["rooms", "floors"])
def test_what_is_written_is_read_again(world, tmp_path):
    mesh = two_floors() if world == "floors" else room_mesh("boxes", 17.0)[0]
    chosen = RecastSettings(agent_radius=0.2, cell_height=0.1)
    write_navmesh(mesh, tmp_path / "scene.navmesh", chosen)
    again = read_navmesh(tmp_path / "scene.navmesh")
    assert again.area == pytest.approx(mesh.area, rel=0.01)
    assert (again.shape.radius, again.shape.height) == (0.2, 1.5)
    points = [mesh.random_navigable_point(seed) for seed in range(20)]
    for a, b in pairwise(points):
        assert again.geodesic_distance(a, b) == pytest.approx(mesh.geodesic_distance(a, b), rel=0.03, abs=0.05)
