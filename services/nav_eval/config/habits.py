"""Habits of the seeds and of RoboVerse, turned into ours: Y up, −Z forward, cameras that look ahead.

A file whose gravity points along −z is written Z-up, so all of its vectors are converted. Without
such a gravity only one thing is certain enough: a camera at `[0, 0, h]` is meant to be h metres high,
not h metres behind the robot's base on the floor. And a camera that looks at a point straight below
itself (`look_at: [0, 0, 0]`) is meant to look ahead. Everything converted is reported.
"""

from collections.abc import Callable, Iterator
from typing import Any

from nav_eval.config.origin import KeyPath, Layer, Tree, dotted

_POINTS = frozenset({"position", "look_at", "direction", "default_position", "gravity"})
_ROTATIONS = frozenset({"rotation", "default_rotation"})
_CAMERA_HOLDERS = frozenset({"sensors", "cameras"})


def to_our_habits(layer: Layer, *, source: str) -> tuple[Layer, list[str]]:
    """The layer in our frame, and a sentence about everything that was changed."""
    layer, turned = _to_y_up(layer, source)
    layer, ahead = _to_look_ahead(layer, source)
    return layer, turned + ahead


def _to_y_up(layer: Layer, source: str) -> tuple[Layer, list[str]]:
    gravity = _at(layer.tree, ("simulator", "physics", "gravity")) or _at(layer.tree, ("physics", "gravity"))
    if _is_z_up_gravity(gravity):
        return Layer(_converted(layer.tree, (), _convert_all), layer.origins), [
            f"{source} is written Z-up (gravity {gravity}); its vectors were turned to Y up."
        ]
    notes = [
        f"{layer.origin(path) or source}: {dotted(path)} = {value} puts a camera on the floor behind the robot; "
        f"it was read as Z-up: [0, {value[2]}, 0]."
        for path, value in _walk(layer.tree, ())
        if _is_z_up_camera(path, value)
    ]
    return Layer(_converted(layer.tree, (), _convert_cameras), layer.origins), notes


def _to_look_ahead(layer: Layer, source: str) -> tuple[Layer, list[str]]:
    down = [path for path, value in _walk(layer.tree, ()) if _looks_straight_down(value)]
    notes = [
        f"{layer.origin((*path, 'look_at')) or source}: {dotted(path)} looks at the point straight below it; "
        "it was read as looking ahead. For a camera that looks down write pitch: -90."
        for path in down
    ]
    return Layer(_converted(layer.tree, (), _without_look_at), layer.origins), notes


def _without_look_at(path: KeyPath, value: Any) -> Any:  # noqa: ANN401
    if not _looks_straight_down(value):
        return value
    return {key: entry for key, entry in value.items() if key != "look_at"}


def _looks_straight_down(value: object) -> bool:
    if not isinstance(value, dict) or not _is_vector(value.get("look_at"), 3):
        return False
    eye = value.get("position", [0, 1, 0])
    target = value["look_at"]
    return _is_vector(eye, 3) and (eye[0], eye[2]) == (target[0], target[2]) and target[1] < eye[1]


def _convert_all(path: KeyPath, value: Any) -> Any:  # noqa: ANN401
    key = path[-1]
    if key in _POINTS and _is_vector(value, 3):
        return _point(value)
    if key in _ROTATIONS and _is_vector(value, 4):
        return [*_point(value[:3]), value[3]]
    if key in ("size", "scale") and _is_vector(value, 3):
        return [value[0], value[2], value[1]]
    return value


def _convert_cameras(path: KeyPath, value: Any) -> Any:  # noqa: ANN401
    return _point(value) if _is_z_up_camera(path, value) else value


def _point(value: list[float]) -> list[float]:
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


def _at(tree: Tree, path: KeyPath) -> object:
    node: object = tree
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _walk(node: object, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    yield path or ("",), node
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _walk(value, (*path, key))


def _converted(node: Any, path: KeyPath, convert: Callable[[KeyPath, Any], Any]) -> Any:  # noqa: ANN401
    """The tree with `convert` applied to every value in it, innermost first."""
    if isinstance(node, dict):
        node = {key: _converted(value, (*path, key), convert) for key, value in node.items()}
    elif isinstance(node, list):
        node = [_converted(value, (*path, index), convert) for index, value in enumerate(node)]
    return convert(path, node) if path else node
