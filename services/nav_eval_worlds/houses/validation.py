"""Checks that look only at the finished house, not at how it was made.

The generator promises walkable rooms, furniture that does not interpenetrate and walls without gaps; here
each promise is tested by other means than those that keep it: sampled floors instead of exact ones, the
real triangles instead of footprints, rays instead of plans.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.scene.model import SceneObject
from nav_eval_worlds.houses.house import GeneratedHouse, get_world_parts
from nav_eval_worlds.houses.placement.rooms import find_missing_essentials
from nav_eval_worlds.houses.plan.geometry import (
    CELL,
    Mask,
    Point,
    Rect,
    dilate,
    flood,
    get_middles,
    get_slices,
    measure_distance_to,
)
from nav_eval_worlds.houses.plan.model import HALF_WALL, PASSABLE, FloorPlan, Room
from nav_eval_worlds.houses.support import find_floating
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import SolidMesh

RADII = (180, 250)  #: millimetres
AGENT_HEIGHT = 1.5
LEAST_SHARE = 0.998  #: of the free floor hangs together; the rest are nooks of a few sampled cells
LEAST_FREE = 0.5  #: square metres of walkable floor in every room
NEAR = 1.0  #: metres from every object to walkable floor
DEPTH = 0.015  #: metres that two things may overlap, e.g. soft cushions
RAYS = 160
_BUILDING = ("wall", "floor", "ceiling", "doorway", "window", "stairs", "door")
_NO_OBSTACLE = ("wall", "floor", "ceiling", "doorway", "window", "rug")

Array = NDArray[np.float64]


def find_problems(house: GeneratedHouse) -> list[str]:
    """One sentence per broken promise; empty for a good house."""
    return [*find_faults(house), *_check_leaks(house)]


def find_faults(house: GeneratedHouse) -> list[str]:
    """What another plan or another arrangement would mend; the generator looks at this itself."""
    floating = () if house.scene.semantics.generator == FIRST_GENERATOR else find_floating(house)
    return [*_check_walking(house), *_check_essentials(house), *_check_interpenetration(house), *floating]


def _check_walking(house: GeneratedHouse) -> Iterator[str]:
    for storey in range(house.plan.storeys):
        for radius in RADII:
            yield from _check_storey(house, storey, radius)


def _check_storey(house: GeneratedHouse, storey: int, radius: int) -> Iterator[str]:
    """All rooms hang together for this agent, and everything can be approached."""
    free, origin = _find_walkable(house, storey, radius)
    rooms = [room for room in house.plan.rooms if room.storey == storey]
    start = _find_door_cell(house.plan, rooms[0], origin)
    reached = flood(free, start)
    share = float(reached.sum() / max(free.sum(), 1))
    if share < LEAST_SHARE:
        yield f"storey {storey}: only {share:.2%} of the free floor can be reached with a radius of {radius} mm"
    for room in rooms:
        area = int(reached[_mask_room(room, origin, reached.shape)].sum()) * (CELL / 1000) ** 2
        if area < LEAST_FREE:
            yield f"{room.room_id}: only {area:.2f} m² can be walked on with a radius of {radius} mm"
    yield from _check_reach(house, storey, reached, origin)


def _find_walkable(house: GeneratedHouse, storey: int, radius: int) -> tuple[Mask, Point]:
    """Free cells of a storey for an agent, and where the grid starts."""
    rooms = [room for room in house.plan.rooms if room.storey == storey]
    x0, z0 = min(r.bounds.x0 for r in rooms), min(r.bounds.z0 for r in rooms)
    x1, z1 = max(r.bounds.x1 for r in rooms), max(r.bounds.z1 for r in rooms)
    blocked = np.ones(((z1 - z0) // CELL, (x1 - x0) // CELL), bool)
    for rect in _find_open_floor(house.plan, rooms):
        blocked[get_slices(rect, (x0, z0), whole=True)] = False
    floor = storey * house.plan.storey_height / 1000
    for item in _find_obstacles(house, floor):
        blocked[get_slices(_get_footprint(item), (x0, z0), whole=False)] = True
    return ~dilate(blocked, radius), (x0, z0)


def _find_open_floor(plan: FloorPlan, rooms: Sequence[Room]) -> list[Rect]:
    """Rectangles of floor inside the walls, and through the doors."""
    open_floor = []
    for room in rooms:
        wells = [room.stair_well] if room.stair_well else []
        for rect in (r for r in room.rects if r not in wells):
            open_floor.append(rect.grow(-HALF_WALL))
        open_floor.extend(_find_bridges([r for r in room.rects if r not in wells]))
        for opening in plan.openings_of(room):
            if opening.kind in PASSABLE:
                low, high = opening.span
                x, z = opening.center
                open_floor.append(
                    Rect(low, z - 150, high, z + 150) if opening.along_x else Rect(x - 150, low, x + 150, high)
                )
    return open_floor


def _find_bridges(rects: Sequence[Rect]) -> list[Rect]:
    """Where two rectangles of one room meet."""
    found = []
    for one, other in combinations(rects, 2):
        x0, x1, z0, z1 = max(one.x0, other.x0), min(one.x1, other.x1), max(one.z0, other.z0), min(one.z1, other.z1)
        if x1 > x0 and z1 == z0:
            found.append(Rect(x0 + HALF_WALL, z0 - 150, x1 - HALF_WALL, z0 + 150))
        if z1 > z0 and x1 == x0:
            found.append(Rect(x0 - 150, z0 + HALF_WALL, x0 + 150, z1 - HALF_WALL))
    return found


def _find_obstacles(house: GeneratedHouse, floor: float) -> list[SceneObject]:
    """What an agent of this storey would run into; door leaves by their own place."""
    found = [leaf for leaf in _find_door_leaves(house) if abs(leaf.center[1] - leaf.size[1] / 2 - floor) < 0.1]
    for item in house.scene.semantics.objects:
        low, high = item.center[1] - item.size[1] / 2, item.center[1] + item.size[1] / 2
        solid = item.category not in _NO_OBSTACLE and item.category not in ("door", "stairs")
        if solid and low < floor + AGENT_HEIGHT and high > floor + 0.1:
            found.append(item)
    return found


def _get_footprint(item: SceneObject) -> Rect:
    (x, _, z), (width, _, depth) = item.center, item.size
    x0, z0, x1, z1 = (round(1000 * v) for v in (x - width / 2, z - depth / 2, x + width / 2, z + depth / 2))
    return Rect(x0, z0, x1, z1)


def _find_door_leaves(house: GeneratedHouse) -> list[SceneObject]:
    """The opened door leaves, measured from the triangles of the doors' bodies."""
    scene, found = house.scene, []
    bodies = [number for number, material in enumerate(scene.materials) if material.name.startswith("door/body")]
    doors = [item for item in scene.semantics.objects if item.category == "door" and item.name is None]
    for door in doors:
        own = (scene.triangle_object == door.object_id) & np.isin(scene.triangle_material, bodies)
        points = scene.positions[scene.triangles[own]].reshape(-1, 3).astype(float)
        low, high = points.min(axis=0), points.max(axis=0)
        center, size = (low + high) / 2, high - low
        found.append(
            SceneObject(
                object_id=door.object_id, category="door", center=tuple(center.tolist()), size=tuple(size.tolist())
            )
        )
    return found


def _check_reach(house: GeneratedHouse, storey: int, reached: Mask, origin: Point) -> Iterator[str]:
    x, z = get_middles(reached, origin)
    here = {room.room_id for room in house.plan.rooms if room.storey == storey}
    for item in house.scene.semantics.objects:
        if item.category in _BUILDING or item.category in ("ceiling lamp", "curtain") or item.region not in here:
            continue
        nearest = measure_distance_to(_get_footprint(item), x, z) / 1000
        if nearest >= NEAR:
            yield f"{item.category} {item.object_id} in {item.region}: {nearest:.2f} m from walkable floor"


def _check_essentials(house: GeneratedHouse) -> Iterator[str]:
    for room in house.plan.rooms:
        here = {placed.piece.category for placed in house.furniture if placed.room == room.room_id}
        for missing in find_missing_essentials(room.kind, here):
            yield f"{room.room_id}: has no {missing}"


def _check_interpenetration(house: GeneratedHouse) -> Iterator[str]:
    """Pairs of things whose solids overlap."""
    meshes = [[part.mesh for part in get_world_parts(placed)] for placed in house.furniture]
    bounds = [np.array([mesh.bounds for mesh in own]) for own in meshes]
    boxes = np.array([[own[:, 0].min(axis=0), own[:, 1].max(axis=0)] for own in bounds])
    for one, other in _find_overlapping(boxes):
        a, b = house.furniture[one], house.furniture[other]
        if "rug" in (a.piece.category, b.piece.category):
            continue
        if a.piece.licence or b.piece.licence:  # models are not made of convex solids; their boxes were kept apart
            continue
        close = zip(*np.nonzero(_find_overlap(bounds[one], bounds[other])), strict=True)
        if any(_is_penetrating(meshes[one][m], meshes[other][n]) for m, n in close):
            yield f"{a.piece.category} and {b.piece.category} in {a.room} interpenetrate"


def _find_overlapping(boxes: Array) -> list[Point]:
    first, second = np.nonzero(_find_overlap(boxes, boxes))
    return [(int(a), int(b)) for a, b in zip(first, second, strict=True) if a < b]


def _find_overlap(boxes: Array, others: Array) -> Mask:
    """Which of N boxes are deep in which of M others."""
    low = np.maximum(boxes[:, None, 0], others[None, :, 0])
    high = np.minimum(boxes[:, None, 1], others[None, :, 1])
    return np.asarray((high - low > DEPTH).all(axis=2))


def _is_penetrating(one: SolidMesh, other: SolidMesh) -> bool:
    """A vertex or the middle of a triangle of one convex solid is deep inside the other."""
    return _is_inside(one, other) or _is_inside(other, one)


def _is_inside(points_of: SolidMesh, solid: SolidMesh) -> bool:
    corners = points_of.positions[points_of.triangles]
    points = np.concatenate([points_of.positions, corners.mean(axis=1)])
    face = solid.positions[solid.triangles]
    normals = np.cross(face[:, 1] - face[:, 0], face[:, 2] - face[:, 0])
    normals /= np.sqrt((normals * normals).sum(axis=1, keepdims=True)) + 1e-12
    beyond = ((points[:, None, :] - face[None, :, 0]) * normals[None]).sum(axis=2)
    return bool((beyond < -DEPTH).all(axis=1).any())


def _check_leaks(house: GeneratedHouse) -> Iterator[str]:
    """Rays from inside the rooms must end on the front of something."""
    scene = house.scene
    building = {item.object_id for item in scene.semantics.objects if item.category in _BUILDING}
    glass = [n for n, material in enumerate(scene.materials) if material.base_color[3] < 1]
    own = np.isin(scene.triangle_object, sorted(building)) & ~np.isin(scene.triangle_material, glass)
    corners = scene.positions[scene.triangles[own]].astype(np.float64)
    draw, leaves = RandomStream(house.seed, "rays"), _find_door_leaves(house)
    rays = [
        (room.room_id, start, direction)
        for room in house.plan.rooms
        for start, direction in _draw_rays(house.plan, room, draw, max(8, RAYS // len(house.plan.rooms)))
        if not any(_is_within(leaf, start) for leaf in leaves)
    ]
    starts, directions = (np.array([ray[place] for ray in rays]) for place in (1, 2))
    for (room_id, start, _), facing in zip(rays, find_first_hits(corners, starts, directions), strict=True):
        if np.isnan(facing):
            yield f"{room_id}: a ray from {start.round(2).tolist()} leaves the house"
        elif facing > 0:
            yield f"{room_id}: a ray from {start.round(2).tolist()} sees the back of a surface"


def _is_within(item: SceneObject, point: Array) -> bool:
    """In a door leaf or its handle, where no camera can be."""
    return all(abs(p - c) <= s / 2 + 0.06 for p, c, s in zip(point, item.center, item.size, strict=True))


def _draw_rays(plan: FloorPlan, room: Room, draw: RandomStream, count: int) -> Iterator[tuple[Array, Array]]:
    """Random directions from the middle of the room's rectangles, at eye height."""
    floor = plan.floor_of(room) / 1000
    rects = [rect for rect in room.rects if rect != room.stair_well]
    for number in range(count):
        rect = rects[number % len(rects)].grow(-300)
        start = np.array(
            [
                draw.uniform(rect.x0, rect.x1) / 1000,
                floor + draw.uniform(0.9, 1.6),
                draw.uniform(rect.z0, rect.z1) / 1000,
            ]
        )
        direction = draw.units(3) * 2 - 1
        yield start, direction / np.sqrt((direction * direction).sum() + 1e-9)


def find_first_hits(corners: Array, starts: Array, directions: Array) -> Array:
    """Cosine between each ray and the normal of the first triangle that it hits; NaN where it hits nothing."""
    from trimesh import Trimesh
    from trimesh.ray.ray_triangle import RayMeshIntersector

    faces = np.arange(3 * len(corners)).reshape(-1, 3)
    mesh = Trimesh(vertices=corners.reshape(-1, 3), faces=faces, process=False)
    hits = RayMeshIntersector(mesh).intersects_first(starts, directions)
    facing = (mesh.face_normals[hits] * directions).sum(axis=1)
    return np.asarray(np.where(hits < 0, np.nan, facing), np.float64)


def _find_door_cell(plan: FloorPlan, room: Room, origin: Point) -> tuple[int, int]:
    opening = next(opening for opening in plan.openings_of(room) if opening.kind in PASSABLE)
    return (opening.center[1] - origin[1]) // CELL, (opening.center[0] - origin[0]) // CELL


def _mask_room(room: Room, origin: Point, shape: tuple[int, ...]) -> Mask:
    mask = np.zeros(shape, bool)
    for rect in room.rects:
        mask[get_slices(rect, origin, whole=True)] = True
    return mask
