"""Who can see what: straight lines against the triangles of a scene.

A goal must be seen from where it counts as reached, and a start should not show it. Both are questions about
single lines, thousands of them, so the triangles are sorted into square columns and a line looks only into the
columns that it crosses. Glass does not block.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import AlphaMode, Scene, SceneObject

COLUMN = 0.25  #: metres
NOTHING = 0
#: where to look at a thing: its middle, and half-way from there to each of its sides
_LOOK_AT = ((0, 0, 0), (0, 0.25, 0), (0.25, 0, 0), (-0.25, 0, 0), (0, 0, 0.25), (0, 0, -0.25), (0, -0.25, 0))


class _Columns(NamedTuple):
    """Triangles by column."""

    corner: NDArray[np.float64]  # T × 3
    side_a: NDArray[np.float64]
    side_b: NDArray[np.float64]
    height: NDArray[np.float64]  # T × 2, lowest and highest
    owner: NDArray[np.uint32]
    first: NDArray[np.int64]  # one more than columns
    member: NDArray[np.int32]
    lower: NDArray[np.float64]  # x, z
    shape: tuple[int, int]


class SceneVisibility:
    """Lines of sight in one scene."""

    def __init__(self, scene: Scene) -> None:
        clear = np.array([material.alpha_mode is AlphaMode.BLEND for material in scene.materials] or [False])
        solid = ~clear[scene.triangle_material]
        self._columns = _build_columns(
            scene.positions[scene.triangles[solid]].astype(np.float64), scene.triangle_object[solid]
        )

    def is_clear(self, start: Vec3, end: Vec3, *, ignoring: int = NOTHING) -> bool:
        """Whether nothing stands between two points; triangles of the object `ignoring` do not count."""
        return self._look([start], [end], ignoring)[0]

    def check_visible_from(self, eyes: Sequence[Vec3], thing: SceneObject) -> list[bool]:
        """From which of these points some part of a thing can be seen, in whatever direction one looks."""
        return self._look(eyes, _sample_points(thing), thing.object_id)

    def _look(self, starts: Sequence[Vec3], ends: Sequence[Vec3], ignoring: int) -> list[bool]:
        """For each start, whether the line to some end is clear."""
        found = np.empty(len(starts), np.bool_)
        _check_clear(self._columns, _to_rows(starts), _to_rows(ends), ignoring, found)
        seen: list[bool] = found.tolist()
        return seen

    def compute_visible_share(self, eye: Vec3, thing: SceneObject) -> float:
        """How much of a thing is seen from here, between 0 and 1."""
        points = _sample_points(thing)
        seen = [self.is_clear(eye, point, ignoring=thing.object_id) for point in points]
        return sum(seen) / len(points)


def _sample_points(thing: SceneObject) -> list[Vec3]:
    (x, y, z), (width, height, depth) = thing.center, thing.size
    return [(x + a * width, y + b * height, z + c * depth) for a, b, c in _LOOK_AT]


def _build_columns(corners: NDArray[np.float64], owner: NDArray[np.uint32]) -> _Columns:
    low, high = corners[:, :, [0, 2]].min(axis=1), corners[:, :, [0, 2]].max(axis=1)
    lower = low.min(axis=0, initial=np.inf)
    begin = np.floor((low - lower) / COLUMN).astype(np.int64)
    end = np.floor((high - lower) / COLUMN).astype(np.int64) + 1
    shape = end.max(axis=0, initial=0)
    first, member = _list_members(begin, end, (int(shape[0]), int(shape[1])))
    return _Columns(
        np.ascontiguousarray(corners[:, 0]),
        np.ascontiguousarray(corners[:, 1] - corners[:, 0]),
        np.ascontiguousarray(corners[:, 2] - corners[:, 0]),
        np.stack([corners[:, :, 1].min(axis=1), corners[:, :, 1].max(axis=1)], axis=1),
        np.ascontiguousarray(owner),
        first,
        member,
        lower,
        (int(shape[0]), int(shape[1])),
    )


def _list_members(
    begin: NDArray[np.int64], end: NDArray[np.int64], shape: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    first = np.zeros(shape[0] * shape[1] + 1, dtype=np.int64)
    _count_members(begin, end, shape[1], first[1:])
    first = np.cumsum(first)
    member = np.empty(first[-1], dtype=np.int32)
    _fill_in_members(begin, end, shape[1], first.copy(), member)
    return first, member


# Kernels that return arrays need numba in each process; these fill arrays in.
@compile_kernel
def _count_members(begin: NDArray[np.int64], end: NDArray[np.int64], width: int, count: NDArray[np.int64]) -> None:
    for triangle in range(len(begin)):
        for i in range(begin[triangle, 0], end[triangle, 0]):
            for j in range(begin[triangle, 1], end[triangle, 1]):
                count[i * width + j] += 1


@compile_kernel
def _fill_in_members(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    width: int,
    free: NDArray[np.int64],
    member: NDArray[np.int32],
) -> None:
    for triangle in range(len(begin)):
        for i in range(begin[triangle, 0], end[triangle, 0]):
            for j in range(begin[triangle, 1], end[triangle, 1]):
                column = i * width + j
                member[free[column]] = triangle
                free[column] += 1


@compile_kernel
def _check_clear(
    columns: _Columns,
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    ignoring: int,
    found: NDArray[np.bool_],
) -> None:
    """For each start, whether the line to some end is clear."""
    for place in range(len(starts)):
        found[place] = False
        for end in range(len(ends)):
            if not _is_blocked(columns, starts[place], ends[end], ignoring):
                found[place] = True
                break


@compile_kernel
def _is_blocked(columns: _Columns, start: NDArray[np.float64], end: NDArray[np.float64], ignoring: int) -> bool:
    """Walk from column to column along the line, and test what is in each."""
    du, dv = (end[0] - start[0]) / COLUMN, (end[2] - start[2]) / COLUMN
    u, v = (start[0] - columns.lower[0]) / COLUMN, (start[2] - columns.lower[1]) / COLUMN
    i, j = math.floor(u), math.floor(v)
    across_u = math.inf if du == 0.0 else ((i + 1 if du > 0.0 else i) - u) / du
    across_v = math.inf if dv == 0.0 else ((j + 1 if dv > 0.0 else j) - v) / dv
    step_u = math.inf if du == 0.0 else abs(1.0 / du)
    step_v = math.inf if dv == 0.0 else abs(1.0 / dv)
    bottom, top = min(start[1], end[1]), max(start[1], end[1])
    while True:
        if 0 <= i < columns.shape[0] and 0 <= j < columns.shape[1]:
            column = i * columns.shape[1] + j
            for place in range(columns.first[column], columns.first[column + 1]):
                triangle = columns.member[place]
                if columns.height[triangle, 0] > top or columns.height[triangle, 1] < bottom:
                    continue
                if columns.owner[triangle] == ignoring and ignoring != 0:
                    continue
                if _is_crossed(columns, triangle, start, end):
                    return True
        if across_u > 1.0 and across_v > 1.0:
            return False
        if across_u < across_v:
            i += 1 if du > 0.0 else -1
            across_u += step_u
        else:
            j += 1 if dv > 0.0 else -1
            across_v += step_v


@compile_kernel
def _is_crossed(columns: _Columns, triangle: int, start: NDArray[np.float64], end: NDArray[np.float64]) -> bool:
    """Möller–Trumbore, for the open line between two points."""
    dx, dy, dz = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    ax, ay, az = columns.side_a[triangle, 0], columns.side_a[triangle, 1], columns.side_a[triangle, 2]
    bx, by, bz = columns.side_b[triangle, 0], columns.side_b[triangle, 1], columns.side_b[triangle, 2]
    px, py, pz = dy * bz - dz * by, dz * bx - dx * bz, dx * by - dy * bx
    determinant = ax * px + ay * py + az * pz
    if abs(determinant) < 1e-12:
        return False
    sx = start[0] - columns.corner[triangle, 0]
    sy = start[1] - columns.corner[triangle, 1]
    sz = start[2] - columns.corner[triangle, 2]
    u = (sx * px + sy * py + sz * pz) / determinant
    if u < 0.0 or u > 1.0:
        return False
    qx, qy, qz = sy * az - sz * ay, sz * ax - sx * az, sx * ay - sy * ax
    v = (dx * qx + dy * qy + dz * qz) / determinant
    if v < 0.0 or u + v > 1.0:
        return False
    t = (bx * qx + by * qy + bz * qz) / determinant
    return bool(1e-6 < t < 1.0 - 1e-6)


def _to_rows(points: Sequence[Vec3]) -> NDArray[np.float64]:
    return np.array(points, dtype=np.float64).reshape(-1, 3)
