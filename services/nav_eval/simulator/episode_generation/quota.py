"""Fair shares: what has been used so far decides what is taken next.

Without it a house with thirty books sends its agents to books. Categories come first, then pairs of rooms; no
category gets more than one twentieth of all targets while others are to be had.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar

from nav_eval.scene.houses.randomness import Draw

LARGEST_SHARE = 0.05


class Countable(Protocol):
    """Something that an episode may lead to."""

    @property
    def category(self) -> str: ...

    @property
    def room(self) -> str: ...


T = TypeVar("T", bound=Countable)


class Quota:
    """What the episodes of one file have used."""

    def __init__(self, *, expected: int) -> None:
        """`expected`: how many targets the file will have."""
        self._most = max(1, int(LARGEST_SHARE * expected))
        self._categories: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()

    def ranked(self, options: Sequence[T], *, coming_from: str, draw: Draw) -> list[T]:
        """Those that have been used least first; equal ones by lot."""
        return sorted(draw.shuffled(options), key=lambda target: self._burden(target, coming_from))

    def note(self, target: Countable, *, coming_from: str) -> None:
        """Count a target that an episode really has."""
        self._categories[target.category] += 1
        self._pairs[coming_from, target.room] += 1

    def _burden(self, target: Countable, coming_from: str) -> tuple[bool, int, int]:
        used = self._categories[target.category]
        return used >= self._most, self._pairs[coming_from, target.room], used
