"""Names for things that a configuration may ask for: one dict, one decorator, one helpful refusal.

Third-party packages add their own through an entry-point group; the group is read the first time a
name is looked up, so that importing nav-eval never imports a plug-in.
"""

import difflib
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from nav_eval.errors import NameTaken, UnknownName

T = TypeVar("T")


class Registry(Generic[T]):
    """What exists of one kind, by name."""

    def __init__(self, kind: str, *, entry_point_group: str) -> None:
        self.kind = kind
        self._group = entry_point_group
        self._entries: dict[str, T] = {}
        self._plugins_loaded = False

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
        self._load_plugins()
        if name not in self._entries:
            raise UnknownName(self._refusal(name))
        return self._entries[name]

    def names(self) -> list[str]:
        self._load_plugins()
        return sorted(self._entries)

    def __contains__(self, name: object) -> bool:
        self._load_plugins()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _load_plugins(self) -> None:
        if self._plugins_loaded:
            return
        self._plugins_loaded = True
        for entry_point in entry_points(group=self._group):
            self.register(entry_point.name)(entry_point.load())

    def _refusal(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._entries, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        return f"There is no {self.kind} {name!r}.{hint} Known: {', '.join(sorted(self._entries))}."
