"""How actions move an agent, to the last bit the same everywhere.

Only + − × ÷ √ and comparisons touch a pose. The start direction comes out of the start quaternion by
algebra; a heading is the whole number of microdegrees turned since then, and its direction is the
start direction rotated by a tabulated cosine and sine (`nav_eval.records.geometry`). Turning
twelve times by 30° is therefore exactly no turn at all, and no error builds up along an episode.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from nav_eval.config.schema import ActionConfig, TaskConfig
from nav_eval.config.schema.task import GOALS
from nav_eval.errors import ConfigError, NavigationMeshError, SimulatorError
from nav_eval.records.geometry import FULL_TURN, Pose, Quaternion, Vec3, get_unit_vector, to_microdegrees
from nav_eval.scene.navigation.ground import Ground

Direction = tuple[float, float]
Arguments = Mapping[str, float]

NO_ARGUMENTS: Arguments = {}


class ActionRefused(SimulatorError):
    """An action is not part of the task, or its arguments are out of bounds; the message says which."""


class AgentState(NamedTuple):
    """Where an agent stands, which way it looks, and what it has bumped into."""

    position: Vec3
    start_forward: Direction  #: the unit direction (x, z) it faced at the start
    heading: int = 0  #: microdegrees turned to the left since the start, in [0, 360°)
    tilt: int = 0  #: microdegrees that the sensors look up
    collided: bool = False  #: did the last action end at a wall?
    collisions: int = 0

    @property
    def forward(self) -> Direction:
        """The unit direction (x, z) it faces."""
        return turn_direction(self.start_forward, self.heading)

    @property
    def rotation(self) -> Quaternion:
        """The rotation about the vertical axis; tilt belongs to the sensors."""
        return to_quaternion(self.forward)

    @property
    def pose(self) -> Pose:
        return Pose(position=self.position, rotation=self.rotation)

    @property
    def yaw(self) -> float:
        """Radians left of −Z in (−π, π], for sensors and pictures; nothing that scores reads it."""
        x, z = self.forward
        return math.atan2(-x, -z)


def to_forward(rotation: Quaternion) -> Direction:
    """The horizontal unit direction (x, z) that a rotation faces."""
    x, y, z, w = rotation
    along_x, along_z = -2.0 * (x * z + w * y), -(w * w - x * x - y * y + z * z)
    squared = along_x * along_x + along_z * along_z
    norm = x * x + y * y + z * z + w * w
    if not (math.isfinite(norm) and squared > 1e-12 * norm * norm):
        raise SimulatorError(
            f"Rotation {list(rotation)} faces no horizontal direction; give a unit quaternion x y z w."
        )
    length = math.sqrt(squared)
    return (along_x / length, along_z / length)


def to_quaternion(forward: Direction) -> Quaternion:
    """The rotation about the vertical axis that faces this unit direction."""
    sine, cosine = -forward[0], -forward[1]
    if cosine >= 0.0:  # the half angle from the larger of the two squares, which loses no digits
        w = math.sqrt((1.0 + cosine) / 2.0)
        return (0.0, sine / (2.0 * w), 0.0, w)
    y = math.sqrt((1.0 - cosine) / 2.0)
    return (0.0, y, 0.0, sine / (2.0 * y))


@lru_cache(maxsize=1 << 14)
def turn_direction(forward: Direction, heading: int) -> Direction:
    """The direction after a turn to the left by this many microdegrees."""
    cosine, sine = get_unit_vector(heading)
    return (cosine * forward[0] + sine * forward[1], cosine * forward[1] - sine * forward[0])


def place_agent(ground: Ground, pose: Pose) -> AgentState:
    """The agent at the start of an episode: where the pose says, or on the nearest ground to it."""
    position = pose.position if ground.is_navigable(pose.position) else ground.snap_point(pose.position)
    if position is None:
        raise NavigationMeshError(
            f"Start position {list(pose.position)} has no ground nearby; "
            "check the scene, its up axis and the agent's size."
        )
    return AgentState(position, to_forward(pose.rotation))


class Effect(StrEnum):
    STOP = "stop"  #: ends something; the body does not move
    MOVE = "move"  #: metres along the heading
    TURN = "turn"  #: microdegrees to the left
    LOOK = "look"  #: microdegrees up


MAX_TILT = 90.0  #: degrees that looks may add up to, either way

ARGUMENT_NAMES = {Effect.MOVE: "step_size", Effect.TURN: "turn_angle", Effect.LOOK: "tilt_angle"}

#: what the discrete actions of the field do: −1 is right, down and backwards
_EFFECTS = {
    "stop": (Effect.STOP, 1),
    "move_forward": (Effect.MOVE, 1),
    "turn_left": (Effect.TURN, 1),
    "turn_right": (Effect.TURN, -1),
    "look_up": (Effect.LOOK, 1),
    "look_down": (Effect.LOOK, -1),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionRule:
    """What one action does to the body."""

    effect: Effect
    amount: float = 0.0  #: metres or degrees, as the task states it
    sign: int = 1  #: −1 for right, down and backwards
    largest: float | None = None  #: an agent may ask for its own amount up to this; None: it may not


def make_standard_actions(
    *, step_size: float = 0.25, turn_angle: float = 15.0, tilt_angle: float = 15.0
) -> dict[str, ActionRule]:
    """The six discrete actions of the field."""
    amounts = {Effect.STOP: 0.0, Effect.MOVE: step_size, Effect.TURN: turn_angle, Effect.LOOK: tilt_angle}
    return {
        name: ActionRule(effect=effect, amount=amounts[effect], sign=sign) for name, (effect, sign) in _EFFECTS.items()
    }


class DiscreteMotion:
    """Named actions with fixed amounts; the body is a point on ground that already knows its radius."""

    def __init__(
        self, ground: Ground, actions: Mapping[str, ActionRule], *, sliding: bool = True, max_tilt: float = MAX_TILT
    ) -> None:
        self.ground = ground
        self.actions = dict(actions)
        self.sliding = sliding
        self._max_tilt = to_microdegrees(max_tilt)
        self._amounts = {name: _compute_amount(rule, rule.amount) for name, rule in self.actions.items()}

    def start(self, pose: Pose) -> AgentState:
        return place_agent(self.ground, pose)

    def apply(self, state: AgentState, action: str, arguments: Arguments = NO_ARGUMENTS) -> AgentState:
        """The state after one action."""
        rule = self.actions.get(action)
        if rule is None:
            raise ActionRefused(f"Action {action!r} is not part of this task; it has {', '.join(self.actions)}.")
        amount = self._get_amount(action, rule, arguments) if arguments else self._amounts[action]
        if rule.effect is Effect.MOVE:
            return move_agent(self.ground, state, amount, sliding=self.sliding)
        if rule.effect is Effect.TURN:
            return state._replace(heading=(state.heading + int(amount)) % FULL_TURN, collided=False)
        if rule.effect is Effect.LOOK:
            tilt = max(-self._max_tilt, min(self._max_tilt, state.tilt + int(amount)))
            return state._replace(tilt=tilt, collided=False)
        return state._replace(collided=False)

    def _get_amount(self, action: str, rule: ActionRule, arguments: Arguments) -> float:
        name = ARGUMENT_NAMES.get(rule.effect)
        unknown = sorted(set(arguments) - {name})
        if unknown or name is None:
            raise ActionRefused(f"Action {action!r} has no argument {', '.join(map(repr, unknown))}.")
        if rule.largest is None:
            raise ActionRefused(f"Action {action!r} takes no arguments in this task; leave out {name!r}.")
        value = arguments[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= rule.largest:
            raise ActionRefused(f"{name}={value!r} of action {action!r} must be above 0 and at most {rule.largest}.")
        return _compute_amount(rule, float(value))


class VelocityMotion:
    """Continuous control: a forward speed and a turn rate, held for a while.

    The body moves along the chord of the arc: turned by half the angle, straight on, turned by the rest.
    """

    def __init__(
        self, ground: Ground, *, max_linear: float = 1.0, max_angular: float = 90.0, sliding: bool = True
    ) -> None:
        self.ground = ground
        self.max_linear = max_linear
        self.max_angular = max_angular
        self.sliding = sliding

    def start(self, pose: Pose) -> AgentState:
        return place_agent(self.ground, pose)

    def apply(self, state: AgentState, *, linear: float, angular: float, seconds: float) -> AgentState:
        """The state after `seconds` at `linear` m/s forward and `angular` degrees/s to the left."""
        self._check("linear", linear, self.max_linear)
        self._check("angular", angular, self.max_angular)
        if not (math.isfinite(seconds) and seconds > 0.0):
            raise ActionRefused(f"A velocity is held for {seconds!r} seconds; it must be above 0.")
        turn = to_microdegrees(angular * seconds)
        half = state._replace(heading=(state.heading + turn // 2) % FULL_TURN)
        after = move_agent(self.ground, half, linear * seconds, sliding=self.sliding)
        return after._replace(heading=(state.heading + turn) % FULL_TURN)

    @staticmethod
    def _check(name: str, value: float, largest: float) -> None:
        if not -largest <= value <= largest:
            raise ActionRefused(f"{name} velocity {value!r} must be between {-largest} and {largest}.")


def move_agent(ground: Ground, state: AgentState, metres: float, *, sliding: bool) -> AgentState:
    """One step straight on, as far as the ground allows."""
    start = state.position
    x, z = turn_direction(state.start_forward, state.heading)
    end = (start[0] + metres * x, start[1], start[2] + metres * z)
    position, collided = ground.try_step(start, end, sliding=sliding)
    return AgentState(
        position, state.start_forward, state.heading, state.tilt, collided, state.collisions + int(collided)
    )


def _compute_amount(rule: ActionRule, amount: float) -> float:
    """Signed metres, or signed whole microdegrees."""
    if rule.effect in (Effect.TURN, Effect.LOOK):
        return rule.sign * to_microdegrees(amount)
    return rule.sign * amount


VELOCITY_CONTROL = "velocity_control"
TELEPORT = "teleport"
ASK = "ask"  #: a question to the informant: the body stays where it is


class Body:
    """What an agent steers: the actions of a task on some ground."""

    def __init__(self, task: TaskConfig, ground: Ground, *, sliding: bool) -> None:
        self._task = task
        self._ground = ground
        special = {VELOCITY_CONTROL, TELEPORT, ASK, *GOALS}
        discrete = [action for action in task.actions if action.name not in special]
        self._discrete = DiscreteMotion(
            ground, {action.name: _make_rule(action) for action in discrete}, sliding=sliding
        )
        self._velocity = task.action(VELOCITY_CONTROL)
        self._teleport = task.action(TELEPORT)
        self._sliding = sliding

    def start(self, pose: Pose) -> AgentState:
        return place_agent(self._ground, pose)

    def apply(self, state: AgentState, action: str, arguments: Mapping[str, float]) -> AgentState:
        """The state after an action; refuses what the task does not have or does not allow."""
        if action == VELOCITY_CONTROL and self._velocity is not None:
            return self._apply_velocity(state, self._velocity, arguments)
        if action == TELEPORT and self._teleport is not None:
            return self._apply_teleport(state, self._teleport, arguments)
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

    def _apply_teleport(self, state: AgentState, config: ActionConfig, arguments: Mapping[str, float]) -> AgentState:
        """The agent at a place that it names by metres ahead and to the left, if one can stand there."""
        if set(arguments) - {"forward", "left"} or not all(_is_number(value) for value in arguments.values()):
            raise ActionRefused("teleport takes forward and left, two finite numbers of metres.")
        forward, left = arguments.get("forward", 0.0), arguments.get("left", 0.0)
        if forward * forward + left * left > config.params["max_distance"] ** 2:
            raise ActionRefused(f"teleport goes no farther than {config.params['max_distance']:g} m.")
        (x, y, z), (ahead_x, ahead_z) = state.position, state.forward
        place = (x + forward * ahead_x + left * ahead_z, y, z + forward * ahead_z - left * ahead_x)
        position = self._ground.snap_point(place) if self._ground.is_navigable(place) else None
        if position is None or self._ground.island(position) != self._ground.island(state.position):
            raise ActionRefused(f"Nobody can stand {forward:g} m ahead and {left:g} m to the left of here.")
        return state._replace(position=position, collided=False)

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


def _make_rule(action: ActionConfig) -> ActionRule:
    if action.name not in _EFFECTS:
        raise ConfigError(
            f"The simulator has no action {action.name!r}; it has {', '.join(_EFFECTS)}, {VELOCITY_CONTROL}."
        )
    effect, sign = _EFFECTS[action.name]
    parameter = ARGUMENT_NAMES.get(effect)
    if parameter is None:
        return ActionRule(effect=effect)
    largest = action.bounds[parameter][1] if parameter in action.bounds else None
    return ActionRule(effect=effect, amount=action.params[parameter], sign=sign, largest=largest)


def get_motion(action: ActionConfig) -> dict[str, float] | None:
    """What one such action does, as agents are told; None for those that do not move the body, or that are not ours."""
    if action.name not in _EFFECTS:
        return None
    rule = _make_rule(action)
    told = {Effect.MOVE: "forward_metres", Effect.TURN: "left_degrees", Effect.LOOK: "up_degrees"}.get(rule.effect)
    return None if told is None else {told: rule.sign * rule.amount}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
