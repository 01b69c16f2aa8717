"""Scans as their data sets lay them out, read through `habitat_sim`: HM3D's and Matterport3D's names and numbers."""

from pathlib import Path

import numpy as np
import pytest
from scan_files import ScanObject, write_hm3d_scan, write_matterport_scan

import magnum as mn
from habitat_sim.semantic_scene import SemanticRegion, SemanticScene
from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import Scene


@pytest.fixture(scope="module")
def room(room_data: Path) -> Scene:
    return read_scene(room_data / "room.glb")


@pytest.fixture(scope="module")
def numbers(room: Scene) -> list[int]:
    return [int(number) for number in np.unique(room.triangle_object) if number]


def look_around(sim) -> set[int]:
    """The values of all pixels of a turn on the spot."""
    return {value for _ in range(36) for value in np.unique(sim.step("turn_left")["semantic_sensor"]).tolist()}


def compute_box(room: Scene, number: int) -> tuple[np.ndarray, np.ndarray]:
    points = room.positions[room.triangles[room.triangle_object == number]].reshape(-1, 3)
    return points.min(axis=0), points.max(axis=0)


@pytest.fixture(scope="module")
def hm3d(room: Scene, numbers: list[int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every second object is a lamp; one more is named that the mesh has not, in a room of its own."""
    names = {number: ScanObject(category=("lamp", "table, round")[number % 2], region=number % 2) for number in numbers}
    names[max(numbers) + 1] = ScanObject(category="ghost", region=7)
    whole = {number: names.get(number, ScanObject(category="wall", region=0)) for number in range(1, max(names) + 1)}
    return write_hm3d_scan(room, tmp_path_factory.mktemp("hm3d") / "00800-TEEsavR23oF", whole)


def test_objects_of_hm3d_stand_where_their_pixels_say(open_sim, hm3d, room, numbers):
    sim = open_sim(scene="00800-TEEsavR23oF", scene_dataset_config_file=str(hm3d))
    scene = sim.semantic_scene
    assert [thing.semantic_id for thing in scene.objects] == list(range(max(numbers) + 2))
    assert scene.objects[0].id == "Unknown_0"
    assert scene.objects[-1].id == f"ghost_{max(numbers) + 1}"
    seen = look_around(sim)
    assert len(seen & set(numbers)) > 1
    for number in numbers:
        thing = scene.objects[number]
        assert thing.id == f"{thing.category.name()}_{number}"
        lower, upper = compute_box(room, number)
        assert np.allclose(thing.aabb.min, lower, atol=1e-4)
        assert np.allclose(thing.aabb.max, upper, atol=1e-4)


def test_rooms_of_hm3d_have_numbers_alone(open_sim, hm3d):
    scene = open_sim(scene="00800-TEEsavR23oF", scene_dataset_config_file=str(hm3d)).semantic_scene
    assert scene.levels == []
    assert [region.id for region in scene.regions] == ["_-1", "_0", "_1", "_7"]
    assert all(region.category is None and region.level is None for region in scene.regions)
    assert [thing.id for thing in scene.regions[0].objects] == ["Unknown_0"]
    assert scene.regions[-1].objects == [scene.objects[-1]]
    assert scene.objects[1].region.id == "_1"
    table = next(thing.category for thing in scene.objects if thing.category.name() == "table, round")
    assert table.index() == [category.name() for category in scene.categories].index("table, round")


@pytest.fixture(scope="module")
def matterport(room: Scene, numbers: list[int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chairs upstairs in a lounge, tables in the entrance; the last object is in no room and not in the mesh."""
    chair = ScanObject(category="chair", region=4, raw="dining chair", index=3, raw_index=11)
    table = ScanObject(category="table", region=2, raw="coffee table", index=5, raw_index=29)
    whole = {number: (table, chair)[number % 2] for number in range(1, max(numbers) + 1)}
    whole[max(numbers) + 1] = ScanObject(category="misc", region=-1, raw="hook", index=40, raw_index=99)
    folder = tmp_path_factory.mktemp("mp3d") / "17DRP5sb8fy"
    return write_matterport_scan(room, folder, whole, levels={2: 0, 4: 1}, codes={2: "e", 4: "n"})


def test_objects_of_matterport_carry_storey_room_and_number(open_sim, matterport, room, numbers):
    sim = open_sim(scene=str(matterport))
    scene = sim.semantic_scene
    assert [thing.semantic_id for thing in scene.objects] == list(range(max(numbers) + 1))
    assert (scene.objects[0].id, scene.objects[1].id) == ("1_4_0", "0_2_1")
    assert scene.objects[-1].id == f"_{max(numbers)}"
    assert scene.objects[-1].region is None
    seen = look_around(sim)
    assert len(seen & {number - 1 for number in numbers}) > 1
    for number in numbers:
        lower, upper = compute_box(room, number)
        assert np.allclose(scene.objects[number - 1].aabb.min, lower, atol=1e-4)
        assert np.allclose(scene.objects[number - 1].aabb.max, upper, atol=1e-4)


def test_categories_of_matterport_have_the_numbers_of_its_tables(open_sim, matterport):
    chair = open_sim(scene=str(matterport)).semantic_scene.objects[0].category
    assert [chair.name(mapping) for mapping in ("", "mpcat40", "raw")] == ["chair", "chair", "dining chair"]
    assert [chair.index(mapping) for mapping in ("", "mpcat40", "raw")] == [3, 3, 11]


def test_rooms_of_matterport_are_on_the_storeys_of_the_file(open_sim, matterport):
    scene = open_sim(scene=str(matterport)).semantic_scene
    assert [(level.id, [region.id for region in level.regions]) for level in scene.levels] == [
        ("0", ["0_2"]),
        ("1", ["1_4"]),
    ]
    assert [region.category.name() for region in scene.regions] == ["entryway/foyer/lobby", "lounge"]
    assert [region.category.index() for region in scene.regions] == [9, 18]
    assert scene.objects[0] in scene.levels[1].objects


def test_the_smaller_of_two_rooms_weighs_more():
    large = SemanticRegion(id="_0", category=None, aabb=mn.Range3D((0, 0, 0), (4, 3, 4)))
    small = SemanticRegion(id="_1", category=None, aabb=mn.Range3D((0, 0, 0), (2, 3, 2)))
    small.poly_loop_points = [mn.Vector2(0, 0), mn.Vector2(2, 0), mn.Vector2(2, 2), mn.Vector2(0, 2)]
    scene = SemanticScene(regions=[large, small])
    assert scene.get_weighted_regions_for_point((1, 1, 1)) == [(1, pytest.approx(0.8)), (0, pytest.approx(0.2))]
    assert scene.get_weighted_regions_for_point((3, 1, 3)) == [(0, 1.0)]
    assert scene.get_weighted_regions_for_point((9, 1, 9)) == []
