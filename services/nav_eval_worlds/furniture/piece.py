"""What a piece of furniture is, and the catalogue of those that exist.

A maker is a pure function from a draw to a piece. A piece stands around the origin of its own frame,
its front towards +z, its underside at y = 0; the slot called "body" is the one whose colour people
would name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps

import numpy as np

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.records.geometry import Vec3
from nav_eval_worlds.materials import Finish
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import SolidMesh, make_box, make_rod

BODY = "body"


class PlacementRule(StrEnum):
    """Where a piece belongs."""

    WALL = "wall"  #: on the floor, its back to a wall
    CORNER = "corner"  #: on the floor, in a corner
    MIDDLE = "middle"  #: on the floor, anywhere
    FLAT = "flat"  #: on the floor, and one walks over it
    ON_WALL = "on_wall"  #: hangs on a wall
    CEILING = "ceiling"  #: hangs from the ceiling
    SURFACE = "surface"  #: stands on something else


@dataclass(frozen=True, slots=True, eq=False)
class SolidPart:
    """A solid of one finish."""

    slot: str
    mesh: SolidMesh


@dataclass(frozen=True, kw_only=True, slots=True)
class SupportSurface:
    """A level place where smaller things may stand."""

    x: tuple[float, float]
    z: tuple[float, float]
    y: float
    kind: str = "table"  #: decides what is put there
    headroom: float = 0.5


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Piece:
    """A thing with a category, a shape and finishes."""

    category: str
    parts: tuple[SolidPart, ...]
    finishes: Mapping[str, Finish]
    size: Vec3  #: width, height, depth
    rule: PlacementRule
    surfaces: tuple[SupportSurface, ...] = ()
    clearance: float = 0.0  #: metres that stay free in front
    name: str | None = None  #: a more exact word than the category
    glows: Vec3 | None = None  #: where its light comes from, if it is a lamp
    licence: str = ""  #: of a model that somebody brought along
    source: str = ""  #: where that model is from


PieceMaker = Callable[[RandomStream], Piece]
CATALOGUE: dict[str, PieceMaker] = {}
SHAPES: dict[str, list[PieceMaker]] = {}  #: all makers of what the catalogue calls one piece, the first one first


def register_maker(name: str) -> Callable[[PieceMaker], PieceMaker]:
    """Decorator: add a piece to the catalogue. Random streams are named after it, so its name never changes."""

    def add(maker: PieceMaker) -> PieceMaker:
        shapes = SHAPES.setdefault(name, [])
        shapes.insert(0, maker)

        @wraps(maker)
        def make(draw: RandomStream) -> Piece:
            if draw.generator == FIRST_GENERATOR:
                return maker(draw)
            return _use_model(settle_piece(draw.fork("shape").choice(shapes)(draw)), draw.fork("model"))

        CATALOGUE[name] = make
        return make

    return add


def register_shape(name: str, shape: str) -> Callable[[PieceMaker], PieceMaker]:
    """Decorator: add another shape of a piece, which houses of later generators draw from."""

    def add(maker: PieceMaker) -> PieceMaker:
        @wraps(maker)
        def make(draw: RandomStream) -> Piece:
            return settle_piece(maker(draw))

        SHAPES.setdefault(name, []).append(make)
        CATALOGUE[f"{name}/{shape}"] = make
        return make

    return add


def get_piece_name(maker: PieceMaker) -> str:
    """What the catalogue calls the pieces of a maker."""
    return next(name for name, known in CATALOGUE.items() if known is maker)


def make_piece(
    category: str,
    parts: Sequence[SolidPart],
    finishes: Mapping[str, Finish],
    *,
    rule: PlacementRule = PlacementRule.WALL,
    surfaces: Sequence[SupportSurface] = (),
    clearance: float = 0.0,
    name: str | None = None,
    glows: Vec3 | None = None,
) -> Piece:
    """Measure the parts and put the middle of their footprint on the origin."""
    low = np.min([part.mesh.bounds[0] for part in parts], axis=0)
    high = np.max([part.mesh.bounds[1] for part in parts], axis=0)
    shift = (-round(float(low[0] + high[0]) / 2, 6), 0.0, -round(float(low[2] + high[2]) / 2, 6))
    width, height, depth = (round(float(value), 4) for value in (high[0] - low[0], high[1], high[2] - low[2]))
    return Piece(
        category=category,
        parts=tuple(replace(part, mesh=part.mesh.translate(shift)) for part in parts),
        finishes=finishes,
        size=(width, height, depth),
        rule=rule,
        surfaces=tuple(_shift_surface(surface, shift) for surface in surfaces),
        clearance=clearance,
        name=name,
        glows=None if glows is None else (glows[0] + shift[0], glows[1], glows[2] + shift[2]),
    )


def _use_model(piece: Piece, draw: RandomStream) -> Piece:
    """A model of the house's own assets instead, if one fits there."""
    fitting = [model for model in draw.style.models.get(piece.category, ()) if model.can_replace(piece)]
    return draw.choice(fitting).replace_piece(piece) if fitting else piece


_HANGING = (PlacementRule.ON_WALL, PlacementRule.CEILING)


def settle_piece(piece: Piece) -> Piece:
    """The piece with its lowest point at 0, so that it neither floats nor sinks in; what hangs stays as it is."""
    low = round(min(float(part.mesh.bounds[0][1]) for part in piece.parts), 6)
    if low == 0 or piece.rule in _HANGING:
        return piece
    width, height, depth = piece.size
    return replace(
        piece,
        parts=tuple(replace(part, mesh=part.mesh.translate((0.0, -low, 0.0))) for part in piece.parts),
        size=(width, round(height - low, 4), depth),
        surfaces=tuple(replace(surface, y=surface.y - low) for surface in piece.surfaces),
        glows=None if piece.glows is None else (piece.glows[0], piece.glows[1] - low, piece.glows[2]),
    )


def make_parts(slot: str, *meshes: SolidMesh) -> list[SolidPart]:
    return [SolidPart(slot, mesh) for mesh in meshes]


def make_top_surface(
    size: Vec3,
    kind: str = "table",
    *,
    margin: float | tuple[float, float] = 0.04,
    y: float | None = None,
    headroom: float = 0.5,
) -> SupportSurface:
    """The upper side of something of this size around the origin, or a level of it; margins of x and z may differ."""
    margins = margin if isinstance(margin, tuple) else (margin, margin)
    x, z = size[0] / 2 - margins[0], size[2] / 2 - margins[1]
    return SupportSurface(x=(-x, x), z=(-z, z), y=size[1] if y is None else y, kind=kind, headroom=headroom)


def make_four_legs(
    width: float, depth: float, height: float, thickness: float, *, inset: float = 0.0
) -> list[SolidMesh]:
    """Square legs at the corners."""
    x, z = width / 2 - thickness / 2 - inset, depth / 2 - thickness / 2 - inset
    return [make_box((thickness, height, thickness), (sx * x, 0, sz * z)) for sx in (-1, 1) for sz in (-1, 1)]


def make_splayed_legs(width: float, depth: float, height: float, radius: float) -> list[SolidMesh]:
    """Round legs that lean outwards."""
    x, z = width / 2, depth / 2
    return [
        make_rod((sx * (x - radius), 0, sz * (z - radius)), (sx * x * 0.75, height, sz * z * 0.75), radius)
        for sx in (-1, 1)
        for sz in (-1, 1)
    ]


def make_box_frame(at: Vec3, size: tuple[float, float], *, bar: float, thick: float) -> list[SolidMesh]:
    """Four bars around an upright field; `at` is the middle of its lower edge."""
    (x, y, z), (width, height) = at, size
    sides = [make_box((bar, height, thick), (x + side * (width - bar) / 2, y, z)) for side in (-1, 1)]
    return sides + [make_box((width - 2 * bar, bar, thick), (x, level, z)) for level in (y, y + height - bar)]


def _shift_surface(surface: SupportSurface, by: Vec3) -> SupportSurface:
    return replace(
        surface, x=(surface.x[0] + by[0], surface.x[1] + by[0]), z=(surface.z[0] + by[2], surface.z[1] + by[2])
    )
