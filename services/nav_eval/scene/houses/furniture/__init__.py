"""The furniture catalogue: importing this package fills it."""

from nav_eval.scene.houses.furniture import (
    bathroom,
    decor,
    electronics,
    garage,
    kitchen,
    lighting,
    seating,
    sleeping,
    small,
    storage,
    tables,
)
from nav_eval.scene.houses.furniture.piece import CATALOGUE, Maker, Part, Piece, Rule, Surface

__all__ = [
    "CATALOGUE",
    "Maker",
    "Part",
    "Piece",
    "Rule",
    "Surface",
    "bathroom",
    "decor",
    "electronics",
    "garage",
    "kitchen",
    "lighting",
    "seating",
    "sleeping",
    "small",
    "storage",
    "tables",
]
