"""What PathFinder asks of a mesh: snapping within a box, random points anywhere and nearby, views from above."""

import math

import numpy as np
import pytest
from navigation_worlds import floor, room_mesh, together
from navmesh_files import navmesh, rectangle, tile

from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.scene.navigation.navmesh_file import read_detour
from nav_eval.scene.navigation.recast_settings import (
    RecastSettings,
    decode_recast_settings,
    make_recast_settings,
    make_rounded_shape,
)
from nav_eval.scene.navigation.top_down_map import make_top_down_view


@pytest.fixture(scope="module")
def two_islands():
    return build_navigation(
        together(floor([(-3, -2), (0, -2), (0, 2), (-3, 2)]), floor([(2, -2), (4, -2), (4, 2), (2, 2)], y=1.0))
    )


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ((-1.5, 0.3, 0.0), (-1.5, 0.0, 0.0)),  # below itself
        ((-1.5, 3.9, 0.0), (-1.5, 0.0, 0.0)),  # four metres down
        ((-1.5, 4.1, 0.0), None),  # more than that
        ((-1.5, -3.9, 0.0), (-1.5, 0.0, 0.0)),  # floors above count as floors below
        ((-4.8, 0.0, 0.0), (-2.9, 0.0, 0.0)),  # two metres sideways: the body has 0.1 m
        ((-5.1, 0.0, 0.0), None),
    ],
)
def test_snapping_looks_in_a_box(two_islands, point, expected):
    found = two_islands.snap_within_box(point)
    assert (found is None) if expected is None else (found == pytest.approx(expected, abs=0.06))


def test_snapping_to_an_island(two_islands):
    assert two_islands.snap_within_box((1.0, 0.0, 0.0), island=0) == pytest.approx((-0.1, 0.0, 0.0), abs=0.06)
    assert two_islands.snap_within_box((1.0, 0.0, 0.0), island=1) == pytest.approx((2.1, 1.0, 0.0), abs=0.06)
    assert two_islands.snap_within_box((math.nan, 0.0, 0.0)) is None


def test_a_snapped_point_stays_where_it_is(two_islands):
    for seed in range(20):
        point = two_islands.draw_point_anywhere(seed)
        assert two_islands.snap_within_box(point) == point


def test_points_come_from_all_islands_by_area(two_islands):
    drawn = [two_islands.island(two_islands.draw_point_anywhere(seed)) for seed in range(400)]
    shares = [part.area / two_islands.area for part in two_islands.islands if part.index is not None]
    assert len(shares) == 2
    assert drawn.count(1) / len(drawn) == pytest.approx(shares[1], abs=0.08)
    assert two_islands.draw_point_anywhere(5) == two_islands.draw_point_anywhere(5)


def test_points_near_a_place(two_islands):
    centre = (-0.2, 0.0, 0.0)
    points = [two_islands.draw_point_near(centre, 0.5, seed) for seed in range(50)]
    assert all(point is not None and math.dist(point, centre) <= 0.5 for point in points)
    assert np.std([point[2] for point in points]) > 0.1
    assert two_islands.draw_point_near((50.0, 0.0, 0.0), 1.0, 0) is None
    assert two_islands.draw_point_near(centre, 0.5, 0, island=1) is None


def test_a_view_from_above_shows_islands_at_its_height(two_islands):
    view = make_top_down_view(
        two_islands, lower=(-3.0, 0.0, -2.0), upper=(4.0, 1.0, 2.0), metres_per_pixel=0.1, height=0.0
    )
    assert view.islands.shape == (40, 70)
    assert set(np.unique(view.islands)) == {-1, 0}
    assert view.navigable.sum() * 0.01 == pytest.approx(two_islands.islands[0].area, rel=0.08)
    assert view.navigable[20, 15]  # (-1.5, 0, 0)
    assert not view.navigable[20, 40]  # between them
    both = make_top_down_view(
        two_islands, lower=(-3.0, 0.0, -2.0), upper=(4.0, 1.0, 2.0), metres_per_pixel=0.1, height=0.5, height_error=0.6
    )
    assert set(np.unique(both.islands)) == {-1, 0, 1}


def test_a_view_shows_what_is_navigable():
    mesh, _ = room_mesh("boxes", 17.0)
    view = make_top_down_view(mesh, lower=(-3.0, 0.0, -3.0), upper=(3.0, 0.0, 3.0), metres_per_pixel=0.25, height=0.2)
    for row in range(24):
        for column in range(24):
            assert view.navigable[row, column] == mesh.is_navigable((-3.0 + column * 0.25, 0.2, -3.0 + row * 0.25))


def test_a_view_without_an_end_is_refused(two_islands):
    for size in (0.0, 1e-6):
        with pytest.raises(NavigationMeshError, match="pixel"):
            make_top_down_view(
                two_islands, lower=(-3.0, 0.0, -2.0), upper=(4.0, 1.0, 2.0), metres_per_pixel=size, height=0.0
            )


@pytest.mark.parametrize(
    ("settings", "radius", "height", "climb"),
    [
        ({}, 0.1, 1.6, 0.2),  # Habitat's defaults: 1.5 m are eight cells of 0.2 m
        ({"agent_radius": 0.18, "agent_height": 0.88}, 0.2, 1.0, 0.2),  # LoCoBot
        ({"agent_max_climb": 0.39}, 0.1, 1.6, 0.2),  # rounded down
        ({"agent_max_climb": 0.1}, 0.1, 1.6, 0.0),
        ({"agent_radius": 0.17, "agent_height": 1.41, "cell_height": 0.05, "agent_max_climb": 0.1}, 0.2, 1.45, 0.1),
        ({"agent_radius": 0.0}, 0.02, 1.6, 0.2),  # no body at all gets the least one
    ],
)
def test_recast_counts_in_whole_cells(settings, radius, height, climb):
    shape = make_rounded_shape(RecastSettings(**settings))
    assert (shape.radius, shape.height, shape.max_climb) == pytest.approx((radius, height, climb))


def test_settings_survive_a_file(tmp_path):
    chosen = RecastSettings(agent_radius=0.18, agent_height=0.88, filter_ledge_spans=False)
    assert decode_recast_settings(chosen.encode()) == chosen
    assert make_recast_settings(AgentShape(radius=0.3)).agent_radius == 0.3
    path = tmp_path / "scene.navmesh"
    path.write_bytes(navmesh(tile([rectangle(-1, -2, 3, 4)])))
    detour = read_detour(path)
    assert detour.bounds == ((-1.0, 0.0, -2.0), (3.0, 0.0, 4.0))
    assert detour.settings == RecastSettings()
