"""What goes into which kind of room, the important things first."""

from collections.abc import Callable, Collection

from nav_eval.scene.houses.furniture import (
    bathroom,
    decor,
    electronics,
    garage,
    kitchen,
    lighting,
    seating,
    sleeping,
    small,
    storage,
    tables,
)
from nav_eval.scene.houses.furniture.piece import Maker
from nav_eval.scene.houses.placement import groups
from nav_eval.scene.houses.placement.arranging import RoomWork, against_wall, put_on_wall
from nav_eval.scene.houses.placement.kitchens import furnish_kitchen
from nav_eval.scene.houses.plan.templates import (
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


def missing_essentials(kind: str, categories: Collection[str]) -> list[str]:
    """Which essentials a room of this kind lacks."""
    return [options[0] for options in ESSENTIALS[kind] if not any(option in categories for option in options)]


def furnish(work: RoomWork) -> None:
    """Fill one room with furniture that stands on the floor."""
    _FURNISH[work.room.kind](work)


def single(work: RoomWork, maker: Maker, *, like: str = "any", chance: float = 1.0) -> bool:
    """One piece at a wall; tried again in another size when it does not fit."""
    draw = work.draw.fork(maker.__name__, len(work.placed))
    if not draw.chance(chance):
        return False
    return any(put_on_wall(work, [against_wall(maker(draw.fork(attempt)))], like=like) for attempt in range(2))


def _living_room(work: RoomWork) -> None:
    groups.television_corner(work) or groups.seating_corner(work)
    if not any(room.kind == DINING for room in work.plan.rooms) and work.room.area > 22:
        groups.dining_corner(work, (tables.round_table, tables.small_dining_table), seats=4)
    single(work, storage.bookshelf, like="corner", chance=0.8)
    single(work, decor.fireplace, like="center", chance=0.3)
    single(work, decor.piano, chance=0.2)
    single(work, storage.sideboard, like="center", chance=0.6)
    single(work, seating.armchair, like="corner", chance=0.4)
    single(work, storage.tall_cabinet, like="corner", chance=0.3)
    single(work, lighting.floor_lamp, like="corner", chance=0.8)
    single(work, decor.plant, like="corner", chance=0.85)
    single(work, decor.plant, like="corner", chance=0.4)
    single(work, seating.pouf, like="corner", chance=0.3)
    single(work, tables.side_table, like="corner", chance=0.4)
    single(work, electronics.speaker, like="corner", chance=0.3)


def _kitchen(work: RoomWork) -> None:
    furnish_kitchen(work)
    if work.room.area > 13 and work.draw.fork("island").chance(0.4):
        groups.island(work)
    elif not any(room.kind == DINING for room in work.plan.rooms) or work.draw.fork("table").chance(0.5):
        groups.dining_corner(work, (tables.small_dining_table, tables.round_table), seats=4)
    single(work, kitchen.trash_can, like="corner", chance=0.9)
    single(work, storage.tall_cabinet, like="corner", chance=0.3)
    single(work, decor.plant, like="corner", chance=0.3)


def _dining_room(work: RoomWork) -> None:
    groups.dining_corner(work, (tables.dining_table, tables.round_table, tables.small_dining_table), seats=6)
    single(work, storage.sideboard, like="center")
    single(work, storage.tall_cabinet, like="corner", chance=0.5)
    single(work, decor.plant, like="corner", chance=0.7)
    single(work, lighting.floor_lamp, like="corner", chance=0.3)


def _bedroom(work: RoomWork) -> None:
    first = work.room.room_id == "bedroom_1"
    child = not first and work.draw.fork("child").chance(0.45)
    groups.bed_with_nightstands(
        work, sleeping.single_bed if child else sleeping.double_bed
    ) or groups.bed_with_nightstands(work, sleeping.single_bed)
    single(work, storage.wardrobe, like="corner") or single(work, storage.narrow_wardrobe, like="corner")
    if child:
        groups.desk_with_chair(work)
        single(work, storage.low_shelf, like="corner")
        single(work, storage.toy_chest, chance=0.7)
        groups.toys_on_floor(work)
    else:
        single(work, storage.dresser, like="center", chance=0.8)
        if work.room.area > 13:
            groups.desk_with_chair(work, chance=0.35)
        single(work, seating.armchair, like="corner", chance=0.4)
        single(work, bathroom.standing_mirror, like="corner", chance=0.4)
    single(work, storage.bookshelf, like="corner", chance=0.3)
    single(work, decor.plant, like="corner", chance=0.4)
    single(work, storage.basket, like="corner", chance=0.3)
    single(work, lighting.floor_lamp, like="corner", chance=0.25)


def _bathroom(work: RoomWork) -> None:
    draw = work.draw.fork("bathroom")
    if not (work.room.area > 5 and draw.chance(0.65) and single(work, bathroom.bathtub, like="corner")):
        groups.shower_in_corner(work)
    groups.vanity_with_mirror(work)
    single(work, bathroom.toilet, like="corner")
    single(work, storage.bathroom_cabinet, like="corner", chance=0.6)
    single(work, storage.basket, like="corner", chance=0.5)
    single(work, kitchen.trash_can, like="corner", chance=0.5)
    groups.bath_mat(work)


def _office(work: RoomWork) -> None:
    groups.desk_with_chair(work, like="center")
    single(work, storage.bookshelf, like="corner")
    single(work, storage.bookshelf, chance=0.7)
    single(work, storage.filing_cabinet, like="corner", chance=0.7)
    single(work, seating.armchair, like="corner", chance=0.6)
    single(work, decor.plant, like="corner", chance=0.7)
    single(work, lighting.floor_lamp, like="corner", chance=0.4)
    groups.rug_in_middle(work, chance=0.4)


def _laundry(work: RoomWork) -> None:
    groups.machines(work)
    single(work, storage.storage_rack, like="corner", chance=0.7)
    single(work, storage.basket, like="corner", chance=0.9)
    single(work, kitchen.trash_can, like="corner", chance=0.3)


def _garage(work: RoomWork) -> None:
    groups.parked_car(work)
    single(work, tables.workbench, like="center")
    single(work, storage.storage_rack, like="corner")
    single(work, garage.bicycle, chance=0.8)
    single(work, garage.tyres, like="corner", chance=0.7)
    single(work, garage.ladder, like="corner", chance=0.7)


def _hallway(work: RoomWork) -> None:
    draw = work.draw.fork("hallway")
    options: list[Maker] = draw.shuffled([tables.console_table, storage.shoe_cabinet, seating.bench])
    for maker in options[: draw.integer(1, 3)]:
        single(work, maker)
    single(work, storage.coat_rack, like="corner", chance=0.6)
    single(work, small.umbrella_stand, like="corner", chance=0.4)
    single(work, decor.plant, like="corner", chance=0.5)
    groups.runner(work, chance=0.7)


_FURNISH: dict[str, Callable[[RoomWork], None]] = {
    LIVING: _living_room,
    KITCHEN: _kitchen,
    DINING: _dining_room,
    BEDROOM: _bedroom,
    BATHROOM: _bathroom,
    OFFICE: _office,
    LAUNDRY: _laundry,
    GARAGE: _garage,
    HALLWAY: _hallway,
}
