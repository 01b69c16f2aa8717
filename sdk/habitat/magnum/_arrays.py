"""Small vectors that are numpy arrays: what Magnum's bindings promise and what numpy users expect, in one type.

Elements read and iterate as Python numbers, because omegaconf and JSON refuse numpy's scalars. Comparison is one truth
value, as in Magnum. A vector may be called and answers itself, so that `box.center` and `box.center()` both work:
Habitat changed the one into the other between 0.3.2 and 0.3.3. What an operation makes stays a vector as
long as it has a vector's type and shape; everything else is a plain array.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

TOLERANCE = 1e-5  #: of comparisons: relative to the larger of 1 and the numbers, as Magnum's single precision


class SmallVector(np.ndarray[Any, Any]):
    """A vector of fixed length and type; subclasses say which."""

    length_: ClassVar[int]
    dtype_: ClassVar[DTypeLike] = np.float32

    def __new__(cls, *parts: Any) -> Self:
        return np.array(cls._gather(parts), dtype=cls.dtype_).view(cls)

    @classmethod
    def _gather(cls, parts: tuple[Any, ...]) -> Any:
        if len(parts) == cls.length_:
            return parts
        if not parts:
            return (0,) * cls.length_
        if len(parts) > 1:  # Vector3(xy, z)
            return cls._check([number for part in parts for number in _flatten(part)])
        numbers = _flatten(parts[0])
        return numbers * cls.length_ if len(numbers) == 1 and np.ndim(parts[0]) == 0 else cls._check(numbers)

    @classmethod
    def _check(cls, numbers: list[Any]) -> list[Any]:
        if len(numbers) != cls.length_:
            raise TypeError(f"{cls.__name__} takes {cls.length_} numbers, not {len(numbers)}.")
        return numbers

    @classmethod
    def zero_init(cls) -> Self:
        return cls()

    def __array_wrap__(self, made: NDArray[Any], context: Any = None, return_scalar: bool = False) -> Any:
        if made.shape == (self.length_,) and made.dtype == self.dtype_:
            return made.view(type(self))
        plain = np.asarray(made)
        return plain[()] if plain.ndim == 0 else plain

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, SupportsIndex) and not isinstance(key, np.ndarray):
            return np.ndarray.item(self, key)
        return np.asarray(self)[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __call__(self) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        numbers = _to_array(other)
        return numbers is not None and numbers.shape == self.shape and is_close(np.asarray(self), numbers)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __repr__(self) -> str:
        return f"Vector({', '.join(f'{number:g}' for number in self)})"

    __str__ = __repr__

    def dot(self, other: Any = None, out: Any = None) -> Any:
        """The scalar product; without an argument, with itself."""
        if out is not None:
            return np.dot(np.asarray(self), other, out)
        made = np.dot(np.asarray(self), np.asarray(self if other is None else other))
        return made.item() if made.ndim == 0 else made

    def length(self) -> float:
        return math.sqrt(float(self.dot()))

    def length_inverted(self) -> float:
        return 1.0 / self.length()

    def is_zero(self) -> bool:
        return abs(float(self.dot())) < TOLERANCE**2

    def is_normalized(self) -> bool:
        return abs(float(self.dot()) - 1.0) < 2 * TOLERANCE

    def normalized(self) -> Self:
        return type(self)(np.asarray(self) / np.float32(self.length()))

    def resized(self, length: float) -> Self:
        return type(self)(np.asarray(self) * np.float32(length / self.length()))

    def projected(self, line: Any) -> Self:
        along = np.asarray(line, dtype=np.float64)
        return type(self)(along * (float(np.dot(self, along)) / float(np.dot(along, along))))

    def product(self) -> float:
        return float(np.asarray(self).prod())


def is_close(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Equal as single precision goes."""
    scale = np.maximum(1.0, np.maximum(np.abs(first), np.abs(second)))
    return bool((np.abs(first - second) < TOLERANCE * scale).all() or np.array_equal(first, second))


def _flatten(part: Any) -> list[Any]:
    if np.ndim(part) == 0 and not isinstance(part, Iterable):
        return [float(part) if not isinstance(part, int | np.integer) else int(part)]
    return list(np.asarray(part).reshape(-1).tolist())


def _to_array(value: object) -> NDArray[Any] | None:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
