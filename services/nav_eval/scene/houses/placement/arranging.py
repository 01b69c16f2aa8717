"""Groups of furniture, and the search for a place where a whole group fits.

A group is described in the frame of its anchor: x along the wall, z away from it (or any direction
for groups in the middle of a room). All places on all walls are tested at once; of those that are
free the best-liked ones are tried until one leaves the room walkable.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Vec3
from nav_eval.scene.houses.furniture.piece import Piece, Rule
from nav_eval.scene.houses.placement.space import Rects, RoomSpace
from nav_eval.scene.houses.plan.geometry import Edge, Point, Rect
from nav_eval.scene.houses.plan.model import Plan, Room
from nav_eval.scene.houses.randomness import Draw

GAP = 10  #: between furniture and the wall behind it
STEP = 100  #: distance between tried places
FAVOURITES, OTHERS = 6, 30  #: places whose walkability is tested before giving up

#: quarter turns that make a piece's front look along this normal
QUARTERS: dict[Point, int] = {(0, 1): 0, (1, 0): 1, (0, -1): 2, (-1, 0): 3}


class Member(NamedTuple):
    """A piece of a group, in the frame of the group."""

    piece: Piece
    x: int
    z: int  #: of its middle
    quarter: int = 0  #: quarter turns to the left; 2 looks at the wall

    @property
    def rect(self) -> Rect:
        """Its footprint in the frame of the group."""
        width, depth = mm(self.piece.size[0]), mm(self.piece.size[2])
        if self.quarter % 2:
            width, depth = depth, width
        return Rect(self.x - width // 2, self.z - depth // 2, self.x + width // 2, self.z + depth // 2)

    @property
    def front(self) -> Rect:
        """The floor that must stay free before it."""
        rect, reach = self.rect, mm(self.piece.clearance)
        return (
            rect._replace(z0=rect.z1, z1=rect.z1 + reach),
            rect._replace(x0=rect.x1, x1=rect.x1 + reach),
            rect._replace(z1=rect.z0, z0=rect.z0 - reach),
            rect._replace(x1=rect.x0, x0=rect.x0 - reach),
        )[self.quarter % 4]


Group = Sequence[Member]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Placed:
    """A piece that has its place in the house."""

    piece: Piece
    position: Vec3  #: of the middle of its underside, metres
    degrees: float
    room: str
    on: int | None = None  #: index of the piece it stands on


@dataclass
class RoomWork:
    """A room that is being furnished."""

    plan: Plan
    room: Room
    space: RoomSpace
    draw: Draw
    placed: list[Placed] = field(default_factory=list)

    @property
    def floor(self) -> float:
        return self.plan.floor_of(self.room) / 1000

    def add(self, piece: Piece, at: Vec3, degrees: float, on: int | None = None) -> int:
        self.placed.append(Placed(piece=piece, position=at, degrees=degrees, room=self.room.room_id, on=on))
        return len(self.placed) - 1

    def has(self, category: str) -> bool:
        return any(placed.piece.category == category for placed in self.placed)


class Frame(NamedTuple):
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


def against_wall(piece: Piece, x: int = 0) -> Member:
    """A member whose back is at the wall of the group."""
    return Member(piece, x, mm(piece.size[2]) // 2 + GAP)


def put_on_wall(
    work: RoomWork, group: Group, *, like: str = "any", walls: Sequence[int] | None = None
) -> list[int] | None:
    """Place the group with its back to a wall; `like` corner, center or any."""
    frames: list[Frame] = []
    scores: list[float] = []
    low = min(member.rect.x0 for member in group)
    high = max(member.rect.x1 for member in group)
    for number in walls if walls is not None else range(len(work.space.walls)):
        wall = work.space.walls[number]
        for along in _places(wall, low, high):
            frames.append(Frame(wall.at(along), wall.direction, wall.normal))
            scores.append(_liking(like, (along + low, wall.length - along - high), wall) + work.draw.unit())
    return _put_best(work, group, frames, scores)


def put_in_middle(work: RoomWork, group: Group) -> list[int] | None:
    """Place the group anywhere in the room, best near its middle."""
    bounds = work.space.bounds
    cx, cz = bounds.center
    frames, scores = [], []
    for normal in QUARTERS:
        direction = (normal[1], -normal[0])
        for x in range(bounds.x0, bounds.x1, 200):
            for z in range(bounds.z0, bounds.z1, 200):
                frames.append(Frame((x, z), direction, normal))
                away = abs(x - cx) / (bounds.width + 1) + abs(z - cz) / (bounds.depth + 1)
                scores.append(-4 * away + work.draw.unit())
    return _put_best(work, group, frames, scores)


def put_at(work: RoomWork, group: Group, frame: Frame) -> list[int] | None:
    """Place the group exactly here, if it fits."""
    return _put_best(work, group, [frame], [0.0])


def _put_best(work: RoomWork, group: Group, frames: list[Frame], scores: list[float]) -> list[int] | None:
    if not frames:
        return None
    fits = _fitting(work.space, group, frames)
    order = sorted(np.flatnonzero(fits).tolist(), key=lambda place: -scores[place])
    # the favourites first, then some from all over the room: neighbours of a bad place are bad places
    for place in order[:FAVOURITES] + order[FAVOURITES :: max(1, len(order) // OTHERS)]:
        frame = frames[place]
        footprints = [frame.rect(m.rect) for m in group if m.piece.rule is not Rule.FLAT]
        if not footprints or work.space.walkable_with(footprints):
            return _settle(work, group, frame)
    return None


def _settle(work: RoomWork, group: Group, frame: Frame) -> list[int]:
    """Commit the group: pieces into the house, footprints into the room."""
    added = []
    for member in group:
        x, z = frame.at(member.x, member.z)
        degrees = 90.0 * ((QUARTERS[frame.normal] + member.quarter) % 4)
        added.append(work.add(member.piece, (x / 1000, work.floor, z / 1000), degrees))
        if member.piece.rule is Rule.FLAT:
            continue
        rect = frame.rect(member.rect)
        work.space.block([rect])
        work.space.take_wall(rect, 0, mm(member.piece.size[1]) + _above(member.piece))
        if member.piece.clearance:
            work.space.keep_free.append(frame.rect(member.front))
    return added


def _above(piece: Piece) -> int:
    """Millimetres of wall above a piece that what stands on it may need."""
    kinds = [surface.kind for surface in piece.surfaces if surface.y > piece.size[1] - 0.05]
    return 800 if "tv" in kinds else 380 if kinds else 30


def _fitting(space: RoomSpace, group: Group, frames: list[Frame]) -> NDArray[np.bool_]:
    """In which frames all members are on free floor and can be used."""
    origins = np.array([frame.origin for frame in frames])
    along = np.array([frame.direction for frame in frames])
    inward = np.array([frame.normal for frame in frames])
    fits = np.ones(len(frames), bool)
    for member in group:
        rects = _world(member.rect, origins, along, inward)
        if member.piece.rule is Rule.FLAT:
            fits &= space.inside(rects)
            continue
        fits &= space.clear(rects, tall=mm(member.piece.size[1]))
        if member.piece.clearance:
            fits &= space.usable(_world(member.front, origins, along, inward))
    return fits


def _world(local: Rect, origins: Rects, along: Rects, inward: Rects) -> Rects:
    a = origins + along * local.x0 + inward * local.z0
    b = origins + along * local.x1 + inward * local.z1
    return np.concatenate([np.minimum(a, b), np.maximum(a, b)], axis=1)


def _places(wall: Edge, low: int, high: int) -> list[int]:
    """Where on the wall the origin of a group from `low` to `high` may be."""
    first, last = GAP - low, wall.length - GAP - high
    return [] if last < first else sorted({*range(first, last, STEP), last})


def _liking(like: str, ends: tuple[int, int], wall: Edge) -> float:
    if like == "corner":
        return -3.0 * min(ends) / wall.length
    if like == "center":
        return -2.0 * abs(ends[0] - ends[1]) / wall.length
    return 0.0


def mm(metres: float) -> int:
    """Whole millimetres, even, never too small."""
    return 2 * -(-round(metres * 1e6) // 2000)
