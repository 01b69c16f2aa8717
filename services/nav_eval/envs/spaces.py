"""The spaces of a benchmark: what an observation and an action look like to Gymnasium.

Every observation has the bits that an agent would get over the wire: same dtype, same shape, no channel
added or axis moved. Bounds are finite wherever the quantity is.
"""

import math
import operator
import string
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nav_eval.config.schema import (
    BenchmarkConfig,
    CompassSensor,
    DepthSensor,
    GpsSensor,
    ImageGoalSensor,
    ObjectGoalSensor,
    PictureSensor,
    PointGoalSensor,
    PoseSensor,
    SensorConfig,
    TaskConfig,
)
from nav_eval.dataset.episode import Episode
from nav_eval.errors import ConfigError
from nav_eval.evaluation.interface import sensor_spec
from nav_eval.simulator.actions import VELOCITY_CONTROL
from nav_eval.tasks import STOP, TASKS

FARTHEST = 4e6
"""Metres. Coordinates are within a million metres of zero, so nothing is farther from anything."""
LONGEST_CATEGORIES = 1 << 20
"""Characters of a scene's category names; no scene has as many."""


class AnyText(spaces.Text):
    """Text of any characters; those of the episodes are the ones that `sample` draws from."""

    def contains(self, x: Any) -> bool:  # noqa: ANN401 - Gymnasium's signature
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length


def observation_space(
    benchmark: BenchmarkConfig, episodes: Sequence[Episode], *, sensors: Sequence[str] | None = None
) -> spaces.Dict:
    """What the sensors of a benchmark deliver; only the named ones if any are named."""
    robots = sorted({benchmark.robot(episode.private.robot).name for episode in episodes})
    chosen = _chosen(benchmark, robots[0], sensors)
    for robot in robots[1:]:  # they may be mounted differently, not built differently
        if _specs(_chosen(benchmark, robot, sensors)) != _specs(chosen):
            raise ConfigError(
                f"The robots {robots[0]!r} and {robot!r} have different sensors; "
                "choose the episodes of one of them, or name the sensors that both have."
            )
    return spaces.Dict({name: sensor_space(name, config, episodes) for name, config in chosen.items()})


def sensor_space(name: str, config: SensorConfig, episodes: Sequence[Episode]) -> "spaces.Space[Any]":
    """The space of one sensor."""
    spec = sensor_spec(config)
    if spec.dtype == "text":
        return _text_space(config, episodes)
    if isinstance(config, ImageGoalSensor):
        return spaces.Box(0, 255, (*_goal_picture_size(name, config, episodes), 3), np.uint8)
    low, high = _bounds(config, np.dtype(spec.dtype))
    return spaces.Box(
        np.broadcast_to(np.asarray(low, spec.dtype), spec.shape).copy(),
        np.broadcast_to(np.asarray(high, spec.dtype), spec.shape).copy(),
        spec.shape,
        np.dtype(spec.dtype).type,
    )


class ActionReader(Protocol):
    """From an element of an action space to an action of the task."""

    @property
    def space(self) -> "spaces.Space[Any]": ...

    def read(self, action: Any) -> tuple[str, Mapping[str, float]]:  # noqa: ANN401 - whatever a policy returns
        """Name and arguments; refuses what is not in the space."""
        ...

    def write(self, name: str, arguments: Mapping[str, float]) -> Any:  # noqa: ANN401
        """The other way round."""
        ...


class NoSuchAction(ConfigError):
    """An action is not in the action space; the message says which and what is."""


class DiscreteActions:
    """One number per action of the task, in the task's order."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.space = spaces.Discrete(len(self.names))

    def read(self, action: Any) -> tuple[str, Mapping[str, float]]:  # noqa: ANN401
        try:
            index = operator.index(action)
        except TypeError:
            index = -1
        if not 0 <= index < len(self.names):
            raise NoSuchAction(f"There is no action {action!r}; give 0 to {len(self.names) - 1}: {_listed(self.names)}")
        return self.names[index], {}

    def write(self, name: str, arguments: Mapping[str, float]) -> int:
        return self.names.index(name)


class VelocityActions:
    """[share of the top speed forward, share of the top turn rate to the left, stop if above ½]."""

    def __init__(self, params: Mapping[str, float]) -> None:
        self._linear, self._angular = params["max_linear_speed"], params["max_angular_speed"]
        self.space = spaces.Box(np.array([-1, -1, 0], np.float32), np.ones(3, np.float32), (3,), np.float32)

    def read(self, action: Any) -> tuple[str, Mapping[str, float]]:  # noqa: ANN401
        vector = np.asarray(action, np.float32)
        if not self.space.contains(vector):
            raise NoSuchAction(f"{action!r} is no velocity; give three numbers within {self.space}.")
        linear, angular, stop = vector.tolist()
        if stop > 0.5:
            return STOP, {}
        return VELOCITY_CONTROL, {
            "linear_velocity": linear * self._linear,
            "angular_velocity": angular * self._angular,
        }

    def write(self, name: str, arguments: Mapping[str, float]) -> NDArray[np.float32]:
        if name == STOP:
            return np.array([0.0, 0.0, 1.0], np.float32)
        linear, angular = arguments["linear_velocity"] / self._linear, arguments["angular_velocity"] / self._angular
        return np.clip(np.array([linear, angular, 0.0], np.float32), self.space.low, self.space.high)


def action_reader(task: TaskConfig, *, control: str | None = None) -> ActionReader:
    """`discrete` or `velocity` control; by default what the task has, discrete where it has both."""
    if not TASKS.get(task.type).uses_motion:
        raise ConfigError(f"The task {task.type!r} is answered, not walked: make NavEval/Localization-v0.")
    discrete = [action.name for action in task.actions if action.name != VELOCITY_CONTROL]
    velocity = task.action(VELOCITY_CONTROL)
    if control is None:
        control = "discrete" if velocity is None or set(discrete) - {STOP} else "velocity"
    if control == "discrete":
        return DiscreteActions(discrete)
    if control == "velocity" and velocity is not None:
        return VelocityActions(velocity.params)
    raise ConfigError(f"This task has no {control!r} control; it has {_listed([a.name for a in task.actions])}")


def _chosen(benchmark: BenchmarkConfig, robot: str, sensors: Sequence[str] | None) -> dict[str, SensorConfig]:
    suite = benchmark.sensors(robot)
    unknown = [name for name in sensors or () if name not in suite]
    if unknown:
        raise ConfigError(f"There is no sensor {unknown[0]!r} on {robot!r}; it has {', '.join(suite)}.")
    chosen = suite if sensors is None else {name: suite[name] for name in sensors}
    if not chosen:
        raise ConfigError("An environment without sensors has no observations; name at least one.")
    return chosen


def _specs(suite: Mapping[str, SensorConfig]) -> dict[str, object]:
    return {name: sensor_spec(config) for name, config in suite.items()}


def _text_space(config: SensorConfig, episodes: Sequence[Episode]) -> AnyText:
    texts = {""}
    if config.kind == "instruction":
        texts |= {episode.instruction.text for episode in episodes if episode.instruction is not None}
    elif config.kind == "objectgoal":
        texts |= {episode.public.object_category or "" for episode in episodes}
    known = frozenset("".join(texts)) | frozenset(string.printable)
    longest = LONGEST_CATEGORIES if config.kind == "categories" else max(1, *map(len, texts))
    return AnyText(longest, min_length=0, charset=known)


def _goal_picture_size(name: str, config: ImageGoalSensor, episodes: Sequence[Episode]) -> tuple[int, int]:
    stated = {(goal.image.height, goal.image.width) for e in episodes for goal in e.goals[:1] if goal.image is not None}
    sizes = {(config.height or height, config.width or width) for height, width in stated or {(0, 0)}}
    if len(sizes) > 1 or 0 in next(iter(sizes)):
        raise ConfigError(
            f"The episodes do not agree on the size of their goal pictures; set {name}.width and .height."
        )
    return sizes.pop()


def _bounds(config: SensorConfig, dtype: "np.dtype[Any]") -> tuple[Any, Any]:  # noqa: PLR0911 - one line per kind
    """Least and greatest readings, by element where they differ."""
    if isinstance(config, DepthSensor):
        return (0.0, 1.0) if config.normalize else (config.min_depth, config.max_depth)
    if isinstance(config, PictureSensor):
        return 0, np.iinfo(dtype).max
    if isinstance(config, ObjectGoalSensor):
        return 0, np.iinfo(dtype).max
    if isinstance(config, CompassSensor):
        return (-1.0, 1.0) if config.type == "vector" else (-math.pi, math.pi)
    if isinstance(config, PoseSensor):
        high = [1.0] * 3 + [FARTHEST] if config.rotation == "matrix" else [FARTHEST] * 3 + [1.0] * 4
        return np.negative(high), high
    if isinstance(config, GpsSensor):
        return _place_bounds(config.dimensionality, polar=config.coordinate_system == "spherical")
    assert isinstance(config, PointGoalSensor)
    return _place_bounds(config.dimensionality, polar=config.goal_format == "polar")


def _place_bounds(dimensions: int, *, polar: bool) -> tuple[Any, Any]:
    if not polar:
        return -FARTHEST, FARTHEST
    angles = [math.pi, math.pi / 2][: dimensions - 1]
    return [0.0, *(-angle for angle in angles)], [FARTHEST, *angles]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names)}."
