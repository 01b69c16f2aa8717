"""A Habitat configuration as a flat list of values, each of which must be taken or reported."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from nav_eval.config.origin import KeyPath, Layer, dotted, in_words
from nav_eval.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of a Habitat file."""

    name: str  #: as the file spells it
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class NotCarried:
    """One value that has no place in our configuration, and why."""

    name: str
    value: Any
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.reason}"
            if self.value == {}
            else f"{self.name} = {in_words(self.value)}: {self.reason}"
        )


class Leaves:
    """Values by path. Nothing is forgotten: what nobody takes is in `rest`."""

    def __init__(self) -> None:
        self._leaves: dict[KeyPath, Leaf] = {}
        self._taken: set[KeyPath] = set()
        self._refused: dict[KeyPath, str] = {}

    def add(self, path: KeyPath, leaf: Leaf) -> None:
        self._leaves[path] = leaf
        if isinstance(leaf.value, str) and "${" in leaf.value:
            self._refused[path] = "an interpolation; write its value"

    def take(self, *path: str | int) -> Any:  # noqa: ANN401
        """The value at a path, which is thereby carried over; None when nobody said it."""
        if path not in self._leaves or path in self._refused:
            return None
        self._taken.add(path)
        return self._leaves[path].value

    def number(self, *path: str | int) -> float | None:
        value = self.take(*path)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return None if value is None else float(value)
        raise self._wrong(path, "a number")

    def whole(self, *path: str | int) -> int | None:
        value = self.take(*path)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise self._wrong(path, "a whole number")

    def flag(self, *path: str | int) -> bool | None:
        value = self.take(*path)
        if value is None or isinstance(value, bool):
            return value
        raise self._wrong(path, "true or false")

    def text(self, *path: str | int) -> str | None:
        value = self.take(*path)
        if value is None or isinstance(value, str):
            return value
        raise self._wrong(path, "a text")

    def numbers(self, *path: str | int, count: int) -> list[float] | None:
        value = self.take(*path)
        if value is None:
            return None
        if isinstance(value, list) and len(value) == count and all(isinstance(item, int | float) for item in value):
            return [float(item) for item in value]
        raise self._wrong(path, f"a list of {count} numbers")

    def names(self, *path: str | int) -> list[str] | None:
        """A list of names; None when nobody said it, or when it stands for all."""
        value = self.take(*path)
        if value in (None, [], "*", ["*"]):
            return None
        if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
            return [str(item) for item in value]
        raise self._wrong(path, "a list of names")

    def has(self, *path: str | int) -> bool:
        """Whether anything is said at or below a path."""
        return any(known[: len(path)] == path for known in self._open())

    def below(self, *path: str | int) -> list[str]:
        """The keys directly below a path, in the order of the file."""
        depth = len(path)
        return list(
            dict.fromkeys(str(known[depth]) for known in self._open() if len(known) > depth and known[:depth] == path)
        )

    def refuse(self, path: KeyPath, reason: str) -> None:
        """Say why everything at or below a path is not carried over; the first reason stays."""
        for known in self._leaves:
            if known[: len(path)] == path:
                self._taken.discard(known)
                self._refused.setdefault(known, reason)

    def rest(self, reason_for: Callable[[KeyPath], str]) -> Iterator[NotCarried]:
        """Every value that was not taken."""
        for path, leaf in self._leaves.items():
            if path not in self._taken:
                yield NotCarried(leaf.name, leaf.value, self._refused.get(path) or reason_for(path))

    def _open(self) -> Iterator[KeyPath]:
        return (path for path in self._leaves if path not in self._refused)

    def _wrong(self, path: KeyPath, wanted: str) -> ConfigError:
        leaf = self._leaves[path]
        return ConfigError(f"{leaf.origin}: {leaf.name} = {in_words(leaf.value)} must be {wanted}.")


def flat(layer: Layer) -> Iterator[tuple[KeyPath, Any, str]]:
    """Every value of a layer with its path and origin; lists count as values."""

    def walk(node: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any, str]]:  # noqa: ANN401
        if isinstance(node, dict) and node:
            for key, value in node.items():
                yield from walk(value, (*path, key))
        else:
            yield path, node, str(layer.origin(path) or "")

    for key, value in layer.tree.items():
        yield from walk(value, (key,))


def leaves_of(layer: Layer) -> Leaves:
    """The values of a Hydra configuration under their own names."""
    leaves = Leaves()
    for path, value, origin in flat(layer):
        leaves.add(path, Leaf(dotted(path), value, origin))
    return leaves
