"""What stops an agent at the edge of the spans, finer than a column, and how far every span is from it.

Where a span has no neighbour, the column there is either void (a ledge, open floor's end) or holds
something in the way of the body. For the latter the triangles are cut once more, to that column and to
the band between climb and height above the floor, and enclosed in a 16-sided outline. Straight walls of
any direction are met to a few millimetres this way, although columns are five centimetres wide.

Clearance is a brush fire over linked spans: each carries the nearest blocker it knows to its neighbours. Going along
the links keeps floors apart, and a step of a stair is no wall to the step below it.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_inline, compile_kernel
from nav_eval.scene.navigation.ground import AgentShape
from nav_eval.scene.navigation.spans import EAST, NORTH, SOUTH, WEST, Spans
from nav_eval.scene.navigation.tiles import (
    COLUMNS,
    MAX_CORNERS,
    TILE,
    Polygon,
    TileTriangles,
    Tiling,
    TriangleBins,
    compute_polygon_distance,
    copy_polygon,
    cut_to_slab,
    get_cells,
    get_column,
    get_range,
    get_tile_triangles,
    load_triangle,
)

#: outline directions (x, z); with their opposites sixteen sides
AXES = np.array([[1, 0], [0, 1], [1, 1], [1, -1], [2, 1], [1, 2], [2, -1], [1, -2]], dtype=np.float64)

LEAST_DROP = 0.25  #: metres between a ledge and the floor below that make it one of furniture

#: neighbours of a column in the order of their directions, and the two links that lead to each
_AROUND = np.array([[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]], dtype=np.int64)
_WAYS = np.array(
    [[EAST, -1], [EAST, SOUTH], [SOUTH, -1], [SOUTH, WEST], [WEST, -1], [WEST, NORTH], [NORTH, -1], [NORTH, EAST]],
    dtype=np.int64,
)


class BlockerPairs(NamedTuple):
    """Which spans see which blocked column; `blocker` indexes `Outlines`."""

    span: NDArray[np.int32]
    blocker: NDArray[np.int32]


class Outlines(NamedTuple):
    """The outline of every blocker, in columns: corners[first[k]:first[k + 1]] as (x, z)."""

    first: NDArray[np.int64]
    corners: Polygon
    is_ledge: NDArray[np.bool_]  #: nothing stands there: the floor ends, or falls by more than the climb
    is_drop: NDArray[np.bool_]  #: a ledge with another floor below it


@compile_inline
def get_neighbour(links: NDArray[np.int32], span: int, side: int) -> int:
    """The span on one of eight sides (east, then clockwise seen from above); −1 unless every way leads there."""
    first, second = _WAYS[side, 0], _WAYS[side, 1]
    beside = links[span, first]
    if second < 0 or beside < 0:
        return int(beside)
    other = links[span, second]
    if other < 0 or links[beside, second] != links[other, first]:
        return -1
    return int(links[beside, second])


@compile_kernel
def _is_blocked(spans: Spans, tiling: Tiling, span: int, side: int, climb: float) -> bool:
    """Is the column on this side no place for an agent that stands on the span?

    A diagonal neighbour behind two missing ones may still be floor of another part: no obstacle then.
    """
    first, second = _WAYS[side, 0], _WAYS[side, 1]
    if second < 0:
        return bool(spans.links[span, first] < 0)
    beside, other = spans.links[span, first], spans.links[span, second]
    if (beside >= 0 and spans.links[beside, second] >= 0) or (other >= 0 and spans.links[other, first] >= 0):
        return False
    column = get_column(tiling, spans.i[span] + _AROUND[side, 0], spans.j[span] + _AROUND[side, 1])
    if column >= 0:
        for there in range(spans.first[column], spans.first[column + 1]):
            if abs(spans.floor[there] - spans.floor[span]) <= climb:
                return False
    return True


@compile_kernel
def _find_border_spans(links: NDArray[np.int32]) -> NDArray[np.int32]:
    """The spans that miss a neighbour on some side."""
    found, count = np.empty(len(links), dtype=np.int32), 0
    for span in range(len(links)):
        east, south, west, north = links[span, EAST], links[span, SOUTH], links[span, WEST], links[span, NORTH]
        if min(east, south, west, north) >= 0 and (
            min(links[east, SOUTH], links[south, WEST], links[west, NORTH], links[north, EAST]) >= 0
        ):
            continue
        found[count] = span
        count += 1
    return found[:count]


@compile_kernel
def _find_blockers(
    spans: Spans, tiling: Tiling, climb: float
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    outermost = _find_border_spans(spans.links)
    most = 8 * len(outermost)
    seen_from, column = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int64)
    i, j = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    written = 0
    for span in outermost:
        for side in range(8):
            if not _is_blocked(spans, tiling, span, side, climb):
                continue
            i[written], j[written] = spans.i[span] + _AROUND[side, 0], spans.j[span] + _AROUND[side, 1]
            seen_from[written], column[written] = span, get_column(tiling, i[written], j[written])
            written += 1
    return seen_from[:written], column[:written], i[:written], j[:written]


@compile_kernel
def _extend_outline(
    outlines: NDArray[np.float64], blocker: int, polygon: Polygon, count: int, axes: NDArray[np.float64]
) -> None:
    """Grow the outline (lower bounds, then upper bounds along the axes) over a polygon."""
    sides = len(axes)
    for k in range(count):
        for side in range(sides):
            reach = axes[side, 0] * polygon[k, 0] + axes[side, 1] * polygon[k, 2]
            outlines[blocker, side] = min(outlines[blocker, side], reach)
            outlines[blocker, sides + side] = max(outlines[blocker, sides + side], reach)


@compile_kernel
def _extend_in_column(
    piece: Polygon,
    count: int,
    band: tuple[float, float],
    blockers: tuple[NDArray[np.float32], NDArray[np.float64]],
    span_of_blockers: tuple[int, int],
    axes: NDArray[np.float64],
    scratch: tuple[Polygon, Polygon],
) -> None:
    """Let a triangle piece grow the outlines of the blockers in its column, each within its own band."""
    floors, outlines = blockers
    cut_piece, spare = scratch
    low, high = get_range(piece, count, 1)
    for blocker in range(span_of_blockers[0], span_of_blockers[1]):
        lower, upper = floors[blocker] + band[0], floors[blocker] + band[1]
        if high <= lower or low >= upper:
            continue
        copy_polygon(piece, count, cut_piece)
        left = count
        if low < lower or high > upper:
            left = cut_to_slab(cut_piece, count, spare, 1, lower, upper)
        _extend_outline(outlines, blocker, cut_piece, left, axes)


@compile_kernel
def _trace_tile(
    tile: TileTriangles,
    first: NDArray[np.int64],
    band: tuple[float, float],
    reach: tuple[float, float],
    blockers: tuple[NDArray[np.float32], NDArray[np.float64]],
    axes: NDArray[np.float64],
) -> None:
    """Grow the outlines of one tile's blockers; `first` gives those of each column."""
    whole, strip, cell, spare = np.empty((8, 3)), np.empty((16, 3)), np.empty((16, 3)), np.empty((16, 3))
    scratch = (np.empty((16, 3)), np.empty((16, 3)))
    for member in tile.members:
        load_triangle(tile.positions, tile.triangles[member], tile.spacing, whole)
        low, high = get_range(whole, 3, 1)
        if high <= reach[0] or low >= reach[1]:
            continue
        lower, upper = get_range(whole, 3, 2)
        first_row, last_row = get_cells(lower, upper)
        for j in range(max(first_row, tile.j), min(last_row, tile.j + TILE - 1) + 1):
            copy_polygon(whole, 3, strip)
            in_strip = 3 if first_row == last_row else cut_to_slab(strip, 3, spare, 2, float(j), j + 1.0)
            if in_strip == 0:
                continue
            left, right = get_range(strip, in_strip, 0)
            first_place, last_place = get_cells(left, right)
            for i in range(max(first_place, tile.i), min(last_place, tile.i + TILE - 1) + 1):
                local = (j - tile.j) * TILE + i - tile.i
                if first[local] == first[local + 1]:
                    continue
                copy_polygon(strip, in_strip, cell)
                in_cell = in_strip
                if first_place != last_place:
                    in_cell = cut_to_slab(cell, in_strip, spare, 0, float(i), i + 1.0)
                group = (first[local], first[local + 1])
                _extend_in_column(cell, in_cell, band, blockers, group, axes, scratch)


@compile_kernel
def _cut_by_side(source: Polygon, count: int, target: Polygon, normal: tuple[float, float], bound: float) -> int:
    """Keep the part of a flat polygon (u, v) with normal · point ≤ bound."""
    kept = 0
    for k in range(count):
        following = k + 1 if k + 1 < count else 0
        here = bound - normal[0] * source[k, 0] - normal[1] * source[k, 1]
        there = bound - normal[0] * source[following, 0] - normal[1] * source[following, 1]
        if here >= 0.0:
            target[kept, 0], target[kept, 1] = source[k, 0], source[k, 1]
            kept += 1
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            part = here / (here - there)
            target[kept, 0] = source[k, 0] + part * (source[following, 0] - source[k, 0])
            target[kept, 1] = source[k, 1] + part * (source[following, 1] - source[k, 1])
            kept += 1
    return kept


@compile_kernel
def _compute_corners(
    outlines: NDArray[np.float64], i: NDArray[np.int32], j: NDArray[np.int32], axes: NDArray[np.float64]
) -> tuple[NDArray[np.int64], Polygon, NDArray[np.bool_]]:
    """Turn bounds along the axes into corners; a blocker without geometry is its whole column."""
    total, sides = len(outlines), len(axes)
    first, is_ledge = np.zeros(total + 1, dtype=np.int64), np.zeros(total, dtype=np.bool_)
    corners = np.empty((total * 2 * sides, 2))
    polygon, spare = np.empty((MAX_CORNERS, 2)), np.empty((MAX_CORNERS, 2))
    slack = 1e-9  # so that rounding never cuts a flat outline away
    for k in range(total):
        for corner in range(4):
            polygon[corner, 0] = i[k] + (1.0 if corner in (1, 2) else 0.0)
            polygon[corner, 1] = j[k] + (1.0 if corner in (2, 3) else 0.0)
        count = 4
        is_ledge[k] = outlines[k, 0] > outlines[k, sides]
        for side in range(0 if is_ledge[k] else sides):
            normal = (axes[side, 0], axes[side, 1])
            count = _cut_by_side(polygon, count, spare, normal, outlines[k, sides + side] + slack)
            opposite = (-axes[side, 0], -axes[side, 1])
            count = _cut_by_side(spare, count, polygon, opposite, slack - outlines[k, side])
        first[k + 1] = first[k] + count
        for corner in range(count):
            corners[first[k] + corner, 0] = polygon[corner, 0]
            corners[first[k] + corner, 1] = polygon[corner, 1]
    return first, corners, is_ledge


@compile_kernel
def _find_drops(
    spans: Spans, tiling: Tiling, is_ledge: NDArray[np.bool_], places: NDArray[np.int32], floors: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Which ledges look down on another floor, in their own column or beside it."""
    found = np.zeros(len(is_ledge), dtype=np.bool_)
    for k in range(len(is_ledge)):
        for around in range(9 if is_ledge[k] else 0):
            column = get_column(tiling, places[k, 0] + around % 3 - 1, places[k, 1] + around // 3 - 1)
            if column >= 0 and spans.first[column] < spans.first[column + 1]:
                lowest = spans.floor[spans.first[column]]
                found[k] = found[k] or lowest < floors[k] - LEAST_DROP
    return found


def find_outlines(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], binned: TriangleBins, spans: Spans, shape: AgentShape
) -> tuple[BlockerPairs, Outlines]:
    """Everything that the outermost spans see, with its exact outline."""
    seen_from, column, i, j = _find_blockers(spans, binned.tiling, shape.max_climb)
    keys = np.stack([column, i, j, spans.floor[seen_from].view(np.int32)], axis=1)
    # blockers without a tile have column −1 and come first; the others are in tile and column order
    unique, one_of, blocker = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    floors, outlines = spans.floor[seen_from[one_of]], _make_empty_outlines(len(unique))
    band = (shape.max_climb, shape.height)
    for tile in range(len(binned.origins)):
        first = np.searchsorted(unique[:, 0], np.arange(tile * COLUMNS, (tile + 1) * COLUMNS + 1))
        if first[0] == first[-1]:
            continue
        own = floors[first[0] : first[-1]]
        reach = (float(own.min()) + band[0], float(own.max()) + band[1])
        geometry = get_tile_triangles(positions, triangles, binned, tile)
        _trace_tile(geometry, first, band, reach, (floors, outlines), AXES)
    first_corner, corners, is_ledge = _compute_corners(outlines, i[one_of], j[one_of], AXES)
    places = np.stack([i[one_of], j[one_of]], axis=1)
    is_drop = _find_drops(spans, binned.tiling, is_ledge, places, floors)
    outline = Outlines(first_corner, corners[: first_corner[-1]].copy(), is_ledge, is_drop)
    return BlockerPairs(seen_from, blocker.reshape(-1).astype(np.int32)), outline


def _make_empty_outlines(count: int) -> NDArray[np.float64]:
    return np.repeat([[math.inf, -math.inf]], len(AXES), axis=1).repeat(count, axis=0)


class Clearance(NamedTuple):
    """Distance to the nearest blocker, in metres, capped where it no longer matters."""

    metres: NDArray[np.float32]
    blocker: NDArray[np.int32]  #: which blocker that is; −1 beyond the cap


@compile_kernel
def spread_clearance(
    spans: Spans, sightings: BlockerPairs, outlines: Outlines, farthest: float
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    total = len(spans.floor)
    distance, nearest = np.full(total, farthest), np.full(total, -1, dtype=np.int32)
    waiting, queue = np.zeros(total, dtype=np.bool_), np.empty(total + 1, dtype=np.int32)
    head, tail = 0, 0
    for k in range(len(sightings.span)):
        span, blocker = sightings.span[k], sightings.blocker[k]
        first, last = outlines.first[blocker], outlines.first[blocker + 1]
        found = compute_polygon_distance(spans.i[span] + 0.5, spans.j[span] + 0.5, outlines.corners, first, last)
        if found < distance[span]:
            distance[span], nearest[span] = found, blocker
            if not waiting[span]:
                waiting[span] = True
                queue[tail] = span
                tail = (tail + 1) % (total + 1)
    while head != tail:
        span = queue[head]
        head = (head + 1) % (total + 1)
        waiting[span] = False
        first, last = outlines.first[nearest[span]], outlines.first[nearest[span] + 1]
        for side in range(8):
            other = get_neighbour(spans.links, span, side)
            if other < 0:
                continue
            found = compute_polygon_distance(spans.i[other] + 0.5, spans.j[other] + 0.5, outlines.corners, first, last)
            if found < distance[other]:
                distance[other], nearest[other] = found, nearest[span]
                if not waiting[other]:
                    waiting[other] = True
                    queue[tail] = other
                    tail = (tail + 1) % (total + 1)
    return distance, nearest


def measure_clearance(spans: Spans, sightings: BlockerPairs, outlines: Outlines, shape: AgentShape) -> Clearance:
    """The clearance of every span, exact up to the radius and a little beyond."""
    farthest = shape.radius / shape.spacing + 2.0 * math.sqrt(2.0)
    distance, blocker = spread_clearance(spans, sightings, outlines, farthest)
    return Clearance((distance * shape.spacing).astype(np.float32), blocker)
