"""Meshes on disk, and maps of them."""

import numpy as np
import pytest
from navigation_worlds import floor, room_mesh, stairs, together

from nav_eval.cache import ArrayFile, write_arrays
from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation import AgentShape, build_navigation, mesh
from nav_eval.scene.navigation.mesh import load_mesh, make_mesh_key, save_mesh
from nav_eval.scene.navigation.top_down_map import BORDER, INSIDE, OUTSIDE, find_floor_heights, make_top_down_map


@pytest.fixture
def saved(tmp_path):
    mesh, _ = room_mesh("boxes")
    save_mesh(mesh, tmp_path / "meshes" / "one")
    return tmp_path / "meshes" / "one"


def test_a_loaded_mesh_answers_as_the_saved_one(saved):
    mesh, _ = room_mesh("boxes")
    loaded = load_mesh(saved)
    assert (loaded.shape, loaded.islands) == (mesh.shape, mesh.islands)
    start, goal = mesh.random_navigable_point(1), mesh.random_navigable_point(2)
    assert loaded.random_navigable_point(1) == start
    assert loaded.geodesic_distance(start, goal) == mesh.geodesic_distance(start, goal)
    assert loaded.try_step(start, goal, sliding=True) == mesh.try_step(start, goal, sliding=True)
    assert not loaded.surface.height.flags.writeable


def test_saving_twice_leaves_nothing_behind(saved):
    mesh, _ = room_mesh("boxes")
    save_mesh(mesh, saved)
    assert [path.name for path in saved.parent.iterdir()] == ["one"]
    assert load_mesh(saved).area == mesh.area


@pytest.mark.parametrize(
    "damaged",
    [
        lambda whole: b"",
        lambda whole: b"rubbish",
        lambda whole: whole[:100],  # within the header
        lambda whole: whole[:-200],  # within the arrays
        lambda whole: whole.replace(b'"links"', b'"lines"'),
        lambda whole: whole.replace(b'"spacing"', b'"spacjng"'),
    ],
)
def test_a_damaged_mesh_is_refused(saved, damaged):
    saved.write_bytes(damaged(saved.read_bytes()))
    with pytest.raises(NavigationMeshError, match="delete it"):
        load_mesh(saved)


def test_a_missing_mesh_is_refused(tmp_path):
    with pytest.raises(NavigationMeshError, match="delete it"):
        load_mesh(tmp_path / "nothing")


def test_arrays_that_do_not_fit_together_are_refused(saved):
    file = ArrayFile(saved)
    kinds = {"slots": (np.int32, 2), **mesh._SURFACE_ARRAYS, **mesh._GRAPH_ARRAYS}
    arrays = {name: file.array(name, *kind) for name, kind in kinds.items()}
    write_arrays(saved, arrays | {"links": arrays["links"] + 10**6}, about=file.about)
    with pytest.raises(NavigationMeshError, match="do not fit together"):
        load_mesh(saved)


def test_another_version_is_refused(saved):
    saved.write_bytes(saved.read_bytes().replace(b'"version":', b'"version":9', 1))
    with pytest.raises(NavigationMeshError, match="another version"):
        load_mesh(saved)


def test_keys_tell_scenes_and_agents_apart():
    keys = {make_mesh_key(digest, AgentShape(radius=radius)) for digest in ("a", "b") for radius in (0.1, 0.2)}
    assert len(keys) == 4
    assert make_mesh_key("a", AgentShape()) == make_mesh_key("a", AgentShape(radius=0.1))


def two_floors():
    upper = floor([(14 * 0.28, -3), (14 * 0.28 + 4, -3), (14 * 0.28 + 4, 3), (14 * 0.28, 3)], y=14 * 0.18)
    return build_navigation(together(floor([(-4, -3), (0.2, -3), (0.2, 3), (-4, 3)]), stairs(14), upper))


def test_floors_are_found_by_height():
    assert find_floor_heights(two_floors()) == pytest.approx((0.0, 14 * 0.18), abs=0.02)
    assert find_floor_heights(room_mesh("boxes")[0]) == (0.0,)


def test_a_map_shows_where_one_can_stand():
    mesh, _ = room_mesh("boxes")
    picture = make_top_down_map(mesh)
    for seed in range(100):
        assert picture.image[picture.pixel(mesh.random_navigable_point(seed))] in (INSIDE, BORDER)
    assert picture.image[picture.pixel((-2.0, 0.0, -2.0))] == OUTSIDE  # inside a box
    shown = (picture.image == INSIDE).sum() * picture.metres_per_pixel**2
    assert shown == pytest.approx(mesh.area, rel=0.05)


def test_each_floor_has_its_own_map():
    mesh = two_floors()
    lower, upper = make_top_down_map(mesh, 0), make_top_down_map(mesh, 1)
    assert lower.image[lower.pixel((-2.0, 0.0, 0.0))] == INSIDE
    assert upper.image[upper.pixel((-2.0, 0.0, 0.0))] == OUTSIDE
    assert upper.image[upper.pixel((6.0, 2.5, 0.0))] == INSIDE
    with pytest.raises(NavigationMeshError, match="no floor 2"):
        make_top_down_map(mesh, 2)
