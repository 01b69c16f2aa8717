"""A polygon mesh as a surface: the same queries for Habitat's files as for our own meshes.

The polygons already are where the centre of an agent may be, so the margin of a node is its distance to
the polygons' border, positive inside. Around the inside lies one ring of nodes with negative margins, and
the border between them is met exactly wherever it is straight. Recast sometimes leaves two parts that
touch without being connected, an infinitely thin wall; such a border becomes as wide as it takes to be
seen by the lattice, so that nothing ever slips through.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation.builder import as_read_only, compact_surface, number_islands
from nav_eval.scene.navigation.clearance import BlockerPairs, Outlines, get_neighbour, spread_clearance
from nav_eval.scene.navigation.islands import Island, NodeTraits, judge_islands, measure_islands
from nav_eval.scene.navigation.navmesh_file import DetourMesh
from nav_eval.scene.navigation.spans import Spans, link_spans
from nav_eval.scene.navigation.surface import Surface
from nav_eval.scene.navigation.tiles import COLUMNS, Tiling, compute_polygon_distance, cover_triangles, get_column

MAX_NODES = 1 << 23
MAX_WORK = 1 << 31  #: nodes in the bounding rectangles of all triangles, or of all borders
REACH = 4.0  #: nodes; margins are exact up to here and capped beyond
SEEN = 2.5  #: nodes; how far a border is seen before its distance spreads along the links
THIN = 0.75  #: nodes; half the width that a thin wall is given: more than half a quad's diagonal


class _Columns(NamedTuple):
    """Heights per column, from low to high."""

    column: NDArray[np.int64]
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    height: NDArray[np.float32]


@compile_kernel
def _sample(
    triangles: NDArray[np.float32],
    tiling: Tiling,
    column: NDArray[np.int64],
    places: NDArray[np.int32],
    height: NDArray[np.float32],
) -> int:
    """Write every node within a triangle; returns how many there are, also when they do not fit."""
    written, spacing = 0, tiling.spacing
    for t in range(len(triangles)):
        a_u, a_v = triangles[t, 0, 0] / spacing - 0.5, triangles[t, 0, 2] / spacing - 0.5
        b_u, b_v = triangles[t, 1, 0] / spacing - 0.5 - a_u, triangles[t, 1, 2] / spacing - 0.5 - a_v
        c_u, c_v = triangles[t, 2, 0] / spacing - 0.5 - a_u, triangles[t, 2, 2] / spacing - 0.5 - a_v
        area = b_u * c_v - b_v * c_u
        if area == 0.0:
            continue
        y, b_y, c_y = (
            triangles[t, 0, 1],
            triangles[t, 1, 1] - triangles[t, 0, 1],
            triangles[t, 2, 1] - triangles[t, 0, 1],
        )
        for i in range(math.ceil(a_u + min(0.0, b_u, c_u) - 1e-6), math.floor(a_u + max(0.0, b_u, c_u) + 1e-6) + 1):
            for j in range(math.ceil(a_v + min(0.0, b_v, c_v) - 1e-6), math.floor(a_v + max(0.0, b_v, c_v) + 1e-6) + 1):
                u, v = i - a_u, j - a_v
                s, r = (u * c_v - v * c_u) / area, (b_u * v - b_v * u) / area
                if s < -1e-6 or r < -1e-6 or s + r > 1.0 + 1e-6:
                    continue
                if written < len(column):
                    column[written] = get_column(tiling, i, j)
                    places[written, 0], places[written, 1] = i, j
                    height[written] = y + s * b_y + r * c_y
                written += 1
    return written


def _find_inside(triangles: NDArray[np.float32], tiling: Tiling, storey: float) -> _Columns:
    nothing = (np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.float32))
    total = _sample(triangles, tiling, *nothing)
    if total > MAX_NODES:
        raise NavigationMeshError(
            f"The navigation mesh covers {total * tiling.spacing**2:.0f} m², more than we can hold."
        )
    column, places = np.empty(total, dtype=np.int64), np.empty((total, 2), dtype=np.int32)
    height = np.empty(total, dtype=np.float32)
    _sample(triangles, tiling, column, places, height)
    return _merge_heights(column, places, height, storey)


def _merge_heights(
    column: NDArray[np.int64], places: NDArray[np.int32], height: NDArray[np.float32], storey: float
) -> _Columns:
    """One node per column and storey: heights that are close are one floor, the highest of them."""
    order = np.lexsort((height, column))
    column, places, height = column[order], places[order], height[order]
    fresh = np.ones(len(column), dtype=np.bool_)
    fresh[1:] = (np.diff(column) != 0) | (np.diff(height) > storey)
    start = np.flatnonzero(fresh)
    highest = np.maximum.reduceat(height, start) if len(start) else height
    return _Columns(column[start], places[start, 0], places[start, 1], highest)


@compile_kernel
def _find_ring(
    inside: _Columns, first: NDArray[np.int64], tiling: Tiling, storey: float
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Places beside the inside, at the height of the node that they are beside."""
    most = 8 * len(inside.column)
    column, height = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.float32)
    places, written = np.empty((most, 2), dtype=np.int32), 0
    for node in range(len(inside.column)):
        for side in range(9):
            i, j = inside.i[node] + side % 3 - 1, inside.j[node] + side // 3 - 1
            beside = get_column(tiling, i, j)
            known = False
            for other in range(first[beside], first[beside + 1]):
                known = known or abs(inside.height[other] - inside.height[node]) <= storey
            if not known:
                column[written], height[written] = beside, inside.height[node]
                places[written, 0], places[written, 1] = i, j
                written += 1
    return column[:written], places[:written], height[:written]


def _make_nodes(inside: _Columns, tiling: Tiling, columns: int, storey: float) -> tuple[Spans, NDArray[np.bool_]]:
    """Inside and ring as linked spans, and which of them are inside."""
    first = np.searchsorted(inside.column, np.arange(columns + 1))
    ring = _merge_heights(*_find_ring(inside, first, tiling, storey), storey)
    column = np.concatenate([inside.column, ring.column])
    i, j = np.concatenate([inside.i, ring.i]), np.concatenate([inside.j, ring.j])
    height = np.concatenate([inside.height, ring.height])
    order = np.lexsort((height, column))
    is_inside = (np.arange(len(order)) < len(inside.column))[order]
    spans = Spans(
        np.searchsorted(column[order], np.arange(columns + 1)),
        i[order],
        j[order],
        height[order],
        np.full(len(order), np.inf, dtype=np.float32),
        np.full((len(order), 4), -1, dtype=np.int32),
    )
    return spans, is_inside


@compile_kernel
def _find_nodes_near(
    spans: Spans, tiling: Tiling, borders: NDArray[np.float64], reach: float, storey: float, found: NDArray[np.int32]
) -> int:
    """Pairs (node, border) at most `reach` apart; returns how many there are, also when they do not fit."""
    written = 0
    for k in range(len(borders) // 2):
        a_x, a_y, a_z = borders[2 * k, 0], borders[2 * k, 2], borders[2 * k, 1]
        b_x, b_y, b_z = borders[2 * k + 1, 0], borders[2 * k + 1, 2], borders[2 * k + 1, 1]
        low, high = min(a_y, b_y) - storey, max(a_y, b_y) + storey
        for i in range(math.floor(min(a_x, b_x) - reach), math.ceil(max(a_x, b_x) + reach) + 1):
            for j in range(math.floor(min(a_z, b_z) - reach), math.ceil(max(a_z, b_z) + reach) + 1):
                column = get_column(tiling, i, j)
                if column < 0 or spans.first[column] == spans.first[column + 1]:
                    continue
                if compute_polygon_distance(i + 0.5, j + 0.5, borders, 2 * k, 2 * k + 2) > reach:
                    continue
                for node in range(spans.first[column], spans.first[column + 1]):
                    if not low <= spans.floor[node] <= high:
                        continue
                    if written < len(found):
                        found[written, 0], found[written, 1] = node, k
                    written += 1
    return written


def _find_pairs(
    spans: Spans, tiling: Tiling, borders: NDArray[np.float64], reach: float, storey: float
) -> BlockerPairs:
    total = _find_nodes_near(spans, tiling, borders, reach, storey, np.empty((0, 2), dtype=np.int32))
    found = np.empty((total, 2), dtype=np.int32)
    _find_nodes_near(spans, tiling, borders, reach, storey, found)
    return BlockerPairs(found[:, 0].copy(), found[:, 1].copy())


@compile_kernel
def _is_crossing(
    start: tuple[float, float], end: tuple[float, float], a: tuple[float, float], b: tuple[float, float]
) -> bool:
    """Do two segments of the plane meet?"""
    along = (end[0] - start[0], end[1] - start[1])
    border = (b[0] - a[0], b[1] - a[1])
    first = along[0] * (a[1] - start[1]) - along[1] * (a[0] - start[0])
    second = along[0] * (b[1] - start[1]) - along[1] * (b[0] - start[0])
    third = border[0] * (start[1] - a[1]) - border[1] * (start[0] - a[0])
    fourth = border[0] * (end[1] - a[1]) - border[1] * (end[0] - a[0])
    return (first <= 0.0 <= second or second <= 0.0 <= first) and (third <= 0.0 <= fourth or fourth <= 0.0 <= third)


@compile_kernel
def _find_nodes_beside_thin(
    spans: Spans, inside: NDArray[np.bool_], borders: NDArray[np.float64], near: BlockerPairs
) -> NDArray[np.bool_]:
    """Inside nodes from which the line to a neighbouring inside node crosses a border, and their neighbours."""
    found, grown = np.zeros(len(inside), dtype=np.bool_), np.zeros(len(inside), dtype=np.bool_)
    for pair in range(len(near.span)):
        node, k = near.span[pair], near.blocker[pair]
        if found[node] or not inside[node]:
            continue
        here = (spans.i[node] + 0.5, spans.j[node] + 0.5)
        a, b = (borders[2 * k, 0], borders[2 * k, 1]), (borders[2 * k + 1, 0], borders[2 * k + 1, 1])
        for side in range(8):
            other = get_neighbour(spans.links, node, side)
            if other >= 0 and inside[other] and _is_crossing(here, (spans.i[other] + 0.5, spans.j[other] + 0.5), a, b):
                found[node] = True
    for node in range(len(inside)):
        for side in range(8 if found[node] else 0):
            other = get_neighbour(spans.links, node, side)
            grown[node] = True
            if other >= 0:
                grown[other] = True
    return grown


@compile_kernel
def _thicken_thin_borders(
    spans: Spans,
    beside: NDArray[np.bool_],
    borders: NDArray[np.float64],
    near: BlockerPairs,
    margin: NDArray[np.float64],
) -> None:
    """Keep the nodes beside thin borders away from them."""
    for pair in range(len(near.span)):
        node, k = near.span[pair], near.blocker[pair]
        if beside[node]:
            off = compute_polygon_distance(spans.i[node] + 0.5, spans.j[node] + 0.5, borders, 2 * k, 2 * k + 2)
            margin[node] = min(margin[node], off - THIN)


def resample(mesh: DetourMesh) -> tuple[Surface, tuple[Island, ...]]:
    """The surface of a polygon mesh, and its connected parts; all of them stay, they are official."""
    if len(mesh.triangles) == 0:
        raise NavigationMeshError("The navigation mesh has no walkable polygons.")
    spacing = mesh.cell_size / 2.0
    flat = np.ascontiguousarray(mesh.triangles.reshape(-1, 3))
    corners = np.arange(len(flat), dtype=np.uint32).reshape(-1, 3)
    for shapes in (mesh.triangles, mesh.borders):
        _refuse_endless_work(shapes, spacing)
    tiling, origins = cover_triangles(as_read_only(flat), as_read_only(corners), spacing)
    storey = float(np.clip(mesh.shape.height / 2.0, 0.2, 1.0))
    inside = _find_inside(np.ascontiguousarray(mesh.triangles), tiling, storey)
    if len(inside.column) == 0:
        raise NavigationMeshError("The navigation mesh is too small to stand on.")
    spans, is_inside = _make_nodes(inside, tiling, len(origins) * COLUMNS, storey)
    link_spans(spans, tiling, height=0.0, climb=max(0.3, mesh.shape.max_climb + 0.1))
    margin = _compute_margins(spans, is_inside, tiling, mesh.borders, storey) * np.float32(spacing)
    nothing = np.zeros(len(margin), dtype=np.bool_)
    traits = NodeTraits(floor=spans.floor, covered=nothing, above=nothing, ledge=nothing, drop=nothing)
    labels, islands = measure_islands(spans.links, margin, traits, spacing=spacing)
    report, index_of = number_islands(islands, judge_islands(islands, least_area=0.0, keep_platforms=True))
    return compact_surface(tiling, spans, margin=margin, island=index_of[labels]), report


def _refuse_endless_work(shapes: NDArray[np.float32], spacing: float) -> None:
    sizes = np.ptp(shapes[:, :, [0, 2]].astype(np.float64), axis=1) / spacing + 2.0 * SEEN
    if sizes.prod(axis=1).sum() > MAX_WORK:
        raise NavigationMeshError("The polygons of the navigation mesh are too large and too many; build it again.")


def _compute_margins(
    spans: Spans, inside: NDArray[np.bool_], tiling: Tiling, borders: NDArray[np.float32], storey: float
) -> NDArray[np.float32]:
    """Distance to the border in nodes, negative outside."""
    rows = borders.reshape(-1, 3).astype(np.float64) / [tiling.spacing, 1.0, tiling.spacing]
    lines = np.ascontiguousarray(rows[:, [0, 2, 1]])  # (x, z) first, as outlines have it; the height is carried along
    near = _find_pairs(spans, tiling, lines, SEEN, storey)
    count = len(lines) // 2
    none = np.zeros(count, dtype=np.bool_)
    outlines = Outlines(np.arange(count + 1, dtype=np.int64) * 2, lines, none, none)
    distance, _ = spread_clearance(spans, near, outlines, REACH)
    margin = np.where(inside, distance, -distance)
    _thicken_thin_borders(spans, _find_nodes_beside_thin(spans, inside, lines, near), lines, near, margin)
    return margin.astype(np.float32)
