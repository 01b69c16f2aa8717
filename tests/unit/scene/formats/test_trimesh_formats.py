"""STL, OFF, COLLADA and 3MF: right geometry, looks where the format has them, and a report of what was left out."""

from pathlib import Path

import mesh_files as files
import numpy as np
import pytest
from gltf_files import FOUR_COLORS, picture

from nav_eval.scene.formats import compute_scene_digest, read_scene
from nav_eval.scene.model import AlphaMode, Scene

VOLUME = 3 * 2 * 1 / 6
TWO_PLACES = files.PLACED.format(number=1, x=0, material="plain") + files.PLACED.format(
    number=2, x=10, material="wood-m"
)

OTHER_PICTURE = '<transparent><texture texture="t"/></transparent>'
HOLED = """<polygons material="m" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<ph><p>0 1 2</p><h>0 1 3</h></ph><p>0 1 2</p><p>0 1 2</p><p>0 1 2</p></polygons>"""


def read(folder: Path, name: str, content: bytes, up: str = "y") -> Scene:
    return read_scene(files.save(folder, name, content), up=up)


def volume(scene: Scene) -> float:
    """Positive if the triangles are seen from outside."""
    a, b, c = (scene.positions[scene.triangles[:, corner]].astype(float) for corner in range(3))
    return float((a * np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wedge.stl", files.binary_stl()),
        ("text.stl", files.text_stl()),
        ("upper.STL", files.text_stl().upper()),
        ("wedge.off", files.off()),
        ("one_line.off", files.off().replace(b"OFF\n", b"OFF ")),
        ("glued.off", files.off().replace(b"OFF\n", b" \tOFF")),
        ("commented.off", b"# made by hand\n" + files.off().replace(b"OFF\n", b"OFF # kind\n\n# counts\n")),
        ("wedge.dae", files.collada()),
        ("wedge.3mf", files.threemf()),
    ],
)
def test_the_same_wedge_from_every_format(tmp_path: Path, name: str, content: bytes) -> None:
    scene = read(tmp_path, name, content)
    assert len(scene.triangles) == 4
    assert [corner.tolist() for corner in scene.bounds] == [[0, 0, 0], [3, 2, 1]]
    assert volume(scene) == pytest.approx(VOLUME)
    assert np.allclose(np.linalg.norm(scene.normals, axis=1), 1)
    assert not scene.materials[0].unlit
    assert scene.report.file_triangles == 4


@pytest.mark.parametrize("name", ["wedge.stl", "wedge.off", "wedge.3mf"])
def test_formats_of_engineers_are_z_up(tmp_path: Path, name: str) -> None:
    content = {".stl": files.binary_stl(), ".off": files.off(), ".3mf": files.threemf()}[Path(name).suffix]
    scene = read(tmp_path, name, content, up="auto")
    assert scene.bounds[1].tolist() == [3, 1, 0]
    assert scene.report.up.startswith("+Z")


def test_several_solids_of_one_name(tmp_path: Path) -> None:
    scene = read(tmp_path, "two.stl", files.text_stl() + files.text_stl(files.POINTS + 10))
    assert len(scene.triangles) == 8
    assert scene.report.meshes == 2
    assert scene.bounds[1].tolist() == [13, 12, 11]


def test_binary_stl_may_begin_with_solid(tmp_path: Path) -> None:
    content = b"solid but binary".ljust(80) + files.binary_stl()[80:]
    assert len(read(tmp_path, "scene.stl", content).triangles) == 4


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("scene.stl", files.binary_stl(spare=0x801F), "colours of 4 STL triangles"),
        ("scene.off", files.off(tail=" 255 0 0"), "colours of the OFF file"),
        ("scene.off", files.off(head="COFF"), "colours of the OFF file"),
        ("scene.3mf", files.threemf(files.model(resources='<basematerials id="5"/>' + files.mesh_object())), "colours"),
        (
            "scene.3mf",
            files.threemf(files.model(build='<item objectid="1"/><item objectid="7"/>')),
            "id 7 included but not defined",
        ),
        ("scene.dae", files.collada(effect=OTHER_PICTURE), "transparency pictures of 1"),
        ("scene.dae", files.collada(primitive=HOLED), "1 holes in polygons"),
        ("scene.dae", files.collada(libraries="<library_animations><animation/></library_animations>"), "animations"),
        (
            "scene.dae",
            files.collada(nodes=TWO_PLACES + '<node><instance_light url="#l"/></node>'),
            "1 lights are left out",
        ),
        ("scene.dae", files.collada(nodes=TWO_PLACES + '<node><instance_geometry url="#x"/></node>'), "broken"),
    ],
)
def test_what_is_left_out_is_said(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    scene = read(tmp_path, name, content)
    assert any(sentence in warning for warning in scene.report.warnings), scene.report.warnings
    assert len(scene.triangles) >= 4


SKIN = """<library_controllers><controller id="morphed"><morph source="#wedge"/></controller>
<controller id="skinned"><skin source="#morphed"><bind_shape_matrix>{matrix}</bind_shape_matrix></skin></controller>
</library_controllers>"""
WORN = """<node id="body"><translate>50 0 0</translate><instance_controller url="#skinned"><bind_material>
<technique_common><instance_material symbol="m" target="#plain"/></technique_common></bind_material>
</instance_controller></node>"""


def test_skinned_collada_meshes_stand_where_they_were_bound(tmp_path: Path) -> None:
    """The node of a skin does not move it: its bones do."""
    matrix = "1 0 0 10  0 1 0 20  0 0 1 0  0 0 0 1"
    scene = read(tmp_path, "scene.dae", files.collada(nodes=WORN, libraries=SKIN.format(matrix=matrix)))
    assert scene.bounds[0].tolist() == [10, 20, 0]
    assert volume(scene) == pytest.approx(VOLUME)
    assert scene.materials[0].emissive[2] > 0
    assert any("1 skinned or morphed meshes are frozen" in note for note in scene.report.notes)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"<node id=", b"<node><instance_camera url='#none'/></node><!-- moved --><node id="),
        (b"<translate>", b"<!-- <rotate>0 0 1 90</rotate> --><translate>"),
        (b"<init_from>wood.png</init_from>", b"<init_from></init_from>"),
        (b"<color>1 0.5 0 1</color>", b"<color>1,0 0,5 0,0 1,0</color>"),
        (b'target="#plain"', b'target="#nothing"'),
    ],
)
def test_one_broken_detail_does_not_take_the_collada_scene_with_it(tmp_path: Path, before: bytes, after: bytes) -> None:
    whole = files.collada()
    assert before in whole
    assert len(read(tmp_path, "scene.dae", whole.replace(before, after)).triangles) == 4


def test_units_with_a_comma(tmp_path: Path) -> None:
    scene = read(tmp_path, "scene.dae", files.collada(asset="<unit meter='0,01'/><up_axis>Y_UP</up_axis>"))
    assert scene.bounds[1][0] == pytest.approx(0.03)


def test_polygons_of_off_files(tmp_path: Path) -> None:
    square = np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], np.float32)
    scene = read(tmp_path, "scene.off", files.off([(0, 1, 2, 3)], points=square))
    assert len(scene.triangles) == 2
    assert any("concave" in note for note in scene.report.notes)


def test_collada_materials_pictures_and_instances(tmp_path: Path) -> None:
    (tmp_path / "wood.png").write_bytes(picture(FOUR_COLORS))
    scene = read(tmp_path, "scene.dae", files.collada(nodes=TWO_PLACES))
    plain, wood = scene.materials
    assert plain.base_color == pytest.approx((1, 0.216, 0, 1), abs=1e-3)  # sRGB 0.5, kept in eight bits
    assert plain.emissive == pytest.approx((0, 0, 0.214), abs=1e-3)
    assert plain.alpha_mode is AlphaMode.OPAQUE
    assert wood.texture == 0
    assert scene.textures[0].pixels[..., :3].tolist() == FOUR_COLORS.tolist()
    assert scene.triangle_material.tolist() == [0] * 4 + [1] * 4
    assert scene.bounds[1].tolist() == [13, 2, 1]
    corner = {tuple(p): tuple(uv) for p, uv in zip(scene.positions.tolist(), scene.uvs.tolist(), strict=True)}
    assert corner[0, 0, 0] == (0, 1)  # COLLADA counts v from the bottom
    assert corner[0, 2, 0] == (0, 0)


def test_collada_vertex_colours_stay_beside_a_material(tmp_path: Path) -> None:
    """trimesh's own mesh class would drop them as soon as there is a material."""
    scene = read(tmp_path, "scene.dae", files.collada(colors=files.COLORS))
    assert {tuple(color) for color in scene.colors.tolist()} == {(255, 0, 0, 255)}


@pytest.mark.parametrize(
    ("asset", "upper"),
    [
        ("<up_axis>Z_UP</up_axis>", [3, 1, 0]),
        ("<up_axis>X_UP</up_axis>", [0, 3, 1]),
        ("<unit name='centimeter' meter='0.01'/><up_axis>Y_UP</up_axis>", [0.03, 0.02, 0.01]),
        ("<unit name='inch' meter='0.0254'/>", [0.0762, 0.0508, 0.0254]),
        ("", [3, 2, 1]),
    ],
)
def test_collada_says_which_way_is_up_and_in_which_unit(tmp_path: Path, asset: str, upper: list[float]) -> None:
    scene = read(tmp_path, "scene.dae", files.collada(asset=asset))
    assert scene.bounds[1].tolist() == pytest.approx(upper)
    assert volume(scene) == pytest.approx(np.prod(np.abs(scene.bounds[1] - scene.bounds[0])) / 6)


def test_mirrored_nodes_stay_right_side_out(tmp_path: Path) -> None:
    mirrored = files.PLACED.format(number=1, x=0, material="plain").replace(
        "<translate>0 0 0</translate>", "<scale>-1 1 1</scale>"
    )
    scene = read(tmp_path, "scene.dae", files.collada(nodes=mirrored))
    assert volume(scene) == pytest.approx(VOLUME)
    assert scene.bounds[0].tolist() == [-3, 0, 0]


def test_a_missing_picture_is_a_warning(tmp_path: Path) -> None:
    scene = read(tmp_path, "scene.dae", files.collada(nodes=TWO_PLACES, picture="gone.png"))
    assert any("gone.png" in warning for warning in scene.report.warnings)
    assert scene.materials[1].texture is None


def test_the_digest_covers_the_pictures(tmp_path: Path) -> None:
    path = files.save(tmp_path, "scene.dae", files.collada(nodes=TWO_PLACES))
    (tmp_path / "wood.png").write_bytes(picture(FOUR_COLORS))
    before = compute_scene_digest(path)
    (tmp_path / "wood.png").write_bytes(picture(FOUR_COLORS[::-1]))
    assert compute_scene_digest(path) != before


@pytest.mark.parametrize(
    ("unit", "width"), [("", 0.003), ('unit="millimeter"', 0.003), ('unit="inch"', 0.0762), ('unit="meter"', 3)]
)
def test_units_of_3mf_files(tmp_path: Path, unit: str, width: float) -> None:
    scene = read(tmp_path, "scene.3mf", files.threemf(files.model(unit=unit)))
    assert scene.bounds[1][0] == pytest.approx(width)


def test_3mf_instances_and_components(tmp_path: Path) -> None:
    moved = '<component objectid="1" transform="1 0 0 0 1 0 0 0 1 5 0 0"/>'
    both = f'<object id="2"><components><component objectid="1"/>{moved}</components></object>'
    build = '<item objectid="1" transform="1 0 0 0 1 0 0 0 1 0 10 0"/><item objectid="2"/>'
    scene = read(tmp_path, "scene.3mf", files.threemf(files.model(resources=files.mesh_object() + both, build=build)))
    assert scene.report.meshes == 3
    assert scene.bounds[1].tolist() == [8, 12, 1]


def test_3mf_with_a_part_in_another_file(tmp_path: Path) -> None:
    """As slicers write it."""
    holder = (
        '<object id="2"><components><component objectid="9" p:path="/3D/Objects/part.model"/></components></object>'
    )
    part = files.model(resources=files.mesh_object(9), build="")
    main = files.model(resources=holder, build='<item objectid="2"/>')
    content = files.threemf(main, **{"3D__Objects__part_dot_model": part})
    assert len(read(tmp_path, "scene.3mf", content).triangles) == 4
