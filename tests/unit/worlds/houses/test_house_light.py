"""Light of houses of the second generator: shadows, daylight, time of day, and what it costs to light a house again."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from nav_eval_worlds.houses import GeneratedHouse, restyle
from nav_eval_worlds.houses.baked_light import TIMES_OF_DAY, bake_house_light
from nav_eval_worlds.houses.ray_tree import STACK, find_blocker, find_hit, make_ray_tree
from nav_eval_worlds.houses.shadows import LightPlaces, compute_response, find_response
from nav_eval_worlds.materials import get_finish_kind
from nav_eval_worlds.textures.outlooks import OUTLOOKS, get_outlook

HouseMaker = Callable[..., GeneratedHouse]
UP = np.array([[0.0, 1.0, 0.0]])


def _make_square(side: float, y: float) -> np.ndarray:
    a, b, c, d = ((x * side, y, z * side) for x, z in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    return np.array([[a, b, c], [a, c, d]])


def test_a_ray_finds_the_nearest_of_many_triangles() -> None:
    corners = np.concatenate([_make_square(1.0, y / 10) for y in range(1, 40)])
    tree, stack = make_ray_tree(corners), np.empty(STACK, np.int64)
    start, up = np.array([0.2, 0.0, 0.3]), UP[0]
    assert find_hit(tree, stack, start, up, 10.0) == pytest.approx(0.1)
    assert find_hit(tree, stack, start, -up, 10.0) == 10.0
    assert find_hit(tree, stack, np.array([5.0, 0.0, 0.0]), up, 10.0) == 10.0


def test_a_guess_at_what_is_in_the_way_changes_no_answer() -> None:
    """Whichever leaf is guessed, and where rays run along the sides of boxes."""
    draw = np.random.default_rng(5)
    tree, stack = make_ray_tree(draw.integers(0, 5, (80, 3, 3)) / 2.0), np.empty(STACK, np.int64)
    leaves = np.flatnonzero(tree.children[:, 1] <= 0).tolist()
    answers = []
    for _ in range(100):
        start, direction = draw.integers(-1, 10, 3) / 4.0, draw.integers(-2, 3, 3) / 1.0
        found = {find_blocker(tree, stack, start, direction, 0.6, guess) >= 0 for guess in (-1, *leaves)}
        assert found == {find_hit(tree, stack, start, direction, 0.6) < 0.6}
        answers += found
    assert 10 < sum(answers) < 90


def test_a_board_keeps_lamp_sun_and_sky_away() -> None:
    tree = make_ray_tree(_make_square(0.5, 1.0))
    points = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    places = LightPlaces(
        np.array([[0.0, 2.0, 0.0]]), np.array([[0.0, 3.0, 0.0, 0.0, -1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0]])
    )
    found = compute_response(tree, points, np.repeat(UP, 2, axis=0), places)
    assert found.lamps[0, 0] == 0 < found.lamps[1, 0]
    assert found.sun[0] == 0 < found.sun[1]
    assert found.sky[0] == 0 < found.sky[1]
    assert found.open[0] < found.open[1] == 1


def test_floor_under_furniture_is_darker(house: HouseMaker) -> None:
    made = house(1, "flat_1", "seen", 2)
    scene = made.scene
    floors = scene.semantics.categories.index("floor")
    vertices = np.unique(scene.triangles[scene.triangle_category == floors])
    light = scene.colors[vertices, :3].mean(axis=1)
    places = scene.positions[vertices]
    for category in ("bed", "sofa"):
        item = next(item for item in scene.semantics.objects if item.category == category)
        (x, _, z), (width, _, depth) = item.center, item.size
        under = (abs(places[:, 0] - x) < width / 2 - 0.15) & (abs(places[:, 2] - z) < depth / 2 - 0.15)
        region = next(region for region in scene.semantics.regions if region.region_id == item.region)
        inside = (places[:, [0, 2]] > np.array(region.lower)[[0, 2]]).all(axis=1)
        inside &= (places[:, [0, 2]] < np.array(region.upper)[[0, 2]]).all(axis=1)
        assert light[under].mean() < 0.5 * np.percentile(light[inside], 90), category


def test_windows_show_the_time_that_the_lights_have(house: HouseMaker) -> None:
    scene = house(1, "flat_1", "seen", 2).scene
    shown = [material for material in scene.materials if get_finish_kind(material) == "outlook"]
    assert len({material.texture for material in shown}) == 1  # windows and glazed doors
    sun, sky = scene.lights[:2]
    time = next(time for time in TIMES_OF_DAY.values() if time.sky == sky.color and time.sun == sun.color)
    assert any(get_outlook(place, time.name) in OUTLOOKS for place in ("garden", "city"))
    assert sky.direction == (0.0, -1.0, 0.0)
    assert all(light.baked for light in scene.lights)


def test_lighting_a_house_again_traces_nothing(house: HouseMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = house(1, "flat_1", "seen", 2).scene
    assert np.array_equal(bake_house_light(scene), scene.colors)
    monkeypatch.setattr("nav_eval_worlds.houses.baked_light.compute_response", None)
    dim = replace(scene, lights=tuple(replace(light, intensity=light.intensity / 2) for light in scene.lights))
    darker = bake_house_light(dim)
    assert darker[:, :3].mean() < scene.colors[:, :3].mean()


def test_other_shapes_are_traced_anew(house: HouseMaker) -> None:
    scene = house(1, "flat_1", "seen", 2).scene
    moved = LightPlaces(np.zeros((1, 3)), np.zeros((0, 7)), np.zeros((0, 3)))
    assert find_response(scene.positions, moved) is None
    assert find_response(scene.positions.copy(), moved) is None


def test_another_look_keeps_the_time_of_day(house: HouseMaker) -> None:
    before = house(1, "flat_1", "seen", 2).scene
    after = restyle(before, 3)
    assert [light.direction for light in after.lights] == [light.direction for light in before.lights]
    views = [{m.name for m in scene.materials if get_finish_kind(m) == "outlook"} for scene in (before, after)]
    assert views[0] == views[1]
    assert not np.array_equal(after.colors, before.colors)
