"""What the walls and floors of each room look like; rooms of one house share some of it."""

from dataclasses import dataclass

from nav_eval.scene.houses.finishes import Finish, finish, neutral
from nav_eval.scene.houses.plan.model import Plan, Room
from nav_eval.scene.houses.plan.templates import BATHROOM, BEDROOM, DINING, GARAGE, HALLWAY, KITCHEN, LAUNDRY, LIVING
from nav_eval.scene.houses.randomness import Draw


@dataclass(frozen=True, slots=True)
class RoomStyle:
    """The finishes of one room's shell."""

    floor: Finish
    wall: Finish
    accent: Finish  #: of one wall, often the same
    ceiling: Finish
    trim: Finish  #: skirting, door and window frames
    leaf: Finish  #: door leaves


def room_styles(plan: Plan, draw: Draw) -> dict[str, RoomStyle]:
    """Styles by room id."""
    house = draw.fork("house")
    planks, ceiling = finish("planks", house.fork("planks")), finish("ceiling", house.fork("ceiling"))
    trim = finish("trim", house.fork("trim"), ("white", "white", "light brown", "dark brown"))
    leaf = trim if house.chance(0.5) else finish("wood", house.fork("leaf"))
    hallway_wall = neutral("paint", house.fork("hallway"))
    same_floor = house.chance(0.4)
    styles = {}
    for room in plan.rooms:
        own = draw.fork(room.room_id)
        floor = planks if same_floor and room.kind in _DRY else _floor(room, own.fork("floor"), planks)
        wall = hallway_wall if room.kind == HALLWAY else _wall(room, own.fork("wall"))
        accent = _accent(room, own.fork("accent"), wall)
        styles[room.room_id] = RoomStyle(floor, wall, accent, ceiling, trim, leaf)
    return styles


_DRY = (LIVING, DINING, BEDROOM, HALLWAY)


def _floor(room: Room, draw: Draw, planks: Finish) -> Finish:
    if room.kind in (BATHROOM, KITCHEN, LAUNDRY):
        return finish("floor tiles", draw)
    if room.kind == GARAGE:
        return finish("concrete", draw)
    if room.kind == HALLWAY:
        return planks if draw.chance(0.5) else finish("floor tiles", draw)
    kind = draw.weighted([("house", 0.4), ("planks", 0.3), ("carpet", 0.3 if room.kind != DINING else 0.0)])
    return planks if kind == "house" else finish(kind, draw)


def _wall(room: Room, draw: Draw) -> Finish:
    if room.kind == BATHROOM:
        return finish("wall tiles", draw)
    if room.kind == GARAGE:
        return neutral("paint", draw)
    if room.kind in (BEDROOM, LIVING, DINING) and draw.chance(0.25):
        return finish("wallpaper", draw)
    return neutral("paint", draw) if draw.chance(0.5) else finish("paint", draw)


def _accent(room: Room, draw: Draw, wall: Finish) -> Finish:
    """One wall of a living room or bedroom may differ."""
    if room.kind not in (LIVING, BEDROOM, DINING) or not draw.chance(0.35):
        return wall
    return finish(draw.choice(("accent paint", "wallpaper", "brick")), draw)
