"""Doors and windows: what fills the holes in the walls."""

from dataclasses import replace

import numpy as np

from nav_eval.scene.houses.finishes import finish
from nav_eval.scene.houses.fixtures import Fixture
from nav_eval.scene.houses.furniture.piece import BODY, Part, parts
from nav_eval.scene.houses.plan.doors import leaf_rect, wall_of
from nav_eval.scene.houses.plan.geometry import Edge, Rect
from nav_eval.scene.houses.plan.model import WALL, Opening, OpeningKind, Plan, Room
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import Mesh, quad
from nav_eval.scene.houses.shell import LINING, OUTER, block
from nav_eval.scene.houses.styles import RoomStyle

CASING = (60, 14)  #: width and thickness of the boards around a door
BAR = 55  #: width of window bars
THRESHOLD = 8
HORIZON = 1300  #: height above the floor at which the view's horizon is
VIEW_SPAN = 8.0  #: metres of outside that one repeat of the view shows


def openings(plan: Plan, styles: dict[str, RoomStyle], draw: Draw) -> list[Fixture]:
    """All doors, archways and windows of the house."""
    found = []
    for opening in plan.openings:
        room = plan.room(opening.rooms[0])
        style, base = styles[room.room_id], plan.floor_of(room)
        if opening.kind is OpeningKind.WINDOW:
            found.append(_window(opening, room, style, base, draw))
        elif opening.kind is OpeningKind.ARCHWAY:
            found.append(_archway(opening, room, style, base))
        elif opening.kind is OpeningKind.DOOR:
            found.append(_door(plan, opening, room, style, base))
        else:
            found.append(_closed_door(opening, room, style, base, draw.fork(opening.opening_id)))
    return found


def _door(plan: Plan, opening: Opening, room: Room, style: RoomStyle, base: int) -> Fixture:
    made = parts("frame", *_frame(opening, base), _threshold(opening, base))
    if opening.leaf:
        made += _leaf(opening, plan.room(opening.leaf.room), base)
    slot_body = {BODY: style.leaf, "frame": style.trim, "handle": _HANDLE}
    owner = opening.leaf.room if opening.leaf else room.room_id
    if not opening.leaf:
        made = [Part(BODY, part.mesh) for part in made]
        slot_body[BODY] = style.trim
    return Fixture(category="door" if opening.leaf else "doorway", room=owner, parts=tuple(made), finishes=slot_body)


def _archway(opening: Opening, room: Room, style: RoomStyle, base: int) -> Fixture:
    made = parts(BODY, _threshold(opening, base))
    return Fixture(category="doorway", room=room.room_id, parts=tuple(made), finishes={BODY: style.trim})


def _frame(opening: Opening, base: int) -> list[Mesh]:
    """Lining inside the hole, and casings on both faces of the wall."""
    low, high = opening.span
    reach, top = WALL // 2 + 4, base + opening.head
    width, thick = CASING
    boards = [
        block(_across(opening, low - LINING, low, -reach, reach), base, top + LINING),
        block(_across(opening, high, high + LINING, -reach, reach), base, top + LINING),
        block(_across(opening, low, high, -reach, reach), top, top + LINING),
    ]
    for face in ((-WALL // 2 - thick, -WALL // 2), (WALL // 2, WALL // 2 + thick)):
        boards.append(block(_across(opening, low - width, low - 5, *face), base, top + width))
        boards.append(block(_across(opening, high + 5, high + width, *face), base, top + width))
        boards.append(block(_across(opening, low - 5, high + 5, *face), top + 5, top + width))
    return boards


def _threshold(opening: Opening, base: int) -> Mesh:
    """A thin strip over the seam between two floors."""
    low, high = opening.span
    return block(_across(opening, low - 2, high + 2, -WALL // 2, WALL // 2), base - 20, base + THRESHOLD)


def _leaf(opening: Opening, room: Room, base: int) -> list[Part]:
    """The opened leaf with raised fields and a handle on both sides."""
    assert opening.leaf
    rect = leaf_rect(opening, room, opening.leaf)
    made = parts(BODY, block(rect, base + 12, base + opening.head - 10))
    thin_x = rect.width < rect.depth
    for low, high in ((180, 880), (1040, 1880)):
        field = (
            Rect(rect.x0 - 6, rect.z0 + 130, rect.x1 + 6, rect.z1 - 130)
            if thin_x
            else Rect(rect.x0 + 130, rect.z0 - 6, rect.x1 - 130, rect.z1 + 6)
        )
        made += parts(BODY, block(field, base + low, base + high))
    wall = wall_of(opening, room)
    far = wall.normal[0] + wall.normal[1] > 0  # the handle is at the end away from the wall
    if thin_x:
        z = rect.z1 - 70 if far else rect.z0 + 70
        grip = Rect(rect.x0 - 45, z - 60, rect.x1 + 45, z - 45)
    else:
        x = rect.x1 - 70 if far else rect.x0 + 70
        grip = Rect(x - 60, rect.z0 - 45, x - 45, rect.z1 + 45)
    return made + parts("handle", block(grip, base + 1010, base + 1030))


def _closed_door(opening: Opening, room: Room, style: RoomStyle, base: int, draw: Draw) -> Fixture:
    """Front door or garage door, shut."""
    low, high = opening.span
    inside = _inside_sign(opening, room)
    face = sorted((inside * (WALL // 2 - 50), -inside * 20))
    made = parts("frame", *_frame(opening, base), _threshold(opening, base))
    made += parts(BODY, block(_across(opening, low, high, *face), base, base + opening.head))
    field = sorted((inside * (WALL // 2 - 50), inside * (WALL // 2 - 38)))
    gate = opening.kind is OpeningKind.GATE
    rows = 4 if gate else 2
    step = (opening.head - 100) // rows
    for row in range(rows):
        bottom = base + 60 + row * step
        for part in range(3 if gate else 2):
            wide = (high - low - 120) // (3 if gate else 2)
            x = low + 60 + part * wide
            made += parts(BODY, block(_across(opening, x + 30, x + wide - 30, *field), bottom + 40, bottom + step - 40))
    grip = sorted((inside * (WALL // 2 - 50), inside * (WALL // 2 + 10)))
    made += parts("handle", block(_across(opening, high - 120, high - 90, *grip), base + 980, base + 1110))
    body = finish("lacquer" if gate else draw.choice(("wood", "bright lacquer", "lacquer")), draw)
    name = "garage door" if gate else "front door"
    return Fixture(
        category="door",
        room=room.room_id,
        parts=tuple(made),
        finishes={BODY: body, "frame": style.trim, "handle": _HANDLE},
        name=name,
    )


def _window(opening: Opening, room: Room, style: RoomStyle, base: int, draw: Draw) -> Fixture:
    """Frame with bars, glass, a sill board inside, and the view behind the glass."""
    low, high = opening.span
    inside = _inside_sign(opening, room)
    bottom, top = base + opening.sill, base + opening.head
    mid = sorted((-inside * 30, -inside * 85))
    made = parts(
        BODY, *(block(_across(opening, a, b, *mid), bottom, top) for a, b in ((low, low + BAR), (high - BAR, high)))
    )
    made += parts(
        BODY,
        *(
            block(_across(opening, low + BAR, high - BAR, *mid), a, b)
            for a, b in ((bottom, bottom + BAR), (top - BAR, top))
        ),
    )
    sashes = max(1, round(opening.width / 850))
    for n in range(1, sashes):
        x = low + (high - low) * n // sashes
        made += parts(BODY, block(_across(opening, x - 30, x + 30, *mid), bottom + BAR, top - BAR))
    wall = wall_of(opening, room)
    made += parts("glass", _pane(wall, opening, depth=WALL // 2 + 55, base=base))
    made += parts("view", _view(wall, opening, depth=WALL // 2 + OUTER - 8, base=base))
    shelf = sorted((inside * (WALL // 2 + 60), -inside * 40))
    made += parts(BODY, block(_across(opening, low - 40, high + 40, *shelf), bottom - 25, bottom + 5))
    finishes = {
        BODY: style.trim,
        "glass": finish("glass", draw.fork("glass")),
        "view": finish("view", draw.fork("view")),
    }
    return Fixture(category="window", room=room.room_id, parts=tuple(made), finishes=finishes)


def _pane(wall: Edge, opening: Opening, *, depth: int, base: int) -> Mesh:
    """A quad that closes the opening at this depth behind the wall's face, towards the room."""
    middle, half = wall.along(opening.center), opening.width // 2
    (x0, z0), (x1, z1) = wall.at(middle - half - 2, -depth), wall.at(middle + half + 2, -depth)
    bottom, top = (base + opening.sill - 2) / 1000, (base + opening.head + 2) / 1000
    a, b = (x0 / 1000, bottom, z0 / 1000), (x1 / 1000, bottom, z1 / 1000)
    return quad(a, b, (b[0], top, b[2]), (a[0], top, a[2]))


def _view(wall: Edge, opening: Opening, *, depth: int, base: int) -> Mesh:
    """The outside as a picture that continues from window to window, horizon at eye level."""
    mesh = _pane(wall, opening, depth=depth, base=base)
    turn = {(0, 1): 0.0, (1, 0): 0.25, (0, -1): 0.5, (-1, 0): 0.75}[wall.normal]
    along = np.array([wall.along(opening.center) / 1000 + side * opening.width / 2000 for side in (-1, 1, 1, -1)])
    heights = mesh.positions[:, 1] - (base + HORIZON) / 1000
    uvs = np.column_stack([turn + along / VIEW_SPAN, np.clip(0.5 - heights / 5.0, 0.02, 0.98)])
    return replace(mesh, uvs=uvs, fit=True)


def _across(opening: Opening, low: int, high: int, near: int, far: int) -> Rect:
    """A rectangle from `low` to `high` along the wall's axis and `near` to `far` across its centre line."""
    if opening.along_x:
        return Rect(low, opening.center[1] + near, high, opening.center[1] + far)
    return Rect(opening.center[0] + near, low, opening.center[0] + far, high)


def _inside_sign(opening: Opening, room: Room) -> int:
    """+1 when the room is on the side of larger coordinates."""
    nx, nz = wall_of(opening, room).normal
    return nz if opening.along_x else nx


_HANDLE = finish("chrome", Draw(0, "handle"))
