"""Which rooms are joined, and where the doors are.

A spanning tree over the neighbours, cheapest pairs first, makes every room reachable; a bathroom has
one door, and a bedroom leads nowhere but to its bathroom. Then a few more doors among the shared
rooms give loops: with a single way to everywhere, fidelity metrics would say nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from nav_eval.scene.houses.plan.geometry import Edge, Rect, shared
from nav_eval.scene.houses.plan.model import HALF_WALL, Leaf, Opening, OpeningKind, Room
from nav_eval.scene.houses.plan.templates import (
    BATHROOM,
    BEDROOM,
    DINING,
    GARAGE,
    HALLWAY,
    KITCHEN,
    LAUNDRY,
    LIVING,
    OFFICE,
)
from nav_eval.scene.houses.randomness import Draw

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


def neighbours(rooms: Sequence[Room]) -> list[Neighbours]:
    """All pairs with enough wall for a door."""
    found = []
    for number, one in enumerate(rooms):
        for other in rooms[number + 1 :]:
            best = _longest_shared(one, other)
            if best is not None and best.high - best.low >= _least_shared(best.kinds):
                found.append(best)
    return found


def joined(rooms: Sequence[Room], draw: Draw) -> list[Neighbours] | None:
    """The pairs that get a door; None when no decent plan of doors exists."""
    pairs = [pair for pair in neighbours(rooms) if pair.kinds in _COSTS]
    spare_bathroom = sum(room.kind == BATHROOM for room in rooms) > 1 and draw.chance(0.6)
    costs = []
    for pair in pairs:
        en_suite = spare_bathroom and pair.kinds == {BEDROOM, BATHROOM}
        costs.append((0.05 if en_suite else _COSTS[pair.kinds]) + 0.3 * draw.unit())
        spare_bathroom = spare_bathroom and not en_suite
    order = [pairs[place] for place in sorted(range(len(pairs)), key=costs.__getitem__)]
    tree = _spanning_tree(rooms, order)
    return None if tree is None else tree + _loops(order, tree, draw)


def doors(pairs: Sequence[Neighbours], draw: Draw) -> list[Opening]:
    """Openings for the joined pairs, door leaves where they are in nobody's way."""
    openings = [_opening(pair, draw.fork("door", number), number) for number, pair in enumerate(pairs)]
    rooms = {room.room_id: room for pair in pairs for room in (pair.one, pair.other)}
    for place, opening in enumerate(openings):
        if opening.kind is OpeningKind.DOOR:
            openings[place] = _with_leaf(opening, openings, rooms, draw.fork("leaf", place))
    return openings


def wall_of(opening: Opening, room: Room) -> Edge:
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


def zone_of(opening: Opening, room: Room, depth: int = ZONE_DEPTH) -> Rect:
    """The floor in front of the opening that stays free."""
    wall = wall_of(opening, room)
    middle = wall.along(opening.center)
    return wall.rect(middle - opening.width // 2, middle + opening.width // 2, depth)


def leaf_rect(opening: Opening, room: Room, leaf: Leaf) -> Rect:
    """The floor under the opened leaf: at a right angle to the wall, beside the opening."""
    low, high = opening.span
    wall = wall_of(opening, room)
    edge = low - LEAF_THICKNESS - 10 if leaf.hinge_first else high + 10
    line = wall.start[1] if opening.along_x else wall.start[0]
    sign = wall.normal[1] if opening.along_x else wall.normal[0]
    across = sorted((line + sign * 15, line + sign * (15 + LEAF_LENGTH)))
    if opening.along_x:
        return Rect(edge, across[0], edge + LEAF_THICKNESS, across[1])
    return Rect(across[0], edge, across[1], edge + LEAF_THICKNESS)


def _longest_shared(one: Room, other: Room) -> Neighbours | None:
    best: Neighbours | None = None
    for wall in one.door_walls:
        for facing in other.door_walls:
            span = shared(wall, facing)
            if span and (best is None or span[1] - span[0] > best.high - best.low):
                best = Neighbours(one, other, wall, *span)
    return best


def _least_shared(kinds: frozenset[str]) -> int:
    return 1200 if kinds == {HALLWAY} else LEAST_SHARED


def _spanning_tree(rooms: Sequence[Room], order: Sequence[Neighbours]) -> list[Neighbours] | None:
    group = {room.room_id: room.room_id for room in rooms}
    tree: list[Neighbours] = []
    for pair in order:
        first, second = group[pair.one.room_id], group[pair.other.room_id]
        if first != second and _allowed(pair, tree):
            tree.append(pair)
            group = {room: first if root == second else root for room, root in group.items()}
    return tree if len(set(group.values())) == 1 else None


def _allowed(pair: Neighbours, so_far: Sequence[Neighbours]) -> bool:
    """Bathrooms have one door; bedrooms one, and perhaps one to a bathroom."""
    for room, partner in ((pair.one, pair.other), (pair.other, pair.one)):
        partners = [
            (other.other if other.one is room else other.one).kind
            for other in so_far
            if room in (other.one, other.other)
        ]
        if room.kind == BATHROOM and partners:
            return False
        if room.kind == BEDROOM and any((kind == BATHROOM) == (partner.kind == BATHROOM) for kind in partners):
            return False
    return True


def _loops(order: Sequence[Neighbours], tree: Sequence[Neighbours], draw: Draw) -> list[Neighbours]:
    extra: list[Neighbours] = []
    spare = [pair for pair in order if pair not in tree and _COSTS[pair.kinds] <= 2.0]
    for pair in spare:
        wanted = draw.chance(0.6 if BEDROOM not in pair.kinds else 0.15) or (not extra and pair is spare[-1])
        if wanted and _allowed(pair, [*tree, *extra]):
            extra.append(pair)
    return extra


def _opening(pair: Neighbours, draw: Draw, number: int) -> Opening:
    low, high = pair.low + HALF_WALL, pair.high - HALF_WALL
    wide = _wide_width(pair, draw, high - low)
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


def _wide_width(pair: Neighbours, draw: Draw, span: int) -> int | None:
    """The width of an archway, or None for a door."""
    if pair.kinds == {HALLWAY}:
        return max(900, span - 200) // 20 * 20
    open_plan = pair.kinds in _WIDE and draw.chance(0.65)
    open_living = pair.kinds == {HALLWAY, LIVING} and draw.chance(0.4)
    if span < 1700 or not (open_plan or open_living):
        return None
    return round(min(span - 500, draw.between(1200, 2200)) / 20) * 20


def _with_leaf(opening: Opening, openings: Sequence[Opening], rooms: dict[str, Room], draw: Draw) -> Opening:
    """Try the leaf on each side and each hinge; leave it out when it would stand in a way."""
    private = sorted(opening.rooms, key=lambda room_id: rooms[room_id].kind == HALLWAY)
    always = any(rooms[room_id].kind in (BATHROOM, BEDROOM) for room_id in opening.rooms)
    if not (always or draw.chance(0.6)):
        return opening
    for room_id in private:
        for hinge_first in draw.shuffled((True, False)):
            leaf = Leaf(room=room_id, hinge_first=hinge_first)
            if _leaf_is_free(opening, leaf, openings, rooms[room_id]):
                return replace(opening, leaf=leaf)
    return opening


def _leaf_is_free(opening: Opening, leaf: Leaf, openings: Sequence[Opening], room: Room) -> bool:
    """Inside the room, at a wall or with space to pass behind it, and away from other doors and leaves."""
    swept = leaf_rect(opening, room, leaf)
    wall = wall_of(opening, room)
    gap_low = min(wall.along((swept.x0, swept.z0)), wall.along((swept.x1, swept.z1)))
    gap_high = wall.length - max(wall.along((swept.x0, swept.z0)), wall.along((swept.x1, swept.z1)))
    beside = min(gap_low, gap_high)
    if room.kind == HALLWAY or beside < 20 or 200 < beside < 900:
        return False
    for other in openings:
        if other.opening_id == opening.opening_id or room.room_id not in other.rooms:
            continue
        if zone_of(other, room, ZONE_DEPTH + 150).grown(60).overlaps(swept):
            return False
        if (
            other.leaf
            and other.leaf.room == room.room_id
            and leaf_rect(other, room, other.leaf).grown(300).overlaps(swept)
        ):
            return False
    return any(whole.grown(-HALF_WALL).encloses(swept) for whole in room.rects)
