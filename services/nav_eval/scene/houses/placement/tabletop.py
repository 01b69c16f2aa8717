"""Small things on tables, shelves, beds and worktops."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nav_eval.scene.houses.furniture import bathroom, decor, electronics, garage, kitchen, lighting, small
from nav_eval.scene.houses.furniture.piece import Maker, Piece, Surface
from nav_eval.scene.houses.placement.arranging import RoomWork
from nav_eval.scene.houses.randomness import Draw

MARGIN = 0.012  #: metres between neighbours


@dataclass
class Shelf:
    """A surface that is being filled."""

    work: RoomWork
    base: int
    surface: Surface
    draw: Draw
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
        if not inside or height > self.surface.headroom or any(_cross(area, other) for other in self.taken):
            return False
        self.taken.append(area)
        self._settle(piece, x, z, degrees)
        return True

    def scatter(self, makers: Sequence[Maker], count: int) -> None:
        """Different things at random places."""
        (x0, x1), (z0, z1) = self.surface.x, self.surface.z
        for number, maker in enumerate(self.draw.shuffled(makers)[:count]):
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


def fill_surfaces(work: RoomWork) -> None:
    """Everything in the room that can carry things gets some."""
    for index in list(range(len(work.placed))):
        for number, surface in enumerate(work.placed[index].piece.surfaces):
            fill = _FILL.get(surface.kind)
            if fill:
                fill(Shelf(work, index, surface, work.draw.fork("surface", index, number)))


def _dining(shelf: Shelf) -> None:
    centre = shelf.draw.choice((small.bowl, decor.vase, decor.small_plant, lighting.candle))
    shelf.put(centre(shelf.draw.fork("centre")), *shelf.middle)
    plate, cup = small.plate(shelf.draw.fork("plate")), small.cup(shelf.draw.fork("cup"))
    (x0, x1), (z0, z1) = shelf.surface.x, shelf.surface.z
    if not shelf.draw.chance(0.6):
        return
    for part in (0.22, 0.78):
        for z, side in ((z0 + 0.14, 1), (z1 - 0.14, -1)):
            shelf.put(plate, x0 + (x1 - x0) * part, z)
            shelf.put(cup, x0 + (x1 - x0) * part + 0.2, z + side * 0.03)


def _desk(shelf: Shelf) -> None:
    x, z = shelf.middle
    back = shelf.surface.z[0]
    if shelf.draw.chance(0.7):
        shelf.put(electronics.monitor(shelf.draw.fork("monitor")), x, back + 0.12)
        shelf.put(electronics.keyboard(shelf.draw.fork("keyboard")), x, back + 0.38)
    else:
        shelf.put(electronics.laptop(shelf.draw.fork("laptop")), x, z)
    side = shelf.draw.choice((0, 1))
    lamp = lighting.desk_lamp(shelf.draw.fork("lamp"))
    shelf.put(lamp, shelf.surface.x[side] + (0.16 if side == 0 else -0.16), back + 0.12)
    shelf.scatter((small.book, small.cup, small.book_row, decor.small_plant), 2)


def _nightstand(shelf: Shelf) -> None:
    x, z = shelf.middle
    shelf.put(lighting.table_lamp(shelf.draw.fork("lamp")), x, z - 0.04)
    shelf.scatter((small.book, small.cup), 1)


def _seat(shelf: Shelf) -> None:
    """Cushions at the ends of a sofa, leaning back."""
    (x0, x1), back = shelf.surface.x, shelf.surface.z[0]
    ends = [x0 + 0.23, x1 - 0.23] if x1 - x0 > 1 else [(x0 + x1) / 2]
    for number, x in enumerate(ends):
        if shelf.draw.chance(0.6):
            shelf.put(small.cushion(shelf.draw.fork(number)), x, back + 0.12)


def _books(shelf: Shelf) -> None:
    """Rows of books from left to right, with a gap or an ornament now and then."""
    x, end = shelf.surface.x
    back, number = shelf.surface.z[0], 0
    while x < end - 0.12:
        draw = shelf.draw.fork(number)
        piece = draw.weighted(
            [(small.book_row, 6.0), (decor.vase, 0.7), (small.storage_box, 0.7), (decor.small_plant, 0.6)]
        )(draw)
        if x + piece.size[0] > end:
            break
        if not draw.chance(0.12):
            shelf.put(piece, x + piece.size[0] / 2, back + piece.size[2] / 2 + 0.01)
        x, number = x + piece.size[0] + 0.03, number + 1


def _storage(shelf: Shelf) -> None:
    x, end = shelf.surface.x
    z, number = sum(shelf.surface.z) / 2, 0
    while x < end - 0.2:
        draw = shelf.draw.fork(number)
        piece = draw.choice((small.cardboard_box, small.storage_box, garage.toolbox, small.jar))(draw)
        if draw.chance(0.7):
            shelf.put(piece, x + piece.size[0] / 2, z)
        x, number = x + piece.size[0] + 0.06, number + 1


def _shoes(shelf: Shelf) -> None:
    x0, x1 = shelf.surface.x
    z = sum(shelf.surface.z) / 2
    for number, x in enumerate((x0 + 0.13, (x0 + x1) / 2, x1 - 0.13)):
        if shelf.draw.chance(0.7):
            shelf.put(small.shoes(shelf.draw.fork(number)), x, z)


def _counter(shelf: Shelf) -> None:
    """A microwave now and then, otherwise a few small things."""
    if shelf.draw.chance(0.12):
        shelf.put(kitchen.microwave(shelf.draw.fork("microwave")), *shelf.middle)
    else:
        shelf.scatter(_COUNTER, shelf.draw.integer(0, 2))


def _scattered(makers: Sequence[Maker], low: int, high: int) -> Callable[[Shelf], None]:
    def fill(shelf: Shelf) -> None:
        shelf.scatter(makers, shelf.draw.integer(low, high))

    return fill


_COUNTER = (
    kitchen.kettle,
    kitchen.toaster,
    small.bottle,
    small.jar,
    small.bowl,
    small.cup,
    small.plate,
    kitchen.pot,
)
_TOYS = (small.ball, small.toy_blocks, small.teddy_bear, small.toy_car, small.book)

_FILL: dict[str, Callable[[Shelf], None]] = {
    "dining": _dining,
    "desk": _desk,
    "nightstand": _nightstand,
    "seat": _seat,
    "books": _books,
    "storage": _storage,
    "shoes": _shoes,
    "coffee": _scattered((small.book, small.cup, decor.vase, decor.small_plant, lighting.candle, small.bowl), 2, 4),
    "side": _scattered((lighting.table_lamp, decor.small_plant, small.book, small.cup), 1, 2),
    "console": _scattered(
        (decor.vase, lighting.candle, decor.small_plant, lighting.table_lamp, small.jar, small.book, electronics.radio),
        2,
        4,
    ),
    "dresser": _scattered(
        (lighting.table_lamp, decor.vase, small.jar, small.bag, lighting.candle, electronics.radio), 2, 3
    ),
    "counter": _counter,
    "hob": _scattered((kitchen.pot,), 0, 1),
    "workbench": _scattered((garage.toolbox, small.jar, small.bottle, small.storage_box, electronics.radio), 2, 3),
    "bed": _scattered((small.teddy_bear, small.folded_clothes, small.book, small.bag), 0, 1),
    "bench": _scattered((small.bag, small.book), 0, 1),
    "toys": _scattered(_TOYS, 1, 3),
    "wall shelf": _scattered((small.book_row, decor.small_plant, decor.vase, small.jar, lighting.candle), 2, 3),
    "vanity": _scattered((bathroom.soap,), 1, 1),
    "laundry": _scattered((small.folded_clothes, small.bottle, small.folded_towels), 0, 2),
}


def _cross(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return (
        one[0] < other[2] + MARGIN
        and other[0] < one[2] + MARGIN
        and one[1] < other[3] + MARGIN
        and other[1] < one[3] + MARGIN
    )
