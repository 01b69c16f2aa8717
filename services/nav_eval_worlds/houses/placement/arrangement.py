"""Groups of furniture, the search for a place where a whole group fits, and the last look at a room.

A group is described in the frame of its anchor: x along the wall, z away from it (or any direction
for groups in the middle of a room). All places on all walls are tested at once; of those that are
free the best-liked ones are tried until one leaves the room walkable.

Placement reasons with square agents, which is exact and fast but leaves now and then a nook that a round
agent could stand in without getting there. So the finished room is sampled; the latest thing beside
such a nook is taken out again, and so is everything small that nobody could come near.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.records.geometry import Vec3
from nav_eval_worlds.furniture.piece import Piece, PieceMaker, PlacementRule, get_piece_name
from nav_eval_worlds.houses.placement.space import Rects, RoomSpace
from nav_eval_worlds.houses.plan.geometry import (
    Edge,
    Mask,
    Point,
    Rect,
    dilate,
    flood,
    get_middles,
    get_slices,
    measure_distance_to,
)
from nav_eval_worlds.houses.plan.model import FloorPlan, Room
from nav_eval_worlds.randomness import RandomStream

GAP = 10  #: between furniture and the wall behind it
STEP = 100  #: distance between tried places
FAVOURITES, OTHERS = 6, 30  #: places whose walkability is tested before giving up

#: quarter turns that make a piece's front look along this normal
QUARTERS: dict[Point, int] = {(0, 1): 0, (1, 0): 1, (0, -1): 2, (-1, 0): 3}


class GroupMember(NamedTuple):
    """A piece of a group, in the frame of the group."""

    piece: Piece
    x: int
    z: int  #: of its middle
    quarter: int = 0  #: quarter turns to the left; 2 looks at the wall

    @property
    def rect(self) -> Rect:
        """Its footprint in the frame of the group."""
        width, depth = to_millimetres(self.piece.size[0]), to_millimetres(self.piece.size[2])
        if self.quarter % 2:
            width, depth = depth, width
        return Rect(self.x - width // 2, self.z - depth // 2, self.x + width // 2, self.z + depth // 2)

    @property
    def front(self) -> Rect:
        """The floor that must stay free before it."""
        rect, reach = self.rect, to_millimetres(self.piece.clearance)
        return (
            rect._replace(z0=rect.z1, z1=rect.z1 + reach),
            rect._replace(x0=rect.x1, x1=rect.x1 + reach),
            rect._replace(z1=rect.z0, z0=rect.z0 - reach),
            rect._replace(x1=rect.x0, x0=rect.x0 - reach),
        )[self.quarter % 4]


FurnitureGroup = Sequence[GroupMember]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlacedPiece:
    """A piece that has its place in the house."""

    piece: Piece
    position: Vec3  #: of the middle of its underside, metres
    degrees: float
    room: str
    on: int | None = None  #: index of the piece it stands on


@dataclass
class RoomState:
    """A room that is being furnished."""

    plan: FloorPlan
    room: Room
    space: RoomSpace
    draw: RandomStream
    placed: list[PlacedPiece] = field(default_factory=list)

    @property
    def floor(self) -> float:
        return self.plan.floor_of(self.room) / 1000

    def add(self, piece: Piece, at: Vec3, degrees: float, on: int | None = None) -> int:
        self.placed.append(PlacedPiece(piece=piece, position=at, degrees=degrees, room=self.room.room_id, on=on))
        return len(self.placed) - 1

    def has(self, category: str) -> bool:
        return any(placed.piece.category == category for placed in self.placed)


class GroupFrame(NamedTuple):
    """One way to put a group down."""

    origin: Point
    direction: Point
    normal: Point

    def at(self, x: int, z: int) -> Point:
        return (
            self.origin[0] + self.direction[0] * x + self.normal[0] * z,
            self.origin[1] + self.direction[1] * x + self.normal[1] * z,
        )

    def rect(self, local: Rect) -> Rect:
        ax, az = self.at(local.x0, local.z0)
        bx, bz = self.at(local.x1, local.z1)
        return Rect(min(ax, bx), min(az, bz), max(ax, bx), max(az, bz))


def make_wall_member(piece: Piece, x: int = 0) -> GroupMember:
    """A member whose back is at the wall of the group."""
    return GroupMember(piece, x, to_millimetres(piece.size[2]) // 2 + GAP)


def put_on_wall(
    work: RoomState, group: FurnitureGroup, *, like: str = "any", walls: Sequence[int] | None = None
) -> list[int] | None:
    """Place the group with its back to a wall; `like` corner, center or any."""
    frames: list[GroupFrame] = []
    scores: list[float] = []
    low = min(member.rect.x0 for member in group)
    high = max(member.rect.x1 for member in group)
    for number in walls if walls is not None else range(len(work.space.walls)):
        wall = work.space.walls[number]
        direction, normal, length = wall.direction, wall.normal, wall.length
        for along in _list_places(wall, low, high):
            frames.append(GroupFrame(wall.at(along), direction, normal))
            scores.append(_score_place(like, (along + low, length - along - high), length) + work.draw.unit())
    return _put_best(work, group, frames, scores)


def place_single(work: RoomState, maker: PieceMaker, *, like: str = "any", chance: float = 1.0) -> bool:
    """One piece at a wall; tried again in another size when it does not fit."""
    draw = work.draw.fork(get_piece_name(maker), len(work.placed))
    if not draw.chance(chance):
        return False
    return any(put_on_wall(work, [make_wall_member(maker(draw.fork(attempt)))], like=like) for attempt in range(2))


def put_in_middle(work: RoomState, group: FurnitureGroup) -> list[int] | None:
    """Place the group anywhere in the room, best near its middle."""
    bounds = work.space.bounds
    cx, cz = bounds.center
    frames, scores = [], []
    for normal in QUARTERS:
        direction = (normal[1], -normal[0])
        for x in range(bounds.x0, bounds.x1, 200):
            for z in range(bounds.z0, bounds.z1, 200):
                frames.append(GroupFrame((x, z), direction, normal))
                away = abs(x - cx) / (bounds.width + 1) + abs(z - cz) / (bounds.depth + 1)
                scores.append(-4 * away + work.draw.unit())
    return _put_best(work, group, frames, scores)


def put_at(work: RoomState, group: FurnitureGroup, frame: GroupFrame) -> list[int] | None:
    """Place the group exactly here, if it fits."""
    return _put_best(work, group, [frame], [0.0])


def _put_best(
    work: RoomState, group: FurnitureGroup, frames: list[GroupFrame], scores: list[float]
) -> list[int] | None:
    if not frames:
        return None
    fits = _find_fitting(work.space, group, frames)
    order = sorted(np.flatnonzero(fits).tolist(), key=lambda place: -scores[place])
    # the favourites first, then some from all over the room: neighbours of a bad place are bad places
    for place in order[:FAVOURITES] + order[FAVOURITES :: max(1, len(order) // OTHERS)]:
        frame = frames[place]
        footprints = [frame.rect(m.rect) for m in group if m.piece.rule is not PlacementRule.FLAT]
        if not footprints or work.space.walkable_with(footprints):
            return _settle(work, group, frame)
    return None


def _settle(work: RoomState, group: FurnitureGroup, frame: GroupFrame) -> list[int]:
    """Commit the group: pieces into the house, footprints into the room."""
    added = []
    for member in group:
        x, z = frame.at(member.x, member.z)
        degrees = 90.0 * ((QUARTERS[frame.normal] + member.quarter) % 4)
        added.append(work.add(member.piece, (x / 1000, work.floor, z / 1000), degrees))
        if member.piece.rule is PlacementRule.FLAT:
            continue
        rect = frame.rect(member.rect)
        work.space.block([rect])
        work.space.take_wall(rect, 0, to_millimetres(member.piece.size[1]) + _get_headroom(member.piece))
        if member.piece.clearance:
            work.space.keep_free.append(frame.rect(member.front))
    return added


def _get_headroom(piece: Piece) -> int:
    """Millimetres of wall above a piece that what stands on it may need."""
    kinds = [surface.kind for surface in piece.surfaces if surface.y > piece.size[1] - 0.05]
    return 800 if "tv" in kinds else 380 if kinds else 30


def _find_fitting(space: RoomSpace, group: FurnitureGroup, frames: list[GroupFrame]) -> NDArray[np.bool_]:
    """In which frames all members are on free floor and can be used."""
    origins = np.array([frame.origin for frame in frames])
    along = np.array([frame.direction for frame in frames])
    inward = np.array([frame.normal for frame in frames])
    fits = np.ones(len(frames), bool)
    for member in group:
        rects = _to_world(member.rect, origins, along, inward)
        if member.piece.rule is PlacementRule.FLAT:
            fits &= space.inside(rects)
            continue
        fits &= space.clear(rects, tall=to_millimetres(member.piece.size[1]))
        if member.piece.clearance:
            fits &= space.usable(_to_world(member.front, origins, along, inward))
    return fits


def _to_world(local: Rect, origins: Rects, along: Rects, inward: Rects) -> Rects:
    a = origins + along * local.x0 + inward * local.z0
    b = origins + along * local.x1 + inward * local.z1
    return np.concatenate([np.minimum(a, b), np.maximum(a, b)], axis=1)


def _list_places(wall: Edge, low: int, high: int) -> list[int]:
    """Where on the wall the origin of a group from `low` to `high` may be."""
    first, last = GAP - low, wall.length - GAP - high
    return [] if last < first else sorted({*range(first, last, STEP), last})


def _score_place(like: str, ends: tuple[int, int], length: int) -> float:
    if like == "corner":
        return -3.0 * min(ends) / length
    if like == "center":
        return -2.0 * abs(ends[0] - ends[1]) / length
    return 0.0


def to_millimetres(metres: float) -> int:
    """Whole millimetres, even, never too small."""
    return 2 * -(-round(metres * 1e6) // 2000)


RADII = (180, 250)
BODY_HEIGHT = 1.5  #: metres; what is above is in nobody's way
ARM = 900  #: millimetres from walkable floor to everything


def tidy_room(work: RoomState) -> list[PlacedPiece]:
    """The room's things without those that break a rule; indices of supports are renewed."""
    kept = list(range(len(work.placed)))
    while True:
        offender = _find_offender(work, kept)
        if offender is None:
            break
        kept = [index for index in kept if index != offender and work.placed[index].on != offender]
    kept = _keep_within_reach(work, kept)
    number = {old: new for new, old in enumerate(kept)}
    return [
        replace(work.placed[index], on=None if work.placed[index].on is None else number[work.placed[index].on])  # type: ignore[index]
        for index in kept
    ]


def get_footprint(placed: PlacedPiece) -> Rect:
    """The floor under or below a thing."""
    along, across, turn = placed.piece.size[0], placed.piece.size[2], math.radians(placed.degrees)
    cos, sin = round(abs(math.cos(turn)), 6), round(abs(math.sin(turn)), 6)
    width, depth = to_millimetres(along * cos + across * sin), to_millimetres(along * sin + across * cos)
    x, z = round(placed.position[0] * 1000), round(placed.position[2] * 1000)
    return Rect(x - width // 2, z - depth // 2, x + width // 2, z + depth // 2)


def _find_offender(work: RoomState, kept: list[int]) -> int | None:
    """The latest thing beside floor that cannot be reached."""
    for radius in RADII:
        free, origin = _find_free_floor(work, kept, radius)
        reached = _find_reached(work, free, origin)
        x, z = get_middles(free & ~reached, origin)
        if len(x):
            nook = Rect(int(x.min()), int(z.min()), int(x.max()), int(z.max())).grow(radius + 150)
            beside = [
                index
                for index in kept
                if _is_in_the_way(work, index) and get_footprint(work.placed[index]).overlaps(nook)
            ]
            if beside:
                return beside[-1]
    return None


def _keep_within_reach(work: RoomState, kept: list[int]) -> list[int]:
    """Without small and hung things that are too far from walkable floor."""
    free, origin = _find_free_floor(work, kept, max(RADII))
    x, z = get_middles(_find_reached(work, free, origin), origin)
    gone: set[int] = set()
    for index in kept:
        placed = work.placed[index]
        movable = placed.on is not None or placed.piece.rule is PlacementRule.ON_WALL
        if movable and measure_distance_to(get_footprint(placed), x, z) > ARM:
            gone.add(index)
    return [index for index in kept if index not in gone and work.placed[index].on not in gone]


def _find_free_floor(work: RoomState, kept: list[int], radius: int) -> tuple[Mask, Point]:
    bounds = work.space.bounds
    origin = (bounds.x0, bounds.z0)
    blocked = np.zeros((-(-bounds.depth // 50), -(-bounds.width // 50)), bool)
    for rect in (*work.space.solid, *work.space.leaves):
        blocked[get_slices(rect, origin, whole=False)] = True
    for index in kept:
        if _is_in_the_way(work, index):
            blocked[get_slices(get_footprint(work.placed[index]), origin, whole=False)] = True
    return ~dilate(blocked, radius), origin


def _is_in_the_way(work: RoomState, index: int) -> bool:
    placed = work.placed[index]
    above = placed.position[1] - work.floor
    return placed.piece.rule is not PlacementRule.FLAT and placed.on is None and above < BODY_HEIGHT


def _find_reached(work: RoomState, free: Mask, origin: Point) -> Mask:
    x, z = work.space.doors[0]
    return flood(free, ((z - origin[1]) // 50, (x - origin[0]) // 50))
