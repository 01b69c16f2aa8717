"""Habitat's questions to the ground, on a mesh of ours."""

import math

import numpy as np
import pytest

import habitat_sim
from habitat_sim.nav.greedy_geodesic_follower import count_turns


@pytest.fixture
def finder(sim):
    sim.pathfinder.seed(3)
    return sim.pathfinder


def ask(finder, start, *ends):
    path = habitat_sim.MultiGoalShortestPath()
    path.requested_start, path.requested_ends = start, ends
    return finder.find_path(path), path


def test_a_fresh_one_knows_nothing():
    finder = habitat_sim.PathFinder()
    assert not finder.is_loaded
    assert finder.nav_mesh_settings is None
    assert not finder.load_nav_mesh("nowhere.navmesh")
    assert np.isnan(finder.snap_point([0, 0, 0])).all()
    with pytest.raises(RuntimeError):
        finder.get_random_navigable_point()


def test_random_points_are_navigable_and_repeat_with_their_seed(finder):
    points = [finder.get_random_navigable_point() for _ in range(20)]
    assert all(finder.is_navigable(point) for point in points)
    finder.seed(3)
    assert np.array_equal(points, [finder.get_random_navigable_point() for _ in range(20)])


def test_a_way_has_its_ends_as_they_were_asked_for(finder):
    start, end = finder.get_random_navigable_point(), finder.get_random_navigable_point()
    found, path = ask(finder, start + np.array([0, 0.1, 0]), end)
    assert found
    assert path.points[0][1] == pytest.approx(start[1] + 0.1)
    assert np.allclose(path.points[-1], end)
    length = sum(np.linalg.norm(np.subtract(b, a)) for a, b in zip(path.points[1:-1], path.points[2:], strict=False))
    assert path.geodesic_distance >= length - 1e-3


def test_the_nearest_of_several_ends_wins_and_is_named(finder):
    start = finder.get_random_navigable_point()
    near = finder.get_random_navigable_point_near(start, 0.5)
    far = max((finder.get_random_navigable_point() for _ in range(20)), key=lambda p: np.linalg.norm(p - start))
    found, path = ask(finder, start, [900.0, 0.0, 900.0], far, near)
    assert found
    assert path.closest_end_point_index == 2
    assert path.geodesic_distance < 1.0


def test_no_way_is_infinite_and_empty(finder):
    found, path = ask(finder, finder.get_random_navigable_point(), [900.0, 0.0, 900.0])
    assert (found, path.geodesic_distance, path.points, path.closest_end_point_index) == (False, math.inf, [], -1)


def test_equal_ends_are_no_way_at_all(finder):
    point = finder.get_random_navigable_point()
    found, path = ask(finder, point, point)
    assert found
    assert path.geodesic_distance == pytest.approx(0.0, abs=1e-6)
    assert len(path.points) == 2


def test_a_step_off_the_ground_stays(finder):
    start = finder.get_random_navigable_point()
    assert np.allclose(finder.try_step(start, start + np.array([100.0, 0.0, 0.0])), start)
    assert np.isnan(finder.snap_point([900.0, 0.0, 900.0])).all()
    assert not finder.is_navigable(start + np.array([0.0, 10.0, 0.0]))


def test_obstacles_are_near_the_wall_and_nowhere_off_the_ground(finder):
    point = finder.get_random_navigable_point()
    hit = finder.closest_obstacle_surface_point(point, 9.0)
    assert finder.distance_to_closest_obstacle(point, 9.0) == pytest.approx(hit.hit_dist)
    assert np.linalg.norm(np.asarray(hit.hit_pos) - point) == pytest.approx(hit.hit_dist, abs=0.05)
    assert finder.distance_to_closest_obstacle(point, 0.001) == pytest.approx(0.001)
    assert finder.distance_to_closest_obstacle([900.0, 0.0, 900.0]) == math.inf


def test_islands_have_area_radius_and_triangles(finder):
    point = finder.get_random_navigable_point()
    island = finder.get_island(point)
    assert finder.island_radius(point) == finder.island_radius(island) > 0
    assert sum(finder.island_area(k) for k in range(finder.num_islands)) == pytest.approx(finder.navigable_area)
    vertices, indices = finder.build_navmesh_vertices(), finder.build_navmesh_vertex_indices()
    corners = np.asarray(vertices)[np.reshape(indices, (-1, 3))]
    assert np.array_equal(np.reshape(vertices, (-1, 3, 3)), corners)  # PONI takes them without the indices
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    assert areas.sum() == pytest.approx(finder.navigable_area, rel=0.02)
    assert (finder.get_island([900.0, 0.0, 900.0]), finder.island_radius([900.0, 0.0, 900.0])) == (-1, 0.0)


def test_a_top_down_view_is_sampled_at_lower_corners(finder):
    lower, upper = finder.get_bounds()
    height = finder.get_random_navigable_point()[1]
    view = finder.get_topdown_view(0.1, height)
    extent = (np.asarray(upper, np.float32) - np.asarray(lower, np.float32)) / np.float32(0.1)
    assert view.shape == (int(extent[2]), int(extent[0]))  # in single precision, as Habitat counts
    for row, column in ((3, 7), (10, 20), (view.shape[0] // 2, view.shape[1] // 2)):
        corner = [lower[0] + 0.1 * column, height, lower[2] + 0.1 * row]
        assert view[row, column] == finder.is_navigable(corner)
    assert view.sum() * 0.01 == pytest.approx(finder.navigable_area, rel=0.1)


def test_settings_compare_and_travel_as_json(tmp_path):
    settings = habitat_sim.NavMeshSettings()
    settings.agent_radius = 0.42
    settings.write_to_json(str(tmp_path / "settings.json"))
    again = habitat_sim.NavMeshSettings()
    assert again != settings
    again.read_from_json(str(tmp_path / "settings.json"))
    assert again == settings


@pytest.mark.parametrize(("radius", "height", "climb", "rounded"), [
    (0.1, 1.5, 0.2, (0.1, 1.6, 0.2)),
    (0.18, 0.88, 0.1, (0.2, 1.0, 0.0)),  # up, up, down
])  # fmt: skip
def test_bodies_are_whole_cells(radius, height, climb, rounded):
    settings = habitat_sim.NavMeshSettings()
    settings.agent_radius, settings.agent_height, settings.agent_max_climb = radius, height, climb
    shape = settings.make_shape()
    assert (shape.radius, shape.height, shape.max_climb) == pytest.approx(rounded)


def test_a_follower_arrives(sim, finder):
    agent, follower = sim.get_agent(0), sim.make_greedy_follower(0)
    start, goal = finder.get_random_navigable_point(), finder.get_random_navigable_point()
    agent.state = habitat_sim.AgentState(position=start)
    actions = follower.find_path(goal)
    assert actions[-1] is None
    for action in actions[:-1]:
        agent.act(action)
    assert ask(finder, agent.state.position, goal)[1].geodesic_distance < 0.1875
    assert follower.next_action_along(goal) is None
    with pytest.raises(habitat_sim.errors.GreedyFollowerError):
        follower.next_action_along(np.array([900.0, 0.0, 900.0]))


@pytest.mark.parametrize(("degrees", "turns"), [(10, 18), (15, 12), (30, 6), (45, 3), (60, 2), (90, 1)])
def test_a_follower_turns_as_far_as_single_precision_lets_it(degrees, turns):
    """With 15° it may turn right around, with 45° it may not: what Habitat's own sums come to."""
    assert count_turns(math.radians(degrees)) == turns
