"""A part of the building that is an object too: a wall, a floor, a door, a window, the stairs."""

from collections.abc import Mapping
from dataclasses import dataclass

from nav_eval.scene.houses.finishes import Finish
from nav_eval.scene.houses.furniture.piece import Part


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Fixture:
    """Meshes in world coordinates, with their finishes by slot."""

    category: str
    room: str
    parts: tuple[Part, ...]
    finishes: Mapping[str, Finish]
    name: str | None = None
