"""Furniture that belongs together: table and chairs, bed and nightstands, sofa and television."""

from collections.abc import Sequence

from nav_eval.scene.houses.furniture import (
    bathroom,
    decor,
    electronics,
    garage,
    kitchen,
    seating,
    sleeping,
    small,
    storage,
    tables,
)
from nav_eval.scene.houses.furniture.piece import Maker, Piece, Rule
from nav_eval.scene.houses.placement.arranging import (
    GAP,
    Frame,
    Group,
    Member,
    RoomWork,
    against_wall,
    mm,
    put_at,
    put_in_middle,
    put_on_wall,
)
from nav_eval.scene.houses.placement.hanging import hang_above
from nav_eval.scene.houses.plan.geometry import Edge


def television_corner(work: RoomWork) -> bool:
    """A television at one wall and the sofa across from it, a coffee table and a rug between."""
    draw = work.draw.fork("television")
    stand, sofa = storage.tv_stand(draw.fork("stand")), seating.sofa(draw.fork("sofa"))
    table, rug = tables.coffee_table(draw.fork("table")), decor.rug(draw.fork("rug"))
    armchairs = draw.integer(0, 2)
    walls = draw.shuffled(range(len(work.space.walls)))
    for count in range(armchairs, -1, -1):
        for number in walls:
            across = _depth_of_room(work, work.space.walls[number])
            for back in _sofa_backs(across, mm(stand.size[2]), mm(sofa.size[2])):
                group = _television_group(
                    (stand, sofa, table, rug), seating.armchair(draw.fork("armchair")), count, back
                )
                added = put_on_wall(work, group, like="center", walls=[number])
                if added:
                    _stand_on(work, added[0], electronics.tv(draw.fork("tv")))
                    return True
    return False


def seating_corner(work: RoomWork) -> bool:
    """Without space for all of it: a sofa at a wall and a table before it."""
    draw = work.draw.fork("seating")
    sofa, table = seating.sofa(draw.fork("sofa")), tables.coffee_table(draw.fork("table"))
    before = Member(table, 0, mm(sofa.size[2]) + 380 + mm(table.size[2]) // 2)
    placed = put_on_wall(work, [against_wall(sofa), before], like="center") or put_on_wall(work, [against_wall(sofa)])
    stand = storage.tv_stand(draw.fork("stand"))
    added = put_on_wall(work, [against_wall(stand)], like="center")
    if added:
        _stand_on(work, added[0], electronics.tv(draw.fork("tv")))
    return bool(placed)


def dining_corner(work: RoomWork, makers: Sequence[Maker], *, seats: int) -> bool:
    """A table with chairs on its sides, where the room is widest; smaller ones if need be."""
    for number, maker in enumerate(makers):
        draw = work.draw.fork("dining", number)
        table, chair = maker(draw.fork("table")), seating.chair(draw.fork("chair"))
        for count in range(seats, 1, -2):
            group = _table_with_chairs(table, chair, count)
            if group and put_in_middle(work, group):
                return True
    return False


def island(work: RoomWork) -> bool:
    """A kitchen island with stools on one side."""
    draw = work.draw.fork("island")
    block, stool = tables.kitchen_island(draw.fork("block")), seating.stool(draw.fork("stool"))
    z = mm(block.size[2]) // 2 + mm(stool.size[2]) // 2 + 20
    stools = [Member(stool, x, z) for x in (-450, 0, 450) if abs(x) + 150 < mm(block.size[0]) // 2]
    return bool(put_in_middle(work, [Member(block, 0, 0), *stools]) or put_in_middle(work, [Member(block, 0, 0)]))


def bed_with_nightstands(work: RoomWork, maker: Maker) -> bool:
    """The head at a wall; a nightstand on each side if there is space, otherwise on one."""
    draw = work.draw.fork("bed", maker.__name__)
    bed, stand = maker(draw.fork("bed")), sleeping.nightstand(draw.fork("stand"))
    half = mm(bed.size[0]) // 2 + mm(stand.size[0]) // 2 + 30
    rug = decor.rug(draw.fork("rug"))
    mat = [Member(rug, 0, mm(bed.size[2]) - 350)] if draw.chance(0.5) else []
    sides: list[list[int]] = [[-half, half], [half], [-half], []]
    for places in sides:
        group = [against_wall(bed), *(against_wall(stand, x) for x in places), *mat]
        if put_on_wall(work, group, like="center" if len(places) == 2 else "corner"):
            return True
    return bool(put_on_wall(work, [against_wall(bed)], like="corner"))


def desk_with_chair(work: RoomWork, *, like: str = "any", chance: float = 1.0) -> bool:
    draw = work.draw.fork("desk")
    if not draw.chance(chance):
        return False
    desk, chair = tables.desk(draw.fork("desk")), seating.office_chair(draw.fork("chair"))
    seat = Member(chair, 0, mm(desk.size[2]) + mm(chair.size[2]) // 2 + 20, 2)
    return bool(put_on_wall(work, [against_wall(desk), seat], like=like))


def vanity_with_mirror(work: RoomWork) -> bool:
    draw = work.draw.fork("vanity")
    for attempt in range(3):
        added = put_on_wall(work, [against_wall(bathroom.vanity(draw.fork(attempt)))])
        if added:
            hang_above(work, added[0], bathroom.mirror(draw.fork("mirror")), bottom=1.1)
            return True
    return False


def shower_in_corner(work: RoomWork) -> bool:
    """Its open sides are at +x and +z, so it goes to the low end of a wall."""
    shower = bathroom.shower(work.draw.fork("shower"))
    member = against_wall(shower)
    for wall in work.draw.shuffled(work.space.walls):
        frame = Frame(wall.at(mm(shower.size[0]) // 2 + GAP), wall.direction, wall.normal)
        if put_at(work, [member], frame):
            return True
    return bool(put_on_wall(work, [member], like="corner"))


def machines(work: RoomWork) -> bool:
    """Washing machine and dryer side by side, with a sink if there is space."""
    draw = work.draw.fork("machines")
    washer, dryer = kitchen.washing_machine(draw.fork("washer")), kitchen.dryer(draw.fork("dryer"))
    sink = kitchen.sink_unit(draw.fork("sink"), kitchen.kitchen_style(draw.fork("style")))
    rows: list[list[Piece]] = [[washer, dryer, sink], [washer, dryer], [washer]]
    return any(put_on_wall(work, side_by_side(row, gap=20), like="corner") for row in rows)


def parked_car(work: RoomWork) -> bool:
    car = garage.car(work.draw.fork("car"))
    return bool(put_in_middle(work, [Member(car, 0, 0)]))


def toys_on_floor(work: RoomWork) -> None:
    """A rug to play on, and toys beside the walls."""
    draw = work.draw.fork("toys")
    rug_in_middle(work, chance=0.8)
    for number, maker in enumerate(draw.shuffled([small.ball, small.teddy_bear, small.toy_blocks, small.toy_car])[:2]):
        put_on_wall(work, [against_wall(maker(draw.fork(number)))], like="corner")


def rug_in_middle(work: RoomWork, *, chance: float) -> None:
    draw = work.draw.fork("rug")
    if draw.chance(chance):
        _lay(work, [decor.rug(draw.fork(attempt)) for attempt in range(2)])


def runner(work: RoomWork, *, chance: float) -> None:
    draw = work.draw.fork("runner")
    if draw.chance(chance):
        _lay(work, [decor.runner(draw.fork("rug"))])


def bath_mat(work: RoomWork) -> None:
    _lay(work, [decor.bath_mat(work.draw.fork("mat"))])


def side_by_side(pieces: Sequence[Piece], *, gap: int = 0) -> list[Member]:
    """A row along a wall, centred on the group's origin."""
    widths = [mm(piece.size[0]) for piece in pieces]
    x = -(sum(widths) + gap * (len(pieces) - 1)) // 2
    row = []
    for piece, width in zip(pieces, widths, strict=True):
        row.append(against_wall(piece, x + width // 2))
        x += width + gap
    return row


def _lay(work: RoomWork, rugs: Sequence[Piece]) -> None:
    """Put the first rug that fits on free floor."""
    for rug in rugs:
        rects = [work.placed[index] for index in range(len(work.placed)) if work.placed[index].piece.rule is Rule.FLAT]
        if not rects and put_in_middle(work, [Member(rug, 0, 0)]):
            return


def _television_group(pieces: tuple[Piece, Piece, Piece, Piece], armchair: Piece, count: int, back: int) -> Group:
    stand, sofa, table, rug = pieces
    sofa_z = back - mm(sofa.size[2]) // 2
    table_z = sofa_z - mm(sofa.size[2]) // 2 - 380 - mm(table.size[2]) // 2
    aside = max(mm(table.size[0]) // 2 + 320 + mm(armchair.size[2]) // 2, 1150)
    seats = [Member(armchair, side * aside, table_z - 100, 3 if side > 0 else 1) for side in (-1, 1)[:count]]
    return [against_wall(stand), Member(sofa, 0, sofa_z, 2), Member(table, 0, table_z), *seats, Member(rug, 0, table_z)]


def _sofa_backs(across: int, stand: int, sofa: int) -> list[int]:
    """How far from the television's wall the back of the sofa may be: at the opposite wall, or with a way behind."""
    nearest = stand + 900 + 500 + 380 + sofa
    at_wall = across - GAP
    options = [at_wall] if nearest <= at_wall <= nearest + 1300 else []
    return options + [back for back in (nearest + 300, nearest) if across - back > 750]


def _depth_of_room(work: RoomWork, wall: Edge) -> int:
    """From this wall to the far side of the room."""
    bounds = work.space.bounds
    return bounds.width if wall.normal[0] else bounds.depth


def _table_with_chairs(table: Piece, chair: Piece, count: int) -> Group:
    """Chairs on the long sides, then at the ends, each a little under the table."""
    half_width, half_depth = mm(table.size[0]) // 2, mm(table.size[2]) // 2
    out = mm(chair.size[2]) // 2 - 110
    per_side = min(2 if half_width * 2 >= 1150 else 1, max(1, count // 2))
    offsets = [0] if per_side == 1 else [-half_width // 2, half_width // 2]
    chairs = [Member(chair, x, side * (half_depth + out), 2 if side > 0 else 0) for side in (-1, 1) for x in offsets]
    if count > len(chairs):
        chairs += [Member(chair, side * (half_width + out), 0, 3 if side > 0 else 1) for side in (-1, 1)]
    return [Member(table, 0, 0), *chairs]


def _stand_on(work: RoomWork, base: int, piece: Piece) -> None:
    """Put a piece on the middle of another one's top, looking the same way."""
    below = work.placed[base]
    x, y, z = below.position
    work.add(piece, (x, y + below.piece.size[1], z), below.degrees, on=base)
