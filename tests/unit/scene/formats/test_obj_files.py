"""OBJ and MTL: indices, polygons, materials and their traps."""

from pathlib import Path

import numpy as np
import pytest
from gltf_files import FOUR_COLORS, picture

from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import AlphaMode, Material, Scene, Wrap

CUBE_FACE = "v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\n"


def read(tmp_path: Path, text: str, **files: str) -> Scene:
    for name, content in files.items():
        (tmp_path / name.replace("_", ".")).write_text(content)
    (tmp_path / "scene.obj").write_text(text)
    return read_scene(tmp_path / "scene.obj")


def material(tmp_path: Path, *lines: str) -> Material:
    text = "mtllib paint.mtl\n" + CUBE_FACE + "usemtl shown\nf 1 2 3 4\n"
    return read(tmp_path, text, paint_mtl="\n".join(["newmtl shown", *lines])).materials[0]


@pytest.mark.parametrize(
    "faces",
    [
        "f 1 2 3 4",
        "f -4 -3 -2 -1",
        "f 1 2 3\nf 1 3 4",
        "f 1 2 \\\n 3 4",
        "  f\t1 2 3 4  # the floor",
    ],
)
def test_faces_in_every_spelling(tmp_path: Path, faces: str) -> None:
    scene = read(tmp_path, "# comment\no thing\ng group\ns off\n" + CUBE_FACE + faces + "\n")
    assert len(scene.triangles) == 2
    assert np.allclose(scene.normals, [0, 0, 1])
    assert scene.bounds[1].tolist() == [2, 2, 0]


def test_texture_coordinates_and_normals_by_their_own_index(tmp_path: Path) -> None:
    text = CUBE_FACE + "vt 0 0\nvt 1 1 0\nvn 0 0 -1\nf 1/1/1 2/2/1 3/-1/-1 4/1/1\n"
    scene = read(tmp_path, text)
    corner = {tuple(point): tuple(uv) for point, uv in zip(scene.positions.tolist(), scene.uvs.tolist(), strict=True)}
    assert corner[0, 0, 0] == (0, 1)  # OBJ counts v from the bottom
    assert corner[2, 2, 0] == (1, 0)
    assert np.allclose(scene.normals, [0, 0, -1])  # the file's own, even if the winding disagrees


def test_normals_without_texture_coordinates(tmp_path: Path) -> None:
    assert np.allclose(read(tmp_path, CUBE_FACE + "vn 0 0 2\nf 1//1 2//1 3//1\n").normals, [0, 0, 1])


def test_concave_floor_plans_are_cut_along_their_outline(tmp_path: Path) -> None:
    """An L-shaped floor: a fan from the first corner would cover the yard."""
    text = "v 4 0 4\nv 4 0 0\nv 8 0 0\nv 8 0 8\nv 0 0 8\nv 0 0 4\nf 1 2 3 4 5 6\n"
    scene = read(tmp_path, text)
    points = scene.positions[scene.triangles].astype(float)
    areas = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])[:, 1] / 2
    assert abs(areas.sum()) == pytest.approx(48)
    assert (np.sign(areas) == np.sign(areas[0])).all()  # nothing covers the yard and is taken back


def test_materials_and_their_pictures(tmp_path: Path) -> None:
    (tmp_path / "my wood.png").write_bytes(picture(FOUR_COLORS))
    shown = material(tmp_path, "Kd 1 0.5 0", "Ke 1 0 0", "map_Kd -s 2 2 1 -clamp on my wood.png")
    assert shown.base_color[0] == 1
    assert shown.base_color[1] == pytest.approx(0.214, abs=1e-3)  # sRGB
    assert shown.emissive == (1, 0, 0)
    scene = read_scene(tmp_path / "scene.obj")
    assert scene.textures[0].pixels[..., :3].tolist() == FOUR_COLORS.tolist()
    assert scene.textures[0].wrap_u is Wrap.CLAMP


@pytest.mark.parametrize(
    ("lines", "alpha", "mode"),
    [
        (["d 0.5"], 0.5, AlphaMode.BLEND),
        (["Tr 0.25"], 0.75, AlphaMode.BLEND),
        (["Tr 1.0"], 1.0, AlphaMode.OPAQUE),  # some tools mean opaque by it
        (["d 1.0", "Tr 1.0"], 1.0, AlphaMode.OPAQUE),
        (["Tr 0.9", "d 1.0"], 1.0, AlphaMode.OPAQUE),  # d is the better defined one
        (["Tr 0.0"], 1.0, AlphaMode.OPAQUE),
        ([], 1.0, AlphaMode.OPAQUE),
    ],
)
def test_transparency(tmp_path: Path, lines: list[str], alpha: float, mode: AlphaMode) -> None:
    shown = material(tmp_path, *lines)
    assert shown.base_color[3] == pytest.approx(alpha)
    assert shown.alpha_mode is mode


def test_black_under_a_picture_means_the_picture(tmp_path: Path) -> None:
    (tmp_path / "wood.png").write_bytes(picture(FOUR_COLORS))
    assert material(tmp_path, "Kd 0 0 0", "map_Kd wood.png").base_color == (1, 1, 1, 1)


def test_a_missing_library_or_picture_is_a_warning(tmp_path: Path) -> None:
    scene = read(tmp_path, "mtllib gone.mtl\n" + CUBE_FACE + "usemtl x\nf 1 2 3\n")
    assert any("gone.mtl" in warning for warning in scene.report.warnings)
    shown = material(tmp_path, "map_Kd gone.png")
    assert shown.texture is None


def test_vertex_colours_behind_the_coordinates(tmp_path: Path) -> None:
    scene = read(tmp_path, "v 0 0 0 1 0 0\nv 2 0 0 1 0 0\nv 2 2 0 1 0 0\nf 1 2 3\n")
    assert scene.colors.tolist() == [[255, 0, 0, 255]] * 3


def test_lines_and_points_are_left_out_with_a_warning(tmp_path: Path) -> None:
    scene = read(tmp_path, CUBE_FACE + "f 1 2 3\nl 1 2\nl 2 3\np 1\n")
    assert any("2 OBJ statements 'l'" in warning for warning in scene.report.warnings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CUBE_FACE + "f 1 2 9\n", "uses vertex 9"),
        (CUBE_FACE + "f 1 2 -9\n", "only 4"),
        (CUBE_FACE + "f 1 2 0\n", "uses vertex 0"),
        (CUBE_FACE + "f 1 2 three\n", "unusable corner"),
        (CUBE_FACE + f"f 1 2 {'9' * 400}\n", "uses vertex"),
        ("v 0 0\nv 1 0 0\nf 1 2 2\n", "unusable"),
        ("v a b c\nf 1 1 1\n", "unusable"),
        (CUBE_FACE, "not a single triangle"),
        ("", "is empty"),
        (CUBE_FACE + "l 1 2\n", "OBJ statements 'l'"),
    ],
)
def test_unusable_files_say_why(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        read(tmp_path, text)


def test_corners_may_name_what_is_not_there(tmp_path: Path) -> None:
    scene = read(tmp_path, CUBE_FACE + "vn 0 0 1\nf 1/5/1 2/5/1 3/5/1\nf 1/-7/9 3 4\n")
    assert len(scene.triangles) == 2
    assert any("4 corners of faces name texture coordinates" in warning for warning in scene.report.warnings)
    assert any("1 corners of faces name normals" in warning for warning in scene.report.warnings)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_marks_at_the_beginning_say_how_the_text_is_written(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "scene.obj").write_bytes(f"{mark}v 0 0 0\nv 3 0 0\nv 0 0 -3\nf 1 2 3\n".encode(encoding))
    assert len(read_scene(tmp_path / "scene.obj").triangles) == 1
