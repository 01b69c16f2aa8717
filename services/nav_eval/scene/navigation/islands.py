"""Connected parts of the region: which there are, which one is the ground, which are no ground at all.

Table tops and roofs are flat and wide enough to stand on, but nobody walks there. They give themselves
away by their border: most of it falls down to another floor, or nothing stands there and other floors
lie below. Rooms end at walls. The ground is the largest part under a
ceiling if there is a considerable one, otherwise the largest part: never the lowest.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_inline, compile_kernel
from nav_eval.scene.navigation.clearance import get_neighbour
from nav_eval.scene.navigation.spans import EAST, NORTH, SOUTH, WEST
from nav_eval.scene.navigation.surface import ABSENT, FULL, PARTIAL

FURNITURE_AREA = 5.0  #: m²; so small a part may have a back rest or a wall behind it and still be furniture
HOLLOW_SHARE = 0.05  #: of the ground; a smaller part that cannot be reached from it is more likely a hollow than a room

_SOUTH_EAST = 1  #: side of `get_neighbour`


class IslandVerdict(StrEnum):
    GROUND = "ground"  #: where episodes take place
    KEPT = "kept"  #: another part that may be walked on: a room behind a closed door, a floor without stairs
    TOO_SMALL = "too small"  #: dropped: below the least area
    PLATFORM = "platform"  #: dropped: stands free above another floor, as table tops and roofs do


@dataclass(frozen=True, kw_only=True, slots=True)
class Island:
    """One connected part of the region."""

    index: int | None  #: what `island(point)` answers; None when dropped
    verdict: IslandVerdict
    area: float  #: m², seen from above
    height: float  #: mean height of its floor
    covered: float  #: fraction of the area under a ceiling
    ledge: float  #: fraction of the border where the floor just ends, without a wall
    drop: float  #: fraction of the border where it falls down to another floor
    above: float  #: fraction of the area that has another floor below it


class _Measured(NamedTuple):
    area: NDArray[np.float64]
    height: NDArray[np.float64]
    covered: NDArray[np.float64]
    above: NDArray[np.float64]
    ledges: NDArray[np.float64]
    drops: NDArray[np.float64]
    borders: NDArray[np.float64]


class NodeTraits(NamedTuple):
    """What is known of every node before it belongs to an island."""

    floor: NDArray[np.float32]
    covered: NDArray[np.bool_]  #: is there a ceiling?
    above: NDArray[np.bool_]  #: is there another floor below?
    ledge: NDArray[np.bool_]  #: is the nearest border a ledge?
    drop: NDArray[np.bool_]  #: is it a ledge above another floor?


@compile_kernel
def mark_quads(links: NDArray[np.int32], margin: NDArray[np.float32]) -> NDArray[np.uint8]:
    """ABSENT, PARTIAL or FULL for the quad south-east of every node."""
    quads = np.zeros(len(margin), dtype=np.uint8)
    for node in range(len(margin)):
        far = get_neighbour(links, node, _SOUTH_EAST)
        if far < 0:
            continue
        inside = int(margin[node] >= 0.0) + int(margin[far] >= 0.0)
        inside += int(margin[links[node, EAST]] >= 0.0) + int(margin[links[node, SOUTH]] >= 0.0)
        quads[node] = FULL if inside == 4 else (PARTIAL if inside > 0 else ABSENT)
    return quads


@compile_inline
def find_joined_node(
    links: NDArray[np.int32], margin: NDArray[np.float32], quads: NDArray[np.uint8], node: int, side: int
) -> int:
    """The inside node across a triangle edge on one of six sides, if a present triangle has that edge; else −1."""
    if side < 4:
        other = links[node, side]
        if other < 0 or margin[other] < 0.0:
            return -1
        low = node if side < 2 else other  # the quads on both sides of the edge start at its lower end, or beside it
        across = links[low, NORTH if side % 2 == 0 else WEST]
        if quads[low] == ABSENT and (across < 0 or quads[across] == ABSENT):
            return -1
        return int(other)
    if side == 4:
        far = get_neighbour(links, node, 1)
        return far if far >= 0 and quads[node] != ABSENT and margin[far] >= 0.0 else -1
    near = get_neighbour(links, node, 5)
    return near if near >= 0 and quads[near] != ABSENT and margin[near] >= 0.0 else -1


@compile_kernel
def label_islands(
    links: NDArray[np.int32], margin: NDArray[np.float32], quads: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], int]:
    """Number the connected parts in the order of their first nodes."""
    labels = np.full(len(margin), -1, dtype=np.int32)
    stack = np.empty(len(margin), dtype=np.int32)
    count = 0
    for seed in range(len(margin)):
        if labels[seed] >= 0 or margin[seed] < 0.0:
            continue
        labels[seed] = count
        stack[0], depth = seed, 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            for side in range(6):
                other = find_joined_node(links, margin, quads, node, side)
                if other >= 0 and labels[other] < 0:
                    labels[other] = count
                    stack[depth] = other
                    depth += 1
        count += 1
    return labels, count


@compile_kernel
def _compute_inside_share(first: float, second: float, third: float) -> float:
    """The share of a triangle's area where the linear function with these corner values is ≥ 0."""
    low, high = min(first, second, third), max(first, second, third)
    middle = first + second + third - low - high
    if low >= 0.0:
        return 1.0
    if high < 0.0:
        return 0.0
    if middle >= 0.0:
        return 1.0 - low / (low - high) * (low / (low - middle))
    return high / (high - low) * (high / (high - middle))


@compile_kernel
def _measure(
    links: NDArray[np.int32],
    margin: NDArray[np.float32],
    quads: NDArray[np.uint8],
    labels: NDArray[np.int32],
    traits: NodeTraits,
    totals: _Measured,
) -> None:
    """Sum up areas (in quads), heights and borders per label."""
    for node in range(len(margin)):
        if quads[node] == ABSENT:
            continue
        far = links[links[node, EAST], SOUTH]
        for direction in (EAST, SOUTH):
            beside = links[node, direction]
            owner = max(labels[node], labels[beside], labels[far])
            if owner < 0:
                continue
            share = 0.5 * _compute_inside_share(float(margin[node]), float(margin[beside]), float(margin[far]))
            totals.area[owner] += share
            totals.height[owner] += share * traits.floor[node]
            totals.covered[owner] += share if traits.covered[node] else 0.0
            totals.above[owner] += share if traits.above[node] else 0.0
            for corner in range(3):
                outside = node if corner == 0 else (beside if corner == 1 else far)
                if margin[outside] < 0.0:
                    totals.borders[owner] += 1.0
                    totals.ledges[owner] += 1.0 if traits.ledge[outside] else 0.0
                    totals.drops[owner] += 1.0 if traits.drop[outside] else 0.0


def measure_islands(
    links: NDArray[np.int32], margin: NDArray[np.float32], traits: NodeTraits, *, spacing: float
) -> tuple[NDArray[np.int32], list[Island]]:
    """The label of every node and, per label, what that part is like; verdicts are still open."""
    quads = mark_quads(links, margin)
    labels, count = label_islands(links, margin, quads)
    totals = _Measured(*(np.zeros(count) for _ in _Measured._fields))
    _measure(links, margin, quads, labels, traits, totals)
    area, border = np.maximum(totals.area, 1e-12), np.maximum(totals.borders, 1.0)
    islands = [
        Island(
            index=None,
            verdict=IslandVerdict.KEPT,
            area=float(totals.area[k]) * spacing * spacing,
            height=float(totals.height[k] / area[k]),
            covered=float(totals.covered[k] / area[k]),
            ledge=float(totals.ledges[k] / border[k]),
            drop=float(totals.drops[k] / border[k]),
            above=float(totals.above[k] / area[k]),
        )
        for k in range(count)
    ]
    return labels, islands


def judge_islands(islands: list[Island], *, least_area: float, keep_platforms: bool) -> list[IslandVerdict]:
    """Which parts stay. The ground always does; a least area of 0 keeps every other part as well."""
    if not islands:
        return []
    ground = _find_ground(islands)
    hollow = min(FURNITURE_AREA, HOLLOW_SHARE * islands[ground].area)  # the inside of a cupboard
    least = max(least_area, hollow) if least_area > 0.0 else 0.0
    verdicts = [_judge_island(island, least, keep_platforms) for island in islands]
    verdicts[ground] = IslandVerdict.GROUND
    return verdicts


def _find_ground(islands: list[Island]) -> int:
    everything = range(len(islands))
    largest = max(everything, key=lambda k: islands[k].area)
    indoors = max(everything, key=lambda k: islands[k].area * islands[k].covered)
    considerable = islands[indoors].area * islands[indoors].covered >= 0.2 * islands[largest].area
    return indoors if considerable else largest


def _judge_island(island: Island, least_area: float, keep_platforms: bool) -> IslandVerdict:
    if island.area < least_area:
        return IslandVerdict.TOO_SMALL
    most_of_it_falls = island.drop > 0.5 or (island.drop > 0.05 and island.area < FURNITURE_AREA)
    stands_free = most_of_it_falls or (island.ledge > 0.5 and island.above > 0.5)
    return IslandVerdict.PLATFORM if stands_free and not keep_platforms else IslandVerdict.KEPT
