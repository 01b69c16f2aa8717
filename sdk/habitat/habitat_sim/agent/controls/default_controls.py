"""The actions of the field: moving, turning, looking."""

import math
from functools import lru_cache
from typing import Any

from habitat_sim.agent.controls.controls import ActuationSpec, SceneNodeControl
from habitat_sim.registry import registry
from habitat_sim.scene_graph import SceneNode, normalize
from magnum.quaternions import Numbers, multiply, rotate

_X, _Y, _Z = 0, 1, 2
_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_ALONE = 1e-3  #: how far the axis of a constrained look may be off its own


def _move_along(node: SceneNode, metres: float, axis: int) -> None:
    a, b, c = rotate(node.turn, _AXES[axis])
    x, y, z = node.place
    node.place = (x + a * metres, y + b * metres, z + c * metres)


def _turn_about(node: SceneNode, degrees: float, axis: int, constraint: float | None = None) -> None:
    if constraint is not None:
        degrees = _limit(node, degrees, axis, constraint)
    node.turn = normalize(multiply(node.turn, _make_turn(degrees, axis)))


@lru_cache(maxsize=1024)
def _make_turn(degrees: float, axis: int) -> Numbers:
    half = math.radians(degrees) / 2
    sine = math.sin(half)
    x, y, z = _AXES[axis]
    return (x * sine, y * sine, z * sine, math.cos(half))


def _limit(node: SceneNode, degrees: float, axis: int, constraint: float) -> float:
    """What is left of a look when it must stay within ±constraint degrees."""
    x, y, z, w = node.turn
    length = math.sqrt(x * x + y * y + z * z)
    if abs(w) < 1.0 and length > 0.0 and 1.0 - abs(node.turn[axis]) / length > _ALONE:
        raise RuntimeError("A constrained look works for one kind of look only: up and down, or left and right.")
    ahead = rotate(node.turn, (0.0, 0.0, -1.0))
    angle = math.degrees(math.atan2(ahead[1], -ahead[2]) if axis == _X else -math.atan2(ahead[0], -ahead[2]))
    return max(-constraint, min(constraint, angle + degrees)) - angle


def _register_move(name: str, *, axis: int, sign: int, body: bool) -> type[SceneNodeControl]:
    class Move(SceneNodeControl):
        def __call__(self, scene_node: Any, actuation_spec: ActuationSpec) -> None:
            _move_along(scene_node, sign * actuation_spec.amount, axis)

    registry.register_move_fn(Move, name=name, body_action=body)
    return Move


def _register_turn(*names: str, axis: int, sign: int) -> type[SceneNodeControl]:
    class Turn(SceneNodeControl):
        def __call__(self, scene_node: Any, actuation_spec: ActuationSpec) -> None:
            _turn_about(scene_node, sign * actuation_spec.amount, axis, actuation_spec.constraint)

    for name in names:
        registry.register_move_fn(Turn, name=name, body_action=name.startswith("turn"))
    return Turn


MoveBackward = _register_move("move_backward", axis=_Z, sign=1, body=True)
MoveForward = _register_move("move_forward", axis=_Z, sign=-1, body=True)
MoveRight = _register_move("move_right", axis=_X, sign=1, body=True)
MoveLeft = _register_move("move_left", axis=_X, sign=-1, body=True)
MoveUp = _register_move("move_up", axis=_Y, sign=1, body=False)
MoveDown = _register_move("move_down", axis=_Y, sign=-1, body=False)
LookLeft = _register_turn("look_left", "turn_left", axis=_Y, sign=1)
LookRight = _register_turn("look_right", "turn_right", axis=_Y, sign=-1)
LookUp = _register_turn("look_up", axis=_X, sign=1)
LookDown = _register_turn("look_down", axis=_X, sign=-1)
RotateSensorClockwise = _register_turn("rotate_sensor_clockwise", axis=_Z, sign=1)
RotateSensorAntiClockwise = _register_turn("rotate_sensor_anti_clockwise", axis=_Z, sign=-1)
