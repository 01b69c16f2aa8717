"""What goes into which kind of room, the important things first."""

from collections.abc import Callable, Collection

from nav_eval_worlds.furniture import (
    bathroom_and_garage,
    decor,
    electronics,
    kitchen,
    seats_tables_and_beds,
    small,
    storage,
)
from nav_eval_worlds.furniture.piece import Piece, PieceMaker, get_piece_name
from nav_eval_worlds.houses.placement import groups
from nav_eval_worlds.houses.placement.arrangement import RoomState, make_wall_member, put_on_wall
from nav_eval_worlds.houses.placement.wall_pieces import hang_above
from nav_eval_worlds.houses.plan.model import (
    BATHROOM,
    BEDROOM,
    DINING,
    GARAGE,
    HALLWAY,
    KITCHEN,
    LAUNDRY,
    LIVING,
    OFFICE,
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
        hang_above(work, index, kitchen.make_hood_unit(draw, style), bottom=1.6, margin=0)
    elif below.category in ("kitchen cabinet", "dishwasher", "sink"):
        hang_above(work, index, kitchen.make_wall_unit(draw, style, width=below.size[0]), bottom=1.45, margin=0)


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
}


def find_missing_essentials(kind: str, categories: Collection[str]) -> list[str]:
    """Which essentials a room of this kind lacks."""
    return [options[0] for options in ESSENTIALS[kind] if not any(option in categories for option in options)]


def furnish_room(work: RoomState) -> None:
    """Fill one room with furniture that stands on the floor."""
    _FURNISH[work.room.kind](work)


def place_single(work: RoomState, maker: PieceMaker, *, like: str = "any", chance: float = 1.0) -> bool:
    """One piece at a wall; tried again in another size when it does not fit."""
    draw = work.draw.fork(get_piece_name(maker), len(work.placed))
    if not draw.chance(chance):
        return False
    return any(put_on_wall(work, [make_wall_member(maker(draw.fork(attempt)))], like=like) for attempt in range(2))


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
}
