"""Scenes in the layouts of scan data sets: HM3D's and Matterport3D's files, written from any scene of ours."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nav_eval.scene.formats.glb_writer import write_glb
from nav_eval.scene.model import Material, Scene, Semantics, Texture

TO_FILE = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float32)  #: Y up to Z up
SIDE = 32  #: pixels of the picture of colours


@dataclass(frozen=True, kw_only=True)
class ScanObject:
    """What an annotation says of an object; Matterport's 40 categories have numbers of their own."""

    category: str
    region: int
    raw: str = ""
    index: int = 0
    raw_index: int = 0


def write_hm3d_scan(scene: Scene, folder: Path, names: Mapping[int, ScanObject]) -> Path:
    """`NUMBER-SCAN/SCAN.basis.glb` with its annotation, below a scene data set; gives the data set's file."""
    folder.mkdir(parents=True)
    scan = folder.name.split("-")[-1]
    write_glb(_lay_down(scene), folder / f"{scan}.basis.glb")
    write_glb(_paint(_lay_down(scene)), folder / f"{scan}.semantic.glb")
    lines = [f'{number},{_get_color(number):06X},"{name.category}",{name.region}' for number, name in names.items()]
    (folder / f"{scan}.semantic.txt").write_text("\n".join(["HM3D Semantic Annotations", *lines, ""]))
    dataset = folder.parent / "hm3d.scene_dataset_config.json"
    dataset.write_text(json.dumps({"stages": {"paths": {".glb": ["*/*.basis.glb"]}}}))
    return dataset


def write_matterport_scan(
    scene: Scene, folder: Path, names: Mapping[int, ScanObject], *, levels: Mapping[int, int], codes: Mapping[int, str]
) -> Path:
    """`SCAN/SCAN.glb` with `.house` and `_semantic.ply`; objects are numbered one lower than in the scene."""
    folder.mkdir(parents=True)
    write_glb(_lay_down(scene), folder / f"{folder.name}.glb")
    lines = ["ASCII 1.1", f"H {folder.name} {folder.name}" + " 0" * 26]
    lines += [f"L {level} 1 l 0 0 0 0 0 0 9 9 3 0 0 0 0 0" for level in sorted(set(levels.values()))]
    lines += [f"R {room} {level} 0 0 {codes[room]} 0 0 0 -9 -9 0 9 9 3 3 0 0 0 0" for room, level in levels.items()]
    for place, (number, name) in enumerate(names.items()):
        raw, category = (word.replace(" ", "#") for word in (name.raw, name.category))
        lines += [
            f"C {place} {name.raw_index} {raw} {name.index} {category} 0 0 0 0 0",
            f"O {number - 1} {name.region} {place} 0 0 0 1 0 0 0 1 0 1 1 1" + " 0" * 8,
            f"E {place} {number - 1} {1000 + number} 1 0 0 0 0 0 0 1 1 1 0 0 0 0 0",
        ]
    (folder / f"{folder.name}.house").write_text("\n".join([*lines, ""]))
    _write_segments(_lay_down(scene), folder / f"{folder.name}_semantic.ply")
    return folder / f"{folder.name}.glb"


def _lay_down(scene: Scene) -> Scene:
    """As scans lie in their files, and without names."""
    return replace(
        scene,
        positions=scene.positions @ TO_FILE.T,
        normals=scene.normals @ TO_FILE.T,
        semantics=Semantics(),
        lights=(),
    )


def _get_color(number: int) -> int:
    return number * 7919 % 0xFFFFFF


def _paint(scene: Scene) -> Scene:
    """Every object in the one colour that stands for it, taken from a picture."""
    numbers = np.arange(SIDE * SIDE)
    colors = np.array([_get_color(number) for number in numbers.tolist()])
    pixels = np.stack([colors >> 16, colors >> 8 & 255, colors & 255, np.full_like(colors, 255)], axis=1)
    corners = scene.triangles.reshape(-1)
    owners = np.repeat(scene.triangle_object, 3)
    middles = np.stack([owners % SIDE + 0.5, owners // SIDE + 0.5], axis=1) / SIDE
    return replace(
        scene,
        positions=scene.positions[corners],
        normals=scene.normals[corners],
        colors=np.full((len(corners), 4), 255, np.uint8),
        uvs=middles.astype(np.float32),
        triangles=np.arange(len(corners), dtype=np.uint32).reshape(-1, 3),
        triangle_material=np.zeros_like(scene.triangle_material),
        materials=(Material(texture=0),),
        textures=(Texture(pixels=pixels.astype(np.uint8).reshape(SIDE, SIDE, 4), nearest=True),),
    )


def _write_segments(scene: Scene, file: Path) -> None:
    """A PLY mesh whose faces carry `segment_id`."""
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"element vertex {len(scene.positions)}",
        *(f"property float {axis}" for axis in "xyz"),
        f"element face {len(scene.triangles)}",
        "property list uchar int vertex_indices",
        "property int segment_id",
        "end_header\n",
    ]
    faces = np.zeros(len(scene.triangles), dtype=[("count", "u1"), ("corners", "<i4", 3), ("segment", "<i4")])
    faces["count"], faces["corners"] = 3, scene.triangles
    faces["segment"] = np.where(scene.triangle_object > 0, 1000 + scene.triangle_object.astype(np.int64), -1)
    file.write_bytes("\n".join(header).encode() + scene.positions.astype("<f4").tobytes() + faces.tobytes())
