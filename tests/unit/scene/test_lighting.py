"""Light by choice."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nav_eval.config.schema import PrimitiveCubeCfg
from nav_eval.scene.model import Light, Scene, apply_lighting
from nav_eval.scene.objects import place_objects


@pytest.fixture
def box(empty_scene: Scene) -> Scene:
    return place_objects(empty_scene, [PrimitiveCubeCfg(name="box", size=(1.0, 1.0, 1.0))], root=Path()).scene


def brightness(scene: Scene) -> dict[tuple[int, ...], int]:
    """By the way a face looks."""
    return {tuple(normal.astype(int)): int(color[0]) for normal, color in zip(scene.normals, scene.colors, strict=True)}


def test_auto_leaves_everything_as_it_is(box: Scene) -> None:
    assert apply_lighting(box, "auto") is box


def test_plain_light_tells_the_sides_of_a_box_apart(box: Scene) -> None:
    sides = brightness(apply_lighting(box, "lit"))
    assert sides[0, 1, 0] > sides[1, 0, 0] > sides[0, 0, 1] > sides[0, -1, 0]


def test_what_is_unlit_by_nature_stays_so(box: Scene) -> None:
    scan = replace(box, materials=tuple(replace(material, unlit=True) for material in box.materials))
    assert np.array_equal(apply_lighting(scan, "lit").colors, scan.colors)


def test_lamps_can_be_switched_off(box: Scene) -> None:
    dark = replace(box, lights=(Light(kind="sun"),), colors=np.full_like(box.colors, 90))
    assert set(apply_lighting(dark, "unlit").colors.reshape(-1).tolist()) == {255}
    assert apply_lighting(dark, "lit") is dark
