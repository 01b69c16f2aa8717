"""HM3D: `<scan>.semantic.glb`, whose texture colours are object ids, and `<scan>.semantic.txt`, which names them."""

import csv
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.model import Scene
from nav_eval.scene.semantics.labels import Label

#: Where a triangle's colour is looked up: its middle first, then towards its corners.
SAMPLES = np.array([[1, 1, 1], [4, 1, 1], [1, 4, 1], [1, 1, 4]]) / np.array([[3], [6], [6], [6]])


class SemanticText(NamedTuple):
    labels: dict[int, Label]
    """Object id → what it is."""
    colors: dict[int, int]
    """Colour (0xRRGGBB) → object id."""


def parse_semantic_text(content: bytes, *, source: str) -> SemanticText:
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
    return SemanticText(labels, colors)


def triangle_objects(semantic: Scene, colors: Mapping[int, int]) -> NDArray[np.uint32]:
    """The object of each triangle of the semantic mesh: the colour at its middle, or near a corner."""
    objects = np.zeros(len(semantic.triangles), np.uint32)
    known = np.array(sorted(colors), np.int64)
    ids = np.array([colors[color] for color in known.tolist()], np.uint32)
    for weights in SAMPLES:
        unknown = np.flatnonzero(objects == 0)
        if not len(unknown) or not len(known):
            break
        seen = _colors_at(semantic, unknown, weights)
        place = np.minimum(np.searchsorted(known, seen), len(known) - 1)
        objects[unknown] = np.where(known[place] == seen, ids[place], 0)
    return objects


def _colors_at(scene: Scene, triangles: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
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
