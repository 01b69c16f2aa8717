"""Checks that look only at the finished house, not at how it was made.

The generator promises walkable rooms, furniture that does not interpenetrate and walls without gaps; here
each promise is tested by other means than those that keep it: sampled floors instead of exact ones, the
real triangles instead of footprints, rays instead of plans.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.houses.assembly import world_parts
from nav_eval.scene.houses.house import House
from nav_eval.scene.houses.placement.rooms import missing_essentials
from nav_eval.scene.houses.plan.geometry import Point, Rect
from nav_eval.scene.houses.plan.model import HALF_WALL, PASSABLE, Plan, Room
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.raster import CELL, Mask, dilated, distance_to, flooded, middles, slices
from nav_eval.scene.houses.shapes import Mesh
from nav_eval.scene.model import SceneObject

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


def findings(house: House) -> list[str]:
    """One sentence per broken promise; empty for a good house."""
    return [*faults(house), *_leaks(house)]


def faults(house: House) -> list[str]:
    """What another plan or another arrangement would mend; the generator looks at this itself."""
    return [*_walking(house), *_bare_rooms(house), *_interpenetrations(house)]


def _walking(house: House) -> Iterator[str]:
    for storey in range(house.plan.storeys):
        for radius in RADII:
            yield from _storey(house, storey, radius)


def _storey(house: House, storey: int, radius: int) -> Iterator[str]:
    """All rooms hang together for this agent, and everything can be approached."""
    free, origin = _walkable(house, storey, radius)
    rooms = [room for room in house.plan.rooms if room.storey == storey]
    start = _door_cell(house.plan, rooms[0], origin)
    reached = flooded(free, start)
    share = float(reached.sum() / max(free.sum(), 1))
    if share < LEAST_SHARE:
        yield f"storey {storey}: only {share:.2%} of the free floor can be reached with a radius of {radius} mm"
    for room in rooms:
        area = int(reached[_cells_of(room, origin, reached.shape)].sum()) * (CELL / 1000) ** 2
        if area < LEAST_FREE:
            yield f"{room.room_id}: only {area:.2f} m² can be walked on with a radius of {radius} mm"
    yield from _out_of_reach(house, storey, reached, origin)


def _walkable(house: House, storey: int, radius: int) -> tuple[Mask, Point]:
    """Free cells of a storey for an agent, and where the grid starts."""
    rooms = [room for room in house.plan.rooms if room.storey == storey]
    x0, z0 = min(r.bounds.x0 for r in rooms), min(r.bounds.z0 for r in rooms)
    x1, z1 = max(r.bounds.x1 for r in rooms), max(r.bounds.z1 for r in rooms)
    blocked = np.ones(((z1 - z0) // CELL, (x1 - x0) // CELL), bool)
    for rect in _open_floor(house.plan, rooms):
        blocked[slices(rect, (x0, z0), whole=True)] = False
    floor = storey * house.plan.storey_height / 1000
    for item in _obstacles(house, floor):
        blocked[slices(_footprint(item), (x0, z0), whole=False)] = True
    return ~dilated(blocked, radius), (x0, z0)


def _open_floor(plan: Plan, rooms: Sequence[Room]) -> list[Rect]:
    """Rectangles of floor inside the walls, and through the doors."""
    open_floor = []
    for room in rooms:
        wells = [room.stair_well] if room.stair_well else []
        for rect in (r for r in room.rects if r not in wells):
            open_floor.append(rect.grown(-HALF_WALL))
        open_floor.extend(_bridges([r for r in room.rects if r not in wells]))
        for opening in plan.openings_of(room):
            if opening.kind in PASSABLE:
                low, high = opening.span
                x, z = opening.center
                open_floor.append(
                    Rect(low, z - 150, high, z + 150) if opening.along_x else Rect(x - 150, low, x + 150, high)
                )
    return open_floor


def _bridges(rects: Sequence[Rect]) -> list[Rect]:
    """Where two rectangles of one room meet."""
    found = []
    for one, other in combinations(rects, 2):
        x0, x1, z0, z1 = max(one.x0, other.x0), min(one.x1, other.x1), max(one.z0, other.z0), min(one.z1, other.z1)
        if x1 > x0 and z1 == z0:
            found.append(Rect(x0 + HALF_WALL, z0 - 150, x1 - HALF_WALL, z0 + 150))
        if z1 > z0 and x1 == x0:
            found.append(Rect(x0 - 150, z0 + HALF_WALL, x0 + 150, z1 - HALF_WALL))
    return found


def _obstacles(house: House, floor: float) -> list[SceneObject]:
    """What an agent of this storey would run into; door leaves by their own place."""
    found = [leaf for leaf in _leaves(house) if abs(leaf.center[1] - leaf.size[1] / 2 - floor) < 0.1]
    for item in house.scene.semantics.objects:
        low, high = item.center[1] - item.size[1] / 2, item.center[1] + item.size[1] / 2
        solid = item.category not in _NO_OBSTACLE and item.category not in ("door", "stairs")
        if solid and low < floor + AGENT_HEIGHT and high > floor + 0.1:
            found.append(item)
    return found


def _footprint(item: SceneObject) -> Rect:
    (x, _, z), (width, _, depth) = item.center, item.size
    x0, z0, x1, z1 = (round(1000 * v) for v in (x - width / 2, z - depth / 2, x + width / 2, z + depth / 2))
    return Rect(x0, z0, x1, z1)


def _leaves(house: House) -> list[SceneObject]:
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


def _out_of_reach(house: House, storey: int, reached: Mask, origin: Point) -> Iterator[str]:
    x, z = middles(reached, origin)
    here = {room.room_id for room in house.plan.rooms if room.storey == storey}
    for item in house.scene.semantics.objects:
        if item.category in _BUILDING or item.category in ("ceiling lamp", "curtain") or item.region not in here:
            continue
        nearest = distance_to(_footprint(item), x, z) / 1000
        if nearest >= NEAR:
            yield f"{item.category} {item.object_id} in {item.region}: {nearest:.2f} m from walkable floor"


def _bare_rooms(house: House) -> Iterator[str]:
    for room in house.plan.rooms:
        here = {placed.piece.category for placed in house.furniture if placed.room == room.room_id}
        for missing in missing_essentials(room.kind, here):
            yield f"{room.room_id}: has no {missing}"


def _interpenetrations(house: House) -> Iterator[str]:
    """Pairs of things whose solids overlap."""
    meshes = [[part.mesh for part in world_parts(placed)] for placed in house.furniture]
    boxes = np.array(
        [[np.min([m.bounds[0] for m in own], axis=0), np.max([m.bounds[1] for m in own], axis=0)] for own in meshes]
    )
    for one, other in _overlapping(boxes):
        a, b = house.furniture[one], house.furniture[other]
        if "rug" in (a.piece.category, b.piece.category):
            continue
        if any(_penetrates(m, n) for m in meshes[one] for n in meshes[other]):
            yield f"{a.piece.category} and {b.piece.category} in {a.room} interpenetrate"


def _overlapping(boxes: Array) -> list[Point]:
    low, high = boxes[:, 0], boxes[:, 1]
    depth = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    first, second = np.nonzero((depth > DEPTH).all(axis=2))
    return [(int(a), int(b)) for a, b in zip(first, second, strict=True) if a < b]


def _penetrates(one: Mesh, other: Mesh) -> bool:
    """A vertex or the middle of a triangle of one convex solid is deep inside the other."""
    (a0, a1), (b0, b1) = one.bounds, other.bounds
    if (np.minimum(a1, b1) - np.maximum(a0, b0) <= DEPTH).any():
        return False
    return _inside(one, other) or _inside(other, one)


def _inside(points_of: Mesh, solid: Mesh) -> bool:
    corners = points_of.positions[points_of.triangles]
    points = np.concatenate([points_of.positions, corners.mean(axis=1)])
    face = solid.positions[solid.triangles]
    normals = np.cross(face[:, 1] - face[:, 0], face[:, 2] - face[:, 0])
    normals /= np.sqrt((normals * normals).sum(axis=1, keepdims=True)) + 1e-12
    beyond = ((points[:, None, :] - face[None, :, 0]) * normals[None]).sum(axis=2)
    return bool((beyond < -DEPTH).all(axis=1).any())


def _leaks(house: House) -> Iterator[str]:
    """Rays from inside the rooms must end on the front of something."""
    scene = house.scene
    building = {item.object_id for item in scene.semantics.objects if item.category in _BUILDING}
    glass = [n for n, material in enumerate(scene.materials) if material.base_color[3] < 1]
    own = np.isin(scene.triangle_object, sorted(building)) & ~np.isin(scene.triangle_material, glass)
    corners = scene.positions[scene.triangles[own]].astype(np.float64)
    draw, leaves = Draw(house.seed, "rays"), _leaves(house)
    for room in house.plan.rooms:
        for start, direction in _rays(house.plan, room, draw, max(8, RAYS // len(house.plan.rooms))):
            if any(_within(leaf, start) for leaf in leaves):
                continue
            facing = first_hit(corners, start, direction)
            if facing is None:
                yield f"{room.room_id}: a ray from {start.round(2).tolist()} leaves the house"
            elif facing > 0:
                yield f"{room.room_id}: a ray from {start.round(2).tolist()} sees the back of a surface"


def _within(item: SceneObject, point: Array) -> bool:
    """In a door leaf or its handle, where no camera can be."""
    return all(abs(p - c) <= s / 2 + 0.06 for p, c, s in zip(point, item.center, item.size, strict=True))


def _rays(plan: Plan, room: Room, draw: Draw, count: int) -> Iterator[tuple[Array, Array]]:
    """Random directions from the middle of the room's rectangles, at eye height."""
    floor = plan.floor_of(room) / 1000
    rects = [rect for rect in room.rects if rect != room.stair_well]
    for number in range(count):
        rect = rects[number % len(rects)].grown(-300)
        start = np.array(
            [
                draw.uniform(rect.x0, rect.x1) / 1000,
                floor + draw.uniform(0.9, 1.6),
                draw.uniform(rect.z0, rect.z1) / 1000,
            ]
        )
        direction = draw.units(3) * 2 - 1
        yield start, direction / np.sqrt((direction * direction).sum() + 1e-9)


def first_hit(corners: Array, start: Array, direction: Array) -> float | None:
    """Cosine between the ray and the normal of the first triangle it hits; None when it hits nothing."""
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(direction, ac)
    det = (ab * across).sum(axis=1)
    safe = np.where(np.abs(det) < 1e-12, 1.0, det)
    to_start = start - a
    u = (to_start * across).sum(axis=1) / safe
    q = np.cross(to_start, ab)
    v = (direction * q).sum(axis=1) / safe
    t = (ac * q).sum(axis=1) / safe
    hit = (np.abs(det) >= 1e-12) & (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9) & (t > 1e-6)
    if not hit.any():
        return None
    nearest = int(np.flatnonzero(hit)[t[hit].argmin()])
    normal = np.cross(ab[nearest], ac[nearest])
    return float((normal * direction).sum() / np.sqrt((normal * normal).sum()))


def _door_cell(plan: Plan, room: Room, origin: Point) -> tuple[int, int]:
    opening = next(opening for opening in plan.openings_of(room) if opening.kind in PASSABLE)
    return (opening.center[1] - origin[1]) // CELL, (opening.center[0] - origin[0]) // CELL


def _cells_of(room: Room, origin: Point, shape: tuple[int, ...]) -> Mask:
    mask = np.zeros(shape, bool)
    for rect in room.rects:
        mask[slices(rect, origin, whole=True)] = True
    return mask
