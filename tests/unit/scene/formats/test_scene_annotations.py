"""Annotations of HM3D, Matterport3D, ScanNet, Replica and our own, on small rooms of two objects."""

import json
from pathlib import Path

import numpy as np
import pytest
from gltf_files import SQUARE_CORNERS, GltfFile, picture
from test_ply_files import XYZ, write_ply

from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval.scene.formats.annotations import find_nearest
from nav_eval.scene.model import Region, Scene, SceneObject, Semantics
from nav_eval.scene.semantics import get_semantics_path, read_semantics, write_semantics

#: Z-up: a floor tile at z = 0 and a table top at z = 1, each of one square metre, two metres apart.
FLOOR = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
TABLE = FLOOR + np.array([3, 0, 1], np.float32)


def tiles(path: Path, *, textured: np.ndarray | None = None) -> Path:
    """A GLB with both tiles; with a picture, the floor has its left half and the table its right half."""
    file = GltfFile()
    material = {}
    if textured is not None:
        texture = file.texture(picture(textured))
        material = {"material": file.material(pbrMetallicRoughness={"baseColorTexture": {"index": texture}})}
    for points, left in ((FLOOR, 0.0), (TABLE, 0.5)):
        uvs = np.array([[left, 1], [left + 0.5, 1], [left + 0.5, 0], [left, 0]], np.float32)
        attributes = {"POSITION": file.accessor(points), "TEXCOORD_0": file.accessor(uvs)}
        file.node(mesh=file.mesh(attributes, indices=file.accessor(SQUARE_CORNERS), **material))
    return file.save(path)


def named(scene: Scene) -> dict[str, list[int]]:
    """Category → the triangles that carry it."""
    categories = scene.semantics.categories
    return {name: np.flatnonzero(scene.triangle_category == number).tolist() for number, name in enumerate(categories)}


SEMANTIC_TEXT = """HM3D Semantic Annotations
1,FF0000,"floor",0
2,7F7F,"table, round",4
"""


def test_hm3d(tmp_path: Path) -> None:
    folder = tmp_path / "00800-TEEsavR23oF"
    folder.mkdir()
    colors = np.zeros((8, 8, 3), np.uint8)
    colors[:, :4], colors[:, 4:] = (255, 0, 0), (0, 0x7F, 0x7F)  # the file may drop leading zeros of a colour
    tiles(folder / "TEEsavR23oF.semantic.glb", textured=colors)
    (folder / "TEEsavR23oF.semantic.txt").write_text(SEMANTIC_TEXT)
    scene = read_scene(tiles(folder / "TEEsavR23oF.basis.glb"))
    assert named(scene) == {"": [], "floor": [0, 1], "table, round": [2, 3]}
    assert scene.triangle_object.tolist() == [1, 1, 2, 2]
    table = scene.semantics.objects[1]
    assert (table.object_id, table.name, table.region) == (2, "table, round_2", "4")
    assert np.allclose(table.center, [3.5, 1, -0.5])  # turned with the scene: Z up to Y up
    assert np.allclose(table.size, [1, 0, 1])
    assert [region.region_id for region in scene.semantics.regions] == ["0", "4"]
    assert any("HM3D" in note for note in scene.report.notes)


def test_hm3d_surfaces_without_a_name_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "00800-TEEsavR23oF"
    folder.mkdir()
    file = GltfFile()  # only the floor is annotated, and in a colour that the text does not know
    attributes = {"POSITION": file.accessor(FLOOR)}
    file.node(mesh=file.mesh(attributes, indices=file.accessor(SQUARE_CORNERS)))
    file.save(folder / "TEEsavR23oF.semantic.glb")
    (folder / "TEEsavR23oF.semantic.txt").write_text(SEMANTIC_TEXT)
    scene = read_scene(tiles(folder / "TEEsavR23oF.basis.glb"))
    assert not scene.triangle_object.any()
    assert any("2 triangles are not near" in warning for warning in scene.report.warnings)


@pytest.mark.parametrize("line", ["one,FF0000,floor,0", "1,GG0000,floor,0", "1,FF0000", "0,FF0000,floor,0"])
def test_hm3d_text_that_is_none(tmp_path: Path, line: str) -> None:
    tiles(tmp_path / "x.semantic.glb")
    (tmp_path / "x.semantic.txt").write_text(f"HM3D Semantic Annotations\n{line}\n")
    with pytest.raises(SceneError, match="line 2"):
        read_scene(tiles(tmp_path / "x.glb"))


HOUSE = """ASCII 1.1
H house_0 house_0 0 0 0 0 2 2 2 1 0 1 0 0 0 0 0 0 0 0 5 5 5 0 0 0 0 0
L 0 1 level 0 0 0 0 0 0 5 5 3 0 0 0 0 0
R 0 0 0 0 k 1 1 1 0 0 0 5 4 3 0 0 0 0 0
O 0 0 0 0.5 0.5 0 1 0 0 0 1 0 0.5 0.5 0.1 0 0 0 0 0 0 0 0
O 1 0 1 3.5 0.5 1 1 0 0 0 1 0 0.5 0.5 0.1 0 0 0 0 0 0 0 0
C 0 3 floor 2 floor 0 0 0 0 0
C 1 9 coffee#table 5 table 0 0 0 0 0
E 0 0 11 1 0 0 0 0 0 0 1 1 1 0 0 0 0 0
E 1 1 1000012 1 0 0 0 0 0 0 1 1 1 0 0 0 0 0
"""


def semantic_ply(path: Path, field: str, floor: int, table: int) -> None:
    vertices = [tuple(map(float, point)) for point in (*FLOOR, *TABLE)]
    faces = [((0, 1, 2, 3), floor), ((4, 5, 6, 7), table)]
    write_ply(path, form="binary_little_endian", vertex=XYZ, vertices=vertices, faces=faces, face=[("int", field)])


def test_matterport(tmp_path: Path) -> None:
    folder = tmp_path / "17DRP5sb8fy"
    folder.mkdir()
    (folder / "17DRP5sb8fy.house").write_text(HOUSE)
    semantic_ply(folder / "17DRP5sb8fy_semantic.ply", "segment_id", 11, 1_000_012)
    scene = read_scene(tiles(folder / "17DRP5sb8fy.glb"))
    assert named(scene) == {"": [], "floor": [0, 1], "table": [2, 3]}
    assert scene.triangle_object.tolist() == [1, 1, 2, 2]  # counted from 0 there, from 1 here
    table = scene.semantics.objects[1]
    assert table.name == "coffee table_1"
    assert table.attributes == {"raw_category": "coffee table"}
    assert scene.semantics.regions == (
        Region(region_id="0", category="kitchen", lower=(0, 0, -4), upper=(5, 3, 0)),
    )  # the region's box was turned upright too


def test_replica(tmp_path: Path) -> None:
    (tmp_path / "habitat").mkdir()
    info = {"objects": [{"id": 0, "class_name": "floor"}, {"id": 7, "class_name": "table"}], "classes": []}
    (tmp_path / "habitat" / "info_semantic.json").write_text(json.dumps(info))
    semantic_ply(tmp_path / "habitat" / "mesh_semantic.ply", "object_id", 0, 7)
    semantic_ply(tmp_path / "mesh.ply", "nothing", 0, 0)
    scene = read_scene(tmp_path / "mesh.ply")
    assert named(scene) == {"": [], "floor": [0, 1], "table": [2, 3]}
    assert [thing.object_id for thing in scene.semantics.objects] == [1, 8]
    assert scene.semantics.objects[1].center[1] == 1


def scannet(folder: Path, *, segments: list[int]) -> Path:
    path = folder / "scene0000_00_vh_clean_2.ply"
    semantic_ply(path, "nothing", 0, 0)
    groups = [
        {"id": 0, "objectId": 0, "label": "floor", "segments": [1, 2]},
        {"id": 1, "objectId": 1, "label": "table", "segments": [9]},
    ]
    (folder / "scene0000_00.aggregation.json").write_text(json.dumps({"sceneId": "x", "segGroups": groups}))
    (folder / "scene0000_00_vh_clean_2.0.010000.segs.json").write_text(json.dumps({"segIndices": segments}))
    return path


def test_scannet(tmp_path: Path) -> None:
    scene = read_scene(scannet(tmp_path, segments=[1, 1, 2, 3, 9, 9, 9, 9]))
    assert named(scene) == {"": [], "floor": [0, 1], "table": [2, 3]}  # two of three vertices decide
    assert scene.semantics.objects[1].name == "table_1"


def test_scannet_labels_of_another_mesh_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="labels 3 vertices, but the mesh has 8"):
        read_scene(scannet(tmp_path, segments=[1, 1, 1]))


CHAIR = SceneObject(
    object_id=5, category="chair", center=(0.5, 0.0, 0.5), size=(1.0, 2.0, 1.0), region="kitchen",
    name="chair_1", attributes={"colour": "red"},
)  # fmt: skip
OWN = Semantics(
    objects=(CHAIR, SceneObject(object_id=2, category="lamp", center=(0, 1, 0), size=(1, 1, 1))),
    regions=(
        Region(region_id="kitchen", category="kitchen", lower=(0, 0, 0), upper=(4, 3, 5),
               floor_polygon=((0.0, 0.0), (4.0, 0.0), (4.0, 5.0))),
    ),
    categories=("", "wall", "lamp", "chair"),
)  # fmt: skip


def test_our_own_annotation_and_the_nodes_that_it_speaks_of(tmp_path: Path) -> None:
    file = GltfFile()
    for object_id in (5, 0, 2, 77):
        file.node(mesh=file.square(), extras={"object_id": object_id}, translation=[object_id, 0, 0])
    path = file.save(tmp_path / "house.glb")
    write_semantics(OWN, get_semantics_path(path))
    scene = read_scene(path)
    assert scene.semantics == OWN
    assert scene.triangle_object.tolist() == [5, 5, 0, 0, 2, 2, 77, 77]
    names = [scene.semantics.categories[number] for number in scene.triangle_category]
    assert names == ["chair", "chair", "", "", "lamp", "lamp", "", ""]  # 77 is in nobody's list


def test_our_own_annotation_comes_back_and_is_the_same_bytes(tmp_path: Path) -> None:
    write_semantics(OWN, tmp_path / "a.json")
    again = read_semantics((tmp_path / "a.json").read_bytes(), source="a.json")
    assert again == OWN
    write_semantics(again, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "usable annotation"),
        ('{"objects": [{"id": 1}]}', "category"),
        ('{"objects": [{"id": 0, "category": "x", "center": [0,0,0], "size": [1,1,1]}]}', "object id 0"),
        (json.dumps({"objects": [{"id": 1, "category": "", "center": [0] * 3, "size": [1] * 3}] * 2}), "used twice"),
    ],
)  # fmt: skip
def test_unusable_annotations_say_why(content: str, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        read_semantics(content.encode(), source="house.semantics.json")


def test_nearest_agrees_with_brute_force() -> None:
    rng = np.random.default_rng(8)
    points, targets = (rng.uniform(-2, 2, (count, 3)).astype(np.float32) for count in (400, 700))
    found = find_nearest(points, targets)
    distances = np.linalg.norm(points[:, None].astype(float) - targets[None].astype(float), axis=2)
    for index, match in enumerate(found):
        if match < 0:
            assert distances[index].min() >= 0.5
        else:
            assert distances[index, match] == distances[index].min()
    assert 0 < (found < 0).sum() < 400 or (found >= 0).all()
    assert find_nearest(points, targets[:0]).tolist() == [-1] * 400
