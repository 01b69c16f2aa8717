"""What goes into rooms of offices, shops and clinics, the important things first."""

from nav_eval_worlds.furniture import (
    bathroom_and_garage,
    decor,
    kitchen,
    public_pieces,
    sales_pieces,
    seats_tables_and_beds,
    storage,
)
from nav_eval_worlds.furniture.piece import Piece
from nav_eval_worlds.houses.placement import groups
from nav_eval_worlds.houses.placement.arrangement import (
    FurnitureGroup,
    GroupMember,
    RoomState,
    place_single,
    put_in_middle,
    put_on_wall,
    to_millimetres,
)


def furnish_open_office(work: RoomState) -> None:
    """Islands of desks, then what everybody shares."""
    draw = work.draw.fork("desks")
    desk = seats_tables_and_beds.make_desk(draw.fork("desk"))
    chair = seats_tables_and_beds.make_office_chair(draw.fork("chair"))
    for columns in (3, 2, 2, 1, 1):
        put_in_middle(work, _make_desk_island(desk, chair, columns))
    place_single(work, public_pieces.make_printer, like="corner", chance=0.8)
    place_single(work, storage.make_tall_cabinet, like="corner", chance=0.8)
    place_single(work, storage.make_bookshelf, like="corner", chance=0.8)
    place_single(work, storage.make_filing_cabinet, chance=0.8)
    place_single(work, public_pieces.make_water_cooler, like="corner", chance=0.6)
    for chance in (0.9, 0.7, 0.4):
        place_single(work, decor.make_plant, like="corner", chance=chance)
    place_single(work, kitchen.make_trash_can, like="corner", chance=0.9)


def furnish_meeting_room(work: RoomState) -> None:
    draw = work.draw.fork("meeting")
    chair = seats_tables_and_beds.make_office_chair(draw.fork("chair"))
    for table in (
        public_pieces.make_meeting_table(draw.fork("table")),
        seats_tables_and_beds.make_dining_table(draw.fork("small")),
    ):
        if any(put_in_middle(work, _make_meeting_group(table, chair, seats)) for seats in (4, 3, 2)):
            break
    place_single(work, storage.make_sideboard, like="center", chance=0.7)
    place_single(work, decor.make_plant, like="corner", chance=0.8)
    place_single(work, kitchen.make_trash_can, like="corner", chance=0.4)


def furnish_reception(work: RoomState) -> None:
    _place_reception_desk(work)
    place_single(work, seats_tables_and_beds.make_sofa, like="center", chance=0.8) or place_single(
        work, public_pieces.make_waiting_chairs
    )
    place_single(work, seats_tables_and_beds.make_armchair, like="corner", chance=0.6)
    place_single(work, seats_tables_and_beds.make_side_table, like="corner", chance=0.6)
    place_single(work, public_pieces.make_water_cooler, like="corner", chance=0.5)
    place_single(work, decor.make_plant, like="corner", chance=0.9)
    place_single(work, storage.make_coat_rack, like="corner", chance=0.5)


def furnish_waiting_room(work: RoomState) -> None:
    _place_reception_desk(work)
    for chance in (1.0, 0.9, 0.7, 0.4):
        place_single(work, public_pieces.make_waiting_chairs, chance=chance)
    groups.place_low_table(work)
    place_single(work, storage.make_low_shelves, like="corner", chance=0.5)
    place_single(work, public_pieces.make_water_cooler, like="corner", chance=0.6)
    place_single(work, decor.make_plant, like="corner", chance=0.8)
    place_single(work, kitchen.make_trash_can, like="corner", chance=0.7)
    place_single(work, storage.make_coat_rack, like="corner", chance=0.5)


def furnish_treatment_room(work: RoomState) -> None:
    place_single(work, public_pieces.make_examination_table, like="corner")
    groups.place_desk(work)
    groups.place_vanity(work)
    place_single(work, storage.make_tall_cabinet, like="corner", chance=0.8)
    place_single(work, public_pieces.make_trolley, like="corner", chance=0.7)
    place_single(work, seats_tables_and_beds.make_chair, like="corner", chance=0.8)
    place_single(work, seats_tables_and_beds.make_stool, like="corner", chance=0.6)
    place_single(work, kitchen.make_trash_can, like="corner", chance=0.9)


def furnish_sales_floor(work: RoomState) -> None:
    """A counter, shelves along the walls and in rows, clothes on rails."""
    draw = work.draw.fork("sales")
    place_single(work, sales_pieces.make_checkout_counter, like="corner")
    gondola = sales_pieces.make_gondola(draw.fork("gondola"))
    rack = sales_pieces.make_clothes_rack(draw.fork("rack"))
    clothes = draw.chance(0.5)
    for number in range(6):
        piece = rack if clothes and number % 2 else gondola
        put_in_middle(work, [GroupMember(piece, 0, 0)])
    for _ in range(5):
        place_single(work, sales_pieces.make_wall_gondola)
    place_single(work, sales_pieces.make_display_case, chance=0.8)
    place_single(work, sales_pieces.make_display_case, chance=0.5)
    place_single(work, bathroom_and_garage.make_standing_mirror, like="corner", chance=0.6 if clothes else 0.1)
    place_single(work, decor.make_plant, like="corner", chance=0.5)
    place_single(work, storage.make_basket, like="corner", chance=0.5)


def furnish_storage_room(work: RoomState) -> None:
    for chance in (1.0, 0.9, 0.7, 0.5):
        place_single(work, storage.make_storage_rack, chance=chance)
    place_single(work, public_pieces.make_trolley, like="corner", chance=0.7)
    place_single(work, bathroom_and_garage.make_ladder, like="corner", chance=0.6)
    place_single(work, bathroom_and_garage.make_workbench, chance=0.3)


def furnish_restroom(work: RoomState) -> None:
    place_single(work, bathroom_and_garage.make_toilet, like="corner")
    groups.place_vanity(work)
    place_single(work, kitchen.make_trash_can, like="corner", chance=0.9)
    place_single(work, storage.make_bathroom_cabinet, like="corner", chance=0.4)


def furnish_break_room(work: RoomState) -> None:
    """Besides the units of its kitchen."""
    groups.place_dining_corner(
        work, (seats_tables_and_beds.make_small_dining_table, seats_tables_and_beds.make_round_table), seats=4
    )
    place_single(work, sales_pieces.make_vending_machine, like="corner", chance=0.6)
    place_single(work, seats_tables_and_beds.make_sofa, chance=0.4)
    place_single(work, kitchen.make_trash_can, like="corner", chance=0.9)
    place_single(work, decor.make_plant, like="corner", chance=0.6)


def _place_reception_desk(work: RoomState) -> None:
    """The desk with a chair behind it, its front towards the room."""
    draw = work.draw.fork("reception")
    desk = public_pieces.make_reception_desk(draw.fork("desk"))
    chair = seats_tables_and_beds.make_office_chair(draw.fork("chair"))
    behind = to_millimetres(chair.size[2]) + 260
    depth = to_millimetres(desk.size[2])
    group = [
        GroupMember(desk, 0, behind + depth // 2),
        GroupMember(chair, 0, behind - to_millimetres(chair.size[2]) // 2 - 20),
    ]
    put_on_wall(work, group, like="center") or put_in_middle(work, [GroupMember(desk, 0, 0)])


def _make_desk_island(desk: Piece, chair: Piece, columns: int) -> FurnitureGroup:
    """Desks in two rows that look at each other, a chair at each."""
    width, depth = to_millimetres(desk.size[0]), to_millimetres(desk.size[2])
    out = depth + to_millimetres(chair.size[2]) // 2 + 20
    members = []
    for column in range(columns):
        x = round((column - (columns - 1) / 2) * (width + 20))
        members.append(GroupMember(desk, x, depth // 2 + 10, 0))
        members.append(GroupMember(desk, x, -depth // 2 - 10, 2))
        members.append(GroupMember(chair, x, out + 10, 2))
        members.append(GroupMember(chair, x, -out - 10, 0))
    return members


def _make_meeting_group(table: Piece, chair: Piece, per_side: int) -> FurnitureGroup:
    half_width, half_depth = to_millimetres(table.size[0]) // 2, to_millimetres(table.size[2]) // 2
    out = half_depth + to_millimetres(chair.size[2]) // 2 - 60
    step = 2 * half_width // per_side
    seats = [(-half_width + step // 2 + step * n, side) for n in range(per_side) for side in (-1, 1)]
    if step < to_millimetres(chair.size[0]) + 40:
        seats = [(0, -1), (0, 1)]
    return [
        GroupMember(table, 0, 0),
        *(GroupMember(chair, x, side * out, 2 if side > 0 else 0) for x, side in seats),
    ]
