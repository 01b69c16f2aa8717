"""Habitat's sensors: cameras of the simulator, and what the task tells the agent."""

import math
from typing import Any

from nav_eval.config.habitat import groups
from nav_eval.config.habitat.leaves import Leaves
from nav_eval.config.origin import KeyPath

Tree = dict[str, Any]
_CAMERA_TYPES = {"rgb": "HabitatSimRGBSensor", "depth": "HabitatSimDepthSensor", "semantic": "HabitatSimSemanticSensor"}
_PRIVILEGED = ("oracle", "shortest_path", "global_progress", "progress")
#: Habitat's noise, ours, and where and what its strength is.
_NOISES = {
    "GaussianNoiseModel": ("gaussian", "intensity_constant", 0.2),
    "RedwoodDepthNoiseModel": ("redwood", "noise_multiplier", 1.0),
}
_AS_THEY_ARE = {
    "instruction": "instruction",
    "rxr_instruction": "instruction",
    "compass": "compass",
    "imagegoal": "imagegoal",
    "instance_imagegoal": "imagegoal",
    "image_goal": "imagegoal",
}
_LAB: KeyPath = ("habitat", "task", "lab_sensors")


def cameras(leaves: Leaves, *, agent: str) -> dict[str, Tree]:
    """The cameras of an agent, each with all that Habitat's defaults add."""
    place: KeyPath = ("habitat", "simulator", "agents", agent, "sim_sensors")
    found: dict[str, Tree] = {}
    for name in leaves.below(*place):
        kind = next((kind for kind in _CAMERA_TYPES if f"{kind}_sensor" in name), None)
        if kind is None:
            leaves.refuse((*place, name), "there is no such camera here")
            continue
        ours = name.removesuffix("_sensor")
        leaves.take(*place, name)
        found[ours] = _camera(leaves, (*place, name), kind)
        if ours.split("_", maxsplit=1)[0] != kind:
            found[ours]["kind"] = kind
    return found


def _camera(leaves: Leaves, place: KeyPath, kind: str) -> Tree:
    if leaves.take(*place, "type") not in (None, _CAMERA_TYPES[kind]):
        leaves.refuse((*place, "type"), "another kind of camera")
    if leaves.take(*place, "sensor_subtype") not in (None, "PINHOLE"):
        leaves.refuse((*place, "sensor_subtype"), "cameras here are pinhole cameras")
    hfov = leaves.number(*place, "hfov")
    settings: Tree = {
        "width": leaves.whole(*place, "width") or groups.CAMERA_WIDTH,
        "height": leaves.whole(*place, "height") or groups.CAMERA_HEIGHT,
        "hfov": groups.CAMERA_HFOV if hfov is None else hfov,
        "position": leaves.numbers(*place, "position", count=3) or groups.CAMERA_POSITION,
    }
    orientation = leaves.numbers(*place, "orientation", count=3) or [0, 0, 0]
    for key, radians in zip(("pitch", "yaw", "roll"), orientation, strict=True):
        if radians:
            settings[key] = round(math.degrees(radians), 9)
    if kind == "depth":
        settings |= _depth(leaves, place)
    if noise := _noise(leaves, place):
        settings["noise"] = noise
    return settings


def _depth(leaves: Leaves, place: KeyPath) -> Tree:
    """The range of a depth camera, which Habitat scales to [0, 1] unless told otherwise."""
    nearest, farthest = leaves.number(*place, "min_depth"), leaves.number(*place, "max_depth")
    normalize = leaves.flag(*place, "normalize_depth")
    return {
        "min_depth": groups.MIN_DEPTH if nearest is None else nearest,
        "max_depth": groups.MAX_DEPTH if farthest is None else farthest,
        "normalize": groups.NORMALIZE_DEPTH if normalize is None else normalize,
    }


def _noise(leaves: Leaves, place: KeyPath) -> Tree | None:
    model = leaves.text(*place, "noise_model")
    if model in (None, "None"):
        return None
    if model not in _NOISES:
        leaves.refuse((*place, "noise_model"), "there is no such noise here")
        return None
    ours, key, default = _NOISES[model]
    intensity = leaves.number(*place, "noise_model_kwargs", key)
    return {"model": ours, "intensity": default if intensity is None else intensity}


def told(leaves: Leaves) -> dict[str, Tree]:
    """What the task tells the agent besides pictures."""
    found: dict[str, Tree] = {}
    for name in leaves.below(*_LAB):
        place = (*_LAB, name)
        entry = _told(leaves, name, place)
        if entry is None:
            privileged = any(word in name for word in _PRIVILEGED)
            leaves.refuse(place, "privileged: agents never get it" if privileged else "there is no such sensor here")
            continue
        leaves.take(*place)
        leaves.take(*place, "type")
        found |= entry
    return found


def _told(leaves: Leaves, name: str, place: KeyPath) -> dict[str, Tree] | None:
    kind = name.removesuffix("_sensor")
    if kind in _AS_THEY_ARE:
        return {_AS_THEY_ARE[kind]: {}}
    if kind == "gps":
        return {"gps": {"dimensionality": leaves.whole(*place, "dimensionality") or 2}}
    if kind in ("pointgoal", "pointgoal_with_gps_compass"):
        return {"pointgoal": _point_goal(leaves, place, updates=kind != "pointgoal")}
    if kind == "objectgoal":
        return {"objectgoal": _object_goal(leaves, place)}
    return None


def _point_goal(leaves: Leaves, place: KeyPath, *, updates: bool) -> Tree:
    return {
        "goal_format": (leaves.text(*place, "goal_format") or "POLAR").lower(),
        "dimensionality": leaves.whole(*place, "dimensionality") or 2,
        "updates": updates,
    }


def _object_goal(leaves: Leaves, place: KeyPath) -> Tree:
    if leaves.take(*place, "goal_spec") not in (None, "TASK_CATEGORY_ID"):
        leaves.refuse((*place, "goal_spec"), "the goal is always a category")
    return {"goal_spec": "category_id"}
