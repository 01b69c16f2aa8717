"""From Habitat's values to a benchmark of ours, one section at a time: task, rules, dataset, robot, cameras, sensors.

Every function takes what it understands from the leaves and leaves the rest, which is then reported.
"""

from typing import Any

from nav_eval.config.habitat import hydra
from nav_eval.config.habitat.values import (
    EXACT_MOTION,
    NO_METRIC,
    NO_REVERSE,
    ONE_DISTANCE,
    TRAINING_ONLY,
    HabitatLeaves,
)
from nav_eval.config.layers import KeyPath
from nav_eval.errors import ConfigError

Tree = dict[str, Any]
TASK: KeyPath = ("habitat", "task")
SIMULATOR: KeyPath = ("habitat", "simulator")

_TASK_TYPES = {"VLN-v0": "vln", "ObjectNav-v1": "objectnav", "ObjectNav-v2": "objectnav"}
_TASK_TYPES |= {"InstanceImageNav-v1": "imagenav", "InstanceImageNav-v2": "imagenav", "ImageNav-v1": "imagenav"}
IMAGE_GOALS = ("imagegoal_sensor", "instance_imagegoal_sensor", "image_goal_sensor")

_FORMATS = {
    "R2RVLN-v1": "r2r",
    "VLN-CE-v1": "r2r",
    "RxR-VLN-CE-v1": "rxr",
    "PointNav-v1": "pointnav",
    "ObjectNav-v1": "objectnav",
    "InstanceImageNav-v1": "imagenav",
}

ACTIONS = {"stop": "stop", "velocity_stop": "stop", "empty": None, "velocity_control": "velocity_control"}
ACTIONS |= {name: name for name in ("move_forward", "turn_left", "turn_right", "look_up", "look_down")}

_USUALACTIONS = ("stop", "move_forward", "turn_left", "turn_right")

_METRICS = {
    "success": "success",
    "spl": "spl",
    "soft_spl": "soft_spl",
    "softspl": "soft_spl",
    "num_steps": "steps",
    "steps_taken": "steps",
    "collisions": "collisions",
    "path_length": "path_length",
    "oracle_success": "oracle_success",
    "oracle_navigation_error": "oracle_navigation_error",
    "ndtw": "ndtw",
    "sdtw": "sdtw",
}


def find_task_type(leaves: HabitatLeaves) -> str:
    """Our name of the task; where Habitat's does not say enough, its sensors and its dataset do."""
    kind = leaves.text(*TASK, "type")
    if kind not in (None, "Nav-v0", *_TASK_TYPES):
        raise ConfigError(f"Habitat's task {kind!r} has no counterpart here; known: {', '.join(_TASK_TYPES)}, Nav-v0.")
    if kind in _TASK_TYPES:
        return _TASK_TYPES[kind]
    if any(leaves.has(*TASK, "lab_sensors", name) for name in IMAGE_GOALS):
        return "imagenav"
    by_format = {"r2r": "vln", "rxr": "vln", "objectnav": "objectnav", "imagenav": "imagenav"}
    return by_format.get(_FORMATS.get(leaves.text("habitat", "dataset", "type") or "", ""), "pointnav")


def find_agent(leaves: HabitatLeaves) -> str:
    """The agent that is evaluated: where there are several, the one that Habitat starts with."""
    names = leaves.below(*SIMULATOR, "agents") or ["main_agent"]
    order = leaves.names(*SIMULATOR, "agents_order") or names
    number = leaves.whole(*SIMULATOR, "default_agent_id") or 0
    chosen = order[number] if 0 <= number < len(order) else names[0]
    return chosen if chosen in names else names[0]


def map_actions(leaves: HabitatLeaves) -> list[Tree]:
    """The actions in their order, or the usual ones, with the step sizes that Habitat keeps elsewhere."""
    found: list[Tree] = []
    for name in leaves.below(*TASK, "actions"):
        place = (*TASK, "actions", name)
        ours = ACTIONS.get(name)
        if ours is None:
            leaves.refuse(place, "there is no such action here")
            continue
        leaves.take(*place)
        leaves.take(*place, "type")
        action: Tree = {"name": ours}
        if params := _map_action_params(leaves, ours, place):
            action["params"] = params
        if ours not in [other["name"] for other in found]:
            found.append(action)
    if [action["name"] for action in found] == ["velocity_control"]:
        found.insert(0, {"name": "stop"})  # Habitat's agents stop there by a velocity near none
    return found or [{"name": name, "params": _map_action_params(leaves, name, ())} for name in _USUALACTIONS]


def _map_action_params(leaves: HabitatLeaves, name: str, place: KeyPath) -> Tree:
    if name == "move_forward":
        return {"step_size": fill_default(leaves.number(*SIMULATOR, "forward_step_size"), hydra.FORWARD_STEP_SIZE)}
    if name in ("turn_left", "turn_right"):
        return {"turn_angle": _map_angle(leaves, place, "turn_angle", hydra.TURN_ANGLE)}
    if name in ("look_up", "look_down"):
        return {"tilt_angle": _map_angle(leaves, place, "tilt_angle", hydra.TILT_ANGLE)}
    if name == "velocity_control":
        return _map_velocity_params(leaves, place)
    return {}


def _map_angle(leaves: HabitatLeaves, place: KeyPath, key: str, default: float) -> float:
    """An action's own angle, or the one that the simulator has for all."""
    own, shared = leaves.number(*place, key), leaves.number(*SIMULATOR, key)
    return fill_default(own, fill_default(shared, default))


def _map_velocity_params(leaves: HabitatLeaves, place: KeyPath) -> Tree:
    linear = leaves.numbers(*place, "lin_vel_range", count=2) or hydra.LINEAR_SPEEDS
    angular = leaves.numbers(*place, "ang_vel_range", count=2) or hydra.ANGULAR_SPEEDS
    if linear[0] != 0:
        leaves.refuse((*place, "lin_vel_range"), NO_REVERSE)
    return {
        "max_linear_speed": float(linear[1]),
        "max_angular_speed": float(max(abs(speed) for speed in angular)),
        "time_step": fill_default(leaves.number(*place, "time_step"), hydra.TIME_STEP),
    }


def map_metrics(leaves: HabitatLeaves, *, task: str, success_distance: float) -> list[str | Tree]:
    """The measures that we have too; `distance_to_goal` is the navigation error of VLN."""
    names = {**_METRICS, "distance_to_goal": "navigation_error" if task == "vln" else "distance_to_goal"}
    found: list[str | Tree] = []
    for name in leaves.below(*TASK, "measurements"):
        place = (*TASK, "measurements", name)
        if name not in names:
            leaves.refuse(place, _explain_measure(name))
            continue
        leaves.take(*place)
        leaves.take(*place, "type")
        threshold = leaves.number(*place, "success_distance")
        if name == "ndtw" and threshold is not None:
            found.append({"name": "ndtw", "params": {"success_distance": threshold}})
            continue
        if threshold is not None and threshold != success_distance:
            leaves.refuse((*place, "success_distance"), f"{ONE_DISTANCE}: {success_distance}")
        found.append(names[name])
    return found or ["success", "spl"]


def _explain_measure(name: str) -> str:
    if name == "oracle_spl":
        return "always equals spl"
    if name.startswith("top_down_map"):
        return "maps are drawn from trajectories: output.save_maps"
    if name == "episode_info":
        return "the run's lines say which episode it was"
    return TRAINING_ONLY if "reward" in name else NO_METRIC


def map_evaluation(leaves: HabitatLeaves) -> Tree:
    """The rules: steps, time, distances, order."""
    environment: KeyPath = ("habitat", "environment")
    success = leaves.number(*TASK, "measurements", "success", "success_distance")
    section: Tree = {
        "max_steps": leaves.whole(*environment, "max_episode_steps") or hydra.MAX_EPISODE_STEPS,
        "success_distance": fill_default(success, hydra.SUCCESS_DISTANCE),
    }
    seconds = leaves.number(*environment, "max_episode_seconds")
    if seconds is not None and seconds < hydra.UNLIMITED_SECONDS:
        section["timeout"] = seconds
    distance_to = leaves.text(*TASK, "measurements", "distance_to_goal", "distance_to")
    if distance_to is not None:
        section["distance_to"] = distance_to.lower()
    seed = leaves.whole("habitat", "seed")
    if seed is not None:
        section["seed"] = seed
    if order := _map_order(leaves, (*environment, "iterator_options")):
        section["order"] = order
    return section


def _map_order(leaves: HabitatLeaves, place: KeyPath) -> str | None:
    shuffle, by_scene = leaves.flag(*place, "shuffle"), leaves.flag(*place, "group_by_scene")
    if shuffle:
        return "shuffled"
    return "scene" if by_scene else None if shuffle is None else "dataset"


def map_dataset(leaves: HabitatLeaves, *, task: str) -> Tree:
    """Where the episodes are and which of them count."""
    place: KeyPath = ("habitat", "dataset")
    kind = leaves.text(*place, "type")
    if kind is not None and kind not in _FORMATS:
        leaves.refuse((*place, "type"), f"unknown; the format was chosen for the task {task!r}")
    usual = {"vln": "r2r"}.get(task, task)
    trained_on = leaves.text(*place, "split")
    section: Tree = {
        "type": task,
        "format": _FORMATS.get(kind or "", usual),
        "data_path": leaves.text(*place, "data_path"),
        "scene_path": leaves.text(*place, "scenes_dir") or hydra.SCENES_DIR,
        "split": leaves.text("habitat_baselines", "eval", "split") or trained_on,
    }
    filters = {
        "content_scenes": "scenes",
        "roles": "roles",
        "languages": "languages",
        "episodes_allowed": "episode_ids",
    }
    section |= {ours: names for theirs, ours in filters.items() if (names := leaves.names(*place, theirs))}
    if languages := leaves.names("habitat_baselines", "eval", "languages"):
        section["languages"] = languages
    if episodes := _count_episodes(leaves):
        section["episodes"] = episodes
    gt_paths = [leaves.text(*TASK, "measurements", name, "gt_path") for name in ("ndtw", "sdtw")]
    if gt_path := next(filter(None, gt_paths), None):
        section["gt_path"] = gt_path
    return section


def _count_episodes(leaves: HabitatLeaves) -> int | None:
    places: tuple[KeyPath, ...] = (
        ("habitat", "environment", "iterator_options", "num_episode_sample"),
        ("habitat_baselines", "test_episode_count"),
        ("habitat_baselines", "eval", "episode_count"),
    )
    counts = [leaves.whole(*place) for place in places]
    return next((count for count in counts if count is not None and count > 0), None)


def map_simulator(leaves: HabitatLeaves, *, agent: str) -> Tree:
    """Sliding, graphics card, navigation mesh."""
    place = (*SIMULATOR, "habitat_sim_v0")
    sliding = leaves.flag(*place, "allow_sliding")
    section: Tree = {"physics": {"allow_sliding": hydra.ALLOW_SLIDING if sliding is None else sliding}}
    rendering: Tree = {}
    gpu, culling = leaves.whole(*place, "gpu_device_id"), leaves.flag(*place, "frustum_culling")
    if gpu is not None:
        rendering["gpu"] = "cpu" if gpu < 0 else gpu
    if culling is not None:
        rendering["culling"] = culling
    if rendering:
        section["rendering"] = rendering
    cell_height = leaves.number(*SIMULATOR, "agents", agent, "cell_height")
    if cell_height is not None:
        section["navmesh"] = {"cell_height": cell_height}
    _refuse_another_world(leaves)
    return section


def _refuse_another_world(leaves: HabitatLeaves) -> None:
    """Settings that are fine at their usual value and have no counterpart at any other."""
    physics = (*SIMULATOR, "habitat_sim_v0", "enable_physics")
    usual: dict[KeyPath, tuple[tuple[object, ...], str]] = {
        physics: ((False,), "robots move on the navigation mesh; nothing else moves"),
        (*SIMULATOR, "type"): (("Sim-v0",), "another simulator"),
        (*SIMULATOR, "action_space_config"): (("v0", "v1", "velocitycontrol"), EXACT_MOTION),
        (*SIMULATOR, "scene_dataset"): (("default",), "scenes are found below dataset.scene_path"),
    }
    for path, (values, reason) in usual.items():
        if leaves.take(*path) not in (None, *values):
            leaves.refuse(path, reason)


def map_robot(leaves: HabitatLeaves, *, agent: str, continuous: bool) -> Tree:
    """The body of the agent."""
    place = (*SIMULATOR, "agents", agent)
    section: Tree = {
        "name": agent,
        "height": fill_default(leaves.number(*place, "height"), hydra.AGENT_HEIGHT),
        "radius": fill_default(leaves.number(*place, "radius"), hydra.AGENT_RADIUS),
    }
    for key in ("max_climb", "max_slope"):
        value = leaves.number(*place, key)
        if value is not None:
            section[key] = value
    if continuous:
        section |= {"action_space": "continuous", "control_mode": "velocity"}
    return section


def map_output(leaves: HabitatLeaves) -> Tree:
    """Videos, if the experiment made some."""
    options = leaves.names("habitat_baselines", "eval", "video_option") or leaves.names(
        "habitat_baselines", "video_option"
    )
    return {"save_video": True} if options and "disk" in options else {}


def fill_default(value: float | None, default: float) -> float:
    return default if value is None else value
