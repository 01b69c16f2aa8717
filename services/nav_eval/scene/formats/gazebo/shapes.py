"""The plain shapes of SDF as triangles: box, cylinder, sphere, plane, capsule, cone, ellipsoid and polyline."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.formats import geometry
from nav_eval.scene.formats.gazebo.xml_tree import XmlNode
from nav_eval.scene.formats.geometry import MeshPart, triangulate

SEGMENTS = 32
CORNERS = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
UVS = ((0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0))
LARGEST = 10_000.0  # metres; a shape beyond it is a mistake


def make_shape(node: XmlNode, *, source: str) -> MeshPart | None:
    """The triangles of a geometry element, Z up around its middle; None for a kind that is not known."""
    maker = MAKERS.get(node.name)
    return None if maker is None else maker(node, source)


def _make_box(node: XmlNode, source: str) -> MeshPart:
    size = _read_sizes(node, "size", (1.0, 1.0, 1.0), source)
    faces = [_make_face(axis, sign) for axis in range(3) for sign in (-1.0, 1.0)]
    corners = np.concatenate(faces) * size
    return _join_quads(corners)


def _make_face(axis: int, sign: float) -> NDArray[np.float64]:
    """A side of the unit cube, counter-clockwise from outside."""
    points = np.zeros((4, 3))
    points[:, axis] = 0.5 * sign
    points[:, [(axis + 1) % 3, (axis + 2) % 3]] = CORNERS
    return points if sign > 0 else points[::-1]


def _make_plane(node: XmlNode, source: str) -> MeshPart:
    width, depth = _read_sizes(node, "size", (1.0, 1.0), source)
    normal = geometry.normalize(node.read_numbers("normal", default=(0.0, 0.0, 1.0), source=source)[None])[0]
    points = np.array([(x * width, y * depth, 0.0) for x, y in CORNERS])
    return _join_quads(points @ _turn_up_to(normal.astype(np.float64)).T)


def _turn_up_to(normal: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shortest turn that takes +Z to a direction."""
    x, y, z = normal
    if z < -1 + 1e-9:
        return np.diag([1.0, -1.0, -1.0])
    cross = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
    return np.asarray(np.eye(3) + cross + cross @ cross / (1 + z))


def _join_quads(corners: NDArray[np.float64]) -> MeshPart:
    starts = np.arange(0, len(corners), 4)[:, None, None]
    triangles = (starts + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
    return _make_part(corners, triangles, uvs=np.tile(UVS, (len(corners) // 4, 1)))


def _make_cylinder(node: XmlNode, source: str) -> MeshPart:
    radius, length = _read_size(node, "radius", source), _read_size(node, "length", source)
    half = length / 2
    return _turn_profile([(0.0, -half), (radius, -half), (radius, half), (0.0, half)], sharp=True)


def _make_cone(node: XmlNode, source: str) -> MeshPart:
    radius, length = _read_size(node, "radius", source), _read_size(node, "length", source)
    return _turn_profile([(0.0, -length / 2), (radius, -length / 2), (0.0, length / 2)], sharp=True)


def _make_sphere(node: XmlNode, source: str) -> MeshPart:
    radius = _read_size(node, "radius", source)
    return _turn_profile(_make_arc(radius, -90.0, 90.0, 0.0), sharp=False)


def _make_capsule(node: XmlNode, source: str) -> MeshPart:
    radius, half = _read_size(node, "radius", source), _read_size(node, "length", source) / 2
    profile = [*_make_arc(radius, -90.0, 0.0, -half), *_make_arc(radius, 0.0, 90.0, half)]
    return _turn_profile(profile, sharp=False)


def _make_ellipsoid(node: XmlNode, source: str) -> MeshPart:
    radii = _read_sizes(node, "radii", (1.0, 1.0, 1.0), source)
    ball = _turn_profile(_make_arc(1.0, -90.0, 90.0, 0.0), sharp=False)
    return geometry.move_part(ball, np.diag([*radii, 1.0]), object_id=0)


def _make_arc(radius: float, first: float, last: float, height: float) -> list[tuple[float, float]]:
    angles = np.radians(np.linspace(first, last, SEGMENTS // 2 + 1 if last - first > 90 else SEGMENTS // 4 + 1))
    widths = np.where(np.cos(angles) < 1e-9, 0.0, np.cos(angles))  # exactly 0 at the poles
    return [(radius * float(w), height + radius * float(np.sin(a))) for w, a in zip(widths, angles, strict=True)]


def _turn_profile(profile: list[tuple[float, float]], *, sharp: bool) -> MeshPart:
    """A profile of (distance from the axis, height), from below, turned around Z."""
    angles = 2 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    rings = [np.stack([r * np.cos(angles), r * np.sin(angles), np.full(SEGMENTS, z)], axis=1) for r, z in profile]
    here = np.arange(SEGMENTS)
    following = (here + 1) % SEGMENTS
    triangles = []
    for ring, (low, high) in enumerate(pairwise(profile)):
        a, b = ring * SEGMENTS + here, ring * SEGMENTS + following
        c, d = b + SEGMENTS, a + SEGMENTS
        triangles += [np.stack([a, b, c], axis=1)] if low[0] > 0 else []
        triangles += [np.stack([a, c, d], axis=1)] if high[0] > 0 else []
    points, faces = np.concatenate(rings), np.concatenate(triangles)
    if sharp:
        points, faces = points[faces.reshape(-1)], np.arange(faces.size).reshape(-1, 3)
    return _make_part(points, faces)


def _make_polyline(node: XmlNode, source: str) -> MeshPart:
    """An outline raised to a height."""
    height = _read_size(node, "height", source)
    points = [child.text.split() for child in node.iterate("point")]
    if len(points) < 3 or any(len(point) != 2 for point in points):
        raise SceneError(f"{source}: a polyline needs three points of two numbers at least.")
    outline = np.array([[float(x), float(y), 0.0] for x, y in points])
    x, y = outline[:, 0], outline[:, 1]
    is_clockwise = float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) < 0
    outline = outline[::-1] if is_clockwise else outline
    count = len(outline)
    lid, _ = triangulate(np.arange(count), np.array([count]), outline.astype(np.float32))
    raised = outline + np.array([0.0, 0.0, height])
    sides = np.stack([outline, np.roll(outline, -1, axis=0), np.roll(raised, -1, axis=0), raised], axis=1)
    pieces = [raised[lid].reshape(-1, 3), outline[lid[:, ::-1]].reshape(-1, 3)]
    pieces.append(sides[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3))
    corners = np.concatenate(pieces)
    return _make_part(corners, np.arange(len(corners)).reshape(-1, 3))


def _make_part(
    points: NDArray[np.float64], triangles: NDArray[np.integer], uvs: NDArray[np.float64] | None = None
) -> MeshPart:
    positions, faces = points.astype(np.float32), triangles.astype(np.uint32)
    return MeshPart(
        positions=positions,
        normals=geometry.compute_vertex_normals(positions, faces),
        uvs=np.zeros((len(points), 2), np.float32) if uvs is None else uvs.astype(np.float32),
        colors=np.full((len(points), 4), 255, np.uint8),
        triangles=faces,
        material=0,
    )


def _read_size(node: XmlNode, name: str, source: str) -> float:
    return float(_read_sizes(node, name, (1.0,), source)[0])


def _read_sizes(node: XmlNode, name: str, default: tuple[float, ...], source: str) -> NDArray[np.float64]:
    sizes = node.read_numbers(name, default=default, source=source)
    if not ((sizes > 0) & (sizes <= LARGEST)).all():
        raise SceneError(f"{source}: the {name} of a {node.name} is {sizes.tolist()}; it must be above 0, in metres.")
    return sizes


MAKERS: dict[str, Callable[[XmlNode, str], MeshPart]] = {
    "box": _make_box,
    "capsule": _make_capsule,
    "cone": _make_cone,
    "cylinder": _make_cylinder,
    "ellipsoid": _make_ellipsoid,
    "plane": _make_plane,
    "polyline": _make_polyline,
    "sphere": _make_sphere,
}
