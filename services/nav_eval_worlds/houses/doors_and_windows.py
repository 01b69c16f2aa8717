"""Doors and windows: what fills the holes in the walls."""

from dataclasses import replace

import numpy as np

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval_worlds.furniture.piece import BODY, SolidPart, make_parts
from nav_eval_worlds.houses.door_leaves import (
    FOOT_RAIL,
    PALE,
    is_glazed,
    is_public,
    make_glazed_leaf,
    make_smudges,
    make_solid_leaf,
)
from nav_eval_worlds.houses.plan.geometry import Edge, Rect
from nav_eval_worlds.houses.plan.model import WALL, FloorPlan, Opening, OpeningKind, Room
from nav_eval_worlds.houses.plan.openings import find_wall, get_leaf_rect
from nav_eval_worlds.houses.shell import LINING, OUTER, Fixture, RoomStyle, make_block
from nav_eval_worlds.materials import Finish, make_finish
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import SolidMesh, make_quad
from nav_eval_worlds.textures.outlooks import get_outlook

CASING = (60, 14)  #: width and thickness of the boards around a door
BAR = 55  #: width of window bars
THRESHOLD = 8
HORIZON = 1300  #: height above the floor at which the view's horizon is
VIEW_SPAN = 8.0  #: metres of outside that one repeat of the view shows


def make_openings(plan: FloorPlan, styles: dict[str, RoomStyle], draw: RandomStream) -> list[Fixture]:
    """All doors, archways and windows of the house."""
    found = []
    for opening in plan.openings:
        room = plan.room(opening.rooms[0])
        style, base = styles[room.room_id], plan.floor_of(room)
        if opening.kind is OpeningKind.WINDOW:
            found.append(_make_window(opening, room, style, base, draw))
        elif opening.kind is OpeningKind.ARCHWAY:
            found.append(_make_archway(opening, room, style, base))
        elif opening.kind is OpeningKind.DOOR:
            found.append(_make_door(plan, opening, room, style, base, draw))
        else:
            found.append(_make_closed_door(plan, opening, room, style, base, draw))
    return found


def _make_door(
    plan: FloorPlan, opening: Opening, room: Room, style: RoomStyle, base: int, draw: RandomStream
) -> Fixture:
    own = draw.fork("leaf", opening.opening_id)
    is_clear = is_glazed(plan, opening, own)
    is_touched = draw.generator != FIRST_GENERATOR and style.leaf.colour in PALE and own.chance(draw.style.wear)
    made = make_parts("frame", *_make_frame(opening, base), _make_threshold(opening, base))
    if opening.leaf:
        leaf_room = plan.room(opening.leaf.room)
        made += _make_leaf(opening, leaf_room, base, is_clear=is_clear, is_touched=is_touched)
    slot_body = {BODY: style.leaf, "frame": style.trim, "handle": _HANDLE}
    if is_clear:
        slot_body["glass"] = make_finish("glass", draw.fork("glass"))
    if is_touched:
        slot_body["smudge"] = make_finish("smudge", draw.fork("smudge"))
    owner = opening.leaf.room if opening.leaf else room.room_id
    if not opening.leaf:
        made = [SolidPart(BODY, part.mesh) for part in made]
        slot_body[BODY] = style.trim
    return Fixture(category="door" if opening.leaf else "doorway", room=owner, parts=tuple(made), finishes=slot_body)


def _make_archway(opening: Opening, room: Room, style: RoomStyle, base: int) -> Fixture:
    made = make_parts(BODY, _make_threshold(opening, base))
    return Fixture(category="doorway", room=room.room_id, parts=tuple(made), finishes={BODY: style.trim})


def _make_frame(opening: Opening, base: int) -> list[SolidMesh]:
    """Lining inside the hole, and casings on both faces of the wall."""
    low, high = opening.span
    reach, top = WALL // 2 + 4, base + opening.head
    width, thick = CASING
    boards = [
        make_block(_make_crossing_rect(opening, low - LINING, low, -reach, reach), base, top + LINING),
        make_block(_make_crossing_rect(opening, high, high + LINING, -reach, reach), base, top + LINING),
        make_block(_make_crossing_rect(opening, low, high, -reach, reach), top, top + LINING),
    ]
    for face in ((-WALL // 2 - thick, -WALL // 2), (WALL // 2, WALL // 2 + thick)):
        boards.append(make_block(_make_crossing_rect(opening, low - width, low - 5, *face), base, top + width))
        boards.append(make_block(_make_crossing_rect(opening, high + 5, high + width, *face), base, top + width))
        boards.append(make_block(_make_crossing_rect(opening, low - 5, high + 5, *face), top + 5, top + width))
    return boards


def _make_threshold(opening: Opening, base: int) -> SolidMesh:
    """A thin strip over the seam between two floors."""
    low, high = opening.span
    return make_block(
        _make_crossing_rect(opening, low - 2, high + 2, -WALL // 2, WALL // 2), base - 20, base + THRESHOLD
    )


def _make_leaf(opening: Opening, room: Room, base: int, *, is_clear: bool, is_touched: bool) -> list[SolidPart]:
    """The opened leaf, with a handle on both sides."""
    assert opening.leaf
    rect = get_leaf_rect(opening, room, opening.leaf)
    make = make_glazed_leaf if is_clear else make_solid_leaf
    made = make(rect, base + 12, base + opening.head - 10)
    thin_x = rect.width < rect.depth
    wall = find_wall(opening, room)
    far = wall.normal[0] + wall.normal[1] > 0  # the handle is at the end away from the wall
    if thin_x:
        z = rect.z1 - 70 if far else rect.z0 + 70
        grip = Rect(rect.x0 - 45, z - 60, rect.x1 + 45, z - 45)
    else:
        x = rect.x1 - 70 if far else rect.x0 + 70
        grip = Rect(x - 60, rect.z0 - 45, x - 45, rect.z1 + 45)
    made += make_parts("handle", make_block(grip, base + 1010, base + 1030))
    return made + (make_smudges(rect, z if thin_x else x, base + 1000) if is_touched else [])


def _make_closed_door(
    plan: FloorPlan, opening: Opening, room: Room, style: RoomStyle, base: int, house: RandomStream
) -> Fixture:
    """Front door or garage door, shut."""
    draw, gate = house.fork(opening.opening_id), opening.kind is OpeningKind.GATE
    is_clear = not gate and is_glazed(plan, opening, draw.fork("glazed"))
    made = make_parts("frame", *_make_frame(opening, base), _make_threshold(opening, base))
    leaf = _make_clear_slab(plan, opening, room, base) if is_clear else _make_slab(opening, room, base, gate=gate)
    inside = _get_inside_sign(opening, room)
    grip = sorted((inside * (WALL // 2 - 50), inside * (WALL // 2 + 10)))
    high = opening.span[1]
    handle = make_block(_make_crossing_rect(opening, high - 120, high - 90, *grip), base + 980, base + 1110)
    made += [*leaf, *make_parts("handle", handle)]
    body = make_finish("lacquer" if gate else draw.choice(("wood", "bright lacquer", "lacquer")), draw)
    finishes = {BODY: body, "frame": style.trim, "handle": _HANDLE}
    if is_clear:
        finishes |= {"glass": make_finish("glass", house.fork("glass")), "view": _make_outlook(house.fork("view"))}
    return Fixture(
        category="door",
        room=room.room_id,
        parts=tuple(made),
        finishes=finishes,
        name="garage door" if gate else "front door",
    )


def _make_slab(opening: Opening, room: Room, base: int, *, gate: bool) -> list[SolidPart]:
    """Closed, with raised fields on its inner face."""
    (low, high), inside = opening.span, _get_inside_sign(opening, room)
    face = sorted((inside * (WALL // 2 - 50), -inside * 20))
    made = make_parts(BODY, make_block(_make_crossing_rect(opening, low, high, *face), base, base + opening.head))
    field = sorted((inside * (WALL // 2 - 50), inside * (WALL // 2 - 38)))
    rows, columns = (4, 3) if gate else (2, 2)
    step, wide = (opening.head - 100) // rows, (high - low - 120) // columns
    for row in range(rows):
        bottom = base + 60 + row * step
        for part in range(columns):
            x = low + 60 + part * wide
            rect = _make_crossing_rect(opening, x + 30, x + wide - 30, *field)
            made += make_parts(BODY, make_block(rect, bottom + 40, bottom + step - 40))
    return made


def _make_clear_slab(plan: FloorPlan, opening: Opening, room: Room, base: int) -> list[SolidPart]:
    """Glass in a frame, all over at work and in the upper half at home, and what is outside behind it."""
    low, high = opening.span
    inside = _get_inside_sign(opening, room)
    face = sorted((inside * (WALL // 2 - 50), -inside * 20))
    rect = _make_crossing_rect(opening, low, high, *face)
    made = make_glazed_leaf(rect, base, base + opening.head, foot=FOOT_RAIL if is_public(plan) else 1180)
    return made + make_parts("view", _make_view(find_wall(opening, room), opening, depth=WALL // 2 + 19, base=base))


def _make_window(opening: Opening, room: Room, style: RoomStyle, base: int, draw: RandomStream) -> Fixture:
    """Frame with bars, glass, a sill board inside, and the view behind the glass."""
    low, high = opening.span
    inside = _get_inside_sign(opening, room)
    bottom, top = base + opening.sill, base + opening.head
    mid = sorted((-inside * 30, -inside * 85))
    made = make_parts(
        BODY,
        *(
            make_block(_make_crossing_rect(opening, a, b, *mid), bottom, top)
            for a, b in ((low, low + BAR), (high - BAR, high))
        ),
    )
    made += make_parts(
        BODY,
        *(
            make_block(_make_crossing_rect(opening, low + BAR, high - BAR, *mid), a, b)
            for a, b in ((bottom, bottom + BAR), (top - BAR, top))
        ),
    )
    sashes = max(1, round(opening.width / 850))
    for n in range(1, sashes):
        x = low + (high - low) * n // sashes
        made += make_parts(
            BODY, make_block(_make_crossing_rect(opening, x - 30, x + 30, *mid), bottom + BAR, top - BAR)
        )
    wall = find_wall(opening, room)
    made += make_parts("glass", _make_pane(wall, opening, depth=WALL // 2 + 55, base=base))
    made += make_parts("view", _make_view(wall, opening, depth=WALL // 2 + OUTER - 8, base=base))
    shelf = sorted((inside * (WALL // 2 + 60), -inside * 40))
    made += make_parts(
        BODY, make_block(_make_crossing_rect(opening, low - 40, high + 40, *shelf), bottom - 25, bottom + 5)
    )
    finishes = {
        BODY: style.trim,
        "glass": make_finish("glass", draw.fork("glass")),
        "view": _make_outlook(draw.fork("view")),
    }
    return Fixture(category="window", room=room.room_id, parts=tuple(made), finishes=finishes)


def _make_outlook(draw: RandomStream) -> Finish:
    """What all windows of the house show."""
    if draw.generator == FIRST_GENERATOR:
        return make_finish("view", draw)
    return make_finish("outlook", draw, patterns=(get_outlook(draw.style.place, draw.style.time),))


def _make_pane(wall: Edge, opening: Opening, *, depth: int, base: int) -> SolidMesh:
    """A quad that closes the opening at this depth behind the wall's face, towards the room."""
    middle, half = wall.along(opening.center), opening.width // 2
    (x0, z0), (x1, z1) = wall.at(middle - half - 2, -depth), wall.at(middle + half + 2, -depth)
    bottom, top = (base + opening.sill - 2) / 1000, (base + opening.head + 2) / 1000
    a, b = (x0 / 1000, bottom, z0 / 1000), (x1 / 1000, bottom, z1 / 1000)
    return make_quad(a, b, (b[0], top, b[2]), (a[0], top, a[2]))


def _make_view(wall: Edge, opening: Opening, *, depth: int, base: int) -> SolidMesh:
    """The outside as a picture that continues from window to window, horizon at eye level."""
    mesh = _make_pane(wall, opening, depth=depth, base=base)
    turn = {(0, 1): 0.0, (1, 0): 0.25, (0, -1): 0.5, (-1, 0): 0.75}[wall.normal]
    along = np.array([wall.along(opening.center) / 1000 + side * opening.width / 2000 for side in (-1, 1, 1, -1)])
    heights = mesh.positions[:, 1] - (base + HORIZON) / 1000
    uvs = np.column_stack([turn + along / VIEW_SPAN, np.clip(0.5 - heights / 5.0, 0.02, 0.98)])
    return replace(mesh, uvs=uvs, fit=True)


def _make_crossing_rect(opening: Opening, low: int, high: int, near: int, far: int) -> Rect:
    """A rectangle from `low` to `high` along the wall's axis and `near` to `far` across its centre line."""
    if opening.along_x:
        return Rect(low, opening.center[1] + near, high, opening.center[1] + far)
    return Rect(opening.center[0] + near, low, opening.center[0] + far, high)


def _get_inside_sign(opening: Opening, room: Room) -> int:
    """+1 when the room is on the side of larger coordinates."""
    nx, nz = find_wall(opening, room).normal
    return nz if opening.along_x else nx


_HANDLE = make_finish("chrome", RandomStream(0, "handle"))
