"""Matterport3D: a `.house` file names regions, objects and segments; `_semantic.ply` says where segments are."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Vec3
from nav_eval.errors import SceneError
from nav_eval.scene.model import Region
from nav_eval.scene.semantics.labels import Label

REGION_NAMES = {
    "a": "bathroom", "b": "bedroom", "c": "closet", "d": "dining room", "e": "entryway", "f": "familyroom",
    "g": "garage", "h": "hallway", "i": "library", "j": "laundryroom", "k": "kitchen", "l": "living room",
    "m": "meetingroom", "n": "lounge", "o": "office", "p": "porch", "r": "rec room", "s": "stairs", "t": "toilet",
    "u": "utilityroom", "v": "tv", "w": "workout", "x": "outdoor", "y": "balcony", "z": "other room", "B": "bar",
    "C": "classroom", "D": "dining booth", "S": "spa", "Z": "junk", "-": "",
}  # fmt: skip


@dataclass(slots=True)
class House:
    """What a `.house` file says; boxes in the file's own frame (Z up)."""

    labels: dict[int, Label] = field(default_factory=dict)  #: object index → what it is
    segments: dict[int, int] = field(default_factory=dict)  #: segment id → object index
    regions: list[Region] = field(default_factory=list)


def parse_house(content: bytes, *, source: str) -> House:
    """The objects, segments and regions; other lines (images, panoramas, …) do not concern us."""
    house = House()
    categories: dict[int, tuple[str, str]] = {}
    rows = [line.split() for line in content.decode("latin-1").splitlines()]
    # Categories come after the objects that use them.
    for kind in "CROE":
        for number, row in enumerate(rows, start=1):
            if not row or row[0] != kind:
                continue
            try:
                _read_row(kind, row, house, categories)
            except (ValueError, IndexError) as error:
                raise SceneError(f"{source}: line {number} is not a usable {kind} record ({error}).") from error
    return house


def _read_row(kind: str, row: list[str], house: House, categories: dict[int, tuple[str, str]]) -> None:
    if kind == "C":
        categories[int(row[1])] = (_text(row[3]), _text(row[5]))
    elif kind == "R":
        house.regions.append(
            Region(
                region_id=row[1],
                category=REGION_NAMES.get(row[5], row[5]),
                lower=_vector(row[9:12]),
                upper=_vector(row[12:15]),
            )
        )
    elif kind == "O":
        raw, category = categories.get(int(row[3]), ("", ""))
        region = row[2] if int(row[2]) >= 0 else None
        house.labels[int(row[1])] = Label(
            category=category, name=f"{raw or category}_{row[1]}", region=region, attributes={"raw_category": raw}
        )
    else:
        house.segments[int(row[3])] = int(row[2])


def objects_of_segments(segments: NDArray[np.int64], house: House) -> NDArray[np.int64]:
    """Object index per triangle, −1 where its segment belongs to none."""
    ids, place = np.unique(segments, return_inverse=True)
    objects = np.array([house.segments.get(segment, -1) for segment in ids.tolist()], np.int64)
    return objects[place]


def _text(word: str) -> str:
    """Spaces are written as #."""
    return word.replace("#", " ").strip()


def _vector(words: list[str]) -> Vec3:
    x, y, z = (float(word) for word in words)
    return x, y, z
