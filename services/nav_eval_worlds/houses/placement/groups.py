"""Furniture that belongs together: table and chairs, bed and nightstands, sofa and television."""

from collections.abc import Sequence

from nav_eval_worlds.furniture import (
    bathroom_and_garage,
    decor,
    electronics,
    kitchen,
    seats_tables_and_beds,
    small,
    storage,
)
from nav_eval_worlds.furniture.piece import Piece, PieceMaker, PlacementRule, get_piece_name
from nav_eval_worlds.houses.placement.arrangement import (
    GAP,
    FurnitureGroup,
    GroupFrame,
    GroupMember,
    RoomState,
    make_wall_member,
    put_at,
    put_in_middle,
    put_on_wall,
    to_millimetres,
)
from nav_eval_worlds.houses.placement.wall_pieces import hang_above
from nav_eval_worlds.houses.plan.geometry import Edge


def place_television_corner(work: RoomState) -> bool:
    """A television at one wall and the sofa across from it, a coffee table and a rug between."""
    draw = work.draw.fork("television")
    stand, sofa = storage.make_tv_stand(draw.fork("stand")), seats_tables_and_beds.make_sofa(draw.fork("sofa"))
    table, rug = seats_tables_and_beds.make_coffee_table(draw.fork("table")), decor.make_rug(draw.fork("rug"))
    armchairs = draw.integer(0, 2)
    walls = draw.shuffle(range(len(work.space.walls)))
    for count in range(armchairs, -1, -1):
        for number in walls:
            across = _measure_room_depth(work, work.space.walls[number])
            for back in _list_sofa_backs(across, to_millimetres(stand.size[2]), to_millimetres(sofa.size[2])):
                group = _make_television_group(
                    (stand, sofa, table, rug), seats_tables_and_beds.make_armchair(draw.fork("armchair")), count, back
                )
                added = put_on_wall(work, group, like="center", walls=[number])
                if added:
                    _stand_on(work, added[0], electronics.make_tv(draw.fork("tv")))
                    return True
    return False


def place_seating_corner(work: RoomState) -> bool:
    """Without space for all of it: a sofa at a wall and a table before it."""
    draw = work.draw.fork("seating")
    sofa, table = (
        seats_tables_and_beds.make_sofa(draw.fork("sofa")),
        seats_tables_and_beds.make_coffee_table(draw.fork("table")),
    )
    before = GroupMember(table, 0, to_millimetres(sofa.size[2]) + 380 + to_millimetres(table.size[2]) // 2)
    placed = put_on_wall(work, [make_wall_member(sofa), before], like="center") or put_on_wall(
        work, [make_wall_member(sofa)]
    )
    stand = storage.make_tv_stand(draw.fork("stand"))
    added = put_on_wall(work, [make_wall_member(stand)], like="center")
    if added:
        _stand_on(work, added[0], electronics.make_tv(draw.fork("tv")))
    return bool(placed)


def place_dining_corner(work: RoomState, makers: Sequence[PieceMaker], *, seats: int) -> bool:
    """A table with chairs on its sides, where the room is widest; smaller ones if need be."""
    for number, maker in enumerate(makers):
        draw = work.draw.fork("dining", number)
        table, chair = maker(draw.fork("table")), seats_tables_and_beds.make_chair(draw.fork("chair"))
        for count in range(seats, 1, -2):
            group = _make_table_group(table, chair, count)
            if group and put_in_middle(work, group):
                return True
    return False


def place_island(work: RoomState) -> bool:
    """A kitchen island with stools on one side."""
    draw = work.draw.fork("island")
    block, stool = kitchen.make_kitchen_island(draw.fork("block")), seats_tables_and_beds.make_stool(draw.fork("stool"))
    z = to_millimetres(block.size[2]) // 2 + to_millimetres(stool.size[2]) // 2 + 20
    stools = [GroupMember(stool, x, z) for x in (-450, 0, 450) if abs(x) + 150 < to_millimetres(block.size[0]) // 2]
    return bool(
        put_in_middle(work, [GroupMember(block, 0, 0), *stools]) or put_in_middle(work, [GroupMember(block, 0, 0)])
    )


def place_bed(work: RoomState, maker: PieceMaker) -> bool:
    """The head at a wall; a nightstand on each side if there is space, otherwise on one."""
    draw = work.draw.fork("bed", get_piece_name(maker))
    bed, stand = maker(draw.fork("bed")), seats_tables_and_beds.make_nightstand(draw.fork("stand"))
    half = to_millimetres(bed.size[0]) // 2 + to_millimetres(stand.size[0]) // 2 + 30
    rug = decor.make_rug(draw.fork("rug"))
    mat = [GroupMember(rug, 0, to_millimetres(bed.size[2]) - 350)] if draw.chance(0.5) else []
    sides: list[list[int]] = [[-half, half], [half], [-half], []]
    for places in sides:
        group = [make_wall_member(bed), *(make_wall_member(stand, x) for x in places), *mat]
        if put_on_wall(work, group, like="center" if len(places) == 2 else "corner"):
            return True
    return bool(put_on_wall(work, [make_wall_member(bed)], like="corner"))


def place_desk(work: RoomState, *, like: str = "any", chance: float = 1.0) -> bool:
    draw = work.draw.fork("desk")
    if not draw.chance(chance):
        return False
    desk, chair = (
        seats_tables_and_beds.make_desk(draw.fork("desk")),
        seats_tables_and_beds.make_office_chair(draw.fork("chair")),
    )
    seat = GroupMember(chair, 0, to_millimetres(desk.size[2]) + to_millimetres(chair.size[2]) // 2 + 20, 2)
    return bool(put_on_wall(work, [make_wall_member(desk), seat], like=like))


def place_vanity(work: RoomState) -> bool:
    draw = work.draw.fork("vanity")
    for attempt in range(3):
        added = put_on_wall(work, [make_wall_member(bathroom_and_garage.make_vanity(draw.fork(attempt)))])
        if added:
            hang_above(work, added[0], bathroom_and_garage.make_mirror(draw.fork("mirror")), bottom=1.1)
            return True
    return False


def place_shower(work: RoomState) -> bool:
    """Its open sides are at +x and +z, so it goes to the low end of a wall."""
    shower = bathroom_and_garage.make_shower(work.draw.fork("shower"))
    member = make_wall_member(shower)
    for wall in work.draw.shuffle(work.space.walls):
        frame = GroupFrame(wall.at(to_millimetres(shower.size[0]) // 2 + GAP), wall.direction, wall.normal)
        if put_at(work, [member], frame):
            return True
    return bool(put_on_wall(work, [member], like="corner"))


def place_laundry_machines(work: RoomState) -> bool:
    """Washing machine and dryer side by side, with a sink if there is space."""
    draw = work.draw.fork("machines")
    washer, dryer = electronics.make_washing_machine(draw.fork("washer")), electronics.make_dryer(draw.fork("dryer"))
    sink = kitchen.make_sink_unit(draw.fork("sink"), kitchen.make_kitchen_style(draw.fork("style")))
    rows: list[list[Piece]] = [[washer, dryer, sink], [washer, dryer], [washer]]
    return any(put_on_wall(work, arrange_side_by_side(row, gap=20), like="corner") for row in rows)


def place_low_table(work: RoomState) -> bool:
    table = seats_tables_and_beds.make_coffee_table(work.draw.fork("low table"))
    return bool(put_in_middle(work, [GroupMember(table, 0, 0)]))


def place_car(work: RoomState) -> bool:
    car = bathroom_and_garage.make_car(work.draw.fork("car"))
    return bool(put_in_middle(work, [GroupMember(car, 0, 0)]))


def place_toys(work: RoomState) -> None:
    """A rug to play on, and toys beside the walls."""
    draw = work.draw.fork("toys")
    place_rug(work, chance=0.8)
    for number, maker in enumerate(
        draw.shuffle([small.make_ball, small.make_teddy_bear, small.make_toy_blocks, small.make_toy_car])[:2]
    ):
        put_on_wall(work, [make_wall_member(maker(draw.fork(number)))], like="corner")


def place_rug(work: RoomState, *, chance: float) -> None:
    draw = work.draw.fork("rug")
    if draw.chance(chance):
        _lay_rug(work, [decor.make_rug(draw.fork(attempt)) for attempt in range(2)])


def place_runner(work: RoomState, *, chance: float) -> None:
    draw = work.draw.fork("runner")
    if draw.chance(chance):
        _lay_rug(work, [decor.make_runner(draw.fork("rug"))])


def place_bath_mat(work: RoomState) -> None:
    _lay_rug(work, [decor.make_bath_mat(work.draw.fork("mat"))])


def arrange_side_by_side(pieces: Sequence[Piece], *, gap: int = 0) -> list[GroupMember]:
    """A row along a wall, centred on the group's origin."""
    widths = [to_millimetres(piece.size[0]) for piece in pieces]
    x = -(sum(widths) + gap * (len(pieces) - 1)) // 2
    row = []
    for piece, width in zip(pieces, widths, strict=True):
        row.append(make_wall_member(piece, x + width // 2))
        x += width + gap
    return row


def _lay_rug(work: RoomState, rugs: Sequence[Piece]) -> None:
    """Put the first rug that fits on free floor."""
    for rug in rugs:
        rects = [
            work.placed[index]
            for index in range(len(work.placed))
            if work.placed[index].piece.rule is PlacementRule.FLAT
        ]
        if not rects and put_in_middle(work, [GroupMember(rug, 0, 0)]):
            return


def _make_television_group(
    pieces: tuple[Piece, Piece, Piece, Piece], armchair: Piece, count: int, back: int
) -> FurnitureGroup:
    stand, sofa, table, rug = pieces
    sofa_z = back - to_millimetres(sofa.size[2]) // 2
    table_z = sofa_z - to_millimetres(sofa.size[2]) // 2 - 380 - to_millimetres(table.size[2]) // 2
    aside = max(to_millimetres(table.size[0]) // 2 + 320 + to_millimetres(armchair.size[2]) // 2, 1150)
    seats = [GroupMember(armchair, side * aside, table_z - 100, 3 if side > 0 else 1) for side in (-1, 1)[:count]]
    return [
        make_wall_member(stand),
        GroupMember(sofa, 0, sofa_z, 2),
        GroupMember(table, 0, table_z),
        *seats,
        GroupMember(rug, 0, table_z),
    ]


def _list_sofa_backs(across: int, stand: int, sofa: int) -> list[int]:
    """How far from the television's wall the back of the sofa may be: at the opposite wall, or with a way behind."""
    nearest = stand + 900 + 500 + 380 + sofa
    at_wall = across - GAP
    options = [at_wall] if nearest <= at_wall <= nearest + 1300 else []
    return options + [back for back in (nearest + 300, nearest) if across - back > 750]


def _measure_room_depth(work: RoomState, wall: Edge) -> int:
    """From this wall to the far side of the room."""
    bounds = work.space.bounds
    return bounds.width if wall.normal[0] else bounds.depth


def _make_table_group(table: Piece, chair: Piece, count: int) -> FurnitureGroup:
    """Chairs on the long sides, then at the ends, each a little under the table."""
    half_width, half_depth = to_millimetres(table.size[0]) // 2, to_millimetres(table.size[2]) // 2
    out = to_millimetres(chair.size[2]) // 2 - 110
    per_side = min(2 if half_width * 2 >= 1150 else 1, max(1, count // 2))
    offsets = [0] if per_side == 1 else [-half_width // 2, half_width // 2]
    chairs = [
        GroupMember(chair, x, side * (half_depth + out), 2 if side > 0 else 0) for side in (-1, 1) for x in offsets
    ]
    if count > len(chairs):
        chairs += [GroupMember(chair, side * (half_width + out), 0, 3 if side > 0 else 1) for side in (-1, 1)]
    return [GroupMember(table, 0, 0), *chairs]


def _stand_on(work: RoomState, base: int, piece: Piece) -> None:
    """Put a piece on the middle of another one's top, looking the same way."""
    below = work.placed[base]
    x, y, z = below.position
    work.add(piece, (x, y + below.piece.size[1], z), below.degrees, on=base)
