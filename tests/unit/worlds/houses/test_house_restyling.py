"""Restyling: another look, the same house."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nav_eval.scene.formats import read_scene, write_glb
from nav_eval.scene.model import Scene
from nav_eval.scene.semantics import get_semantics_path, write_semantics
from nav_eval_worlds.houses import GeneratedHouse, restyle

pytestmark = pytest.mark.slow

HouseMaker = Callable[..., GeneratedHouse]
GEOMETRY = ("positions", "normals", "uvs", "triangles", "triangle_object", "triangle_category")


def _look(scene: Scene, object_id: int) -> set[tuple[object, ...]]:
    used = np.unique(scene.triangle_material[scene.triangle_object == object_id])
    return {(scene.materials[n].name, scene.materials[n].base_color, _picture(scene, int(n))) for n in used}


def _picture(scene: Scene, material: int) -> bytes | None:
    number = scene.materials[material].texture
    return None if number is None else scene.textures[number].pixels.tobytes()


def test_geometry_and_places_stay(house: HouseMaker) -> None:
    before = house().scene
    after = restyle(before, 5)
    assert all(np.array_equal(getattr(before, name), getattr(after, name)) for name in GEOMETRY)
    assert [(o.object_id, o.center, o.size, o.region) for o in before.semantics.objects] == [
        (o.object_id, o.center, o.size, o.region) for o in after.semantics.objects
    ]


def test_goals_keep_their_look_and_others_change_with_their_words(house: HouseMaker) -> None:
    before = house().scene
    sofa = next(item for item in before.semantics.objects if item.category == "sofa")
    after = restyle(before, 5, keep=[sofa.object_id])
    assert _look(after, sofa.object_id) == _look(before, sofa.object_id)
    changed = [
        (old, new)
        for old, new in zip(before.semantics.objects, after.semantics.objects, strict=True)
        if old.attributes["colour"] != new.attributes["colour"]
    ]
    assert len(changed) > 40
    assert sofa.object_id not in [old.object_id for old, _ in changed]
    assert all(_look(before, old.object_id) != _look(after, new.object_id) for old, new in changed)


def test_what_looked_alike_still_does(house: HouseMaker) -> None:
    scene = restyle(house().scene, 9).semantics
    chairs = [item.attributes["colour"] for item in scene.objects if item.category == "chair"]
    assert len(chairs) > 1
    assert len(set(chairs)) == 1


def test_light_alone(house: HouseMaker) -> None:
    before = house().scene
    after = restyle(before, 5, surfaces=False)
    assert after.materials == before.materials
    assert after.lights != before.lights
    assert not np.array_equal(after.colors, before.colors)
    assert np.array_equal(restyle(before, 5, lights=False).colors, before.colors)


def test_seeds_decide(house: HouseMaker) -> None:
    scene = house().scene
    assert restyle(scene, 5).materials == restyle(scene, 5).materials
    assert restyle(scene, 5).materials != restyle(scene, 6).materials
    assert restyle(scene, 5).materials != restyle(scene, 5, split="unseen").materials


@pytest.mark.slow
def test_a_house_from_a_file_can_be_restyled(house: HouseMaker, tmp_path: Path) -> None:
    path = tmp_path / "house.glb"
    write_glb(house().scene, path)
    write_semantics(house().scene.semantics, get_semantics_path(path))
    read = read_scene(path)
    after = restyle(read, 5)
    assert after.semantics.objects != read.semantics.objects
    assert {material.name for material in after.materials} == {material.name for material in read.materials}
