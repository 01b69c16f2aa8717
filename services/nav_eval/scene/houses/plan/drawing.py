"""Draw a floor plan: many candidates are cheap, so the best of several is taken.

A candidate without a decent plan of doors is dropped; the others are judged by how far rooms are
from their wanted size, how elongated they are, and whether people have daylight.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nav_eval.errors import SceneError
from nav_eval.scene.houses.plan import layout
from nav_eval.scene.houses.plan.doors import Neighbours, doors, joined
from nav_eval.scene.houses.plan.geometry import Point, Rect, bounding
from nav_eval.scene.houses.plan.layout import Arrangement, Wish, Zone
from nav_eval.scene.houses.plan.model import Opening, Plan, Room, Stairs
from nav_eval.scene.houses.plan.templates import HALLWAY, LIVING, ROOM_KINDS, Template
from nav_eval.scene.houses.plan.windows import outer_openings, outer_walls
from nav_eval.scene.houses.randomness import Draw

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


def draw_plan(draw: Draw, template: Template) -> Plan:
    """A floor plan of the template: a function of the draw alone."""
    best = min(_candidates(template, draw), key=lambda candidate: candidate.score)
    ceiling = round(draw.fork("ceiling").between(2500, 2850) / 20) * 20
    stairs = None if best.well is None else _stairs(best.storeys, best.well, ceiling + SLAB)
    return Plan(
        template=template.name,
        rooms=tuple(room for storey in best.storeys for room in storey),
        openings=tuple(_openings(best, draw)),
        ceiling=ceiling,
        storey_height=ceiling + SLAB,
        stairs=stairs,
    )


def _openings(candidate: _Candidate, draw: Draw) -> list[Opening]:
    found = []
    for number, (rooms, pairs) in enumerate(zip(candidate.storeys, candidate.pairs, strict=True)):
        ground = number == 0
        blind = [candidate.well] if candidate.well and ground else []
        found.extend(doors(pairs, draw.fork("doors", number)))
        found.extend(outer_openings(rooms, draw.fork("outer", number), entrance=ground, blind=blind))
    return found


def _candidates(template: Template, draw: Draw) -> list[_Candidate]:
    found: list[_Candidate] = []
    layouts = draw.fork("layouts").shuffled(template.layouts)
    for attempt in range(ATTEMPTS):
        # one kind of layout per house, so that the kind that fits most easily does not win every time
        kind = layouts[attempt * len(layouts) // ATTEMPTS]
        candidate = _candidate(template, kind, draw.fork("candidate", attempt))
        if candidate is not None:
            found.append(candidate)
        if len(found) == GOOD_ENOUGH or (found and attempt >= ATTEMPTS // 3):
            break
    if not found:
        raise SceneError(f"No floor plan was found for the template {template.name!r}; try another seed.")
    return found


def _candidate(template: Template, kind: str, draw: Draw) -> _Candidate | None:
    arrangements = _arrangements(template, kind, draw)
    if arrangements is None:
        return None
    storeys = _named(_turned(arrangements, draw.fork("turn")))
    pairs = [joined(rooms, draw.fork("joined", number)) for number, rooms in enumerate(storeys.rooms)]
    if any(pair is None for pair in pairs):
        return None
    score = sum(_score(rooms) for rooms in storeys.rooms) + 0.3 * draw.unit()
    return _Candidate(score, storeys.rooms, [pair for pair in pairs if pair is not None], storeys.well)


def _arrangements(template: Template, kind: str, draw: Draw) -> list[Arrangement] | None:
    wishes = [_wishes(kinds, draw.fork("areas", number)) for number, kinds in enumerate(template.storeys)]
    if len(wishes) == 2:
        return layout.stairs(wishes[0], wishes[1], draw.fork("stairs"))
    arrange = {"spine": layout.spine, "elbow": layout.elbow, "ring": layout.ring}[kind]
    found = arrange(wishes[0], draw.fork("layout"))
    return None if found is None else [found]


def _wishes(kinds: Sequence[str], draw: Draw) -> list[Wish]:
    return [Wish(kind, draw.between(*ROOM_KINDS[kind].area)) for kind in kinds]


@dataclass(frozen=True, slots=True)
class _Named:
    rooms: list[list[Room]]
    well: Rect | None


def _turned(arrangements: list[Arrangement], draw: Draw) -> list[Arrangement]:
    """Mirrored and turned at random, and moved to the origin."""
    swap, flip_x, flip_z = draw.chance(0.5), draw.chance(0.5), draw.chance(0.5)

    def turn(rect: Rect) -> Rect:
        x0, z0, x1, z1 = rect
        if flip_x:
            x0, x1 = -x1, -x0
        if flip_z:
            z0, z1 = -z1, -z0
        return Rect(z0, x0, z1, x1) if swap else Rect(x0, z0, x1, z1)

    whole = bounding([turn(rect) for zone in arrangements[0].zones for rect in zone.rects])

    def place(rect: Rect) -> Rect:
        return turn(rect).moved(-whole.x0, -whole.z0)

    return [
        Arrangement(
            [Zone(zone.kind, tuple(place(rect) for rect in zone.rects)) for zone in arrangement.zones],
            place(arrangement.stair_well) if arrangement.stair_well else None,
        )
        for arrangement in arrangements
    ]


def _named(arrangements: list[Arrangement]) -> _Named:
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
    return _Named(storeys, arrangements[0].stair_well)


def _score(rooms: Sequence[Room]) -> float:
    """Smaller is better."""
    daylight = {wall.room.room_id for wall in outer_walls(rooms) if wall.length > 1500}
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


def _stairs(storeys: Sequence[Sequence[Room]], well: Rect, storey_height: int) -> Stairs:
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
