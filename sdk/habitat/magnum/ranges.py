"""Boxes between two corners. Their parts may be read as properties and as methods, as the vectors may be called."""

from typing import Any, ClassVar, Self

import numpy as np

from magnum._arrays import SmallVector
from magnum.vectors import Vector2, Vector2i, Vector3


class _Range:
    __slots__ = ("max", "min")

    corner: ClassVar[type[SmallVector]]

    def __init__(self, *corners: Any) -> None:
        lower, upper = corners if len(corners) == 2 else (corners[0] if corners else ((), ()))
        self.min: Any = self.corner(lower) if len(lower) else self.corner()
        self.max: Any = self.corner(upper) if len(upper) else self.corner()

    @classmethod
    def from_size(cls, lower: Any, size: Any) -> Self:
        return cls(lower, cls.corner(np.asarray(lower) + np.asarray(size)))

    @classmethod
    def from_center(cls, center: Any, half_size: Any) -> Self:
        middle, half = np.asarray(center), np.asarray(half_size)
        return cls(cls.corner(middle - half), cls.corner(middle + half))

    @classmethod
    def zero_init(cls) -> Self:
        return cls()

    @property
    def center(self) -> Any:
        return self.corner((np.asarray(self.min) + np.asarray(self.max)) / 2)

    @property
    def size(self) -> Any:
        return self.corner(np.asarray(self.max) - np.asarray(self.min))

    sizes = size

    @property
    def half_extents(self) -> Any:
        return self.corner(np.asarray(self.size) / 2)

    def translated(self, vector: Any) -> Self:
        step = np.asarray(vector)
        return type(self)(self.corner(np.asarray(self.min) + step), self.corner(np.asarray(self.max) + step))

    def padded(self, padding: Any) -> Self:
        room = np.asarray(padding)
        return type(self)(self.corner(np.asarray(self.min) - room), self.corner(np.asarray(self.max) + room))

    def scaled(self, factor: Any) -> Self:
        return type(self)(
            self.corner(np.asarray(self.min) * np.asarray(factor)),
            self.corner(np.asarray(self.max) * np.asarray(factor)),
        )

    def contains(self, other: Any) -> bool:
        lower, upper = (other.min, other.max) if isinstance(other, _Range) else (other, other)
        return bool((np.asarray(lower) >= self.min.view(np.ndarray)).all()) and bool(
            (np.asarray(upper) <= self.max.view(np.ndarray)).all()
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Range) and bool(self.min == other.min) and bool(self.max == other.max)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Range({self.min!r}, {self.max!r})"


class Range2D(_Range):
    __slots__ = ()
    corner = Vector2


class Range2Di(_Range):
    __slots__ = ()
    corner = Vector2i


class Range3D(_Range):
    __slots__ = ()
    corner = Vector3

    def _pick(self, x: bool, y: bool, z: bool) -> Vector3:
        ends = (self.min, self.max)
        return Vector3(ends[x][0], ends[y][1], ends[z][2])

    @property
    def back_bottom_left(self) -> Vector3:
        return self._pick(False, False, False)

    @property
    def back_bottom_right(self) -> Vector3:
        return self._pick(True, False, False)

    @property
    def back_top_left(self) -> Vector3:
        return self._pick(False, True, False)

    @property
    def back_top_right(self) -> Vector3:
        return self._pick(True, True, False)

    @property
    def front_bottom_left(self) -> Vector3:
        return self._pick(False, False, True)

    @property
    def front_bottom_right(self) -> Vector3:
        return self._pick(True, False, True)

    @property
    def front_top_left(self) -> Vector3:
        return self._pick(False, True, True)

    @property
    def front_top_right(self) -> Vector3:
        return self._pick(True, True, True)

    @property
    def left(self) -> float:
        return float(self.min[0])

    @property
    def right(self) -> float:
        return float(self.max[0])

    @property
    def bottom(self) -> float:
        return float(self.min[1])

    @property
    def top(self) -> float:
        return float(self.max[1])

    @property
    def size_x(self) -> float:
        return float(self.max[0] - self.min[0])

    @property
    def size_y(self) -> float:
        return float(self.max[1] - self.min[1])

    @property
    def size_z(self) -> float:
        return float(self.max[2] - self.min[2])
