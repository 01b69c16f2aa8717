"""Light of a generated house, worked out once per vertex.

Lamps, daylight from the windows, some light from everywhere, and darker places where things meet. It
is a function of the scene alone (objects, regions, lights), so a restyled scene is lit again without
knowing how it was made, and a renderer needs no lights at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Light, Region, Scene, SceneObject
from nav_eval_worlds.materials import FINISH_KINDS, get_finish_kind
from nav_eval_worlds.randomness import RandomStream

AMBIENT = 0.36
LAMP_REACH, WINDOW_REACH = 1.7, 2.2  #: metres at which light has lost half its strength
CONTACT = 0.4  #: metres around furniture in which the floor gets darker
_NO_SHADOW = ("rug", "door", "doorway", "window", "floor", "ceiling", "wall", "stairs")

Array = NDArray[np.float64]


def draw_lights(lamps: Sequence[Vec3], draw: RandomStream) -> tuple[Light, ...]:
    """Sun and lamps: time of day and warmth are drawn."""
    warm = draw.between(0.0, 1.0)
    colour = (1.0, round(0.95 - 0.1 * warm, 3), round(0.9 - 0.22 * warm, 3))
    strength = draw.between(0.55, 0.85)
    height, around = draw.between(0.4, 1.0), draw.uniform(-1, 1)
    sun = Light(
        kind="sun",
        color=(1.0, 0.97, 0.92),
        intensity=draw.between(0.5, 1.0),
        direction=normalize_direction((around, -height, 0.6 if around > 0 else -0.6)),
        baked=True,
    )
    points = [
        Light(kind="point", color=colour, intensity=strength, position=round_point(lamp), range=8.0, baked=True)
        for lamp in lamps
    ]
    return (sun, *points)


def bake_colors(scene: Scene) -> NDArray[np.uint8]:
    """Vertex colours (V × 4) of the scene under its own lights."""
    light = compute_vertex_light(scene)
    light[find_glowing(scene)] = 1.0
    colors = np.full((len(light), 4), 255, np.uint8)
    colors[:, :3] = np.round(np.clip(light, 0, 1) * 255)
    return colors


def compute_vertex_light(scene: Scene) -> Array:
    """Light of every vertex (V × 3), however bright; it adds up over the lights."""
    owner = find_vertex_objects(scene)
    objects = {item.object_id: item for item in scene.semantics.objects}
    light = np.full((len(scene.positions), 3), 1.0)
    rooms = {region.region_id: _make_room(region, scene) for region in scene.semantics.regions}
    order = np.argsort(owner, kind="stable")
    starts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    for first, last in zip(starts, [*starts[1:], len(order)], strict=True):
        members = order[first:last]
        item = objects.get(int(owner[members[0]]))
        if item is not None and item.region in rooms:
            light[members] = _compute_light(rooms[item.region], item, scene.positions[members], scene.normals[members])
    return light


@dataclass(frozen=True, slots=True, eq=False)
class _Room:
    """What lights one room and what stands on its floor."""

    region: Region
    lamps: list[Light]
    windows: list[SceneObject]
    daylight: float
    standing: Array  #: N × 5: x0, z0, x1, z1, strength of the shadow


def _make_room(region: Region, scene: Scene) -> _Room:
    own = [item for item in scene.semantics.objects if item.region == region.region_id]
    lamps = [light for light in scene.lights if light.kind == "point" and _is_inside(region, light.position)]
    sun = next((light.intensity for light in scene.lights if light.kind == "sun"), 0.7)
    standing = [_get_footprint(item) for item in own if _has_shadow(item, region)]
    windows = [item for item in own if item.category == "window"]
    return _Room(region, lamps, windows, sun, np.array(standing).reshape(-1, 5))


def _compute_light(
    room: _Room, item: SceneObject, positions: NDArray[np.float32], normals: NDArray[np.float32]
) -> Array:
    points, facing = positions.astype(np.float64), normals.astype(np.float64)
    light = np.repeat((AMBIENT * (1 + 0.18 * facing[:, 1]))[:, None], 3, axis=1)
    for lamp in room.lamps:
        light += _compute_lamp_light(lamp, points, facing)[:, None] * np.array(lamp.color)
    for window in room.windows:
        daylight = room.daylight * _compute_window_light(window, room.region, points, facing)
        light += daylight[:, None] * np.array((0.93, 0.97, 1.0))
    return light * _compute_darkening(room, item, points, facing)[:, None]


def _compute_lamp_light(lamp: Light, points: Array, facing: Array) -> Array:
    away = np.array(lamp.position) - points
    distance = np.sqrt((away * away).sum(axis=1)) + 1e-6
    cosine = (away * facing).sum(axis=1) / distance
    light: Array = lamp.intensity * np.maximum(0.0, 0.3 + 0.7 * cosine) / (1 + (distance / LAMP_REACH) ** 2)
    return light


def _compute_window_light(window: SceneObject, region: Region, points: Array, facing: Array) -> Array:
    """Soft light from a window into its room."""
    inward = _find_inward(window, region)
    away = np.array(window.center) + 0.15 * inward - points
    distance = np.sqrt((away * away).sum(axis=1)) + 1e-6
    cosine = (away * facing).sum(axis=1) / distance
    leaving = np.maximum(0.1, -(away * inward).sum(axis=1) / distance)
    area = max(window.size[0], window.size[2]) * window.size[1]
    spread = area / (area + (distance / WINDOW_REACH) ** 2 * 2)
    light: Array = 1.1 * np.maximum(0.0, 0.15 + 0.85 * cosine) * leaving * spread
    return light


def _find_inward(window: SceneObject, region: Region) -> Array:
    thin_x = window.size[0] < window.size[2]
    middle = [(low + high) / 2 for low, high in zip(region.lower, region.upper, strict=True)]
    axis = 0 if thin_x else 2
    inward = np.zeros(3)
    inward[axis] = 1.0 if middle[axis] > window.center[axis] else -1.0
    return inward


def _compute_darkening(room: _Room, item: SceneObject, points: Array, facing: Array) -> Array:
    """Less light in corners, under things, and near the floor."""
    height = points[:, 1] - room.region.lower[1]
    if item.category == "floor":
        return _compute_contact_shadow(room, points)
    if item.category == "wall":
        below_ceiling = room.region.upper[1] - points[:, 1]
        return 1 - 0.16 * np.clip(1 - height / 0.5, 0, 1) - 0.1 * np.clip(1 - below_ceiling / 0.5, 0, 1)
    if item.category == "ceiling":
        return np.full(len(points), 0.95)
    under = np.where(facing[:, 1] < -0.5, 0.7, 1.0)
    return under * (0.78 + 0.22 * np.clip(height / 0.45, 0, 1))


def _compute_contact_shadow(room: _Room, points: Array) -> Array:
    """Soft shadows of what stands on the floor."""
    shadow = np.zeros(len(points))
    for x0, z0, x1, z1, strength in room.standing:
        dx = np.maximum(np.maximum(x0 - points[:, 0], points[:, 0] - x1), 0)
        dz = np.maximum(np.maximum(z0 - points[:, 2], points[:, 2] - z1), 0)
        near = np.clip(1 - np.sqrt(dx * dx + dz * dz) / CONTACT, 0, 1)
        shadow = np.maximum(shadow, strength * near)
    return 1 - shadow


def _get_footprint(item: SceneObject) -> tuple[float, float, float, float, float]:
    (x, _, z), (width, _, depth) = item.center, item.size
    airy = item.category in ("chair", "dining table", "desk", "stool", "side table", "coffee table", "office chair")
    return x - width / 2, z - depth / 2, x + width / 2, z + depth / 2, 0.28 if airy else 0.42


def _has_shadow(item: SceneObject, region: Region) -> bool:
    on_floor = item.center[1] - item.size[1] / 2 < region.lower[1] + 0.06
    return on_floor and item.size[1] > 0.1 and item.category not in _NO_SHADOW


def _is_inside(region: Region, point: Sequence[float]) -> bool:
    """In the region's polygon and between its floor and ceiling."""
    if not region.lower[1] - 0.1 <= point[1] <= region.upper[1] + 0.1:
        return False
    x, z = point[0], point[2]
    inside = False
    corners = region.floor_polygon
    for (ax, az), (bx, bz) in zip(corners, (*corners[1:], corners[0]), strict=True):
        if (az > z) != (bz > z) and x < (bx - ax) * (z - az) / (bz - az) + ax:
            inside = not inside
    return inside


def find_vertex_objects(scene: Scene) -> NDArray[np.int64]:
    owner = np.zeros(len(scene.positions), np.int64)
    owner[scene.triangles] = scene.triangle_object.astype(np.int64)[:, None]
    return owner


def find_glowing(scene: Scene) -> NDArray[np.bool_]:
    """Vertices of lamps, screens and views, which show their own light."""
    kinds = [FINISH_KINDS.get(get_finish_kind(material)) for material in scene.materials]
    own = np.array([kind is not None and (kind.unlit or kind.glow > 0) for kind in kinds])
    marked = np.zeros(len(scene.positions), bool)
    marked[scene.triangles[own[scene.triangle_material]]] = True
    return marked


def normalize_direction(vector: Vec3) -> Vec3:
    length = sum(value * value for value in vector) ** 0.5
    x, y, z = (round(value / length, 6) for value in vector)
    return x, y, z


def round_point(point: Vec3) -> Vec3:
    x, y, z = (round(value, 4) for value in point)
    return x, y, z
