"""Actions and poses as vectors of numbers, which is what learning libraries want.

One definition for everybody: what an export writes as `action` and `observation.state` is what the LeRobot
wrapper takes and gives, so a policy trained on the one can be run on the other.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nav_eval.config.schema import ActionConfig, TaskConfig
from nav_eval.errors import ConfigError

STATE_NAMES = ("forward_m", "left_m", "up_m", "yaw_rad")
"""A pose in the frame of the first one: x forward, y left, z up, yaw to the left."""

FORWARD, YAW, STOP, TILT = "forward_m", "yaw_rad", "stop", "tilt_rad"
VELOCITY = "velocity_control"
ANSWER = "answer"  #: in words, after a walk: ends the episode as a stop does
#: action → which number it sets, by which parameter, with which sign
_EFFECTS = {
    "move_forward": (FORWARD, "step_size", 1.0),
    "turn_left": (YAW, "turn_angle", 1.0),
    "turn_right": (YAW, "turn_angle", -1.0),
    "look_up": (TILT, "tilt_angle", 1.0),
    "look_down": (TILT, "tilt_angle", -1.0),
}


class ActionVectors:
    """The actions of a task as (metres forward, radians to the left, stop[, radians up])."""

    def __init__(self, task: TaskConfig) -> None:
        self._actions = {action.name: action for action in task.actions}
        unknown = [name for name in self._actions if name not in {*_EFFECTS, VELOCITY, STOP}]
        if unknown:
            raise ConfigError(f"The action {unknown[0]!r} has no form as metres and radians; leave it out of the task.")
        tilts = any(_EFFECTS.get(name, (None,))[0] == TILT for name in self._actions)
        self.names: tuple[str, ...] = (FORWARD, YAW, STOP, TILT) if tilts else (FORWARD, YAW, STOP)
        self._index = {name: number for number, name in enumerate(self._actions)}
        self._known = {name: self.encode(name, {}) for name in self._actions if name != VELOCITY}
        self.limits = self._limits()

    @property
    def action_names(self) -> tuple[str, ...]:
        """In the order of their indices."""
        return tuple(self._actions)

    def index(self, action: str) -> int:
        """The number of an action in the task."""
        return self._index[STOP if action == ANSWER else action]

    def encode(self, action: str, arguments: Mapping[str, float]) -> NDArray[np.float32]:
        """An action as a vector."""
        config = self._actions[STOP if action == ANSWER else action]
        vector = dict.fromkeys(self.names, 0.0)
        if action == VELOCITY:
            seconds = config.params["time_step"]
            vector[FORWARD] = arguments.get("linear_velocity", 0.0) * seconds
            vector[YAW] = math.radians(arguments.get("angular_velocity", 0.0) * seconds)
        elif action in (STOP, ANSWER):
            vector[STOP] = 1.0
        else:
            name, parameter, sign = _EFFECTS[action]
            amount = sign * arguments.get(parameter, config.params[parameter])
            vector[name] = amount if name == FORWARD else math.radians(amount)
        return np.array(list(vector.values()), np.float32)

    def decode(self, vector: ArrayLike) -> tuple[str, dict[str, float]]:
        """The action that is nearest to a vector, each number measured in the task's own steps."""
        given = np.asarray(vector, np.float32).reshape(len(self.names))
        config = self._actions.get(VELOCITY)
        if config is not None:
            return self._velocity(config, dict(zip(self.names, given.tolist(), strict=True)))
        off = {name: float(np.sum(((given - known) / self.limits) ** 2)) for name, known in self._known.items()}
        return min(off, key=lambda name: off[name]), {}

    def _velocity(self, config: ActionConfig, asked: Mapping[str, float]) -> tuple[str, dict[str, float]]:
        if asked[STOP] > 0.5:
            return STOP, {}
        params, seconds = config.params, config.params["time_step"]
        linear, angular = asked[FORWARD] / seconds, math.degrees(asked[YAW]) / seconds
        return VELOCITY, {
            "linear_velocity": _clamp(linear, params["max_linear_speed"]),
            "angular_velocity": _clamp(angular, params["max_angular_speed"]),
        }

    def _limits(self) -> NDArray[np.float32]:
        """The largest size of each number; 1 where the task cannot change it."""
        rows = list(self._known.values())
        if VELOCITY in self._actions:
            params = self._actions[VELOCITY].params
            fastest = {"linear_velocity": params["max_linear_speed"], "angular_velocity": params["max_angular_speed"]}
            rows.append(self.encode(VELOCITY, fastest))
        largest = np.max(np.abs(np.stack(rows)), axis=0)
        return np.where(largest > 0, largest, np.float32(1.0)).astype(np.float32)


def compute_relative_states(positions: Sequence[Sequence[float]], yaws: Sequence[float]) -> NDArray[np.float32]:
    """Poses of one episode in the frame of its first, one row of `STATE_NAMES` each."""
    offset = np.asarray(positions, np.float64).reshape(-1, 3)
    angles = np.asarray(yaws, np.float64)
    offset = offset - offset[0]
    sine, cosine = math.sin(angles[0]), math.cos(angles[0])
    forward = -sine * offset[:, 0] - cosine * offset[:, 2]
    left = -cosine * offset[:, 0] + sine * offset[:, 2]
    turned: NDArray[Any] = np.arctan2(np.sin(angles - angles[0]), np.cos(angles - angles[0]))
    return np.stack([forward, left, offset[:, 1], turned], axis=1).astype(np.float32)


def _clamp(value: float, largest: float) -> float:
    return max(-largest, min(largest, value))
