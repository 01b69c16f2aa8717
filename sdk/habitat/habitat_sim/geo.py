"""Directions, boxes and rays."""

from typing import Any, Self

import numpy as np

import magnum as mn
from nav_eval_habitat.points import make_point

UP, GRAVITY = make_point((0.0, 1.0, 0.0)), make_point((0.0, -1.0, 0.0))
FRONT, BACK = make_point((0.0, 0.0, -1.0)), make_point((0.0, 0.0, 1.0))
LEFT, RIGHT = make_point((-1.0, 0.0, 0.0)), make_point((1.0, 0.0, 0.0))

BBox = mn.Range3D  #: its name up to 0.3.2


class Ray:
    def __init__(self, origin: Any = (0, 0, 0), direction: Any = (0, 0, 0)) -> None:
        self.origin, self.direction = mn.Vector3(origin), mn.Vector3(direction)


class OBB:
    """A box that may be turned."""

    def __init__(self, center: Any = (0, 0, 0), dimensions: Any = (0, 0, 0), rotation: Any = None) -> None:
        if isinstance(center, mn.Range3D):
            center, dimensions = center.center, center.size
        self.center = mn.Vector3(center)
        self.sizes = mn.Vector3(dimensions)
        self._turn = rotation if isinstance(rotation, mn.Quaternion) else mn.Quaternion()

    @property
    def half_extents(self) -> mn.Vector3:
        return mn.Vector3(np.asarray(self.sizes) / 2)

    @property
    def rotation(self) -> mn.Vector4:
        """x, y, z, w."""
        return mn.Vector4(*self._turn.numbers)

    @property
    def local_to_world(self) -> mn.Matrix4:
        """From the cube between −1 and 1 to the box."""
        scaled = np.asarray(self._turn.to_matrix()) * np.asarray(self.half_extents)
        return mn.Matrix4.from_(scaled, self.center)

    @property
    def world_to_local(self) -> mn.Matrix4:
        """To the cube between −1 and 1; without a number in the direction in which the box is flat, as ever."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shrunk = np.asarray(self._turn.to_matrix()).T / np.asarray(self.half_extents)[:, None]
            return mn.Matrix4.from_(shrunk, -(shrunk @ np.asarray(self.center)))

    @property
    def volume(self) -> float:
        return float(np.prod(np.asarray(self.sizes)))

    def contains(self, point: Any, eps: float = 1e-6) -> bool:
        turned = self._turn.inverted().transform_vector(np.asarray(point) - np.asarray(self.center))
        return bool((np.abs(np.asarray(turned)) <= np.asarray(self.half_extents) + eps).all())

    def closest_point(self, point: Any) -> mn.Vector3:
        """Of the box; the point itself if it is inside."""
        turned = self._turn.inverted().transform_vector(np.asarray(point) - np.asarray(self.center))
        half = np.asarray(self.half_extents)
        return mn.Vector3(
            np.asarray(self.center) + np.asarray(self._turn.transform_vector(np.clip(turned, -half, half)))
        )

    def rotate(self, rotation: mn.Quaternion) -> Self:
        """Turn this box about its middle."""
        self._turn = rotation * self._turn
        return self

    def to_aabb(self) -> mn.Range3D:
        reach = np.abs(np.asarray(self._turn.to_matrix())) @ np.asarray(self.half_extents)
        return mn.Range3D.from_center(self.center, reach)

    def distance(self, point: Any) -> float:
        turned = self._turn.inverted().transform_vector(np.asarray(point) - np.asarray(self.center))
        beyond = np.maximum(np.abs(np.asarray(turned)) - np.asarray(self.half_extents), 0.0)
        return float(np.linalg.norm(beyond))


def compute_gravity_aligned_MOBB(gravity: Any, points: Any) -> OBB:
    """The box around points, upright; aligned with the axes, not the smallest."""
    spread = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    lower, upper = spread.min(axis=0), spread.max(axis=0)
    return OBB((lower + upper) / 2, upper - lower)


def get_transformed_bb(box: mn.Range3D, matrix: mn.Matrix4) -> mn.Range3D:
    """The upright box around a box that was moved."""
    rows = np.asarray(matrix)
    middle = rows[:3, :3] @ np.asarray(box.center) + rows[:3, 3]
    return mn.Range3D.from_center(middle, np.abs(rows[:3, :3]) @ np.asarray(box.half_extents))


def build_catmull_rom_spline(key_points: Any, num_interpolations: int, alpha: float = 0.5) -> list[mn.Vector3]:
    """A smooth curve through points: `num_interpolations` pieces between two of them."""
    keys = [np.asarray(point, dtype=np.float64) for point in key_points]
    ends = [2 * keys[0] - keys[1], *keys, 2 * keys[-1] - keys[-2]]
    curve: list[mn.Vector3] = []
    for a, b, c, d in zip(ends, ends[1:], ends[2:], ends[3:], strict=False):
        times = np.cumsum([0.0, *(np.linalg.norm(q - p) ** alpha for p, q in ((a, b), (b, c), (c, d)))])
        for part in np.linspace(times[1], times[2], num_interpolations, endpoint=False):
            curve.append(mn.Vector3(_interpolate((a, b, c, d), times, part)))
    return [*curve, mn.Vector3(keys[-1])]


def _interpolate(points: Any, times: Any, at: float) -> Any:
    """Barry and Goldman's pyramid: neighbours are blended until one place is left."""
    a, b, c, d = points
    t0, t1, t2, t3 = times
    first, middle, last = _blend(a, b, (t0, t1), at), _blend(b, c, (t1, t2), at), _blend(c, d, (t2, t3), at)
    return _blend(_blend(first, middle, (t0, t2), at), _blend(middle, last, (t1, t3), at), (t1, t2), at)


def _blend(start: Any, end: Any, span: tuple[float, float], at: float) -> Any:
    early, late = span
    width = (late - early) or 1.0
    return start * ((late - at) / width) + end * ((at - early) / width)
