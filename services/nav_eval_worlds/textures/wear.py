"""Surfaces as they look after some years: trodden floors, walls that were painted by hand, rugs faded in the middle.

Marks are fine and spread evenly, as a texture repeats every 1.5 m; where a room is worn (at doors, along the ways
through it) is in `houses.wear`. What is painted here is a factor on the new surface.
"""

from collections.abc import Callable, Mapping

import numpy as np

from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.textures.surfaces import Array, make_coordinates, make_layered_noise, make_noise

Painter = Callable[[RandomStream], Array]

WORN = " worn"  #: ends the names of these patterns
KEPT = 0.98  #: of its brightness, so that white things stay white


def _paint_scratches(draw: RandomStream, shape: tuple[int, int], count: int, depth: tuple[float, float]) -> Array:
    """Fine strokes, some pale, some dark, that go on beyond the edge on the other side."""
    marks = np.ones(shape)
    for _ in range(count):
        length = draw.integer(shape[0] // 40, shape[0] // 8)
        row, column, slope = draw.unit() * shape[0], draw.unit() * shape[1], 2 * draw.unit() - 1
        steps = np.arange(length)
        rows = np.floor(row + slope * steps).astype(np.int64) % shape[0]
        columns = np.floor(column + steps).astype(np.int64) % shape[1]
        if draw.chance(0.4):
            rows, columns = columns % shape[0], rows % shape[1]
        fade = np.minimum(steps + 1, length - steps) / max(length / 2, 1)
        change = draw.uniform(*depth) * np.minimum(fade * 2, 1.0)
        marks[rows, columns] *= 1 + (change if draw.chance(0.35) else -change)
    return marks


def _paint_patches(draw: RandomStream, shape: tuple[int, int], cells: int, strength: float) -> Array:
    """Soft patches, darker in some places."""
    return 1 - strength * make_layered_noise(draw, shape, (cells, cells), 3)


def _paint_spots(
    draw: RandomStream, shape: tuple[int, int], count: int, radius: tuple[float, float], depth: float
) -> Array:
    """Faint stains with a soft rim."""
    rows, columns = make_coordinates(shape)
    marks = np.ones(shape)
    for _ in range(count):
        y, x, r = draw.unit(), draw.unit(), draw.uniform(*radius)
        down, across = abs(rows - y), abs(columns - x)
        down, across = np.minimum(down, 1 - down), np.minimum(across, 1 - across)
        away = np.sqrt(down * down + across * across) / r
        marks *= 1 - depth * np.clip(1.4 - 1.4 * away, 0, 1) * (0.7 + 0.3 * (away > 0.6))
    return marks


def _paint_wood_wear(draw: RandomStream, shape: tuple[int, int]) -> Array:
    return _paint_patches(draw, shape, 4, 0.12) * _paint_scratches(draw, shape, 46, (0.04, 0.13))


def _paint_tiles_wear(draw: RandomStream, shape: tuple[int, int]) -> Array:
    return (
        _paint_patches(draw, shape, 5, 0.1)
        * _paint_scratches(draw, shape, 12, (0.02, 0.07))
        * _paint_spots(draw, shape, 3, (0.02, 0.05), 0.04)
    )


def _paint_carpet_wear(draw: RandomStream, shape: tuple[int, int]) -> Array:
    return _paint_patches(draw, shape, 3, 0.16) * _paint_spots(draw, shape, 3, (0.02, 0.06), 0.06)


def _paint_concrete_wear(draw: RandomStream, shape: tuple[int, int]) -> Array:
    cracks = np.clip(abs(make_layered_noise(draw, shape, (3, 3), 5) - 0.5) * 90, 0, 1)
    here = make_noise(draw, shape, (2, 2)) > 0.62
    return _paint_spots(draw, shape, 5, (0.03, 0.1), 0.14) * np.where(here, 0.88 + 0.12 * cracks, 1.0)


def _paint_plaster_wear(draw: RandomStream, shape: tuple[int, int]) -> Array:
    """Strokes of the roller, and here and there a mark."""
    strokes = make_noise(draw, shape, (2, 9)) + 0.6 * make_layered_noise(draw, shape, (3, 3), 3)
    return 1 - 0.03 * strokes * _paint_scratches(draw, shape, 5, (0.02, 0.06))


def _paint_cloth_wear(draw: RandomStream, shape: tuple[int, int]) -> Array:
    return _paint_patches(draw, shape, 3, 0.1) * _paint_patches(draw, shape, 24, 0.05)


def _paint_leather_wear(draw: RandomStream, shape: tuple[int, int]) -> Array:
    """Creases, and paler where it is sat on."""
    creases = np.clip(abs(make_layered_noise(draw, shape, (5, 5), 4) - 0.5) * 26, 0, 1)
    return (0.86 + 0.14 * creases) * (1.04 - 0.12 * make_noise(draw, shape, (3, 3)))


def _paint_rug_wear(draw: RandomStream, shape: tuple[int, int]) -> Array:
    """Pattern and pile fade where people walk: not quite in the middle, and never at the rim."""
    rows, columns = make_coordinates(shape)
    y, x = draw.uniform(0.4, 0.6), draw.uniform(0.4, 0.6)
    away = np.sqrt(((rows - y) / 0.42) ** 2 + ((columns - x) / 0.34) ** 2)
    return np.clip(1.15 - away, 0, 1) * (0.6 + 0.4 * make_layered_noise(draw, shape, (5, 5), 3))


def _make_worn(paint: Painter, wear: Callable[[RandomStream, tuple[int, int]], Array]) -> Painter:
    def paint_worn(draw: RandomStream) -> Array:
        new = paint(draw)
        marks = wear(draw.fork("wear"), (new.shape[0], new.shape[1]))
        marks = marks * (KEPT / round(float(marks.mean()), 6))
        worn: Array = new * (marks if new.ndim == 2 else marks[..., None])
        return worn

    return paint_worn


def _make_faded(paint: Painter) -> Painter:
    """Where it is worn, a rug has one colour: paler, and of its pattern little is left."""

    def paint_faded(draw: RandomStream) -> Array:
        new = paint(draw)
        share = 0.85 * _paint_rug_wear(draw.fork("wear"), (new.shape[0], new.shape[1]))
        return new * (1 - share) + share * (0.5 * new + 0.5 * 0.96)

    return paint_faded


_MARKS: dict[Callable[[RandomStream, tuple[int, int]], Array], tuple[str, ...]] = {
    _paint_wood_wear: ("grain", "planks", "wide planks", "parquet"),
    _paint_tiles_wear: ("tiles", "large tiles", "checker tiles"),
    _paint_carpet_wear: ("carpet",),
    _paint_concrete_wear: ("concrete",),
    _paint_plaster_wear: ("plaster",),
    _paint_cloth_wear: ("weave", "tweed", "knit", "plain cloth"),
    _paint_leather_wear: ("leather",),
}
_RUGS = ("rug border", "rug stripes", "rug diamonds")


def make_worn_patterns(surfaces: Mapping[str, Painter], pictures: Mapping[str, Painter]) -> dict[str, Painter]:
    """A worn one of each pattern that wears, repeating ones and those that are shown once."""
    worn = {name + WORN: _make_worn(surfaces[name], wear) for wear, names in _MARKS.items() for name in names}
    return worn | {name + WORN: _make_faded(pictures[name]) for name in _RUGS}


CAN_WEAR = frozenset((*(name for names in _MARKS.values() for name in names), *_RUGS))
