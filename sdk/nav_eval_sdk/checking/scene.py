"""What `check` shows to an agent: a task like those of a challenge, and pictures that change as if it moved."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nav_eval_sdk.agent import Array, Episode, Observation, SensorSpec, Task
from nav_eval_sdk.errors import SdkError

HEIGHT, WIDTH = 480, 640

SENSORS = {
    "rgb": SensorSpec("rgb", "uint8", (HEIGHT, WIDTH, 3)),
    "depth": SensorSpec("depth", "float32", (HEIGHT, WIDTH)),
    "semantic": SensorSpec("semantic", "int32", (HEIGHT, WIDTH)),
    "instance": SensorSpec("instance", "uint32", (HEIGHT, WIDTH)),
    "gps": SensorSpec("gps", "float32", (2,)),
    "compass": SensorSpec("compass", "float32", (1,)),
    "pose": SensorSpec("pose", "float32", (3, 4)),
    "pointgoal": SensorSpec("pointgoal", "float32", (2,)),
    "imagegoal": SensorSpec("imagegoal", "uint8", (HEIGHT, WIDTH, 3)),
    "objectgoal": SensorSpec("objectgoal", "text"),
    "instruction": SensorSpec("instruction", "text"),
}
DISCRETE: dict[str, dict[str, tuple[float, float]]] = {
    "stop": {},
    "move_forward": {},
    "turn_left": {},
    "turn_right": {},
    "look_up": {},
    "look_down": {},
}
VELOCITY: dict[str, dict[str, tuple[float, float]]] = {
    "velocity_control": {"linear_velocity": (-2.0, 2.0), "angular_velocity": (-180.0, 180.0)}
}
TASKS: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
    "navigation": {**DISCRETE, **VELOCITY},
    "localization": {"answer": {}, "stop": {}},
}


def task_for(name: str, *, extra_sensors: Iterable[str] = (), action_seconds: float = 30.0) -> Task:
    """The task called `name`, with sensors such as `rgb_left:uint8:480x640x3` besides the usual ones."""
    if name not in TASKS:
        raise SdkError(f"There is no task {name!r} to check; choose among {', '.join(TASKS)}.")
    return Task(
        name=name,
        sensors={**SENSORS, **dict(_sensor(text) for text in extra_sensors)},
        actions=TASKS[name],
        max_steps=500,
        reset_seconds=60.0,
        action_seconds=action_seconds,
    )


def offering(task: Task, wanted: Iterable[str]) -> Task:
    """The task with what an agent asks for, as far as names have a kind that exists: `rgb_front` is an rgb sensor.

    Each benchmark has names of its own; whether it has these turns out in a submission or in a local test.
    """
    kinds = {name: name.split("_")[0] for name in wanted if name not in task.sensors}
    named = {name: SENSORS[kind] for name, kind in kinds.items() if kind in SENSORS}
    return replace(task, sensors={**task.sensors, **named})


def moment(task: Task, step: int, *, wanted: Iterable[str] = (), episode: Episode | None = None) -> Observation:
    """What the wanted sensors read at `step`; the same for everyone who asks."""
    names = list(wanted) or list(task.sensors)
    specs = {name: task.sensors[name] for name in names if name in task.sensors}
    return Observation(
        step=step,
        sensors={name: _reading(spec, step) for name, spec in specs.items() if spec.dtype != "text"},
        texts={name: "chair" for name, spec in specs.items() if spec.dtype == "text"},
        episode=episode or Episode("check"),
    )


def _reading(spec: SensorSpec, step: int) -> Array:
    return np.roll(_waves(spec), step * 1013)


@functools.lru_cache(maxsize=32)
def _waves(spec: SensorSpec) -> Array:
    shape = tuple(extent or 32 for extent in spec.shape)
    waves = (np.arange(np.prod(shape, dtype=np.int64), dtype=np.int64) * 7 + 3) % 251
    return (waves / 25.0 if spec.dtype.startswith("float") else waves).astype(spec.dtype).reshape(shape)


def _sensor(text: str) -> tuple[str, SensorSpec]:
    if text.endswith(":text"):
        name = text.removesuffix(":text")
        return name, SensorSpec(name.split("_")[0], "text")
    try:
        name, dtype, shape = text.split(":")
        extents = tuple(int(extent) for extent in shape.split("x"))
        np.dtype(dtype)
    except (ValueError, TypeError):
        raise SdkError(
            f"{text!r} is no sensor; write name:dtype:shape, such as rgb_left:uint8:480x640x3, or name:text."
        ) from None
    return name, SensorSpec(name.split("_")[0], dtype, extents)
