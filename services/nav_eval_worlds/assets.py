"""Furnish houses with models of your own: a folder of GLB files, each with a small JSON file beside it.

`chair_12.json` beside `chair_12.glb` says what no geometry says: the category, which way the front looks, where smaller
things may stand, and under which licence the model may be shown. Whoever has models of HSSD, ABO or Objaverse writes
these few lines for each; the licence goes into the annotation of every object and into the manifest.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import Material, Scene, Texture
from nav_eval_worlds.colours import MUTED, SHADES, to_linear
from nav_eval_worlds.furniture.piece import BODY, Piece, PlacementRule, SolidPart, SupportSurface, make_piece
from nav_eval_worlds.furniture.real_sizes import REAL_SIZES, find_wrong_size
from nav_eval_worlds.materials import ModelFinish
from nav_eval_worlds.shapes import SolidMesh

MOST_TRIANGLES = 20_000  #: of one model; a house has hundreds of things
_TURNS = {"+z": 0.0, "-z": 180.0, "+x": -90.0, "-x": 90.0}
LARGER = 1.3  #: times as large as the piece that it stands in for


class Support(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A level place on a model, in metres from the middle of its underside, its front towards +z."""

    height: float
    x: tuple[float, float]
    z: tuple[float, float]


class AssetNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON file beside a model."""

    category: str
    licence: str
    """As SPDX names it, e.g. CC-BY-4.0."""
    front: Literal["+z", "-z", "+x", "-x"] = "+z"
    """Which way its front looks in the file; glTF's own rule is +z."""
    support: tuple[Support, ...] = ()
    scale: float = 1.0
    source: str = ""
    """Author or address, for those who must be named."""
    material: str = ""
    """A word for what it is made of."""


@dataclass(frozen=True, slots=True, eq=False)
class AssetModel:
    """A model as a piece of furniture."""

    piece: Piece

    def can_replace(self, piece: Piece) -> bool:
        """Not much larger than what would stand there otherwise, and usable in the same way."""
        own, others = sorted((self.piece.size[0], self.piece.size[2])), sorted((piece.size[0], piece.size[2]))
        fits = all(mine <= LARGER * other for mine, other in zip(own, others, strict=True))
        carries = bool(self.piece.surfaces) or piece.rule is PlacementRule.SURFACE or not piece.surfaces
        return fits and carries and self.piece.size[1] <= LARGER * piece.size[1]

    def replace_piece(self, piece: Piece) -> Piece:
        """The model in the place of a piece of our own, with its rules and with what is put on it."""
        kind = piece.surfaces[0].kind if piece.surfaces else "side"
        surfaces = tuple(replace(surface, kind=kind) for surface in self.piece.surfaces)
        return replace(self.piece, rule=piece.rule, clearance=piece.clearance, surfaces=surfaces)


def read_assets(folder: Path) -> dict[str, tuple[AssetModel, ...]]:
    """All models of a folder by category, in the order of their names."""
    notes = sorted(folder.glob("*.json"))
    if not notes:
        raise SceneError(
            f"There is no model in {folder}: a model is NAME.glb with NAME.json beside it, "
            '{"category": "chair", "licence": "CC0-1.0"} at least.'
        )
    found: dict[str, list[AssetModel]] = {}
    for path in notes:
        model = read_asset(path)
        found.setdefault(model.piece.category, []).append(model)
    return {category: tuple(models) for category, models in found.items()}


def read_asset(note_path: Path) -> AssetModel:
    """One model with its note."""
    note, path = _read_note(note_path), note_path.with_suffix(".glb")
    if not path.exists():
        raise SceneError(f"{note_path} describes {path.name}, which is not there. Put the model beside it.")
    scene = read_scene(path, up="format", scale=note.scale if note.scale != 1.0 else None)
    if len(scene.triangles) > MOST_TRIANGLES:
        raise SceneError(f"{path} has {len(scene.triangles):,} triangles; reduce it to {MOST_TRIANGLES:,} or fewer.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    piece = _make_model_piece(scene, note, digest)
    wrong = find_wrong_size(note.category, piece.size)
    if wrong:
        raise SceneError(f"{path} is no {note.category} of a real size: {wrong}. Set scale in {note_path.name}.")
    return AssetModel(piece)


def _read_note(path: Path) -> AssetNote:
    try:
        note = msgspec.json.decode(path.read_bytes(), type=AssetNote)
    except msgspec.MsgspecError as error:
        raise SceneError(f"{path} does not describe a model: {error}.") from error
    if note.category not in REAL_SIZES:
        raise SceneError(f"{path}: there is no category {note.category!r}. Known: {', '.join(sorted(REAL_SIZES))}.")
    if not note.licence:
        raise SceneError(f"{path} names no licence. Say under which one the model may be shown, e.g. CC-BY-4.0.")
    return note


def _make_model_piece(scene: Scene, note: AssetNote, digest: str) -> Piece:
    """A part per material, the largest one first: its colour is the one that people would name."""
    areas = _measure_areas(scene)
    order = sorted(np.flatnonzero(areas > 0).tolist(), key=lambda number: -areas[number])
    parts, finishes = [], {}
    low = float(scene.positions[:, 1].min())
    for place, number in enumerate(order):
        slot = BODY if place == 0 else f"part {place}"
        mesh = _make_mesh(scene, number).rotate(_TURNS[note.front]).translate((0.0, -low, 0.0))
        parts.append(SolidPart(slot, mesh))
        finishes[slot] = _make_model_finish(scene, number, note, f"{digest} {place}")
    surfaces = [SupportSurface(x=each.x, z=each.z, y=each.height) for each in note.support]
    piece = make_piece(note.category, parts, finishes)  # its middle is on the origin now, as supports are measured
    return replace(piece, surfaces=tuple(surfaces), licence=note.licence, source=note.source)


def _measure_areas(scene: Scene) -> NDArray[np.float64]:
    a, b, c = np.moveaxis(scene.positions[scene.triangles].astype(np.float64), 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return np.bincount(scene.triangle_material, area, minlength=len(scene.materials)).astype(np.float64)


def _make_mesh(scene: Scene, material: int) -> SolidMesh:
    """The triangles of one material."""
    chosen = scene.triangles[scene.triangle_material == material].astype(np.int64)
    used, places = np.unique(chosen, return_inverse=True)
    return SolidMesh(
        scene.positions[used].astype(np.float64),
        scene.normals[used].astype(np.float64),
        scene.uvs[used].astype(np.float64),
        places.reshape(-1, 3),
        fit=True,  # its texture coordinates are its own
    )


def _make_model_finish(scene: Scene, number: int, note: AssetNote, key: str) -> ModelFinish:
    look = scene.materials[number]
    picture = None if look.texture is None else scene.textures[look.texture]
    return ModelFinish(
        kind="model",
        colour=_name_colour(look, picture),
        shade=key,
        word=note.material or "mixed",
        look=look,
        picture=picture,
    )


def _name_colour(look: Material, picture: Texture | None) -> str:
    """The name whose shade is nearest to the mean colour."""
    mean = np.array(look.base_color[:3])
    if picture is not None:
        mean = mean * ((picture.pixels[..., :3] / 255.0) ** 2.2).reshape(-1, 3).mean(axis=0)
    shades = [(name, shade) for table in (SHADES, MUTED) for name, all_shades in table.items() for shade in all_shades]
    return min(shades, key=lambda pair: _measure_difference(to_linear(pair[1]), mean))[0]


def _measure_difference(shade: Iterable[float], mean: NDArray[np.float64]) -> float:
    return float(((np.array(list(shade)) ** (1 / 2.2) - np.clip(mean, 0, 1) ** (1 / 2.2)) ** 2).sum())
