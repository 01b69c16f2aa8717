"""Draws that are the same in every process, on every machine, with every numpy.

Each decision has its own stream, seeded by a hash of (seed, key, …): adding a chair changes no
wallpaper, and no order of calls matters. Values come straight from PCG64's raw 64-bit words, whose
sequence numpy guarantees; the distributions of `numpy.random.Generator` may change between versions.

A draw knows its generator's version, for code that gives other bytes than an older one did. It also knows its split.
Ranges are cut into five bands and lists into even and odd places; "seen" houses use one part and "unseen" houses the
other, so that no measure, shade or texture is in both.
"""

from collections.abc import Sequence
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import UnknownName
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion
from nav_eval.randomness import derive_seed
from nav_eval_worlds.style import PLAIN, HouseStyle

T = TypeVar("T")
Split = Literal["seen", "unseen"]

_SEEN_BANDS = (0, 2, 4)
_UNSEEN_BANDS = (1, 3)
_BAND_COUNT = 5


def check_split(name: str) -> Split:
    for split in get_args(Split):
        if split == name:
            return split  # type: ignore[no-any-return]
    raise UnknownName(f"There is no split {name!r}. Known: {', '.join(get_args(Split))}.")


class RandomStream:
    """A stream of decisions for one key of one house.

    It also knows for which version of the generator it draws, and in which style the house is furnished: both hold
    for all decisions of a house alike.
    """

    def __init__(
        self,
        seed: int,
        *keys: str | int,
        split: Split = "seen",
        generator: GeneratorVersion = FIRST_GENERATOR,
        style: HouseStyle = PLAIN,
    ) -> None:
        self.split: Split = split
        self.generator: GeneratorVersion = generator
        self.style = style
        self._bits = np.random.PCG64(derive_seed(seed, split, *keys))
        self._seed, self._keys = seed, keys

    def fork(self, *keys: str | int) -> "RandomStream":
        """An independent stream below this one."""
        return RandomStream(
            self._seed, *self._keys, *keys, split=self.split, generator=self.generator, style=self.style
        )

    def dress(self, style: HouseStyle) -> "RandomStream":
        """The same stream from its beginning, for a house in this style."""
        return RandomStream(self._seed, *self._keys, split=self.split, generator=self.generator, style=style)

    def unit(self) -> float:
        """Uniform in [0, 1)."""
        return float(int(self._bits.random_raw()) >> 11) * 2.0**-53

    def units(self, *shape: int) -> NDArray[np.float64]:
        raw = self._bits.random_raw(int(np.prod(shape)))
        return (raw >> np.uint64(11)).astype(np.float64).reshape(shape) * 2.0**-53

    def uniform(self, low: float, high: float) -> float:
        """Anywhere in the range, whatever the split; rounded to millimetres."""
        return round(low + (high - low) * self.unit(), 3)

    def between(self, low: float, high: float) -> float:
        """A measure from the part of the range that belongs to this split; rounded to millimetres."""
        bands = _SEEN_BANDS if self.split == "seen" else _UNSEEN_BANDS
        place = (bands[self.below(len(bands))] + 0.02 + 0.96 * self.unit()) / _BAND_COUNT
        return round(low + (high - low) * place, 3)

    def below(self, count: int) -> int:
        """An integer in [0, count)."""
        return int(self.unit() * count)

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        return self.unit() < probability

    def choice(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def choose_pooled(self, options: Sequence[T]) -> T:
        """One of those options that belong to this split."""
        own = options[0::2] if self.split == "seen" else options[1::2]
        return self.choice(own or options)

    def choose_weighted(self, options: Sequence[tuple[T, float]]) -> T:
        """One option, as likely as its weight."""
        left = self.unit() * sum(weight for _, weight in options)
        for option, weight in options:
            left -= weight
            if left < 0:
                return option
        return options[-1][0]

    def shuffle(self, options: Sequence[T]) -> list[T]:
        order = list(options)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order


class DrawnStream(RandomStream):
    """A stream of a few numbers that have been drawn already, for a "seen" house of the first generator."""

    def __init__(self, units: Sequence[float]) -> None:
        self.split, self.generator, self.style = "seen", FIRST_GENERATOR, PLAIN
        self._left = iter(units)

    def unit(self) -> float:
        return next(self._left)

    def choice(self, options: Sequence[T]) -> T:
        """As any stream chooses, without the calls in between: a reset draws a hundred times."""
        return options[int(next(self._left) * len(options))]
