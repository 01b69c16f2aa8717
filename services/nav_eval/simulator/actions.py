"""From the action space of a task to a moving body."""

import math
from collections.abc import Mapping

from nav_eval.config.schema import ActionConfig, TaskConfig
from nav_eval.dataset.episode import Pose
from nav_eval.errors import ConfigError
from nav_eval.scene.navigation import Ground
from nav_eval.simulator.motion import (
    ActionRefused,
    ActionRule,
    AgentState,
    DiscreteMotion,
    Effect,
    VelocityMotion,
    placed,
)

VELOCITY_CONTROL = "velocity_control"
_EFFECTS = {
    "stop": (Effect.STOP, None, 1),
    "move_forward": (Effect.MOVE, "step_size", 1),
    "turn_left": (Effect.TURN, "turn_angle", 1),
    "turn_right": (Effect.TURN, "turn_angle", -1),
    "look_up": (Effect.LOOK, "tilt_angle", 1),
    "look_down": (Effect.LOOK, "tilt_angle", -1),
}


class Body:
    """What an agent steers: the actions of a task on some ground."""

    def __init__(self, task: TaskConfig, ground: Ground, *, sliding: bool) -> None:
        self._task = task
        self._ground = ground
        discrete = [action for action in task.actions if action.name != VELOCITY_CONTROL]
        self._discrete = DiscreteMotion(ground, {action.name: _rule(action) for action in discrete}, sliding=sliding)
        self._velocity = task.action(VELOCITY_CONTROL)
        self._sliding = sliding

    def start(self, pose: Pose) -> AgentState:
        return placed(self._ground, pose)

    def apply(self, state: AgentState, action: str, arguments: Mapping[str, float]) -> AgentState:
        """The state after an action; refuses what the task does not have or does not allow."""
        if action == VELOCITY_CONTROL and self._velocity is not None:
            return self._apply_velocity(state, self._velocity, arguments)
        if arguments:
            self._check(action, arguments)
        return self._discrete.apply(state, action, arguments)

    def _check(self, action: str, arguments: Mapping[str, float]) -> None:
        if not all(_is_number(value) for value in arguments.values()):
            raise ActionRefused(f"{action} came with action_args that are not finite numbers: {dict(arguments)}.")
        try:
            self._task.action_params(action, arguments)
        except ValueError as error:
            raise ActionRefused(str(error)) from error

    def _apply_velocity(self, state: AgentState, config: ActionConfig, arguments: Mapping[str, float]) -> AgentState:
        unknown = sorted(set(arguments) - {"linear_velocity", "angular_velocity"})
        if unknown:
            raise ActionRefused(f"velocity_control takes linear_velocity and angular_velocity, not {unknown[0]!r}.")
        linear, angular = arguments.get("linear_velocity", 0.0), arguments.get("angular_velocity", 0.0)
        if not (_is_number(linear) and _is_number(angular)):
            raise ActionRefused("velocity_control came with a velocity that is not a finite number.")
        motion = VelocityMotion(
            self._ground,
            max_linear=config.params["max_linear_speed"],
            max_angular=config.params["max_angular_speed"],
            sliding=self._sliding,
        )
        return motion.apply(state, linear=linear, angular=angular, seconds=config.params["time_step"])


def _rule(action: ActionConfig) -> ActionRule:
    if action.name not in _EFFECTS:
        raise ConfigError(
            f"The simulator has no action {action.name!r}; it has {', '.join(_EFFECTS)}, {VELOCITY_CONTROL}."
        )
    effect, parameter, sign = _EFFECTS[action.name]
    if parameter is None:
        return ActionRule(effect=effect)
    largest = action.bounds[parameter][1] if parameter in action.bounds else None
    return ActionRule(effect=effect, amount=action.params[parameter], sign=sign, largest=largest)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
