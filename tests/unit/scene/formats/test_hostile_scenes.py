"""Files from strangers: a clear refusal or a scene, never a crash, never a byte from outside the folder."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gltf_files import FOUR_COLORS, SQUARE, SQUARE_CORNERS, GltfFile, pack_glb, picture
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nav_eval.errors import SceneError
from nav_eval.scene.formats import ReadLimits, read_scene
from nav_eval.scene.model import Scene


def plain_file() -> GltfFile:
    """A little of everything, in about two kilobytes."""
    file = GltfFile()
    texture = file.texture(picture(FOUR_COLORS))
    material = file.material(pbrMetallicRoughness={"baseColorTexture": {"index": texture}}, alphaMode="MASK")
    child = file.node(mesh=file.square(material=material), translation=[1, 0, 0], extras={"object_id": 3})
    file.node(children=[child], rotation=[0, 0.6, 0, 0.8])
    joints = {"JOINTS_0": file.accessor(np.zeros((4, 4), np.uint8)),
              "WEIGHTS_0": file.accessor(np.tile(np.array([1, 0, 0, 0], np.float32), (4, 1)))}  # fmt: skip
    bound = file.mesh({"POSITION": file.accessor(SQUARE), **joints}, indices=file.accessor(SQUARE_CORNERS))
    file.node(mesh=bound, skin=file.add("skins", {"joints": [child]}))
    places = file.accessor(np.eye(3, dtype=np.float32))
    file.node(mesh=bound, extensions={"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": places}}})
    return file


def broken(tmp_path: Path, **changes: Any) -> Path:
    file = plain_file()
    document = {**file.finished(), **changes}
    path = tmp_path / "scene.glb"
    path.write_bytes(pack_glb(json.dumps(document).encode(), bytes(file.binary)))
    return path


def test_the_plain_file_is_fine(tmp_path: Path) -> None:
    assert len(read_scene(broken(tmp_path)).triangles) == 10


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_off_glb_says_so(tmp_path: Path, share: float) -> None:
    path = broken(tmp_path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(SceneError, match=r"scene\.glb"):
        read_scene(path)


def accessor(**fields: Any) -> list[dict]:
    return [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", **fields}] * 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"asset": {"version": "1.0"}}, "version 1.0"),
        ({"asset": 7}, "glTF"),
        ({"nodes": [{"children": [0]}], "scenes": [{"nodes": [0]}]}, "cyclic"),
        ({"nodes": [{"children": [1]}, {"children": [0]}], "scenes": [{"nodes": [0]}]}, "cyclic"),
        ({"nodes": [{"children": [1, 1]}, {}], "scenes": [{"nodes": [0]}]}, "reached twice"),
        ({"nodes": [{"children": [99]}], "scenes": [{"nodes": [0]}]}, "node 99"),
        ({"nodes": [{"mesh": 99}], "scenes": [{"nodes": [0]}]}, "mesh 99"),
        ({"nodes": [{"mesh": -1}], "scenes": [{"nodes": [0]}]}, "mesh"),
        ({"scene": 5}, "scene 5"),
        ({"bufferViews": []}, "bufferView"),
        ({"buffers": []}, "buffer"),
        ({"accessors": []}, "accessor"),
        ({"materials": []}, "material"),
        ({"textures": []}, "texture"),
        ({"images": []}, "image"),
        ({"skins": []}, "skin"),
        ({"skins": [{"joints": []}]}, "joints"),
        ({"skins": [{"joints": [77]}]}, "joints"),
        ({"accessors": accessor(bufferView=99)}, "bufferView 99"),
        ({"accessors": accessor(byteOffset=10**9)}, "bytes"),
        ({"accessors": accessor(count=10**12)}, "limit"),
        ({"accessors": accessor(count=10**6)}, "bytes"),
        ({"accessors": accessor(componentType=4)}, "componentType 4"),
        ({"accessors": accessor(type="VEC9")}, "VEC9"),
        ({"accessors": accessor(sparse={"count": 9, "indices": {"bufferView": 0, "componentType": 5121},
                                        "values": {"bufferView": 0}})}, "replaces"),
        ({"meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 9}]}] * 3}, "mode 9"),
        ({"meshes": "none"}, "meshes"),
    ],
)  # fmt: skip
def test_dangling_and_impossible_references(tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(SceneError, match=message) as refusal:
        read_scene(broken(tmp_path, **changes))
    assert "scene.glb" in str(refusal.value)


def test_corners_past_the_last_vertex(tmp_path: Path) -> None:
    file = GltfFile()
    corners = file.accessor(np.array([0, 1, 4], np.uint16))
    file.node(mesh=file.mesh({"POSITION": file.accessor(SQUARE)}, indices=corners))
    with pytest.raises(SceneError, match="vertex 4"):
        read_scene(file.save(tmp_path / "scene.glb"))


def test_attributes_of_different_lengths(tmp_path: Path) -> None:
    file = GltfFile()
    file.node(mesh=file.mesh({"POSITION": file.accessor(SQUARE), "NORMAL": file.accessor(SQUARE[:2])}))
    with pytest.raises(SceneError, match="NORMAL has 2 values for 4"):
        read_scene(file.save(tmp_path / "scene.glb"))


def test_a_deep_tree_is_refused(tmp_path: Path) -> None:
    nodes = [{"children": [index + 1]} for index in range(5000)] + [{"mesh": 0}]
    with pytest.raises(SceneError, match="levels of nodes"):
        read_scene(broken(tmp_path, nodes=nodes, scenes=[{"nodes": [0]}]))


def test_deeply_nested_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scene.gltf"
    path.write_text('{"asset":{"version":"2.0"},"extras":' + "[" * 200_000 + "]" * 200_000 + "}")
    with pytest.raises(SceneError, match="glTF"):
        read_scene(path)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (ReadLimits(file_bytes=500), "bytes"),
        (ReadLimits(json_bytes=500), "glTF text"),
        (ReadLimits(nodes=2), "nodes"),
        (ReadLimits(depth=0), "levels"),
        (ReadLimits(vertices=20), "vertices"),
        (ReadLimits(triangles=5), "triangles"),
        (ReadLimits(image_pixels=3), "pixels in a picture"),
        (ReadLimits(texture_pixels=3), "pixels in all"),
        (ReadLimits(materials=1), "materials"),
    ],
)
def test_every_limit_is_kept(tmp_path: Path, limits: ReadLimits, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        read_scene(broken(tmp_path), limits=limits)


def test_instances_count_before_they_are_made(tmp_path: Path) -> None:
    """A million instances of a mesh would be two million triangles."""
    file = GltfFile()
    places = file.add("accessors", {"componentType": 5126, "count": 900_000, "type": "VEC3"})  # all zero: no data
    instancing = {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": places}}}
    file.node(mesh=file.square(), extensions=instancing)
    with pytest.raises(SceneError, match="limit"):
        read_scene(file.save(tmp_path / "scene.glb"), limits=ReadLimits(triangles=10_000))


def huge_png(width: int, height: int) -> bytes:
    """A few bytes that promise more pixels than memory holds."""
    content = b"\x89PNG\r\n\x1a\n"
    header = struct.pack(">2I5B", width, height, 8, 6, 0, 0, 0)
    for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(100_000))), (b"IEND", b"")):
        content += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return content


@pytest.mark.parametrize("side", [12_000, 100_000])  # beyond our limit, and beyond Pillow's own
def test_a_decompression_bomb_is_refused_by_its_header(tmp_path: Path, side: int) -> None:
    file = GltfFile()
    texture = file.texture(huge_png(side, side))
    material = file.material(pbrMetallicRoughness={"baseColorTexture": {"index": texture}})
    file.node(mesh=file.square(material=material))
    with pytest.raises(SceneError, match="larger than the reading limits"):
        read_scene(file.save(tmp_path / "scene.glb"))


OUTSIDE = ["../secret.bin", "a/../../secret.bin", "..%2fsecret.bin", "%2e%2e/secret.bin", "..\\secret.bin",
           "/etc/passwd", "file:///etc/passwd", "https://example.org/x.bin", "C:\\secret.bin", "link.bin",
           "sub/../../secret.bin", "secret\0.bin", "//host/share"]  # fmt: skip


@pytest.mark.parametrize("uri", OUTSIDE)
def test_no_file_outside_the_folder_is_opened(tmp_path: Path, uri: str) -> None:
    file = GltfFile()
    file.node(mesh=file.square())
    folder = tmp_path / "scene"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(file.binary)  # it would fit, if it were read
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    path = file.save_text(folder / "scene.gltf")
    document = json.loads(path.read_text())
    document["buffers"][0]["uri"] = uri
    path.write_text(json.dumps(document))
    with pytest.raises(SceneError, match="refuses to open"):
        read_scene(path)


@pytest.mark.parametrize("uri", ["data:,plain", "data:application/octet-stream;base64,*", "data:", "data:;base64"])
def test_unusable_data_uris(tmp_path: Path, uri: str) -> None:
    file = GltfFile()
    file.node(mesh=file.square())
    path = file.save_text(tmp_path / "scene.gltf")
    document = json.loads(path.read_text())
    document["buffers"][0]["uri"] = uri
    path.write_text(json.dumps(document))
    with pytest.raises(SceneError):
        read_scene(path)


@pytest.mark.parametrize("name", ["scene.fbx", "scene", "scene.glb.exe", "missing.glb", "folder.glb"])
def test_unknown_and_missing_files(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.glb").mkdir()
    with pytest.raises(SceneError, match=name):
        read_scene(tmp_path / name)


PLAIN = plain_file().glb()
SMALL = ReadLimits(vertices=100_000, triangles=100_000, image_pixels=1_000_000, file_bytes=1 << 20)


def read_or_refuse(path: Path, content: bytes) -> Scene | None:
    path.write_bytes(content)
    try:
        scene = read_scene(path, limits=SMALL)
    except SceneError:
        return None
    assert np.isfinite(scene.positions).all()
    assert np.isfinite(scene.normals).all()
    assert scene.triangles.max() < len(scene.positions)
    assert scene.triangle_material.max() < len(scene.materials)
    return scene


QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LONG = settings(QUICK, max_examples=2000)
DAMAGE = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=8)


def damaged(flips: list[tuple[float, int]], keep: float) -> bytes:
    content = bytearray(PLAIN)
    for place, change in flips:
        content[int(place * len(content))] ^= change
    return bytes(content if keep > 0.4 else content[: int(keep * len(content))])


@QUICK
@given(flips=DAMAGE, keep=st.floats(0.2, 1))
def test_random_damage_gives_a_refusal_or_a_sound_scene(tmp_path: Path, flips: list, keep: float) -> None:
    read_or_refuse(tmp_path / "fuzz.glb", damaged(flips, keep))


@pytest.mark.slow
@LONG
@given(flips=DAMAGE, keep=st.floats(0.2, 1))
def test_much_random_damage(tmp_path: Path, flips: list, keep: float) -> None:
    read_or_refuse(tmp_path / "fuzz.glb", damaged(flips, keep))


NUMBERS = st.one_of(st.integers(-5, 70_000), st.floats(allow_nan=False, allow_infinity=False), st.just(2**40))
JUNK = st.recursive(
    NUMBERS | st.text(max_size=5) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@QUICK
@given(data=st.data(), junk=JUNK)
def test_any_value_may_stand_anywhere_in_the_json(tmp_path: Path, data: st.DataObject, junk: object) -> None:
    read_or_refuse(tmp_path / "fuzz.glb", with_junk(data, junk))


@pytest.mark.slow
@LONG
@given(data=st.data(), junk=JUNK)
def test_many_values_anywhere_in_the_json(tmp_path: Path, data: st.DataObject, junk: object) -> None:
    read_or_refuse(tmp_path / "fuzz.glb", with_junk(data, junk))


def with_junk(data: st.DataObject, junk: object) -> bytes:
    """The plain file with one value of its JSON replaced."""
    file = plain_file()
    document = file.finished()
    spot: Any = document
    while True:
        keys = sorted(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(spot[key], dict | list) or not spot[key] or data.draw(st.booleans()):
            spot[key] = junk
            break
        spot = spot[key]
    return pack_glb(json.dumps(document).encode(), bytes(file.binary))


@settings(QUICK, max_examples=60)
@given(data=st.data(), suffix=st.sampled_from([".ply", ".obj", ".gltf"]))
def test_random_text_in_other_formats(tmp_path: Path, data: st.DataObject, suffix: str) -> None:
    starts = {
        ".ply": b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        b"element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
        ".obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1\n",
        ".gltf": b'{"asset":{"version":"2.0"},"nodes":[{}]}',
    }
    content = bytearray(starts[suffix])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    read_or_refuse(tmp_path / f"fuzz{suffix}", bytes(content))
