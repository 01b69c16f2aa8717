"""The spaces of a benchmark: what an observation and an action look like to Gymnasium.

Every observation has the bits that an agent would get over the wire: same dtype, same shape, no channel
added or axis moved. Bounds are finite wherever the quantity is.
"""

import operator
import string
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from nav_eval.config.schema import BenchmarkConfig, TaskConfig
from nav_eval.dataset.episode import Episode
from nav_eval.errors import ConfigError
from nav_eval.sensors import TEXT, Sensor, SensorSpec
from nav_eval.simulator.motion import ASK, VELOCITY_CONTROL
from nav_eval.tasks import STOP, TASKS

LONGEST_TEXT = 1 << 20
"""Characters of a text that no episode tells beforehand, such as a scene's category names; none has as many."""


class AnyText(spaces.Text):
    """Text of any characters; those of the episodes are the ones that `sample` draws from."""

    def contains(self, x: Any) -> bool:  # noqa: ANN401 - Gymnasium's signature
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length


def make_observation_space(
    benchmark: BenchmarkConfig, episodes: Sequence[Episode], *, sensors: Sequence[str] | None = None
) -> spaces.Dict:
    """What the sensors of a benchmark deliver; only the named ones if any are named."""
    robots = sorted({benchmark.robot(episode.private.robot).name for episode in episodes})
    chosen = _choose_sensors(benchmark, robots[0], sensors)
    for robot in robots[1:]:  # they may be mounted differently, not built differently
        if _list_specs(_choose_sensors(benchmark, robot, sensors)) != _list_specs(chosen):
            raise ConfigError(
                f"The robots {robots[0]!r} and {robot!r} have different sensors; "
                "choose the episodes of one of them, or name the sensors that both have."
            )
    return spaces.Dict({name: make_sensor_space(name, sensor, episodes) for name, sensor in chosen.items()})


def make_sensor_space(name: str, sensor: Sensor, episodes: Sequence[Episode]) -> "spaces.Space[Any]":
    """The space of one sensor."""
    spec = sensor.fit_spec(name, episodes)
    if spec.dtype == TEXT:
        return _make_text_space(sensor.list_texts(episodes))
    low, high = (_fill_shape(bound, spec) for bound in sensor.bounds)
    return spaces.Box(low, high, spec.shape, np.dtype(spec.dtype).type)


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
            raise NoSuchAction(
                f"There is no action {action!r}; give 0 to {len(self.names) - 1}: {_list_names(self.names)}"
            )
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
        return VELOCITY_CONTROL, {"linear_velocity": linear * self._linear, "angular_velocity": angular * self._angular}

    def write(self, name: str, arguments: Mapping[str, float]) -> NDArray[np.float32]:
        if name == STOP:
            return np.array([0.0, 0.0, 1.0], np.float32)
        linear, angular = arguments["linear_velocity"] / self._linear, arguments["angular_velocity"] / self._angular
        return np.clip(np.array([linear, angular, 0.0], np.float32), self.space.low, self.space.high)


def make_action_reader(task: TaskConfig, *, control: str | None = None) -> ActionReader:
    """`discrete` or `velocity` control; by default what the task has, discrete where it has both."""
    if not TASKS.get(task.type).uses_motion:
        raise ConfigError(f"The task {task.type!r} is answered, not walked: make NavEval/Localization-v0.")
    discrete = [action.name for action in task.actions if action.name not in (VELOCITY_CONTROL, ASK)]
    velocity = task.action(VELOCITY_CONTROL)
    if control is None:
        control = "discrete" if velocity is None or set(discrete) - {STOP} else "velocity"
    if control == "discrete":
        return DiscreteActions(discrete)
    if control == "velocity" and velocity is not None:
        return VelocityActions(velocity.params)
    raise ConfigError(f"This task has no {control!r} control; it has {_list_names([a.name for a in task.actions])}")


def _choose_sensors(benchmark: BenchmarkConfig, robot: str, names: Sequence[str] | None) -> dict[str, Sensor]:
    suite = benchmark.sensors(robot)
    unknown = [name for name in names or () if name not in suite]
    if unknown:
        raise ConfigError(f"There is no sensor {unknown[0]!r} on {robot!r}; it has {', '.join(suite)}.")
    chosen = suite if names is None else {name: suite[name] for name in names}
    if not chosen:
        raise ConfigError("An environment without sensors has no observations; name at least one.")
    return chosen


def _list_specs(suite: Mapping[str, Sensor]) -> dict[str, SensorSpec]:
    return {name: sensor.spec for name, sensor in suite.items()}


def _make_text_space(texts: set[str] | None) -> AnyText:
    known = frozenset("".join(texts or ())) | frozenset(string.printable)
    longest = LONGEST_TEXT if texts is None else max(1, *map(len, texts | {""}))
    return AnyText(longest, min_length=0, charset=known)


def _fill_shape(bound: ArrayLike, spec: SensorSpec) -> NDArray[Any]:
    return np.broadcast_to(np.asarray(bound, spec.dtype), spec.shape).copy()


def _list_names(names: Sequence[str]) -> str:
    return f"{', '.join(names)}."
