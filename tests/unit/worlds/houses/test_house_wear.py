"""Signs of use: where they are, how strong they are, and that the same house is always worn alike."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from nav_eval_worlds.houses import GeneratedHouse
from nav_eval_worlds.houses.light_shares import HouseRelighting
from nav_eval_worlds.houses.plan.model import PASSABLE
from nav_eval_worlds.houses.wear import compute_wear, make_patches, measure_to_segment
from nav_eval_worlds.materials import make_finish
from nav_eval_worlds.palettes import HOUSE_STYLES, weigh_colours
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.textures.texture import SURFACES, WORN_PATTERNS, make_texture
from nav_eval_worlds.textures.wear import CAN_WEAR, WORN

HouseMaker = Callable[..., GeneratedHouse]


def _wear_of(made: GeneratedHouse, category: str, points: list[tuple[float, float, float]], room: str) -> np.ndarray:
    owner = next(o.object_id for o in made.scene.semantics.objects if o.category == category and o.region == room)
    return compute_wear(made.scene, np.array(points), np.full(len(points), owner)).mean(axis=1)


def test_floors_are_trodden_at_doors_and_on_the_ways_between_them(house: HouseMaker) -> None:
    made = house(1, "flat_1", "seen", 2)
    hall = next(room for room in made.plan.rooms if room.kind == "hallway")
    doors = [o for o in made.plan.openings if hall.room_id in o.rooms and o.kind in PASSABLE]
    first, second = ((o.center[0] / 1000, 0.0, o.center[1] / 1000) for o in doors[:2])
    between = tuple((a + b) / 2 for a, b in zip(first, second, strict=True))
    corners = [(x / 1000, 0.0, z / 1000) for x, z in hall.outline]
    far = max(corners, key=lambda c: min(np.hypot(c[0] - d[0], c[2] - d[2]) for d in (first, second)))
    at_door, on_way, aside = _wear_of(made, "floor", [first, between, far], hall.room_id)
    assert at_door < on_way < 1
    assert at_door < aside


def test_walls_are_worn_at_their_foot(house: HouseMaker) -> None:
    made = house(1, "flat_1", "seen", 2)
    room = made.plan.rooms[0]
    (x, z) = room.outline[0]
    foot, middle = _wear_of(made, "wall", [(x / 1000, 0.05, z / 1000), (x / 1000, 1.9, z / 1000)], room.room_id)
    assert foot < middle <= 1


def test_wear_is_subtle_and_touches_nothing_but_the_shell(house: HouseMaker) -> None:
    scene = house(1, "flat_1", "seen", 2).scene
    owner = np.zeros(len(scene.positions), np.int64)
    owner[scene.triangles] = scene.triangle_object.astype(np.int64)[:, None]
    worn = compute_wear(scene, scene.positions.astype(float), owner)
    shell = [item.object_id for item in scene.semantics.objects if item.category in ("floor", "wall", "ceiling")]
    assert (worn[~np.isin(owner, shell)] == 1).all()
    assert 0.6 < worn.min() < 0.97
    assert worn[np.isin(owner, shell)].mean() > 0.93


def test_lighting_a_house_again_keeps_its_wear(house: HouseMaker) -> None:
    scene = house(1, "flat_1", "seen", 2).scene
    relight = HouseRelighting(scene)
    again = relight(scene.lights)[relight.places]
    assert abs(again.astype(int) - scene.colors.astype(int)).max() <= 1


def test_each_house_is_worn_in_its_own_way(house: HouseMaker) -> None:
    scene = house(1, "flat_1", "seen", 2).scene
    moved = [replace(r, upper=(r.upper[0] + 0.3, *r.upper[1:])) for r in scene.semantics.regions]
    other = replace(scene, semantics=replace(scene.semantics, regions=tuple(moved)))
    points = np.column_stack([np.linspace(1, 3, 50), np.zeros(50), np.full(50, 2.0)])
    floor = next(item.object_id for item in scene.semantics.objects if item.category == "floor")
    owner = np.full(50, floor)
    assert not np.array_equal(compute_wear(scene, points, owner), compute_wear(other, points, owner))
    assert np.array_equal(compute_wear(scene, points, owner), compute_wear(scene, points, owner))


def test_only_later_generators_use_worn_surfaces_and_as_often_as_the_style_says() -> None:
    worn = HOUSE_STYLES["industrial"]
    for wear, share in ((0.0, 0.0), (1.0, 1.0), (0.5, 0.5)):
        draws = [RandomStream(n, "wear", generator=2, style=replace(worn, wear=wear)) for n in range(200)]
        found = np.mean([make_finish("planks", draw).pattern.endswith(WORN) for draw in draws])
        assert found == pytest.approx(share, abs=0.12)
    assert not any(make_finish("planks", RandomStream(n, "wear")).pattern.endswith(WORN) for n in range(50))


@pytest.mark.parametrize("name", sorted(CAN_WEAR & set(SURFACES)))
def test_a_worn_surface_is_like_a_new_one_and_repeats_without_a_seam(name: str) -> None:
    new = SURFACES[name](RandomStream(0, "texture", name))
    worn = WORN_PATTERNS[name + WORN](RandomStream(0, "texture", name))
    marks = worn.reshape(*worn.shape[:2], -1)[..., 0] / new.reshape(*new.shape[:2], -1)[..., 0]
    assert 0.8 < marks.mean() < 1
    assert marks.std() > 0.005
    steps, seam = abs(np.diff(marks, axis=0)), abs(marks[0] - marks[-1])
    assert seam.mean() < 4 * steps.mean() + 0.004


def test_a_worn_rug_has_lost_its_pattern_in_the_middle_alone() -> None:
    fresh, faded = make_texture("rug border", 0).pixels, make_texture("rug border worn", 0).pixels
    rim, heart = (slice(0, 20), slice(0, 20)), (slice(108, 148), slice(108, 148))
    assert abs(faded[rim].mean() - fresh[rim].mean()) < 12
    assert faded[heart][..., 0].std() < 0.8 * fresh[heart][..., 0].std()


def test_patches_are_smooth_and_between_zero_and_one() -> None:
    places = np.column_stack([np.linspace(-7, 7, 2000), np.full(2000, 0.3)])
    noise = make_patches(places, 5)
    assert 0 <= noise.min() < 0.2
    assert 0.8 < noise.max() <= 1
    assert abs(np.diff(noise)).max() < 0.02
    assert not np.array_equal(noise, make_patches(places, 6))


def test_distance_to_a_line_ends_at_its_ends() -> None:
    points = np.array([[0.0, 1.0], [3.0, 0.0], [-1.0, 0.0]])
    assert np.allclose(measure_to_segment(points, np.array([0.0, 0.0]), np.array([2.0, 0.0])), [1, 1, 1])


def test_no_car_is_black() -> None:
    """It would be a silhouette in a dim garage, without reflections that would show its shape."""
    for style in HOUSE_STYLES.values():
        assert dict(weigh_colours("car paint", ("black", "white"), style))["black"] == 0.0
