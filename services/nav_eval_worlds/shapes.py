"""Solids that furniture and walls are made of.

Metres, Y up; `at` is the middle of the bottom unless stated otherwise. Texture coordinates count
metres divided by `TEXTURE_SPAN`, with u along the longer side of a face, so that wood grain follows
boards and any texture fits any surface; a `fit` mesh shows a picture exactly once instead.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nav_eval.records.geometry import Vec3

TEXTURE_SPAN = 1.5  #: metres that one repeat of a texture covers

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Profile = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class SolidMesh:
    """Triangles with normals and texture coordinates."""

    positions: Array
    normals: Array
    uvs: Array
    triangles: Indices
    fit: bool = False  #: texture coordinates already run from 0 to 1

    @property
    def bounds(self) -> tuple[Array, Array]:
        return self.positions.min(axis=0), self.positions.max(axis=0)

    def translate(self, by: Vec3) -> "SolidMesh":
        return replace(self, positions=self.positions + np.array(by))

    def rotate(self, degrees: float) -> "SolidMesh":
        """Around the vertical axis through the origin, to the left seen from above."""
        return self._rotate(_make_rotation(degrees, axis=1))

    def tilt(self, degrees: float, *, axis: int = 0) -> "SolidMesh":
        """Around the x (0) or z (2) axis through the origin."""
        return self._rotate(_make_rotation(degrees, axis=axis))

    def _rotate(self, matrix: tuple[Vec3, Vec3, Vec3]) -> "SolidMesh":
        return replace(
            self, positions=_apply_matrix(matrix, self.positions), normals=_apply_matrix(matrix, self.normals)
        )


def merge_meshes(meshes: Sequence[SolidMesh]) -> SolidMesh:
    offsets = np.cumsum([0] + [len(mesh.positions) for mesh in meshes[:-1]])
    return SolidMesh(
        np.concatenate([mesh.positions for mesh in meshes]),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.uvs for mesh in meshes]),
        np.concatenate([mesh.triangles + offset for mesh, offset in zip(meshes, offsets, strict=True)]),
        meshes[0].fit,
    )


def make_box(size: Vec3, at: Vec3 = (0, 0, 0)) -> SolidMesh:
    """A cuboid of (width, height, depth)."""
    positions = _BOX_CORNERS * np.array(size) + np.array(at)
    return SolidMesh(
        positions, _BOX_NORMALS, _compute_box_uvs(_BOX_CORNERS * np.array(size), _BOX_NORMALS, size), _BOX_TRIANGLES
    )


def make_box_pair(size: Vec3, at: Vec3) -> list[SolidMesh]:
    """Two equal boxes, the left one at −x and the right one at x."""
    return [make_box(size, (side * at[0], at[1], at[2])) for side in (-1, 1)]


def make_rounded_box(size: Vec3, radius: float, at: Vec3 = (0, 0, 0)) -> SolidMesh:
    """A cuboid with softened edges, for upholstery, ceramics and appliances."""
    radius = min(radius, *(0.45 * side for side in size))
    half = np.array([size[0] / 2, size[1] / 2, size[2] / 2])
    reach = np.where(_SOFT_NORMALS != 0, 0.0, radius)
    positions = _SOFT_SIGNS * (half - reach) + np.array([0, size[1] / 2, 0])
    return SolidMesh(
        positions + np.array(at), _SOFT_NORMALS * 1.0, _compute_box_uvs(positions, _SOFT_NORMALS, size), _SOFT_TRIANGLES
    )


def make_cylinder(
    radius: float, height: float, at: Vec3 = (0, 0, 0), *, top: float | None = None, sides: int = 14
) -> SolidMesh:
    """A closed cylinder or truncated cone."""
    end = radius if top is None else top
    return make_lathe([(0, 0), (radius, 0), (end, height), (0, height)], at, sides=sides)


def make_lathe(
    profile: Profile,
    at: Vec3 = (0, 0, 0),
    *,
    sides: int = 14,
    stretch: tuple[float, float] = (1, 1),
    smooth: bool = False,
) -> SolidMesh:
    """A profile of (radius, height) turned around the vertical axis; `stretch` scales x and z."""
    rings = [band for band in pairwise(profile) if band[0] != band[1]]
    slopes = [_compute_outward_normal(low, high) for low, high in rings]
    bands = []
    for place, (low, high) in enumerate(rings):
        ends = (slopes[place], slopes[place])
        if smooth:
            before, after = slopes[max(place - 1, 0)], slopes[min(place + 1, len(rings) - 1)]
            ends = (_compute_mean_normal(before, slopes[place]), _compute_mean_normal(slopes[place], after))
        bands.append(_make_band(low, high, ends, sides))
    mesh = merge_meshes(bands)
    scale = np.array([stretch[0], 1.0, stretch[1]])
    normals = mesh.normals / scale
    normals /= np.sqrt((normals * normals).sum(axis=1, keepdims=True))
    return replace(mesh, positions=mesh.positions * scale + np.array(at), normals=normals)


def make_ellipsoid(size: Vec3, at: Vec3 = (0, 0, 0), *, sides: int = 10, rings: int = 6) -> SolidMesh:
    """A ball squeezed into (width, height, depth)."""
    steps = [_compute_direction(90 - 180 * step / rings) for step in range(rings, -1, -1)]
    profile = [(abs(cos) * 0.5, size[1] * (0.5 + sin / 2)) for cos, sin in steps]
    return make_lathe(profile, at, sides=sides, stretch=(size[0], size[2]), smooth=True)


def make_rod(start: Vec3, end: Vec3, radius: float, *, sides: int = 8) -> SolidMesh:
    """A round bar from one point to another."""
    axis = np.array(end, float) - np.array(start, float)
    length = float(np.sqrt((axis * axis).sum()))
    along = axis / length
    helper = np.array([1.0, 0, 0]) if abs(along[0]) < 0.9 else np.array([0, 0, 1.0])
    side = np.cross(helper, along)
    side /= np.sqrt((side * side).sum())
    columns = (side, along, np.cross(side, along))
    matrix = tuple(tuple(float(column[row]) for column in columns) for row in range(3))
    return make_cylinder(radius, length, sides=sides)._rotate(matrix).translate(start)  # type: ignore[arg-type]


def make_prism(outline: Sequence[tuple[float, float]], depth: float, at: Vec3 = (0, 0, 0)) -> SolidMesh:
    """A convex outline in (x, y), counter-clockwise, extruded along z; `at` moves its origin."""
    front = np.array([(x, y, depth / 2) for x, y in outline])
    back = front * np.array([1, 1, -1.0])
    count = len(outline)
    fan = np.array([(0, n, n + 1) for n in range(1, count - 1)])
    meshes = [_make_flat(front, fan, (0, 0, 1)), _make_flat(back, fan[:, ::-1], (0, 0, -1))]
    for n in range(count):
        m = (n + 1) % count
        meshes.append(make_quad(tuple(back[n]), tuple(back[m]), tuple(front[m]), tuple(front[n])))
    return merge_meshes(meshes).translate(at)


def make_quad(a: Sequence[float], b: Sequence[float], c: Sequence[float], d: Sequence[float]) -> SolidMesh:
    """A parallelogram, counter-clockwise seen from the front; u runs from a to b."""
    corners = np.array([a, b, c, d], float)
    across, up = corners[1] - corners[0], corners[3] - corners[0]
    normal = np.cross(across, up)
    normal /= np.sqrt((normal * normal).sum())
    width, height = np.sqrt((across * across).sum()), np.sqrt((up * up).sum())
    uvs = np.array([[0, height], [width, height], [width, 0], [0, 0]]) / TEXTURE_SPAN
    return SolidMesh(corners, np.tile(normal, (4, 1)), uvs, np.array([[0, 1, 2], [0, 2, 3]]))


def make_picture(width: float, height: float, at: Vec3 = (0, 0, 0)) -> SolidMesh:
    """An upright quad towards +z that shows its texture once; `at` is the middle of its lower edge."""
    x, (cx, cy, cz) = width / 2, at
    mesh = make_quad((cx - x, cy, cz), (cx + x, cy, cz), (cx + x, cy + height, cz), (cx - x, cy + height, cz))
    return replace(mesh, uvs=_FIT_UVS, fit=True)


def make_level_picture(width: float, depth: float, at: Vec3 = (0, 0, 0)) -> SolidMesh:
    """A horizontal quad facing up that shows its texture once."""
    x, z, (cx, cy, cz) = width / 2, depth / 2, at
    mesh = make_quad((cx - x, cy, cz + z), (cx + x, cy, cz + z), (cx + x, cy, cz - z), (cx - x, cy, cz - z))
    return replace(mesh, uvs=_FIT_UVS, fit=True)


def make_round_picture(radius: float, at: Vec3 = (0, 0, 0)) -> SolidMesh:
    """An upright disc towards +z that shows its texture once; `at` is its middle."""
    disc = make_lathe([(radius, 0), (0, 0)], sides=24).tilt(90)
    uvs = np.column_stack([0.5 + disc.positions[:, 0] / (2 * radius), 0.5 - disc.positions[:, 1] / (2 * radius)])
    return replace(disc, uvs=uvs, fit=True).translate(at)


def make_folds(width: float, height: float, *, depth: float, count: int, at: Vec3 = (0, 0, 0)) -> SolidMesh:
    """A hanging cloth with vertical folds, visible from both sides."""
    steps = 2 * count
    xs = [at[0] - width / 2 + width * n / steps for n in range(steps + 1)]
    zs = [at[2] + (depth / 2 if n % 2 else -depth / 2) for n in range(steps + 1)]
    sides: list[SolidMesh] = []
    for n in range(steps):
        low, high = (xs[n], at[1], zs[n]), (xs[n + 1], at[1], zs[n + 1])
        up = [(p[0], p[1] + height, p[2]) for p in (low, high)]
        sides.extend((make_quad(low, high, up[1], up[0]), make_quad(high, low, up[0], up[1])))
    return merge_meshes(sides)


def make_double_sided(mesh: SolidMesh) -> SolidMesh:
    """The mesh and its back."""
    back = replace(mesh, normals=-mesh.normals, triangles=mesh.triangles[:, ::-1])
    return merge_meshes([mesh, back])


def _make_band(
    low: tuple[float, float], high: tuple[float, float], slopes: tuple[Array, Array], sides: int
) -> SolidMesh:
    circle, count = _make_circle(sides), sides + 1
    positions, normals, uvs = np.empty((2 * count, 3)), np.empty((2 * count, 3)), np.empty((2 * count, 2))
    girth = 2 * math.pi * max(low[0], high[0])
    length = math.sqrt((high[0] - low[0]) ** 2 + (high[1] - low[1]) ** 2)
    u = np.linspace(0, girth, count)
    for number, ((radius, y), slope, v) in enumerate(zip((low, high), slopes, (length, 0.0), strict=True)):
        own = slice(number * count, (number + 1) * count)
        positions[own, ::2], positions[own, 1] = circle * radius, y
        normals[own, ::2], normals[own, 1] = circle * slope[0], slope[1]
        uvs[own, 0], uvs[own, 1] = u, v
    lower, upper = _make_band_triangles(sides)
    triangles = [part for part, radius in ((lower, low[0]), (upper, high[0])) if radius > 0]
    return SolidMesh(positions, normals, uvs / TEXTURE_SPAN, np.concatenate(triangles))


@lru_cache(maxsize=64)
def _make_band_triangles(sides: int) -> tuple[Indices, Indices]:
    """Those with two corners on the lower ring, and those with two on the upper one."""
    step = np.arange(sides)
    lower = np.column_stack([step, step + sides + 1, step + 1])
    upper = np.column_stack([step + 1, step + sides + 1, step + sides + 2])
    return lower, upper


def _compute_outward_normal(low: tuple[float, float], high: tuple[float, float]) -> Array:
    """The normal of a profile segment, as (away from the axis, up)."""
    rise, run = high[1] - low[1], high[0] - low[0]
    length = math.sqrt(rise * rise + run * run)
    return np.array([rise / length, -run / length])


def _compute_mean_normal(one: Array, other: Array) -> Array:
    total = one + other
    length = math.sqrt(float((total * total).sum()))
    return total / length if length > 1e-6 else one


def _make_flat(positions: Array, triangles: Indices, normal: Vec3) -> SolidMesh:
    uvs = np.column_stack([positions[:, 0], -positions[:, 1]]) / TEXTURE_SPAN
    return SolidMesh(positions, np.tile(np.array(normal, float), (len(positions), 1)), uvs, triangles)


def _compute_box_uvs(corners: Array, normals: Array, size: Vec3) -> Array:
    """Planar per face, u along the longer side of the face."""
    uvs = np.empty((len(corners), 2))
    for axis, (across, up) in enumerate(((2, 1), (0, 2), (0, 1))):
        first, second = (across, up) if size[across] >= size[up] else (up, across)
        chosen = normals[:, axis] != 0
        uvs[chosen] = corners[chosen][:, [first, second]]
    return uvs / TEXTURE_SPAN


@lru_cache(maxsize=64)
def _make_circle(sides: int) -> Array:
    return np.array([_compute_direction(360 * step / sides) for step in range(sides)] + [_compute_direction(0)])


def _compute_direction(degrees: float) -> tuple[float, float]:
    """Cosine and sine, rounded so that the last bit of the platform's library does not matter."""
    angle = math.radians(degrees)
    return round(math.cos(angle), 9), round(math.sin(angle), 9)


def _make_rotation(degrees: float, *, axis: int) -> tuple[Vec3, Vec3, Vec3]:
    cos, sin = _compute_direction(degrees)
    if axis == 1:
        return (cos, 0, sin), (0, 1, 0), (-sin, 0, cos)
    if axis == 0:
        return (1, 0, 0), (0, cos, -sin), (0, sin, cos)
    return (cos, -sin, 0), (sin, cos, 0), (0, 0, 1)


def _apply_matrix(matrix: tuple[Vec3, Vec3, Vec3], vectors: Array) -> Array:
    """Plain sums instead of a matrix product, whose rounding depends on the machine."""
    of_x, of_y, of_z = np.array(matrix, np.float64).T
    turned: Array = vectors[:, :1] * of_x + vectors[:, 1:2] * of_y + vectors[:, 2:] * of_z
    return turned


def _make_box_template() -> tuple[Array, Array, Indices]:
    corners: list[list[float]] = []
    normals: list[list[float]] = []
    triangles: list[list[int]] = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for sign in (-1, 1):
            first = len(corners)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corner = [0.0, 0.0, 0.0]
                corner[axis], corner[u], corner[v] = sign / 2, a / 2, b / 2
                corners.append(corner)
                normals.append([float(sign) if n == axis else 0.0 for n in range(3)])
            order = (0, 1, 2, 3) if sign > 0 else (0, 3, 2, 1)
            ring = [first + n for n in order]
            triangles.extend(([ring[0], ring[1], ring[2]], [ring[0], ring[2], ring[3]]))
    return np.array(corners) + np.array([0, 0.5, 0]), np.array(normals), np.array(triangles)


def _make_soft_template() -> tuple[Array, Array, Indices]:
    """Three vertices per corner, one on each of its faces; flat faces, bevelled edges and corners."""
    signs = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    index = {(corner, axis): 3 * n + axis for n, corner in enumerate(signs) for axis in range(3)}
    normals = np.array([[corner[axis] if n == axis else 0 for n in range(3)] for corner in signs for axis in range(3)])
    positions = np.repeat(np.array(signs, float), 3, axis=0)
    quads, triangles = [], []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for a in (-1, 1):
            quads.append(
                [index[_find_corner({axis: a, u: p, v: q}), axis] for p, q in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            )
            for b in (-1, 1):  # the edge along `axis` between the faces of u and v
                ends = [_find_corner({axis: end, u: a, v: b}) for end in (-1, 1)]
                quads.append([index[ends[0], u], index[ends[1], u], index[ends[1], v], index[ends[0], v]])
    triangles = [[q[0], q[1], q[2]] for q in quads] + [[q[0], q[2], q[3]] for q in quads]
    triangles += [[index[corner, 0], index[corner, 1], index[corner, 2]] for corner in signs]
    return positions, normals.astype(float), _turn_outward(positions - 0.3 * (1 - abs(normals)) * positions, triangles)


def _find_corner(parts: dict[int, int]) -> tuple[int, int, int]:
    return parts[0], parts[1], parts[2]


def _turn_outward(positions: Array, triangles: list[list[int]]) -> Indices:
    """Turn the triangles of a convex solid around the origin so that all face away from it."""
    found = []
    for a, b, c in triangles:
        normal = np.cross(positions[b] - positions[a], positions[c] - positions[a])
        found.append(
            (a, b, c) if float((normal * (positions[a] + positions[b] + positions[c])).sum()) > 0 else (a, c, b)
        )
    return np.array(found)


_BOX_CORNERS, _BOX_NORMALS, _BOX_TRIANGLES = _make_box_template()
_SOFT_SIGNS, _SOFT_NORMALS, _SOFT_TRIANGLES = _make_soft_template()
_FIT_UVS = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
