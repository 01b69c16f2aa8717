"""Angles that know their unit: degrees and radians mix, and compare within single precision."""

import math
from typing import Any, Self

_TOLERANCE = 1e-5


class _Angle:
    __slots__ = ("_value",)

    per_radian: float

    def __init__(self, value: "float | _Angle" = 0.0) -> None:
        self._value = value.radians * self.per_radian if isinstance(value, _Angle) else float(value)

    @classmethod
    def zero_init(cls) -> Self:
        return cls()

    @property
    def radians(self) -> float:
        return self._value / self.per_radian

    def __float__(self) -> float:
        return self._value

    def _convert(self, other: "_Angle | float") -> float:
        return other.radians * self.per_radian if isinstance(other, _Angle) else NotImplemented

    def __add__(self, other: "_Angle") -> Self:
        return type(self)(self._value + self._convert(other))

    def __sub__(self, other: "_Angle") -> Self:
        return type(self)(self._value - self._convert(other))

    def __mul__(self, factor: float) -> Self:
        return type(self)(self._value * float(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: "float | _Angle") -> Any:
        if isinstance(divisor, _Angle):
            return self._value / self._convert(divisor)
        return type(self)(self._value / float(divisor))

    def __neg__(self) -> Self:
        return type(self)(-self._value)

    def __abs__(self) -> Self:
        return type(self)(abs(self._value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Angle):
            return NotImplemented
        theirs = self._convert(other)
        return abs(self._value - theirs) < _TOLERANCE * max(1.0, abs(self._value), abs(theirs))

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: "_Angle") -> bool:
        return self._value < self._convert(other) and not self == other

    def __gt__(self, other: "_Angle") -> bool:
        return self._value > self._convert(other) and not self == other

    def __le__(self, other: "_Angle") -> bool:
        return not self > other

    def __ge__(self, other: "_Angle") -> bool:
        return not self < other

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._value:g})"


class Rad(_Angle):
    __slots__ = ()
    per_radian = 1.0


class Deg(_Angle):
    __slots__ = ()
    per_radian = 180.0 / math.pi


def to_radians(angle: Any) -> float:
    """Radians of an angle; a bare number already is in radians."""
    return angle.radians if isinstance(angle, _Angle) else float(angle)
