"""Small worlds made of boxes, and the exact shortest path between walls."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.sparse.csgraph import dijkstra

from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.scene.navigation.mesh import NavigationMesh

ARC = 6  #: points per quarter circle of a rounded corner


@dataclass(frozen=True)
class Geometry:
    positions: np.ndarray
    triangles: np.ndarray


@dataclass(frozen=True)
class Box:
    """An upright box: centre and half extents in the plane, turned by degrees, from bottom to top."""

    x: float
    z: float
    half_x: float
    half_z: float
    turn: float = 0.0
    bottom: float = 0.0
    top: float = 2.5

    def corners(self):
        """Counter-clockwise in (x, z)."""
        angle = math.radians(self.turn)
        cos, sin = math.cos(angle), math.sin(angle)
        flat = [
            (-self.half_x, -self.half_z),
            (self.half_x, -self.half_z),
            (self.half_x, self.half_z),
            (-self.half_x, self.half_z),
        ]
        return np.array([(self.x + a * cos - b * sin, self.z + a * sin + b * cos) for a, b in flat])


def solid(box: Box) -> Geometry:
    """All six faces, seen from outside."""
    flat = box.corners()
    positions = [(x, y, z) for y in (box.bottom, box.top) for x, z in flat]
    faces = [(0, 1, 2), (0, 2, 3), (4, 6, 5), (4, 7, 6)]
    for k in range(4):
        n = (k + 1) % 4
        faces += [(k, k + 4, n), (n, k + 4, n + 4)]
    return Geometry(np.array(positions, np.float32), np.array(faces, np.uint32))


def floor(corners, y=0.0) -> Geometry:
    """A convex polygon of floor; corners (x, z), in any winding, or (x, y, z) for a ramp."""
    points = [(c[0], y, c[1]) if len(c) == 2 else tuple(c) for c in corners]
    area = sum(a[0] * b[2] - b[0] * a[2] for a, b in zip(points, points[1:] + points[:1], strict=True))
    if area > 0:
        points.reverse()
    faces = [(0, k, k + 1) for k in range(1, len(points) - 1)]
    return Geometry(np.array(points, np.float32), np.array(faces, np.uint32))


def together(*parts) -> Geometry:
    positions, triangles, offset = [], [], 0
    for part in parts:
        positions.append(part.positions)
        triangles.append(part.triangles + np.uint32(offset))
        offset += len(part.positions)
    return Geometry(np.concatenate(positions), np.concatenate(triangles))


def room(width, depth, *boxes, turn=0.0) -> tuple[Geometry, list[Box]]:
    """A floor with walls around and boxes inside, all turned about the origin."""
    thick = 0.1
    walls = [
        Box(0, -depth / 2 - thick, width / 2 + 2 * thick, thick),
        Box(0, depth / 2 + thick, width / 2 + 2 * thick, thick),
        Box(-width / 2 - thick, 0, thick, depth / 2),
        Box(width / 2 + thick, 0, thick, depth / 2),
    ]
    turned = [turn_box(box, turn) for box in [*walls, *boxes]]
    ground = turn_box(Box(0, 0, width / 2 + thick, depth / 2 + thick), turn)
    return together(floor(ground.corners()), *map(solid, turned)), turned


def turn_box(box: Box, degrees: float) -> Box:
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    x, z = box.x * cos - box.z * sin, box.x * sin + box.z * cos
    return Box(x, z, box.half_x, box.half_z, box.turn + degrees, box.bottom, box.top)


def stairs(steps, *, rise=0.18, run=0.28, width=1.2, z=0.0, x=0.0) -> Geometry:
    """Steps that climb towards +x, solid from below, starting at x."""
    blocks = [
        solid(Box(x + (k + 0.5) * run, z, run / 2, width / 2, bottom=0.0, top=(k + 1) * rise)) for k in range(steps)
    ]
    return together(*blocks)


def inflated(box: Box, radius: float) -> np.ndarray:
    """The box grown by a disc, its rounded corners as many-sided arcs; counter-clockwise."""
    points = []
    for k, (x, z) in enumerate(box.corners()):
        first = math.radians(box.turn) + math.pi + k * math.pi / 2
        angles = first + np.linspace(0, math.pi / 2, ARC + 1)
        points += [(x + radius * math.cos(a), z + radius * math.sin(a)) for a in angles]
    return np.array(points)


def _inside_length(start, end, polygon):
    """Length of each segment within a convex polygon (vectorised over segments)."""
    along = end - start
    enter, leave = np.zeros(len(start)), np.ones(len(start))
    for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        normal = np.array([b[1] - a[1], a[0] - b[0]])  # outwards
        off, slope = (start - a) @ normal, along @ normal
        with np.errstate(divide="ignore", invalid="ignore"):
            t = -off / slope
        enter = np.where(slope < 0, np.maximum(enter, t), enter)
        leave = np.where(slope > 0, np.minimum(leave, t), leave)
        leave = np.where((slope == 0) & (off > 0), -1.0, leave)
    return np.maximum(0.0, leave - enter) * np.linalg.norm(along, axis=1)


def _free(start, end, polygons):
    blocked = np.zeros(len(start), bool)
    for polygon in polygons:
        blocked |= _inside_length(start, end, polygon) > 1e-6
    return ~blocked


def exact_distances(boxes, radius, goal, points) -> np.ndarray:
    """Shortest ways for a disc from points (x, z) to a goal, by the visibility graph of the grown boxes."""
    polygons = [inflated(box, radius) for box in boxes]
    corners = np.concatenate(polygons)
    shrunk = [np.mean(p, axis=0) + (p - np.mean(p, axis=0)) * (1 - 1e-6) for p in polygons]
    hidden = np.zeros(len(corners), bool)
    for polygon in shrunk:
        hidden |= _inside(corners, polygon)
    nodes = np.concatenate([corners[~hidden], [goal], points])
    fixed = len(nodes) - len(points)
    rows, columns = (index.ravel() for index in np.meshgrid(np.arange(len(nodes)), np.arange(fixed), indexing="ij"))
    seen = _free(nodes[rows], nodes[columns], shrunk)
    weights = np.full((len(nodes), len(nodes)), np.inf)
    length = np.linalg.norm(nodes[rows] - nodes[columns], axis=1)
    weights[rows[seen], columns[seen]] = length[seen]
    weights = np.minimum(weights, weights.T)
    weights[weights == 0] = 1e-12
    np.fill_diagonal(weights, np.inf)
    weights[~np.isfinite(weights)] = 0.0
    return dijkstra(weights, directed=False, indices=fixed - 1)[fixed:]


def _inside(points, polygon):
    inside = np.ones(len(points), bool)
    for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        inside &= (b[0] - a[0]) * (points[:, 1] - a[1]) - (b[1] - a[1]) * (points[:, 0] - a[0]) > 0
    return inside


ROOMS = {
    "two walls": (10, 8, Box(-1.5, -1.5, 0.05, 2.5), Box(1.5, 1.5, 0.05, 2.5)),
    "u shape": (10, 8, Box(0, 2, 2, 0.1), Box(-2, 0, 0.1, 2.1), Box(2, 0, 0.1, 2.1)),
    "door": (8, 8, Box(-2.45, 0, 1.55, 0.06), Box(2.45, 0, 1.55, 0.06)),
    "boxes": (
        10,
        10,
        Box(-2, -2, 0.5, 0.5, 30),
        Box(2, 1, 0.8, 0.3, 50),
        Box(0, 2.5, 0.3, 0.3, 10),
        Box(3, -3, 0.6, 0.6, 45),
    ),
}


@cache
def room_mesh(name: str, turn: float = 0.0, radius: float = 0.2) -> tuple[NavigationMesh, list[Box]]:
    geometry, boxes = room(*ROOMS[name], turn=turn)
    return build_navigation(geometry, AgentShape(radius=radius)), boxes


def flat(point):
    return np.array([point[0], point[2]])


def gap_to(box: Box, point) -> float:
    """Metres between a place and a box, seen from above; 0 inside."""
    angle = math.radians(-box.turn)
    x, z = point[0] - box.x, point[2] - box.z
    along = abs(x * math.cos(angle) - z * math.sin(angle)) - box.half_x
    across = abs(x * math.sin(angle) + z * math.cos(angle)) - box.half_z
    return math.hypot(max(0.0, along), max(0.0, across))


def crosses(box: Box, start, end) -> bool:
    """Does the straight line go through the box?"""
    return bool(_inside_length(flat(start)[None], flat(end)[None], box.corners())[0] > 1e-9)
