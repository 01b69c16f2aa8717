"""What Habitat's configuration groups say, for files that refer to them without bringing them along.

Facts of habitat-lab 0.3: which actions, measures and sensors a task has, where datasets are, and the
defaults that hold when a file is silent.
"""

from typing import Any, NamedTuple

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


def _task(
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
    "vln_r2r": _task("VLN-v0", _DISCRETE, "distance_to_goal success spl", "instruction"),
    "pointnav": _task("Nav-v0", _DISCRETE, "distance_to_goal success spl", "pointgoal_with_gps_compass"),
    "imagenav": _task("Nav-v0", _DISCRETE, "distance_to_goal success spl", "imagegoal"),
    "objectnav": _task(
        "ObjectNav-v1", _LOOKING, "distance_to_goal success spl soft_spl", "objectgoal compass gps", success=0.1
    ),
    "objectnav_v2": _task(
        "ObjectNav-v2",
        _VELOCITY,
        "distance_to_goal success spl soft_spl num_steps collisions",
        "objectgoal compass gps",
        success=0.1,
    ),
    "instance_imagenav": _task(
        "InstanceImageNav-v1",
        _LOOKING,
        "distance_to_goal success spl soft_spl num_steps",
        "instance_imagegoal compass gps",
        success=0.1,
    ),
    "instance_imagenav_v3": _task(
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


def _benchmark(task: str, cameras: str, **agent: Any) -> Tree:  # noqa: ANN401
    """A benchmark file: a task, and an agent whose cameras all have the same settings."""
    camera = agent.pop("camera", {})
    sensors = {f"{kind}_sensor": dict(camera) for kind in cameras.split()}
    agents = {"main_agent": {"sim_sensors": sensors} | agent}
    return {"habitat": {"task": _TASKS[task], "simulator": {"agents": agents}}}


_LOCOBOT: Tree = {"height": 0.88, "radius": 0.18, "camera": {"hfov": 79, "position": [0, 0.88, 0]}}
_BENCHMARKS: dict[str, Tree] = {
    "pointnav_base": _benchmark("pointnav", "rgb depth"),
    "imagenav_base": _benchmark("imagenav", "rgb"),
    "vln_r2r": _benchmark("vln_r2r", "rgb depth", camera={"width": 256, "height": 256}),
    "objectnav_hm3d": _benchmark("objectnav", "rgb depth", **_LOCOBOT),
    "objectnav_mp3d": _benchmark("objectnav", "rgb depth", **_LOCOBOT),
}


class Group(NamedTuple):
    """What an option says, and where it goes unless told otherwise."""

    tree: Tree
    package: str


def _cameras(option: str) -> Group:
    sensors: Tree = {f"{kind}_sensor": {} for kind in _CAMERAS[option].split()}
    return Group({"sim_sensors": sensors}, f"habitat.simulator.agents.{option}")


def _dataset(name: str) -> Group:
    kind, folder = _DATASETS[name]
    path = f"data/datasets/{folder}/{{split}}/{{split}}.json.gz"
    return Group({"type": kind, "split": "train", "data_path": path}, "habitat.dataset")


_PARTS_OF_TASKS = ("habitat/task/actions", "habitat/task/measurements", "habitat/task/lab_sensors")
_CONTROLLERS = {"velocity_controller": _VELOCITY}
_BENCHMARK_FOLDERS = (
    "",
    "benchmark/nav",
    "benchmark/nav/pointnav",
    "benchmark/nav/imagenav",
    "benchmark/nav/objectnav",
)

_GROUPS: dict[str, Group] = {
    **{f"habitat/task/{name}": Group(tree, "habitat.task") for name, tree in _TASKS.items()},
    **{f"habitat/simulator/agents/{name}": _cameras(name) for name in _CAMERAS},
    **{f"habitat/simulator/sensor_setups/{name}": _cameras(name) for name in _CAMERAS},
    **{f"habitat/dataset/{name}": _dataset(name) for name in _DATASETS},
    **{f"{folder}/{name}": Group(tree, "") for folder in _BENCHMARK_FOLDERS for name, tree in _BENCHMARKS.items()},
}


def known_group(group: str, option: str) -> Group | None:
    """What the option of a group says; None when we do not know."""
    package = group.replace("/", ".")
    if group in _PARTS_OF_TASKS:
        return Group({name: {} for name in _CONTROLLERS.get(option, (option,))}, package)
    if group == "habitat/simulator/sim_sensors":
        return Group({}, f"{package}.{option}")
    return _GROUPS.get(f"{group}/{option}")
