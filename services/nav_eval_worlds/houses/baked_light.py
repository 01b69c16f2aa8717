"""Light of houses of the second generator: time of day, cast shadows, sunlight on the floor, light that comes back.

Like the first generator's light it is a function of the finished scene alone (objects, regions, lights), worked out
once per vertex; unlike it, rays decide what reaches what. Two lights of the kind "sun" belong to a house: the sun
itself, and one that points straight down and stands for the sky.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Light, Region, Scene, SceneObject
from nav_eval_worlds.houses.lighting import (
    bake_colors,
    find_glowing,
    find_vertex_objects,
    normalize_direction,
    round_point,
)
from nav_eval_worlds.houses.ray_tree import make_ray_tree
from nav_eval_worlds.houses.shadows import LightPlaces, Response, compute_response, find_response, remember_response
from nav_eval_worlds.houses.wear import compute_wear
from nav_eval_worlds.materials import FINISH_KINDS, get_finish_kind
from nav_eval_worlds.randomness import RandomStream

Array = NDArray[np.float64]

SKY_DOWN: Vec3 = (0.0, -1.0, 0.0)
GRAIN = 0.07  #: metres; vertices of one thing this close together and alike share their light
LEAN = 0.3  #: of the way from a vertex to the middle of its triangles at which its light is measured
LIFT = 0.012  #: metres from a surface to where its light is measured
INSIDE = 0.095  #: metres from the middle of a wall to where the light of floors, ceilings and walls is measured
EVERYWHERE = 0.035  #: light that is always there
RETURNED = 0.85  #: of the light in a room that its walls give back
SKY_STRENGTH, SUN_STRENGTH, LAMP_STRENGTH = 9.0, 2.2, 0.95
FILM = (1.5, 0.75)  #: how much a little light counts for, and how much bright light is held back
PANES = 3  #: points of a window along each side
FLAT = 0.26  #: metres that things on walls stand out at most if they cast no shadow on it,
HUNG = 0.25  #: and how high above the floor they begin
_SHELL = ("floor", "ceiling", "wall")
_THIN = (
    "ceiling lamp",
    "window",
    "curtain",
)  #: whose shadows would be wrong: lamps, glass, cloth that light comes through


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """Colours and heights that belong together."""

    name: str
    sun: Vec3
    sunlight: float  #: strength
    height: tuple[float, float]  #: of the sun: the tangent of its elevation
    sky: Vec3
    skylight: float
    lamps: float  #: strength of lamps in rooms with windows
    weight: float


TIMES_OF_DAY = {
    time.name: time
    for time in (
        TimeOfDay("morning", (1.0, 0.86, 0.66), 0.9, (0.35, 0.6), (0.86, 0.93, 1.0), 0.85, 0.2, 1.0),
        TimeOfDay("noon", (1.0, 0.97, 0.9), 1.0, (1.0, 1.7), (0.92, 0.96, 1.0), 1.0, 0.12, 1.3),
        TimeOfDay("overcast", (1.0, 1.0, 1.0), 0.0, (1.0, 1.2), (0.93, 0.96, 1.0), 0.95, 0.35, 1.0),
        TimeOfDay("evening", (1.0, 0.6, 0.32), 0.75, (0.16, 0.32), (0.95, 0.8, 0.74), 0.45, 0.7, 1.0),
        TimeOfDay("night", (0.6, 0.7, 1.0), 0.0, (0.5, 0.6), (0.3, 0.38, 0.6), 0.05, 1.0, 0.7),
    )
}


def draw_time_of_day(draw: RandomStream) -> TimeOfDay:
    return draw.choose_weighted([(time, time.weight) for time in TIMES_OF_DAY.values()])


def draw_daylight(lamps: Sequence[tuple[Vec3, bool, float]], time: TimeOfDay, draw: RandomStream) -> tuple[Light, ...]:
    """Sun, sky and lamps; a lamp is a place, whether its room has a window, and how strong it is."""
    warm = draw.between(0.2, 1.0)
    colour = (1.0, round(0.93 - 0.1 * warm, 3), round(0.84 - 0.24 * warm, 3))
    height, around = draw.between(*time.height), draw.uniform(-1, 1)
    strength = draw.between(0.85, 1.1)
    direction = normalize_direction((around, -height, 1 - abs(around) if draw.chance(0.5) else abs(around) - 1))
    daylight, skylight = round(time.sunlight * strength, 4), round(time.skylight * strength, 4)
    sun = Light(kind="sun", color=time.sun, intensity=daylight, direction=direction, baked=True)
    sky = Light(kind="sun", color=time.sky, intensity=skylight, direction=SKY_DOWN, baked=True)
    points = []
    for place, has_window, power in lamps:
        on = round(max(time.lamps, 0.0 if has_window else 0.85) * power, 4)
        position = round_point(place)
        points.append(Light(kind="point", color=colour, intensity=on, position=position, range=8.0, baked=True))
    return (sun, sky, *points)


def bake_house_light(scene: Scene) -> NDArray[np.uint8]:
    """Vertex colours (V × 4) of a house under its own lights, in the way of the generator that made it."""
    if scene.semantics.generator == FIRST_GENERATOR:
        return bake_colors(scene)
    return bake_traced_colors(scene)


def bake_traced_colors(scene: Scene) -> NDArray[np.uint8]:
    """Vertex colours (V × 4) of the scene under its own lights."""
    samples = trace_samples(scene)
    light = (_expose(compute_sample_light(scene, samples)) * samples.wear)[samples.of_vertex]
    light[find_glowing(scene)] = 1.0
    colors = np.full((len(light), 4), 255, np.uint8)
    colors[:, :3] = np.round(np.clip(light, 0, 1) * 255)
    return colors


class LightSamples(NamedTuple):
    """Places whose light was traced; vertices that are close together and alike share one."""

    of_vertex: NDArray[np.int64]  #: the sample of each vertex
    owner: NDArray[np.int64]  #: the object of each sample
    response: Response
    wear: Array  #: N × 3, a factor on what is seen


def trace_samples(scene: Scene) -> LightSamples:
    """What reaches what; worked out once for the same shape and the same places of lights."""
    owner = find_vertex_objects(scene)
    sample, first = _group_vertices(scene, owner)
    places = _find_light_places(scene)
    response = find_response(scene.positions, places)
    if response is None:
        points = _find_sample_points(scene, owner, first)
        response = compute_response(make_ray_tree(_find_blocking(scene)), points, _get_normals(scene, first), places)
        remember_response(scene.positions, places, response)
    wear = compute_wear(scene, scene.positions[first].astype(np.float64), owner[first])
    return LightSamples(sample, owner[first], response, wear)


def compute_sample_light(scene: Scene, samples: LightSamples) -> Array:
    """Light of the samples: what comes straight, and what the room gives back; it adds up over the lights."""
    owner, response = samples.owner, samples.response
    sun, sky, lamps = _sort_lights(scene.lights)
    direct = np.zeros((len(owner), 3))
    for lights, share, strength in (
        ([sun], response.sun[:, None], SUN_STRENGTH),
        ([sky], response.sky[:, None], SKY_STRENGTH),
        (lamps, response.lamps, LAMP_STRENGTH),
    ):
        for number, light in enumerate(lights):
            direct += strength * light.intensity * share[:, number, None] * np.array(light.color)
    room, rooms = _find_rooms(scene, owner)
    count = np.maximum(np.bincount(room, minlength=len(rooms) + 1), 1)
    around = np.stack(
        [np.bincount(room, direct[:, axis], minlength=len(rooms) + 1) / count for axis in range(3)], axis=1
    )
    everywhere = EVERYWHERE + RETURNED * around[room]
    free = response.open[:, None]
    total: Array = direct * (0.6 + 0.4 * free) + everywhere * (0.1 + 0.9 * free)
    return total


def _expose(light: Array) -> Array:
    """Film holds bright places back."""
    exposed: Array = FILM[0] * light / (1 + FILM[1] * light)
    return exposed


def _sort_lights(lights: Sequence[Light]) -> tuple[Light, Light, list[Light]]:
    """The sun, the sky, the lamps."""
    dark = Light(kind="sun", intensity=0.0)
    suns = [light for light in lights if light.kind == "sun"]
    sky = next((light for light in suns if light.direction[1] < -0.999), dark)
    sun = next((light for light in suns if light is not sky), dark)
    return sun, sky, [light for light in lights if light.kind == "point"]


def _group_vertices(scene: Scene, owner: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which sample each vertex takes its light from, and the first vertex of each sample."""
    cells = np.round(scene.positions.astype(np.float64) / GRAIN).astype(np.int64)
    facing = np.round(scene.normals.astype(np.float64) * 2).astype(np.int64)
    keys = np.column_stack([owner, cells, facing])
    _, first, sample = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return sample.reshape(-1), first


def _find_sample_points(scene: Scene, owner: NDArray[np.int64], first: NDArray[np.int64]) -> Array:
    """Just above the surfaces. Shells are larger than their rooms, so their points are moved into the room."""
    points = _move_inwards(scene)[first] + LIFT * scene.normals[first].astype(np.float64)
    objects = {item.object_id: item for item in scene.semantics.objects}
    regions = {region.region_id: region for region in scene.semantics.regions}
    owners = owner[first]
    for number in np.unique(owners).tolist():
        item = objects.get(number)
        if item is not None and item.category in _SHELL and item.region in regions:
            mine = owners == number
            points[mine] = _move_inside(points[mine], regions[item.region])
    return points


def _move_inwards(scene: Scene) -> Array:
    """Vertices, moved towards the middles of their triangles: corners of solids are often inside other solids."""
    positions, flat = scene.positions.astype(np.float64), scene.triangles.reshape(-1)
    middles = np.repeat(positions[scene.triangles].mean(axis=1), 3, axis=0)
    count = np.maximum(np.bincount(flat, minlength=len(positions)), 1)
    sums = [np.bincount(flat, middles[:, axis], minlength=len(positions)) for axis in range(3)]
    leaned: Array = (1 - LEAN) * positions + LEAN * np.stack(sums, axis=1) / count[:, None]
    return leaned


def _move_inside(points: Array, region: Region) -> Array:
    """Away from the middle lines of the walls, the floor and the ceiling."""
    moved = points.copy()
    corners = region.floor_polygon
    for (ax, az), (bx, bz) in zip(corners, (*corners[1:], corners[0]), strict=True):
        along_x = abs(az - bz) < 1e-6
        across, along = (2, 0) if along_x else (0, 2)
        line, low, high = (az, min(ax, bx), max(ax, bx)) if along_x else (ax, min(az, bz), max(az, bz))
        inward = _find_inward(region, (ax + bx) / 2, (az + bz) / 2, along_x=along_x)
        distance = (moved[:, across] - line) * inward
        beside = (moved[:, along] > low - INSIDE) & (moved[:, along] < high + INSIDE)
        near = beside & (distance < INSIDE) & (distance > -INSIDE)
        moved[near, across] = line + inward * INSIDE
    moved[:, 1] = np.clip(moved[:, 1], region.lower[1] + 0.02, max(region.upper[1] - 0.02, region.lower[1] + 0.02))
    return moved


def _find_inward(region: Region, x: float, z: float, *, along_x: bool) -> float:
    """On which side of a wall its room is."""
    step = 0.05
    return 1.0 if _is_inside(region, x + (0 if along_x else step), z + (step if along_x else 0)) else -1.0


def _is_inside(region: Region, x: float, z: float) -> bool:
    inside = False
    corners = region.floor_polygon
    for (ax, az), (bx, bz) in zip(corners, (*corners[1:], corners[0]), strict=True):
        if (az > z) != (bz > z) and x < (bx - ax) * (z - az) / (bz - az) + ax:
            inside = not inside
    return inside


def _find_light_places(scene: Scene) -> LightPlaces:
    sun, _, lamps = _sort_lights(scene.lights)
    regions = {region.region_id: region for region in scene.semantics.regions}
    windows = [item for item in scene.semantics.objects if item.category == "window" and item.region in regions]
    panes = [pane for window in windows for pane in _find_panes(window, regions[window.region or ""])]
    suns = _find_suns(sun) if sun.intensity > 0 else []
    return LightPlaces(
        np.array([lamp.position for lamp in lamps], np.float64).reshape(-1, 3),
        np.array(panes, np.float64).reshape(-1, 7),
        np.array(suns, np.float64).reshape(-1, 3),
    )


def _find_panes(window: SceneObject, region: Region) -> list[tuple[float, ...]]:
    """Points of the window with the part of its area that each stands for."""
    thin = 0 if window.size[0] < window.size[2] else 2
    along = 2 - thin
    x, z = window.center[0], window.center[2]
    inward = np.zeros(3)
    inward[thin] = _find_inward(region, x, z, along_x=thin == 2) if _is_near_outline(region, x, z) else 1.0
    wide, high = window.size[along] - 0.2, window.size[1] - 0.15
    found = []
    for i in range(PANES):
        for j in range(PANES):
            point = np.array(window.center)
            point[along] += wide * ((i + 0.5) / PANES - 0.5)
            point[1] += high * ((j + 0.5) / PANES - 0.5)
            point += 0.02 * inward
            found.append((*point.tolist(), *inward.tolist(), wide * high / PANES**2))
    return found


def _is_near_outline(region: Region, x: float, z: float) -> bool:
    low, high = region.lower, region.upper
    return low[0] - 0.5 < x < high[0] + 0.5 and low[2] - 0.5 < z < high[2] + 0.5


def _find_suns(sun: Light) -> list[tuple[float, ...]]:
    """Directions towards the sun, a little spread: a vertex is the middle of a patch of floor."""
    towards = -np.array(sun.direction)
    spread = 0.025
    turns = (
        (0.0, 0.0, 0.0),
        (spread, 0.0, 0.0),
        (-spread, 0.0, 0.0),
        (0.0, spread, 0.0),
        (0.0, 0.0, spread),
        (0.0, 0.0, -spread),
    )
    return [normalize_direction(tuple((towards + np.array(turn)).tolist())) for turn in turns]


def _find_blocking(scene: Scene) -> Array:
    """Corners of everything that light does not pass."""
    regions = {region.region_id: region for region in scene.semantics.regions}
    thin = [item.object_id for item in scene.semantics.objects if _is_thin(item, regions.get(item.region or ""))]
    kinds = [FINISH_KINDS.get(get_finish_kind(material)) for material in scene.materials]
    clear = [
        number for number, kind in enumerate(kinds) if kind is not None and (kind.alpha < 1 or kind.name in _OUTLOOKS)
    ]
    keep = ~np.isin(scene.triangle_object, thin) & ~np.isin(scene.triangle_material, clear)
    return np.ascontiguousarray(scene.positions[scene.triangles[keep]].astype(np.float64))


def _is_thin(item: SceneObject, region: Region | None) -> bool:
    """Its shadow would be larger than itself: cells of walls are far larger than a picture or a window sill is deep."""
    if item.category in _THIN:
        return True
    bottom = item.center[1] - item.size[1] / 2
    hangs = region is not None and bottom > region.lower[1] + HUNG and _is_at_outline(item, region)
    return hangs and min(item.size[0], item.size[2]) < FLAT


def _is_at_outline(item: SceneObject, region: Region) -> bool:
    """Whether its back is at a wall."""
    (x, _, z), (width, _, depth) = item.center, item.size
    corners = region.floor_polygon
    for (ax, az), (bx, bz) in zip(corners, (*corners[1:], corners[0]), strict=True):
        along_x = abs(az - bz) < 1e-6
        place, half, line = (z, depth / 2, az) if along_x else (x, width / 2, ax)
        here, low, high = (x, min(ax, bx), max(ax, bx)) if along_x else (z, min(az, bz), max(az, bz))
        if low < here < high and abs(abs(place - line) - half) < INSIDE:
            return True
    return False


_OUTLOOKS = ("view", "outlook")


def _find_rooms(scene: Scene, owner: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
    """The number of the room of each sample; the last number is for what belongs to none."""
    rooms = [region.region_id for region in scene.semantics.regions]
    number = {room: place for place, room in enumerate(rooms)}
    by_object = np.full(int(owner.max(initial=0)) + 1, len(rooms), np.int64)
    for item in scene.semantics.objects:
        if item.object_id < len(by_object):
            by_object[item.object_id] = number.get(item.region or "", len(rooms))
    return by_object[owner], rooms


def _get_normals(scene: Scene, first: NDArray[np.int64]) -> Array:
    return np.ascontiguousarray(scene.normals[first].astype(np.float64))
