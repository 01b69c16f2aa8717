"""A Habitat configuration as a flat list of values, each of which must be taken or reported.

Older files (yacs: up to 0.2.2, VLN-CE, the challenges up to 2022) are read in the words of the newer ones:
`TASK.SUCCESS.SUCCESS_DISTANCE` becomes `habitat.task.measurements.success.success_distance`, and so on;
each value keeps the name it had, for the report.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nav_eval.config.layers import ConfigLayer, KeyPath, format_key_path, format_path, format_value, merge_layers
from nav_eval.config.yaml_reader import parse_mapping, read_text
from nav_eval.errors import ConfigError


@dataclass(frozen=True, slots=True)
class HabitatLeaf:
    """One value of a Habitat file."""

    name: str  #: as the file spells it
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class LeftoverValue:
    """One value that has no place in our configuration, and why."""

    name: str
    value: Any
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.reason}"
            if self.value == {}
            else f"{self.name} = {format_value(self.value)}: {self.reason}"
        )


INTERPOLATION = "an interpolation; write its value"
NO_CAMERA, NO_SENSOR = "there is no such camera here", "there is no such sensor here"
NO_METRIC = "there is no such metric here"
TRAINING_ONLY = "for training; an evaluation does not need it"
NO_PANORAMA, NO_NOISE = "cameras here are pinhole cameras", "there is no such noise here"
EXACT_MOTION = "actions here have no noise"
ONLY_CATEGORIES = "the goal is always a category"
NO_REVERSE = "only its upper end was carried over"
ONE_DISTANCE = "one distance holds for all"
CHANGES = (NO_PANORAMA, NO_NOISE, EXACT_MOTION, ONLY_CATEGORIES, NO_REVERSE, ONE_DISTANCE)
"""How reasons begin that make another benchmark of it: of what agents see, how they move, or how they are judged."""
_ORDER = "the order of episodes never depends on the agent, and each is run once"


def explain_leftover(path: KeyPath) -> str:
    """Why a value that nobody took is not carried over."""
    keys = [str(part) for part in path]
    last = keys[-1]
    if keys[0] == "habitat_baselines" or "reward" in last or last in ("end_on_success", "success_measure"):
        return TRAINING_ONLY
    if "iterator_options" in keys:
        return _ORDER
    if last.endswith("_uuid"):
        return "observations are named after their sensor"
    if keys[:3] == ["habitat", "task", "success_distance"]:
        return "Habitat itself never reads it; TASK.SUCCESS.SUCCESS_DISTANCE counts"
    if last == "fdtw":
        return "DTW is exact here"
    return "it has no counterpart here"


class HabitatLeaves:
    """Values by path. Nothing is forgotten: what nobody takes is in `rest`."""

    def __init__(self) -> None:
        self._leaves: dict[KeyPath, HabitatLeaf] = {}
        self._taken: set[KeyPath] = set()
        self._refused: dict[KeyPath, str] = {}
        self._unread: dict[KeyPath, str] = {}

    def add(self, path: KeyPath, leaf: HabitatLeaf) -> None:
        self._leaves[path] = leaf
        if isinstance(leaf.value, str) and "${" in leaf.value:
            self._refused[path] = INTERPOLATION

    @property
    def unread(self) -> tuple[str, ...]:
        """Values that somebody asked for and that are interpolations: a default took their place."""
        return tuple(self._unread.values())

    def take(self, *path: str | int) -> Any:  # noqa: ANN401
        """The value at a path, which is thereby carried over; None when nobody said it."""
        if path not in self._leaves or path in self._refused:
            if self._refused.get(path) == INTERPOLATION:
                self._unread[path] = self._leaves[path].name
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

    def rest(self, reason_for: Callable[[KeyPath], str]) -> Iterator[LeftoverValue]:
        """Every value that was not taken."""
        for path, leaf in self._leaves.items():
            if path not in self._taken:
                yield LeftoverValue(leaf.name, leaf.value, self._refused.get(path) or reason_for(path))

    def _open(self) -> Iterator[KeyPath]:
        return (path for path in self._leaves if path not in self._refused)

    def _wrong(self, path: KeyPath, wanted: str) -> ConfigError:
        leaf = self._leaves[path]
        return ConfigError(f"{leaf.origin}: {leaf.name} = {format_value(leaf.value)} must be {wanted}.")


def flatten_layer(layer: ConfigLayer) -> Iterator[tuple[KeyPath, Any, str]]:
    """Every value of a layer with its path and origin; lists count as values."""

    def walk(node: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any, str]]:  # noqa: ANN401
        if isinstance(node, dict) and node:
            for key, value in node.items():
                yield from walk(value, (*path, key))
        else:
            yield path, node, str(layer.origin(path) or "")

    for key, value in layer.tree.items():
        yield from walk(value, (key,))


def collect_leaves(layer: ConfigLayer) -> HabitatLeaves:
    """The values of a Hydra configuration under their own names."""
    leaves = HabitatLeaves()
    for path, value, origin in flatten_layer(layer):
        leaves.add(path, HabitatLeaf(format_key_path(path), value, origin))
    return leaves


AGENT: KeyPath = ("habitat", "simulator", "agents", "main_agent")
_TOP = {"ENVIRONMENT": "environment", "SIMULATOR": "simulator", "TASK": "task", "DATASET": "dataset"}
YACS_KEYS = frozenset({*_TOP, "BASE_TASK_CONFIG_PATH", "TASK_CONFIG", "SEED"})

#: Lists of names that say what exists, and where that stands today.
_LISTS: dict[tuple[str, ...], KeyPath] = {
    ("TASK", "POSSIBLE_ACTIONS"): ("habitat", "task", "actions"),
    ("TASK", "MEASUREMENTS"): ("habitat", "task", "measurements"),
    ("TASK", "SENSORS"): ("habitat", "task", "lab_sensors"),
    ("SIMULATOR", "AGENT_0", "SENSORS"): (*AGENT, "sim_sensors"),
}
_LISTED_BY_DEFAULT: dict[KeyPath, list[str]] = {
    ("habitat", "task", "actions"): ["stop", "move_forward", "turn_left", "turn_right"],
    ("habitat", "task", "measurements"): [],
    ("habitat", "task", "lab_sensors"): [],
    (*AGENT, "sim_sensors"): ["rgb_sensor"],
}

#: Keys of TASK that are settings of the task itself, not of a measure or a sensor.
_TASK_KEYS = frozenset({"TYPE", "POSSIBLE_ACTIONS", "SENSORS", "MEASUREMENTS", "ACTIONS", "SUCCESS_DISTANCE"})


def read_yacs(path: Path) -> ConfigLayer:
    """A file with its base, still in its own words."""
    layer = parse_mapping(read_text(path), source=format_path(path), interpolation=True)
    base = _find_base(layer, path)
    return layer if base is None else merge_layers(read_yacs(base), layer)


def _find_base(layer: ConfigLayer, path: Path) -> Path | None:
    """The task file that an experiment builds on, if it is here."""
    name = layer.tree.get("BASE_TASK_CONFIG_PATH")
    if not isinstance(name, str):
        return None
    places = [Path(name), *(folder / name for folder in path.resolve().parents)]
    found = next((place for place in places if place.is_file()), None)
    return None if found is None or found.resolve() == path.resolve() else found


def to_modern_path(path: KeyPath) -> KeyPath:
    """Where a yacs key stands in today's configuration."""
    parts = [str(part) for part in path]
    if parts[0] == "TASK_CONFIG":  # an experiment's own changes to its base
        parts = parts[1:]
    lower = [part.lower() for part in parts]
    match parts:
        case ["SEED"]:
            return ("habitat", "seed")
        case ["TASK", *_]:
            return ("habitat", *_to_task_path(parts, lower))
        case ["SIMULATOR", "AGENT_0", *_]:
            return (*AGENT, *lower[2:])
        case ["SIMULATOR", sensor, *_] if sensor.endswith("_SENSOR"):
            return (*AGENT, "sim_sensors", *lower[1:])
        case [top, *_] if top in _TOP:
            return ("habitat", *lower)
    return ("habitat_baselines", *lower)


def _to_task_path(parts: list[str], lower: list[str]) -> list[str]:
    if len(parts) < 3 or parts[1] in _TASK_KEYS:
        return lower
    group = "lab_sensors" if parts[1].endswith("SENSOR") else "measurements"
    return ["task", group, *lower[1:]]


def collect_yacs_leaves(layer: ConfigLayer) -> HabitatLeaves:
    """The values of a yacs configuration at their modern places, under the names they had."""
    leaves, listed = HabitatLeaves(), dict(_LISTED_BY_DEFAULT)
    for path, value, origin in flatten_layer(layer):
        names = tuple(str(part) for part in path if part != "TASK_CONFIG")
        if names in _LISTS and isinstance(value, list):
            listed[_LISTS[names]] = [str(name).lower() for name in value]
            for name in value:
                leaves.add(
                    (*_LISTS[names], str(name).lower()), HabitatLeaf(f"{format_key_path(path)}: {name}", {}, origin)
                )
        else:
            leaves.add(to_modern_path(path), HabitatLeaf(format_key_path(path), value, origin))
    for place, names_ in listed.items():
        for name in set(leaves.below(*place)) - set(names_):
            leaves.refuse((*place, name), "set up but not used: it is in no list of the file")
        for name in names_:
            if not leaves.has(*place, name):
                leaves.add((*place, name), HabitatLeaf(name.upper(), {}, "Habitat's default"))
    return leaves
