"""What is in the outer walls: the front door, the garage door and the windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nav_eval.scene.houses.plan.geometry import Edge, Rect, edges, remaining, shared
from nav_eval.scene.houses.plan.model import HALF_WALL, Opening, OpeningKind, Room
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


@dataclass(frozen=True, slots=True)
class WindowStyle:
    """Usual measures of the windows of one kind of room, in millimetres."""

    width: tuple[int, int]
    sill: tuple[int, int]
    head: int
    most: int  #: never more than this many in a room
    likely: float  #: per piece of outer wall


_STYLES = {
    LIVING: WindowStyle((1400, 2200), (350, 700), 2200, 3, 0.9),
    DINING: WindowStyle((1200, 1800), (500, 850), 2150, 2, 0.9),
    KITCHEN: WindowStyle((900, 1300), (1080, 1150), 2100, 1, 0.95),
    BEDROOM: WindowStyle((1100, 1700), (800, 950), 2100, 2, 0.9),
    OFFICE: WindowStyle((1000, 1500), (800, 950), 2100, 2, 0.9),
    BATHROOM: WindowStyle((500, 800), (1350, 1500), 2050, 1, 0.8),
    LAUNDRY: WindowStyle((500, 800), (1350, 1500), 2050, 1, 0.6),
    GARAGE: WindowStyle((600, 900), (1350, 1500), 2000, 1, 0.5),
    HALLWAY: WindowStyle((700, 1000), (900, 1100), 2100, 2, 0.7),
}


class OuterWall(NamedTuple):
    """A piece of a room's outline with nothing behind it."""

    room: Room
    wall: Edge
    low: int
    high: int

    @property
    def length(self) -> int:
        return self.high - self.low


def outer_walls(rooms: Sequence[Room]) -> list[OuterWall]:
    found: list[OuterWall] = []
    for room in rooms:
        others = [edge for other in rooms if other is not room for edge in edges(other.outline)]
        for wall in edges(room.outline):
            taken = [span for edge in others if (span := shared(wall, edge))]
            found.extend(OuterWall(room, wall, *span) for span in remaining(wall.length, taken))
    return found


def outer_openings(rooms: Sequence[Room], draw: Draw, *, entrance: bool, blind: Sequence[Rect] = ()) -> list[Opening]:
    """Front door and gate first, then windows in what is left; no windows beside the blind places."""
    walls = outer_walls(rooms)
    openings: list[Opening] = []
    for kind, candidates in (
        (OpeningKind.ENTRANCE, _entrance_walls(walls, blind) if entrance else []),
        (OpeningKind.GATE, [wall for wall in walls if wall.room.kind == GARAGE and wall.length > 3000]),
    ):
        if candidates:
            wall = max(candidates, key=lambda candidate: candidate.length)
            openings.append(_closed_door(wall, kind))
            walls.remove(wall)
            walls.extend(_beside(wall, openings[-1]))
    counts: dict[str, int] = {}
    for number, wall in enumerate(sorted(walls, key=lambda candidate: -candidate.length)):
        if not _beside_any(wall, blind):
            openings.extend(_windows(wall, draw.fork("window", rooms[0].storey, number), counts))
    return openings


def _entrance_walls(walls: Sequence[OuterWall], blind: Sequence[Rect]) -> list[OuterWall]:
    """Where the front door may be: the hallway, otherwise the living room."""
    for kind in (HALLWAY, LIVING):
        fitting = [w for w in walls if w.room.kind == kind and w.length >= 1250 and not _beside_any(w, blind)]
        if fitting:
            return fitting
    return []


def _closed_door(wall: OuterWall, kind: OpeningKind) -> Opening:
    width, head = (2500, 2100) if kind is OpeningKind.GATE else (950, 2080)
    return _opening(wall, kind, middle=(wall.low + wall.high) // 2, width=width, sill=0, head=head)


def _beside(wall: OuterWall, door: Opening) -> list[OuterWall]:
    middle = wall.wall.along(door.center)
    pieces = [(wall.low, middle - door.width // 2 - 200), (middle + door.width // 2 + 200, wall.high)]
    return [wall._replace(low=low, high=high) for low, high in pieces if high - low > 1200]


def _beside_any(wall: OuterWall, blind: Sequence[Rect]) -> bool:
    piece = wall.wall.rect(wall.low, wall.high, 100)
    return any(rect.overlaps(piece) for rect in blind)


def _windows(wall: OuterWall, draw: Draw, counts: dict[str, int]) -> list[Opening]:
    style = _STYLES[wall.room.kind]
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
        _opening(wall, OpeningKind.WINDOW, middle=first + n * (width + gap), width=width, sill=sill, head=style.head)
        for n in range(count)
    ]


def _opening(wall: OuterWall, kind: OpeningKind, *, middle: int, width: int, sill: int, head: int) -> Opening:
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
