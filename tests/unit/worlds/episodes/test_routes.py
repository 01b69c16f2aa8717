"""Route instructions on ways whose every turn, door and side is known.

Two rooms, a wall between them at x = 0 with a door in the middle. Walking east (+x), north (−z) is on the left.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from nav_eval.config.schema import PrimitiveCubeCfg
from nav_eval.records.geometry import Vec3
from nav_eval.scene.formats import write_glb
from nav_eval.scene.model import Region, Scene
from nav_eval.scene.objects import place_objects
from nav_eval.scene.semantics import get_semantics_path, write_semantics
from nav_eval.simulator.scene_manager import SceneManager
from nav_eval_worlds.episodes.base import find_targets
from nav_eval_worlds.episodes.generation import _make_sites
from nav_eval_worlds.episodes.site import Site, compute_heading, sample_path, wrap_degrees
from nav_eval_worlds.episodes.vln import Route
from nav_eval_worlds.episodes.way import SPACING, Way
from nav_eval_worlds.generator import load_base_benchmark
from nav_eval_worlds.instructions.templates import Phrases
from nav_eval_worlds.randomness import RandomStream

BOXES: dict[str, tuple[Vec3, Vec3]] = {
    "floor": ((12.0, 0.1, 12.0), (0.0, -0.05, 0.0)),
    "wall": ((0.1, 2.5, 5.4), (0.0, 1.25, -3.3)),
    "wall_2": ((0.1, 2.5, 5.4), (0.0, 1.25, 3.3)),
    "door": ((0.9, 2.0, 0.05), (0.5, 1.0, -0.7)),
    "sofa": ((0.8, 0.8, 0.8), (-3.0, 0.4, -1.2)),
    "desk": ((0.8, 0.8, 0.8), (3.0, 0.4, 3.0)),
    "bed": ((0.8, 0.8, 0.8), (2.0, 0.4, -5.0)),
}
KITCHEN = Region(region_id="k", category="kitchen", lower=(-6.0, 0.0, -6.0), upper=(0.0, 2.5, 6.0))
HALLWAY = Region(region_id="h", category="hallway", lower=(0.0, 0.0, -6.0), upper=(6.0, 2.5, 6.0))
KEYS = {
    "ahead": "AHEAD", "turn": "TURN {side}", "around": "AROUND", "leave": "LEAVE {room}", "into": "INTO {room}",
    "through": "THROUGH {opening} {room}", "into_side": "INTO {side} {room}", "along": "ALONG", "along_it": "ALONG",
    "through_side": "THROUGH {opening} {side} {room}", "past": "PAST {thing} {side}", "bend": "BEND {side}",
    "up": "UP", "down": "DOWN", "stop": "STOP {thing}",
}  # fmt: skip
EAST, NORTH, WEST = -90.0, 0.0, 90.0
START, BEHIND_DOOR = (-5.0, 0.0, 0.0), (3.5, 0.0, 0.0)


@pytest.fixture(scope="module")
def two_rooms(tmp_path_factory: pytest.TempPathFactory, bare_scene: Scene) -> Site:
    folder = tmp_path_factory.mktemp("two_rooms")
    boxes = [
        PrimitiveCubeCfg(name=name, category=name.partition("_")[0], size=size, position=place)
        for name, (size, place) in BOXES.items()
    ]
    scene = place_objects(bare_scene, boxes, root=Path()).scene
    things = [replace(t, region="k" if t.center[0] < 0 else "h", name=None) for t in scene.semantics.objects]
    write_glb(scene, folder / "rooms.glb")
    meaning = replace(scene.semantics, objects=tuple(things), regions=(KITCHEN, HALLWAY))
    write_semantics(meaning, get_semantics_path(folder / "rooms.glb"))
    benchmark = load_base_benchmark("vln", folder)
    return _make_sites(benchmark, "rooms.glb", SceneManager(benchmark, cache=folder / "cache"))[0]


def told(site: Site, *corners: Vec3, facing: float, to: str) -> list[str]:
    """What is said about a way, clause by clause."""
    target = next(target for target in find_targets(site) if target.category == to)
    bank = {key: (template,) for key, template in KEYS.items()}
    route = Route(site, Way(site, sample_path(corners, spacing=SPACING)), target)
    text = route.instruction(facing, Phrases({"seen": bank, "unseen": bank}, RandomStream(0)))
    return [clause for part in text.removesuffix(".").split(". ") for clause in part.replace(" and ", ", ").split(", ")]


@pytest.mark.parametrize(
    ("facing", "beginning"), [(EAST, "AHEAD"), (NORTH, "TURN right"), (180.0, "TURN left"), (WEST, "AROUND")]
)
def test_the_beginning_depends_on_where_one_looks(two_rooms: Site, facing: float, beginning: str) -> None:
    assert told(two_rooms, START, BEHIND_DOOR, facing=facing, to="desk")[0] == beginning


def test_straight_through_the_door_past_a_sofa_on_the_left(two_rooms: Site) -> None:
    assert told(two_rooms, START, BEHIND_DOOR, facing=EAST, to="desk") == [
        "AHEAD", "PAST the sofa left", "LEAVE kitchen", "THROUGH door hallway", "ALONG", "STOP the desk",
    ]  # fmt: skip


def test_the_way_back_passes_the_sofa_on_the_right(two_rooms: Site) -> None:
    assert told(two_rooms, BEHIND_DOOR, START, facing=WEST, to="bed") == [
        "AHEAD", "ALONG", "LEAVE hallway", "THROUGH door kitchen", "PAST the sofa right", "STOP the bed",
    ]  # fmt: skip


def test_a_turn_in_the_door(two_rooms: Site) -> None:
    clauses = told(two_rooms, (-3.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.3, 0.0, 5.0), facing=EAST, to="bed")
    assert "THROUGH door right hallway" in clauses


def test_a_bend_behind_the_door_and_the_thing_on_the_way_to_it(two_rooms: Site) -> None:
    clauses = told(two_rooms, START, (4.5, 0.0, 0.0), (4.5, 0.0, 5.5), facing=EAST, to="bed")
    assert clauses[-3:] == ["BEND right", "PAST the desk right", "STOP the bed"]


def test_the_goal_is_no_landmark(two_rooms: Site) -> None:
    clauses = told(two_rooms, START, (4.5, 0.0, 0.0), (4.5, 0.0, 5.5), facing=EAST, to="desk")
    assert "PAST the desk right" not in clauses


@pytest.mark.parametrize(
    ("end", "degrees"), [((0, 0, -1), 0.0), ((-1, 0, 0), 90.0), ((1, 0, 0), -90.0), ((0, 5, 1), 180.0)]
)
def test_headings_are_to_the_left_of_north(end: Vec3, degrees: float) -> None:
    assert wrap_degrees(compute_heading((0.0, 0.0, 0.0), end) - degrees) == pytest.approx(0.0)


def test_samples_keep_the_corners_and_the_spacing() -> None:
    points = sample_path([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.0, 0.45)], spacing=0.1)
    assert (0.0, 0.0, 0.0) in points
    assert (1.0, 0.0, 0.0) in points
    assert points[-1] == (1.0, 0.0, 0.45)
    assert len(points) == 1 + 10 + 4
