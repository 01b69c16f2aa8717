"""A place of a mesh with the triangles around it, and whether the mesh would be the same without it.

It would where everything that meets there is flat, or creased along one straight line only, and all
that is interpolated is linear. `compute_drift` says by how much it would be off.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel

FLAT = 1.0 - 1e-5
"""Cosine between normals: below, an edge is a crease. Above, the fit decides what is flat."""
MOST = 32
"""Triangles around a place; where more meet, nothing moves."""


class EditableMesh(NamedTuple):
    """A mesh whose corners move from place to place. Lengths and values are in units of what may get lost."""

    triangles: NDArray[np.int32]  #: T × 3; the first is -1 once a triangle is gone
    normals: NDArray[np.float64]  #: T × 3
    points: NDArray[np.float64]  #: V × 3
    values: NDArray[np.float64]  #: V × K, everything else that is interpolated
    place: NDArray[np.int32]  #: V; vertices at the same place move together
    head: NDArray[np.int32]  #: of each place, its first corner (3 · triangle + 0, 1 or 2),
    after: NDArray[np.int32]  #: of each corner, the next at the same place
    drift: NDArray[np.float64]
    """Of each place, by how much the triangles around it may be off; what would go beyond 1 does not move."""


class Star(NamedTuple):
    """The triangles around one place: as many entries as there are."""

    corner: NDArray[np.int64]
    middle: NDArray[np.int64]  #: vertex at the place,
    left: NDArray[np.int64]  #: and the other two in order
    right: NDArray[np.int64]
    following: NDArray[np.int64]  #: the triangle across the right edge, of the same surface and plane; -1 without one
    preceding: NDArray[np.int64]
    sector: NDArray[np.int64]  #: triangles that follow each other have the same number
    target: NDArray[np.int64]  #: of each sector, its vertex at the place to move to
    ends: NDArray[np.int64]  #: the two places at which sectors end; -1 if none does
    ring: NDArray[np.int64]  #: the vertices around a sector,
    flat: NDArray[np.float64]  #: and where they are: x and y in the plane of the sector, z out of it, the middle at 0


@compile_nogil_kernel
def make_star() -> Star:
    room, ring, flat = np.empty((9, MOST), np.int64), np.empty(2 * MOST, np.int64), np.empty((2 * MOST, 3))
    return Star(room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7], room[8], ring, flat)


@compile_nogil_inline
def gather_star(mesh: EditableMesh, place: int, star: Star) -> int:
    """List the triangles around a place, forgetting those that are gone; none if they are too many or too small."""
    size, before, corner = 0, -1, mesh.head[place]
    while corner >= 0 and size < MOST:
        triangle, k = corner // 3, corner % 3
        if mesh.triangles[triangle, 0] >= 0:
            star.corner[size] = corner
            star.middle[size] = mesh.triangles[triangle, k]
            star.left[size] = mesh.triangles[triangle, (k + 1) % 3]
            star.right[size] = mesh.triangles[triangle, (k + 2) % 3]
            if mesh.place[star.left[size]] == place or mesh.place[star.right[size]] == place:
                return 0
            size += 1
            before = corner
        elif before < 0:
            mesh.head[place] = mesh.after[corner]
        else:
            mesh.after[before] = mesh.after[corner]
        corner = mesh.after[corner]
    return size if corner < 0 else 0


@compile_nogil_inline
def compute_drift(mesh: EditableMesh, place: int, star: Star, size: int) -> float:
    """By how much the triangles around a place would be off without it; infinite where it holds a shape.

    Where all corners of a flat stretch are within e of one linear function, so is everything that is
    interpolated between them, before and after: the two differ by no more than 2 e.
    """
    drift = mesh.drift[place]
    if size < 2 or drift > 1.0 or not _link_triangles(mesh, star, size) or not _find_ends(mesh, star, size):
        return np.inf
    sectors = _number_sectors(mesh, star, size)
    off = np.inf if sectors == 0 else 0.0
    for sector in range(sectors):
        off = max(off, _compute_line_error(mesh, star, size, sector), _compute_plane_error(mesh, star, size, sector))
        if drift + 2.0 * off > 1.0:
            break
    return float(drift + 2.0 * off)


@compile_nogil_inline
def _link_triangles(mesh: EditableMesh, star: Star, size: int) -> bool:
    """Find out which triangle follows which; False if an edge has more than two sides."""
    for i in range(size):
        star.following[i] = star.preceding[i] = -1
    for i in range(size):
        for j in range(size):
            if star.right[i] != star.left[j] or star.middle[i] != star.middle[j]:
                continue
            if i == j or star.following[i] >= 0 or star.preceding[j] >= 0:
                return False
            if _is_continuous(mesh, star, i, j):
                star.following[i], star.preceding[j] = j, i
    return True


@compile_nogil_inline
def _is_continuous(mesh: EditableMesh, star: Star, i: int, j: int) -> bool:
    """True if two triangles with a common edge are not bent there, nor is anything that they show. Generous."""
    one, other = star.corner[i] // 3, star.corner[j] // 3
    nx, ny, nz = mesh.normals[one, 0], mesh.normals[one, 1], mesh.normals[one, 2]
    if nx * mesh.normals[other, 0] + ny * mesh.normals[other, 1] + nz * mesh.normals[other, 2] < FLAT:
        return False
    middle, left, right, beyond = star.middle[i], star.left[i], star.right[i], star.right[j]
    ax, ay, az = _compute_step(mesh, middle, left)
    bx, by, bz = _compute_step(mesh, middle, right)
    cx, cy, cz = _compute_step(mesh, middle, beyond)
    area = nx * (ay * bz - az * by) + ny * (az * bx - ax * bz) + nz * (ax * by - ay * bx)
    u = (nx * (cy * bz - cz * by) + ny * (cz * bx - cx * bz) + nz * (cx * by - cy * bx)) / area
    v = (nx * (ay * cz - az * cy) + ny * (az * cx - ax * cz) + nz * (ax * cy - ay * cx)) / area
    a_length, b_length = np.sqrt(ax * ax + ay * ay + az * az), np.sqrt(bx * bx + by * by + bz * bz)
    for k in range(mesh.values.shape[1]):
        start = mesh.values[middle, k]
        a, b, c = mesh.values[left, k] - start, mesh.values[right, k] - start, mesh.values[beyond, k] - start
        unit = 1.0 + abs(a) / a_length + abs(b) / b_length
        if abs(c - u * a - v * b) > unit * (1.0 + abs(u) + abs(v)):
            return False
    return True


@compile_nogil_inline
def _compute_step(mesh: EditableMesh, start: int, end: int) -> tuple[float, float, float]:
    points = mesh.points
    return points[end, 0] - points[start, 0], points[end, 1] - points[start, 1], points[end, 2] - points[start, 2]


@compile_nogil_inline
def _find_ends(mesh: EditableMesh, star: Star, size: int) -> bool:
    """Where creases, seams and borders leave the place: nowhere (-1), or to two sides; False if it is otherwise."""
    star.ends[0] = star.ends[1] = -1
    for i in range(size):
        for side in range(2):
            neighbour = star.following[i] if side else star.preceding[i]
            end = mesh.place[star.right[i] if side else star.left[i]]
            if neighbour >= 0 or end == star.ends[0] or end == star.ends[1]:
                continue
            if star.ends[1] >= 0:
                return False
            star.ends[1 if star.ends[0] >= 0 else 0] = end
    return bool((star.ends[0] < 0) == (star.ends[1] < 0))


@compile_nogil_inline
def _number_sectors(mesh: EditableMesh, star: Star, size: int) -> int:
    """Number the triangles by sector, in order of what follows; 0 if a sector begins where it ends."""
    star.sector[:size] = -1
    sectors = 0
    for is_closed in range(2):
        for start in range(size):
            if star.sector[start] >= 0 or (star.preceding[start] >= 0 and not is_closed):
                continue
            i = last = start
            while i >= 0 and star.sector[i] < 0:
                star.sector[i] = sectors
                last, i = i, star.following[i]
            if not is_closed and mesh.place[star.left[start]] == mesh.place[star.right[last]]:
                return 0
            sectors += 1
    return sectors


@compile_nogil_inline
def _compute_line_error(mesh: EditableMesh, star: Star, size: int, sector: int) -> float:
    """How far the place is from the straight line between the ends of a sector; infinite if not between them."""
    start = middle = end = -1
    for i in range(size):
        if star.sector[i] == sector and star.preceding[i] < 0:
            start, middle = star.left[i], star.middle[i]
        if star.sector[i] == sector and star.following[i] < 0:
            end = star.right[i]
    if start < 0:
        return 0.0
    ax, ay, az = _compute_step(mesh, start, middle)
    bx, by, bz = _compute_step(mesh, start, end)
    along, length = ax * bx + ay * by + az * bz, bx * bx + by * by + bz * bz
    if not 0.0 < along < length:
        return np.inf
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return float(np.sqrt((x * x + y * y + z * z) / length))


@compile_nogil_inline
def _compute_plane_error(mesh: EditableMesh, star: Star, size: int, sector: int) -> float:
    """How far the corners of a sector are from the linear function of x and y that fits best, in any quantity.

    As points may be off by 1, values may be off by what they change over 1, and by 1 themselves.
    """
    middle, count = _lay_flat(mesh, star, size, sector)
    ring, flat = star.ring, star.flat
    xx, xy, yy = 0.0, 0.0, 0.0
    for i in range(count):
        xx, xy, yy = xx + flat[i, 0] * flat[i, 0], xy + flat[i, 0] * flat[i, 1], yy + flat[i, 1] * flat[i, 1]
    area = xx * yy - xy * xy
    if area <= 1e-9 * xx * yy:
        return np.inf
    off = 0.0
    for k in range(-1, mesh.values.shape[1]):
        xf, yf = 0.0, 0.0
        for i in range(count):
            value = flat[i, 2] if k < 0 else mesh.values[ring[i], k] - mesh.values[middle, k]
            xf, yf = xf + flat[i, 0] * value, yf + flat[i, 1] * value
        gx, gy = (xf * yy - yf * xy) / area, (yf * xx - xf * xy) / area
        unit = 1.0 + np.sqrt(gx * gx + gy * gy)
        for i in range(count):
            value = flat[i, 2] if k < 0 else mesh.values[ring[i], k] - mesh.values[middle, k]
            off = max(off, abs(value - gx * flat[i, 0] - gy * flat[i, 1]) / unit)
        if off > 0.5:
            break
    return off


@compile_nogil_inline
def _lay_flat(mesh: EditableMesh, star: Star, size: int, sector: int) -> tuple[int, int]:
    """Fill in `ring` and `flat`; returns the vertex in the middle and how many are around it."""
    middle, normal, count = -1, -1, 0
    for i in range(size):
        if star.sector[i] != sector:
            continue
        middle, normal = star.middle[i], star.corner[i] // 3
        if star.preceding[i] < 0:
            star.ring[count] = star.left[i]
            count += 1
        star.ring[count] = star.right[i]
        count += 1
    nx, ny, nz = mesh.normals[normal, 0], mesh.normals[normal, 1], mesh.normals[normal, 2]
    ax, ay, az = _find_perpendicular(nx, ny, nz)
    bx, by, bz = ny * az - nz * ay, nz * ax - nx * az, nx * ay - ny * ax
    for i in range(count):
        x, y, z = _compute_step(mesh, middle, star.ring[i])
        star.flat[i, 0] = x * ax + y * ay + z * az
        star.flat[i, 1] = x * bx + y * by + z * bz
        star.flat[i, 2] = x * nx + y * ny + z * nz
    return middle, count


@compile_nogil_inline
def _find_perpendicular(x: float, y: float, z: float) -> tuple[float, float, float]:
    """A direction at right angles to another."""
    if abs(x) < 0.7:
        length = np.sqrt(y * y + z * z)
        return 0.0, z / length, -y / length
    length = np.sqrt(x * x + y * y)
    return y / length, -x / length, 0.0
