"""From Habitat's cameras and other sensors to ours, each with all that Habitat's defaults add."""

import math

from nav_eval.config.habitat import hydra
from nav_eval.config.habitat.mapping import IMAGE_GOALS, SIMULATOR, TASK, Tree, fill_default
from nav_eval.config.habitat.values import NO_CAMERA, NO_NOISE, NO_PANORAMA, NO_SENSOR, ONLY_CATEGORIES, HabitatLeaves
from nav_eval.config.layers import KeyPath

_CAMERA_TYPES = {"rgb": "HabitatSimRGBSensor", "depth": "HabitatSimDepthSensor", "semantic": "HabitatSimSemanticSensor"}
_PRIVILEGED = ("oracle", "shortest_path", "global_progress", "progress")
#: Habitat's noise, ours, and where and what its strength is.
_NOISES = {
    "GaussianNoiseModel": ("gaussian", "intensity_constant", 0.2),
    "RedwoodDepthNoiseModel": ("redwood", "noise_multiplier", 1.0),
}
_AS_THEY_ARE = {"instruction": "instruction", "rxr_instruction": "instruction", "compass": "compass"}
_AS_THEY_ARE |= {name.removesuffix("_sensor"): "imagegoal" for name in IMAGE_GOALS}


def map_cameras(leaves: HabitatLeaves, *, agent: str) -> dict[str, Tree]:
    """The cameras of an agent, each with all that Habitat's defaults add."""
    place = (*SIMULATOR, "agents", agent, "sim_sensors")
    found: dict[str, Tree] = {}
    for name in leaves.below(*place):
        kind = next((kind for kind in _CAMERA_TYPES if f"{kind}_sensor" in name), None)
        if kind is None:
            leaves.refuse((*place, name), NO_CAMERA)
            continue
        ours = name.removesuffix("_sensor")
        leaves.take(*place, name)
        found[ours] = _map_camera(leaves, (*place, name), kind)
        if ours.split("_", maxsplit=1)[0] != kind:
            found[ours]["kind"] = kind
    return found


def _map_camera(leaves: HabitatLeaves, place: KeyPath, kind: str) -> Tree:
    if leaves.take(*place, "type") not in (None, _CAMERA_TYPES[kind]):
        leaves.refuse((*place, "type"), "another kind of camera")
    if leaves.take(*place, "sensor_subtype") not in (None, "PINHOLE"):
        leaves.refuse((*place, "sensor_subtype"), NO_PANORAMA)
    settings: Tree = {
        "width": leaves.whole(*place, "width") or hydra.CAMERA_WIDTH,
        "height": leaves.whole(*place, "height") or hydra.CAMERA_HEIGHT,
        "hfov": fill_default(leaves.number(*place, "hfov"), hydra.CAMERA_HFOV),
        "position": leaves.numbers(*place, "position", count=3) or hydra.CAMERA_POSITION,
    }
    orientation = leaves.numbers(*place, "orientation", count=3) or [0, 0, 0]
    for key, radians in zip(("pitch", "yaw", "roll"), orientation, strict=True):
        if radians:
            settings[key] = round(math.degrees(radians), 9)
    if kind == "depth":
        settings |= _map_depth(leaves, place)
    if noise := _map_noise(leaves, place):
        settings["noise"] = noise
    return settings


def _map_depth(leaves: HabitatLeaves, place: KeyPath) -> Tree:
    """The range of a depth camera, which Habitat scales to [0, 1] unless told otherwise."""
    normalize = leaves.flag(*place, "normalize_depth")
    return {
        "min_depth": fill_default(leaves.number(*place, "min_depth"), hydra.MIN_DEPTH),
        "max_depth": fill_default(leaves.number(*place, "max_depth"), hydra.MAX_DEPTH),
        "normalize": hydra.NORMALIZE_DEPTH if normalize is None else normalize,
    }


def _map_noise(leaves: HabitatLeaves, place: KeyPath) -> Tree | None:
    model = leaves.text(*place, "noise_model")
    if model in (None, "None"):
        return None
    if model not in _NOISES:
        leaves.refuse((*place, "noise_model"), NO_NOISE)
        return None
    ours, key, default = _NOISES[model]
    return {"model": ours, "intensity": fill_default(leaves.number(*place, "noise_model_kwargs", key), default)}


def map_task_sensors(leaves: HabitatLeaves) -> dict[str, Tree]:
    """What the task tells the agent besides pictures."""
    found: dict[str, Tree] = {}
    for name in leaves.below(*TASK, "lab_sensors"):
        place = (*TASK, "lab_sensors", name)
        entry = _map_task_sensor(leaves, name, place)
        if entry is None:
            privileged = any(word in name for word in _PRIVILEGED)
            leaves.refuse(place, "privileged: agents never get it" if privileged else NO_SENSOR)
            continue
        leaves.take(*place)
        leaves.take(*place, "type")
        found |= entry
    return found


def _map_task_sensor(leaves: HabitatLeaves, name: str, place: KeyPath) -> dict[str, Tree] | None:
    kind = name.removesuffix("_sensor")
    if kind in _AS_THEY_ARE:
        return {_AS_THEY_ARE[kind]: {}}
    if kind == "gps":
        return {"gps": {"dimensionality": leaves.whole(*place, "dimensionality") or 2}}
    if kind in ("pointgoal", "pointgoal_with_gps_compass"):
        return {"pointgoal": _map_point_goal(leaves, place, updates=kind != "pointgoal")}
    if kind == "objectgoal":
        return {"objectgoal": _map_object_goal(leaves, place)}
    return None


def _map_point_goal(leaves: HabitatLeaves, place: KeyPath, *, updates: bool) -> Tree:
    return {
        "goal_format": (leaves.text(*place, "goal_format") or "POLAR").lower(),
        "dimensionality": leaves.whole(*place, "dimensionality") or 2,
        "updates": updates,
    }


def _map_object_goal(leaves: HabitatLeaves, place: KeyPath) -> Tree:
    if leaves.take(*place, "goal_spec") not in (None, "TASK_CATEGORY_ID"):
        leaves.refuse((*place, "goal_spec"), ONLY_CATEGORIES)
    return {"goal_spec": "category_id"}
