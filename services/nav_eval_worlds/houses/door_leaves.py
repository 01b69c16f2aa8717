"""What doors are made of: solid leaves, since the second generator leaves with glass, and marks of hands on them."""

from collections.abc import Sequence
from dataclasses import replace

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval_worlds.furniture.piece import BODY, SolidPart, make_parts
from nav_eval_worlds.houses.plan.geometry import Rect
from nav_eval_worlds.houses.plan.model import (
    BATHROOM,
    BEDROOM,
    GARAGE,
    LAUNDRY,
    PUBLIC_TEMPLATES,
    RESTROOM,
    STORAGE,
    TREATMENT,
    FloorPlan,
    Opening,
)
from nav_eval_worlds.houses.shell import make_block
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import SolidMesh, make_quad

STILE, RAIL, FOOT_RAIL = 115, 115, 230  #: millimetres of wood beside, above and below the glass
PANE = 8  #: thickness of glass
SMUDGE = (110, 300)  #: width and height of the place that hands touch
PALE = ("white", "light grey", "beige", "light brown")  #: colours on which hands leave marks
_PRIVATE = frozenset({BATHROOM, BEDROOM, GARAGE, LAUNDRY, RESTROOM, STORAGE, TREATMENT})
_PUBLIC_KINDS = frozenset(
    kind for template in PUBLIC_TEMPLATES.values() for storey in template.storeys for kind in storey
)


def is_public(plan: FloorPlan) -> bool:
    """Whether it is an office, a shop or a clinic."""
    return all(room.kind in _PUBLIC_KINDS or room.kind == "hallway" for room in plan.rooms)


def is_glazed(plan: FloorPlan, opening: Opening, draw: RandomStream) -> bool:
    """Whether one looks through this door: often at work, sometimes between the shared rooms of a home."""
    if draw.generator == FIRST_GENERATOR or any(plan.room(room).kind in _PRIVATE for room in opening.rooms):
        return False
    modern = 0.15 if draw.style.name in ("modern", "industrial") else 0.0
    return draw.chance((0.65 if is_public(plan) else 0.3) + modern)


def make_solid_leaf(rect: Rect, low: int, high: int) -> list[SolidPart]:
    """A slab with two raised fields on both sides."""
    made = make_parts(BODY, make_block(rect, low, high))
    for bottom, top in ((180, 880), (1040, 1880)):
        field = (
            Rect(rect.x0 - 6, rect.z0 + 130, rect.x1 + 6, rect.z1 - 130)
            if rect.width < rect.depth
            else Rect(rect.x0 + 130, rect.z0 - 6, rect.x1 - 130, rect.z1 + 6)
        )
        made += make_parts(BODY, make_block(field, low - 12 + bottom, low - 12 + top))
    return made


def make_glazed_leaf(rect: Rect, low: int, high: int, *, foot: int = FOOT_RAIL) -> list[SolidPart]:
    """A frame of wood with one pane in it."""
    thin_x = rect.width < rect.depth
    (start, end), (near, far) = ((rect.z0, rect.z1), (rect.x0, rect.x1))
    if not thin_x:
        (start, end), (near, far) = (near, far), (start, end)

    def block(a: int, b: int, bottom: int, top: int, reach: tuple[int, int] = (near, far)) -> SolidMesh:
        c, d = reach
        return make_block(Rect(c, a, d, b) if thin_x else Rect(a, c, b, d), bottom, top)

    inner = (start + STILE, end - STILE)
    made = make_parts(
        BODY,
        block(start, inner[0], low, high),
        block(inner[1], end, low, high),
        block(*inner, low, low + foot),
        block(*inner, high - RAIL, high),
    )
    middle = (near + far) // 2
    glass = block(*inner, low + foot, high - RAIL, (middle - PANE // 2, middle + PANE // 2))
    return made + make_parts("glass", glass)


def make_smudges(rect: Rect, handle: int, height: int) -> list[SolidPart]:
    """What hands leave around the handle, on both sides of an opened leaf; `handle` is its place along the leaf."""
    width, tall = SMUDGE
    made: list[SolidMesh] = []
    low, high = (height - tall // 2) / 1000, (height + tall // 2) / 1000
    a, b = (handle - width // 2) / 1000, (handle + width // 2) / 1000
    off = 0.0015
    for side in (-1, 1):
        if rect.width < rect.depth:
            x = (rect.x1 if side > 0 else rect.x0) / 1000 + side * off
            ends: Sequence[tuple[float, float]] = [(x, b), (x, a)] if side > 0 else [(x, a), (x, b)]
        else:
            z = (rect.z1 if side > 0 else rect.z0) / 1000 + side * off
            ends = [(a, z), (b, z)] if side > 0 else [(b, z), (a, z)]
        (x0, z0), (x1, z1) = ends
        quad = make_quad((x0, low, z0), (x1, low, z1), (x1, high, z1), (x0, high, z0))
        made.append(replace(quad, uvs=_CORNERS.copy(), fit=True))
    return make_parts("smudge", *made)


_CORNERS = make_quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)).uvs * 0
_CORNERS[:] = [(0, 1), (1, 1), (1, 0), (0, 0)]
