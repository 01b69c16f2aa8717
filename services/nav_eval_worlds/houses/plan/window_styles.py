"""How large windows are, and how many a room has."""

from dataclasses import dataclass

from nav_eval_worlds.houses.plan.model import (
    BATHROOM,
    BEDROOM,
    BREAK,
    DINING,
    GARAGE,
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
)


@dataclass(frozen=True, slots=True)
class WindowStyle:
    """Usual measures of the windows of one kind of room, in millimetres."""

    width: tuple[int, int]
    sill: tuple[int, int]
    head: int
    most: int  #: never more than this many in a room
    likely: float  #: per piece of outer wall


WINDOW_STYLES = {
    LIVING: WindowStyle((1400, 2200), (350, 700), 2200, 3, 0.9),
    DINING: WindowStyle((1200, 1800), (500, 850), 2150, 2, 0.9),
    KITCHEN: WindowStyle((900, 1300), (1080, 1150), 2100, 1, 0.95),
    BEDROOM: WindowStyle((1100, 1700), (800, 950), 2100, 2, 0.9),
    OFFICE: WindowStyle((1000, 1500), (800, 950), 2100, 2, 0.9),
    BATHROOM: WindowStyle((500, 800), (1350, 1500), 2050, 1, 0.8),
    LAUNDRY: WindowStyle((500, 800), (1350, 1500), 2050, 1, 0.6),
    GARAGE: WindowStyle((600, 900), (1350, 1500), 2000, 1, 0.5),
    HALLWAY: WindowStyle((700, 1000), (900, 1100), 2100, 2, 0.7),
    OPEN_OFFICE: WindowStyle((1600, 2200), (800, 950), 2250, 5, 0.95),
    MEETING: WindowStyle((1400, 2000), (800, 950), 2200, 2, 0.9),
    RECEPTION: WindowStyle((1400, 2200), (350, 700), 2200, 3, 0.9),
    BREAK: WindowStyle((1000, 1500), (1080, 1150), 2100, 2, 0.9),
    RESTROOM: WindowStyle((500, 800), (1350, 1500), 2050, 1, 0.5),
    SALES: WindowStyle((2000, 2700), (160, 300), 2350, 5, 0.95),
    STORAGE: WindowStyle((500, 800), (1350, 1500), 2050, 1, 0.4),
    WAITING: WindowStyle((1400, 2200), (500, 800), 2200, 3, 0.9),
    TREATMENT: WindowStyle((1000, 1500), (900, 1050), 2100, 2, 0.9),
}
