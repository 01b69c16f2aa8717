"""Hostile STL, OFF, COLLADA and 3MF files: refused with a reason, before memory or time is spent on them."""

import io
import socket
import struct
import time
import zipfile
from pathlib import Path

import mesh_files as files
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from nav_eval.errors import SceneError
from nav_eval.scene.formats import ReadLimits, compute_scene_digest, read_scene
from support.load import measure_slowdown

BOMB = b'<!DOCTYPE x [<!ENTITY a "' + b"a" * 1000 + b'"><!ENTITY b "' + b"&a;" * 1000 + b'">]>'
OUTSIDE = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


def with_doctype(xml: bytes, doctype: bytes) -> bytes:
    head, _, rest = xml.partition(b"?>")
    return head + b"?>" + doctype + rest


def components(levels: int, width: int) -> bytes:
    """Every object is made of copies of the one before."""
    objects = [files.mesh_object(1)]
    for number in range(2, levels + 2):
        inner = f'<component objectid="{number - 1}"/>' * width
        objects.append(f'<object id="{number}"><components>{inner}</components></object>')
    return files.model(resources="".join(objects), build=f'<item objectid="{levels + 1}"/>')


def nodes(levels: int, width: int) -> bytes:
    """The same as nodes of a COLLADA library."""
    library = f'<node id="k0">{files.PLACED.format(number=1, x=0, material="plain")}</node>'
    for number in range(1, levels + 1):
        inner = f'<instance_node url="#k{number - 1}"/>' * width
        library += f'<node id="k{number}">{inner}</node>'
    placed = f'<node><instance_node url="#k{levels}"/></node>'
    return files.collada(nodes=placed, libraries=f"<library_nodes>{library}</library_nodes>")


CYCLE_3MF = files.model(
    resources='<object id="1"><components><component objectid="1"/></components></object>', build='<item objectid="1"/>'
)
CYCLE_DAE = files.collada(
    libraries='<library_nodes><node id="a"><instance_node url="#a"/></node></library_nodes>',
    nodes='<node><instance_node url="#a"/></node>',
)
UTF_16 = with_doctype(files.collada(), OUTSIDE).decode().replace("utf-8", "utf-16").encode("utf-16")
USES_PART_TWICE = files.model(
    resources='<object id="2"><components>'
    + '<component objectid="9" p:path="/3D/a.model"/>' * 2
    + "</components></object>",
    build='<item objectid="2"/>',
)
PART_TWICE = files.threemf(USES_PART_TWICE, **{"3D__a_dot_model": files.model(resources=files.mesh_object(9))})
TRIANGLE = "vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.stl", b"", "is empty"),
        ("a.stl", files.binary_stl()[:-1], "not as long as"),
        ("a.stl", bytes(80) + struct.pack("<I", 2**32 - 1), "not as long as"),
        ("a.stl", bytes(80) + struct.pack("<I", 0), "not a single triangle"),
        ("a.stl", files.text_stl()[:-40], "endsolid"),
        ("a.stl", b"solid\nendsolid\n", "not a single triangle"),
        ("a.stl", f"solid\n{TRIANGLE}vertex 1 2\nendsolid\n".encode(), "not a usable STL"),
        ("a.stl", f"solid\n{TRIANGLE}vertex one 2 3\nendsolid\n".encode(), "not a usable STL"),
        ("a.stl", b"solid\n" + TRIANGLE.encode() * 2 + b"vertex 1 1 1\nendsolid\n", "not a usable STL"),
        ("a.stl", files.text_stl() * 5000, "solids"),
        ("a.off", b"", "is empty"),
        ("a.off", b"OFF BINARY\n" + bytes(50), "begin like an OFF"),
        ("a.off", b"4OFF\n1 1 0\n0 0 0 0\n1 0\n", "begin like an OFF"),
        ("a.off", b"OFF\n999999999 1 0\n", "limit"),
        ("a.off", b"OFF\n4 999999999 0\n", "limit"),
        ("a.off", b"OFF\n4 1 0\n0 0 0\n", "not a usable OFF"),
        ("a.off", files.off([(0, 1, 9)]), "not a usable OFF"),
        ("a.off", files.off([(0, 1, -1)]), "not a usable OFF"),
        ("a.dae", b"", "is empty"),
        ("a.dae", b"<svg/>", "no COLLADA"),
        ("a.dae", files.collada()[:1500], "well-formed"),
        ("a.dae", with_doctype(files.collada(), BOMB), "DOCTYPE"),
        ("a.dae", with_doctype(files.collada(), OUTSIDE), "DOCTYPE"),
        ("a.dae", UTF_16, "DOCTYPE"),
        ("a.dae", files.threemf(), "ZIP"),
        ("a.dae", nodes(levels=9, width=10), "corners of placed triangles"),
        ("a.dae", CYCLE_DAE, "cyclic"),
        ("a.dae", b"<COLLADA>" + b"<a>" * 600, "levels of XML"),
        ("a.dae", files.collada(asset="<unit meter='-1'/>"), "unit"),
        ("a.dae", files.collada(asset="<unit meter='NaN'/>"), "unit"),
        ("a.dae", files.collada(asset="<up_axis>W_UP</up_axis>"), "up_axis"),
        ("a.dae", files.collada(nodes=""), "not a single triangle"),
        ("a.3mf", b"", "is empty"),
        ("a.3mf", files.threemf()[:-10], "ZIP"),
        ("a.3mf", files.threemf(with_doctype(files.model(), BOMB)), "DOCTYPE"),
        ("a.3mf", files.threemf(b"<svg/>"), "<model>"),
        ("a.3mf", files.threemf(files.model(unit='unit="parsec"')), "parsec"),
        ("a.3mf", files.threemf(components(levels=9, width=10)), "placed objects"),
        ("a.3mf", files.threemf(CYCLE_3MF), "cyclic"),
        ("a.3mf", files.threemf(files.model(resources=files.mesh_object(1, [(0, 1, 9)]))), "does not exist"),
        ("a.3mf", files.threemf(files.model(resources='<object id="1"><mesh/></object>')), "not a usable 3MF"),
        ("a.3mf", PART_TWICE, "used 2"),
        ("a.3mf", files.threemf(files.model(build='<item objectid="1" p:path="/3D/a.model"/>')), "of other files"),
        ("a.3mf", files.threemf(**{"X__3D__3dmodel_dot_model": files.model()}), "holds 2"),
    ],
)  # fmt: skip
def test_broken_and_hostile_files_say_why(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    started = time.monotonic()
    with pytest.raises(SceneError, match=message) as refusal:
        read_scene(files.save(tmp_path, name, content))
    assert name in str(refusal.value)
    assert time.monotonic() - started < 5 * measure_slowdown()


def test_a_zip_bomb_is_refused_by_its_directory(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("3D/3dmodel.model", files.model())
        for number in range(60):
            archive.writestr(f"Metadata/{number}.png", bytes(10 << 20))
    assert len(stream.getvalue()) < 1 << 20
    with pytest.raises(SceneError, match="once unpacked"):
        read_scene(files.save(tmp_path, "bomb.3mf", stream.getvalue()))


@pytest.mark.parametrize(
    ("name", "content", "limits", "message"),
    [
        ("a.stl", files.binary_stl(), ReadLimits(triangles=3), "triangles"),
        ("a.stl", files.text_stl(), ReadLimits(triangles=3), "triangles"),
        ("a.stl", files.text_stl(), ReadLimits(text_bytes=100), "STL text"),
        ("a.off", files.off(), ReadLimits(vertices=3), "vertices"),
        ("a.off", files.off(), ReadLimits(text_bytes=20), "OFF text"),
        ("a.dae", files.collada(), ReadLimits(triangles=3), "triangles"),
        ("a.dae", files.collada(), ReadLimits(text_bytes=1000), "XML"),
        ("a.dae", files.collada(), ReadLimits(depth=4), "levels"),
        ("a.3mf", files.threemf(), ReadLimits(vertices=3), "<vertex>"),
        ("a.3mf", files.threemf(), ReadLimits(triangles=3), "<triangle>"),
        ("a.3mf", files.threemf(), ReadLimits(text_bytes=100), "unpacked"),
    ],
)
def test_every_limit_is_kept(tmp_path: Path, name: str, content: bytes, limits: ReadLimits, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        read_scene(files.save(tmp_path, name, content), limits=limits)


@pytest.mark.parametrize("uri", ["../secret.png", "/etc/passwd", "file:///etc/passwd", "https://example.org/x.png"])
def test_no_picture_from_outside_the_folder(tmp_path: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a reader went to the network")

    monkeypatch.setattr(socket, "socket", refuse)
    (tmp_path / "scene").mkdir()
    Image.new("RGB", (2, 2)).save(tmp_path / "secret.png")
    placed = files.PLACED.format(number=1, x=0, material="wood-m")
    path = files.save(tmp_path / "scene", "a.dae", files.collada(nodes=placed, picture=uri))
    scene = read_scene(path)
    assert any("refuses to open" in warning for warning in scene.report.warnings)
    assert not scene.textures
    before = compute_scene_digest(path)
    Image.new("RGB", (3, 3)).save(tmp_path / "secret.png")
    assert compute_scene_digest(path) == before


@pytest.mark.parametrize("uri", ["C:\\work\\wood.png", "file:///home/me/wood.png", "../../textures/wood.png"])
def test_a_picture_of_another_machine_is_looked_for_beside_the_scene(tmp_path: Path, uri: str) -> None:
    Image.new("RGB", (5, 4)).save(tmp_path / "wood.png")
    placed = files.PLACED.format(number=1, x=0, material="wood-m")
    path = files.save(tmp_path, "a.dae", files.collada(nodes=placed, picture=uri))
    assert [texture.pixels.shape[:2] for texture in read_scene(path).textures] == [(4, 5)]
    before = compute_scene_digest(path)
    Image.new("RGB", (5, 5)).save(tmp_path / "wood.png")
    assert compute_scene_digest(path) != before


def test_a_models_materials_lie_beside_its_meshes(tmp_path: Path) -> None:
    """As in Gazebo and ROS; a link out of that folder is not followed."""
    meshes, textures = tmp_path / "chair/meshes/old", tmp_path / "chair/materials/textures"
    meshes.mkdir(parents=True)
    textures.mkdir(parents=True)
    Image.new("RGB", (5, 4)).save(textures / "wood.png")
    Image.new("RGB", (6, 6)).save(tmp_path / "secret.png")
    (textures / "link.png").symlink_to(tmp_path / "secret.png")
    placed = files.PLACED.format(number=1, x=0, material="wood-m")
    for name, found in (("wood.png", 1), ("link.png", 0)):
        content = files.collada(nodes=placed, picture=f"../../materials/textures/{name}")
        scene = read_scene(files.save(meshes, "a.dae", content))
        assert len(scene.textures) == found


def test_a_few_instances_of_instances_are_fine(tmp_path: Path) -> None:
    assert len(read_scene(files.save(tmp_path, "a.dae", nodes(levels=2, width=3)), up="y").triangles) == 9 * 4
    boxes = files.threemf(components(levels=2, width=3))
    assert len(read_scene(files.save(tmp_path, "a.3mf", boxes), up="y").triangles) == 9 * 4


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a.fbx", "Blender"),
        ("a.usdz", "Blender"),
        ("a.usd", "Blender"),
        ("a.ifc", "IfcConvert"),
        ("a.zae", "unpack"),
        ("a.3ds", "Blender"),
        ("a.step", "FreeCAD"),
        ("a.zip", "unpack"),
        ("a.spz", "SuperSplat"),
        ("a.pcd", "MeshLab"),
    ],
)
def test_what_we_cannot_read_comes_with_a_hint(tmp_path: Path, name: str, hint: str) -> None:
    with pytest.raises(SceneError, match=hint):
        read_scene(files.save(tmp_path, name, b"?"))


WHOLE = {
    ".stl": files.text_stl(),
    ".off": files.off(),
    ".dae": files.collada(colors=files.COLORS),
    ".3mf": files.threemf(),
}


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), suffix=st.sampled_from(sorted(WHOLE)))
def test_random_damage_gives_a_refusal_or_a_scene(tmp_path: Path, data: st.DataObject, suffix: str) -> None:
    content = bytearray(WHOLE[suffix])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        scene = read_scene(files.save(tmp_path, f"fuzz{suffix}", bytes(content)), up="y")
    except SceneError:
        return
    assert scene.triangles.max() < len(scene.positions)
