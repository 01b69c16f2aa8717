"""Names for things that a configuration may ask for: one dict, one decorator, one helpful refusal.

Third-party packages add their own through an entry-point group. The group is read the first time a
name is looked up, and a plug-in is imported when its own name is asked for: a benchmark that does not use it is
not touched by it.
"""

import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

from nav_eval.errors import NameTaken, UnknownName
from nav_eval.suggestions import suggest_close_match

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

T = TypeVar("T")


class Registry(Generic[T]):
    """What exists of one kind, by name."""

    def __init__(self, kind: str, *, entry_point_group: str) -> None:
        self.kind = kind
        self._group = entry_point_group
        self._entries: dict[str, T] = {}
        self._plugins: dict[str, EntryPoint] | None = None  #: what is announced and not yet imported; None: not looked

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: make the decorated object known as `name`."""

        def add(entry: T) -> T:
            if self._entries.setdefault(name, entry) is not entry:
                taken_by = getattr(self._entries[name], "__qualname__", repr(self._entries[name]))
                raise NameTaken(f"{self.kind.capitalize()} {name!r} is already {taken_by}; pick another name.")
            return entry

        return add

    def get(self, name: str) -> T:
        """The entry called `name`; an unknown name is refused with the nearest that exist."""
        plugins = self._find_plugins()
        if name in plugins:
            self.register(name)(plugins.pop(name).load())
        if name not in self._entries:
            raise UnknownName(self._refusal(name))
        return self._entries[name]

    def names(self) -> list[str]:
        return sorted({*self._entries, *self._find_plugins()})

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._find_plugins()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _find_plugins(self) -> "dict[str, EntryPoint]":
        """What packages announce, by name; each is imported when somebody asks for it."""
        if self._plugins is None:
            self._plugins = {}
            for entry_point in _scan_entry_points(tuple(sys.path)).select(group=self._group):
                if entry_point.name in self._entries or entry_point.name in self._plugins:
                    self.get(entry_point.name)
                    self.register(entry_point.name)(entry_point.load())
                else:
                    self._plugins[entry_point.name] = entry_point
        return self._plugins

    def _refusal(self, name: str) -> str:
        hint = suggest_close_match(name, self.names())
        return f"There is no {self.kind} {name!r}.{hint} Known: {', '.join(self.names())}."


@lru_cache(maxsize=1)
def _scan_entry_points(_: tuple[str, ...]) -> "EntryPoints":
    """Everything that is announced where Python looks for packages: one scan, however many kinds ask."""
    from importlib.metadata import EntryPoints, distributions

    return EntryPoints(point for distribution in distributions() for point in distribution.entry_points)
