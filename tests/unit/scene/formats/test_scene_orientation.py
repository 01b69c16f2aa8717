"""Which way is up, in which unit, and who says so."""

import json
from pathlib import Path

import numpy as np
import pytest
from gltf_files import GltfFile
from pydantic import ValidationError

from nav_eval.config.schema import DatasetConfig, MeshObjCfg
from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval.scene.objects import place_objects
from nav_eval.simulator.scene_manager import SceneSource

BOX = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
BOX_CORNERS = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
     [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]], np.uint16,
)  # fmt: skip


def house(*, wide: float = 10, deep: float = 8, high: float = 2.7, roof: bool = True) -> list[tuple]:
    """Boxes (lower corner, size), Y up: a floor, four walls, one wall inside, furniture, perhaps a ceiling."""
    boxes = [
        ((0, -0.1, 0), (wide, 0.1, deep)),
        ((0, 0, 0), (wide, high, 0.1)), ((0, 0, deep - 0.1), (wide, high, 0.1)),
        ((0, 0, 0), (0.1, high, deep)), ((wide - 0.1, 0, 0), (0.1, high, deep)),
        ((wide / 2, 0, 0), (0.1, high, deep * 0.7)),
        ((1, 0, 1), (1.5, 0.75, 0.8)), ((6, 0, 3), (2, 0.5, 1.6)), ((3, 0, 5), (0.6, 1.8, 0.4)),
    ]  # fmt: skip
    return boxes + ([((0, high, 0), (wide, 0.1, deep))] if roof else [])


def save(path: Path, boxes: list[tuple], *, matrix: np.ndarray | None = None, scale: float = 1.0) -> Path:
    """A GLB of boxes, its vertices turned by `matrix` (the file's own frame)."""
    matrix = np.eye(3) if matrix is None else matrix
    points = np.concatenate([np.array(lower) + BOX * np.array(size) for lower, size in boxes])
    corners = np.concatenate([BOX_CORNERS + 8 * index for index in range(len(boxes))])
    file = GltfFile()
    position = file.accessor((points @ matrix.T * scale).astype(np.float32))
    file.node(mesh=file.mesh({"POSITION": position}, indices=file.accessor(corners.ravel().astype(np.uint16))))
    return file.save(path)


#: From our frame (Y up) into a file whose Z is up, as Habitat has it: (x, y, z) → (x, −z, y).
INTO_Z_UP = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], float)
INTO_X_UP = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]], float)

HOUSES = {
    "house": house(),
    "without a ceiling": house(roof=False),
    "one wide room": house(wide=6, deep=7, high=3.2),
    "a long hall": house(wide=20, deep=3, high=2.6),
    "two storeys": house() + [((x, y + 2.8, z), size) for (x, y, z), size in house()],
}


@pytest.mark.parametrize("name", HOUSES)
def test_a_y_up_house_stays_as_it_is(tmp_path: Path, name: str) -> None:
    scene = read_scene(save(tmp_path / "house.glb", HOUSES[name]))
    assert scene.report.up == "+Y (the rule for .glb files)"
    assert scene.bounds[0][1] == pytest.approx(-0.1)


@pytest.mark.parametrize("name", ["house", "without a ceiling", "one wide room", "two storeys"])
def test_a_house_that_lies_on_its_side_is_read_as_gltf_says_and_reported(tmp_path: Path, name: str) -> None:
    lying = read_scene(save(tmp_path / "lying.glb", HOUSES[name], matrix=INTO_Z_UP))
    assert lying.report.up == "+Y (the rule for .glb files)"
    assert any("pass up=z" in warning for warning in lying.report.warnings)


def save_obj(path: Path, boxes: list[tuple], *, matrix: np.ndarray) -> Path:
    points = np.concatenate([np.array(lower) + BOX * np.array(size) for lower, size in boxes]) @ matrix.T
    corners = np.concatenate([BOX_CORNERS + 8 * index for index in range(len(boxes))]) + 1
    lines = [*(f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in points), *(f"f {a} {b} {c}" for a, b, c in corners)]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("name", ["house", "without a ceiling", "one wide room", "two storeys"])
def test_a_z_up_house_is_noticed_and_turned_where_the_format_says_nothing(tmp_path: Path, name: str) -> None:
    upright = read_scene(save(tmp_path / "upright.glb", HOUSES[name]))
    turned = read_scene(save_obj(tmp_path / "lying.obj", HOUSES[name], matrix=INTO_Z_UP))
    assert "+Z" in turned.report.up
    assert np.allclose(turned.positions[turned.triangles], upright.positions[upright.triangles], atol=1e-5)
    assert any("turned to +Y" in note for note in turned.report.notes)


@pytest.mark.parametrize(
    "boxes",
    [
        [((-0.25, 0, -0.25), (0.5, 0.05, 0.5)), ((-0.25, 0.05, 0.2), (0.5, 6.0, 4.0))],  # a tall slab on a foot
        [((0, 0, 0), (0.3, 2.4, 9.0)), ((0, 0, 0), (2.2, 0.1, 0.1))],  # a fence
        [((0, 0, 0), (2.5, 30.0, 30.0)), ((0, 0, 0), (2.5, 0.1, 30.0))],  # a tower block, thin and wide
        [((0, 0, 0), (3.0, 60.0, 12.0)), ((0.5, 0, 3), (2.0, 0.01, 0.01))],  # a blade on end: hardly anything is level
    ],
)
def test_gltf_files_stay_upright(tmp_path: Path, boxes: list[tuple]) -> None:
    assert read_scene(save(tmp_path / "model.glb", boxes)).report.up == "+Y (the rule for .glb files)"


def test_nothing_is_taken_for_a_building_with_x_up(tmp_path: Path) -> None:
    x_up = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    assert read_scene(save_obj(tmp_path / "side.obj", HOUSES["house"], matrix=x_up)).report.up.startswith("+Y")


def test_a_figure_without_a_floor_stays_as_its_format_usually_is(tmp_path: Path) -> None:
    """A person drawn in centimetres: 167 high, and flat enough from the front to look like storeys."""
    heights, turns = np.meshgrid(np.linspace(0, np.pi, 24), np.linspace(0, 2 * np.pi, 48), indexing="ij")
    points = np.stack([np.sin(heights) * np.cos(turns), np.cos(heights), np.sin(heights) * np.sin(turns)], axis=-1)
    text = "".join(f"v {x:.4f} {y:.4f} {z:.4f}\n" for x, y, z in points.reshape(-1, 3) * (25, 84, 22))
    for row in range(23):
        for column in range(47):
            first = row * 48 + column + 1
            text += f"f {first} {first + 48} {first + 49} {first + 1}\n"
    (tmp_path / "person.obj").write_text(text)
    assert read_scene(tmp_path / "person.obj").report.up == "+Y (the rule for .obj files)"


@pytest.mark.parametrize(
    "boxes",
    [
        [((0, 0, 0), (20, 2.7, 0.1)), ((0, 0, 1.8), (20, 2.7, 0.1)), ((0, -0.1, 0), (20, 0.1, 1.9))],  # a corridor
        house(wide=40, deep=6, high=15),  # a church
        [((0, 0, 0), (5, 5, 0.1))],  # a notice board
    ],
)
def test_walls_never_become_floor(tmp_path: Path, boxes: list[tuple]) -> None:
    assert read_scene(save(tmp_path / "walls.glb", boxes)).report.up.startswith("+Y")


def test_a_bare_sheet_of_ground_is_laid_down(tmp_path: Path) -> None:
    scene = read_scene(save(tmp_path / "plane.glb", [((-20, 0, -20), (40, 0, 40))], matrix=INTO_Z_UP))
    assert "+Z" in scene.report.up
    assert scene.bounds[1][1] == scene.bounds[0][1] == 0


@pytest.mark.parametrize(
    ("up", "matrix"),
    [
        ("y", np.eye(3)), ("z", INTO_Z_UP), ("+Z", INTO_Z_UP), ("0,0,1", INTO_Z_UP), ("-y", np.diag([-1.0, -1.0, 1.0])),
    ],
)  # fmt: skip
def test_the_caller_decides(tmp_path: Path, up: str, matrix: np.ndarray) -> None:
    upright = read_scene(save(tmp_path / "upright.glb", house()))
    scene = read_scene(save(tmp_path / "file.glb", house(), matrix=matrix), up=up)
    assert np.allclose(scene.positions[scene.triangles], upright.positions[upright.triangles], atol=1e-5)


@pytest.mark.parametrize("up", ["x", "-x", "-z"])
def test_every_axis_can_be_up(tmp_path: Path, up: str) -> None:
    """Whatever was up in the file is up afterwards, and hands stay right."""
    scene = read_scene(save(tmp_path / "file.glb", [((0, 0, 0), (3, 4, 5))]), up=up)
    heights = {"x": 3, "-x": 3, "-z": 5}
    assert scene.bounds[1][1] - scene.bounds[0][1] == heights[up]
    points = scene.positions[scene.triangles].astype(float)
    volume = np.einsum("ti,ti->t", points[:, 0], np.cross(points[:, 1], points[:, 2])).sum() / 6
    assert volume == pytest.approx(60)  # positive: nothing was mirrored


@pytest.mark.parametrize("up", ["q", "", "1,2", "0,0,0", "nan,0,0"])
def test_nonsense_is_refused(tmp_path: Path, up: str) -> None:
    with pytest.raises(SceneError):
        read_scene(save(tmp_path / "file.glb", house()), up=up)


@pytest.mark.parametrize(
    ("folder", "name", "dataset"),
    [
        ("00800-TEEsavR23oF", "TEEsavR23oF.basis.glb", "HM3D"),
        ("00800-TEEsavR23oF", "TEEsavR23oF.glb", "HM3D"),
        ("17DRP5sb8fy", "17DRP5sb8fy.glb", "Matterport3D"),
        (".", "anything.basis.glb", "HM3D"),
        (".", "TEEsavR23oF.glb", None),
        ("YmJkqBEsHnH", "YmJkqBEsHnH.glb", "Matterport3D"),
        ("LivingRoom1", "LivingRoom1.glb", None),
        ("ToyCarModel", "ToyCarModel.glb", None),
        ("cottagehome", "cottagehome.glb", None),
        ("BUILDING001", "BUILDING001.glb", None),
        ("00800-TEEsavR23oF", "other.glb", None),
    ],
)
def test_data_sets_are_known_by_their_names(tmp_path: Path, folder: str, name: str, dataset: str | None) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    boxes = [((0, 0, 0), (3, 3, 3))]  # a cube says nothing about up
    scene = read_scene(save(tmp_path / folder / name, boxes))
    assert scene.report.up.startswith("+Z" if dataset else "+Y")
    assert (dataset or "rule") in scene.report.up
    assert scene.materials[0].unlit is (dataset is not None)  # the light of a scan is in its pictures


def test_a_converted_file_with_a_data_set_name_is_not_turned_twice(tmp_path: Path) -> None:
    scene = read_scene(save(tmp_path / "TEEsavR23oF.basis.glb", house()))
    assert scene.report.up.startswith("+Y")


def stage_config(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({"render_asset": "house.glb", **fields}))


def test_the_stage_config_decides(tmp_path: Path) -> None:
    path = save(tmp_path / "house.glb", house())
    stage_config(tmp_path / "house.stage_config.json", up=[0, 0, 1], front=[0, 1, 0])
    scene = read_scene(path)
    assert "stage config" in scene.report.up
    assert scene.bounds[1][1] == pytest.approx(8)  # even against all appearances
    assert read_scene(path, up="y").bounds[1][1] == pytest.approx(2.8)  # unless the caller knows better


def test_front_units_and_shading_from_the_stage_config(tmp_path: Path) -> None:
    path = save(tmp_path / "house.basis.glb", house(), scale=100)
    config = tmp_path / "house.stage_config.json"  # the short name counts as well
    stage_config(config, up=[0, 1, 0], front=[1, 0, 0], units_to_meters=0.01, shader_type="flat")
    scene = read_scene(path)
    # The file's +X is forward: it becomes −Z.
    assert np.allclose(scene.bounds[1] - scene.bounds[0], [8, 2.9, 10], atol=1e-4)
    assert scene.bounds[0][2] == pytest.approx(-10)
    assert scene.materials[0].unlit


def test_uneven_scale_and_gravity_from_the_stage_config(tmp_path: Path) -> None:
    path = save(tmp_path / "house.glb", house(), matrix=INTO_Z_UP)
    stage_config(tmp_path / "house.stage_config.json", gravity=[0, 0, -9.8], scale=[1, 1, 2])
    scene = read_scene(path)
    assert scene.bounds[1][1] == pytest.approx(5.6)
    assert np.allclose(np.linalg.norm(scene.normals, axis=1), 1)


@pytest.mark.parametrize("content", ["", "[]", '{"up": "z"}', '{"up": [0, 0, 0]}', '{"up":[0,1,0],"front":[0,2,0]}'])
def test_an_unusable_stage_config_is_refused(tmp_path: Path, content: str) -> None:
    path = save(tmp_path / "house.glb", house())
    (tmp_path / "house.stage_config.json").write_text(content)
    with pytest.raises(SceneError):
        read_scene(path)


def test_a_tilted_scan_is_refused_with_the_vector_that_helps(tmp_path: Path) -> None:
    up = np.array([0, -0.8, -0.6])
    side = np.array([1.0, 0, 0])
    matrix = np.stack([side, up, np.cross(side, up)], axis=1)
    many = house() + [((x, 0, z), (0.2, 0.4, 0.2)) for x in range(1, 8) for z in range(2, 5)]
    path = save(tmp_path / "tilted.glb", many, matrix=matrix)
    with pytest.raises(SceneError, match=r'pass up="-?0\.000,-?0\.800,-?0\.600"'):
        read_scene(path)
    scene = read_scene(path, up="0,-0.8,-0.6")
    assert scene.bounds[1][1] - scene.bounds[0][1] == pytest.approx(2.9, abs=1e-3)


@pytest.mark.parametrize(
    ("scale", "advice"), [(100, "scale=0.01"), (1000, "scale=0.001"), (39.37, "scale=0.0254"), (0.05, "miniature")]
)
def test_other_units_are_noticed(tmp_path: Path, scale: float, advice: str) -> None:
    path = save(tmp_path / "house.glb", house(), scale=scale)
    try:
        told = " ".join(read_scene(path).report.warnings)
    except SceneError as error:
        told = str(error)
    assert advice in told
    scene = read_scene(path, scale=1 / scale)
    assert np.allclose(scene.bounds[1], [10, 2.8, 8], atol=1e-3)
    assert scene.report.warnings == ()


def test_lights_turn_and_scale_with_the_scene(tmp_path: Path) -> None:
    file = GltfFile()
    file.json["extensions"] = {"KHR_lights_punctual": {"lights": [
        {"type": "point", "range": 5}, {"type": "directional"},
    ]}}  # fmt: skip
    file.node(mesh=file.square(), scale=[3, 3, 3])
    file.node(extensions={"KHR_lights_punctual": {"light": 0}}, translation=[1, 2, 3])
    file.node(extensions={"KHR_lights_punctual": {"light": 1}})  # shines along the file's −Z: down
    lamp, sun = read_scene(file.save(tmp_path / "scene.glb"), up="z", scale=2).lights
    assert np.allclose(lamp.position, [2, 6, -4])
    assert lamp.range == pytest.approx(10)
    assert np.allclose(sun.direction, [0, -1, 0])


def test_kilometres_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="scale"):
        read_scene(save(tmp_path / "house.glb", house(), scale=10_000))


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_scales_are_refused(tmp_path: Path, scale: float) -> None:
    with pytest.raises(SceneError, match="scale"):
        read_scene(save(tmp_path / "house.glb", house()), scale=scale)


def test_a_house_in_centimetres_is_not_taken_for_millimetres(tmp_path: Path) -> None:
    tower = [((x, y + 2.8 * k, z), size) for k in range(9) for (x, y, z), size in house()]  # 25 m: 2,500 cm
    scene = read_scene(save(tmp_path / "tower.glb", tower, scale=100.0))
    assert any("centimetres, pass scale=0.01" in warning for warning in scene.report.warnings)


def test_objects_stand_as_their_format_says_or_as_they_are_told(tmp_path: Path) -> None:
    """A rack looks more like a house on its side than like a rack."""
    rack = house(wide=3, deep=9, high=2.5)
    save_obj(tmp_path / "rack.obj", rack, matrix=INTO_Z_UP)
    room = read_scene(save(tmp_path / "room.glb", house(wide=30, deep=30)))
    for up, height in (("auto", 9.0), ("z", 2.7)):
        thing = MeshObjCfg(name="rack", mesh_path="rack.obj", up=up)
        placed = place_objects(room, [thing], root=tmp_path).scene.semantics.objects[-1]
        assert placed.size[1] == pytest.approx(height, abs=0.2), up


def test_a_benchmark_says_how_its_scenes_are_drawn(tmp_path: Path) -> None:
    file = save(tmp_path / "room.glb", house(), matrix=INTO_Z_UP, scale=100.0)
    sources = [
        SceneSource(path=file, things=(), root=tmp_path, cache=tmp_path / "cache", up=up, scale=scale)
        for up, scale in (("auto", None), ("z", 0.01))
    ]
    assert sources[0].digest != sources[1].digest
    lower, upper = sources[1].furnished.scene.bounds
    assert np.allclose(upper - lower, (10.0, 2.9, 8.0), atol=1e-3)
    dataset = {"type": "vln", "format": "r2r"}
    assert DatasetConfig(**dataset, scene_up="z", scene_scale=0.01).scene_scale == 0.01
    with pytest.raises(ValidationError):
        DatasetConfig(**dataset, scene_up="north")


def test_a_newer_reader_does_not_find_what_an_older_one_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = save(tmp_path / "room.glb", house())

    def find_digest() -> str:
        return SceneSource(path=file, things=(), root=tmp_path, cache=tmp_path / "cache").digest

    before = find_digest()
    assert find_digest() == before
    monkeypatch.setattr("nav_eval.simulator.scene_manager.READING_VERSION", 1_000)
    assert find_digest() != before
