"""Draw a floor plan: many candidates are cheap, so the best of several is taken.

A candidate without a decent plan of doors is dropped; the others are judged by how far rooms are
from their wanted size, how elongated they are, and whether people have daylight.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nav_eval.errors import SceneError
from nav_eval_worlds.houses.plan import layout
from nav_eval_worlds.houses.plan.geometry import Point, Rect, get_bounding_rect
from nav_eval_worlds.houses.plan.layout import Arrangement, WantedRoom, Zone
from nav_eval_worlds.houses.plan.model import (
    HALLWAY,
    LIVING,
    ROOM_KINDS,
    FloorPlan,
    HouseTemplate,
    Opening,
    Room,
    Stairs,
)
from nav_eval_worlds.houses.plan.openings import (
    Neighbours,
    choose_joined,
    find_outer_walls,
    make_doors,
    make_outer_openings,
)
from nav_eval_worlds.randomness import RandomStream

GOOD_ENOUGH = 12  #: candidates to choose from
ATTEMPTS = 600  #: draws before giving up
SLAB = 300  #: from a ceiling to the floor above
RISER = 175  #: the most a step climbs, in millimetres


@dataclass(frozen=True, slots=True)
class _Candidate:
    score: float
    storeys: list[list[Room]]
    pairs: list[list[Neighbours]]
    well: Rect | None


def draw_plan(draw: RandomStream, template: HouseTemplate) -> FloorPlan:
    """A floor plan of the template: a function of the draw alone."""
    best = min(_draw_candidates(template, draw), key=lambda candidate: candidate.score)
    ceiling = round(draw.fork("ceiling").between(2500, 2850) / 20) * 20
    stairs = None if best.well is None else _make_stairs(best.storeys, best.well, ceiling + SLAB)
    return FloorPlan(
        template=template.name,
        rooms=tuple(room for storey in best.storeys for room in storey),
        openings=tuple(_make_openings(best, draw)),
        ceiling=ceiling,
        storey_height=ceiling + SLAB,
        stairs=stairs,
    )


def _make_openings(candidate: _Candidate, draw: RandomStream) -> list[Opening]:
    found = []
    for number, (rooms, pairs) in enumerate(zip(candidate.storeys, candidate.pairs, strict=True)):
        ground = number == 0
        blind = [candidate.well] if candidate.well and ground else []
        found.extend(make_doors(pairs, draw.fork("doors", number)))
        found.extend(make_outer_openings(rooms, draw.fork("outer", number), entrance=ground, blind=blind))
    return found


def _draw_candidates(template: HouseTemplate, draw: RandomStream) -> list[_Candidate]:
    found: list[_Candidate] = []
    layouts = draw.fork("layouts").shuffle(template.layouts)
    for attempt in range(ATTEMPTS):
        # one kind of layout per house, so that the kind that fits most easily does not win every time
        kind = layouts[attempt * len(layouts) // ATTEMPTS]
        candidate = _draw_candidate(template, kind, draw.fork("candidate", attempt))
        if candidate is not None:
            found.append(candidate)
        if len(found) == GOOD_ENOUGH or (found and attempt >= ATTEMPTS // 3):
            break
    if not found:
        raise SceneError(f"No floor plan was found for the template {template.name!r}; try another seed.")
    return found


def _draw_candidate(template: HouseTemplate, kind: str, draw: RandomStream) -> _Candidate | None:
    arrangements = _draw_arrangements(template, kind, draw)
    if arrangements is None:
        return None
    storeys = _name_rooms(_turn_randomly(arrangements, draw.fork("turn")))
    pairs = [choose_joined(rooms, draw.fork("joined", number)) for number, rooms in enumerate(storeys.rooms)]
    if any(pair is None for pair in pairs):
        return None
    score = sum(_score_rooms(rooms) for rooms in storeys.rooms) + 0.3 * draw.unit()
    return _Candidate(score, storeys.rooms, [pair for pair in pairs if pair is not None], storeys.well)


def _draw_arrangements(template: HouseTemplate, kind: str, draw: RandomStream) -> list[Arrangement] | None:
    wishes = [_draw_wanted_rooms(kinds, draw.fork("areas", number)) for number, kinds in enumerate(template.storeys)]
    if len(wishes) == 2:
        return layout.arrange_stairs(wishes[0], wishes[1], draw.fork("stairs"))
    arrange = {"spine": layout.arrange_spine, "elbow": layout.arrange_elbow, "ring": layout.arrange_ring}[kind]
    found = arrange(wishes[0], draw.fork("layout"))
    return None if found is None else [found]


def _draw_wanted_rooms(kinds: Sequence[str], draw: RandomStream) -> list[WantedRoom]:
    return [WantedRoom(kind, draw.between(*ROOM_KINDS[kind].area)) for kind in kinds]


@dataclass(frozen=True, slots=True)
class _NamedRooms:
    rooms: list[list[Room]]
    well: Rect | None


def _turn_randomly(arrangements: list[Arrangement], draw: RandomStream) -> list[Arrangement]:
    """Mirrored and turned at random, and moved to the origin."""
    swap, flip_x, flip_z = draw.chance(0.5), draw.chance(0.5), draw.chance(0.5)

    def turn(rect: Rect) -> Rect:
        x0, z0, x1, z1 = rect
        if flip_x:
            x0, x1 = -x1, -x0
        if flip_z:
            z0, z1 = -z1, -z0
        return Rect(z0, x0, z1, x1) if swap else Rect(x0, z0, x1, z1)

    whole = get_bounding_rect([turn(rect) for zone in arrangements[0].zones for rect in zone.rects])

    def place(rect: Rect) -> Rect:
        return turn(rect).translate(-whole.x0, -whole.z0)

    return [
        Arrangement(
            [Zone(zone.kind, tuple(place(rect) for rect in zone.rects)) for zone in arrangement.zones],
            place(arrangement.stair_well) if arrangement.stair_well else None,
        )
        for arrangement in arrangements
    ]


def _name_rooms(arrangements: list[Arrangement]) -> _NamedRooms:
    counts: dict[str, int] = {}
    storeys = []
    for storey, arrangement in enumerate(arrangements):
        rooms = []
        for zone in arrangement.zones:
            counts[zone.kind] = counts.get(zone.kind, 0) + 1
            room_id = f"{zone.kind.replace(' ', '_')}_{counts[zone.kind]}"
            well = arrangement.stair_well if zone.kind == HALLWAY else None
            rooms.append(Room(room_id=room_id, kind=zone.kind, storey=storey, rects=zone.rects, stair_well=well))
        storeys.append(rooms)
    return _NamedRooms(storeys, arrangements[0].stair_well)


def _score_rooms(rooms: Sequence[Room]) -> float:
    """Smaller is better."""
    daylight = {wall.room.room_id for wall in find_outer_walls(rooms) if wall.length > 1500}
    score = 0.0
    for room in rooms:
        if room.kind == HALLWAY:
            continue
        low, high = ROOM_KINDS[room.kind].area
        score += max(0.0, math.log(room.area / high), math.log(low / room.area))
        sides = sorted((room.bounds.width, room.bounds.depth))
        score += max(0.0, sides[1] / sides[0] - 1.6)
        habitable = not ROOM_KINDS[room.kind].small
        score += 3.0 if habitable and room.room_id not in daylight else 0.0
        score += 0.5 if room.kind == LIVING and sides[0] < 4000 else 0.0
    return score


def _make_stairs(storeys: Sequence[Sequence[Room]], well: Rect, storey_height: int) -> Stairs:
    """The flight leaves the hallway into the well; which way follows from where the hallway is."""
    lower, upper = (next(room for room in rooms if room.kind == HALLWAY) for rooms in storeys)
    corridor = lower.rects[0]
    cx, cz = corridor.center
    wx, wz = well.center
    climbs: Point
    if corridor.z1 == well.z0 or corridor.z0 == well.z1:
        climbs = (0, 1 if wz > cz else -1)
    else:
        climbs = (1 if wx > cx else -1, 0)
    half = -(-storey_height // (2 * RISER))
    return Stairs(lower_room=lower.room_id, upper_room=upper.room_id, flight=well, climbs=climbs, risers=2 * half)
