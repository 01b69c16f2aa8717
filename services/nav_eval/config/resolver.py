"""From a name or a file to one layer: the file found, parents first, references filled in, children on top.

Configurations with a name live in `./configs`, then among those that come with nav-eval.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nav_eval
from nav_eval.config.file_kinds import KINDS, ConfigKind, get_sub_layer, unwrap_layer
from nav_eval.config.layers import (
    ConfigLayer,
    KeyPath,
    Origin,
    format_key_path,
    format_path,
    get_value,
    merge_layers,
    to_our_conventions,
)
from nav_eval.config.schema import BenchmarkConfig, DatasetConfig, DRConfig, OutputConfig, RobotConfig
from nav_eval.config.yaml_reader import read_yaml
from nav_eval.config_model import ConfigModel
from nav_eval.errors import ConfigError
from nav_eval.suggestions import suggest_known

SUFFIXES = (".yaml", ".yml")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*(/[A-Za-z0-9_][A-Za-z0-9_.@-]*)*\Z")


@dataclass(frozen=True, slots=True)
class ConfigSearchPath:
    """Configuration roots, the first one that has a name wins."""

    roots: tuple[Path, ...]

    @classmethod
    def default(cls, search: Sequence[Path | str] | None = None) -> "ConfigSearchPath":
        """The roots in `search`, or `./configs`; and always those that come with nav-eval."""
        own = [Path("configs")] if search is None else [Path(root) for root in search]
        return cls(tuple(_drop_duplicates([*own, find_shipped_configs()])))

    def find(
        self,
        kind: ConfigKind,
        reference: str,
        *,
        near: Path | None = None,
        sibling: bool = False,
        origin: Origin | None = None,
    ) -> Path:
        """The file that `reference` means: a path, or a name.

        Names are looked up around the file that uses them (`near`; a `sibling` is of the same kind, so in
        the same folder), then in the roots.
        """
        where = f"{origin}: " if origin else ""
        if reference.endswith(SUFFIXES):
            path = Path(reference) if near is None else near.parent / reference
            if not path.is_file() and near is not None and Path(reference).is_file():
                path = Path(reference)
            if not path.exists():
                raise ConfigError(f"{where}the {kind.name} file {reference} does not exist.")
            return path
        if not _NAME.match(reference):
            raise ConfigError(f"{where}{reference!r} is neither the name of a {kind.name} nor a path to a YAML file.")
        for folder in self._folders(kind, near, sibling=sibling):
            for suffix in SUFFIXES:
                if (path := folder / f"{reference}{suffix}").is_file():
                    return path
        raise ConfigError(f"{where}there is no {kind.name} {reference!r}.{suggest_known(reference, self.names(kind))}")

    def names(self, kind: ConfigKind) -> list[str]:
        """Every name of a kind, over all roots."""
        folders = [root / kind.folder for root in self.roots]
        return sorted({path.stem for folder in folders for path in folder.glob("*") if path.suffix in SUFFIXES})

    def kinds_with(self, name: str) -> list[ConfigKind]:
        """The kinds that have a configuration of this name."""
        return [kind for kind in KINDS.values() if name in self.names(kind)]

    def _folders(self, kind: ConfigKind, near: Path | None, *, sibling: bool) -> list[Path]:
        around = [] if near is None else [near.parent / kind.folder, near.parent.parent / kind.folder]
        beside = [near.parent] if near is not None and sibling else []
        return [*beside, *around, *(root / kind.folder for root in self.roots)]


def find_shipped_configs() -> Path:
    """The configurations of this installation: inside the wheel, or at the top of a checkout."""
    package = Path(nav_eval.__file__).parent
    in_wheel = package / "_configs"
    return in_wheel if in_wheel.is_dir() else package.parent.parent / "configs"


def _drop_duplicates(roots: list[Path]) -> list[Path]:
    return list({root.resolve(): root for root in reversed(roots)}.values())[::-1]


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

    def __init__(self, library: ConfigSearchPath) -> None:
        self._library = library
        self.files: list[Path] = []  #: every file read, parents first
        self.notes: list[str] = []  #: what was understood differently from how it was written

    def file(self, kind: ConfigKind, path: Path, *, chain: tuple[Path, ...] = ()) -> ConfigLayer:
        """The configuration in a file, with everything that it inherits."""
        chain = _extend_chain(chain, path)
        source = format_path(path)
        body = unwrap_layer(read_yaml(path), kind, source=source)
        layer = self.inherit(kind, body, near=path, source=source, chain=chain)
        if path not in self.files:
            self.files.append(path)
        return layer

    def inherit(
        self, kind: ConfigKind, layer: ConfigLayer, *, near: Path | None, source: str, chain: tuple[Path, ...] = ()
    ) -> ConfigLayer:
        """A layer in our spelling and frame, over its parent, with its references filled in."""
        layer = _to_our_spelling(layer, kind)
        layer, notes = to_our_conventions(layer, source=source)
        self.notes += notes
        tree = dict(layer.tree)
        parent = tree.pop("extends", None)
        layer = ConfigLayer(tree, layer.origins)
        layer, replacing = self._fill_references(kind, layer, near=near, source=source)
        if parent is None:
            return layer
        base = self._resolve_reference(kind, parent, layer=layer, path=("extends",), near=near, chain=chain)
        return merge_layers(base, layer, replacing=replacing)

    def apply_override(self, kind: ConfigKind, layer: ConfigLayer, *, over: ConfigLayer, source: str) -> ConfigLayer:
        """An override layer put over a finished configuration; what it names is filled in."""
        layer = _to_our_spelling(layer, kind)
        layer, notes = to_our_conventions(layer, source=source)
        self.notes += notes
        layer, replacing = self._fill_references(kind, layer, near=None, source=source)
        return merge_layers(over, layer, replacing=replacing)

    def _fill_references(
        self, kind: ConfigKind, layer: ConfigLayer, *, near: Path | None, source: str
    ) -> tuple[ConfigLayer, list[str]]:
        """The layer with names replaced by what they name; and the keys that start afresh because of it."""
        afresh: list[str] = []
        for key, target_name in kind.references.items():
            value, target = layer.tree.get(key), KINDS[target_name]
            if isinstance(value, str):
                part = self._resolve_reference(target, value, layer=layer, path=(key,), near=near)
                layer = _insert_layer(layer, (key,), part)
                afresh.append(key)
            elif isinstance(value, dict) and not all(index.isdigit() for index in value):
                if "extends" in value:
                    afresh.append(key)
                part = self.inherit(target, get_sub_layer(layer, key), near=near, source=source)
                layer = _insert_layer(layer, (key,), part)
            elif isinstance(value, list):
                layer = self._fill_list(target, layer, key, near=near, source=source)
        return layer, afresh

    def _fill_list(
        self, target: ConfigKind, layer: ConfigLayer, key: str, *, near: Path | None, source: str
    ) -> ConfigLayer:
        """A list of robots or objects in which some entries are only named."""
        entries: list[ConfigLayer | object] = []
        for index, entry in enumerate(layer.tree[key]):
            if isinstance(entry, str):
                part = self._resolve_reference(target, entry, layer=layer, path=(key, index), near=near)
                entries += _split_objects(part) if target.name == "objects" else [part]
            elif isinstance(entry, dict) and target.name in ("robot", "rig"):
                entries.append(self.inherit(target, get_sub_layer(layer, key, index), near=near, source=source))
            elif isinstance(entry, dict):
                entries.append(get_sub_layer(layer, key, index))
            else:
                entries.append(entry)
        return _replace_list(layer, key, entries)

    def _resolve_reference(
        self,
        kind: ConfigKind,
        reference: object,
        *,
        layer: ConfigLayer,
        path: KeyPath,
        near: Path | None,
        chain: tuple[Path, ...] = (),
    ) -> ConfigLayer:
        origin = layer.origin(path)
        if not isinstance(reference, str):
            raise ConfigError(
                f"{origin}: {format_key_path(path)} = {reference!r} must be the name of a {kind.name}, or a path."
            )
        sibling = path == ("extends",)
        file = self._library.find(kind, reference, near=near, sibling=sibling, origin=origin)
        return self.file(kind, file, chain=chain)


def _extend_chain(chain: tuple[Path, ...], path: Path) -> tuple[Path, ...]:
    resolved = path.resolve()
    if resolved in chain:
        circle = [*chain[chain.index(resolved) :], resolved]
        raise ConfigError(
            f"{format_path(path)} inherits from itself: {' → '.join(format_path(step) for step in circle)}."
        )
    if len(chain) >= MAX_PARENTS:
        raise ConfigError(f"{format_path(path)} has more than {MAX_PARENTS} parents above it.")
    return (*chain, resolved)


def _to_our_spelling(layer: ConfigLayer, kind: ConfigKind) -> ConfigLayer:
    for section, model in _SPELLINGS.get(kind.name, {}).items():
        for theirs, ours in model.aliases.items():
            layer = _rename_key(layer, section, theirs, ours)
    return layer


def _rename_key(layer: ConfigLayer, section: KeyPath, theirs: str, ours: str) -> ConfigLayer:
    node = get_value(layer.tree, section)
    if not isinstance(node, dict) or theirs not in node:
        return layer
    old, new = (*section, theirs), (*section, ours)
    if ours in node:
        raise ConfigError(
            f"{layer.origin(old)}: {format_key_path(old)} and {format_key_path(new)} are the same key; "
            "keep one of them."
        )
    origins = {(new + p[len(new) :] if p[: len(old)] == old else p): o for p, o in layer.origins.items()}
    renamed = {(ours if key == theirs else key): value for key, value in node.items()}
    return ConfigLayer(_set_value(layer.tree, section, renamed), origins)


def _set_value(tree: dict[str, object], path: KeyPath, value: object) -> dict[str, object]:
    """A copy of `tree` with `value` at `path`."""
    if not path:
        assert isinstance(value, dict)
        return value
    key, *rest = path
    child = tree[str(key)]
    return tree | {str(key): _set_value(child, tuple(rest), value) if rest and isinstance(child, dict) else value}


def _insert_layer(layer: ConfigLayer, path: KeyPath, part: ConfigLayer) -> ConfigLayer:
    """The layer with `part` at `path`, origins included."""
    depth = len(path)
    origins = {p: origin for p, origin in layer.origins.items() if p[:depth] != path or p == path}
    origins |= {(*path, *p): origin for p, origin in part.origins.items()}
    return ConfigLayer(_set_value(layer.tree, path, part.tree), origins)


def _replace_list(layer: ConfigLayer, key: str, entries: list[ConfigLayer | object]) -> ConfigLayer:
    trees = [entry.tree if isinstance(entry, ConfigLayer) else entry for entry in entries]
    origins = {p: origin for p, origin in layer.origins.items() if p[:1] != (key,) or p == (key,)}
    for index, entry in enumerate(entries):
        if isinstance(entry, ConfigLayer):
            origins |= {(key, index, *p): origin for p, origin in entry.origins.items()}
    return ConfigLayer(layer.tree | {key: trees}, origins)


def _split_objects(part: ConfigLayer) -> list[ConfigLayer | object]:
    """The objects of a file of objects, one by one."""
    return [get_sub_layer(part, "objects", index) for index, _ in enumerate(part.tree["objects"])]
