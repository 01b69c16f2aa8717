"""From triangles to a navigable surface, step by step.

tiles → solids → gaps closed → spans → outlines → clearance → islands → surface. Every step is a module;
this one only passes the data on and forgets what is no longer needed.
"""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavigationError
from nav_eval.scene.navigation.clearance import Clearance, measure_clearance
from nav_eval.scene.navigation.gaps import close_gaps
from nav_eval.scene.navigation.islands import Island, Traits, Verdict, judge, mark_quads, measure_islands
from nav_eval.scene.navigation.outlines import Outlines, find_outlines
from nav_eval.scene.navigation.shape import AgentShape
from nav_eval.scene.navigation.solids import find_solids
from nav_eval.scene.navigation.spans import EAST, SOUTH, Spans, find_spans
from nav_eval.scene.navigation.surface import ABSENT, Surface
from nav_eval.scene.navigation.tiles import Tiling, bin_triangles

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
    positions, triangles = _checked(positions, triangles)
    binned = bin_triangles(positions, triangles, shape.spacing)
    solids = close_gaps(find_solids(positions, triangles, binned, shape), binned, shape)
    spans = find_spans(solids, binned, shape)
    del solids
    sightings, outlines = find_outlines(positions, triangles, binned, spans, shape)
    clearance = measure_clearance(spans, sightings, outlines, shape)
    margin = clearance.metres - np.float32(shape.radius)
    traits = _traits(spans, outlines, clearance)
    labels, islands = measure_islands(spans.links, margin, traits, spacing=shape.spacing)
    report, index_of = numbered(islands, judge(islands, least_area=least_area, keep_platforms=keep_platforms))
    island = index_of[labels]
    margin = np.where((margin >= 0.0) & (island < 0), _OUTSIDE, margin)
    return compacted(binned.tiling, spans, margin=margin, island=island), report


def _traits(spans: Spans, outlines: Outlines, clearance: Clearance) -> Traits:
    lowest = np.zeros(len(spans.floor), dtype=np.bool_)
    lowest[spans.first[:-1][np.diff(spans.first) > 0]] = True
    return Traits(
        floor=spans.floor,
        covered=np.isfinite(spans.ceiling),
        above=~lowest,
        ledge=np.append(outlines.is_ledge, False)[clearance.blocker],
        drop=np.append(outlines.is_drop, False)[clearance.blocker],
    )


def numbered(islands: list[Island], verdicts: list[Verdict]) -> tuple[tuple[Island, ...], NDArray[np.int32]]:
    """The report, ground first and then by size, and the index of each label (−1 dropped, last entry for none)."""
    order = sorted(range(len(islands)), key=lambda k: (verdicts[k] is not Verdict.GROUND, -islands[k].area, k))
    index_of = np.full(len(islands) + 1, -1, dtype=np.int32)
    report = []
    for k in order:
        if verdicts[k] in (Verdict.GROUND, Verdict.KEPT):
            index_of[k] = index_of.max() + 1
        index = int(index_of[k])
        report.append(replace(islands[k], verdict=verdicts[k], index=index if index >= 0 else None))
    return tuple(report), index_of


def compacted(tiling: Tiling, spans: Spans, *, margin: NDArray[np.float32], island: NDArray[np.int32]) -> Surface:
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
    return frozen(Surface(tiling, *arrays))


def frozen(surface: Surface) -> Surface:
    """Read-only and contiguous: the same type as arrays mapped from a file, so kernels compile once."""
    arrays: list[NDArray[Any]] = [read_only(np.ascontiguousarray(array)) for array in surface[1:]]
    slots = read_only(np.ascontiguousarray(surface.tiling.slots))
    return Surface(surface.tiling._replace(slots=slots), *arrays)


def _checked(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32]
) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    positions = np.ascontiguousarray(positions, dtype=np.float32)
    triangles = np.ascontiguousarray(triangles, dtype=np.uint32)
    if positions.ndim != 2 or triangles.ndim != 2 or positions.shape[1:] != (3,) or triangles.shape[1:] != (3,):
        raise NavigationError(f"Positions {positions.shape} and triangles {triangles.shape} must both be N × 3.")
    if len(triangles) == 0:
        raise NavigationError("The scene has no triangles, so there is nothing to stand on.")
    if triangles.max() >= len(positions):
        raise NavigationError(f"Triangles name vertex {triangles.max()}, but there are only {len(positions)}.")
    if not np.isfinite(positions).all():
        raise NavigationError("Some vertices are not finite numbers; remove those triangles from the scene.")
    return read_only(positions), read_only(triangles)


def read_only(array: Array) -> Array:
    """The same data under one type: kernels are compiled apart for writable and for read-only arrays."""
    view = array.view()
    view.setflags(write=False)
    return view
