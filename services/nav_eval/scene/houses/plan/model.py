"""What a floor plan is: rooms, the openings between them, and the stairs.

Lengths are whole millimetres. Rooms meet on the centre lines of the walls; the inner face of a wall
stands half a wall thickness inside its room's outline.
"""

from dataclasses import dataclass
from enum import StrEnum

from nav_eval.scene.houses.plan.geometry import Edge, Point, Rect, bounding, edges, inset, outline

WALL = 120  #: thickness of an inner wall
HALF_WALL = WALL // 2
STAIR_EDGE = 50  #: from the hallway to the first riser


class OpeningKind(StrEnum):
    DOOR = "door"  #: frame, with or without an opened leaf
    ARCHWAY = "archway"  #: wide and without a frame
    WINDOW = "window"  #: on an outer wall, closed by glass
    ENTRANCE = "entrance"  #: the closed front door
    GATE = "gate"  #: the closed door of a garage


PASSABLE = (OpeningKind.DOOR, OpeningKind.ARCHWAY)


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaf:
    """A door leaf that stands open at a right angle to its wall."""

    room: str  #: into which room it swings
    hinge_first: bool  #: hinge at the low end of the opening (smaller x or z)


@dataclass(frozen=True, kw_only=True, slots=True)
class Opening:
    """A hole in a wall."""

    opening_id: str
    kind: OpeningKind
    rooms: tuple[str, ...]  #: one for outer walls, two otherwise
    center: Point  #: on the centre line of the wall
    along_x: bool  #: the wall runs along x
    width: int
    sill: int = 0
    head: int = 2050
    leaf: Leaf | None = None

    @property
    def span(self) -> tuple[int, int]:
        """From where to where along the wall's axis."""
        middle = self.center[0] if self.along_x else self.center[1]
        return middle - self.width // 2, middle + self.width - self.width // 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """A room: one or several rectangles on one floor."""

    room_id: str
    kind: str
    storey: int
    rects: tuple[Rect, ...]
    stair_well: Rect | None = None  #: one of the rectangles; no doors there

    @property
    def door_walls(self) -> list[Edge]:
        """The sides of the outline that may have doors."""
        return edges(outline(tuple(rect for rect in self.rects if rect != self.stair_well)))

    @property
    def outline(self) -> tuple[Point, ...]:
        return outline(self.rects)

    @property
    def inner(self) -> tuple[Point, ...]:
        """The outline of the faces of its walls."""
        return inset(self.outline, HALF_WALL)

    @property
    def walls(self) -> list[Edge]:
        return edges(self.inner)

    @property
    def bounds(self) -> Rect:
        return bounding(self.rects)

    @property
    def area(self) -> float:
        return sum(rect.area for rect in self.rects)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stairs:
    """One straight flight from the ground floor to the first floor, along a wall of the hallway."""

    lower_room: str
    upper_room: str
    flight: Rect  #: the steps seen from above, and the hole in the slab
    climbs: Point  #: unit direction in which it goes up
    risers: int

    @property
    def solid(self) -> Rect:
        """The part of the well where steps replace the floor, which reaches a little under the first one."""
        well, (dx, dz) = self.flight, self.climbs
        start = STAIR_EDGE + 20
        moved = well.moved(dx * start, dz * start)
        return Rect(max(well.x0, moved.x0), max(well.z0, moved.z0), min(well.x1, moved.x1), min(well.z1, moved.z1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Where everything that does not move is."""

    template: str
    rooms: tuple[Room, ...]
    openings: tuple[Opening, ...]
    ceiling: int  #: from floor to ceiling
    storey_height: int  #: from floor to floor
    stairs: Stairs | None = None

    def room(self, room_id: str) -> Room:
        return next(room for room in self.rooms if room.room_id == room_id)

    def floor_of(self, room: Room) -> int:
        return room.storey * self.storey_height

    def openings_of(self, room: Room) -> list[Opening]:
        return [opening for opening in self.openings if room.room_id in opening.rooms]

    @property
    def storeys(self) -> int:
        return 1 + max(room.storey for room in self.rooms)

    @property
    def area(self) -> float:
        return sum(room.area for room in self.rooms)
