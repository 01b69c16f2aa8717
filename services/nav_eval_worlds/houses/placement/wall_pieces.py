"""What hangs on walls and from ceilings."""

from collections.abc import Sequence

from nav_eval_worlds.furniture import bathroom_and_garage, decor, electronics, public_pieces, storage
from nav_eval_worlds.furniture.piece import Piece, PieceMaker, get_piece_name
from nav_eval_worlds.houses.placement.arrangement import (
    QUARTERS,
    GroupFrame,
    RoomState,
    make_wall_member,
    put_at,
    to_millimetres,
)
from nav_eval_worlds.houses.placement.space import CASING, WallArea
from nav_eval_worlds.houses.plan.geometry import Rect
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
    OpeningKind,
)
from nav_eval_worlds.houses.plan.openings import find_wall
from nav_eval_worlds.randomness import RandomStream

OVERHEAD = 1900  #: above this nothing is in anybody's way
EYE = 1550  #: where pictures hang

_PICTURES: dict[str, tuple[int, int]] = {
    LIVING: (2, 4), DINING: (1, 3), BEDROOM: (1, 3), OFFICE: (1, 3), KITCHEN: (0, 1), HALLWAY: (2, 4),
    BATHROOM: (0, 1), LAUNDRY: (0, 0), GARAGE: (0, 0), OPEN_OFFICE: (2, 4), MEETING: (1, 2), RECEPTION: (1, 3),
    BREAK: (0, 2), RESTROOM: (0, 0), SALES: (0, 1), STORAGE: (0, 0), WAITING: (2, 4), TREATMENT: (1, 2),
}  # fmt: skip


_FLAT_LIT = (OPEN_OFFICE, MEETING, BREAK, RESTROOM, SALES, STORAGE, WAITING, TREATMENT)
_HEATED = (BEDROOM, OFFICE, DINING, LIVING, HALLWAY)


def decorate_room(work: RoomState) -> None:
    """Curtains and radiators first, then what needs a free piece of wall."""
    _dress_windows(work)
    _hang_lamps(work)
    draw = work.draw.fork("walls")
    kind = work.room.kind
    _hang_public_things(work, draw)
    if kind == BATHROOM:
        _hang(work, bathroom_and_garage.make_towel(draw.fork("towel")), bottom=850)
        _hang(work, bathroom_and_garage.make_towel(draw.fork("towel 2")), bottom=850)
        _hang_near(work, "toilet", bathroom_and_garage.make_toilet_paper(draw.fork("paper")), bottom=700)
    if kind == HALLWAY:
        _hang_maybe(work, storage.make_wall_hooks, draw, bottom=900, chance=0.6)
        _hang_maybe(work, bathroom_and_garage.make_mirror, draw, bottom=1050, chance=0.6)
        _hang_maybe(work, electronics.make_wall_lamp, draw, bottom=1650, chance=0.6)
    if kind in (LIVING, KITCHEN, OFFICE, DINING):
        _hang_maybe(work, decor.make_clock, draw, bottom=1750, chance=0.6)
    if kind in (OFFICE, BEDROOM, KITCHEN, LAUNDRY):
        _hang_maybe(work, storage.make_wall_shelves, draw, bottom=1350, chance=0.6)
    if kind == BEDROOM and not work.has("tv"):
        _hang_maybe(work, electronics.make_wall_tv, draw, bottom=1100, chance=0.15)
    _hang_pictures(work, draw.fork("pictures"), draw.integer(*_PICTURES[kind]))


def _hang_public_things(work: RoomState, draw: RandomStream) -> None:
    """Boards, clocks and extinguishers of offices, shops and clinics."""
    kind = work.room.kind
    if kind in (MEETING, OPEN_OFFICE):
        _hang_maybe(work, public_pieces.make_whiteboard, draw, bottom=950, chance=0.95)
    if kind == MEETING:
        _hang_maybe(work, electronics.make_wall_tv, draw, bottom=1100, chance=0.8)
    if kind in (OPEN_OFFICE, RECEPTION, WAITING, BREAK, SALES, TREATMENT):
        _hang_maybe(work, decor.make_clock, draw, bottom=1750, chance=0.8)
    if kind in (OPEN_OFFICE, SALES, WAITING, STORAGE):
        _hang_maybe(work, public_pieces.make_fire_extinguisher, draw, bottom=700, chance=0.8)
    if kind == TREATMENT:
        _hang_maybe(work, storage.make_wall_shelves, draw, bottom=1350, chance=0.7)
    if kind == RESTROOM:
        _hang(work, bathroom_and_garage.make_towel(draw.fork("towel")), bottom=850)
        _hang_near(work, "toilet", bathroom_and_garage.make_toilet_paper(draw.fork("paper")), bottom=700)


def hang_above(work: RoomState, base: int, piece: Piece, *, bottom: float, margin: int = 40) -> bool:
    """Hang a piece on the wall behind a placed one, centred on it."""
    x, _, z = work.placed[base].position
    point = (round(x * 1000), round(z * 1000))
    for number, wall in enumerate(work.space.walls):
        looks = QUARTERS[wall.normal] * 90.0 == work.placed[base].degrees
        distance = abs((point[0] - wall.start[0]) * wall.normal[0] + (point[1] - wall.start[1]) * wall.normal[1])
        if looks and distance < 600 and _hang_at(work, piece, number, wall.along(point), round(bottom * 1000), margin):
            return True
    return False


def _hang_maybe(work: RoomState, maker: PieceMaker, draw: RandomStream, *, bottom: int, chance: float) -> None:
    own = draw.fork(get_piece_name(maker))
    if own.chance(chance):
        _hang(work, maker(own), bottom=bottom)


def _hang(work: RoomState, piece: Piece, *, bottom: int) -> bool:
    """On any wall with space, at random."""
    places = [
        (number, along)
        for number, wall in enumerate(work.space.walls)
        for along in range(
            200 + to_millimetres(piece.size[0]) // 2, wall.length - 200 - to_millimetres(piece.size[0]) // 2, 150
        )
    ]
    return any(
        _hang_at(work, piece, number, along, bottom)
        for number, along in work.draw.fork("hang", len(work.placed)).shuffle(places)
    )


def _hang_near(work: RoomState, category: str, piece: Piece, *, bottom: int) -> bool:
    """On the wall, as near as possible to something."""
    near = [
        work.placed[index].position
        for index in range(len(work.placed))
        if work.placed[index].piece.category == category
    ]
    if not near:
        return False
    x, z = round(near[0][0] * 1000), round(near[0][2] * 1000)
    places = []
    for number, wall in enumerate(work.space.walls):
        for along in range(150, wall.length - 150, 50):
            px, pz = wall.at(along)
            places.append((abs(px - x) + abs(pz - z), number, along))
    return any(
        distance < 1200 and _hang_at(work, piece, number, along, bottom) for distance, number, along in sorted(places)
    )


def _hang_at(work: RoomState, piece: Piece, number: int, along: int, bottom: int, margin: int = 40) -> bool:
    """Hang it exactly here if the wall is free and nobody runs into it."""
    wall, half = work.space.walls[number], to_millimetres(piece.size[0]) // 2
    top = (
        bottom
        + to_millimetres(piece.size[1])
        + max((to_millimetres(surface.headroom) for surface in piece.surfaces), default=0)
    )
    area = WallArea(along - half - margin, along + half + margin, bottom - margin, top + margin)
    if top > work.plan.ceiling - 30 or not work.space.wall_free(number, area):
        return False
    depth = to_millimetres(piece.size[2])
    rect = wall.rect(along - half, along + half, depth)
    if bottom < OVERHEAD and not _claim_space(work, rect):
        return False
    work.space.taken[number].append(area)
    work.space.take_wall(rect, bottom, top)
    x, z = wall.at(along, depth // 2 + 2)
    work.add(piece, (x / 1000, work.floor + bottom / 1000, z / 1000), 90.0 * QUARTERS[wall.normal])
    return True


def _claim_space(work: RoomState, rect: Rect) -> bool:
    """Above furniture, or where it leaves the room walkable; then it becomes an obstacle."""
    if any(zone.overlaps(rect) for zone in work.space.door_zones):
        return False
    if not work.space.walkable_with([rect]):
        return False
    work.space.block([rect])
    return True


def _hang_pictures(work: RoomState, draw: RandomStream, count: int) -> None:
    """Over furniture first, where people hang them, then elsewhere."""
    anchors = ("sofa", "bed", "cabinet", "desk", "dresser", "console table", "fireplace", "piano")
    above = [index for index in range(len(work.placed)) if work.placed[index].piece.category in anchors]
    for number in range(count):
        piece = (decor.make_painting if draw.chance(0.6) else decor.make_photo)(draw.fork(number))
        bottom = EYE - to_millimetres(piece.size[1]) // 2
        if above and hang_above(work, above.pop(0), piece, bottom=max(bottom, 1250) / 1000):
            continue
        _hang(work, piece, bottom=bottom)


def _dress_windows(work: RoomState) -> None:
    """A radiator below, curtains beside."""
    curtained = work.room.kind in (LIVING, DINING, BEDROOM, OFFICE) and work.draw.fork("curtains").chance(0.75)
    curtain, heater = decor.make_curtain(work.draw.fork("curtain")), decor.make_radiator(work.draw.fork("radiator"))
    for opening in work.plan.openings_of(work.room):
        if opening.kind is not OpeningKind.WINDOW:
            continue
        wall = find_wall(opening, work.room)
        number, middle = work.space.walls.index(wall), wall.along(opening.center)
        if work.room.kind in _HEATED and opening.sill > to_millimetres(heater.size[1]) + 40:
            put_at(work, [make_wall_member(heater)], GroupFrame(wall.at(middle), wall.direction, wall.normal))
        if curtained:
            reach = opening.width // 2 + CASING + to_millimetres(curtain.size[0]) // 2
            for along in (middle - reach, middle + reach):
                _hang_at(work, curtain, number, along, 60, margin=0)


def _hang_lamps(work: RoomState) -> None:
    """One lamp per rectangle of the room, two where it is long."""
    draw = work.draw.fork("lamps")
    flat = work.room.kind in (HALLWAY, BATHROOM, LAUNDRY, GARAGE, *_FLAT_LIT)
    lamp = (electronics.make_ceiling_disc if flat else electronics.make_pendant_lamp)(draw)
    for x, z in find_lamp_places(work.room.rects, work.plan.stairs.flight if work.plan.stairs else None):
        y = work.floor + work.plan.ceiling / 1000 - lamp.size[1]
        work.add(lamp, (x / 1000, y, z / 1000), 0.0)


def find_lamp_places(rects: Sequence[Rect], hole: Rect | None = None) -> list[tuple[int, int]]:
    """Middle points, about one for every five metres."""
    places = []
    for rect in rects:
        if rect == hole:
            continue
        count = max(1, round(max(rect.width, rect.depth) / 5000))
        for n in range(count):
            part = (2 * n + 1) / (2 * count)
            x = rect.x0 + round(rect.width * part) if rect.width >= rect.depth else rect.center[0]
            z = rect.z0 + round(rect.depth * part) if rect.width < rect.depth else rect.center[1]
            places.append((x, z))
    return places
