"""The floor of one room: what is taken, what must stay free, and where people can still walk.

All in whole millimetres. Walkability is exact, not sampled: obstacles grown by the agent's radius
cut the room into a small grid of rectangles, and the free ones must hang together and reach every
door, for thin and for stout agents. A piece is only accepted if that stays true and if everything
placed so far can still be approached.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval_worlds.houses.plan.geometry import Edge, Point, Rect, cut_cells, get_bounding_rect
from nav_eval_worlds.houses.plan.model import HALF_WALL, PASSABLE, FloorPlan, Opening, OpeningKind, Room
from nav_eval_worlds.houses.plan.openings import find_wall, get_door_zone, get_leaf_rect

RADII = (330, 250, 180, 100)  #: agents that must get through; the largest leaves a margin and fails first
REACH = 700  #: every obstacle has walkable floor this near
CASING = 90  #: wall around an opening that stays empty
BEFORE_WINDOW = 350  #: how far furniture may rise above a window sill
ENTRANCE_DEPTH = 700  #: free floor behind closed outer doors

Rects = NDArray[np.int64]


class WallArea(NamedTuple):
    """A taken part of a wall: along it, and in height."""

    low: int
    high: int
    bottom: int
    top: int

    def overlaps(self, other: "WallArea") -> bool:
        return self.low < other.high and other.low < self.high and self.bottom < other.top and other.bottom < self.top


@dataclass
class RoomSpace:
    """What is where in one room; grows while furniture is placed."""

    room: Room
    bounds: Rect
    walls: list[Edge]
    doors: list[Point]  #: one step inside each passable opening
    solid: list[Rect]  #: not part of the room, or never walkable
    door_zones: list[Rect]  #: before and behind doors; nothing may stand or hang there
    keep_free: list[Rect]  #: other floor that no furniture may stand on
    windows: list[tuple[Rect, int]]  #: strip in front of a window and its sill
    taken: dict[int, list[WallArea]]  #: per wall
    leaves: list[Rect] = field(default_factory=list)  #: opened door leaves
    obstacles: list[Rect] = field(default_factory=list)  #: leaves and furniture

    def clear(self, rects: Rects, *, tall: int) -> NDArray[np.bool_]:
        """Which of the rectangles (N × 4) are inside the room and free; `tall` things avoid windows."""
        hidden = [strip for strip, sill in self.windows if tall > sill + BEFORE_WINDOW]
        return self.inside(rects) & ~_find_overlapping(
            rects, [*self.door_zones, *self.keep_free, *self.obstacles, *hidden]
        )

    def inside(self, rects: Rects) -> NDArray[np.bool_]:
        """Which rectangles are within the room, whatever stands there."""
        bounds = self.bounds
        within = (
            (rects[:, 0] >= bounds.x0)
            & (rects[:, 1] >= bounds.z0)
            & (rects[:, 2] <= bounds.x1)
            & (rects[:, 3] <= bounds.z1)
        )
        return within & ~_find_overlapping(rects, self.solid)

    def usable(self, rects: Rects) -> NDArray[np.bool_]:
        """Which rectangles are free to stand in, also where no furniture may be."""
        return self.inside(rects) & ~_find_overlapping(rects, self.obstacles)

    def walkable_with(self, added: Sequence[Rect]) -> bool:
        """Would every agent still reach all doors, all free floor and all furniture?"""
        obstacles = [*self.solid, *self.obstacles, *added]
        return all(
            _is_connected(self.bounds, obstacles, radius, self.doors, self.obstacles + list(added)) for radius in RADII
        )

    def block(self, rects: Iterable[Rect]) -> None:
        self.obstacles.extend(rects)

    def take_wall(self, rect: Rect, bottom: int, top: int) -> None:
        """Mark the walls beside a thing as taken from its lower to its upper end."""
        for number, wall in enumerate(self.walls):
            low, high, distance = _project_on_wall(wall, rect)
            if distance < 250 and high > 0 and low < wall.length:
                self.taken[number].append(WallArea(low, high, bottom, top))

    def wall_free(self, number: int, area: WallArea) -> bool:
        wall = self.walls[number]
        inside = area.low >= 30 and area.high <= wall.length - 30
        return inside and not any(area.overlaps(other) for other in self.taken[number])


def make_room_space(plan: FloorPlan, room: Room) -> RoomSpace:
    """The empty room, with door zones and windows marked."""
    bounds = get_bounding_rect(room.rects).grow(-HALF_WALL)
    walls = room.walls
    space = RoomSpace(
        room=room,
        bounds=bounds,
        walls=walls,
        doors=[],
        solid=_find_outside(room, bounds),
        door_zones=[],
        keep_free=[],
        windows=[],
        taken={number: [] for number in range(len(walls))},
    )
    for opening in plan.openings_of(room):
        _mark_opening(space, opening)
    if plan.stairs and room.room_id in (plan.stairs.lower_room, plan.stairs.upper_room):
        _mark_stairs(space, plan)
    return space


def _mark_opening(space: RoomSpace, opening: Opening) -> None:
    room, wall = space.room, find_wall(opening, space.room)
    middle, number = wall.along(opening.center), space.walls.index(wall)
    half = opening.width // 2
    space.taken[number].append(
        WallArea(middle - half - CASING, middle + half + CASING, max(0, opening.sill - CASING), opening.head + CASING)
    )
    if opening.kind is OpeningKind.WINDOW:
        space.windows.append((wall.rect(middle - half, middle + half, 400), opening.sill))
        return
    if opening.kind in PASSABLE:
        space.door_zones.append(get_door_zone(opening, room).grow(40))
        space.doors.append(wall.at(middle, 320))
    else:
        space.keep_free.append(wall.rect(middle - half, middle + half, ENTRANCE_DEPTH))
    if opening.leaf and opening.leaf.room == room.room_id:
        leaf = get_leaf_rect(opening, room, opening.leaf)
        space.leaves.append(leaf)
        space.obstacles.append(leaf)
        space.take_wall(leaf, 0, opening.head)


def _mark_stairs(space: RoomSpace, plan: FloorPlan) -> None:
    """The stair well is no place for furniture; walking there is the stairs' business."""
    assert plan.stairs
    space.solid.append(plan.stairs.flight.grow(HALF_WALL))
    landing = plan.stairs.flight
    dx, dz = plan.stairs.climbs
    before = Rect(*landing.grow(-HALF_WALL)).translate(-dx * 1000, -dz * 1000)
    space.keep_free.append(before)
    space.doors.extend(_find_stair_feet(landing, plan.stairs.climbs))
    for number, wall in enumerate(space.walls):
        low, high, distance = _project_on_wall(wall, landing.grow(-HALF_WALL))
        if distance < 50 and high > 0 and low < wall.length:
            space.taken[number].append(WallArea(low, high, 0, 9999))


def _find_stair_feet(well: Rect, climbs: Point) -> list[Point]:
    """Where people stand before the first and after the last step."""
    dx, dz = climbs
    if dz:
        edge = well.z0 if dz > 0 else well.z1
        return [(well.x0 + well.width * part // 4, edge - dz * 420) for part in (1, 3)]
    edge = well.x0 if dx > 0 else well.x1
    return [(edge - dx * 420, well.z0 + well.depth * part // 4) for part in (1, 3)]


def _find_outside(room: Room, bounds: Rect) -> list[Rect]:
    """The parts of the bounding box that do not belong to the room: walls and neighbours."""
    inside = [rect.grow(-HALF_WALL) for rect in room.rects]
    inside += _find_passages(room)
    xs = sorted({x for rect in (*inside, bounds) for x in (rect.x0, rect.x1)})
    zs = sorted({z for rect in (*inside, bounds) for z in (rect.z0, rect.z1)})
    whole = cut_cells([Rect(xs[0], zs[0], xs[-1], zs[-1]), *inside])
    return [cell for cell in whole if not any(rect.encloses(cell) for rect in inside)]


def _find_passages(room: Room) -> list[Rect]:
    """Where two rectangles of one room touch there is no wall: bridge the gap that the inset made."""
    bridges = []
    for number, one in enumerate(room.rects):
        for other in room.rects[number + 1 :]:
            x0, x1 = max(one.x0, other.x0), min(one.x1, other.x1)
            z0, z1 = max(one.z0, other.z0), min(one.z1, other.z1)
            if x1 > x0 and z1 == z0:
                bridges.append(Rect(x0 + HALF_WALL, z0 - HALF_WALL, x1 - HALF_WALL, z1 + HALF_WALL))
            if z1 > z0 and x1 == x0:
                bridges.append(Rect(x0 - HALF_WALL, z0 + HALF_WALL, x1 + HALF_WALL, z1 - HALF_WALL))
    return bridges


def _project_on_wall(wall: Edge, rect: Rect) -> tuple[int, int, int]:
    """From where to where along the wall a rectangle lies, and how far from it."""
    ends = (wall.along((rect.x0, rect.z0)), wall.along((rect.x1, rect.z1)))
    nx, nz = wall.normal
    depths = [(x - wall.start[0]) * nx + (z - wall.start[1]) * nz for x, z in ((rect.x0, rect.z0), (rect.x1, rect.z1))]
    return min(ends), max(ends), abs(min(depths))


def _find_overlapping(rects: Rects, others: Sequence[Rect]) -> NDArray[np.bool_]:
    if not others:
        return np.zeros(len(rects), bool)
    against = np.array(others)
    crossing = (
        (rects[:, None, 0] < against[None, :, 2])
        & (against[None, :, 0] < rects[:, None, 2])
        & (rects[:, None, 1] < against[None, :, 3])
        & (against[None, :, 1] < rects[:, None, 3])
    )
    return np.asarray(crossing.any(axis=1))


def _is_connected(
    bounds: Rect, obstacles: Sequence[Rect], radius: int, doors: Sequence[Point], wanted: Sequence[Rect]
) -> bool:
    """All free floor for this radius hangs together, touches all doors and comes near all `wanted`."""
    area = bounds.grow(-radius)
    grown = [rect.grow(radius) for rect in obstacles]
    xs = sorted({area.x0, area.x1, *(x for r in grown for x in (r.x0, r.x1) if area.x0 < x < area.x1)})
    zs = sorted({area.z0, area.z1, *(z for r in grown for z in (r.z0, r.z1) if area.z0 < z < area.z1)})
    free = _find_free_rows(xs, zs, grown)
    seeds = [_find_cell(xs, zs, door) for door in doors]
    if not all(free[row] >> column & 1 for row, column in seeds):
        return False
    start = seeds[0] if seeds else _find_first(free)
    if start is None:
        return False
    reached = _flood_free(free, start)
    return reached == free and _is_near(xs, zs, free, wanted)


def _find_free_rows(xs: Sequence[int], zs: Sequence[int], grown: Sequence[Rect]) -> list[int]:
    """One bit per column and row of the cut grid, set where no obstacle is."""
    columns, rows = len(xs) - 1, len(zs) - 1
    free = [(1 << columns) - 1] * rows
    for rect in grown:
        left, right = bisect_left(xs, max(rect.x0, xs[0])), bisect_left(xs, min(rect.x1, xs[-1]))
        if right <= left:
            continue
        keep = ~(((1 << (right - left)) - 1) << left)
        for row in range(bisect_left(zs, max(rect.z0, zs[0])), bisect_left(zs, min(rect.z1, zs[-1]))):
            free[row] &= keep
    return free


def _find_cell(xs: Sequence[int], zs: Sequence[int], point: Point) -> tuple[int, int]:
    row = min(max(bisect_left(zs, point[1]) - 1, 0), len(zs) - 2)
    return row, min(max(bisect_left(xs, point[0]) - 1, 0), len(xs) - 2)


def _find_first(free: Sequence[int]) -> tuple[int, int] | None:
    for row, bits in enumerate(free):
        if bits:
            return row, (bits & -bits).bit_length() - 1
    return None


def _flood_free(free: Sequence[int], start: tuple[int, int]) -> list[int]:
    """The free cells that hang together with the start."""
    reached = [0] * len(free)
    reached[start[0]] = _spread(1 << start[1], free[start[0]])
    changed = True
    while changed:
        changed = False
        for order in (range(1, len(free)), range(len(free) - 2, -1, -1)):
            step = order.step
            for row in order:
                grown = reached[row] | (reached[row - step] & free[row])
                if grown != reached[row]:
                    reached[row] = _spread(grown, free[row])
                    changed = True
    return reached


def _spread(bits: int, free: int) -> int:
    """Fill the runs of free columns that hold a set bit."""
    while True:
        grown = (bits | bits << 1 | bits >> 1) & free
        if grown == bits:
            return bits
        bits = grown


def _is_near(xs: Sequence[int], zs: Sequence[int], free: Sequence[int], wanted: Sequence[Rect]) -> bool:
    """Each wanted rectangle has a free cell within reach."""
    return all(_has_free(xs, zs, free, rect.grow(REACH)) for rect in wanted)


def _has_free(xs: Sequence[int], zs: Sequence[int], free: Sequence[int], area: Rect) -> bool:
    left, right = max(bisect_left(xs, area.x0) - 1, 0), bisect_left(xs, area.x1)
    mask = ((1 << max(right - left, 0)) - 1) << left
    low, high = max(bisect_left(zs, area.z0) - 1, 0), bisect_left(zs, area.z1)
    return any(free[row] & mask for row in range(low, min(high, len(free))))
