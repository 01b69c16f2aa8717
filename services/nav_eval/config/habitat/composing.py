"""Hydra files of Habitat, composed the way Hydra would: `defaults:` lists, groups and packages.

Groups are looked for beside the file first, as in a checkout of habitat-lab, then among the ones whose
content is known (`groups`). What is found in neither place is reported.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from nav_eval.config.habitat.groups import BASES, known_group
from nav_eval.config.layers import put_over
from nav_eval.config.origin import KeyPath, Layer, Origin, shown
from nav_eval.config.reading import parse_mapping, read_text
from nav_eval.errors import ConfigError

_PACKAGE = re.compile(r"^\s*#\s*@package\s+(\S+)", re.MULTILINE)
_MAX_FILES = 64


class Unresolved(NamedTuple):
    """A group that neither the disk nor our table knows."""

    entry: str
    origin: str


class Entry(NamedTuple):
    """One line of a defaults list."""

    group: str  #: `habitat/task`
    option: str  #: `vln_r2r`
    package: str | None  #: what stands behind @

    def __str__(self) -> str:
        return f"{self.group}: {self.option}" if self.group else self.option


class Composer:
    """Puts a file's defaults under what it says itself."""

    def __init__(self) -> None:
        self.unresolved: list[Unresolved] = []
        self._read: list[Path] = []

    def compose(self, path: Path, *, package: str | None = None) -> Layer:
        """Everything that a file says, from the root of the configuration."""
        self._read.append(path.resolve())
        if len(self._read) > _MAX_FILES:
            raise ConfigError(f"{shown(path)}: more than {_MAX_FILES} files take part.")
        text = read_text(path)
        body = parse_mapping(text, source=shown(path), interpolation=True)
        tree = dict(body.tree)
        entries = _entries(tree.pop("defaults", None) or [], path)
        package = _package(text, path, tree) if package is None else package
        own = _placed(Layer(tree, body.origins), package)
        layer = Layer({}, {})
        for entry in entries:
            part = own if entry.option == "_self_" else self._part(entry, path, body, package)
            layer = put_over(layer, part)
        return layer if any(entry.option == "_self_" for entry in entries) else put_over(layer, own)

    def _part(self, entry: Entry, path: Path, body: Layer, parent_package: str) -> Layer:
        if entry.option in BASES:  # Habitat's own defaults hold for every file
            return Layer({}, {})
        package = None if entry.package is None else ".".join(filter(None, (parent_package, entry.package)))
        file = _on_disk(entry, path)
        if file is not None and file.resolve() not in self._read:
            return self.compose(file, package=package)
        origin = body.origin(("defaults",)) or Origin(shown(path))
        known = known_group(entry.group, entry.option)
        if known is None:
            self.unresolved.append(Unresolved(str(entry), str(origin)))
            return Layer({}, {})
        return _placed(Layer(known.tree, {(): origin}), package or known.package)


def _entries(defaults: object, path: Path) -> list[Entry]:
    if not isinstance(defaults, list):
        raise ConfigError(f"{shown(path)}: `defaults` must be a list.")
    return [entry for item in defaults for entry in _parsed(item, _group_of(path))]


def _parsed(item: object, here: str) -> list[Entry]:
    """`- /group@package: option`, `- group: [a, b]`, `- option` or `- /group/option`."""
    if isinstance(item, str):
        group, _, option = item.removeprefix("optional ").rpartition("/")
        return [Entry(_absolute(group, here) if group else here, option, None)]
    if isinstance(item, dict) and len(item) == 1:
        key, value = next(iter(item.items()))
        spec, _, package = re.sub(r"^(override|optional) ", "", str(key)).partition("@")
        options = value if isinstance(value, list) else [value]
        return [Entry(_absolute(spec, here), str(option), package or None) for option in options if option is not None]
    return [Entry("", str(item), None)]


def _absolute(group: str, here: str) -> str:
    return group[1:] if group.startswith("/") else f"{here}/{group}".strip("/")


def _group_of(path: Path) -> str:
    """The group that a file belongs to: the folders below the configuration root, if they are Habitat's."""
    parts = path.resolve().parent.parts
    for top in ("habitat", "benchmark", "habitat_baselines"):
        if top in parts:
            last = len(parts) - 1 - parts[::-1].index(top)
            return "/".join(parts[last:])
    return ""


def _package(text: str, path: Path, tree: dict[str, Any]) -> str:
    """Where a file's content goes: what its header says, or its group, or the root."""
    if (header := _PACKAGE.search(text)) is not None:
        return "" if header[1] == "_global_" else header[1].replace("_group_", _group_of(path).replace("/", "."))
    if {"habitat", "habitat_baselines"} & tree.keys():
        return ""
    if {"environment", "simulator", "task", "dataset"} & tree.keys():
        return "habitat"
    return _group_of(path).replace("/", ".")


def _on_disk(entry: Entry, path: Path) -> Path | None:
    """The file of a group, below the folder that holds the top of its path."""
    for root in [path.resolve().parent, *path.resolve().parents]:
        candidate = root / entry.group / f"{entry.option}.yaml"
        if candidate.is_file() and (entry.group or root == path.resolve().parent):
            return candidate
    sibling = path.parent / f"{entry.option}.yaml"
    return sibling if entry.group == _group_of(path) and sibling.is_file() else None


def _placed(layer: Layer, package: str) -> Layer:
    """A layer moved below its package."""
    prefix: KeyPath = tuple(package.split(".")) if package else ()
    tree = layer.tree
    for key in reversed(prefix):
        tree = {str(key): tree}
    return Layer(tree, {(*prefix, *path): origin for path, origin in layer.origins.items()})
