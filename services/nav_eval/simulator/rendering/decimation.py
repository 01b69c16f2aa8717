"""Undoing needless tessellation: flat stretches of a surface are drawn with fewer, larger triangles.

A corner is taken out of the mesh where no picture can tell: all that meets there lies in one plane, or in
planes that meet in one straight line through it, and positions, texture coordinates and tints are linear
around it, up to rounding. It moves into a neighbour, for everything that meets there at once, so that no
crack can open; on a seam, a crease or a border it moves along that line only. Every place remembers how
far the surface around it may have drifted from the original, and the sum is bounded.

Triangles are not made longer than EDGE: what is hidden should still be left out piece by piece.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_inline, compile_nogil_kernel
from nav_eval.simulator.rendering.triangle_blocks import compute_unit_normals
from nav_eval.simulator.rendering.vertex_star import EditableMesh, Star, compute_drift, gather_star, make_star

EDGE = 1.0
"""Metres. Larger triangles are cheaper to begin, smaller ones are hidden more often; about here the sum is least."""
SHAPE = 0.02
"""Height over longest edge: a new triangle may only be slimmer than this if one of those it replaces was."""
TURNS = 32
"""How often all places are looked at, at most: each turn removes every third or so."""


class ScaledMesh(NamedTuple):
    """Triangles over vertices, every quantity in units of how far it may be off."""

    triangles: NDArray[np.int32]  #: T × 3, each with an area; vertices that are equal in everything have one number
    points: NDArray[np.float64]  #: V × 3
    values: NDArray[np.float64]  #: V × K, everything else that is interpolated across a triangle
    place: NDArray[np.int32]  #: V, equal for vertices at the same point: they move together
    is_fixed: NDArray[np.bool_]  #: V, true for what must not move


def decimate(surface: ScaledMesh, *, longest: float) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The triangles that are left, over the same vertices, and which triangle each was; `longest` is in units too.

    The triangles of `surface` are used up: a copy of a large scene's would be large.
    """
    triangles = surface.triangles
    normals = compute_unit_normals(surface.points, triangles)
    drift = np.zeros(int(surface.place.max(initial=-1)) + 1)
    drift[surface.place[surface.is_fixed]] = np.inf
    head, after = _list_corners(triangles, surface.place, len(drift))
    _collapse_corners(
        EditableMesh(triangles, normals, surface.points, surface.values, surface.place, head, after, drift), longest
    )
    kept = np.flatnonzero(triangles[:, 0] >= 0)
    return triangles[kept], kept


@compile_nogil_kernel
def _list_corners(
    triangles: NDArray[np.int32], place: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """`EditableMesh.head` and `EditableMesh.after`."""
    head, after = np.full(count, -1, dtype=np.int32), np.full(3 * len(triangles), -1, dtype=np.int32)
    for corner in range(3 * len(triangles) - 1, -1, -1):
        at = place[triangles[corner // 3, corner % 3]]
        after[corner], head[at] = head[at], corner
    return head, after


@compile_nogil_kernel
def _collapse_corners(mesh: EditableMesh, longest: float) -> None:
    """Take out corners until none is left that can go.

    No two neighbours go in the same turn: that keeps the triangles even, and errors from piling up.
    """
    count = len(mesh.head)
    star = make_star()
    is_due, settled = np.ones(count, dtype=np.bool_), np.zeros(count, dtype=np.int32)
    for turn in range(1, TURNS + 1):
        moves = 0
        for place in range(count):
            if not is_due[place] or settled[place] == turn:
                continue
            is_due[place] = False
            size = gather_star(mesh, place, star)
            drift = compute_drift(mesh, place, star, size)
            target = _choose_target(mesh, star, size, longest) if drift <= 1.0 else -1
            if target < 0:
                continue
            for i in range(size):
                for near in (mesh.place[star.left[i]], mesh.place[star.right[i]]):
                    is_due[near], settled[near] = True, turn
                    mesh.drift[near] = max(mesh.drift[near], drift)
            _aim(mesh, star, size, target)
            _move(mesh, place, star, size, target)
            moves += 1
        if moves == 0:
            return


@compile_nogil_inline
def _choose_target(mesh: EditableMesh, star: Star, size: int, longest: float) -> int:
    """The neighbouring place to move to that leaves the best shapes; -1 if none leaves good ones."""
    best, best_shape = -1, max(min(SHAPE, _compute_worst_shape(mesh, star, size, -1, np.inf)), 1e-6)
    for i in range(size if star.ends[0] < 0 else 2):
        target = mesh.place[star.left[i]] if star.ends[0] < 0 else star.ends[i]
        shape = _compute_worst_shape(mesh, star, size, target, longest) if _aim(mesh, star, size, target) else 0.0
        if shape > best_shape or (shape == best_shape and best < 0):
            best, best_shape = target, shape
    return best


@compile_nogil_inline
def _aim(mesh: EditableMesh, star: Star, size: int, target: int) -> bool:
    """Fill in the vertices to move to.

    True if with the move two triangles of every sector vanish that goes all around, and one of every other.
    """
    vanishing, reached, sectors, borders = 0, 0, 0, 0
    for i in range(size):
        sectors = max(sectors, star.sector[i] + 1)
        borders += star.preceding[i] < 0
        is_left, is_right = mesh.place[star.left[i]] == target, mesh.place[star.right[i]] == target
        if is_left or is_right:
            star.target[star.sector[i]] = star.left[i] if is_left else star.right[i]
            vanishing += 1
            reached |= 1 << star.sector[i]
    return reached == (1 << sectors) - 1 and vanishing == 2 * sectors - borders


@compile_nogil_inline
def _compute_worst_shape(mesh: EditableMesh, star: Star, size: int, target: int, longest: float) -> float:
    """Height over longest edge of the worst triangle after a move (or now, without a target); 0 if one is too long."""
    worst = np.inf
    points, normals = mesh.points, mesh.normals
    for i in range(size):
        if mesh.place[star.left[i]] == target or mesh.place[star.right[i]] == target:
            continue
        middle = star.middle[i] if target < 0 else star.target[star.sector[i]]
        left, right, triangle = star.left[i], star.right[i], star.corner[i] // 3
        area, to_left, to_right, between = 0.0, 0.0, 0.0, 0.0
        for axis in range(3):
            j, k = (axis + 1) % 3, (axis + 2) % 3
            a, b = points[left, j] - points[middle, j], points[left, k] - points[middle, k]
            c, d = points[right, j] - points[middle, j], points[right, k] - points[middle, k]
            area += normals[triangle, axis] * (a * d - b * c)
            to_left += a * a
            to_right += c * c
            between += (a - c) * (a - c)
        if max(to_left, to_right) > longest * longest:
            return 0.0
        worst = min(worst, area / max(to_left, to_right, between))
    return worst


@compile_nogil_inline
def _move(mesh: EditableMesh, place: int, star: Star, size: int, target: int) -> None:
    """Move all corners at a place to another; triangles between the two vanish."""
    for i in range(size):
        triangle, k = star.corner[i] // 3, star.corner[i] % 3
        if mesh.place[star.left[i]] == target or mesh.place[star.right[i]] == target:
            mesh.triangles[triangle, 0] = -1
        else:
            mesh.triangles[triangle, k] = star.target[star.sector[i]]
    last = star.corner[size - 1]
    mesh.after[last], mesh.head[target] = mesh.head[target], mesh.head[place]
    mesh.head[place] = -1
