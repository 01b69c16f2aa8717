"""COLLADA: polygons cut along their outline, and surfaces as opaque as the file says."""

from pathlib import Path

import mesh_files as files
import numpy as np
import pytest
from gltf_files import FOUR_COLORS, picture

from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import AlphaMode, Scene

DART = np.array([[0, 0, 0], [4, 0, 0], [1, 1, 0], [0, 4, 0]], np.float32)
"""Its inner corner is the third: cut from the first or second one, a triangle looks the other way or lies outside."""
INPUTS = '<input semantic="VERTEX" source="#v" offset="0"/><input semantic="TEXCOORD" source="#u" offset="1"/>'
CORNERS = "1 1 2 2 3 3 0 0"
POLYLIST = f'<polylist material="m" count="1">{INPUTS}<vcount>4</vcount><p>{CORNERS}</p></polylist>'
POLYGONS = f'<polygons material="m" count="1">{INPUTS}<p>{CORNERS}</p></polygons>'


def read(folder: Path, content: bytes) -> Scene:
    return read_scene(files.save(folder, "scene.dae", content), up="y")


@pytest.mark.parametrize("primitive", [POLYLIST, POLYGONS])
def test_concave_polygons_are_cut_along_their_outline(tmp_path: Path, primitive: str) -> None:
    scene = read(tmp_path, files.collada(primitive=primitive, points=DART))
    a, b, c = np.moveaxis(scene.positions[scene.triangles].astype(float), 1, 0)
    areas = np.cross(b - a, c - a)[:, 2] / 2
    assert areas.tolist() == pytest.approx([2, 2])  # the dart's 4 m², both halves seen from the front
    assert not any("concave" in note for note in scene.report.notes)
    corner = {tuple(p): tuple(uv) for p, uv in zip(scene.positions.tolist(), scene.uvs.tolist(), strict=True)}
    assert corner[0, 4, 0] == (1, 0)  # texture coordinates go with their corners


@pytest.mark.parametrize(
    "primitive",
    [
        POLYLIST.replace("<vcount>4", "<vcount>5"),  # more corners than there are indices
        POLYLIST.replace('source="#v"', 'source="#w"'),
    ],
)
def test_polygons_that_do_not_add_up_are_refused(tmp_path: Path, primitive: str) -> None:
    with pytest.raises(SceneError, match=r"export it again|not a single triangle"):
        read(tmp_path, files.collada(primitive=primitive, points=DART))


@pytest.mark.parametrize(
    ("effect", "alpha"),
    [
        ("", 1.0),
        ("<transparency><float>0.4</float></transparency>", 0.4),
        ('<transparent opaque="A_ONE"><color>1 1 1 0.5</color></transparent>', 0.5),
        ("<transparent><color>0 0 0 1</color></transparent><transparency><float>1</float></transparency>", 1.0),
        # Maya writes so what is solid
        (
            '<transparent opaque="RGB_ZERO"><color>1 1 1 1</color></transparent>'
            "<transparency><float>0</float></transparency>",
            1.0,
        ),
        ('<transparent opaque="RGB_ZERO"><color>0.8 0.8 0.8 0.8</color></transparent>', 0.2),
        ('<transparent opaque="RGB_ZERO"><color>0 0 0 1</color></transparent>', 1.0),
        ('<transparent opaque="RGB_ONE"><color>0.25 0.25 0.25 1</color></transparent>', 0.25),
        ('<transparent opaque="A_ZERO"><color>1 1 1 0.3</color></transparent>', 0.7),
    ],
)
def test_opacity_is_what_the_four_modes_say(tmp_path: Path, effect: str, alpha: float) -> None:
    (material,) = read(tmp_path, files.collada(effect=effect)).materials
    assert material.base_color[3] == pytest.approx(alpha, abs=0.005)
    assert material.alpha_mode is (AlphaMode.OPAQUE if alpha == 1.0 else AlphaMode.BLEND)


def test_what_would_be_invisible_is_shown(tmp_path: Path) -> None:
    """Some exporters write nought for "not transparent"."""
    effect = "<transparent><color>1 1 1 1</color></transparent><transparency><float>0</float></transparency>"
    scene = read(tmp_path, files.collada(effect=effect))
    assert scene.materials[0].base_color[3] == 1.0
    assert any("1 effects would be invisible" in note for note in scene.report.notes)


def test_a_picture_that_says_itself_where_it_is_opaque_cuts_out(tmp_path: Path) -> None:
    (tmp_path / "wood.png").write_bytes(picture(FOUR_COLORS))
    shown = '<diffuse><texture texture="t" texcoord="UV"/></diffuse>'
    content = files.collada(nodes=files.PLACED.format(number=1, x=0, material="wood-m")).decode()
    leaves = content.replace(shown, shown + '<transparent opaque="A_ONE"><texture texture="t"/></transparent>')
    assert leaves != content
    scene = read(tmp_path, leaves.encode())
    assert scene.materials[0].alpha_mode is AlphaMode.MASK
    assert scene.report.warnings == ()
