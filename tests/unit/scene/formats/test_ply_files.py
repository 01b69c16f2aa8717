"""PLY files: formats, colours, polygons, textures, refusals."""

import struct
from pathlib import Path

import numpy as np
import pytest
from gltf_files import FOUR_COLORS, picture

from nav_eval.errors import SceneError
from nav_eval.scene.formats import ReadLimits, read_scene

#: Two quads side by side, three metres high: x 0…4, y 0…3 in a Z-up file they would lie on the ground.
POINTS = [(0, 0, 0), (2, 0, 0), (4, 0, 0), (0, 0, 3), (2, 0, 3), (4, 0, 3)]
COLORS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (10, 20, 30), (255, 255, 255), (128, 128, 128)]
QUADS = [(0, 1, 4, 3), (1, 2, 5, 4)]

STRUCT_CODES = {"float": "f", "double": "d", "uchar": "B", "int": "i", "uint": "I", "ushort": "H"}


def write_ply(
    path: Path, *, form: str = "ascii", vertex: list[tuple[str, str]], vertices: list[tuple],
    faces: list[tuple], face: list[tuple[str, str]] = (), comments: list[str] = (), counter: str = "uchar",
    index: str = "int", extra: str = "",
) -> Path:  # fmt: skip
    """Faces are tuples: the corners as a tuple, then the extra fields."""
    header = ["ply", f"format {form} 1.0", *(f"comment {comment}" for comment in comments)]
    header += [f"element vertex {len(vertices)}", *(f"property {kind} {name}" for kind, name in vertex)]
    header += [f"element face {len(faces)}", f"property list {counter} {index} vertex_indices"]
    header += [f"property {kind} {name}" for kind, name in face]
    header += [extra] if extra else []
    text = "\n".join([*header, "end_header\n"]).encode()
    if form == "ascii":
        lines = [" ".join(map(str, row)) for row in vertices]
        lines += [" ".join(map(str, (len(row[0]), *row[0], *row[1:]))) for row in faces]
        path.write_bytes(text + "\n".join(lines).encode() + b"\n")
        return path
    order = "<" if form == "binary_little_endian" else ">"
    body = b"".join(struct.pack(order + "".join(STRUCT_CODES[kind] for kind, _ in vertex), *row) for row in vertices)
    for corners, *rest in faces:
        body += struct.pack(order + STRUCT_CODES[counter], len(corners))
        body += struct.pack(f"{order}{len(corners)}{STRUCT_CODES[index]}", *corners)
        body += struct.pack(order + "".join(STRUCT_CODES[kind] for kind, _ in face), *rest)
    path.write_bytes(text + body)
    return path


XYZ = [("float", "x"), ("float", "y"), ("float", "z")]
RGB = [("uchar", "red"), ("uchar", "green"), ("uchar", "blue")]
FORMATS = ["ascii", "binary_little_endian", "binary_big_endian"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("counter", "index"), [("uchar", "int"), ("ushort", "uint"), ("int", "ushort")])
def test_every_encoding_gives_the_same_scene(tmp_path: Path, form: str, counter: str, index: str) -> None:
    rows = [(*point, *color) for point, color in zip(POINTS, COLORS, strict=True)]
    path = write_ply(
        tmp_path / "scene.ply", form=form, vertex=XYZ + RGB, vertices=rows, faces=[(quad,) for quad in QUADS],
        counter=counter, index=index,
    )  # fmt: skip
    scene = read_scene(path, up="y")
    assert scene.positions.tolist() == [list(map(float, point)) for point in POINTS]
    assert len(scene.triangles) == 4
    assert scene.materials[0].unlit
    assert scene.colors[0].tolist() == [255, 0, 0, 255]
    assert scene.colors[5].tolist() == [55, 55, 55, 255]  # sRGB 128 is linear 0.216
    assert np.allclose(np.abs(scene.normals), [0, 1, 0])


def test_mixed_polygons_and_extra_elements(tmp_path: Path) -> None:
    faces = [((0, 1, 4),), ((1, 2, 5, 4, 1)[:4],), ((0, 1, 2, 5, 4, 3),), ((0, 1),)]
    path = write_ply(
        tmp_path / "scene.ply", form="binary_little_endian", vertex=XYZ, vertices=POINTS, faces=faces,
        extra="element edge 0\nproperty int vertex1",
    )  # fmt: skip
    assert read_scene(path, up="y").report.file_triangles == 1 + 2 + 4


def test_colours_per_face_split_the_vertices(tmp_path: Path) -> None:
    faces = [(QUADS[0], 255, 0, 0), (QUADS[1], 0, 0, 255)]
    path = write_ply(
        tmp_path / "scene.ply", form="binary_big_endian", vertex=XYZ, vertices=POINTS, faces=faces, face=RGB
    )
    scene = read_scene(path, up="y")
    assert scene.colors[scene.triangles[0]].tolist() == [[255, 0, 0, 255]] * 3
    assert scene.colors[scene.triangles[3]].tolist() == [[0, 0, 255, 255]] * 3


@pytest.mark.parametrize(
    ("kind", "white"), [("uchar", 255), ("ushort", 65535), ("float", 1.0), ("float", 255.0)]
)  # wide integers and fractions
def test_colour_types(tmp_path: Path, kind: str, white: float) -> None:
    half = white / 2 if kind == "float" and white == 1 else int(white // 2)
    vertex = XYZ + [(kind, name) for name in ("red", "green", "blue")]
    rows = [(*point, white, half, 0) for point in POINTS]
    path = write_ply(
        tmp_path / "scene.ply", form="binary_little_endian", vertex=vertex, vertices=rows, faces=[(QUADS[0],)]
    )
    color = read_scene(path, up="y").colors[0]
    assert color[0] == 255
    assert abs(int(color[1]) - 54) <= 1
    assert color[2] == 0


def test_a_picture_named_in_a_comment(tmp_path: Path) -> None:
    (tmp_path / "wood.png").write_bytes(picture(FOUR_COLORS))
    vertex = [*XYZ, ("float", "s"), ("float", "t")]
    rows = [(*point, point[0] / 4, point[2] / 3) for point in POINTS]
    path = write_ply(
        tmp_path / "scene.ply", vertex=vertex, vertices=rows, faces=[(quad,) for quad in QUADS],
        comments=["TextureFile wood.png"],
    )  # fmt: skip
    scene = read_scene(path, up="y")
    assert scene.materials[0].texture == 0
    assert scene.uvs[0].tolist() == [0, 1]  # t counts from the bottom, we count from the top
    assert scene.uvs[5].tolist() == [1, 0]


def test_meshlab_texture_coordinates_per_corner(tmp_path: Path) -> None:
    (tmp_path / "wood.png").write_bytes(picture(FOUR_COLORS))
    text = """ply
format ascii 1.0
comment TextureFile wood.png
element vertex 3
property float x
property float y
property float z
element face 1
property list uchar int vertex_indices
property list uchar float texcoord
end_header
0 0 0
2 0 0
0 2 0
3 0 1 2 6 0 0 1 0 0 1
"""
    (tmp_path / "scene.ply").write_text(text)
    scene = read_scene(tmp_path / "scene.ply", up="y")
    assert scene.uvs[scene.triangles[0]].tolist() == [[0, 1], [1, 1], [0, 0]]
    assert scene.materials[0].texture == 0
    (tmp_path / "wood.png").unlink()
    bare = read_scene(tmp_path / "scene.ply", up="y")
    assert bare.materials[0].texture is None
    assert any("wood.png" in warning for warning in bare.report.warnings)


def test_scans_named_like_scannet_are_turned_upright(tmp_path: Path) -> None:
    path = write_ply(
        tmp_path / "scene0000_00_vh_clean_2.ply", vertex=XYZ, vertices=POINTS, faces=[(quad,) for quad in QUADS]
    )
    scene = read_scene(path)
    assert scene.bounds[1].tolist() == [4, 3, 0]
    assert "ScanNet" in scene.report.up


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"ply\nformat ascii 1.0\n", "does not begin like a PLY"),
        (b"ply\nformat morse 1.0\nend_header\n", "no known format"),
        (b"ply\nformat ascii 1.0\nproperty float x\nend_header\n", "unusable line"),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty quaternion x\nend_header\n", "unusable line"),
        (b"ply\nformat ascii 1.0\nelement vertex 0\nend_header\n", "no vertices"),
        (b"ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nend_header\n0\n", "ends within its vertex"),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\nhello\n", "no number"),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n0\n0\n", "goes on after the 1 v"),
        (b"ply\nformat binary_little_endian 1.0\nelement face 1\nproperty list char int vertex_index\nend_header\n\x7f",
         "ends within its face"),
        (b"ply\nformat binary_little_endian 1.0\nelement vertex 99999999999\nproperty float x\nend_header\n", "limit"),
    ],
)  # fmt: skip
def test_unusable_files_say_why(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "scene.ply").write_bytes(content)
    with pytest.raises(SceneError, match=message):
        read_scene(tmp_path / "scene.ply")


def test_point_clouds_and_dangling_corners_are_refused(tmp_path: Path) -> None:
    path = write_ply(tmp_path / "scene.ply", vertex=XYZ, vertices=POINTS, faces=[((0, 1, 77),)])
    with pytest.raises(SceneError, match="vertex that does not exist"):
        read_scene(path)
    path.write_bytes(path.read_bytes().replace(b"vertex_indices", b"vertex_secrets"))
    with pytest.raises(SceneError, match="point cloud"):
        read_scene(path)


STRIPS = """ply
format ascii 1.0
comment made by somebody whose notes
run over into the next line
element vertex 6
property float x
property float y
property float z
element tristrips 1
property list int int vertex_indices
end_header
0 0 0  1 0 0  0 1 0  1 1 0  0 2 0  9 9 9
9 0 1 2 3 4 -1 1 0 5
"""


def test_strips_of_triangles(tmp_path: Path) -> None:
    (tmp_path / "scene.ply").write_text(STRIPS)
    scene = read_scene(tmp_path / "scene.ply", up="y")
    assert scene.triangles.tolist() == [[0, 1, 2], [2, 1, 3], [2, 3, 4], [1, 0, 5]]


def test_text_is_limited(tmp_path: Path) -> None:
    path = write_ply(tmp_path / "scene.ply", vertex=XYZ, vertices=POINTS, faces=[(quad,) for quad in QUADS])
    with pytest.raises(SceneError, match="limit"):
        read_scene(path, limits=ReadLimits(text_bytes=100))
