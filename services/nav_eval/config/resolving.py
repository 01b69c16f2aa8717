"""From a file to one layer: parents first, references filled in, children on top."""

from pathlib import Path

from nav_eval.config.habits import to_our_habits
from nav_eval.config.kinds import KINDS, Kind, sub_layer, unwrapped
from nav_eval.config.layers import put_over
from nav_eval.config.library import Library
from nav_eval.config.origin import KeyPath, Layer, dotted, shown
from nav_eval.config.reading import read_yaml
from nav_eval.config.schema import BenchmarkConfig, DatasetConfig, DRConfig, OutputConfig, RobotConfig
from nav_eval.config.schema.base import ConfigModel
from nav_eval.errors import ConfigError

MAX_PARENTS = 32

#: Sections whose keys merge and that have two spellings: both must meet before they merge.
_SPELLINGS: dict[str, dict[KeyPath, type[ConfigModel]]] = {
    "benchmark": {
        (): BenchmarkConfig,
        ("dataset",): DatasetConfig,
        ("output",): OutputConfig,
        ("scenario_config", "domain_randomization"): DRConfig,
    },
    "scenario": {("domain_randomization",): DRConfig},
    "robot": {(): RobotConfig},
    "randomization": {(): DRConfig},
}


class Resolver:
    """Follows `extends` and references, and remembers what it met on the way."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.files: list[Path] = []  #: every file read, parents first
        self.notes: list[str] = []  #: what was understood differently from how it was written

    def file(self, kind: Kind, path: Path, *, chain: tuple[Path, ...] = ()) -> Layer:
        """The configuration in a file, with everything that it inherits."""
        chain = _extended(chain, path)
        source = shown(path)
        body = unwrapped(read_yaml(path), kind, source=source)
        layer = self.inherit(kind, body, near=path, source=source, chain=chain)
        if path not in self.files:
            self.files.append(path)
        return layer

    def inherit(
        self, kind: Kind, layer: Layer, *, near: Path | None, source: str, chain: tuple[Path, ...] = ()
    ) -> Layer:
        """A layer in our spelling and frame, over its parent, with its references filled in."""
        layer = _our_spelling(layer, kind)
        layer, notes = to_our_habits(layer, source=source)
        self.notes += notes
        tree = dict(layer.tree)
        parent = tree.pop("extends", None)
        layer = Layer(tree, layer.origins)
        layer, replacing = self._with_references(kind, layer, near=near, source=source)
        if parent is None:
            return layer
        base = self._named(kind, parent, layer=layer, path=("extends",), near=near, chain=chain)
        return put_over(base, layer, replacing=replacing)

    def with_references(self, kind: Kind, layer: Layer, *, over: Layer, source: str) -> Layer:
        """An override layer put over a finished configuration; what it names is filled in."""
        layer = _our_spelling(layer, kind)
        layer, notes = to_our_habits(layer, source=source)
        self.notes += notes
        layer, replacing = self._with_references(kind, layer, near=None, source=source)
        return put_over(over, layer, replacing=replacing)

    def _with_references(self, kind: Kind, layer: Layer, *, near: Path | None, source: str) -> tuple[Layer, list[str]]:
        """The layer with names replaced by what they name; and the keys that start afresh because of it."""
        afresh: list[str] = []
        for key, target_name in kind.references.items():
            value, target = layer.tree.get(key), KINDS[target_name]
            if isinstance(value, str):
                part = self._named(target, value, layer=layer, path=(key,), near=near)
                layer = _grafted(layer, (key,), part)
                afresh.append(key)
            elif isinstance(value, dict) and not all(index.isdigit() for index in value):
                if "extends" in value:
                    afresh.append(key)
                part = self.inherit(target, sub_layer(layer, key), near=near, source=source)
                layer = _grafted(layer, (key,), part)
            elif isinstance(value, list):
                layer = self._with_listed(target, layer, key, near=near, source=source)
        return layer, afresh

    def _with_listed(self, target: Kind, layer: Layer, key: str, *, near: Path | None, source: str) -> Layer:
        """A list of robots or objects in which some entries are only named."""
        entries: list[Layer | object] = []
        for index, entry in enumerate(layer.tree[key]):
            if isinstance(entry, str):
                part = self._named(target, entry, layer=layer, path=(key, index), near=near)
                entries += _listed(part) if target.name == "objects" else [part]
            elif isinstance(entry, dict) and target.name == "robot":
                entries.append(self.inherit(target, sub_layer(layer, key, index), near=near, source=source))
            elif isinstance(entry, dict):
                entries.append(sub_layer(layer, key, index))
            else:
                entries.append(entry)
        return _with_list(layer, key, entries)

    def _named(
        self,
        kind: Kind,
        reference: object,
        *,
        layer: Layer,
        path: KeyPath,
        near: Path | None,
        chain: tuple[Path, ...] = (),
    ) -> Layer:
        origin = layer.origin(path)
        if not isinstance(reference, str):
            raise ConfigError(f"{origin}: {dotted(path)} = {reference!r} must be the name of a {kind.name}, or a path.")
        sibling = path == ("extends",)
        file = self._library.find(kind, reference, near=near, sibling=sibling, origin=origin)
        return self.file(kind, file, chain=chain)


def _extended(chain: tuple[Path, ...], path: Path) -> tuple[Path, ...]:
    resolved = path.resolve()
    if resolved in chain:
        circle = [*chain[chain.index(resolved) :], resolved]
        raise ConfigError(f"{shown(path)} inherits from itself: {' → '.join(shown(step) for step in circle)}.")
    if len(chain) >= MAX_PARENTS:
        raise ConfigError(f"{shown(path)} has more than {MAX_PARENTS} parents above it.")
    return (*chain, resolved)


def _our_spelling(layer: Layer, kind: Kind) -> Layer:
    for section, model in _SPELLINGS.get(kind.name, {}).items():
        for theirs, ours in model.aliases.items():
            layer = _renamed(layer, section, theirs, ours)
    return layer


def _renamed(layer: Layer, section: KeyPath, theirs: str, ours: str) -> Layer:
    node: object = layer.tree
    for key in section:
        node = node.get(key) if isinstance(node, dict) else None
    if not isinstance(node, dict) or theirs not in node:
        return layer
    old, new = (*section, theirs), (*section, ours)
    if ours in node:
        raise ConfigError(f"{layer.origin(old)}: {dotted(old)} and {dotted(new)} are the same key; keep one of them.")
    origins = {(new + p[len(new) :] if p[: len(old)] == old else p): o for p, o in layer.origins.items()}
    renamed = {(ours if key == theirs else key): value for key, value in node.items()}
    return Layer(_set(layer.tree, section, renamed), origins)


def _set(tree: dict[str, object], path: KeyPath, value: object) -> dict[str, object]:
    """A copy of `tree` with `value` at `path`."""
    if not path:
        assert isinstance(value, dict)
        return value
    key, *rest = path
    child = tree[str(key)]
    return tree | {str(key): _set(child, tuple(rest), value) if rest and isinstance(child, dict) else value}


def _grafted(layer: Layer, path: KeyPath, part: Layer) -> Layer:
    """The layer with `part` at `path`, origins included."""
    depth = len(path)
    origins = {p: origin for p, origin in layer.origins.items() if p[:depth] != path or p == path}
    origins |= {(*path, *p): origin for p, origin in part.origins.items()}
    return Layer(_set(layer.tree, path, part.tree), origins)


def _with_list(layer: Layer, key: str, entries: list[Layer | object]) -> Layer:
    trees = [entry.tree if isinstance(entry, Layer) else entry for entry in entries]
    origins = {p: origin for p, origin in layer.origins.items() if p[:1] != (key,) or p == (key,)}
    for index, entry in enumerate(entries):
        if isinstance(entry, Layer):
            origins |= {(key, index, *p): origin for p, origin in entry.origins.items()}
    return Layer(layer.tree | {key: trees}, origins)


def _listed(part: Layer) -> list[Layer | object]:
    """The objects of a file of objects, one by one."""
    return [sub_layer(part, "objects", index) for index, _ in enumerate(part.tree["objects"])]
