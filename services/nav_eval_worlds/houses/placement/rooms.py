"""What goes into which kind of room, the important things first."""

from collections.abc import Callable, Collection

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval_worlds.furniture import (
    bathroom_and_garage,
    decor,
    electronics,
    kitchen,
    kitchen_shapes,
    seats_tables_and_beds,
    small,
    storage,
)
from nav_eval_worlds.furniture.piece import Piece, PieceMaker
from nav_eval_worlds.houses.placement import groups, public_rooms
from nav_eval_worlds.houses.placement.arrangement import RoomState, place_single, put_on_wall
from nav_eval_worlds.houses.placement.wall_pieces import hang_above
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
from nav_eval_worlds.randomness import RandomStream

#: from generous to minimal; F refrigerator, C cabinet, N narrow cabinet, S sink, O stove, D dishwasher
_ROWS = ("FCSDCOC", "FCSCOC", "FCSOC", "CSCOC", "FSCO", "FSOC", "CSOC", "SCO", "SO")


def place_kitchen_units(work: RoomState) -> None:
    draw = work.draw.fork("kitchen")
    style = kitchen.make_kitchen_style(draw.fork("style"))
    row = _place_row(work, draw, style)
    if not work.has("refrigerator"):
        for pattern in ("FCC", "FC", "F"):
            if _put_row(work, pattern, draw.fork("cold", pattern), style):
                break
    elif draw.chance(0.5):
        _put_row(work, draw.choice(("CC", "CCC", "NC")), draw.fork("second"), style)
    for missing, category in (("S", "sink"), ("O", "stove")):
        if not work.has(category):
            _put_row(work, missing, draw.fork("missing", missing), style)
    for index in list(range(len(work.placed))) if row else []:
        _hang_over(work, index, draw.fork("above", index), style)


def _place_row(work: RoomState, draw: RandomStream, style: kitchen.KitchenStyle) -> bool:
    for pattern in _ROWS:
        order = pattern if draw.chance(0.5) else pattern[::-1]
        if _put_row(work, order, draw.fork("row", pattern), style):
            return True
    return False


def _put_row(work: RoomState, pattern: str, draw: RandomStream, style: kitchen.KitchenStyle) -> bool:
    pieces = [_make_unit(letter, draw.fork(place), style) for place, letter in enumerate(pattern)]
    return bool(put_on_wall(work, groups.arrange_side_by_side(pieces), like="corner"))


def _make_unit(letter: str, draw: RandomStream, style: kitchen.KitchenStyle) -> Piece:
    if draw.generator != FIRST_GENERATOR:
        return kitchen_shapes.make_unit(letter, draw, style)
    if letter == "C":
        return kitchen.make_base_unit(draw, style, width=0.6)
    if letter == "N":
        return kitchen.make_base_unit(draw, style, width=0.4)
    maker = {
        "F": kitchen.make_refrigerator_unit,
        "S": kitchen.make_sink_unit,
        "O": kitchen.make_stove_unit,
        "D": kitchen.make_dishwasher_unit,
    }[letter]
    return maker(draw, style)


def _hang_over(work: RoomState, index: int, draw: RandomStream, style: kitchen.KitchenStyle) -> None:
    """Wall units over floor units, a hood over the stove."""
    below = work.placed[index].piece
    if below.category == "stove":
        hang_above(work, index, _make_hood(draw, style), bottom=1.6, margin=0)
    elif below.category in ("kitchen cabinet", "dishwasher", "sink"):
        hang_above(work, index, _make_wall_unit(work, draw, style, width=below.size[0]), bottom=1.45, margin=0)


def _make_hood(draw: RandomStream, style: kitchen.KitchenStyle) -> Piece:
    if draw.generator == FIRST_GENERATOR:
        return kitchen.make_hood_unit(draw, style)
    return kitchen_shapes.make_unit("H", draw, style)


def _make_wall_unit(work: RoomState, draw: RandomStream, style: kitchen.KitchenStyle, *, width: float) -> Piece:
    """Mostly one shape in a kitchen, one that shows what is in it now and then."""
    if draw.generator == FIRST_GENERATOR:
        return kitchen.make_wall_unit(draw, style, width=width)
    usual = work.draw.fork("wall units").choice(kitchen_shapes.WALL_SHAPES[:3])
    shape = draw.choice(kitchen_shapes.WALL_SHAPES) if draw.chance(0.25) else usual
    return kitchen_shapes.make_wall_unit(draw, style, width=width, shape=shape)


#: what a room must have to be recognised; a tuple lists alternatives
ESSENTIALS: dict[str, tuple[tuple[str, ...], ...]] = {
    LIVING: (("sofa",), ("tv",)),
    KITCHEN: (("stove",), ("sink",), ("refrigerator",), ("kitchen cabinet",)),
    DINING: (("dining table",), ("chair",)),
    BEDROOM: (("bed",), ("wardrobe",)),
    BATHROOM: (("toilet",), ("sink",), ("bathtub", "shower")),
    OFFICE: (("desk",), ("office chair",)),
    LAUNDRY: (("washing machine",),),
    GARAGE: (("car", "bicycle"),),
    HALLWAY: (),
    OPEN_OFFICE: (("desk",), ("office chair",)),
    MEETING: (("meeting table", "dining table"), ("office chair",)),
    RECEPTION: (("reception desk",),),
    BREAK: (("sink",), ("refrigerator",)),
    RESTROOM: (("toilet",), ("sink",)),
    SALES: (("counter",), ("shelf",)),
    STORAGE: (("shelf",),),
    WAITING: (("bench",),),
    TREATMENT: (("examination table",), ("desk",)),
}


def find_missing_essentials(kind: str, categories: Collection[str]) -> list[str]:
    """Which essentials a room of this kind lacks."""
    return [options[0] for options in ESSENTIALS[kind] if not any(option in categories for option in options)]


def furnish_room(work: RoomState) -> None:
    """Fill one room with furniture that stands on the floor."""
    _FURNISH[work.room.kind](work)
    if work.draw.generator != FIRST_GENERATOR:
        _fill_up(work)


def _fill_up(work: RoomState) -> None:
    """More for large rooms, as long as floor is left: a piece for every few square metres above the usual."""
    usual, options = _MORE.get(work.room.kind, (0.0, ()))
    draw = work.draw.fork("more")
    wanted = max(0, round((work.room.area - usual) / 3.0))
    for maker in draw.shuffle(options)[:wanted]:
        place_single(work, maker, like=draw.choice(("corner", "any")))


#: square metres that the usual furniture fills, and what comes besides in larger rooms
_MORE: dict[str, tuple[float, tuple[PieceMaker, ...]]] = {
    LIVING: (
        16.0,
        (
            storage.make_bookshelf,
            storage.make_sideboard,
            seats_tables_and_beds.make_armchair,
            decor.make_plant,
            seats_tables_and_beds.make_pouf,
            electronics.make_floor_lamp,
            seats_tables_and_beds.make_console_table,
            storage.make_basket,
            seats_tables_and_beds.make_side_table,
        ),
    ),
    KITCHEN: (
        9.0,
        (storage.make_tall_cabinet, storage.make_basket, decor.make_plant, seats_tables_and_beds.make_stool),
    ),
    DINING: (10.0, (storage.make_sideboard, decor.make_plant, electronics.make_floor_lamp, storage.make_tall_cabinet)),
    BEDROOM: (
        9.0,
        (
            storage.make_dresser,
            seats_tables_and_beds.make_bench,
            decor.make_plant,
            storage.make_basket,
            seats_tables_and_beds.make_armchair,
            bathroom_and_garage.make_standing_mirror,
        ),
    ),
    OFFICE: (8.0, (storage.make_filing_cabinet, decor.make_plant, kitchen.make_trash_can, storage.make_low_shelves)),
    BATHROOM: (5.0, (storage.make_basket, storage.make_bathroom_cabinet, seats_tables_and_beds.make_stool)),
    GARAGE: (18.0, (storage.make_storage_rack, bathroom_and_garage.make_tyres, storage.make_toy_chest)),
    HALLWAY: (6.0, (seats_tables_and_beds.make_console_table, decor.make_plant, storage.make_shoe_cabinet)),
    OPEN_OFFICE: (
        20.0,
        (storage.make_filing_cabinet, decor.make_plant, storage.make_low_shelves, storage.make_bookshelf),
    ),
    WAITING: (12.0, (decor.make_plant, seats_tables_and_beds.make_armchair, seats_tables_and_beds.make_side_table)),
}


def _furnish_living_room(work: RoomState) -> None:
    groups.place_television_corner(work) or groups.place_seating_corner(work)
    if not any(room.kind == DINING for room in work.plan.rooms) and work.room.area > 22:
        groups.place_dining_corner(
            work, (seats_tables_and_beds.make_round_table, seats_tables_and_beds.make_small_dining_table), seats=4
        )
    place_single(work, storage.make_bookshelf, like="corner", chance=0.8)
    place_single(work, decor.make_fireplace, like="center", chance=0.3)
    place_single(work, decor.make_piano, chance=0.2)
    place_single(work, storage.make_sideboard, like="center", chance=0.6)
    place_single(work, seats_tables_and_beds.make_armchair, like="corner", chance=0.4)
    place_single(work, storage.make_tall_cabinet, like="corner", chance=0.3)
    place_single(work, electronics.make_floor_lamp, like="corner", chance=0.8)
    place_single(work, decor.make_plant, like="corner", chance=0.85)
    place_single(work, decor.make_plant, like="corner", chance=0.4)
    place_single(work, seats_tables_and_beds.make_pouf, like="corner", chance=0.3)
    place_single(work, seats_tables_and_beds.make_side_table, like="corner", chance=0.4)
    place_single(work, electronics.make_speaker, like="corner", chance=0.3)


def _furnish_kitchen(work: RoomState) -> None:
    place_kitchen_units(work)
    if work.room.area > 13 and work.draw.fork("island").chance(0.4):
        groups.place_island(work)
    elif not any(room.kind == DINING for room in work.plan.rooms) or work.draw.fork("table").chance(0.5):
        groups.place_dining_corner(
            work, (seats_tables_and_beds.make_small_dining_table, seats_tables_and_beds.make_round_table), seats=4
        )
    place_single(work, kitchen.make_trash_can, like="corner", chance=0.9)
    place_single(work, storage.make_tall_cabinet, like="corner", chance=0.3)
    place_single(work, decor.make_plant, like="corner", chance=0.3)


def _furnish_dining_room(work: RoomState) -> None:
    groups.place_dining_corner(
        work,
        (
            seats_tables_and_beds.make_dining_table,
            seats_tables_and_beds.make_round_table,
            seats_tables_and_beds.make_small_dining_table,
        ),
        seats=6,
    )
    place_single(work, storage.make_sideboard, like="center")
    place_single(work, storage.make_tall_cabinet, like="corner", chance=0.5)
    place_single(work, decor.make_plant, like="corner", chance=0.7)
    place_single(work, electronics.make_floor_lamp, like="corner", chance=0.3)


def _furnish_bedroom(work: RoomState) -> None:
    first = work.room.room_id == "bedroom_1"
    child = not first and work.draw.fork("child").chance(0.45)
    groups.place_bed(
        work, seats_tables_and_beds.make_single_bed if child else seats_tables_and_beds.make_double_bed
    ) or groups.place_bed(work, seats_tables_and_beds.make_single_bed)
    place_single(work, storage.make_wardrobe, like="corner") or place_single(
        work, storage.make_narrow_wardrobe, like="corner"
    )
    if child:
        groups.place_desk(work)
        place_single(work, storage.make_low_shelves, like="corner")
        place_single(work, storage.make_toy_chest, chance=0.7)
        groups.place_toys(work)
    else:
        place_single(work, storage.make_dresser, like="center", chance=0.8)
        if work.room.area > 13:
            groups.place_desk(work, chance=0.35)
        place_single(work, seats_tables_and_beds.make_armchair, like="corner", chance=0.4)
        place_single(work, bathroom_and_garage.make_standing_mirror, like="corner", chance=0.4)
    place_single(work, storage.make_bookshelf, like="corner", chance=0.3)
    place_single(work, decor.make_plant, like="corner", chance=0.4)
    place_single(work, storage.make_basket, like="corner", chance=0.3)
    place_single(work, electronics.make_floor_lamp, like="corner", chance=0.25)


def _furnish_bathroom(work: RoomState) -> None:
    draw = work.draw.fork("bathroom")
    if not (
        work.room.area > 5 and draw.chance(0.65) and place_single(work, bathroom_and_garage.make_bathtub, like="corner")
    ):
        groups.place_shower(work)
    groups.place_vanity(work)
    place_single(work, bathroom_and_garage.make_toilet, like="corner")
    place_single(work, storage.make_bathroom_cabinet, like="corner", chance=0.6)
    place_single(work, storage.make_basket, like="corner", chance=0.5)
    place_single(work, kitchen.make_trash_can, like="corner", chance=0.5)
    groups.place_bath_mat(work)


def _furnish_office(work: RoomState) -> None:
    groups.place_desk(work, like="center")
    place_single(work, storage.make_bookshelf, like="corner")
    place_single(work, storage.make_bookshelf, chance=0.7)
    place_single(work, storage.make_filing_cabinet, like="corner", chance=0.7)
    place_single(work, seats_tables_and_beds.make_armchair, like="corner", chance=0.6)
    place_single(work, decor.make_plant, like="corner", chance=0.7)
    place_single(work, electronics.make_floor_lamp, like="corner", chance=0.4)
    groups.place_rug(work, chance=0.4)


def _furnish_laundry(work: RoomState) -> None:
    groups.place_laundry_machines(work)
    place_single(work, storage.make_storage_rack, like="corner", chance=0.7)
    place_single(work, storage.make_basket, like="corner", chance=0.9)
    place_single(work, kitchen.make_trash_can, like="corner", chance=0.3)


def _furnish_garage(work: RoomState) -> None:
    groups.place_car(work)
    place_single(work, bathroom_and_garage.make_workbench, like="center")
    place_single(work, storage.make_storage_rack, like="corner")
    place_single(work, bathroom_and_garage.make_bicycle, chance=0.8)
    place_single(work, bathroom_and_garage.make_tyres, like="corner", chance=0.7)
    place_single(work, bathroom_and_garage.make_ladder, like="corner", chance=0.7)


def _furnish_break_room(work: RoomState) -> None:
    place_kitchen_units(work)
    public_rooms.furnish_break_room(work)


def _furnish_hallway(work: RoomState) -> None:
    draw = work.draw.fork("hallway")
    options: list[PieceMaker] = draw.shuffle(
        [seats_tables_and_beds.make_console_table, storage.make_shoe_cabinet, seats_tables_and_beds.make_bench]
    )
    for maker in options[: draw.integer(1, 3)]:
        place_single(work, maker)
    place_single(work, storage.make_coat_rack, like="corner", chance=0.6)
    place_single(work, small.make_umbrella_stand, like="corner", chance=0.4)
    place_single(work, decor.make_plant, like="corner", chance=0.5)
    groups.place_runner(work, chance=0.7)


_FURNISH: dict[str, Callable[[RoomState], None]] = {
    LIVING: _furnish_living_room,
    KITCHEN: _furnish_kitchen,
    DINING: _furnish_dining_room,
    BEDROOM: _furnish_bedroom,
    BATHROOM: _furnish_bathroom,
    OFFICE: _furnish_office,
    LAUNDRY: _furnish_laundry,
    GARAGE: _furnish_garage,
    HALLWAY: _furnish_hallway,
    OPEN_OFFICE: public_rooms.furnish_open_office,
    MEETING: public_rooms.furnish_meeting_room,
    RECEPTION: public_rooms.furnish_reception,
    BREAK: _furnish_break_room,
    RESTROOM: public_rooms.furnish_restroom,
    SALES: public_rooms.furnish_sales_floor,
    STORAGE: public_rooms.furnish_storage_room,
    WAITING: public_rooms.furnish_waiting_room,
    TREATMENT: public_rooms.furnish_treatment_room,
}
