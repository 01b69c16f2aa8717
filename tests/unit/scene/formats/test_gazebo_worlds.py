"""Gazebo worlds become scenes: poses, included models, meshes, shapes, materials, lamps, and what is refused."""

import json
from pathlib import Path

import mesh_files
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nav_eval import cli
from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval.scene.formats.gazebo import ModelLibrary, read_world
from nav_eval.scene.model import Scene

BOX = "<geometry><box><size>1 2 3</size></box></geometry>"


def world(*parts: str) -> str:
    return f"<?xml version='1.0'?><sdf version='1.6'><world name='w'>{''.join(parts)}</world></sdf>"


def model(name: str, visual: str, *, pose: str = "0 0 0 0 0 0", link: str = "") -> str:
    body = f"<link name='l'>{link}<visual name='v'>{visual}</visual></link>"
    return f"<model name='{name}'><pose>{pose}</pose>{body}</model>"


def save(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def save_model(folder: Path, name: str, body: str) -> None:
    save(folder, f"models/{name}/model.config", "<model><sdf version='1.6'>model.sdf</sdf></model>")
    save(folder, f"models/{name}/model.sdf", f"<sdf version='1.6'>{body}</sdf>")


def read(folder: Path, *parts: str) -> Scene:
    path = save(folder, "worlds/test.world", world(*parts))
    return read_world(path, ModelLibrary(path))


def bounds(scene: Scene) -> list[list[float]]:
    return [np.round(corner, 4).tolist() for corner in scene.bounds]


def test_z_up_becomes_y_up_and_a_model_is_an_object(tmp_path: Path) -> None:
    scene = read(tmp_path, model("Box_01_001", BOX, pose="10 5 1.5 0 0 0"))
    assert bounds(scene) == [[9.5, 0.0, -6.0], [10.5, 3.0, -4.0]]
    (thing,) = scene.semantics.objects
    assert (thing.category, thing.name, thing.size) == ("box", "Box_01_001", pytest.approx((1.0, 3.0, 2.0)))


def test_poses_are_chained_and_turn_by_roll_pitch_yaw(tmp_path: Path) -> None:
    visual = "<pose>1 0 0 0 0 0</pose>" + BOX
    link = "<pose>0 0 0 0 0 1.5707963</pose>"  # what was one metre ahead is now one metre to the left
    scene = read(tmp_path, model("turned", visual, pose="0 0 10 0 0 0", link=link))
    assert bounds(scene) == [[-1.0, 8.5, -1.5], [1.0, 11.5, -0.5]]


@pytest.mark.parametrize(
    ("pose", "upper"),
    [
        ("<pose degrees='true'>0 0 0 0 90 0</pose>", [1.5, 0.5, 1.0]),
        ("<pose rotation_format='quat_xyzw'>0 0 0 0 0.70710678 0 0.70710678</pose>", [1.5, 0.5, 1.0]),
        ("<pose>0 0 0 1.57079633 0 0</pose>", [0.5, 1.0, 1.5]),
    ],
)
def test_every_way_to_write_a_rotation(tmp_path: Path, pose: str, upper: list[float]) -> None:
    scene = read(tmp_path, model("box", pose + BOX))
    assert bounds(scene)[1] == upper


def test_a_pose_may_be_relative_to_a_frame_beside_it(tmp_path: Path) -> None:
    parts = (
        "<model name='m'><frame name='corner'><pose>4 0 0 0 0 0</pose></frame>"
        "<link name='a'><pose relative_to='corner'>1 0 0 0 0 0</pose><visual name='v'>"
        + BOX
        + "</visual></link></model>"
    )
    assert bounds(read(tmp_path, parts))[0][0] == 4.5


def test_a_circle_of_frames_is_refused(tmp_path: Path) -> None:
    circle = (
        "<model name='m'><link name='a'><pose relative_to='b'>1 0 0 0 0 0</pose></link>"
        "<link name='b'><pose relative_to='a'>1 0 0 0 0 0</pose></link></model>"
    )
    with pytest.raises(SceneError, match="cyclic"):
        read(tmp_path, circle)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("<cylinder><radius>1</radius><length>4</length></cylinder>", [2, 4, 2]),
        ("<sphere><radius>2</radius></sphere>", [4, 4, 4]),
        ("<capsule><radius>1</radius><length>2</length></capsule>", [2, 4, 2]),
        ("<cone><radius>1</radius><length>3</length></cone>", [2, 3, 2]),
        ("<ellipsoid><radii>1 2 3</radii></ellipsoid>", [2, 6, 4]),
        ("<plane><normal>0 0 1</normal><size>8 6</size></plane>", [8, 0, 6]),
        ("<plane><normal>1 0 0</normal><size>8 6</size></plane>", [0, 8, 6]),
        (
            "<polyline><point>0 0</point><point>0 3</point><point>2 0</point><height>1.5</height></polyline>",
            [2, 1.5, 3],
        ),
    ],
)
def test_plain_shapes_are_closed_and_face_outwards(tmp_path: Path, shape: str, size: list[float]) -> None:
    scene = read(tmp_path, model("shape", f"<geometry>{shape}</geometry>"))
    lower, upper = scene.bounds
    np.testing.assert_allclose(upper - lower, size, atol=1e-4)
    middle = scene.positions.mean(axis=0)
    corners = scene.positions[scene.triangles].astype(float)
    outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    if "plane" not in shape:
        assert (np.einsum("ij,ij->i", outward, corners.mean(axis=1) - middle) > 0).all()


def test_models_are_included_within_models_and_meshes_read_once(tmp_path: Path) -> None:
    mesh = "<geometry><mesh><uri>model://wedge/meshes/wedge.stl</uri><scale>2 2 2</scale></mesh></geometry>"
    save_model(tmp_path, "wedge", model("inner", mesh, pose="0 0 1 0 0 0"))
    (tmp_path / "models/wedge/meshes").mkdir()
    mesh_files.save(tmp_path / "models/wedge/meshes", "wedge.stl", mesh_files.binary_stl())
    include = "<include><uri>model://wedge</uri></include>"
    scene = read(
        tmp_path,
        f"<model name='Chair_01'><pose>5 0 0 0 0 0</pose>{include}</model>",
        "<include><name>Chair_02</name><uri>model://wedge</uri><pose>0 0 0 0 0 0</pose></include>",
    )
    first, second = scene.semantics.objects
    assert (first.category, second.name) == ("chair", "Chair_02")
    assert first.center[0] - second.center[0] == pytest.approx(5.0)
    assert first.center[1] - second.center[1] == pytest.approx(1.0)  # a pose of the include replaces the model's own


def test_a_collada_mesh_is_not_turned_and_finds_its_picture_in_the_model(tmp_path: Path) -> None:
    save_model(tmp_path, "thing", model("t", "<geometry><mesh><uri>model://thing/meshes/t.dae</uri></mesh></geometry>"))
    (tmp_path / "models/thing/materials/textures").mkdir(parents=True)
    Image.new("RGB", (2, 2), (10, 200, 30)).save(tmp_path / "models/thing/materials/textures/wood.png")
    (tmp_path / "models/thing/meshes").mkdir()
    for up_axis in ("Y_UP", "Z_UP"):
        asset = f"<unit meter='0.5'/><up_axis>{up_axis}</up_axis>"
        placed = mesh_files.PLACED.format(number=1, x=0, material="wood-m")
        for picture in ("../materials/textures/wood.png", "C:\\Users\\me\\wood.png", "wood.png"):
            content = mesh_files.collada(asset=asset, nodes=placed, picture=picture)
            mesh_files.save(tmp_path / "models/thing/meshes", "t.dae", content)
            scene = read(tmp_path, "<include><uri>model://thing</uri></include>")
            assert bounds(scene) == [[0.0, 0.0, -1.0], [1.5, 0.5, 0.0]]  # as drawn, whatever the file calls up
            assert scene.textures[0].pixels[0, 0].tolist() == [10, 200, 30, 255]


def test_colours_scripts_and_pictures(tmp_path: Path) -> None:
    (tmp_path / "models/tiles/materials/textures").mkdir(parents=True)
    Image.new("RGB", (2, 2), (10, 200, 30)).save(tmp_path / "models/tiles/materials/textures/tile.png")
    save(
        tmp_path,
        "models/tiles/materials/scripts/tiles.material",
        "material Base { technique { pass { diffuse 1 0 0 1 } } }\n"
        "material Tiles/Floor : Base\n{ technique { pass { texture_unit { texture tile.png } } } } // end\n",
    )
    script = (
        "<material><script><uri>model://tiles/materials/scripts</uri><uri>model://tiles/materials/textures</uri>"
        "<name>Tiles/Floor</name></script></material>"
    )
    save_model(tmp_path, "tiles", model("t", BOX + script))
    red = "<material><diffuse>1 0 0 1</diffuse></material>"
    grey = "<material><script><name>Gazebo/Grey</name></script></material>"
    clear = "<transparency>0.75</transparency>"
    scene = read(
        tmp_path,
        "<include><uri>model://tiles</uri></include>",
        *(model(f"m{i}", BOX + extra) for i, extra in enumerate((red, grey, red + clear))),
    )
    tiled, painted, named, glass = scene.materials
    assert tiled.texture is not None
    assert scene.textures[tiled.texture].pixels[0, 0].tolist() == [10, 200, 30, 255]
    assert painted.base_color == (1.0, 0.0, 0.0, 1.0)
    assert named.base_color[0] == pytest.approx(0.448, abs=1e-3)  # 0.7 in linear light
    assert (glass.base_color[3], glass.alpha_mode) == (0.25, "blend")


def test_a_saved_state_moves_and_removes_models(tmp_path: Path) -> None:
    state = (
        "<state world_name='w'><model name='a'><pose>7 0 0 0 0 0</pose></model>"
        "<deletions><name>b</name></deletions></state>"
    )
    scene = read(tmp_path, model("a", BOX), model("b", BOX), state)
    assert [thing.name for thing in scene.semantics.objects] == ["a"]
    assert scene.semantics.objects[0].center[0] == pytest.approx(7.0)


def test_the_sun_and_the_ground_that_every_gazebo_brings(tmp_path: Path) -> None:
    builtins = [f"<include><uri>model://{name}</uri></include>" for name in ("sun", "ground_plane")]
    lamp = "<light name='l' type='point'><pose>1 2 3 0 0 0</pose><attenuation><range>6</range></attenuation></light>"
    scene = read(tmp_path, *builtins, lamp)
    assert bounds(scene) == [[-50.0, 0.0, -50.0], [50.0, 0.0, 50.0]]
    sun, point = scene.lights
    assert (sun.kind, point.kind, point.position, point.range) == ("sun", "point", (1.0, 3.0, -2.0), 6.0)


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    gone = "<include><uri>model://gone</uri></include>"
    missing = model("m", "<geometry><mesh><uri>model://gone/meshes/x.dae</uri></mesh></geometry>")
    odd = model("h", "<geometry><heightmap/></geometry>")
    nameless = model("n", BOX + "<material><script><name>Nobody/Knows</name></script></material>")
    scene = read(tmp_path, gone, missing, odd, nameless, "<actor name='walker'/>", model("kept", BOX))
    said = " ".join(scene.report.warnings)
    for words in ("'gone'", "--models", "x.dae", "<heightmap>", "Nobody/Knows", "1 actors are left out"):
        assert words in said


@pytest.mark.parametrize("uri", ["model://../secret/secret.stl", "../../secret/secret.stl", "file:///etc/passwd.stl"])
def test_nothing_outside_of_the_models_is_opened(tmp_path: Path, uri: str) -> None:
    (tmp_path / "secret").mkdir()
    mesh_files.save(tmp_path / "secret", "secret.stl", mesh_files.binary_stl())
    mesh = model("m", f"<geometry><mesh><uri>{uri}</uri></mesh></geometry>")
    scene = read(tmp_path, mesh, model("kept", BOX))
    assert [thing.name for thing in scene.semantics.objects] == ["kept"]
    assert "A mesh is left out" in scene.report.warnings[0]


def test_a_model_that_includes_itself_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path, "self", "<model name='s'><include><uri>model://self</uri></include></model>")
    with pytest.raises(SceneError, match="models within models"):
        read(tmp_path, "<include><uri>model://self</uri></include>")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("<sdf><world><model name='m'><pose>1 2</pose></model></world></sdf>", "x y z roll pitch yaw"),
        ("<sdf><world><model name='m'><pose>1 2 3 a b c</pose></model></world></sdf>", "must be numbers"),
        ("<robot name='r'/>", "no SDF file"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><sdf/>", "document type"),
        ("<sdf><world>", "not well-formed"),
        ("<sdf><world/></sdf>", "not a single triangle"),
        (world(model("m", "<geometry><box><size>0 1 1</size></box></geometry>")), "above 0"),
    ],
)
def test_a_broken_world_is_refused_with_the_reason(tmp_path: Path, content: str, words: str) -> None:
    path = save(tmp_path, "broken.sdf", content)
    with pytest.raises(SceneError, match=words):
        read_world(path, ModelLibrary(path))


def test_the_command_writes_a_scene_that_is_read_back(tmp_path: Path) -> None:
    path = save(tmp_path, "room.world", world(model("Desk_1", BOX, pose="0 0 1.5 0 0 0")))
    out = tmp_path / "out/room.glb"
    result = CliRunner().invoke(cli.app, ["scenes", "convert", str(path), "--out", str(out)])
    assert result.exit_code == 0, result.output
    scene = read_scene(out)
    assert [thing.category for thing in scene.semantics.objects] == ["desk"]
    assert bounds(scene) == [[-0.5, 0.0, -1.0], [0.5, 3.0, 1.0]]
    assert json.loads(out.with_suffix(".semantics.json").read_text())["objects"][0]["name"] == "Desk_1"


def test_any_scene_file_is_converted(tmp_path: Path) -> None:
    mesh_files.save(tmp_path, "wedge.stl", mesh_files.binary_stl())
    out = tmp_path / "wedge.glb"
    result = CliRunner().invoke(cli.app, ["scenes", "convert", str(tmp_path / "wedge.stl"), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert bounds(read_scene(out)) == bounds(read_scene(tmp_path / "wedge.stl"))


@pytest.mark.parametrize(
    "uri", ["file://models/wedge/meshes/wedge.stl", "package://shop/models/wedge/meshes/wedge.stl"]
)
def test_files_that_only_their_author_can_reach_are_found_in_the_folder_of_models(tmp_path: Path, uri: str) -> None:
    """AWS's book shop names all its meshes from a folder above the models."""
    save_model(tmp_path, "wedge", model("wedge", BOX))
    meshes = tmp_path / "models/wedge/meshes"
    meshes.mkdir()
    mesh_files.save(meshes, "wedge.stl", mesh_files.binary_stl())
    scene = read(tmp_path, model("w", f"<geometry><mesh><uri>{uri}</uri></mesh></geometry>"))
    assert bounds(scene) == [[0.0, 0.0, -2.0], [3.0, 1.0, 0.0]]


def test_a_model_whose_config_is_broken_is_found_by_the_usual_name(tmp_path: Path) -> None:
    """AWS's hospital has "Q&A" in one: Gazebo does not mind."""
    save_model(tmp_path, "lift", model("lift", BOX))
    save(tmp_path, "models/lift/model.config", "<model><sdf>model.sdf</sdf><description>Q&A</description></model>")
    scene = read(tmp_path, "<include><uri>model://lift</uri></include>")
    assert [thing.category for thing in scene.semantics.objects] == ["lift"]


@pytest.mark.parametrize("away", ["8e17 0 0", "0 0 -343000"])
def test_what_a_simulation_threw_away_does_not_take_the_world_with_it(tmp_path: Path, away: str) -> None:
    near = "500000 4000000 0"  # a world in coordinates of a map
    boxes = [model(name, BOX, pose=f"{near} 0 0 0") for name in ("one", "two")]
    lost = np.array(near.split(), float) + np.array(away.split(), float)
    thrown = model("thrown", BOX, pose=f"{' '.join(map(str, lost.tolist()))} 0 0 0")
    scene = read(tmp_path, *boxes, thrown)
    assert [thing.name for thing in scene.semantics.objects] == ["one", "two"]
    assert any("'thrown' stands" in warning for warning in scene.report.warnings)


def test_one_broken_model_does_not_take_the_world_with_it(tmp_path: Path) -> None:
    save_model(tmp_path, "broken", "<model>")
    scene = read(tmp_path, model("box", BOX), "<include><uri>model://broken</uri></include>")
    assert len(scene.triangles) == 12
    assert any("A model is left out" in warning and "well-formed" in warning for warning in scene.report.warnings)


def test_blanks_in_an_address_on_fuel(tmp_path: Path) -> None:
    save_model(tmp_path, "electrical box", model("box", BOX))
    uri = "https://fuel.gazebosim.org/1.0/openrobotics/models/Electrical%20Box"
    assert len(read(tmp_path, f"<include><uri>{uri}</uri></include>").triangles) == 12


@pytest.mark.parametrize("uri", ["model://%2e%2e", "https://fuel.gazebosim.org/1.0/x/models/%2e%2e%2fsecret"])
def test_no_address_leads_out_of_the_folders_of_models(tmp_path: Path, uri: str) -> None:
    save(tmp_path, "secret/model.sdf", f"<sdf version='1.6'>{model('secret', BOX)}</sdf>")
    save(tmp_path, "models/secret.txt", "")
    scene = read(tmp_path, model("box", BOX), f"<include><uri>{uri}</uri></include>")
    assert len(scene.triangles) == 12
