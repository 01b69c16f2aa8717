"""Hydra files of Habitat, composed the way Hydra would: `defaults:` lists, groups and packages.

Groups are looked for beside the file first, as in a checkout of habitat-lab, then among the ones whose
content is known (`groups`). What is found in neither place is reported.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from nav_eval.config.layers import ConfigLayer, KeyPath, Origin, format_path, merge_layers
from nav_eval.config.yaml_reader import parse_mapping, read_text
from nav_eval.errors import ConfigError

Tree = dict[str, Any]

#: Structured configs that only declare defaults.
BASES = frozenset(
    {
        "habitat_config_base",
        "task_config_base",
        "dataset_config_schema",
        "agent_base",
        "habitat_baselines_rl_config_base",
        "habitat_baselines_il_config_base",
    }
)

#: What Habitat takes when nobody says anything.
MAX_EPISODE_STEPS = 1000
UNLIMITED_SECONDS = 10_000_000
SUCCESS_DISTANCE = 0.2
FORWARD_STEP_SIZE, TURN_ANGLE, TILT_ANGLE = 0.25, 10.0, 15.0
ALLOW_SLIDING = True
AGENT_HEIGHT, AGENT_RADIUS = 1.5, 0.1
CAMERA_WIDTH, CAMERA_HEIGHT, CAMERA_HFOV = 640, 480, 90.0
CAMERA_POSITION = [0.0, 1.25, 0.0]
MIN_DEPTH, MAX_DEPTH, NORMALIZE_DEPTH = 0.0, 10.0, True
LINEAR_SPEEDS, ANGULAR_SPEEDS, TIME_STEP = [0.0, 0.25], [-10.0, 10.0], 0.1
SCENES_DIR = "data/scene_datasets"

_DISCRETE = ("stop", "move_forward", "turn_left", "turn_right")
_LOOKING = (*_DISCRETE, "look_up", "look_down")
_VELOCITY = ("velocity_stop", "velocity_control")


def _make_task(
    kind: str,
    actions: tuple[str, ...],
    measures: str,
    sensors: str,
    *,
    success: float | None = None,
    **settings: Any,  # noqa: ANN401
) -> Tree:
    measurements: Tree = {name: {} for name in measures.split()}
    if success is not None:
        measurements["success"] = {"success_distance": success}
        measurements["distance_to_goal"] = {"distance_to": "VIEW_POINTS"}
    return {
        "type": kind,
        "actions": {name: {} for name in actions},
        "measurements": measurements,
        "lab_sensors": {f"{name}_sensor": {} for name in sensors.split()},
    } | settings


_TASKS: dict[str, Tree] = {
    "vln_r2r": _make_task("VLN-v0", _DISCRETE, "distance_to_goal success spl", "instruction"),
    "pointnav": _make_task("Nav-v0", _DISCRETE, "distance_to_goal success spl", "pointgoal_with_gps_compass"),
    "imagenav": _make_task("Nav-v0", _DISCRETE, "distance_to_goal success spl", "imagegoal"),
    "objectnav": _make_task(
        "ObjectNav-v1", _LOOKING, "distance_to_goal success spl soft_spl", "objectgoal compass gps", success=0.1
    ),
    "objectnav_v2": _make_task(
        "ObjectNav-v2",
        _VELOCITY,
        "distance_to_goal success spl soft_spl num_steps collisions",
        "objectgoal compass gps",
        success=0.1,
    ),
    "instance_imagenav": _make_task(
        "InstanceImageNav-v1",
        _LOOKING,
        "distance_to_goal success spl soft_spl num_steps",
        "instance_imagegoal compass gps",
        success=0.1,
    ),
    "instance_imagenav_v3": _make_task(
        "InstanceImageNav-v2",
        _VELOCITY,
        "distance_to_goal success spl soft_spl num_steps collisions",
        "instance_imagegoal compass gps",
        success=0.1,
    ),
}
_TASKS["vln_r2r"]["actions"] |= {"turn_left": {"turn_angle": 15}, "turn_right": {"turn_angle": 15}}

_CAMERAS = {
    "rgb_agent": "rgb",
    "depth_agent": "depth",
    "semantic_agent": "semantic",
    "rgbd_agent": "rgb depth",
    "rgbds_agent": "rgb depth semantic",
}

_DATASETS: dict[str, tuple[str, str]] = {
    "vln/mp3d_r2r": ("R2RVLN-v1", "vln/mp3d/r2r/v1"),
    "pointnav/gibson": ("PointNav-v1", "pointnav/gibson/v1"),
    "pointnav/gibson_v2": ("PointNav-v1", "pointnav/gibson/v2"),
    "pointnav/mp3d": ("PointNav-v1", "pointnav/mp3d/v1"),
    "pointnav/hm3d": ("PointNav-v1", "pointnav/hm3d/v1"),
    "pointnav/habitat_test": ("PointNav-v1", "pointnav/habitat-test-scenes/v1"),
    "imagenav/gibson": ("PointNav-v1", "pointnav/gibson/v1"),
    "imagenav/mp3d": ("PointNav-v1", "pointnav/mp3d/v1"),
    "imagenav/hm3d": ("PointNav-v1", "pointnav/hm3d/v1"),
    "objectnav/hm3d": ("ObjectNav-v1", "objectnav/hm3d/v1"),
    "objectnav/hm3d_v2": ("ObjectNav-v1", "objectnav/hm3d/v2"),
    "objectnav/mp3d": ("ObjectNav-v1", "objectnav/mp3d/v1"),
    "instance_imagenav/hm3d_v1": ("InstanceImageNav-v1", "instance_imagenav/hm3d/v1"),
    "instance_imagenav/hm3d_v2": ("InstanceImageNav-v1", "instance_imagenav/hm3d/v2"),
    "instance_imagenav/hm3d_v3": ("InstanceImageNav-v1", "instance_imagenav/hm3d/v3"),
}


def _make_benchmark(task: str, cameras: str, **agent: Any) -> Tree:  # noqa: ANN401
    """A benchmark file: a task, and an agent whose cameras all have the same settings."""
    camera = agent.pop("camera", {})
    sensors = {f"{kind}_sensor": dict(camera) for kind in cameras.split()}
    agents = {"main_agent": {"sim_sensors": sensors} | agent}
    return {"habitat": {"task": _TASKS[task], "simulator": {"agents": agents}}}


_LOCOBOT: Tree = {"height": 0.88, "radius": 0.18, "camera": {"hfov": 79, "position": [0, 0.88, 0]}}
_BENCHMARKS: dict[str, Tree] = {
    "pointnav_base": _make_benchmark("pointnav", "rgb depth"),
    "imagenav_base": _make_benchmark("imagenav", "rgb"),
    "vln_r2r": _make_benchmark("vln_r2r", "rgb depth", camera={"width": 256, "height": 256}),
    "objectnav_hm3d": _make_benchmark("objectnav", "rgb depth", **_LOCOBOT),
    "objectnav_mp3d": _make_benchmark("objectnav", "rgb depth", **_LOCOBOT),
}


class ConfigGroup(NamedTuple):
    """What an option says, and where it goes unless told otherwise."""

    tree: Tree
    package: str


def _make_camera_group(option: str) -> ConfigGroup:
    sensors: Tree = {f"{kind}_sensor": {} for kind in _CAMERAS[option].split()}
    return ConfigGroup({"sim_sensors": sensors}, f"habitat.simulator.agents.{option}")


def _make_dataset_group(name: str) -> ConfigGroup:
    kind, folder = _DATASETS[name]
    path = f"data/datasets/{folder}/{{split}}/{{split}}.json.gz"
    return ConfigGroup({"type": kind, "split": "train", "data_path": path}, "habitat.dataset")


_PARTS_OF_TASKS = ("habitat/task/actions", "habitat/task/measurements", "habitat/task/lab_sensors")
_CONTROLLERS = {"velocity_controller": _VELOCITY}
_BENCHMARK_FOLDERS = (
    "",
    "benchmark/nav",
    "benchmark/nav/pointnav",
    "benchmark/nav/imagenav",
    "benchmark/nav/objectnav",
)

_GROUPS: dict[str, ConfigGroup] = {
    **{f"habitat/task/{name}": ConfigGroup(tree, "habitat.task") for name, tree in _TASKS.items()},
    **{f"habitat/simulator/agents/{name}": _make_camera_group(name) for name in _CAMERAS},
    **{f"habitat/simulator/sensor_setups/{name}": _make_camera_group(name) for name in _CAMERAS},
    **{f"habitat/dataset/{name}": _make_dataset_group(name) for name in _DATASETS},
    **{
        f"{folder}/{name}": ConfigGroup(tree, "") for folder in _BENCHMARK_FOLDERS for name, tree in _BENCHMARKS.items()
    },
}


def find_known_group(group: str, option: str) -> ConfigGroup | None:
    """What the option of a group says; None when we do not know."""
    package = group.replace("/", ".")
    if group in _PARTS_OF_TASKS:
        return ConfigGroup({name: {} for name in _CONTROLLERS.get(option, (option,))}, package)
    if group == "habitat/simulator/sim_sensors":
        return ConfigGroup({}, f"{package}.{option}")
    return _GROUPS.get(f"{group}/{option}")


_PACKAGE = re.compile(r"^\s*#\s*@package\s+(\S+)", re.MULTILINE)
_MAX_FILES = 64


class DefaultsEntry(NamedTuple):
    """One line of a defaults list."""

    group: str  #: `habitat/task`
    option: str  #: `vln_r2r`
    package: str | None  #: what stands behind @

    def __str__(self) -> str:
        return f"{self.group}: {self.option}" if self.group else self.option


class HydraComposer:
    """Puts a file's defaults under what it says itself."""

    def __init__(self) -> None:
        self.unresolved: list[str] = []  #: groups that neither the disk nor our table knows
        self._read: list[Path] = []

    def compose(self, path: Path, *, package: str | None = None) -> ConfigLayer:
        """Everything that a file says, from the root of the configuration."""
        self._read.append(path.resolve())
        if len(self._read) > _MAX_FILES:
            raise ConfigError(f"{format_path(path)}: more than {_MAX_FILES} files take part.")
        text = read_text(path)
        body = parse_mapping(text, source=format_path(path), interpolation=True)
        tree = dict(body.tree)
        entries = _parse_defaults(tree.pop("defaults", None) or [], path)
        package = _find_package(text, path, tree) if package is None else package
        own = _nest_layer(ConfigLayer(tree, body.origins), package)
        layer = ConfigLayer({}, {})
        for entry in entries:
            part = own if entry.option == "_self_" else self._compose_entry(entry, path, body, package)
            layer = merge_layers(layer, part)
        return layer if any(entry.option == "_self_" for entry in entries) else merge_layers(layer, own)

    def _compose_entry(self, entry: DefaultsEntry, path: Path, body: ConfigLayer, parent_package: str) -> ConfigLayer:
        if entry.option in BASES:  # Habitat's own defaults hold for every file
            return ConfigLayer({}, {})
        package = None if entry.package is None else ".".join(filter(None, (parent_package, entry.package)))
        file = _find_file(entry, path)
        if file is not None and file.resolve() not in self._read:
            return self.compose(file, package=package)
        origin = body.origin(("defaults",)) or Origin(format_path(path))
        known = find_known_group(entry.group, entry.option)
        if known is None:
            self.unresolved.append(str(entry))
            return ConfigLayer({}, {})
        return _nest_layer(ConfigLayer(known.tree, {(): origin}), package or known.package)


def _parse_defaults(defaults: object, path: Path) -> list[DefaultsEntry]:
    if not isinstance(defaults, list):
        raise ConfigError(f"{format_path(path)}: `defaults` must be a list.")
    return [entry for item in defaults for entry in _parse_entry(item, _find_group(path))]


def _parse_entry(item: object, here: str) -> list[DefaultsEntry]:
    """`- /group@package: option`, `- group: [a, b]`, `- option` or `- /group/option`."""
    if isinstance(item, str):
        group, _, option = item.removeprefix("optional ").rpartition("/")
        return [DefaultsEntry(_to_absolute(group, here) if group else here, option, None)]
    if isinstance(item, dict) and len(item) == 1:
        key, value = next(iter(item.items()))
        spec, _, package = re.sub(r"^(override|optional) ", "", str(key)).partition("@")
        options = value if isinstance(value, list) else [value]
        return [
            DefaultsEntry(_to_absolute(spec, here), str(option), package or None)
            for option in options
            if option is not None
        ]
    return [DefaultsEntry("", str(item), None)]


def _to_absolute(group: str, here: str) -> str:
    return group[1:] if group.startswith("/") else f"{here}/{group}".strip("/")


def _find_group(path: Path) -> str:
    """The group that a file belongs to: the folders below the configuration root, if they are Habitat's."""
    parts = path.resolve().parent.parts
    for top in ("habitat", "benchmark", "habitat_baselines"):
        if top in parts:
            last = len(parts) - 1 - parts[::-1].index(top)
            return "/".join(parts[last:])
    return ""


def _find_package(text: str, path: Path, tree: dict[str, Any]) -> str:
    """Where a file's content goes: what its header says, or its group, or the root."""
    if (header := _PACKAGE.search(text)) is not None:
        return "" if header[1] == "_global_" else header[1].replace("_group_", _find_group(path).replace("/", "."))
    if {"habitat", "habitat_baselines"} & tree.keys():
        return ""
    if {"environment", "simulator", "task", "dataset"} & tree.keys():
        return "habitat"
    return _find_group(path).replace("/", ".")


def _find_file(entry: DefaultsEntry, path: Path) -> Path | None:
    """The file of a group, below the folder that holds the top of its path."""
    for root in [path.resolve().parent, *path.resolve().parents]:
        candidate = root / entry.group / f"{entry.option}.yaml"
        if candidate.is_file() and (entry.group or root == path.resolve().parent):
            return candidate
    sibling = path.parent / f"{entry.option}.yaml"
    return sibling if entry.group == _find_group(path) and sibling.is_file() else None


def _nest_layer(layer: ConfigLayer, package: str) -> ConfigLayer:
    """A layer moved below its package."""
    prefix: KeyPath = tuple(package.split(".")) if package else ()
    tree = layer.tree
    for key in reversed(prefix):
        tree = {str(key): tree}
    return ConfigLayer(tree, {(*prefix, *path): origin for path, origin in layer.origins.items()})
