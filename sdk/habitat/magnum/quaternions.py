"""Rotations: a vector and a scalar."""

import math
from typing import Any, Self

import numpy as np

from magnum._arrays import TOLERANCE
from magnum.angles import Rad, to_radians
from magnum.matrices import Matrix3
from magnum.vectors import Vector3


class Quaternion:
    """x, y, z, w; without arguments, no rotation."""

    __slots__ = ("_numbers",)

    def __init__(self, *parts: Any) -> None:
        if not parts:
            self._numbers = (0.0, 0.0, 0.0, 1.0)
            return
        if len(parts) == 1 and isinstance(parts[0], Quaternion):
            self._numbers = parts[0]._numbers
            return
        vector, scalar = parts[0] if len(parts) == 1 and len(parts[0]) == 2 else (parts[0], parts[1:] or 0.0)
        w = float(scalar[0]) if isinstance(scalar, tuple) else float(scalar)
        x, y, z = (float(number) for number in vector)
        self._numbers = (x, y, z, w)

    @classmethod
    def from_numbers(cls, numbers: tuple[float, float, float, float]) -> Self:
        """Of x, y, z, w."""
        made = cls.__new__(cls)
        made._numbers = numbers
        return made

    @classmethod
    def identity_init(cls) -> Self:
        return cls()

    @classmethod
    def zero_init(cls) -> Self:
        return cls.from_numbers((0.0, 0.0, 0.0, 0.0))

    @classmethod
    def rotation(cls, angle: Any, axis: Any) -> Self:
        """About an axis of unit length."""
        half = to_radians(angle) / 2
        x, y, z = (float(number) for number in axis)
        sine = math.sin(half)
        return cls.from_numbers((x * sine, y * sine, z * sine, math.cos(half)))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Self:
        m = np.asarray(Matrix3(matrix) if isinstance(matrix, tuple | list) else matrix, dtype=np.float64)[:3, :3]
        diagonal = float(m[0, 0] + m[1, 1] + m[2, 2])
        if diagonal > 0:
            root = math.sqrt(diagonal + 1.0)
            part = 0.5 / root
            x, y, z = (m[2, 1] - m[1, 2]) * part, (m[0, 2] - m[2, 0]) * part, (m[1, 0] - m[0, 1]) * part
            return cls.from_numbers((float(x), float(y), float(z), root / 2))
        i = int(np.argmax(np.diagonal(m)))
        j, k = (i + 1) % 3, (i + 2) % 3
        root = math.sqrt(max(0.0, float(m[i, i] - m[j, j] - m[k, k]) + 1.0))
        part = 0.5 / root
        vector = [0.0, 0.0, 0.0]
        vector[i], vector[j], vector[k] = root / 2, float(m[j, i] + m[i, j]) * part, float(m[k, i] + m[i, k]) * part
        return cls.from_numbers((*vector, float(m[k, j] - m[j, k]) * part))  # type: ignore[arg-type]

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """x, y, z, w."""
        return self._numbers

    @property
    def vector(self) -> Vector3:
        return Vector3(*self._numbers[:3])

    @vector.setter
    def vector(self, value: Any) -> None:
        x, y, z = (float(number) for number in value)
        self._numbers = (x, y, z, self._numbers[3])

    @property
    def scalar(self) -> float:
        return float(np.float32(self._numbers[3]))

    @scalar.setter
    def scalar(self, value: float) -> None:
        self._numbers = (*self._numbers[:3], float(value))

    @property
    def xyzw(self) -> Any:
        from magnum.vectors import Vector4

        return Vector4(*self._numbers)

    def dot(self, other: "Quaternion | None" = None) -> float:
        theirs = (self if other is None else other)._numbers
        return sum(a * b for a, b in zip(self._numbers, theirs, strict=True))

    def length(self) -> float:
        return math.sqrt(self.dot())

    def is_normalized(self) -> bool:
        return abs(self.dot() - 1.0) < 2 * TOLERANCE

    def normalized(self) -> "Quaternion":
        length = self.length()
        x, y, z, w = self._numbers
        return Quaternion.from_numbers((x / length, y / length, z / length, w / length))

    def conjugated(self) -> "Quaternion":
        x, y, z, w = self._numbers
        return Quaternion.from_numbers((-x, -y, -z, w))

    def inverted(self) -> "Quaternion":
        return self.conjugated() / self.dot()

    def inverted_normalized(self) -> "Quaternion":
        return self.conjugated()

    def angle(self) -> Rad:
        return Rad(2.0 * math.acos(max(-1.0, min(1.0, self._numbers[3]))))

    def axis(self) -> Vector3:
        x, y, z, w = self._numbers
        sine = math.sqrt(max(0.0, 1.0 - w * w))
        with np.errstate(all="ignore"):
            return Vector3(np.array((x, y, z), dtype=np.float64) / np.float64(sine))

    def transform_vector(self, vector: Any) -> Vector3:
        return Vector3(*rotate(self._numbers, vector))

    def transform_vector_normalized(self, vector: Any) -> Vector3:
        return self.transform_vector(vector)

    def to_matrix(self) -> Matrix3:
        return Matrix3.from_rows(to_rows(self._numbers))

    def __mul__(self, other: Any) -> "Quaternion":
        if isinstance(other, Quaternion):
            return Quaternion.from_numbers(multiply(self._numbers, other._numbers))
        x, y, z, w = self._numbers
        factor = float(other)
        return Quaternion.from_numbers((x * factor, y * factor, z * factor, w * factor))

    def __rmul__(self, factor: float) -> "Quaternion":
        return self * factor

    def __truediv__(self, divisor: float) -> "Quaternion":
        return self * (1.0 / divisor)

    def __add__(self, other: "Quaternion") -> "Quaternion":
        x, y, z, w = (a + b for a, b in zip(self._numbers, other._numbers, strict=True))
        return Quaternion.from_numbers((x, y, z, w))

    def __sub__(self, other: "Quaternion") -> "Quaternion":
        return self + -other

    def __neg__(self) -> "Quaternion":
        return self * -1.0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quaternion):
            return NotImplemented
        return all(
            abs(a - b) < TOLERANCE * max(1.0, abs(a), abs(b))
            for a, b in zip(self._numbers, other._numbers, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        x, y, z, w = self._numbers
        return f"Quaternion({{{x:g}, {y:g}, {z:g}}}, {w:g})"


Numbers = tuple[float, float, float, float]


def multiply(first: Numbers, second: Numbers) -> Numbers:
    """The rotation `second`, then `first`."""
    x1, y1, z1, w1 = first
    x2, y2, z2, w2 = second
    return (
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
    )


def rotate(rotation: Numbers, vector: Any) -> tuple[float, float, float]:
    """A vector turned by a unit quaternion."""
    x, y, z, w = rotation
    a, b, c = float(vector[0]), float(vector[1]), float(vector[2])
    p, q, r = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return (a + w * p + y * r - z * q, b + w * q + z * p - x * r, c + w * r + x * q - y * p)


def to_rows(rotation: Numbers) -> list[list[float]]:
    """The rotation matrix, row by row."""
    x, y, z, w = rotation
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
