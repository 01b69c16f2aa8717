"""Openings of a plan: doors between rooms, and what is in the outer walls.

A spanning tree over the neighbours, cheapest pairs first, makes every room reachable; a bathroom has
one door, and a bedroom leads nowhere but to its bathroom. Then a few more doors among the shared
rooms give loops: with a single way to everywhere, fidelity metrics would say nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from nav_eval_worlds.houses.plan.geometry import Edge, Rect, find_remaining, find_shared_span, get_edges
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
    OFFICE,
    OPEN_OFFICE,
    RECEPTION,
    RESTROOM,
    SALES,
    STORAGE,
    TREATMENT,
    WAITING,
    DoorLeaf,
    Opening,
    OpeningKind,
    Room,
)
from nav_eval_worlds.houses.plan.window_styles import WINDOW_STYLES
from nav_eval_worlds.randomness import RandomStream

DOOR_WIDTH, DOOR_HEAD = 900, 2050
LEAF_LENGTH, LEAF_THICKNESS = 860, 45
ZONE_DEPTH = 750  #: what stays free on both sides of a door
CORNER = 160  #: from the inner corner of a room to the nearest edge of a door
LEAST_SHARED = DOOR_WIDTH + 2 * (HALF_WALL + CORNER)

#: how readily two kinds of rooms get a door; pairs that are not here never do
_COSTS: dict[frozenset[str], float] = {
    frozenset({HALLWAY}): 0.1,
    frozenset({LIVING, DINING}): 1.0,
    frozenset({DINING, KITCHEN}): 1.0,
    frozenset({LIVING, KITCHEN}): 1.2,
    frozenset({KITCHEN, LAUNDRY}): 1.5,
    frozenset({GARAGE, LAUNDRY}): 1.6,
    frozenset({BEDROOM, BATHROOM}): 2.0,
    frozenset({LIVING, OFFICE}): 2.0,
    frozenset({GARAGE, KITCHEN}): 3.0,
    frozenset({LIVING, BEDROOM}): 4.0,
    frozenset({DINING, OFFICE}): 4.0,
    frozenset({DINING, LAUNDRY}): 6.0,
    frozenset({LIVING, GARAGE}): 6.0,
    frozenset({DINING, BEDROOM}): 8.0,
    frozenset({LIVING, BATHROOM}): 8.0,
} | {frozenset({HALLWAY, kind}): 1.0 for kind in (LIVING, KITCHEN, DINING, BEDROOM, OFFICE, BATHROOM, LAUNDRY, GARAGE)}

_PUBLIC = (OPEN_OFFICE, MEETING, RECEPTION, BREAK, RESTROOM, SALES, STORAGE, WAITING, TREATMENT)
_COSTS |= {frozenset({HALLWAY, kind}): 1.0 for kind in _PUBLIC}
_COSTS |= {
    frozenset({OPEN_OFFICE, MEETING}): 1.5,
    frozenset({OPEN_OFFICE, OFFICE}): 1.8,
    frozenset({OPEN_OFFICE, RECEPTION}): 1.5,
    frozenset({OPEN_OFFICE, BREAK}): 1.8,
    frozenset({SALES, STORAGE}): 1.2,
    frozenset({SALES, OFFICE}): 1.8,
    frozenset({WAITING, TREATMENT}): 1.8,
    frozenset({TREATMENT}): 2.0,
    frozenset({BREAK, STORAGE}): 2.0,
}

_WIDE = (frozenset({LIVING, DINING}), frozenset({DINING, KITCHEN}), frozenset({LIVING, KITCHEN}))


class Neighbours(NamedTuple):
    """Two rooms and the longest piece of wall between them."""

    one: Room
    other: Room
    wall: Edge  #: of `one`
    low: int  #: along the wall
    high: int

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset({self.one.kind, self.other.kind})


def find_neighbours(rooms: Sequence[Room]) -> list[Neighbours]:
    """All pairs with enough wall for a door."""
    found = []
    for number, one in enumerate(rooms):
        for other in rooms[number + 1 :]:
            best = _find_longest_shared(one, other)
            if best is not None and best.high - best.low >= (1200 if best.kinds == {HALLWAY} else LEAST_SHARED):
                found.append(best)
    return found


def choose_joined(rooms: Sequence[Room], draw: RandomStream) -> list[Neighbours] | None:
    """The pairs that get a door; None when no decent plan of doors exists."""
    pairs = [pair for pair in find_neighbours(rooms) if pair.kinds in _COSTS]
    spare_bathroom = sum(room.kind == BATHROOM for room in rooms) > 1 and draw.chance(0.6)
    costs = []
    for pair in pairs:
        en_suite = spare_bathroom and pair.kinds == {BEDROOM, BATHROOM}
        costs.append((0.05 if en_suite else _COSTS[pair.kinds]) + 0.3 * draw.unit())
        spare_bathroom = spare_bathroom and not en_suite
    order = [pairs[place] for place in sorted(range(len(pairs)), key=costs.__getitem__)]
    tree = _find_spanning_tree(rooms, order)
    return None if tree is None else tree + _choose_loops(order, tree, draw)


def make_doors(pairs: Sequence[Neighbours], draw: RandomStream) -> list[Opening]:
    """Openings for the joined pairs, door leaves where they are in nobody's way."""
    openings = [_make_opening(pair, draw.fork("door", number), number) for number, pair in enumerate(pairs)]
    rooms = {room.room_id: room for pair in pairs for room in (pair.one, pair.other)}
    for place, opening in enumerate(openings):
        if opening.kind is OpeningKind.DOOR:
            openings[place] = _add_leaf(opening, openings, rooms, draw.fork("leaf", place))
    return openings


def find_wall(opening: Opening, room: Room) -> Edge:
    """The inner wall of the room that the opening is in."""
    for wall in room.walls:
        if (wall.direction[1] == 0) != opening.along_x:
            continue
        line, here = (wall.start[1], opening.center[1]) if opening.along_x else (wall.start[0], opening.center[0])
        if abs(line - here) == HALF_WALL and 0 <= wall.along(opening.center) <= wall.length:
            nx, nz = wall.normal
            inward = (line - here) * (nz if opening.along_x else nx)
            if inward > 0:
                return wall
    raise AssertionError(f"opening {opening.opening_id} is in no wall of {room.room_id}")


def get_door_zone(opening: Opening, room: Room, depth: int = ZONE_DEPTH) -> Rect:
    """The floor in front of the opening that stays free."""
    wall = find_wall(opening, room)
    middle = wall.along(opening.center)
    return wall.rect(middle - opening.width // 2, middle + opening.width // 2, depth)


def get_leaf_rect(opening: Opening, room: Room, leaf: DoorLeaf) -> Rect:
    """The floor under the opened leaf: at a right angle to the wall, beside the opening."""
    low, high = opening.span
    wall = find_wall(opening, room)
    edge = low - LEAF_THICKNESS - 10 if leaf.hinge_first else high + 10
    line = wall.start[1] if opening.along_x else wall.start[0]
    sign = wall.normal[1] if opening.along_x else wall.normal[0]
    across = sorted((line + sign * 15, line + sign * (15 + LEAF_LENGTH)))
    if opening.along_x:
        return Rect(edge, across[0], edge + LEAF_THICKNESS, across[1])
    return Rect(across[0], edge, across[1], edge + LEAF_THICKNESS)


def _find_longest_shared(one: Room, other: Room) -> Neighbours | None:
    best: Neighbours | None = None
    for wall in one.door_walls:
        for facing in other.door_walls:
            span = find_shared_span(wall, facing)
            if span and (best is None or span[1] - span[0] > best.high - best.low):
                best = Neighbours(one, other, wall, *span)
    return best


def _find_spanning_tree(rooms: Sequence[Room], order: Sequence[Neighbours]) -> list[Neighbours] | None:
    group = {room.room_id: room.room_id for room in rooms}
    tree: list[Neighbours] = []
    for pair in order:
        first, second = group[pair.one.room_id], group[pair.other.room_id]
        if first != second and _is_allowed(pair, tree):
            tree.append(pair)
            group = {room: first if root == second else root for room, root in group.items()}
    return tree if len(set(group.values())) == 1 else None


def _is_allowed(pair: Neighbours, so_far: Sequence[Neighbours]) -> bool:
    """Bathrooms have one door; bedrooms one, and perhaps one to a bathroom."""
    for room, partner in ((pair.one, pair.other), (pair.other, pair.one)):
        partners = [
            (other.other if other.one is room else other.one).kind
            for other in so_far
            if room in (other.one, other.other)
        ]
        if room.kind in (BATHROOM, RESTROOM) and partners:
            return False
        if room.kind == BEDROOM and any((kind == BATHROOM) == (partner.kind == BATHROOM) for kind in partners):
            return False
    return True


def _choose_loops(order: Sequence[Neighbours], tree: Sequence[Neighbours], draw: RandomStream) -> list[Neighbours]:
    extra: list[Neighbours] = []
    spare = [pair for pair in order if pair not in tree and _COSTS[pair.kinds] <= 2.0]
    for pair in spare:
        wanted = draw.chance(0.6 if BEDROOM not in pair.kinds else 0.15) or (not extra and pair is spare[-1])
        if wanted and _is_allowed(pair, [*tree, *extra]):
            extra.append(pair)
    return extra


def _make_opening(pair: Neighbours, draw: RandomStream, number: int) -> Opening:
    low, high = pair.low + HALF_WALL, pair.high - HALF_WALL
    wide = _choose_wide_width(pair, draw, high - low)
    width = wide or DOOR_WIDTH
    slack = high - low - width
    if wide:
        start = low + slack // 2
    else:
        start = low + (CORNER if draw.chance(0.5) else slack - CORNER)
        if slack > 2400 and draw.chance(0.3):
            start = low + slack // 2
    return Opening(
        opening_id=f"door_{pair.one.storey}_{number}",
        kind=OpeningKind.ARCHWAY if wide else OpeningKind.DOOR,
        rooms=(pair.one.room_id, pair.other.room_id),
        center=pair.wall.at(start + width // 2),
        along_x=pair.wall.direction[1] == 0,
        width=width,
        head=2200 if wide else DOOR_HEAD,
    )


def _choose_wide_width(pair: Neighbours, draw: RandomStream, span: int) -> int | None:
    """The width of an archway, or None for a door."""
    if pair.kinds == {HALLWAY}:
        return max(900, span - 200) // 20 * 20
    open_plan = pair.kinds in _WIDE and draw.chance(0.65)
    open_living = pair.kinds == {HALLWAY, LIVING} and draw.chance(0.4)
    if span < 1700 or not (open_plan or open_living):
        return None
    return round(min(span - 500, draw.between(1200, 2200)) / 20) * 20


def _add_leaf(opening: Opening, openings: Sequence[Opening], rooms: dict[str, Room], draw: RandomStream) -> Opening:
    """Try the leaf on each side and each hinge; leave it out when it would stand in a way."""
    private = sorted(opening.rooms, key=lambda room_id: rooms[room_id].kind == HALLWAY)
    always = any(rooms[room_id].kind in (BATHROOM, BEDROOM, RESTROOM) for room_id in opening.rooms)
    if not (always or draw.chance(0.6)):
        return opening
    for room_id in private:
        for hinge_first in draw.shuffle((True, False)):
            leaf = DoorLeaf(room=room_id, hinge_first=hinge_first)
            if _is_leaf_free(opening, leaf, openings, rooms[room_id]):
                return replace(opening, leaf=leaf)
    return opening


def _is_leaf_free(opening: Opening, leaf: DoorLeaf, openings: Sequence[Opening], room: Room) -> bool:
    """Inside the room, at a wall or with space to pass behind it, and away from other doors and leaves."""
    swept = get_leaf_rect(opening, room, leaf)
    wall = find_wall(opening, room)
    gap_low = min(wall.along((swept.x0, swept.z0)), wall.along((swept.x1, swept.z1)))
    gap_high = wall.length - max(wall.along((swept.x0, swept.z0)), wall.along((swept.x1, swept.z1)))
    beside = min(gap_low, gap_high)
    if room.kind == HALLWAY or beside < 20 or 200 < beside < 900:
        return False
    for other in openings:
        if other.opening_id == opening.opening_id or room.room_id not in other.rooms:
            continue
        if get_door_zone(other, room, ZONE_DEPTH + 150).grow(60).overlaps(swept):
            return False
        if (
            other.leaf
            and other.leaf.room == room.room_id
            and get_leaf_rect(other, room, other.leaf).grow(300).overlaps(swept)
        ):
            return False
    return any(whole.grow(-HALF_WALL).encloses(swept) for whole in room.rects)


class OuterWall(NamedTuple):
    """A piece of a room's outline with nothing behind it."""

    room: Room
    wall: Edge
    low: int
    high: int

    @property
    def length(self) -> int:
        return self.high - self.low


def find_outer_walls(rooms: Sequence[Room]) -> list[OuterWall]:
    found: list[OuterWall] = []
    for room in rooms:
        others = [edge for other in rooms if other is not room for edge in get_edges(other.outline)]
        for wall in get_edges(room.outline):
            taken = [span for edge in others if (span := find_shared_span(wall, edge))]
            found.extend(OuterWall(room, wall, *span) for span in find_remaining(wall.length, taken))
    return found


def make_outer_openings(
    rooms: Sequence[Room], draw: RandomStream, *, entrance: bool, blind: Sequence[Rect] = ()
) -> list[Opening]:
    """Front door and gate first, then windows in what is left; no windows beside the blind places."""
    walls = find_outer_walls(rooms)
    openings: list[Opening] = []
    for kind, candidates in (
        (OpeningKind.ENTRANCE, _find_entrance_walls(walls, blind) if entrance else []),
        (OpeningKind.GATE, [wall for wall in walls if wall.room.kind == GARAGE and wall.length > 3000]),
    ):
        if candidates:
            wall = max(candidates, key=lambda candidate: candidate.length)
            openings.append(_make_closed_door(wall, kind))
            walls.remove(wall)
            walls.extend(_split_beside(wall, openings[-1]))
    counts: dict[str, int] = {}
    for number, wall in enumerate(sorted(walls, key=lambda candidate: -candidate.length)):
        if not _is_beside_any(wall, blind):
            openings.extend(_make_windows(wall, draw.fork("window", rooms[0].storey, number), counts))
    return openings


def _find_entrance_walls(walls: Sequence[OuterWall], blind: Sequence[Rect]) -> list[OuterWall]:
    """Where the front door may be: the hallway, otherwise the living room."""
    for kind in (HALLWAY, LIVING):
        fitting = [w for w in walls if w.room.kind == kind and w.length >= 1250 and not _is_beside_any(w, blind)]
        if fitting:
            return fitting
    return []


def _make_closed_door(wall: OuterWall, kind: OpeningKind) -> Opening:
    width, head = (2500, 2100) if kind is OpeningKind.GATE else (950, 2080)
    return _make_outer_opening(wall, kind, middle=(wall.low + wall.high) // 2, width=width, sill=0, head=head)


def _split_beside(wall: OuterWall, door: Opening) -> list[OuterWall]:
    middle = wall.wall.along(door.center)
    pieces = [(wall.low, middle - door.width // 2 - 200), (middle + door.width // 2 + 200, wall.high)]
    return [wall._replace(low=low, high=high) for low, high in pieces if high - low > 1200]


def _is_beside_any(wall: OuterWall, blind: Sequence[Rect]) -> bool:
    piece = wall.wall.rect(wall.low, wall.high, 100)
    return any(rect.overlaps(piece) for rect in blind)


def _make_windows(wall: OuterWall, draw: RandomStream, counts: dict[str, int]) -> list[Opening]:
    style = WINDOW_STYLES[wall.room.kind]
    room_id = wall.room.room_id
    width = round(draw.between(*style.width) / 20) * 20
    usable = wall.length - 2 * (HALF_WALL + 250)
    count = min(style.most - counts.get(room_id, 0), max(0, 1 + (usable - width) // (width + 1500)))
    if usable < width or count <= 0 or not draw.chance(style.likely):
        return []
    counts[room_id] = counts.get(room_id, 0) + count
    sill, gap = round(draw.between(*style.sill) / 10) * 10, (usable - count * width) // (count + 1)
    first = wall.low + HALF_WALL + 250 + gap + width // 2
    return [
        _make_outer_opening(
            wall, OpeningKind.WINDOW, middle=first + n * (width + gap), width=width, sill=sill, head=style.head
        )
        for n in range(count)
    ]


def _make_outer_opening(
    wall: OuterWall, kind: OpeningKind, *, middle: int, width: int, sill: int, head: int
) -> Opening:
    center = wall.wall.at(middle)
    return Opening(
        opening_id=f"{kind}_{wall.room.storey}_{center[0]}_{center[1]}",
        kind=kind,
        rooms=(wall.room.room_id,),
        center=center,
        along_x=wall.wall.direction[1] == 0,
        width=width,
        sill=sill,
        head=head,
    )
