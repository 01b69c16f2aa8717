"""Draco and meshopt: what was packed comes back."""

from pathlib import Path

import numpy as np
import pytest
from gltf_files import SQUARE, SQUARE_CORNERS, GltfFile
from hypothesis import given, settings
from hypothesis import strategies as st
from meshopt_encoding import TriangleEncoder, encode_attributes, encode_indices

from nav_eval.errors import SceneError
from nav_eval.scene.formats import ReadLimits, read_scene
from nav_eval.scene.formats.gltf.document import decode_meshopt
from nav_eval.scene.formats.gltf.schema import MeshoptView


def unpack(packed: bytes, *, count: int, stride: int, mode: str = "ATTRIBUTES", filter: str = "NONE") -> np.ndarray:
    view = MeshoptView(buffer=0, byte_length=len(packed), byte_stride=stride, count=count, mode=mode, filter=filter)
    return decode_meshopt(memoryview(packed), view, source="test", limits=ReadLimits())


@st.composite
def smooth_bytes(draw: st.DrawFn) -> np.ndarray:
    """Rows that drift: deltas of every bit length, and now and then a jump."""
    stride = 4 * draw(st.integers(1, 12))
    count = draw(st.integers(1, 600))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread = rng.choice([0, 1, 2, 6, 60], size=stride)
    steps = np.rint(rng.normal(size=(count, stride)) * spread)
    steps[rng.random((count, stride)) < 0.02] = 100
    return np.cumsum(steps, axis=0).astype(np.int64).astype(np.uint8)


@settings(max_examples=40, deadline=None)
@given(values=smooth_bytes(), version=st.sampled_from([0, 1]), seed=st.integers(0, 99))
def test_attributes_come_back(values: np.ndarray, version: int, seed: int) -> None:
    modes = np.random.default_rng(seed).choice([0, 1, 2, 2 | 5 << 4, 2 | 13 << 4], size=values.shape[1] // 4)
    packed = encode_attributes(values, version=version, channels=modes.tolist() if version else None)
    assert np.array_equal(unpack(packed, count=len(values), stride=values.shape[1]), values)


def grid(columns: int, rows: int) -> list[tuple[int, int, int]]:
    """Triangles of a grid of vertices, numbered as they come."""
    number: dict[tuple[int, int], int] = {}
    name = lambda x, y: number.setdefault((x, y), len(number))  # noqa: E731
    return [
        (name(*a), name(*b), name(*c))
        for y in range(rows)
        for x in range(columns)
        for a, b, c in ((((x, y), (x + 1, y), (x, y + 1))), ((x + 1, y), (x + 1, y + 1), (x, y + 1)))
    ]


def turned(triangles: np.ndarray) -> list[list[int]]:
    """Each triangle from its smallest corner on: the encoder may turn, but not flip them."""
    return [np.roll(row, -int(row.argmin())).tolist() for row in triangles.reshape(-1, 3)]


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("stride", [2, 4])
def test_a_grid_of_triangles_comes_back(version: int, stride: int) -> None:
    triangles = grid(13, 9)
    packed = TriangleEncoder(version).encode(triangles)
    decoded = unpack(packed, count=3 * len(triangles), stride=stride, mode="TRIANGLES")
    assert turned(decoded.view(f"<u{stride}").ravel()) == turned(np.array(triangles))
    assert len(packed) < 2.5 * len(triangles)  # the short codes were used


@settings(max_examples=40, deadline=None)
@given(
    corners=st.lists(st.tuples(*[st.integers(0, 40)] * 3).filter(lambda t: len(set(t)) == 3), max_size=80),
    version=st.sampled_from([0, 1]),
)
def test_any_triangles_come_back(corners: list[tuple[int, int, int]], version: int) -> None:
    packed = TriangleEncoder(version).encode(corners)
    decoded = unpack(packed, count=3 * len(corners), stride=4, mode="TRIANGLES")
    assert turned(decoded.view("<u4").ravel()) == turned(np.array(corners, np.int64))


@settings(deadline=None)
@given(indices=st.lists(st.integers(0, 2**30 - 1), max_size=50))
def test_indices_come_back(indices: list[int]) -> None:
    decoded = unpack(encode_indices(indices), count=len(indices), stride=4, mode="INDICES")
    assert decoded.view("<u4").ravel().tolist() == indices


@pytest.mark.parametrize(("kind", "bits"), [("i1", 8), ("<i2", 16), ("<i2", 10)])
def test_octahedral_normals_unfold(kind: str, bits: int) -> None:
    rng = np.random.default_rng(5)
    normals = rng.normal(size=(500, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    one = (1 << (bits - 1)) - 1
    flat = normals / np.abs(normals).sum(axis=1, keepdims=True)
    folded = np.where(flat[:, 2:] < 0, (1 - np.abs(flat[:, [1, 0]])) * np.where(flat[:, :2] < 0, -1, 1), flat[:, :2])
    stored = np.zeros((500, 4), kind)
    stored[:, :2], stored[:, 2], stored[:, 3] = np.rint(folded * one), one, 7
    values = stored.view(np.uint8)
    decoded = unpack(encode_attributes(values, version=0), count=500, stride=values.shape[1], filter="OCTAHEDRAL").view(
        kind
    )
    assert np.abs(decoded[:, :3] / np.iinfo(kind).max - normals).max() < 3 / one
    assert (decoded[:, 3] == 7).all()


def test_quaternions_unfold() -> None:
    rng = np.random.default_rng(6)
    rotations = rng.normal(size=(300, 4))
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    largest = np.abs(rotations).argmax(axis=1)
    rotations *= np.sign(rotations[np.arange(300), largest])[:, None]
    stored = np.zeros((300, 4), "<i2")
    for offset in range(3):
        column = rotations[np.arange(300), (largest + 1 + offset) % 4]
        stored[:, offset] = np.rint(column * np.sqrt(2) * 32767)
    stored[:, 3] = 32767 & ~3 | largest
    packed = encode_attributes(stored.view(np.uint8), version=0)
    decoded = unpack(packed, count=300, stride=8, filter="QUATERNION").view("<i2")
    assert np.abs(decoded / 32767 - rotations).max() < 1e-3


def test_exponential_floats_unfold_exactly() -> None:
    exponents, mantissas = np.array([-3, 0, 5, -20]), np.array([5, -7, 100_000, -8_000_000])
    stored = ((exponents << 24) | (mantissas & 0xFFFFFF)).astype("<i4")[None]
    packed = encode_attributes(stored.view(np.uint8), version=0)
    decoded = unpack(packed, count=1, stride=16, filter="EXPONENTIAL").view("<f4")
    assert decoded.tolist() == [(mantissas * 2.0**exponents).tolist()]


@pytest.mark.parametrize(("kind", "largest"), [("u1", 255), ("<u2", 65535)])
def test_colours_unfold(kind: str, largest: int) -> None:
    colors = np.array([[200, 100, 50, 254], [0, 0, 0, 2], [255, 255, 255, 254]], np.int64)
    red, green, blue, alpha = colors.T
    co = (red - blue) // 2
    rest = blue + co
    cg = (green - rest) // 2
    stored = np.stack([rest + cg, co, cg, 128 | alpha >> 1], axis=1).astype(kind)
    packed = encode_attributes(np.ascontiguousarray(stored).view(np.uint8), version=1)
    decoded = unpack(packed, count=3, stride=stored.strides[0], filter="COLOR").view(kind)
    assert np.abs(decoded / largest * 255 - colors).max() <= 2


@pytest.mark.parametrize(
    ("mode", "stride", "filter"),
    [("ATTRIBUTES", 6, "NONE"), ("ATTRIBUTES", 512, "NONE"), ("TRIANGLES", 3, "NONE"), ("PICTURES", 4, "NONE"),
     ("ATTRIBUTES", 12, "OCTAHEDRAL"), ("INDICES", 4, "COLOR"), ("ATTRIBUTES", 4, "SECRET")],
)  # fmt: skip
def test_impossible_layouts_are_refused(mode: str, stride: int, filter: str) -> None:
    with pytest.raises(SceneError, match="is not possible"):
        unpack(b"\xa0" + bytes(64), count=3, stride=stride, mode=mode, filter=filter)


@settings(max_examples=150, deadline=None)
@given(
    noise=st.binary(max_size=200), mode=st.sampled_from(["ATTRIBUTES", "TRIANGLES", "INDICES"]), version=st.booleans()
)
def test_random_bytes_are_refused_or_decoded_but_never_crash(noise: bytes, mode: str, version: bool) -> None:
    header = {"ATTRIBUTES": 0xA0, "TRIANGLES": 0xE0, "INDICES": 0xD0}[mode] | version
    try:
        decoded = unpack(bytes([header]) + noise, count=48, stride=4, mode=mode)
    except SceneError:
        return
    assert decoded.shape == (48, 4)


def meshopt_square(name: str) -> GltfFile:
    """A file whose buffer views are packed, with a fallback buffer that holds nothing."""
    file = GltfFile()
    quantised = np.zeros((4, 4), np.uint16)
    quantised[:, :3] = SQUARE * 65535
    positions = encode_attributes(quantised.view(np.uint8), version=0)
    corners = TriangleEncoder(1).encode([(0, 1, 2), (0, 2, 3)])
    for packed, stride, count, mode in ((positions, 8, 4, "ATTRIBUTES"), (corners, 2, 6, "TRIANGLES")):
        inner = file.view(packed)
        table = file.json["bufferViews"][inner]
        extension = {**table, "byteStride": stride, "count": count, "mode": mode}
        outer = {"buffer": 1, "byteLength": stride * count, "extensions": {name: extension}}
        file.json["bufferViews"][inner] = outer
    file.json["buffers"] = [
        {"byteLength": len(file.binary)},
        {"byteLength": 44, "extensions": {name: {"fallback": True}}},
    ]
    position = file.add("accessors", {
        "bufferView": 0, "componentType": 5123, "count": 4, "type": "VEC3", "normalized": True,
    })  # fmt: skip
    indices = file.add("accessors", {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"})
    file.json["extensionsRequired"] = [name, "KHR_mesh_quantization"]
    file.node(mesh=file.mesh({"POSITION": position}, indices=indices), scale=[3, 3, 3])
    return file


@pytest.mark.parametrize("name", ["EXT_meshopt_compression", "KHR_meshopt_compression"])
def test_a_packed_scene_reads_like_a_plain_one(tmp_path: Path, name: str) -> None:
    scene = read_scene(meshopt_square(name).save(tmp_path / "scene.glb"))
    expected = SQUARE[SQUARE_CORNERS].reshape(2, 3, 3) * 3
    assert np.allclose(scene.positions[scene.triangles], expected)


def draco_square() -> GltfFile:
    draco = pytest.importorskip("DracoPy")
    file = GltfFile()
    colors = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]], np.uint8)
    packed = draco.encode(
        SQUARE.astype(np.float64), SQUARE_CORNERS.reshape(-1, 3), quantization_bits=16, colors=colors,
        preserve_order=True,
    )  # fmt: skip
    ids = {entry["attribute_type"]: entry["unique_id"] for entry in draco.decode(packed).attributes}
    attributes = {
        "POSITION": file.add("accessors", {"componentType": 5126, "count": 4, "type": "VEC3"}),
        "COLOR_0": file.add("accessors", {"componentType": 5121, "count": 4, "type": "VEC3", "normalized": True}),
    }
    extension = {"bufferView": file.view(packed), "attributes": {"POSITION": ids[0], "COLOR_0": ids[2]}}
    indices = file.add("accessors", {"componentType": 5125, "count": 6, "type": "SCALAR"})
    mesh = file.mesh(attributes, indices=indices, extensions={"KHR_draco_mesh_compression": extension})
    file.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    file.node(mesh=mesh)
    return file


def test_draco_geometry_and_colours(tmp_path: Path) -> None:
    scene = read_scene(draco_square().save(tmp_path / "scene.glb"))
    assert np.allclose(scene.bounds[0], [0, 0, 0], atol=1e-4)
    assert np.allclose(scene.bounds[1], [1, 1, 0], atol=1e-4)
    assert len(scene.triangles) == 2
    red = scene.colors[np.linalg.norm(scene.positions, axis=1) < 0.1]
    assert red.tolist() == [[255, 0, 0, 255]] * len(red)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"DRACU" + data[5:], "does not begin like Draco"),
        (lambda data: data[:30], "cannot be decoded"),
        # The header claims 2³⁴ triangles: refused before any memory is set aside.
        (lambda data: data[:11] + b"\xff\xff\xff\xff\x3f" * 3 + data[26:], "limit"),
    ],
)
def test_broken_draco_data_is_refused(tmp_path: Path, change, message: str) -> None:
    file = draco_square()
    view = file.json["bufferViews"][0]
    packed = change(bytes(file.binary[view["byteOffset"] :][: view["byteLength"]]))
    file.binary[view["byteOffset"] :] = packed
    view["byteLength"] = len(packed)
    with pytest.raises(SceneError, match=message):
        read_scene(file.save(tmp_path / "scene.glb"))
