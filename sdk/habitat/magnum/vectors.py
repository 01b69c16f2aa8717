"""Vectors and colours by name."""

from typing import Any, Self

import numpy as np

from magnum._arrays import SmallVector


def _make_component(index: int) -> property:
    def read(self: SmallVector) -> Any:
        return self[index]

    def write(self: SmallVector, value: Any) -> None:
        self[index] = value

    return property(read, write)


class Vector2(SmallVector):
    length_ = 2
    x, y = _make_component(0), _make_component(1)

    @classmethod
    def x_axis(cls, length: float = 1.0) -> Self:
        return cls(length, 0)

    @classmethod
    def y_axis(cls, length: float = 1.0) -> Self:
        return cls(0, length)

    def aspect_ratio(self) -> float:
        return float(self[0] / self[1])

    def perpendicular(self) -> Self:
        return type(self)(-self[1], self[0])


class Vector2i(Vector2):
    dtype_ = np.int32


class Vector3(SmallVector):
    length_ = 3
    x, y, z = (_make_component(index) for index in range(3))
    r, g, b = x, y, z

    @classmethod
    def x_axis(cls, length: float = 1.0) -> Self:
        return cls(length, 0, 0)

    @classmethod
    def y_axis(cls, length: float = 1.0) -> Self:
        return cls(0, length, 0)

    @classmethod
    def z_axis(cls, length: float = 1.0) -> Self:
        return cls(0, 0, length)

    @property
    def xy(self) -> Vector2:
        return Vector2(self[0], self[1])


class Vector3d(Vector3):
    dtype_ = np.float64


class Vector3i(Vector3):
    dtype_ = np.int32


class Vector4(SmallVector):
    length_ = 4
    x, y, z, w = (_make_component(index) for index in range(4))
    r, g, b, a = x, y, z, w

    @property
    def xyz(self) -> Vector3:
        return Vector3(self[0], self[1], self[2])

    @property
    def rgb(self) -> Vector3:
        return self.xyz

    @property
    def xy(self) -> Vector2:
        return Vector2(self[0], self[1])


class Vector4i(Vector4):
    dtype_ = np.int32


class Color3(Vector3):
    @classmethod
    def red(cls, value: float = 1.0) -> Self:
        return cls(value, 0, 0)

    @classmethod
    def green(cls, value: float = 1.0) -> Self:
        return cls(0, value, 0)

    @classmethod
    def blue(cls, value: float = 1.0) -> Self:
        return cls(0, 0, value)

    @classmethod
    def cyan(cls, red: float = 0.0) -> Self:
        return cls(red, 1, 1)

    @classmethod
    def magenta(cls, green: float = 0.0) -> Self:
        return cls(1, green, 1)

    @classmethod
    def yellow(cls, blue: float = 0.0) -> Self:
        return cls(1, 1, blue)

    @classmethod
    def from_linear_rgb_int(cls, number: int) -> Self:
        return cls(*(part / 255 for part in number.to_bytes(3, "big")))

    @classmethod
    def from_srgb(cls, number: int) -> Self:
        return cls(*(_to_linear(part / 255) for part in number.to_bytes(3, "big")))


class Color4(Vector4):
    def __new__(cls, *parts: Any) -> Self:
        """Opaque where no alpha is given."""
        if len(parts) == 3:
            return super().__new__(cls, *parts, 1.0)
        if len(parts) == 1 and np.ndim(parts[0]) == 0:
            return super().__new__(cls, parts[0], parts[0], parts[0], 1.0)
        if len(parts) == 1 and np.size(parts[0]) == 3:
            return super().__new__(cls, *np.asarray(parts[0]).tolist(), 1.0)
        return super().__new__(cls, *parts)

    @classmethod
    def red(cls, value: float = 1.0, alpha: float = 1.0) -> Self:
        return cls(value, 0, 0, alpha)

    @classmethod
    def green(cls, value: float = 1.0, alpha: float = 1.0) -> Self:
        return cls(0, value, 0, alpha)

    @classmethod
    def blue(cls, value: float = 1.0, alpha: float = 1.0) -> Self:
        return cls(0, 0, value, alpha)

    @classmethod
    def cyan(cls, red: float = 0.0, alpha: float = 1.0) -> Self:
        return cls(red, 1, 1, alpha)

    @classmethod
    def magenta(cls, green: float = 0.0, alpha: float = 1.0) -> Self:
        return cls(1, green, 1, alpha)

    @classmethod
    def yellow(cls, blue: float = 0.0, alpha: float = 1.0) -> Self:
        return cls(1, 1, blue, alpha)

    @classmethod
    def from_linear_rgb_int(cls, number: int, alpha: float = 1.0) -> Self:
        return cls(*(part / 255 for part in number.to_bytes(3, "big")), alpha)

    @classmethod
    def from_srgb(cls, number: int, alpha: float = 1.0) -> Self:
        return cls(*(_to_linear(part / 255) for part in number.to_bytes(3, "big")), alpha)


def _to_linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)
