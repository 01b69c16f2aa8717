"""Habitat's older files (up to 0.2.2, VLN-CE, the challenges up to 2022), in the words of the newer ones.

`TASK.SUCCESS.SUCCESS_DISTANCE` becomes `habitat.task.measurements.success.success_distance`, and so on;
each value keeps the name it had, for the report.
"""

from pathlib import Path

from nav_eval.config.habitat.leaves import Leaf, Leaves, flat
from nav_eval.config.layers import put_over
from nav_eval.config.origin import KeyPath, Layer, dotted, shown
from nav_eval.config.reading import parse_mapping, read_text

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


def read_yacs(path: Path) -> Layer:
    """A file with its base, still in its own words."""
    layer = parse_mapping(read_text(path), source=shown(path), interpolation=True)
    base = _base(layer, path)
    return layer if base is None else put_over(read_yacs(base), layer)


def _base(layer: Layer, path: Path) -> Path | None:
    """The task file that an experiment builds on, if it is here."""
    name = layer.tree.get("BASE_TASK_CONFIG_PATH")
    if not isinstance(name, str):
        return None
    places = [Path(name), *(folder / name for folder in path.resolve().parents)]
    found = next((place for place in places if place.is_file()), None)
    return None if found is None or found.resolve() == path.resolve() else found


def modern_path(path: KeyPath) -> KeyPath:
    """Where a yacs key stands in today's configuration."""
    parts = [str(part) for part in path]
    if parts[0] == "TASK_CONFIG":  # an experiment's own changes to its base
        parts = parts[1:]
    lower = [part.lower() for part in parts]
    match parts:
        case ["SEED"]:
            return ("habitat", "seed")
        case ["TASK", *_]:
            return ("habitat", *_task_path(parts, lower))
        case ["SIMULATOR", "AGENT_0", *_]:
            return (*AGENT, *lower[2:])
        case ["SIMULATOR", sensor, *_] if sensor.endswith("_SENSOR"):
            return (*AGENT, "sim_sensors", *lower[1:])
        case [top, *_] if top in _TOP:
            return ("habitat", *lower)
    return ("habitat_baselines", *lower)


def _task_path(parts: list[str], lower: list[str]) -> list[str]:
    if len(parts) < 3 or parts[1] in _TASK_KEYS:
        return lower
    group = "lab_sensors" if parts[1].endswith("SENSOR") else "measurements"
    return ["task", group, *lower[1:]]


def leaves_of_yacs(layer: Layer) -> Leaves:
    """The values of a yacs configuration at their modern places, under the names they had."""
    leaves, listed = Leaves(), dict(_LISTED_BY_DEFAULT)
    for path, value, origin in flat(layer):
        names = tuple(str(part) for part in path if part != "TASK_CONFIG")
        if names in _LISTS and isinstance(value, list):
            listed[_LISTS[names]] = [str(name).lower() for name in value]
            for name in value:
                leaves.add((*_LISTS[names], str(name).lower()), Leaf(f"{dotted(path)}: {name}", {}, origin))
        else:
            leaves.add(modern_path(path), Leaf(dotted(path), value, origin))
    for place, names_ in listed.items():
        for name in set(leaves.below(*place)) - set(names_):
            leaves.refuse((*place, name), "set up but not used: it is in no list of the file")
        for name in names_:
            if not leaves.has(*place, name):
                leaves.add((*place, name), Leaf(name.upper(), {}, "Habitat's default"))
    return leaves
