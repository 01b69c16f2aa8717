"""Floors, ceilings and walls.

Floors and ceilings reach to the middle of the walls, and walls reach a little beyond floor and ceiling:
overlaps instead of edges that merely meet, so no pixel can look out through a seam. Every surface is cut
into cells that share whole sides, small enough to carry light in their vertices.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from nav_eval.scene.houses.fixtures import Fixture
from nav_eval.scene.houses.furniture.piece import BODY, Part, parts
from nav_eval.scene.houses.plan.doors import wall_of
from nav_eval.scene.houses.plan.geometry import Edge, Rect, cells, remaining
from nav_eval.scene.houses.plan.model import WALL, Opening, OpeningKind, Plan, Room
from nav_eval.scene.houses.shapes import TEXTURE_SPAN, Mesh, box, merged, quad
from nav_eval.scene.houses.styles import RoomStyle

FLOOR_CELL, WALL_CELL = 350, 700  #: the longest side of a cell, in millimetres
OVERLAP = 20  #: how far walls go beyond floor and ceiling
OUTER = 140  #: from the centre line of an outer wall to its outer face
LINING = 25  #: thickness of door frames inside the hole in the wall
SKIRTING = (80, 14)  #: height and depth


def room_shell(plan: Plan, room: Room, style: RoomStyle) -> list[Fixture]:
    """Floor, ceiling and walls of one room."""
    lower = plan.stairs is not None and room.room_id == plan.stairs.lower_room
    base = plan.floor_of(room)
    floor = _level(room, base, _floor_holes(plan, room), up=True)
    ceiling = _level(room, base + plan.ceiling, [plan.stairs.flight] if plan.stairs and lower else [], up=False)
    top = plan.storey_height - OVERLAP // 2 if lower else plan.ceiling + OVERLAP  # in the well, up to the walls above
    return [
        Fixture(category="floor", room=room.room_id, parts=(Part(BODY, floor),), finishes={BODY: style.floor}),
        Fixture(category="ceiling", room=room.room_id, parts=(Part(BODY, ceiling),), finishes={BODY: style.ceiling}),
        _walls(plan, room, style, top),
    ]


def _floor_holes(plan: Plan, room: Room) -> list[Rect]:
    """Below the steps there is no floor to stand on, above them there is none at all."""
    if plan.stairs is None or room.stair_well is None:
        return []
    return [plan.stairs.solid if room.room_id == plan.stairs.lower_room else plan.stairs.flight]


def _level(room: Room, height: int, holes: Sequence[Rect], *, up: bool) -> Mesh:
    """A horizontal surface over the whole outline."""
    xs = _cuts([x for r in (*room.rects, *holes) for x in (r.x0, r.x1)], FLOOR_CELL)
    zs = _cuts([z for r in (*room.rects, *holes) for z in (r.z0, r.z1)], FLOOR_CELL)
    grid = [Rect(xs[i], zs[j], xs[i + 1], zs[j + 1]) for i in range(len(xs) - 1) for j in range(len(zs) - 1)]
    inside = cells(room.rects, holes)
    kept = [cell for cell in grid if any(part.encloses(cell) for part in inside)]
    corners = sorted({(x, z) for r in kept for x in (r.x0, r.x1) for z in (r.z0, r.z1)})
    index = {corner: number for number, corner in enumerate(corners)}
    positions = np.array([(x / 1000, height / 1000, z / 1000) for x, z in corners])
    triangles: list[tuple[int, int, int]] = []
    for r in kept:
        a, b, c, d = index[r.x0, r.z0], index[r.x1, r.z0], index[r.x1, r.z1], index[r.x0, r.z1]
        triangles.extend(((a, d, c), (a, c, b)) if up else ((a, b, c), (a, c, d)))
    normals = np.tile([0.0, 1.0 if up else -1.0, 0.0], (len(corners), 1))
    return Mesh(positions, normals, positions[:, [0, 2]] / TEXTURE_SPAN, np.array(triangles))


def _walls(plan: Plan, room: Room, style: RoomStyle, top: int) -> Fixture:
    openings = plan.openings_of(room)
    heights = _cuts([-OVERLAP, top, *(y for o in openings for y in _hole_heights(o))], WALL_CELL)
    base = plan.floor_of(room)
    made: list[Part] = []
    accent = max(room.walls, key=lambda wall: (wall.length, wall.start)) if style.accent != style.wall else None
    for wall in room.walls:
        own = [opening for opening in openings if wall_of(opening, room) == wall]
        slot = "accent" if wall == accent else BODY
        places = _cuts([0, wall.length, *(u for o in own for u in _hole_span(wall, o))], WALL_CELL)
        made.append(Part(slot, _wall_face(wall, own, places, heights, base)))
        made.extend(parts("skirting", *_skirting(wall, own, base, _floor_holes(plan, room))))
        for opening in own:
            made.extend(parts(slot, *_reveal(opening, wall, places, heights, base)))
    finishes = {BODY: style.wall, "accent": style.accent, "skirting": style.trim}
    return Fixture(category="wall", room=room.room_id, parts=tuple(made), finishes=finishes)


def _wall_face(
    wall: Edge, openings: Sequence[Opening], places: Sequence[int], heights: Sequence[int], base: int
) -> Mesh:
    """One wall with its holes, as a grid of cells."""
    holes = [(*_hole_span(wall, opening), *_hole_heights(opening)) for opening in openings]
    rows, columns = len(heights), len(places)
    points = [(*wall.at(u), y) for y in heights for u in places]
    positions = np.array([(x / 1000, (y + base) / 1000, z / 1000) for x, z, y in points])
    uvs = np.array([(u / 1000, -y / 1000) for y in heights for u in places]) / TEXTURE_SPAN
    triangles: list[tuple[int, int, int]] = []
    for row in range(rows - 1):
        for column in range(columns - 1):
            u, y = (places[column] + places[column + 1]) / 2, (heights[row] + heights[row + 1]) / 2
            if any(low < u < high and bottom < y < top for low, high, bottom, top in holes):
                continue
            a = row * columns + column
            triangles.extend(((a, a + 1, a + columns + 1), (a, a + columns + 1, a + columns)))
    nx, nz = wall.normal
    return Mesh(positions, np.tile([float(nx), 0.0, float(nz)], (len(points), 1)), uvs, np.array(triangles))


def _hole_span(wall: Edge, opening: Opening) -> tuple[int, int]:
    middle, half = wall.along(opening.center), opening.width // 2
    extra = LINING if _framed(opening) else 0
    return middle - half - extra, middle + half + extra


def _hole_heights(opening: Opening) -> tuple[int, int]:
    bottom = -OVERLAP if opening.sill == 0 else opening.sill
    return bottom, opening.head + (LINING if _framed(opening) else 0)


def _framed(opening: Opening) -> bool:
    return opening.kind in (OpeningKind.DOOR, OpeningKind.ENTRANCE, OpeningKind.GATE)


def _skirting(wall: Edge, openings: Sequence[Opening], base: int, holes: Sequence[Rect]) -> list[Mesh]:
    """Boards along the foot of the wall, between the doors, where there is floor."""
    height, depth = SKIRTING
    taken = [(low - 60, high + 60) for low, high in (_hole_span(wall, o) for o in openings if o.sill == 0)]
    taken += [span for hole in holes if (span := _beside(wall, hole))]
    spans = remaining(wall.length, taken)
    return [block(wall.rect(low, high, depth), base, base + height) for low, high in spans if high - low > 30]


def _beside(wall: Edge, hole: Rect) -> tuple[int, int] | None:
    """The part of a wall that stands at the rim of a hole in the floor."""
    if not wall.rect(0, wall.length, 10).overlaps(hole):
        return None
    ends = sorted((wall.along((hole.x0, hole.z0)), wall.along((hole.x1, hole.z1))))
    return ends[0], ends[1]


def _reveal(opening: Opening, wall: Edge, places: Sequence[int], heights: Sequence[int], base: int) -> list[Mesh]:
    """The sides of the hole, from this room's face to the middle of the wall or to the outside.

    They are cut where the wall's face is cut: an edge that two surfaces share has the same vertices in both.
    """
    if _framed(opening):
        return []
    depth = WALL // 2 + (OUTER if opening.kind is OpeningKind.WINDOW else 0)
    (low, high), (foot, top) = _hole_span(wall, opening), _hole_heights(opening)

    def point(u: int, inward: int, y: int) -> tuple[float, float, float]:
        x, z = wall.at(u, -inward)
        return x / 1000, (y + base) / 1000, z / 1000

    sides = []
    for a, b in pairwise(y for y in heights if foot <= y <= top):
        sides.append(quad(point(low, 0, a), point(low, depth, a), point(low, depth, b), point(low, 0, b)))
        sides.append(quad(point(high, depth, a), point(high, 0, a), point(high, 0, b), point(high, depth, b)))
    for a, b in pairwise(u for u in places if low <= u <= high):
        sides.append(quad(point(a, 0, top), point(a, depth, top), point(b, depth, top), point(b, 0, top)))
        if opening.sill:
            sides.append(quad(point(a, depth, foot), point(a, 0, foot), point(b, 0, foot), point(b, depth, foot)))
    return [merged(sides)]


def block(rect: Rect, bottom: int, top: int) -> Mesh:
    """A box over a rectangle of the plan."""
    size = (rect.width / 1000, (top - bottom) / 1000, rect.depth / 1000)
    return box(size, ((rect.x0 + rect.x1) / 2000, bottom / 1000, (rect.z0 + rect.z1) / 2000))


def _cuts(fixed: Sequence[int], longest: int) -> list[int]:
    """The fixed places and enough between them that no gap is longer than `longest`."""
    stops = sorted(set(fixed))
    cuts = [stops[0]]
    for low, high in pairwise(stops):
        pieces = -(-(high - low) // longest)
        cuts.extend(low + (high - low) * n // pieces for n in range(1, pieces + 1))
    return cuts
