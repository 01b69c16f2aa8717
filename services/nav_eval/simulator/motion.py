"""How actions move an agent, to the last bit the same everywhere.

Only + − × ÷ √ and comparisons touch a pose. The start direction comes out of the start quaternion by
algebra; a heading is the whole number of microdegrees turned since then, and its direction is the
start direction rotated by a tabulated cosine and sine (`nav_eval.scene.navigation.angles`). Turning
twelve times by 30° is therefore exactly no turn at all, and no error builds up along an episode.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from nav_eval.dataset.episode import Pose, Quaternion, Vec3
from nav_eval.errors import NavigationError, SimulatorError
from nav_eval.scene.navigation.angles import FULL_TURN, MICRODEGREES, microdegrees, unit_vector
from nav_eval.scene.navigation.ground import Ground

Direction = tuple[float, float]
Arguments = Mapping[str, float]

_NO_ARGUMENTS: Arguments = {}


class ActionRefused(SimulatorError):
    """An action is not part of the task, or its arguments are out of bounds; the message says which."""


class AgentState(NamedTuple):
    """Where an agent stands, which way it looks, and what it has bumped into."""

    position: Vec3
    start_forward: Direction
    """The unit direction (x, z) it faced at the start."""
    heading: int = 0
    """Microdegrees turned to the left since the start, in [0, 360°)."""
    tilt: int = 0
    """Microdegrees that the sensors look up."""
    collided: bool = False
    """Did the last action end at a wall?"""
    collisions: int = 0

    @property
    def forward(self) -> Direction:
        """The unit direction (x, z) it faces."""
        return turned(self.start_forward, self.heading)

    @property
    def rotation(self) -> Quaternion:
        """The rotation about the vertical axis; tilt belongs to the sensors."""
        return quaternion_of(self.forward)

    @property
    def pose(self) -> Pose:
        return Pose(position=self.position, rotation=self.rotation)

    @property
    def yaw(self) -> float:
        """Radians left of −Z in (−π, π], for sensors and pictures; nothing that scores reads it."""
        x, z = self.forward
        return math.atan2(-x, -z)


def forward_of(rotation: Quaternion) -> Direction:
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


def quaternion_of(forward: Direction) -> Quaternion:
    """The rotation about the vertical axis that faces this unit direction."""
    sine, cosine = -forward[0], -forward[1]
    if cosine >= 0.0:  # the half angle from the larger of the two squares, which loses no digits
        w = math.sqrt((1.0 + cosine) / 2.0)
        return (0.0, sine / (2.0 * w), 0.0, w)
    y = math.sqrt((1.0 - cosine) / 2.0)
    return (0.0, y, 0.0, sine / (2.0 * y))


@lru_cache(maxsize=1 << 14)
def turned(forward: Direction, heading: int) -> Direction:
    """The direction after a turn to the left by this many microdegrees."""
    cosine, sine = unit_vector(heading)
    return (cosine * forward[0] + sine * forward[1], cosine * forward[1] - sine * forward[0])


def placed(ground: Ground, pose: Pose) -> AgentState:
    """The agent at the start of an episode: where the pose says, or on the nearest ground to it."""
    position = pose.position if ground.is_navigable(pose.position) else ground.snap_point(pose.position)
    if position is None:
        raise NavigationError(
            f"Start position {list(pose.position)} has no ground nearby; "
            "check the scene, its up axis and the agent's size."
        )
    return AgentState(position, forward_of(pose.rotation))


class Effect(StrEnum):
    STOP = "stop"  #: ends something; the body does not move
    MOVE = "move"  #: metres along the heading
    TURN = "turn"  #: microdegrees to the left
    LOOK = "look"  #: microdegrees up


ARGUMENT_NAMES = {Effect.MOVE: "step_size", Effect.TURN: "turn_angle", Effect.LOOK: "tilt_angle"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionRule:
    """What one action does to the body."""

    effect: Effect
    amount: float = 0.0  #: metres or degrees, as the task states it
    sign: int = 1  #: −1 for right, down and backwards
    largest: float | None = None  #: an agent may ask for its own amount up to this; None: it may not


def standard_actions(
    *, step_size: float = 0.25, turn_angle: float = 15.0, tilt_angle: float = 15.0
) -> dict[str, ActionRule]:
    """The six discrete actions of the field."""
    return {
        "stop": ActionRule(effect=Effect.STOP),
        "move_forward": ActionRule(effect=Effect.MOVE, amount=step_size),
        "turn_left": ActionRule(effect=Effect.TURN, amount=turn_angle),
        "turn_right": ActionRule(effect=Effect.TURN, amount=turn_angle, sign=-1),
        "look_up": ActionRule(effect=Effect.LOOK, amount=tilt_angle),
        "look_down": ActionRule(effect=Effect.LOOK, amount=tilt_angle, sign=-1),
    }


class DiscreteMotion:
    """Named actions with fixed amounts; the body is a point on ground that already knows its radius."""

    def __init__(
        self, ground: Ground, actions: Mapping[str, ActionRule], *, sliding: bool = True, max_tilt: float = 90.0
    ) -> None:
        self.ground = ground
        self.actions = dict(actions)
        self.sliding = sliding
        self._max_tilt = microdegrees(max_tilt)
        self._amounts = {name: _amount(rule, rule.amount) for name, rule in self.actions.items()}

    def start(self, pose: Pose) -> AgentState:
        return placed(self.ground, pose)

    def apply(self, state: AgentState, action: str, arguments: Arguments = _NO_ARGUMENTS) -> AgentState:
        """The state after one action."""
        rule = self.actions.get(action)
        if rule is None:
            raise ActionRefused(f"Action {action!r} is not part of this task; it has {', '.join(self.actions)}.")
        amount = self._asked_for(action, rule, arguments) if arguments else self._amounts[action]
        if rule.effect is Effect.MOVE:
            return moved(self.ground, state, amount, sliding=self.sliding)
        if rule.effect is Effect.TURN:
            return state._replace(heading=(state.heading + int(amount)) % FULL_TURN, collided=False)
        if rule.effect is Effect.LOOK:
            tilt = max(-self._max_tilt, min(self._max_tilt, state.tilt + int(amount)))
            return state._replace(tilt=tilt, collided=False)
        return state._replace(collided=False)

    def _asked_for(self, action: str, rule: ActionRule, arguments: Arguments) -> float:
        name = ARGUMENT_NAMES.get(rule.effect)
        unknown = sorted(set(arguments) - {name})
        if unknown or name is None:
            raise ActionRefused(f"Action {action!r} has no argument {', '.join(map(repr, unknown))}.")
        if rule.largest is None:
            raise ActionRefused(f"Action {action!r} takes no arguments in this task; leave out {name!r}.")
        value = arguments[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= rule.largest:
            raise ActionRefused(f"{name}={value!r} of action {action!r} must be above 0 and at most {rule.largest}.")
        return _amount(rule, float(value))


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
        return placed(self.ground, pose)

    def apply(self, state: AgentState, *, linear: float, angular: float, seconds: float) -> AgentState:
        """The state after `seconds` at `linear` m/s forward and `angular` degrees/s to the left."""
        self._check("linear", linear, self.max_linear)
        self._check("angular", angular, self.max_angular)
        if not (math.isfinite(seconds) and seconds > 0.0):
            raise ActionRefused(f"A velocity is held for {seconds!r} seconds; it must be above 0.")
        turn = microdegrees(angular * seconds)
        half = state._replace(heading=(state.heading + turn // 2) % FULL_TURN)
        after = moved(self.ground, half, linear * seconds, sliding=self.sliding)
        return after._replace(heading=(state.heading + turn) % FULL_TURN)

    @staticmethod
    def _check(name: str, value: float, largest: float) -> None:
        if not -largest <= value <= largest:
            raise ActionRefused(f"{name} velocity {value!r} must be between {-largest} and {largest}.")


def moved(ground: Ground, state: AgentState, metres: float, *, sliding: bool) -> AgentState:
    """One step straight on, as far as the ground allows."""
    start = state.position
    x, z = turned(state.start_forward, state.heading)
    end = (start[0] + metres * x, start[1], start[2] + metres * z)
    position, collided = ground.try_step(start, end, sliding=sliding)
    return AgentState(
        position, state.start_forward, state.heading, state.tilt, collided, state.collisions + int(collided)
    )


def _amount(rule: ActionRule, amount: float) -> float:
    """Signed metres, or signed whole microdegrees."""
    if rule.effect in (Effect.TURN, Effect.LOOK):
        return rule.sign * microdegrees(amount)
    return rule.sign * amount


__all__ = [
    "ARGUMENT_NAMES",
    "MICRODEGREES",
    "ActionRefused",
    "ActionRule",
    "AgentState",
    "DiscreteMotion",
    "Effect",
    "VelocityMotion",
    "forward_of",
    "moved",
    "placed",
    "quaternion_of",
    "standard_actions",
    "turned",
]
