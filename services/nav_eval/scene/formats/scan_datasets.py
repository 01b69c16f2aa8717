"""The annotations of scan data sets.

HM3D: `<scan>.semantic.glb`, whose texture colours are object ids, and `<scan>.semantic.txt`, which names them.
Matterport3D: a `.house` file names regions, objects and segments; `_semantic.ply` says where segments are.
Replica: `habitat/mesh_semantic.ply` carries object ids per face, `habitat/info_semantic.json` names them.
ScanNet: vertices belong to segments (`segs.json`), segments to objects (`aggregation.json`).
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.model import Region, Scene
from nav_eval.scene.semantics import Label, to_vector

#: Where a triangle's colour is looked up: its middle first, then towards its corners.
SAMPLE_WEIGHTS = np.array([[1, 1, 1], [4, 1, 1], [1, 4, 1], [1, 1, 4]]) / np.array([[3], [6], [6], [6]])


class Hm3dText(NamedTuple):
    labels: dict[int, Label]  #: object id → what it is
    colors: dict[int, int]  #: colour (0xRRGGBB) → object id


def parse_hm3d_text(content: bytes, *, source: str) -> Hm3dText:
    """Lines `id,RRGGBB,"category",region` after a title line."""
    labels, colors = {}, {}
    lines = content.decode("utf-8", errors="replace").splitlines()[1:]
    for number, row in enumerate(csv.reader(lines), start=2):
        if not row:
            continue
        try:
            object_id, color, category, region = int(row[0]), int(row[1], 16), row[2].strip(), row[3].strip()
        except (ValueError, IndexError) as error:
            raise SceneError(f'{source}: line {number} is not `id,colour,"category",region`.') from error
        if not 0 < object_id < 2**32:
            raise SceneError(f"{source}: line {number} has the impossible object id {object_id}.")
        labels[object_id] = Label(category=category, name=f"{category}_{object_id}", region=region)
        colors[color] = object_id
    return Hm3dText(labels, colors)


def find_hm3d_objects(semantic: Scene, colors: Mapping[int, int]) -> NDArray[np.uint32]:
    """The object of each triangle of the semantic mesh: the colour at its middle, or near a corner."""
    objects = np.zeros(len(semantic.triangles), np.uint32)
    known = np.array(sorted(colors), np.int64)
    ids = np.array([colors[color] for color in known.tolist()], np.uint32)
    for weights in SAMPLE_WEIGHTS:
        unknown = np.flatnonzero(objects == 0)
        if not len(unknown) or not len(known):
            break
        seen = _sample_colors(semantic, unknown, weights)
        place = np.minimum(np.searchsorted(known, seen), len(known) - 1)
        objects[unknown] = np.where(known[place] == seen, ids[place], 0)
    return objects


def _sample_colors(scene: Scene, triangles: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """0xRRGGBB at one point of each triangle: from its picture, else from its vertex colours."""
    corners = scene.triangles[triangles]
    rgb = scene.colors[corners[:, 0], :3].astype(np.int64)
    uvs = np.einsum("tcd,c->td", scene.uvs[corners].astype(np.float64), weights)
    textures = np.array([-1 if m.texture is None else m.texture for m in scene.materials])
    texture_of = textures[scene.triangle_material[triangles]]
    for texture in np.unique(texture_of[texture_of >= 0]).tolist():
        members = texture_of == texture
        pixels = scene.textures[texture].pixels
        height, width, _ = pixels.shape
        fraction = uvs[members] - np.floor(uvs[members])
        column = np.minimum((fraction[:, 0] * width).astype(np.int64), width - 1)
        row = np.minimum((fraction[:, 1] * height).astype(np.int64), height - 1)
        rgb[members] = pixels[row, column, :3]
    return rgb[:, 0] << 16 | rgb[:, 1] << 8 | rgb[:, 2]


REGION_NAMES = {
    "a": "bathroom", "b": "bedroom", "c": "closet", "d": "dining room", "e": "entryway", "f": "familyroom",
    "g": "garage", "h": "hallway", "i": "library", "j": "laundryroom", "k": "kitchen", "l": "living room",
    "m": "meetingroom", "n": "lounge", "o": "office", "p": "porch", "r": "rec room", "s": "stairs", "t": "toilet",
    "u": "utilityroom", "v": "tv", "w": "workout", "x": "outdoor", "y": "balcony", "z": "other room", "B": "bar",
    "C": "classroom", "D": "dining booth", "S": "spa", "Z": "junk", "-": "",
}  # fmt: skip


class Mp3dCategory(NamedTuple):
    """A row of the category table: what annotators wrote, and which of Matterport's 40 categories that is."""

    raw: str = ""
    raw_number: int = -1
    name: str = ""
    number: int = -1


@dataclass(slots=True)
class Mp3dHouse:
    """What a `.house` file says; boxes in the file's own frame (Z up)."""

    labels: dict[int, Label] = field(default_factory=dict)  #: object index → what it is
    segments: dict[int, int] = field(default_factory=dict)  #: segment id → object index
    regions: list[Region] = field(default_factory=list)
    categories: dict[int, Mp3dCategory] = field(default_factory=dict)  #: object index → its category
    region_codes: dict[str, str] = field(default_factory=dict)  #: region id → the letter of its kind
    region_levels: dict[str, int] = field(default_factory=dict)  #: region id → storey, −1 for none


def parse_mp3d_house(content: bytes, *, source: str) -> Mp3dHouse:
    """The objects, segments and regions; other lines (images, panoramas, …) do not concern us."""
    house = Mp3dHouse()
    table: dict[int, Mp3dCategory] = {}
    rows = [line.split() for line in content.decode("latin-1").splitlines()]
    # Categories come after the objects that use them.
    for kind in "CROE":
        for number, row in enumerate(rows, start=1):
            if not row or row[0] != kind:
                continue
            try:
                _read_row(kind, row, house, table)
            except (ValueError, IndexError) as error:
                raise SceneError(f"{source}: line {number} is not a usable {kind} record ({error}).") from error
    return house


def _read_row(kind: str, row: list[str], house: Mp3dHouse, table: dict[int, Mp3dCategory]) -> None:
    if kind == "C":
        table[int(row[1])] = Mp3dCategory(_restore_spaces(row[3]), int(row[2]), _restore_spaces(row[5]), int(row[4]))
    elif kind == "R":
        category = REGION_NAMES.get(row[5], row[5])
        lower, upper = to_vector(map(float, row[9:12])), to_vector(map(float, row[12:15]))
        house.regions.append(Region(region_id=row[1], category=category, lower=lower, upper=upper))
        house.region_codes[row[1]], house.region_levels[row[1]] = row[5], int(row[2])
    elif kind == "O":
        number, named = int(row[1]), table.get(int(row[3]), Mp3dCategory())
        house.categories[number] = named
        house.labels[number] = Label(
            category=named.name,
            name=f"{named.raw or named.name}_{number}",
            region=row[2] if int(row[2]) >= 0 else None,
            attributes={"raw_category": named.raw},
        )
    else:
        house.segments[int(row[3])] = int(row[2])


def find_segment_objects(segments: NDArray[np.int64], house: Mp3dHouse) -> NDArray[np.int64]:
    """Object index per triangle, −1 where its segment belongs to none."""
    ids, place = np.unique(segments, return_inverse=True)
    objects = np.array([house.segments.get(segment, -1) for segment in ids.tolist()], np.int64)
    return objects[place]


def _restore_spaces(word: str) -> str:
    """Spaces are written as #."""
    return word.replace("#", " ").strip()


class _ReplicaObject(msgspec.Struct, frozen=True):
    id: int
    class_name: str = ""


class _ReplicaInfo(msgspec.Struct, frozen=True):
    objects: list[_ReplicaObject] = []


def parse_replica_info(content: bytes, *, source: str) -> dict[int, Label]:
    """Objects by Replica's own id."""
    try:
        info = msgspec.json.decode(content, type=_ReplicaInfo)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SceneError(f"{source}: is not a usable Replica annotation: {error}.") from error
    return {thing.id: Label(category=thing.class_name, name=f"{thing.class_name}_{thing.id}") for thing in info.objects}


class _SegmentGroup(msgspec.Struct, frozen=True, rename="camel"):
    object_id: int
    label: str
    segments: list[int] = []


class _Aggregation(msgspec.Struct, frozen=True, rename="camel"):
    seg_groups: list[_SegmentGroup] = []


class _Segmentation(msgspec.Struct, frozen=True, rename="camel"):
    seg_indices: list[int] = []


def parse_scannet_objects(
    aggregation: bytes, segmentation: bytes, *, source: str
) -> tuple[dict[int, Label], NDArray[np.int64]]:
    """Objects by ScanNet's own id, and the object of each vertex (−1 for none)."""
    try:
        groups = msgspec.json.decode(aggregation, type=_Aggregation).seg_groups
        segments = np.array(msgspec.json.decode(segmentation, type=_Segmentation).seg_indices, np.int64)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise SceneError(f"{source}: is not a usable ScanNet annotation: {error}.") from error
    labels = {group.object_id: Label(category=group.label, name=f"{group.label}_{group.object_id}") for group in groups}
    owner = {segment: group.object_id for group in groups for segment in group.segments}
    ids, place = np.unique(segments, return_inverse=True)
    owners = np.array([owner.get(segment, -1) for segment in ids.tolist()], np.int64)
    return labels, owners[place] if len(ids) else np.zeros(0, np.int64)


def find_scannet_objects(triangles: NDArray[np.uint32], vertex_objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """What two of a triangle's three vertices agree on, else the first vertex's object."""
    a, b, c = vertex_objects[triangles].T
    return np.asarray(np.where(b == c, b, a), np.int64)
