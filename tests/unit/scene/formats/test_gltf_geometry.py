"""Positions, triangles and transforms of glTF files, each compared with what the specification says."""

import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from gltf_files import SQUARE, SQUARE_CORNERS, GltfFile

from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import Scene


def corners_of(scene: Scene) -> np.ndarray:
    """T × 3 × 3 corner positions."""
    return scene.positions[scene.triangles]


def facing(scene: Scene) -> np.ndarray:
    """Unit normals by winding."""
    a, b, c = (corners_of(scene)[:, i].astype(float) for i in range(3))
    normal = np.cross(b - a, c - a)
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def one_mesh(tmp_path: Path, file: GltfFile, mesh: int, **node: object) -> Scene:
    file.node(mesh=mesh, **node)
    return read_scene(file.save(tmp_path / "scene.glb"))


def test_a_square_comes_back_as_it_is(tmp_path: Path) -> None:
    file = GltfFile()
    scene = one_mesh(tmp_path, file, file.square())
    assert corners_of(scene).tolist() == SQUARE[SQUARE_CORNERS].reshape(2, 3, 3).tolist()
    assert scene.normals.tolist() == [[0.0, 0.0, 1.0]] * len(scene.normals)  # flat, because the file has none
    assert scene.report.file_triangles == 2
    assert scene.report.meshes == 1


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4"])
def test_index_types(tmp_path: Path, dtype: str) -> None:
    file = GltfFile()
    mesh = file.mesh({"POSITION": file.accessor(SQUARE)}, indices=file.accessor(SQUARE_CORNERS.astype(dtype)))
    assert len(one_mesh(tmp_path, file, mesh).triangles) == 2


STRIP = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 2, 0]], np.float32)
FAN = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [-1, 1, 0]], np.float32)


@pytest.mark.parametrize(
    ("mode", "points", "area"),
    [
        (4, STRIP[[0, 1, 2, 1, 3, 2]], 1.0),
        (5, STRIP, 1.5),  # every second triangle of a strip is stored the other way round
        (6, FAN, 1.5),
    ],
)
def test_triangle_modes_face_the_same_way(tmp_path: Path, mode: int, points: np.ndarray, area: float) -> None:
    file = GltfFile()
    scene = one_mesh(tmp_path, file, file.mesh({"POSITION": file.accessor(points)}, mode=mode))
    assert np.allclose(facing(scene), [0, 0, 1])
    a, b, c = (corners_of(scene)[:, i].astype(float) for i in range(3))
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2 == pytest.approx(area)


@pytest.mark.parametrize(("mode", "name"), [(0, "POINTS"), (1, "LINES"), (2, "LINE_LOOP"), (3, "LINE_STRIP")])
def test_points_and_lines_are_left_out_with_a_warning(tmp_path: Path, mode: int, name: str) -> None:
    file = GltfFile()
    file.node(mesh=file.mesh({"POSITION": file.accessor(SQUARE)}, mode=mode))
    scene = one_mesh(tmp_path, file, file.square())
    assert len(scene.triangles) == 2
    assert any(name in warning for warning in scene.report.warnings)


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [("i1", 127), ("u1", 255), ("i2", 32767), ("u2", 65535)],
)
def test_normalised_positions_become_fractions(tmp_path: Path, dtype: str, largest: int) -> None:
    file = GltfFile()
    whole = (SQUARE * largest).astype(dtype)
    padded = np.zeros((4, 4), dtype)
    padded[:, :3] = whole
    view = file.view(padded.tobytes(), byteStride=padded.strides[0])
    accessor = file.add("accessors", {
        "bufferView": view, "componentType": {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123}[dtype],
        "count": 4, "type": "VEC3", "normalized": True,
    })  # fmt: skip
    scene = one_mesh(tmp_path, file, file.mesh({"POSITION": accessor}, indices=file.accessor(SQUARE_CORNERS)))
    assert np.allclose(scene.positions.max(axis=0), [1, 1, 0])


def test_integer_positions_without_normalisation_stay_whole(tmp_path: Path) -> None:
    file = GltfFile()
    position = file.accessor(np.c_[SQUARE, np.zeros(4)].astype("i2") * 3)
    file.json["accessors"][position]["type"] = "VEC3"
    file.json["bufferViews"][0]["byteStride"] = 8
    mesh = file.mesh({"POSITION": position}, indices=file.accessor(SQUARE_CORNERS))
    assert one_mesh(tmp_path, file, mesh).positions.max() == 3


def test_the_most_negative_signed_value_is_minus_one(tmp_path: Path) -> None:
    file = GltfFile()
    points = np.array([[-128, 0, 0, 0], [127, 0, 0, 0], [0, 127, 0, 0]], np.int8)
    view = file.view(points.tobytes(), byteStride=4)
    table = {"bufferView": view, "componentType": 5120, "count": 3, "type": "VEC3", "normalized": True}
    scene = one_mesh(tmp_path, file, file.mesh({"POSITION": file.add("accessors", table)}))
    assert scene.positions.min() == -1.0


def test_interleaved_attributes(tmp_path: Path) -> None:
    file = GltfFile()
    rows = np.c_[SQUARE, np.tile([0, 0, 1], (4, 1))].astype(np.float32)
    view = file.view(rows.tobytes(), byteStride=24)
    common = {"bufferView": view, "componentType": 5126, "count": 4, "type": "VEC3"}
    attributes = {
        "POSITION": file.add("accessors", common),
        "NORMAL": file.add("accessors", {**common, "byteOffset": 12}),
    }
    scene = one_mesh(tmp_path, file, file.mesh(attributes, indices=file.accessor(SQUARE_CORNERS)))
    assert scene.positions.tolist() == SQUARE.tolist()
    assert scene.normals.tolist() == [[0, 0, 1]] * 4


def test_sparse_values_replace_dense_and_absent_ones(tmp_path: Path) -> None:
    file = GltfFile()
    values = np.array([[5, 5, 0], [0, 5, 0]], np.float32)
    sparse = {
        "count": 2,
        "indices": {"bufferView": file.view(np.array([2, 3], np.uint8).tobytes()), "componentType": 5121},
        "values": {"bufferView": file.view(values.tobytes())},
    }
    position = file.accessor(SQUARE, sparse=sparse)
    scene = one_mesh(tmp_path, file, file.mesh({"POSITION": position}, indices=file.accessor(SQUARE_CORNERS)))
    assert scene.bounds[1].tolist() == [5, 5, 0]
    del file.json["accessors"][position]["bufferView"]  # all zero but for the sparse values
    scene = read_scene(file.save(tmp_path / "zero.glb"))
    assert corners_of(scene)[0].tolist() == [[0, 0, 0], [5, 5, 0], [0, 5, 0]]


def test_nested_transforms_multiply_from_the_root(tmp_path: Path) -> None:
    file = GltfFile()
    half_turn = [0.0, math.sin(math.pi / 2), 0.0, math.cos(math.pi / 2)]
    leaf = file.node(mesh=file.square(), translation=[1, 0, 0])
    middle = file.node(children=[leaf], rotation=half_turn)
    file.node(children=[middle], matrix=[2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 10, 0, 1])
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    # (1…2, 0…1, 0) turned about Y is (−1…−2, 0…1, 0); doubled and lifted by ten it is this:
    assert np.allclose(scene.bounds[0], [-4, 10, 0], atol=1e-6)
    assert np.allclose(scene.bounds[1], [-2, 12, 0], atol=1e-6)
    assert np.allclose(facing(scene), [0, 0, -1], atol=1e-6)


@pytest.mark.parametrize("scale", [[-1, 1, 1], [1, -2, 1], [1, 1, -1], [-1, -1, -1], [-1, -1, 1], [2, 1, 0.5]])
def test_mirrored_surfaces_keep_their_front(tmp_path: Path, scale: list[float]) -> None:
    file = GltfFile()
    scene = one_mesh(tmp_path, file, file.square(), scale=scale)
    # The front of the square, as a surface, goes wherever the mirror takes it.
    assert np.allclose(facing(scene), [0, 0, np.sign(scale[2])])
    assert np.allclose(scene.normals, [0, 0, np.sign(scale[2])])


def test_normals_follow_the_inverse_transpose(tmp_path: Path) -> None:
    slope = np.array([[0, 0, 0], [1, 0, 0], [1, 1, -1], [0, 1, -1]], np.float32)
    file = GltfFile()
    normals = np.tile(np.array([0, 1, 1], np.float32) / np.sqrt(np.float32(2)), (4, 1))
    attributes = {"POSITION": file.accessor(slope), "NORMAL": file.accessor(normals)}
    mesh = file.mesh(attributes, indices=file.accessor(SQUARE_CORNERS))
    scene = one_mesh(tmp_path, file, mesh, scale=[1, 3, 1])
    assert np.allclose(scene.normals[0], facing(scene)[0], atol=1e-6)


def test_gpu_instances_are_drawn_each(tmp_path: Path) -> None:
    file = GltfFile()
    places = np.array([[0, 0, 0], [10, 0, 0], [0, 0, 10]], np.float32)
    sizes = np.array([[1, 1, 1], [2, 2, 2], [-1, 1, 1]], np.float32)
    attributes = {"TRANSLATION": file.accessor(places), "SCALE": file.accessor(sizes)}
    instancing = {"EXT_mesh_gpu_instancing": {"attributes": attributes}}
    scene = one_mesh(tmp_path, file, file.square(), extensions=instancing, translation=[0, 5, 0])
    assert len(scene.triangles) == 6
    assert scene.report.meshes == 3
    assert corners_of(scene)[2:4].reshape(-1, 3).max(axis=0).tolist() == [12, 7, 0]
    assert np.allclose(facing(scene)[4:], [0, 0, 1])  # the mirrored one too


def test_hidden_nodes_hide_their_children(tmp_path: Path) -> None:
    file = GltfFile()
    square = file.square()
    child = file.node(mesh=square, extensions={"KHR_node_visibility": {"visible": True}})
    file.node(mesh=square, children=[child], extensions={"KHR_node_visibility": {"visible": False}})
    file.node(mesh=square, translation=[3, 0, 0])
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert len(scene.triangles) == 2
    assert scene.bounds[0].tolist() == [3, 0, 0]
    assert any("KHR_node_visibility" in note for note in scene.report.notes)


def test_instances_without_a_place_are_left_out(tmp_path: Path) -> None:
    file = GltfFile()
    places = file.accessor(np.array([[0, 0, 0], [np.inf, 0, 0], [np.nan, 0, 0]], np.float32))
    instancing = {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": places}}}
    file.node(mesh=file.square(), scale=[0, 1, 1], extensions=instancing)
    file.node(mesh=file.square(), extensions=instancing)
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert len(scene.triangles) == 2
    assert any("NaN or infinity" in warning for warning in scene.report.warnings)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("IfcDoor:1234", False),
        ("IfcDoor", False),
        ("IfcDoorStandardCase.7", False),
        ("Ifcdoorframe", True),
        ("Door", True),
    ],
)
def test_closed_doors_of_building_models_are_left_open(tmp_path: Path, name: str, kept: bool) -> None:
    file = GltfFile()
    square = file.square()
    file.node(mesh=square)
    leaf = file.node(mesh=square, translation=[3, 0, 0])
    file.node(children=[leaf], name=name)
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert (len(scene.triangles) == 4) is kept
    assert any("doorways are open" in note for note in scene.report.notes) is not kept


def test_morph_targets_at_their_default_weights(tmp_path: Path) -> None:
    file = GltfFile()
    lift = np.tile(np.array([0, 0, 4], np.float32), (4, 1))
    mesh = file.square(targets=[{"POSITION": file.accessor(lift)}, {"POSITION": file.accessor(lift * 100)}])
    file.json["meshes"][mesh]["weights"] = [0.5, 0.0]
    assert one_mesh(tmp_path, file, mesh).bounds[0][2] == 2
    file.json["nodes"][0]["weights"] = [1.0, 0.0]  # a node's own weights come first
    assert read_scene(file.save(tmp_path / "node.glb")).bounds[0][2] == 4


def test_a_skin_takes_vertices_where_its_joints_are(tmp_path: Path) -> None:
    file = GltfFile()
    joints = np.zeros((4, 4), np.uint8)
    joints[2:, 0] = 1  # the upper edge follows the second joint
    weights = np.tile(np.array([1, 0, 0, 0], np.float32), (4, 1))
    attributes = {
        "POSITION": file.accessor(SQUARE), "JOINTS_0": file.accessor(joints), "WEIGHTS_0": file.accessor(weights),
    }  # fmt: skip
    inverse = np.tile(np.eye(4, dtype=np.float32), (2, 1, 1))
    inverse[1, :3, 3] = [0, -1, 0]  # the second joint was bound at y = 1
    tip = file.node(translation=[0, 3, 0])
    base = file.node(children=[tip], translation=[0, 0, 7])
    skin = file.add("skins", {
        "joints": [base, tip],
        "inverseBindMatrices": file.accessor(inverse.transpose(0, 2, 1).reshape(2, 16)),
    })  # fmt: skip
    mesh = file.mesh(attributes, indices=file.accessor(SQUARE_CORNERS))
    scene = one_mesh(tmp_path, file, mesh, skin=skin, translation=[100, 0, 0])  # the node's own place does not count
    assert scene.bounds[0].tolist() == [0, 0, 7]
    assert scene.bounds[1].tolist() == [1, 3, 7]


def test_object_ids_come_from_extras_and_are_inherited(tmp_path: Path) -> None:
    file = GltfFile()
    square = file.square()
    inner = file.node(mesh=square, extras={"object_id": 9})
    plain = file.node(mesh=square)
    odd = file.node(mesh=square, extras={"object_id": "chair"})
    file.node(children=[inner, plain, odd], extras={"object_id": 4})
    file.node(mesh=square, extras="a string is allowed, too")
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert scene.triangle_object.tolist() == [9, 9, 4, 4, 4, 4, 0, 0]


def test_only_the_default_scene_is_read_and_that_is_said(tmp_path: Path) -> None:
    file = GltfFile()
    first, second = file.node(mesh=file.square()), file.node(mesh=file.square(), translation=[9, 0, 0])
    file.json["scenes"] = [{"nodes": [first]}, {"nodes": [second]}]
    file.json["scene"] = 1
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert scene.bounds[0][0] == 9
    assert any("2 scenes" in warning for warning in scene.report.warnings)


def test_far_places_keep_their_millimetres(tmp_path: Path) -> None:
    """The matrix moves the mesh back: doubles must carry the sum, not floats."""
    file = GltfFile()
    leaf = file.node(mesh=file.square(), translation=[-1e7, 0, 0])
    file.node(children=[leaf], translation=[1e7 + 0.25, 0, 0])
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert scene.bounds[0][0] == 0.25


def test_a_scene_far_from_the_origin_is_kept_there_and_noted(tmp_path: Path) -> None:
    file = GltfFile()
    scene = one_mesh(tmp_path, file, file.square(), translation=[500_000, 0, 0], scale=[8, 8, 8])
    assert scene.bounds[0][0] == 500_000
    assert any("from the origin" in note for note in scene.report.notes)


def test_triangles_without_area_are_dropped_with_a_note(tmp_path: Path) -> None:
    file = GltfFile()
    corners = np.array([0, 1, 2, 1, 1, 2, 0, 2, 3], np.uint16)
    scene = one_mesh(tmp_path, file, file.mesh({"POSITION": file.accessor(SQUARE)}, indices=file.accessor(corners)))
    assert len(scene.triangles) == len(scene.triangle_material) == len(scene.triangle_object) == 2
    assert scene.report.file_triangles == 3
    assert any("without any area" in note for note in scene.report.notes)


def test_broken_vertices_are_dropped_with_a_warning(tmp_path: Path) -> None:
    points = np.r_[SQUARE, [[np.nan, 0, 0], [np.inf, 1, 0]]].astype(np.float32)
    file = GltfFile()
    corners = np.array([0, 1, 2, 0, 1, 4, 0, 2, 5], np.uint16)
    scene = one_mesh(tmp_path, file, file.mesh({"POSITION": file.accessor(points)}, indices=file.accessor(corners)))
    assert len(scene.triangles) == 1
    assert np.isfinite(scene.positions).all()
    assert np.isfinite(scene.normals).all()
    assert any("NaN" in warning for warning in scene.report.warnings)


def test_a_scene_without_triangles_is_refused(tmp_path: Path) -> None:
    file = GltfFile()
    file.node()
    with pytest.raises(SceneError, match="not a single triangle"):
        read_scene(file.save(tmp_path / "empty.glb"))


def test_text_files_with_embedded_and_external_buffers(tmp_path: Path) -> None:
    file = GltfFile()
    file.node(mesh=file.square())
    assert len(read_scene(file.save_text(tmp_path / "embedded.gltf")).triangles) == 2
    path = file.save_text(tmp_path / "external.gltf", uri="my buffer.bin")
    assert len(read_scene(path).triangles) == 2
    path.write_text(path.read_text().replace("my buffer.bin", "my%20buffer.bin"))
    assert len(read_scene(path).triangles) == 2


def test_a_missing_buffer_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = GltfFile()
    file.node(mesh=file.square())
    path = file.save_text(tmp_path / "scene.gltf", uri="geometry.bin")
    (tmp_path / "geometry.bin").unlink()
    with pytest.raises(SceneError, match=r"geometry\.bin"):
        read_scene(path)


@pytest.mark.parametrize("spaces", [1, 2, 3])
@pytest.mark.parametrize("padded", [True, False])
def test_chunks_of_odd_length_are_read(tmp_path: Path, spaces: int, padded: bool) -> None:
    """GLB wants multiples of four; who forgets it either pads without counting, or does not pad."""
    file = GltfFile()
    file.node(mesh=file.mesh({"POSITION": file.accessor(np.eye(3, dtype=np.float32))}))
    content = file.save(tmp_path / "scene.glb").read_bytes()
    length = int.from_bytes(content[12:16], "little")
    text = content[20 : 20 + length].rstrip() + b" "
    text += b" " * (-len(text) % 4 + spaces)
    fill = b"\0" * (-len(text) % 4 if padded else 0)
    rest = len(text).to_bytes(4, "little") + b"JSON" + text + fill + content[20 + length :]
    (tmp_path / "scene.glb").write_bytes(content[:8] + (12 + len(rest)).to_bytes(4, "little") + rest)
    assert len(read_scene(tmp_path / "scene.glb").triangles) == 1


@pytest.mark.parametrize(
    "text", ['{"asset": {"version": "1.0"}, "scenes": {"main": {}}}', '{"accessors": {"a": {}}, "meshes": {"m": {}}}']
)
def test_gltf_1_is_called_by_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "old.gltf").write_text(text)
    with pytest.raises(SceneError, match=r"is glTF 1\.0"):
        read_scene(tmp_path / "old.gltf")


def test_instances_take_the_memory_of_what_is_shown_and_little_more(tmp_path: Path) -> None:
    file = GltfFile()
    strip = np.array([(x / 500, y, 0) for x in range(1001) for y in (0, 1)], np.float32)
    indices = np.array([(i, i + 1, i + 2) for i in range(2000)], np.uint16).ravel()
    mesh = file.mesh({"POSITION": file.accessor(strip), "NORMAL": file.accessor(strip)}, indices=file.accessor(indices))
    shifts = np.array([(0, 0, z) for z in range(400)], np.float32)
    instancing = {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": file.accessor(shifts)}}}
    file.json["extensionsUsed"] = list(instancing)
    file.node(mesh=mesh, extensions=instancing)
    path = file.save(tmp_path / "many.glb")
    tracemalloc.start()
    try:
        scene = read_scene(path, up="y")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    arrays = (scene.positions, scene.normals, scene.uvs, scene.colors, scene.triangles, scene.triangle_object)
    assert len(scene.triangles) == 800_000
    assert peak < 3 * sum(array.nbytes for array in arrays)
