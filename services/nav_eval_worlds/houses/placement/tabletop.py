"""Small things on tables, shelves, beds and worktops."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval_worlds.furniture import (
    bathroom_and_garage,
    decor,
    electronics,
    everyday_pieces,
    kitchen,
    sales_pieces,
    small,
    small_shapes,
)
from nav_eval_worlds.furniture.piece import Piece, PieceMaker, SupportSurface
from nav_eval_worlds.houses.placement.arrangement import RoomState
from nav_eval_worlds.houses.placement.everyday import choose_small_things
from nav_eval_worlds.houses.plan.model import (
    BEDROOM,
    GARAGE,
    HALLWAY,
    LIVING,
    MEETING,
    OFFICE,
    OPEN_OFFICE,
    RECEPTION,
    TREATMENT,
    WAITING,
)
from nav_eval_worlds.randomness import RandomStream

MARGIN = 0.012  #: metres between neighbours


@dataclass
class SurfaceFiller:
    """A surface that is being filled."""

    work: RoomState
    base: int
    surface: SupportSurface
    draw: RandomStream
    taken: list[tuple[float, float, float, float]] = field(default_factory=list)

    def put(self, piece: Piece, x: float, z: float, degrees: float = 0.0) -> bool:
        """Put the piece here if it fits; degrees are multiples of 90 or small twists."""
        width, height, depth = piece.size
        if round(degrees / 90) % 2:
            width, depth = depth, width
        grow = abs(degrees - 90 * round(degrees / 90)) / 90
        width, depth = width + grow * depth, depth + grow * width
        area = (x - width / 2, z - depth / 2, x + width / 2, z + depth / 2)
        (x0, x1), (z0, z1) = self.surface.x, self.surface.z
        inside = area[0] >= x0 - 0.001 and area[2] <= x1 + 0.001 and area[1] >= z0 - 0.001 and area[3] <= z1 + 0.001
        if not inside or height > self.surface.headroom or any(_is_crossing(area, other) for other in self.taken):
            return False
        self.taken.append(area)
        self._settle(piece, x, z, degrees)
        return True

    def scatter(self, makers: Sequence[PieceMaker], count: int) -> None:
        """Different things at random places."""
        (x0, x1), (z0, z1) = self.surface.x, self.surface.z
        for number, maker in enumerate(self.draw.shuffle(makers)[:count]):
            piece = maker(self.draw.fork("thing", number))
            for _ in range(8):
                x, z = self.draw.uniform(x0, x1), self.draw.uniform(z0, z1)
                if self.put(piece, x, z, self.draw.uniform(-20, 20)):
                    break

    @property
    def middle(self) -> tuple[float, float]:
        return sum(self.surface.x) / 2, sum(self.surface.z) / 2

    def _settle(self, piece: Piece, x: float, z: float, degrees: float) -> None:
        below = self.work.placed[self.base]
        cos, sin = ((1, 0), (0, 1), (-1, 0), (0, -1))[round(below.degrees / 90) % 4]
        px, py, pz = below.position
        at = (px + x * cos + z * sin, py + self.surface.y, pz - x * sin + z * cos)
        self.work.add(piece, at, below.degrees + degrees, on=self.base)


def fill_surfaces(work: RoomState) -> None:
    """Everything in the room that can carry things gets some."""
    for index in list(range(len(work.placed))):
        for number, surface in enumerate(work.placed[index].piece.surfaces):
            use = _get_use(work, surface)
            fill = _FILL.get(use)
            shelf = SurfaceFiller(work, index, surface, work.draw.fork("surface", index, number))
            if fill:
                fill(shelf)
            if work.draw.generator != FIRST_GENERATOR:
                _add_small_things(shelf, use)


def _get_use(work: RoomState, surface: SupportSurface) -> str:
    """Shelves for toys and dishes hold what belongs there only where children live and people eat."""
    room = work.room.kind
    if work.draw.generator == FIRST_GENERATOR:
        return surface.kind
    if surface.kind == "toys" and room not in (BEDROOM, LIVING, GARAGE, HALLWAY, WAITING):
        return "office shelf"
    if surface.kind == "dishes" and room in (OFFICE, OPEN_OFFICE, MEETING, RECEPTION, TREATMENT):
        return "medical" if room == TREATMENT else "office shelf"
    return "washing" if surface.kind == "laundry" else surface.kind


def _fill_dining_table(shelf: SurfaceFiller) -> None:
    centre = shelf.draw.choice((small.make_bowl, decor.make_vase, decor.make_small_plant, electronics.make_candle))
    shelf.put(centre(shelf.draw.fork("centre")), *shelf.middle)
    plate, cup = small.make_plate(shelf.draw.fork("plate")), small.make_cup(shelf.draw.fork("cup"))
    (x0, x1), (z0, z1) = shelf.surface.x, shelf.surface.z
    if not shelf.draw.chance(0.6):
        return
    for part in (0.22, 0.78):
        for z, side in ((z0 + 0.14, 1), (z1 - 0.14, -1)):
            shelf.put(plate, x0 + (x1 - x0) * part, z)
            shelf.put(cup, x0 + (x1 - x0) * part + 0.2, z + side * 0.03)


def _fill_desk(shelf: SurfaceFiller) -> None:
    x, z = shelf.middle
    back = shelf.surface.z[0]
    if shelf.draw.chance(0.7):
        shelf.put(electronics.make_monitor(shelf.draw.fork("monitor")), x, back + 0.12)
        shelf.put(electronics.make_keyboard(shelf.draw.fork("keyboard")), x, back + 0.38)
    else:
        shelf.put(electronics.make_laptop(shelf.draw.fork("laptop")), x, z)
    side = shelf.draw.choice((0, 1))
    lamp = electronics.make_desk_lamp(shelf.draw.fork("lamp"))
    shelf.put(lamp, shelf.surface.x[side] + (0.16 if side == 0 else -0.16), back + 0.12)
    shelf.scatter((small.make_book, small.make_cup, small.make_book_row, decor.make_small_plant), 2)


def _fill_nightstand(shelf: SurfaceFiller) -> None:
    x, z = shelf.middle
    shelf.put(electronics.make_table_lamp(shelf.draw.fork("lamp")), x, z - 0.04)
    shelf.scatter((small.make_book, small.make_cup), 1)


def _fill_seat(shelf: SurfaceFiller) -> None:
    """Cushions at the ends of a sofa, leaning back."""
    (x0, x1), back = shelf.surface.x, shelf.surface.z[0]
    ends = [x0 + 0.23, x1 - 0.23] if x1 - x0 > 1 else [(x0 + x1) / 2]
    for number, x in enumerate(ends):
        if shelf.draw.chance(0.6):
            shelf.put(small.make_cushion(shelf.draw.fork(number)), x, back + 0.12)


def _fill_bookcase(shelf: SurfaceFiller) -> None:
    """Rows of books from left to right, with a gap or an ornament now and then."""
    x, end = shelf.surface.x
    back, number = shelf.surface.z[0], 0
    while x < end - 0.12:
        draw = shelf.draw.fork(number)
        piece = draw.choose_weighted(
            [
                (small.make_book_row, 6.0),
                (decor.make_vase, 0.7),
                (small.make_storage_box, 0.7),
                (decor.make_small_plant, 0.6),
            ]
        )(draw)
        if x + piece.size[0] > end:
            break
        if not draw.chance(0.12):
            shelf.put(piece, x + piece.size[0] / 2, back + piece.size[2] / 2 + 0.01)
        x, number = x + piece.size[0] + 0.03, number + 1


def _fill_storage(shelf: SurfaceFiller) -> None:
    x, end = shelf.surface.x
    z, number = sum(shelf.surface.z) / 2, 0
    while x < end - 0.2:
        draw = shelf.draw.fork(number)
        piece = draw.choice(
            (small.make_cardboard_box, small.make_storage_box, bathroom_and_garage.make_toolbox, small.make_jar)
        )(draw)
        if draw.chance(0.7):
            shelf.put(piece, x + piece.size[0] / 2, z)
        x, number = x + piece.size[0] + 0.06, number + 1


def _fill_shoes(shelf: SurfaceFiller) -> None:
    x0, x1 = shelf.surface.x
    z = sum(shelf.surface.z) / 2
    for number, x in enumerate((x0 + 0.13, (x0 + x1) / 2, x1 - 0.13)):
        if shelf.draw.chance(0.7):
            shelf.put(small.make_shoes(shelf.draw.fork(number)), x, z)


def _fill_counter(shelf: SurfaceFiller) -> None:
    """A microwave now and then, otherwise a few small things."""
    if shelf.draw.chance(0.12):
        shelf.put(electronics.make_microwave(shelf.draw.fork("microwave")), *shelf.middle)
    else:
        shelf.scatter(_COUNTER, shelf.draw.integer(0, 2))


def _make_scatterer(low: int, high: int, *makers: PieceMaker) -> Callable[[SurfaceFiller], None]:
    def fill(shelf: SurfaceFiller) -> None:
        more = int(shelf.draw.generator != FIRST_GENERATOR and high > 1)  # homes are fuller than they were
        shelf.scatter(makers, shelf.draw.integer(low, high) + more)

    return fill


_COUNTER = (
    electronics.make_kettle,
    electronics.make_toaster,
    small.make_bottle,
    small.make_jar,
    small.make_bowl,
    small.make_cup,
    small.make_plate,
    kitchen.make_pot,
)
_TOYS = (small.make_ball, small.make_toy_blocks, small.make_teddy_bear, small.make_toy_car, small.make_book)

_FILL: dict[str, Callable[[SurfaceFiller], None]] = {
    "dining": _fill_dining_table,
    "desk": _fill_desk,
    "nightstand": _fill_nightstand,
    "seat": _fill_seat,
    "books": _fill_bookcase,
    "storage": _fill_storage,
    "shoes": _fill_shoes,
    "coffee": _make_scatterer(
        2,
        4,
        small.make_book,
        small.make_cup,
        decor.make_vase,
        decor.make_small_plant,
        electronics.make_candle,
        small.make_bowl,
    ),
    "side": _make_scatterer(1, 2, electronics.make_table_lamp, decor.make_small_plant, small.make_book, small.make_cup),
    "console": _make_scatterer(
        2,
        4,
        decor.make_vase,
        electronics.make_candle,
        decor.make_small_plant,
        electronics.make_table_lamp,
        small.make_jar,
        small.make_book,
        electronics.make_radio,
    ),
    "dresser": _make_scatterer(
        2,
        3,
        electronics.make_table_lamp,
        decor.make_vase,
        small.make_jar,
        small.make_bag,
        electronics.make_candle,
        electronics.make_radio,
    ),
    "counter": _fill_counter,
    "hob": _make_scatterer(0, 1, kitchen.make_pot),
    "workbench": _make_scatterer(
        2,
        3,
        bathroom_and_garage.make_toolbox,
        small.make_jar,
        small.make_bottle,
        small.make_storage_box,
        electronics.make_radio,
    ),
    "bed": _make_scatterer(0, 1, small.make_teddy_bear, small.make_folded_clothes, small.make_book, small.make_bag),
    "bench": _make_scatterer(0, 1, small.make_bag, small.make_book),
    "toys": _make_scatterer(1, 3, *_TOYS),
    "wall shelf": _make_scatterer(
        2, 3, small.make_book_row, decor.make_small_plant, decor.make_vase, small.make_jar, electronics.make_candle
    ),
    "vanity": _make_scatterer(1, 1, bathroom_and_garage.make_soap),
    "laundry": _make_scatterer(0, 2, small.make_folded_clothes, small.make_bottle, small.make_folded_towels),
}


def _fill_products(shelf: SurfaceFiller) -> None:
    """The same thing side by side, then the next."""
    x, end = shelf.surface.x
    z, number = sum(shelf.surface.z) / 2, 0
    while x < end - 0.06 and number < 12:
        draw = shelf.draw.fork(number)
        piece = sales_pieces.make_product(draw)
        for _ in range(draw.integer(1, 4)):
            if x + piece.size[0] > end:
                break
            shelf.put(piece, x + piece.size[0] / 2, z)
            x += piece.size[0] + 0.02
        x, number = x + 0.03 + 0.2 * draw.unit(), number + 1


def _fill_reception(shelf: SurfaceFiller) -> None:
    x, z = shelf.middle
    shelf.put(electronics.make_monitor(shelf.draw.fork("monitor")), x, z, 180)
    shelf.scatter((small.make_cup, small_shapes.make_magazine, decor.make_small_plant, small.make_book), 2)


_FILL |= {
    "products": _fill_products,
    "reception": _fill_reception,
    "magazines": _make_scatterer(0, 1, small_shapes.make_magazine, small.make_book, small.make_storage_box),
    "dishes": _make_scatterer(
        2, 4, small.make_bowl, small.make_plate, small.make_cup, small.make_jar, small.make_bottle
    ),
    "display": _make_scatterer(
        1, 2, decor.make_vase, small.make_storage_box, decor.make_small_plant, small.make_book, electronics.make_candle
    ),
    "counter top": _make_scatterer(
        1, 3, decor.make_small_plant, small_shapes.make_magazine, decor.make_vase, small_shapes.make_tissue_box
    ),
    "meeting": _make_scatterer(
        2, 5, electronics.make_laptop, small.make_cup, small.make_bottle, small.make_book, small_shapes.make_magazine
    ),
    "office shelf": _make_scatterer(
        1, 2, everyday_pieces.make_folder, small.make_book_row, small.make_storage_box, decor.make_small_plant
    ),
    "medical": _make_scatterer(
        1, 3, bathroom_and_garage.make_soap, small.make_jar, small_shapes.make_tissue_box, small.make_storage_box
    ),
    "washing": _make_scatterer(
        0,
        2,
        small.make_folded_clothes,
        small.make_folded_towels,
        small.make_storage_box,
        bathroom_and_garage.make_soap,
    ),
}


def _add_small_things(shelf: SurfaceFiller, use: str) -> None:
    """What people who use the place have left there, between the things that belong there."""
    draw = shelf.draw.fork("small things")
    makers = choose_small_things(use, shelf.work.room.kind, draw)
    replace(shelf, draw=draw).scatter(makers, len(makers))


def _is_crossing(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return (
        one[0] < other[2] + MARGIN
        and other[0] < one[2] + MARGIN
        and one[1] < other[3] + MARGIN
        and other[1] < one[3] + MARGIN
    )
