"""How much of each light reaches each point of a house: lamps, sky and sun with shadows, and open space around it.

This takes seconds and depends on shapes and places alone. It is kept, so that the same house under lights of other
strength and colour (domain randomisation at every reset) costs next to nothing.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_inline, compile_kernel
from nav_eval_worlds.houses.ray_tree import STACK, RayTree, find_blocker, find_hit

Array = NDArray[np.float64]

AROUND = 1.1  #: metres within which things take light from everywhere away
LAMP_REACH = 2.3  #: metres at which a lamp has lost half its strength
FARTHEST = 9.0  #: metres beyond which a lamp or window is not looked for
GAP = 0.02  #: metres before a light at which its ray ends
OUTSIDE = 100.0  #: metres to where nothing is in the sun's way any more
BULB = 0.14  #: radius of a lamp, for soft shadows
_KEPT = 2  #: houses whose light is remembered


class LightPlaces(NamedTuple):
    """Where light comes from."""

    lamps: Array  #: L × 3
    panes: Array  #: P × 7: a point of a window, the direction into the room, the area it stands for
    suns: Array  #: S × 3: directions towards the sun, close together


class Response(NamedTuple):
    """What each of N points gets from each light of strength one."""

    open: Array  #: N: share of the hemisphere that is free
    sky: Array  #: N
    sun: Array  #: N
    lamps: Array  #: N × L


def compute_response(tree: RayTree, points: Array, normals: Array, places: LightPlaces) -> Response:
    """Trace everything once."""
    count = len(points)
    found = Response(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros((count, len(places.lamps))))
    _trace_surroundings(tree, points, normals, _HEMISPHERE, found.open)
    _trace_panes(tree, points, normals, places.panes, found.sky)
    _trace_suns(tree, points, normals, places.suns, found.sun)
    _trace_lamps(tree, points, normals, places.lamps, _BULB_POINTS, found.lamps)
    return found


@compile_inline
def _make_frame(normal: Array, side: Array, up: Array) -> None:
    """Two directions across a normal."""
    if abs(normal[0]) < 0.9:
        side[0], side[1], side[2] = 0.0, normal[2], -normal[1]
    else:
        side[0], side[1], side[2] = -normal[2], 0.0, normal[0]
    length = np.sqrt(side[0] * side[0] + side[1] * side[1] + side[2] * side[2])
    for axis in range(3):
        side[axis] /= length
    up[0] = normal[1] * side[2] - normal[2] * side[1]
    up[1] = normal[2] * side[0] - normal[0] * side[2]
    up[2] = normal[0] * side[1] - normal[1] * side[0]


@compile_inline
def _normalize(ray: Array) -> float:
    """Make it one metre long; returns how long it was."""
    length = np.sqrt(ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2]) + 1e-9
    for axis in range(3):
        ray[axis] /= length
    return float(length)


@compile_kernel
def _trace_surroundings(tree: RayTree, points: Array, normals: Array, hemisphere: Array, free: Array) -> None:
    """How open the space around each point is, from 0 to 1."""
    ray, side, up, stack = np.empty(3), np.empty(3), np.empty(3), np.empty(STACK, np.int64)
    for i in range(len(points)):
        normal = normals[i]
        _make_frame(normal, side, up)
        for n in range(len(hemisphere)):
            a, b, c = hemisphere[n, 0], hemisphere[n, 1], hemisphere[n, 2]
            for axis in range(3):
                ray[axis] = a * side[axis] + b * up[axis] + c * normal[axis]
            free[i] += find_hit(tree, stack, points[i], ray, AROUND) / AROUND
        free[i] /= len(hemisphere)


@compile_kernel
def _trace_lamps(tree: RayTree, points: Array, normals: Array, lamps: Array, bulb: Array, found: Array) -> None:
    """What each point gets from each lamp."""
    ray, stack = np.empty(3), np.empty(STACK, np.int64)
    blockers = np.full((len(lamps), len(bulb)), -1)
    for i in range(len(points)):
        point, normal = points[i], normals[i]
        for n in range(len(lamps)):
            for j in range(len(bulb)):
                for axis in range(3):
                    ray[axis] = lamps[n, axis] + bulb[j, axis] - point[axis]
                distance = _normalize(ray)
                facing = ray[0] * normal[0] + ray[1] * normal[1] + ray[2] * normal[2]
                way = distance - GAP
                if distance >= FARTHEST or facing <= 0.0:
                    continue
                blocker = find_blocker(tree, stack, point, ray, way, blockers[n, j])
                if blocker >= 0:
                    blockers[n, j] = blocker
                else:
                    found[i, n] += (0.15 + 0.85 * facing) / (1.0 + (distance / LAMP_REACH) ** 2) / len(bulb)


@compile_kernel
def _trace_panes(tree: RayTree, points: Array, normals: Array, panes: Array, found: Array) -> None:
    """What each point gets from the sky, through all windows."""
    ray, stack = np.empty(3), np.empty(STACK, np.int64)
    blockers = np.full(len(panes), -1)
    for i in range(len(points)):
        point, normal = points[i], normals[i]
        for n in range(len(panes)):
            for axis in range(3):
                ray[axis] = panes[n, axis] - point[axis]
            distance = _normalize(ray)
            facing = ray[0] * normal[0] + ray[1] * normal[1] + ray[2] * normal[2]
            leaving = -(ray[0] * panes[n, 3] + ray[1] * panes[n, 4] + ray[2] * panes[n, 5])
            way = distance - GAP
            if distance > FARTHEST or facing <= 0.0 or leaving <= 0.0:
                continue
            blocker = find_blocker(tree, stack, point, ray, way, blockers[n])
            if blocker >= 0:
                blockers[n] = blocker
            else:
                found[i] += panes[n, 6] * facing * leaving / (np.pi * distance * distance + panes[n, 6])


@compile_kernel
def _trace_suns(tree: RayTree, points: Array, normals: Array, suns: Array, found: Array) -> None:
    """What each point gets from the sun."""
    stack, blockers = np.empty(STACK, np.int64), np.full(len(suns), -1)
    for i in range(len(points)):
        normal = normals[i]
        for n in range(len(suns)):
            facing = suns[n, 0] * normal[0] + suns[n, 1] * normal[1] + suns[n, 2] * normal[2]
            if facing <= 0.0:
                continue
            blocker = find_blocker(tree, stack, points[i], suns[n], OUTSIDE, blockers[n])
            if blocker >= 0:
                blockers[n] = blocker
            else:
                found[i] += facing / len(suns)


def _make_hemisphere(rings: Sequence[int]) -> Array:
    """Directions around +z, more of them where light counts more; rounded, so that no sine of a library shows."""
    total = sum(rings)
    before, found = 0, []
    for number, count in enumerate(rings):
        share = (before + count / 2) / total
        radius, height = share**0.5, (1 - share) ** 0.5
        for step in range(count):
            angle = 2 * np.pi * (step + 0.5 * (number % 2)) / count
            found.append((radius * np.cos(angle), radius * np.sin(angle), height))
        before += count
    rounded: Array = np.round(np.array(found), 9).astype(np.float64)
    return rounded


_HEMISPHERE = _make_hemisphere((3, 6, 9))
_BULB_POINTS = np.round(BULB * np.array([(0.8, 0.2, 0.0), (-0.4, -0.3, 0.7), (-0.4, 0.1, -0.7)]), 9)
_REMEMBERED: OrderedDict[int, tuple[object, tuple[bytes, ...], Response]] = OrderedDict()


def find_response(shape: NDArray[np.float32], places: LightPlaces) -> Response | None:
    """What was worked out before for these positions of vertices and lights."""
    known = _REMEMBERED.get(id(shape))
    if known is None or known[0] is not shape or known[1] != _describe_places(places):
        return None
    return known[2]


def remember_response(shape: NDArray[np.float32], places: LightPlaces, response: Response) -> None:
    """Keep it as long as few other houses come."""
    _REMEMBERED[id(shape)] = (shape, _describe_places(places), response)
    while len(_REMEMBERED) > _KEPT:
        _REMEMBERED.popitem(last=False)


def _describe_places(places: LightPlaces) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for array in places)
