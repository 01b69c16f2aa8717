"""Small STL, OFF, COLLADA and 3MF files, written by hand so that nothing of the readers' libraries writes them."""

import io
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

#: A wedge that is not its own mirror image: 3 m along x, 2 m along y, 1 m along z.
POINTS = np.array([[0, 0, 0], [3, 0, 0], [0, 2, 0], [0, 0, 1]], np.float32)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]  # seen from outside


def binary_stl(points: np.ndarray = POINTS, faces: Sequence[tuple[int, int, int]] = FACES, *, spare: int = 0) -> bytes:
    records = [struct.pack("<12fH", 0, 0, 0, *points[list(face)].ravel(), spare) for face in faces]
    return bytes(80) + struct.pack("<I", len(records)) + b"".join(records)


def text_stl(
    points: np.ndarray = POINTS, faces: Sequence[tuple[int, int, int]] = FACES, *, name: str = "wedge"
) -> bytes:
    lines = [f"solid {name}"]
    for face in faces:
        corners = [f"vertex {x} {y} {z}" for x, y, z in points[list(face)].tolist()]
        lines += ["facet normal 0 0 0", "outer loop", *corners, "endloop", "endfacet"]
    return "\n".join([*lines, f"endsolid {name}", ""]).encode()


def off(
    faces: Sequence[Sequence[int]] = FACES, *, points: np.ndarray = POINTS, head: str = "OFF", tail: str = ""
) -> bytes:
    rows = [" ".join(f"{value:g}" for value in point) for point in points.tolist()]
    rows += [" ".join(str(value) for value in (len(face), *face)) + tail for face in faces]
    return "\n".join([head, f"{len(points)} {len(faces)} 0", *rows, ""]).encode()


COLLADA = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset>{asset}</asset>
<library_images><image id="wood"><init_from>{picture}</init_from></image></library_images>
<library_effects>
<effect id="plain-fx"><profile_COMMON><technique sid="common"><lambert>
<emission><color>0 0 0.5 1</color></emission><diffuse><color>1 0.5 0 1</color></diffuse>{effect}
</lambert></technique></profile_COMMON></effect>
<effect id="wood-fx"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>wood</init_from></surface></newparam>
<newparam sid="t"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="common"><lambert><diffuse><texture texture="t" texcoord="UV"/></diffuse></lambert></technique>
</profile_COMMON></effect>
</library_effects>
<library_materials>
<material id="plain"><instance_effect url="#plain-fx"/></material>
<material id="wood-m"><instance_effect url="#wood-fx"/></material>
</library_materials>
<library_geometries><geometry id="wedge"><mesh>
<source id="p"><float_array id="pa" count="12">{points}</float_array><technique_common>
<accessor source="#pa" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<source id="u"><float_array id="ua" count="8">0 0 1 0 0 1 1 1</float_array><technique_common>
<accessor source="#ua" count="4" stride="2"><param name="S" type="float"/><param name="T" type="float"/></accessor>
</technique_common></source>
<source id="c"><float_array id="ca" count="12">1 0 0 1 0 0 1 0 0 1 0 0</float_array><technique_common>
<accessor source="#ca" count="4" stride="3"><param name="R" type="float"/><param name="G" type="float"/>
<param name="B" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
{primitive}
</mesh></geometry></library_geometries>
{libraries}
<library_visual_scenes><visual_scene id="Scene">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#Scene"/></scene>
</COLLADA>
"""
TRIANGLES = """<triangles material="m" count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="TEXCOORD" source="#u" offset="1" set="0"/>{colors}<p>{indices}</p></triangles>"""
COLORS = '<input semantic="COLOR" source="#c" offset="1"/>'
PLACED = """<node id="n{number}"><translate>{x} 0 0</translate><instance_geometry url="#wedge"><bind_material>
<technique_common><instance_material symbol="m" target="#{material}"/></technique_common></bind_material>
</instance_geometry></node>"""


def collada(
    *,
    asset: str = "<unit name='meter' meter='1'/><up_axis>Y_UP</up_axis>",
    nodes: str = PLACED.format(number=1, x=0, material="plain"),
    effect: str = "",
    picture: str = "wood.png",
    colors: str = "",
    primitive: str = "",
    points: np.ndarray = POINTS,
    libraries: str = "",
) -> bytes:
    indices = " ".join(f"{corner} {corner}" for face in FACES for corner in face)
    numbers = " ".join(f"{value:g}" for value in points.ravel().tolist())
    primitive = primitive or TRIANGLES.format(colors=colors, indices=indices)
    text = COLLADA.format(
        asset=asset,
        nodes=nodes,
        effect=effect,
        picture=picture,
        points=numbers,
        primitive=primitive,
        libraries=libraries,
    )
    return text.encode()


MODEL = """<?xml version="1.0" encoding="UTF-8"?>
<model {unit} xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02"
 xmlns:p="http://schemas.microsoft.com/3dmanufacturing/production/2015/06">
<resources>{resources}</resources><build>{build}</build></model>"""


def mesh_object(number: int = 1, faces: Sequence[tuple[int, int, int]] = FACES) -> str:
    vertices = "".join(f'<vertex x="{x:g}" y="{y:g}" z="{z:g}"/>' for x, y, z in POINTS.tolist())
    triangles = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}"/>' for a, b, c in faces)
    inner = f"<mesh><vertices>{vertices}</vertices><triangles>{triangles}</triangles></mesh>"
    return f'<object id="{number}" type="model">{inner}</object>'


def model(*, unit: str = 'unit="meter"', resources: str = mesh_object(), build: str = '<item objectid="1"/>') -> bytes:
    return MODEL.format(unit=unit, resources=resources, build=build).encode()


def threemf(main: bytes | None = None, **others: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("3D/3dmodel.model", model() if main is None else main)
        for name, content in others.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return stream.getvalue()


def save(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path
