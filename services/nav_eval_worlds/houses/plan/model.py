"""What a floor plan is: rooms, the openings between them, the stairs, and the templates of houses.

Lengths are whole millimetres. Rooms meet on the centre lines of the walls; the inner face of a wall
stands half a wall thickness inside its room's outline. Templates go from a one-bedroom flat to a five-bedroom house on
two floors.
"""

from dataclasses import dataclass
from enum import StrEnum

from nav_eval.errors import UnknownName
from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval_worlds.houses.plan.geometry import (
    Edge,
    Point,
    Rect,
    find_outline,
    get_bounding_rect,
    get_edges,
    shrink_outline,
)
from nav_eval_worlds.randomness import RandomStream

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
class DoorLeaf:
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
    leaf: DoorLeaf | None = None

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
        return get_edges(find_outline(tuple(rect for rect in self.rects if rect != self.stair_well)))

    @property
    def outline(self) -> tuple[Point, ...]:
        return find_outline(self.rects)

    @property
    def inner(self) -> tuple[Point, ...]:
        """The outline of the faces of its walls."""
        return shrink_outline(self.outline, HALF_WALL)

    @property
    def walls(self) -> list[Edge]:
        return get_edges(self.inner)

    @property
    def bounds(self) -> Rect:
        return get_bounding_rect(self.rects)

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
        moved = well.translate(dx * start, dz * start)
        return Rect(max(well.x0, moved.x0), max(well.z0, moved.z0), min(well.x1, moved.x1), min(well.z1, moved.z1))


@dataclass(frozen=True, kw_only=True, slots=True)
class FloorPlan:
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


@dataclass(frozen=True, slots=True)
class RoomKind:
    """What the layout must know about one kind of room."""

    name: str
    area: tuple[float, float]  #: usual square metres
    width: int  #: never narrower than this, in millimetres, wall centre to wall centre
    public: bool = False  #: belongs to the open, shared part of the house
    small: bool = False  #: may share one column of the plan with another small room


ROOM_KINDS = {
    kind.name: kind
    for kind in (
        RoomKind("living room", (20, 30), 3600, public=True),
        RoomKind("kitchen", (10, 16), 2700, public=True),
        RoomKind("dining room", (11, 16), 3000, public=True),
        RoomKind("bedroom", (11, 17), 2900),
        RoomKind("office", (9, 13), 2600),
        RoomKind("bathroom", (5, 7.5), 2000, small=True),
        RoomKind("laundry room", (4.5, 6.5), 1900, small=True),
        RoomKind("garage", (20, 24), 3500),
        RoomKind("hallway", (6, 12), 1300),
        RoomKind("open office", (36, 50), 3600, public=True),
        RoomKind("meeting room", (16, 22), 3500),
        RoomKind("reception", (15, 22), 3500),
        RoomKind("break room", (13, 18), 3000),
        RoomKind("restroom", (5.5, 8), 2000, small=True),
        RoomKind("sales floor", (42, 60), 3800, public=True),
        RoomKind("storage room", (9, 14), 2600),
        RoomKind("waiting room", (22, 30), 3600, public=True),
        RoomKind("treatment room", (13, 17), 3100),
    )
}

LIVING, KITCHEN, DINING, BEDROOM = "living room", "kitchen", "dining room", "bedroom"
OFFICE, BATHROOM, LAUNDRY, GARAGE, HALLWAY = "office", "bathroom", "laundry room", "garage", "hallway"
OPEN_OFFICE, MEETING, RECEPTION, BREAK = "open office", "meeting room", "reception", "break room"
RESTROOM, SALES, STORAGE, WAITING = "restroom", "sales floor", "storage room", "waiting room"
TREATMENT = "treatment room"


@dataclass(frozen=True, slots=True)
class HouseTemplate:
    """The rooms of each storey; hallways and stairs come with the layout."""

    name: str
    storeys: tuple[tuple[str, ...], ...]
    layouts: tuple[str, ...]  #: ways to arrange a storey, see `layout`
    weight: float = 1.0


TEMPLATES = {
    template.name: template
    for template in (
        HouseTemplate("flat_1", ((LIVING, KITCHEN, BEDROOM, BATHROOM),), ("spine",)),
        HouseTemplate("flat_2", ((LIVING, KITCHEN, BEDROOM, BEDROOM, BATHROOM),), ("spine",), 1.5),
        HouseTemplate(
            "flat_3", ((LIVING, KITCHEN, DINING, *[BEDROOM] * 3, BATHROOM, BATHROOM),), ("spine", "elbow"), 1.5
        ),
        HouseTemplate(
            "house_2", ((LIVING, KITCHEN, DINING, BEDROOM, BEDROOM, BATHROOM, OFFICE, LAUNDRY),), ("spine", "elbow")
        ),
        HouseTemplate(
            "house_3",
            ((LIVING, KITCHEN, DINING, *[BEDROOM] * 3, BATHROOM, BATHROOM, OFFICE, LAUNDRY, GARAGE),),
            ("spine", "elbow", "ring"),
            1.5,
        ),
        HouseTemplate(
            "house_4",
            ((LIVING, KITCHEN, DINING, *[BEDROOM] * 4, BATHROOM, BATHROOM, OFFICE, LAUNDRY),),
            ("elbow", "ring"),
        ),
        HouseTemplate(
            "house_5",
            ((LIVING, KITCHEN, DINING, *[BEDROOM] * 5, *[BATHROOM] * 3, OFFICE, LAUNDRY, GARAGE),),
            ("elbow", "ring"),
            0.7,
        ),
        HouseTemplate(
            "duplex_3", ((LIVING, KITCHEN, DINING, BATHROOM, LAUNDRY), (*[BEDROOM] * 3, BATHROOM, OFFICE)), ("stairs",)
        ),
        HouseTemplate(
            "duplex_5",
            (
                (LIVING, KITCHEN, DINING, BEDROOM, BATHROOM, LAUNDRY, OFFICE, GARAGE),
                (*[BEDROOM] * 4, BATHROOM, BATHROOM, OFFICE),
            ),
            ("stairs",),
        ),
    )
}


#: other buildings, which later generators make when they are asked for by name
PUBLIC_TEMPLATES = {
    template.name: template
    for template in (
        HouseTemplate(
            "office_floor",
            ((OPEN_OFFICE, MEETING, RECEPTION, BREAK, OFFICE, OFFICE, RESTROOM, RESTROOM),),
            ("spine",),
        ),
        HouseTemplate("shop", ((SALES, STORAGE, OFFICE, BREAK, RESTROOM),), ("spine",)),
        HouseTemplate("clinic", ((WAITING, *[TREATMENT] * 4, OFFICE, STORAGE, RESTROOM, RESTROOM),), ("spine",)),
    )
}


def choose_template(name: str | None, draw: RandomStream) -> HouseTemplate:
    """The named template, or a home by weight."""
    if name is None:
        return draw.choose_weighted([(template, template.weight) for template in TEMPLATES.values()])
    known = TEMPLATES if draw.generator == FIRST_GENERATOR else TEMPLATES | PUBLIC_TEMPLATES
    if name not in known:
        raise UnknownName(f"There is no house template {name!r}. Known: {', '.join(known)}.")
    return known[name]
