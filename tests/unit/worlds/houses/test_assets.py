"""Houses furnished with models of a folder: read, turned, measured, placed, and their licences written down."""

import json
from pathlib import Path

import numpy as np
import pytest

from nav_eval.errors import ConfigError, SceneError
from nav_eval.scene.formats import read_scene, write_glb
from nav_eval.scene.model import Material, Scene, Texture
from nav_eval_worlds.assets import read_asset, read_assets
from nav_eval_worlds.houses import generate_house
from nav_eval_worlds.houses.house_files import write_house
from nav_eval_worlds.shapes import make_box, merge_meshes

CHAIR = {"category": "chair", "licence": "CC-BY-4.0", "source": "A. Maker", "material": "oak"}


def _write_model(folder: Path, name: str, note: dict[str, object], *, size: float = 1.0) -> Path:
    """A red chair whose back is at −z; its seat is blue and has a texture."""
    legs = merge_meshes([make_box((0.4, 0.4, 0.4)), make_box((0.4, 0.45, 0.04), (0, 0.45, -0.2))])
    seat = make_box((0.42, 0.05, 0.42), (0, 0.4, 0))
    mesh = merge_meshes([legs, seat])
    pixels = np.full((4, 4, 4), 255, np.uint8)
    count = len(mesh.triangles)
    material = np.where(np.arange(count) < len(legs.triangles), 0, 1)
    scene = Scene(
        positions=(size * mesh.positions).astype(np.float32),
        normals=mesh.normals.astype(np.float32),
        uvs=mesh.uvs.astype(np.float32),
        colors=np.full((len(mesh.positions), 4), 255, np.uint8),
        triangles=mesh.triangles.astype(np.uint32),
        triangle_material=material.astype(np.uint16),
        triangle_object=np.ones(count, np.uint32),
        triangle_category=np.ones(count, np.uint16),
        materials=(
            Material(name="legs", base_color=(0.45, 0.02, 0.02, 1.0)),
            Material(name="seat", base_color=(0.03, 0.12, 0.4, 1.0), texture=0),
        ),
        textures=(Texture(pixels=pixels),),
    )
    folder.mkdir(exist_ok=True)
    write_glb(scene, folder / f"{name}.glb")
    note_path = folder / f"{name}.json"
    note_path.write_text(json.dumps(note))
    return note_path


def test_a_model_is_a_piece_with_its_own_look(tmp_path: Path) -> None:
    piece = read_asset(_write_model(tmp_path, "chair", CHAIR)).piece
    assert piece.size == pytest.approx((0.42, 0.9, 0.43), abs=0.01)
    assert piece.finishes["body"].colour == "red"
    assert piece.finishes["body"].material == "oak"
    assert (piece.licence, piece.source) == ("CC-BY-4.0", "A. Maker")


@pytest.mark.parametrize(("front", "axis", "side"), [("+z", 2, -1), ("-z", 2, 1), ("+x", 0, 1), ("-x", 0, -1)])
def test_what_looks_along_the_named_axis_looks_along_z(tmp_path: Path, front: str, axis: int, side: int) -> None:
    """The back of this chair is at −z in the file; a quarter turn from +x to +z takes it to +x."""
    piece = read_asset(_write_model(tmp_path, "chair", {**CHAIR, "front": front})).piece
    points = np.concatenate([part.mesh.positions for part in piece.parts])
    assert np.sign(points[points[:, 1] > 0.8][:, axis].mean()) == side


@pytest.mark.parametrize(
    ("note", "size", "message"),
    [
        ({**CHAIR, "category": "unicorn"}, 1.0, "no category 'unicorn'"),
        ({**CHAIR, "licence": ""}, 1.0, "names no licence"),
        ({"category": "chair"}, 1.0, "licence"),
        ({**CHAIR, "colour": "red"}, 1.0, "colour"),
        (CHAIR, 40.0, "Set scale in chair.json"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, note: dict[str, object], size: float, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        read_asset(_write_model(tmp_path, "chair", note, size=size))


def test_an_empty_folder_is_explained(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"NAME\.json"):
        read_assets(tmp_path)


def test_scale_makes_a_model_real(tmp_path: Path) -> None:
    note = {**CHAIR, "scale": 0.01}
    assert read_asset(_write_model(tmp_path, "chair", note, size=100.0)).piece.size[1] == pytest.approx(0.9, abs=0.01)


def test_a_house_is_furnished_with_them_and_names_their_licence(tmp_path: Path) -> None:
    _write_model(tmp_path / "assets", "chair", CHAIR)
    house = generate_house(1, template="flat_1", generator=2, assets=tmp_path / "assets")
    chairs = [item for item in house.scene.semantics.objects if item.category == "chair"]
    assert chairs
    assert {item.attributes["licence"] for item in chairs} == {"CC-BY-4.0"}
    assert {item.attributes["colour"] for item in chairs} == {"red"}
    entry = write_house(house, tmp_path)
    assert entry.licences == ("CC-BY-4.0",)
    assert any(material.name == "chair/body/model" for material in read_scene(tmp_path / entry.file).materials)


def test_the_first_generator_takes_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="generator 2"):
        generate_house(1, template="flat_1", assets=tmp_path)
