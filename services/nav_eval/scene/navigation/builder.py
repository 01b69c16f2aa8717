"""From triangles to a navigable surface, step by step.

tiles → solids → gaps closed → spans → outlines and clearance → islands → surface. This module only passes the
data on and forgets what is no longer needed.
"""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation.clearance import Clearance, Outlines, find_outlines, measure_clearance
from nav_eval.scene.navigation.ground import AgentShape
from nav_eval.scene.navigation.islands import (
    Island,
    IslandVerdict,
    NodeTraits,
    judge_islands,
    mark_quads,
    measure_islands,
)
from nav_eval.scene.navigation.solids import close_gaps, find_solids
from nav_eval.scene.navigation.spans import EAST, SOUTH, Spans, find_spans
from nav_eval.scene.navigation.surface import ABSENT, Surface
from nav_eval.scene.navigation.tiles import Tiling, sort_into_tiles

Array = TypeVar("Array", bound=NDArray[Any])

_OUTSIDE = np.float32(-1.0)


def build_surface(
    positions: NDArray[np.float32],
    triangles: NDArray[np.uint32],
    shape: AgentShape,
    *,
    least_area: float,
    keep_platforms: bool,
) -> tuple[Surface, tuple[Island, ...]]:
    """The surface for an agent of this shape, and every part that was found, the ground first."""
    positions, triangles = _check_geometry(positions, triangles)
    binned = sort_into_tiles(positions, triangles, shape.spacing)
    solids = close_gaps(find_solids(positions, triangles, binned, shape), binned, shape)
    spans = find_spans(solids, binned, shape)
    del solids
    sightings, outlines = find_outlines(positions, triangles, binned, spans, shape)
    clearance = measure_clearance(spans, sightings, outlines, shape)
    margin = clearance.metres - np.float32(shape.radius)
    traits = _collect_traits(spans, outlines, clearance)
    labels, islands = measure_islands(spans.links, margin, traits, spacing=shape.spacing)
    report, index_of = number_islands(
        islands, judge_islands(islands, least_area=least_area, keep_platforms=keep_platforms)
    )
    island = index_of[labels]
    margin = np.where((margin >= 0.0) & (island < 0), _OUTSIDE, margin)
    return compact_surface(binned.tiling, spans, margin=margin, island=island), report


def _collect_traits(spans: Spans, outlines: Outlines, clearance: Clearance) -> NodeTraits:
    lowest = np.zeros(len(spans.floor), dtype=np.bool_)
    lowest[spans.first[:-1][np.diff(spans.first) > 0]] = True
    return NodeTraits(
        floor=spans.floor,
        covered=np.isfinite(spans.ceiling),
        above=~lowest,
        ledge=np.append(outlines.is_ledge, False)[clearance.blocker],
        drop=np.append(outlines.is_drop, False)[clearance.blocker],
    )


def number_islands(
    islands: list[Island], verdicts: list[IslandVerdict]
) -> tuple[tuple[Island, ...], NDArray[np.int32]]:
    """The report, ground first and then by size, and the index of each label (−1 dropped, last entry for none)."""
    order = sorted(range(len(islands)), key=lambda k: (verdicts[k] is not IslandVerdict.GROUND, -islands[k].area, k))
    index_of = np.full(len(islands) + 1, -1, dtype=np.int32)
    report = []
    for k in order:
        if verdicts[k] in (IslandVerdict.GROUND, IslandVerdict.KEPT):
            index_of[k] = index_of.max() + 1
        index = int(index_of[k])
        report.append(replace(islands[k], verdict=verdicts[k], index=index if index >= 0 else None))
    return tuple(report), index_of


def compact_surface(tiling: Tiling, spans: Spans, *, margin: NDArray[np.float32], island: NDArray[np.int32]) -> Surface:
    """Keep only the nodes that some quad of the region needs."""
    quads = mark_quads(spans.links, margin)
    start = np.flatnonzero(quads != ABSENT)
    east, south = spans.links[start, EAST], spans.links[start, SOUTH]
    keep = np.zeros(len(margin), dtype=np.bool_)
    for corners in (start, east, south, spans.links[east, SOUTH]):
        keep[corners] = True
    number = np.where(keep, np.cumsum(keep) - 1, -1)
    number = np.append(number, -1).astype(np.int32)  # link −1 stays −1
    before = np.concatenate([[0], np.cumsum(keep)])
    arrays = (
        before[spans.first].astype(np.int32),
        spans.i[keep],
        spans.j[keep],
        spans.floor[keep],
        margin[keep],
        number[spans.links[keep]],
        quads[keep],
        island[keep],
    )
    return freeze_surface(Surface(tiling, *arrays))


def freeze_surface(surface: Surface) -> Surface:
    """Read-only and contiguous: the same type as arrays mapped from a file, so kernels compile once."""
    arrays: list[NDArray[Any]] = [as_read_only(np.ascontiguousarray(array)) for array in surface[1:]]
    slots = as_read_only(np.ascontiguousarray(surface.tiling.slots))
    return Surface(surface.tiling._replace(slots=slots), *arrays)


def _check_geometry(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32]
) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    positions = np.ascontiguousarray(positions, dtype=np.float32)
    triangles = np.ascontiguousarray(triangles, dtype=np.uint32)
    if positions.ndim != 2 or triangles.ndim != 2 or positions.shape[1:] != (3,) or triangles.shape[1:] != (3,):
        raise NavigationMeshError(f"Positions {positions.shape} and triangles {triangles.shape} must both be N × 3.")
    if len(triangles) == 0:
        raise NavigationMeshError("The scene has no triangles, so there is nothing to stand on.")
    if triangles.max() >= len(positions):
        raise NavigationMeshError(f"Triangles name vertex {triangles.max()}, but there are only {len(positions)}.")
    if not np.isfinite(positions).all():
        raise NavigationMeshError("Some vertices are not finite numbers; remove those triangles from the scene.")
    return as_read_only(positions), as_read_only(triangles)


def as_read_only(array: Array) -> Array:
    """The same data under one type: kernels are compiled apart for writable and for read-only arrays."""
    view = array.view()
    view.setflags(write=False)
    return view
