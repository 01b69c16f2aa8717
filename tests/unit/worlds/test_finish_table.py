"""Finishes that are looked up are those that are made one by one."""

import pytest

from nav_eval.scene.model import Material
from nav_eval_worlds.generator import SHELL, HouseGenerator
from nav_eval_worlds.materials import FINISH_KINDS

KINDS = [
    kind for kind in FINISH_KINDS if FINISH_KINDS[kind].material in ("plaster", "wallpaper", "tile", "wood", "brick")
]


@pytest.fixture(scope="module")
def materials() -> dict[int, Material]:
    """Of every kind, on walls, floors and ceilings; their numbers are in several blocks of draws."""
    pairs = ((part, kind) for part in SHELL for kind in KINDS)
    return {7 + 31 * n: Material(name=f"{part}/body/{kind}") for n, (part, kind) in enumerate(pairs)}


def test_a_drawn_scene_has_the_finishes_of_its_materials(materials: dict[int, Material]) -> None:
    generator = HouseGenerator()
    finishes = generator.prepare_finishes(materials)
    assert max(materials) > 512
    for seed in range(60):
        colors, textures = finishes(seed)
        for (number, material), color, texture in zip(materials.items(), colors.tolist(), textures, strict=True):
            made = generator.vary_material(material, seed=seed, number=number)
            assert made is not None
            look, own = made
            assert tuple(color) == look.base_color
            assert texture is (None if look.texture is None else own[look.texture])
    assert {id(texture) for texture in textures if texture} <= {id(texture) for texture in finishes.textures}


def test_a_scene_without_walls_of_ours_has_none() -> None:
    finishes = HouseGenerator().prepare_finishes({})
    colors, textures = finishes(3)
    assert colors.shape == (0, 4)
    assert not textures
    assert not finishes.textures
