"""Ways to arrange the rooms of one storey around its hallway.

Rooms stand in blocks along the hallway and are sliced off a block by their areas, as in most real
flats: every room touches the hallway or a room that leads there, corridors are straight, and all
outlines are rectilinear. Four arrangements: `spine` (one straight hallway), `elbow` (an L), `ring`
(two hallways around a core of small rooms) and `stairs` (a spine with a stair well, twice).

An arrangement may fail (None): the caller draws again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from nav_eval_worlds.houses.plan.geometry import Rect
from nav_eval_worlds.houses.plan.model import BATHROOM, BEDROOM, DINING, GARAGE, HALLWAY, KITCHEN, LIVING, ROOM_KINDS
from nav_eval_worlds.randomness import RandomStream

BLOCK_DEPTH = (2900, 5600)  #: how deep rooms may reach away from the hallway
STAIR_WIDTH = 2300  #: two flights side by side, wall centre to wall centre
STAIR_DEPTH = 3400  #: flight, landing and walls
SHORTEST_HALLWAY = 2200
SMALL_DEPTH = 1700  #: the least depth of a room in a shared column


class WantedRoom(NamedTuple):
    """A room to be placed."""

    kind: str
    area: float


class Zone(NamedTuple):
    """A placed room."""

    kind: str
    rects: tuple[Rect, ...]


#: rooms that share a slice of a block; the first one is at the hallway
Column = tuple[WantedRoom, ...]


class Block(NamedTuple):
    """A strip of rooms along a hallway."""

    rect: Rect
    along_x: bool  #: the hallway runs along x
    hallway_low: bool  #: the hallway is on the side of smaller x or z


class Arrangement(NamedTuple):
    """One storey."""

    zones: list[Zone]
    stair_well: Rect | None = None


def arrange_spine(wishes: Sequence[WantedRoom], draw: RandomStream) -> Arrangement | None:
    """A straight hallway with rooms on both sides; the living room may swallow its end."""
    corridor = _snap(draw.between(1300, 1700))
    near, far = _split_sides(wishes, draw)
    depth = draw.between(3400, 4600)
    length = _snap((_sum_area(near) + _sum_area(far)) * 1e6 / (2 * depth))
    deep_near, deep_far = _snap(_sum_area(near) * 1e6 / length), _snap(_sum_area(far) * 1e6 / length)
    if not (_is_fitting(deep_near) and _is_fitting(deep_far)):
        return None
    above = _slice_block(Block(Rect(0, -deep_near, length, 0), True, False), near)
    below = _slice_block(Block(Rect(0, corridor, length, corridor + deep_far), True, True), far)
    if above is None or below is None:
        return None
    hallway = Rect(0, 0, length, corridor)
    if length - above[0].rects[0].x1 >= SHORTEST_HALLWAY and draw.chance(0.65):
        above[0], hallway = _swallow(above[0], hallway)
    return Arrangement([*above, *below, Zone(HALLWAY, (hallway,))])


def arrange_elbow(wishes: Sequence[WantedRoom], draw: RandomStream) -> Arrangement | None:
    """A hallway with one corner, the living room outside the corner."""
    corridor = _snap(draw.between(1300, 1600))
    outer, inner, wing = _split_three_blocks(wishes, draw)
    deep_outer, deep_wing = _snap(draw.between(3400, 4800)), _snap(draw.between(3200, 4500))
    arm = _snap(_sum_area(outer) * 1e6 / deep_outer) - corridor - deep_wing
    wing_length = _snap(_sum_area(wing) * 1e6 / deep_wing)
    if arm < 3000 or not 3000 <= wing_length <= 15000:
        return None
    deep_inner = _snap(_sum_area(inner) * 1e6 / arm)
    if not _is_fitting(deep_inner):
        return None
    blocks = [
        (Block(Rect(0, -deep_outer, arm + corridor + deep_wing, 0), True, False), outer),
        (Block(Rect(0, corridor, arm, corridor + deep_inner), True, True), inner),
        (Block(Rect(arm + corridor, 0, arm + corridor + deep_wing, wing_length), False, True), wing),
    ]
    zones = _slice_all(blocks)
    if zones is None:
        return None
    hallway = (Rect(0, 0, arm + corridor, corridor), Rect(arm, corridor, arm + corridor, wing_length))
    return Arrangement([*zones, Zone(HALLWAY, hallway)])


def arrange_ring(wishes: Sequence[WantedRoom], draw: RandomStream) -> Arrangement | None:
    """Two hallways around a core of small rooms: two ways to everywhere."""
    corridor, deep_core = _snap(draw.between(1300, 1500)), _snap(draw.between(2000, 2500))
    core: list[Column] = [(wish,) for wish in wishes if ROOM_KINDS[wish.kind].small]
    ends = [wish for wish in wishes if wish.kind == LIVING]
    rest = [wish for wish in wishes if not ROOM_KINDS[wish.kind].small and wish.kind != LIVING]
    height = 2 * corridor + deep_core
    west = _snap(_sum_area([ends]) * 1e6 / height)
    core_length = _snap(_sum_area(core) * 1e6 / deep_core)
    length = west + 2 * corridor + core_length
    near, far = _split_evenly(rest, draw)
    deep_near, deep_far = _snap(_sum_area(near) * 1e6 / length), _snap(_sum_area(far) * 1e6 / length)
    if not (_is_fitting(deep_near) and _is_fitting(deep_far)):
        return None
    blocks = [
        (Block(Rect(0, -deep_near, length, 0), True, False), near),
        (Block(Rect(0, height, length, height + deep_far), True, True), far),
        (Block(Rect(west + corridor, corridor, length - corridor, corridor + deep_core), True, draw.chance(0.5)), core),
    ]
    zones = _slice_all(blocks)
    if zones is None or west < 3600:
        return None
    low = (Rect(west, 0, length, corridor), Rect(west, corridor, west + corridor, corridor + deep_core))
    high = (
        Rect(west, corridor + deep_core, length, height),
        Rect(length - corridor, corridor, length, corridor + deep_core),
    )
    return Arrangement([*zones, Zone(LIVING, (Rect(0, 0, west, height),)), Zone(HALLWAY, low), Zone(HALLWAY, high)])


def arrange_stairs(
    ground: Sequence[WantedRoom], upper: Sequence[WantedRoom], draw: RandomStream
) -> list[Arrangement] | None:
    """Two storeys on one outline, joined by a stair well beside the hallway."""
    corridor = _snap(draw.between(1400, 1800))
    area = (sum(w.area for w in ground) + sum(w.area for w in upper)) / 2
    deep_near, deep_far = _snap(draw.between(3500, 4800)), _snap(draw.between(STAIR_DEPTH + 200, 4800))
    length = _snap((area * 1e6 + STAIR_WIDTH * deep_far) / (deep_near + deep_far))
    well_start = length - STAIR_WIDTH if draw.chance(0.4) else _snap(length * draw.between(0.45, 0.65))
    storeys = []
    for number, wishes in enumerate((ground, upper)):
        found = _arrange_storey_with_stairs(
            wishes, draw.fork("storey", number), lengths=(length, well_start), depths=(deep_near, corridor, deep_far)
        )
        if found is None:
            return None
        storeys.append(found)
    return storeys


def _arrange_storey_with_stairs(
    wishes: Sequence[WantedRoom], draw: RandomStream, *, lengths: tuple[int, int], depths: tuple[int, int, int]
) -> Arrangement | None:
    (length, start), (deep_near, corridor, deep_far) = lengths, depths
    well = Rect(start, corridor, start + STAIR_WIDTH, corridor + deep_far)
    before, after = Rect(0, corridor, start, well.z1), Rect(well.x1, corridor, length, well.z1)
    order = _order_side(wishes, draw)
    groups = _split_by_area(order, [length * deep_near, before.area * 1e6, after.area * 1e6])
    blocks = [
        (Block(Rect(0, -deep_near, length, 0), True, False), groups[0]),
        (Block(before, True, True), groups[1]),
        (Block(after, True, True), groups[2]),
    ]
    if any((rect.rect.width > 0) != bool(group) for rect, group in blocks):
        return None
    zones = _slice_all([(block, group) for block, group in blocks if group])
    if zones is None:
        return None
    hallway = (Rect(0, 0, length, corridor), well)
    return Arrangement([*zones, Zone(HALLWAY, hallway)], well)


def _split_sides(wishes: Sequence[WantedRoom], draw: RandomStream) -> tuple[list[Column], list[Column]]:
    """Two sides of about equal area: shared rooms first, then the private ones."""
    named = {wish.kind: wish for wish in wishes}
    main = named.get(LIVING, wishes[0])
    near: list[Column] = [(main,)]
    far: list[Column] = []
    shared = [named[kind] for kind in (DINING, KITCHEN) if kind in named]
    if draw.chance(0.5):
        shared.reverse()
    for wish in shared:
        (near if _sum_area(near) < _sum_area(far) or (not far and draw.chance(0.3)) else far).append((wish,))
    private = _make_columns([wish for wish in wishes if not ROOM_KINDS[wish.kind].public], draw)
    private.sort(key=lambda column: any(wish.kind == GARAGE for wish in column))
    for column in private:
        (near if _sum_area(near) < _sum_area(far) else far).append(column)
    return near, far


def _split_three_blocks(
    wishes: Sequence[WantedRoom], draw: RandomStream
) -> tuple[list[Column], list[Column], list[Column]]:
    named = {wish.kind: wish for wish in wishes}
    outer: list[Column] = [(named[LIVING],)]
    inner: list[Column] = []
    wing: list[Column] = []
    shared = draw.shuffle([named[kind] for kind in (DINING, KITCHEN) if kind in named])
    wing.extend((wish,) for wish in shared[:1])
    (outer if draw.chance(0.5) else wing).extend((wish,) for wish in shared[1:])
    weights = [draw.uniform(0.9, 1.2), draw.uniform(0.5, 0.8), draw.uniform(0.8, 1.1)]
    for column in _make_columns([wish for wish in wishes if not ROOM_KINDS[wish.kind].public], draw):
        min(zip((outer, inner, wing), weights, strict=True), key=lambda pair: _sum_area(pair[0]) / pair[1])[0].append(
            column
        )
    outer.reverse()
    return outer, inner, wing


def _split_evenly(wishes: Sequence[WantedRoom], draw: RandomStream) -> tuple[list[Column], list[Column]]:
    near: list[Column] = []
    far: list[Column] = []
    for wish in _order_side(wishes, draw):
        (near if _sum_area(near) <= _sum_area(far) else far).append(wish)
    return near, far


def _order_side(wishes: Sequence[WantedRoom], draw: RandomStream) -> list[Column]:
    """Shared rooms first, so that they end up as neighbours."""
    shared = draw.shuffle([wish for wish in wishes if ROOM_KINDS[wish.kind].public])
    shared.sort(key=lambda wish: wish.kind != LIVING)
    private = _make_columns([wish for wish in wishes if not ROOM_KINDS[wish.kind].public], draw)
    return [*((wish,) for wish in shared), *private]


def _make_columns(wishes: Sequence[WantedRoom], draw: RandomStream) -> list[Column]:
    """Private rooms in random order; two small ones may share a column beside a bedroom."""
    small = [wish for wish in wishes if ROOM_KINDS[wish.kind].small]
    columns: list[Column] = [(wish,) for wish in draw.shuffle([w for w in wishes if not ROOM_KINDS[w.kind].small])]
    small.sort(key=lambda wish: wish.kind == BATHROOM)
    while len(small) >= 2 and draw.chance(0.7):
        pair = (small.pop(0), small.pop())
        beside = [place for place, column in enumerate(columns) if column[0].kind == BEDROOM]
        columns.insert(draw.choice(beside) + draw.below(2) if beside else 0, pair)
    for wish in small:
        columns.insert(draw.below(len(columns) + 1), (wish,))
    return columns


def _split_by_area(order: Sequence[Column], capacities: Sequence[float]) -> list[list[Column]]:
    """Fill the blocks one after another, each to about its share."""
    scale = _sum_area(order) / sum(capacities)
    groups: list[list[Column]] = [[] for _ in capacities]
    place = 0
    for column in order:
        while (
            place < len(capacities) - 1
            and _sum_area(groups[place]) + _sum_area([column]) / 2 > capacities[place] * scale
        ):
            place += 1
        groups[place].append(column)
    return groups


def _slice_all(blocks: Sequence[tuple[Block, list[Column]]]) -> list[Zone] | None:
    zones: list[Zone] = []
    for block, columns in blocks:
        found = _slice_block(block, columns)
        if found is None:
            return None
        zones.extend(found)
    return zones


def _slice_block(block: Block, columns: Sequence[Column]) -> list[Zone] | None:
    """Cut the block into columns by area; None when a room would be too narrow."""
    rect = block.rect
    start, length, depth = (rect.x0, rect.width, rect.depth) if block.along_x else (rect.z0, rect.depth, rect.width)
    cuts = _find_cuts(columns, length)
    stacks = [_stack_rooms(column, depth) for column in columns]
    if cuts is None:
        return None
    zones: list[Zone] = []
    for column, stack, low, high in zip(columns, stacks, cuts, cuts[1:], strict=False):
        if stack is None:
            return None
        zones.extend(_make_column_zones(block, column, (start + low, start + high), stack))
    return zones


def _find_cuts(columns: Sequence[Column], length: int) -> list[int] | None:
    """Where columns begin and end: widths by area, but none below what its rooms need."""
    least = [max(ROOM_KINDS[wish.kind].width for wish in column) for column in columns]
    shares = [length * _sum_area([column]) / _sum_area(columns) for column in columns]
    missing = sum(max(0.0, need - share) for need, share in zip(least, shares, strict=True))
    spare = sum(max(0.0, share - need) for need, share in zip(least, shares, strict=True))
    if missing > spare:
        return None
    taken = missing / spare if spare else 0.0
    widths = [need + max(0.0, share - need) * (1 - taken) for need, share in zip(least, shares, strict=True)]
    ends = [_snap(sum(widths[: n + 1])) for n in range(len(widths))]
    return [0, *ends[:-1], length]


def _stack_rooms(column: Column, depth: int) -> list[tuple[int, int]] | None:
    """Depth intervals of the rooms of one column, counted from the hallway."""
    if len(column) == 1:
        return [(0, depth)] if depth >= ROOM_KINDS[column[0].kind].width else None
    cut = _snap(depth * column[0].area / (column[0].area + column[1].area))
    return [(0, cut), (cut, depth)] if min(cut, depth - cut) >= SMALL_DEPTH else None


def _make_column_zones(
    block: Block, column: Column, interval: tuple[int, int], stack: Sequence[tuple[int, int]]
) -> list[Zone]:
    rect = block.rect
    edge = (rect.z0, rect.z1) if block.along_x else (rect.x0, rect.x1)
    zones = []
    for wish, (near, far) in zip(column, stack, strict=True):
        across = (edge[0] + near, edge[0] + far) if block.hallway_low else (edge[1] - far, edge[1] - near)
        x, z = (interval, across) if block.along_x else (across, interval)
        zones.append(Zone(wish.kind, (Rect(x[0], z[0], x[1], z[1]),)))
    return zones


def _swallow(zone: Zone, hallway: Rect) -> tuple[Zone, Rect]:
    """The first room takes over the end of the hallway beside it."""
    room = zone.rects[0]
    return Zone(zone.kind, (room._replace(z1=hallway.z1),)), hallway._replace(x0=room.x1)


def _sum_area(columns: Sequence[Sequence[WantedRoom]]) -> float:
    return sum(wish.area for column in columns for wish in column)


def _is_fitting(depth: int) -> bool:
    return BLOCK_DEPTH[0] <= depth <= BLOCK_DEPTH[1]


def _snap(value: float) -> int:
    return round(value / 100) * 100
