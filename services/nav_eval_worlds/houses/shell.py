"""The building without its doors and windows: floors, ceilings, walls and stairs, and what they look like.

Floors and ceilings reach to the middle of the walls, and walls reach a little beyond floor and ceiling:
overlaps instead of edges that merely meet, so no pixel can look out through a seam. Every surface is cut
into cells that share whole sides, small enough to carry light in their vertices.

Stairs have a half landing: up along one side of the well, back along the other. Steps are solid down to the floor. The
two flights have equal numbers of equal risers, so the last step ends exactly at the edge of the upper hallway.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nav_eval.records.geometry import Vec3
from nav_eval_worlds.furniture.piece import BODY, SolidPart, make_parts
from nav_eval_worlds.houses.plan.geometry import Edge, Rect, cut_cells, find_remaining
from nav_eval_worlds.houses.plan.model import (
    BATHROOM,
    BEDROOM,
    BREAK,
    DINING,
    GARAGE,
    HALF_WALL,
    HALLWAY,
    KITCHEN,
    LAUNDRY,
    LIVING,
    MEETING,
    OPEN_OFFICE,
    RESTROOM,
    SALES,
    STAIR_EDGE,
    STORAGE,
    TREATMENT,
    WAITING,
    WALL,
    FloorPlan,
    Opening,
    OpeningKind,
    Room,
    Stairs,
)
from nav_eval_worlds.houses.plan.openings import find_wall
from nav_eval_worlds.materials import Finish, make_finish, make_neutral_finish
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import TEXTURE_SPAN, SolidMesh, make_box, make_quad, make_rod, merge_meshes


@dataclass(frozen=True, slots=True)
class RoomStyle:
    """The finishes of one room's shell."""

    floor: Finish
    wall: Finish
    accent: Finish  #: of one wall, often the same
    ceiling: Finish
    trim: Finish  #: skirting, door and window frames
    leaf: Finish  #: door leaves


def draw_room_styles(plan: FloorPlan, draw: RandomStream) -> dict[str, RoomStyle]:
    """Styles by room id."""
    house = draw.fork("house")
    planks, ceiling = make_finish("planks", house.fork("planks")), make_finish("ceiling", house.fork("ceiling"))
    trim = make_finish("trim", house.fork("trim"), ("white", "white", "light brown", "dark brown"))
    leaf = trim if house.chance(0.5) else make_finish("wood", house.fork("leaf"))
    hallway_wall = make_neutral_finish("paint", house.fork("hallway"))
    same_floor = house.chance(0.4)
    styles = {}
    for room in plan.rooms:
        own = draw.fork(room.room_id)
        floor = planks if same_floor and room.kind in _DRY else _draw_floor_finish(room, own.fork("floor"), planks)
        wall = hallway_wall if room.kind == HALLWAY else _draw_wall_finish(room, own.fork("wall"))
        accent = _draw_accent_finish(room, own.fork("accent"), wall)
        styles[room.room_id] = RoomStyle(floor, wall, accent, ceiling, trim, leaf)
    return styles


_DRY = (LIVING, DINING, BEDROOM, HALLWAY)


def _draw_floor_finish(room: Room, draw: RandomStream, planks: Finish) -> Finish:
    if room.kind in (OPEN_OFFICE, MEETING):
        return make_finish("carpet", draw)
    if room.kind in (BATHROOM, KITCHEN, LAUNDRY, RESTROOM, SALES, TREATMENT, WAITING, BREAK):
        return make_finish("floor tiles", draw)
    if room.kind in (GARAGE, STORAGE):
        return make_finish("concrete", draw)
    if room.kind == HALLWAY:
        return planks if draw.chance(0.5) else make_finish("floor tiles", draw)
    kind = draw.choose_weighted([("house", 0.4), ("planks", 0.3), ("carpet", 0.3 if room.kind != DINING else 0.0)])
    return planks if kind == "house" else make_finish(kind, draw)


def _draw_wall_finish(room: Room, draw: RandomStream) -> Finish:
    if room.kind in (BATHROOM, RESTROOM):
        return make_finish("wall tiles", draw)
    if room.kind == GARAGE:
        return make_neutral_finish("paint", draw)
    if room.kind in (BEDROOM, LIVING, DINING) and draw.chance(0.25):
        return make_finish("wallpaper", draw)
    return make_neutral_finish("paint", draw) if draw.chance(0.5) else make_finish("paint", draw)


def _draw_accent_finish(room: Room, draw: RandomStream, wall: Finish) -> Finish:
    """One wall of a living room or bedroom may differ."""
    if room.kind not in (LIVING, BEDROOM, DINING) or not draw.chance(0.35):
        return wall
    return make_finish(draw.choice(("accent paint", "wallpaper", "brick")), draw)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Fixture:
    """Meshes in world coordinates, with their finishes by slot."""

    category: str
    room: str
    parts: tuple[SolidPart, ...]
    finishes: Mapping[str, Finish]
    name: str | None = None


class ShellCells(NamedTuple):
    """The longest side of a cell, in millimetres."""

    floor: int
    ceiling: int
    wall: int


COARSE_CELLS = ShellCells(350, 350, 700)  #: enough for soft light
FINE_CELLS = ShellCells(200, 400, 350)  #: for shadows with edges
OVERLAP = 20  #: how far walls go beyond floor and ceiling
OUTER = 140  #: from the centre line of an outer wall to its outer face
LINING = 25  #: thickness of door frames inside the hole in the wall
SKIRTING = (80, 14)  #: height and depth


def make_room_shell(plan: FloorPlan, room: Room, style: RoomStyle, cells: ShellCells) -> list[Fixture]:
    """Floor, ceiling and walls of one room."""
    lower = plan.stairs is not None and room.room_id == plan.stairs.lower_room
    base = plan.floor_of(room)
    floor = _make_level(room, base, _find_floor_holes(plan, room), cells.floor, up=True)
    well = [plan.stairs.flight] if plan.stairs and lower else []
    ceiling = _make_level(room, base + plan.ceiling, well, cells.ceiling, up=False)
    top = plan.storey_height - OVERLAP // 2 if lower else plan.ceiling + OVERLAP  # in the well, up to the walls above
    return [
        Fixture(category="floor", room=room.room_id, parts=(SolidPart(BODY, floor),), finishes={BODY: style.floor}),
        Fixture(
            category="ceiling", room=room.room_id, parts=(SolidPart(BODY, ceiling),), finishes={BODY: style.ceiling}
        ),
        _make_walls(plan, room, style, top, cells.wall),
    ]


def _find_floor_holes(plan: FloorPlan, room: Room) -> list[Rect]:
    """Below the steps there is no floor to stand on, above them there is none at all."""
    if plan.stairs is None or room.stair_well is None:
        return []
    return [plan.stairs.solid if room.room_id == plan.stairs.lower_room else plan.stairs.flight]


def _make_level(room: Room, height: int, holes: Sequence[Rect], cell: int, *, up: bool) -> SolidMesh:
    """A horizontal surface over the whole outline."""
    xs = _find_cuts([x for r in (*room.rects, *holes) for x in (r.x0, r.x1)], cell)
    zs = _find_cuts([z for r in (*room.rects, *holes) for z in (r.z0, r.z1)], cell)
    grid = [Rect(xs[i], zs[j], xs[i + 1], zs[j + 1]) for i in range(len(xs) - 1) for j in range(len(zs) - 1)]
    inside = cut_cells(room.rects, holes)
    kept = [cell for cell in grid if any(part.encloses(cell) for part in inside)]
    corners = sorted({(x, z) for r in kept for x in (r.x0, r.x1) for z in (r.z0, r.z1)})
    index = {corner: number for number, corner in enumerate(corners)}
    positions = np.array([(x / 1000, height / 1000, z / 1000) for x, z in corners])
    triangles: list[tuple[int, int, int]] = []
    for r in kept:
        a, b, c, d = index[r.x0, r.z0], index[r.x1, r.z0], index[r.x1, r.z1], index[r.x0, r.z1]
        triangles.extend(((a, d, c), (a, c, b)) if up else ((a, b, c), (a, c, d)))
    normals = np.tile([0.0, 1.0 if up else -1.0, 0.0], (len(corners), 1))
    return SolidMesh(positions, normals, positions[:, [0, 2]] / TEXTURE_SPAN, np.array(triangles))


def _make_walls(plan: FloorPlan, room: Room, style: RoomStyle, top: int, cell: int) -> Fixture:
    openings = plan.openings_of(room)
    heights = _find_cuts([-OVERLAP, top, *(y for o in openings for y in _get_hole_heights(o))], cell)
    base = plan.floor_of(room)
    made: list[SolidPart] = []
    accent = max(room.walls, key=lambda wall: (wall.length, wall.start)) if style.accent != style.wall else None
    for wall in room.walls:
        own = [opening for opening in openings if find_wall(opening, room) == wall]
        slot = "accent" if wall == accent else BODY
        places = _find_cuts([0, wall.length, *(u for o in own for u in _get_hole_span(wall, o))], cell)
        made.append(SolidPart(slot, _make_wall_face(wall, own, places, heights, base)))
        made.extend(make_parts("skirting", *_make_skirting(wall, own, base, _find_floor_holes(plan, room))))
        for opening in own:
            made.extend(make_parts(slot, *_make_reveal(opening, wall, places, heights, base)))
    finishes = {BODY: style.wall, "accent": style.accent, "skirting": style.trim}
    return Fixture(category="wall", room=room.room_id, parts=tuple(made), finishes=finishes)


def _make_wall_face(
    wall: Edge, openings: Sequence[Opening], places: Sequence[int], heights: Sequence[int], base: int
) -> SolidMesh:
    """One wall with its holes, as a grid of cells."""
    holes = [(*_get_hole_span(wall, opening), *_get_hole_heights(opening)) for opening in openings]
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
    return SolidMesh(positions, np.tile([float(nx), 0.0, float(nz)], (len(points), 1)), uvs, np.array(triangles))


def _get_hole_span(wall: Edge, opening: Opening) -> tuple[int, int]:
    middle, half = wall.along(opening.center), opening.width // 2
    extra = LINING if _is_framed(opening) else 0
    return middle - half - extra, middle + half + extra


def _get_hole_heights(opening: Opening) -> tuple[int, int]:
    bottom = -OVERLAP if opening.sill == 0 else opening.sill
    return bottom, opening.head + (LINING if _is_framed(opening) else 0)


def _is_framed(opening: Opening) -> bool:
    return opening.kind in (OpeningKind.DOOR, OpeningKind.ENTRANCE, OpeningKind.GATE)


def _make_skirting(wall: Edge, openings: Sequence[Opening], base: int, holes: Sequence[Rect]) -> list[SolidMesh]:
    """Boards along the foot of the wall, between the doors, where there is floor."""
    height, depth = SKIRTING
    taken = [(low - 60, high + 60) for low, high in (_get_hole_span(wall, o) for o in openings if o.sill == 0)]
    taken += [span for hole in holes if (span := _find_rim(wall, hole))]
    spans = find_remaining(wall.length, taken)
    return [make_block(wall.rect(low, high, depth), base, base + height) for low, high in spans if high - low > 30]


def _find_rim(wall: Edge, hole: Rect) -> tuple[int, int] | None:
    """The part of a wall that stands at the rim of a hole in the floor."""
    if not wall.rect(0, wall.length, 10).overlaps(hole):
        return None
    ends = sorted((wall.along((hole.x0, hole.z0)), wall.along((hole.x1, hole.z1))))
    return ends[0], ends[1]


def _make_reveal(
    opening: Opening, wall: Edge, places: Sequence[int], heights: Sequence[int], base: int
) -> list[SolidMesh]:
    """The sides of the hole, from this room's face to the middle of the wall or to the outside.

    They are cut where the wall's face is cut: an edge that two surfaces share has the same vertices in both.
    """
    if _is_framed(opening):
        return []
    depth = WALL // 2 + (OUTER if opening.kind is OpeningKind.WINDOW else 0)
    (low, high), (foot, top) = _get_hole_span(wall, opening), _get_hole_heights(opening)

    def point(u: int, inward: int, y: int) -> Vec3:
        x, z = wall.at(u, -inward)
        return x / 1000, (y + base) / 1000, z / 1000

    sides = []
    for a, b in pairwise(y for y in heights if foot <= y <= top):
        sides.append(make_quad(point(low, 0, a), point(low, depth, a), point(low, depth, b), point(low, 0, b)))
        sides.append(make_quad(point(high, depth, a), point(high, 0, a), point(high, 0, b), point(high, depth, b)))
    for a, b in pairwise(u for u in places if low <= u <= high):
        sides.append(make_quad(point(a, 0, top), point(a, depth, top), point(b, depth, top), point(b, 0, top)))
        if opening.sill:
            sides.append(make_quad(point(a, depth, foot), point(a, 0, foot), point(b, 0, foot), point(b, depth, foot)))
    return [merge_meshes(sides)]


def make_block(rect: Rect, bottom: int, top: int) -> SolidMesh:
    """A box over a rectangle of the plan."""
    size = (rect.width / 1000, (top - bottom) / 1000, rect.depth / 1000)
    return make_box(size, ((rect.x0 + rect.x1) / 2000, bottom / 1000, (rect.z0 + rect.z1) / 2000))


def _find_cuts(fixed: Sequence[int], longest: int) -> list[int]:
    """The fixed places and enough between them that no gap is longer than `longest`."""
    stops = sorted(set(fixed))
    cuts = [stops[0]]
    for low, high in pairwise(stops):
        pieces = -(-(high - low) // longest)
        cuts.extend(low + (high - low) * n // pieces for n in range(1, pieces + 1))
    return cuts


TREAD = 260
MIDDLE = 100  #: width of the wall between the flights
RAIL = 900  #: height of hand rails


def make_staircase(plan: FloorPlan, draw: RandomStream) -> list[Fixture]:
    """The stairs of a house with two storeys."""
    stairs = plan.stairs
    if stairs is None:
        return []
    flights = _make_flights(stairs, plan.storey_height)
    rails = _make_rails(stairs, plan.storey_height)
    # under the rim of the upper floor, so that no seam is left
    edge = make_block(
        _get_place(stairs, (0, _get_width(stairs)), (-20, STAIR_EDGE)), plan.ceiling, plan.storey_height - 2
    )
    tread = make_finish("planks", draw.fork("steps"), ("light brown", "brown", "dark brown"), ("planks",))
    finishes = {
        BODY: tread,
        "rails": make_finish("wood", draw.fork("rails")),
        "edge": make_finish("trim", draw.fork("edge"), ("white",)),
    }
    made = (*make_parts(BODY, *flights), *make_parts("rails", *rails), *make_parts("edge", edge))
    return [Fixture(category="stairs", room=stairs.lower_room, parts=made, finishes=finishes)]


def _make_flights(stairs: Stairs, storey: int) -> list[SolidMesh]:
    half, width = stairs.risers // 2, _get_width(stairs)
    flight = (width - MIDDLE) // 2
    landing = STAIR_EDGE + (half - 1) * TREAD
    steps = []
    for n in range(1, half):
        near, far = STAIR_EDGE + (n - 1) * TREAD, STAIR_EDGE + n * TREAD
        steps.append(make_block(_get_place(stairs, (0, flight), (near, far)), 0, storey * n // stairs.risers))
        back = (landing - n * TREAD, landing - (n - 1) * TREAD)
        rise = storey * (half + n) // stairs.risers
        steps.append(make_block(_get_place(stairs, (flight, width), back), 0, rise))
    steps.append(make_block(_get_place(stairs, (0, width), (landing, _get_depth(stairs))), 0, storey // 2))
    return steps


def _make_rails(stairs: Stairs, storey: int) -> list[SolidMesh]:
    """A sloped rail on the middle wall, a level one at the upper edge."""
    half, width = stairs.risers // 2, _get_width(stairs)
    flight = (width - MIDDLE) // 2
    middle, landing = flight + MIDDLE // 2, STAIR_EDGE + (half - 1) * TREAD
    bars = [(middle, landing, storey // 2 + RAIL, middle, STAIR_EDGE, storey + RAIL)]
    bars += [(20, 25, storey + RAIL, middle, 25, storey + RAIL)]
    for n in range(0, half, 2):
        depth = landing - n * TREAD
        bars.append(
            (
                middle,
                depth,
                storey * (half + n) // stairs.risers,
                middle,
                depth,
                storey * (half + n) // stairs.risers + RAIL,
            )
        )
    bars += [(x, 25, storey, x, 25, storey + RAIL) for x in range(60, middle, 130)]
    return [_make_bar(stairs, bar) for bar in bars]


def _make_bar(stairs: Stairs, bar: tuple[int, int, int, int, int, int]) -> SolidMesh:
    ends = []
    for side, depth, y in (bar[:3], bar[3:]):
        rect = _get_place(stairs, (side, side), (depth, depth))
        ends.append((rect.x0 / 1000, y / 1000, rect.z0 / 1000))
    level = bar[2] == bar[5] or bar[:2] != bar[3:5]
    return make_rod(ends[0], ends[1], 0.028 if level else 0.014)


def _get_width(stairs: Stairs) -> int:
    well = stairs.flight
    return (well.width if stairs.climbs[1] else well.depth) - 2 * HALF_WALL


def _get_depth(stairs: Stairs) -> int:
    well = stairs.flight
    return (well.depth if stairs.climbs[1] else well.width) - HALF_WALL


def _get_place(stairs: Stairs, side: tuple[int, int], depth: tuple[int, int]) -> Rect:
    """From (across the well, away from the hallway) to the plan."""
    well, (dx, dz) = stairs.flight, stairs.climbs
    if dz:
        z = [well.z0 + d if dz > 0 else well.z1 - d for d in depth]
        return Rect(well.x0 + HALF_WALL + side[0], min(z), well.x0 + HALF_WALL + side[1], max(z))
    x = [well.x0 + d if dx > 0 else well.x1 - d for d in depth]
    return Rect(min(x), well.z0 + HALF_WALL + side[0], max(x), well.z0 + HALF_WALL + side[1])
