"""Putting one layer of a configuration over another, each in our conventions.

Mappings merge key by key and everything else is replaced, lists too: what `OmegaConf.merge` does (a
test holds us to it), written out because the origin of each value has to move along with it. One
thing is more: a mapping over a list, with indices for keys, changes single entries, so that
`scenario_config.robots.0.height=1.2` can be said on a command line.

The seeds and RoboVerse have other conventions than Y up, −Z forward, cameras that look ahead. A file whose gravity
points along −z is written Z-up, so all of its vectors are converted. Without such a gravity only one thing is certain
enough: a camera at `[0, 0, h]` is meant to be h metres high, not h metres behind the robot's base on the floor. And a
camera that looks at a point straight below itself (`look_at: [0, 0, 0]`) is meant to look ahead. Everything converted
is reported.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KeyPath = tuple[str | int, ...]
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """A place that a person can go to."""

    source: str  #: a file, `environment variable X`, or `override 'x=y'`
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}, line {self.line}"


@dataclass(frozen=True, slots=True)
class ConfigLayer:
    """A part of a configuration, and where each of its values came from."""

    tree: Tree
    origins: dict[KeyPath, Origin]

    def origin(self, path: KeyPath) -> Origin | None:
        """Where the value at `path` came from, or something in it, or the nearest thing around it."""
        inside = (origin for place, origin in self.origins.items() if path and place[: len(path)] == path)
        if (origin := self.origins.get(path) or next(inside, None)) is not None or not path:
            return origin
        return self.origin(path[:-1])


def format_key_path(path: KeyPath) -> str:
    """`scenario_config.robots[0].height`"""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def format_path(path: Path) -> str:
    """A path as a reader would type it from here."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)
    return str(path) if relative.startswith("..") else relative


def format_value(value: object, *, limit: int = 60) -> str:
    """A value as YAML would write it, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def merge_layers(base: ConfigLayer, over: ConfigLayer, *, replacing: Collection[str] = ()) -> ConfigLayer:
    """`over` on top of `base`; top-level keys in `replacing` are not merged but exchanged."""
    kept = {key: value for key, value in base.tree.items() if key not in replacing}
    replaced: list[KeyPath] = [(key,) for key in replacing]
    tree = _merge_trees(kept, over.tree, (), replaced)
    origins = {path: origin for path, origin in base.origins.items() if not _is_inside(path, replaced)}
    return ConfigLayer(tree, origins | over.origins)


def make_nested_layer(path: KeyPath, value: object, origin: Origin) -> ConfigLayer:
    """A layer that says one thing: `a.b.c = value`."""
    tree: Any = value
    for key in reversed(path):
        tree = {str(key): tree}
    return ConfigLayer(tree, {path: origin})


def _merge_trees(base: Any, over: Any, path: KeyPath, replaced: list[KeyPath]) -> Any:  # noqa: ANN401
    if isinstance(over, dict) and isinstance(base, dict):
        merged = {
            key: _merge_trees(base[key], value, (*path, key), replaced) for key, value in over.items() if key in base
        }
        return base | over | merged
    if isinstance(over, dict) and isinstance(base, list) and _is_index_edit(over, base):
        edits = {int(index): value for index, value in over.items()}
        return [
            _merge_trees(item, edits[index], (*path, index), replaced) if index in edits else item
            for index, item in enumerate(base)
        ]
    replaced.append(path)
    return over


def _is_index_edit(over: dict[str, Any], base: list[Any]) -> bool:
    return bool(over) and all(key.isdigit() and int(key) < len(base) for key in over)


def _is_inside(path: KeyPath, replaced: list[KeyPath]) -> bool:
    return any(path[: len(prefix)] == prefix for prefix in replaced)


_POINTS = frozenset({"position", "look_at", "direction", "default_position", "gravity"})
_ROTATIONS = frozenset({"rotation", "default_rotation"})
_CAMERA_HOLDERS = frozenset({"sensors", "cameras"})


def to_our_conventions(layer: ConfigLayer, *, source: str) -> tuple[ConfigLayer, list[str]]:
    """The layer in our frame, and a sentence about everything that was changed."""
    layer, turned = _to_y_up(layer, source)
    layer, ahead = _to_look_ahead(layer, source)
    return layer, turned + ahead


def _to_y_up(layer: ConfigLayer, source: str) -> tuple[ConfigLayer, list[str]]:
    gravity = get_value(layer.tree, ("simulator", "physics", "gravity")) or get_value(
        layer.tree, ("physics", "gravity")
    )
    if _is_z_up_gravity(gravity):
        return ConfigLayer(_convert_tree(layer.tree, (), _convert_all), layer.origins), [
            f"{source} is written Z-up (gravity {gravity}); its vectors were turned to Y up."
        ]
    notes = [
        f"{layer.origin(path) or source}: {format_key_path(path)} = {value} puts a camera on the floor behind the "
        f"robot; it was read as Z-up: [0, {value[2]}, 0]."
        for path, value in _walk_tree(layer.tree, ())
        if _is_z_up_camera(path, value)
    ]
    return ConfigLayer(_convert_tree(layer.tree, (), _convert_cameras), layer.origins), notes


def _to_look_ahead(layer: ConfigLayer, source: str) -> tuple[ConfigLayer, list[str]]:
    down = [path for path, value in _walk_tree(layer.tree, ()) if _is_looking_down(value)]
    notes = [
        f"{layer.origin((*path, 'look_at')) or source}: {format_key_path(path)} looks at the point straight below it; "
        "it was read as looking ahead. For a camera that looks down write pitch: -90."
        for path in down
    ]
    return ConfigLayer(_convert_tree(layer.tree, (), _drop_look_at), layer.origins), notes


def _drop_look_at(path: KeyPath, value: Any) -> Any:  # noqa: ANN401
    if not _is_looking_down(value):
        return value
    return {key: entry for key, entry in value.items() if key != "look_at"}


def _is_looking_down(value: object) -> bool:
    if not isinstance(value, dict) or not _is_vector(value.get("look_at"), 3):
        return False
    eye = value.get("position", [0, 1, 0])
    target = value["look_at"]
    return _is_vector(eye, 3) and (eye[0], eye[2]) == (target[0], target[2]) and target[1] < eye[1]


def _convert_all(path: KeyPath, value: Any) -> Any:  # noqa: ANN401
    key = path[-1]
    if key in _POINTS and _is_vector(value, 3):
        return _to_y_up_point(value)
    if key in _ROTATIONS and _is_vector(value, 4):
        return [*_to_y_up_point(value[:3]), value[3]]
    if key in ("size", "scale") and _is_vector(value, 3):
        return [value[0], value[2], value[1]]
    return value


def _convert_cameras(path: KeyPath, value: Any) -> Any:  # noqa: ANN401
    return _to_y_up_point(value) if _is_z_up_camera(path, value) else value


def _to_y_up_point(value: list[float]) -> list[float]:
    x, y, z = value
    return [x, z, -y if y else 0]


def _is_z_up_gravity(value: object) -> bool:
    return _is_vector(value, 3) and value[0] == value[1] == 0 and value[2] < 0  # type: ignore[index]


def _is_z_up_camera(path: KeyPath, value: object) -> bool:
    mounted = path[-1] == "position" and bool(_CAMERA_HOLDERS & set(path))
    return mounted and _is_vector(value, 3) and value[0] == value[1] == 0 and value[2] > 0  # type: ignore[index]


def _is_vector(value: object, length: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == length
        and all(isinstance(item, int | float) and not isinstance(item, bool) for item in value)
    )


def get_value(tree: Tree, path: KeyPath) -> object:
    """What stands at a path; None where nothing does."""
    node: object = tree
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _walk_tree(node: object, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    yield path or ("",), node
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _walk_tree(value, (*path, key))


def _convert_tree(node: Any, path: KeyPath, convert: Callable[[KeyPath, Any], Any]) -> Any:  # noqa: ANN401
    """The tree with `convert` applied to every value in it, innermost first."""
    if isinstance(node, dict):
        node = {key: _convert_tree(value, (*path, key), convert) for key, value in node.items()}
    elif isinstance(node, list):
        node = [_convert_tree(value, (*path, index), convert) for index, value in enumerate(node)]
    return convert(path, node) if path else node
