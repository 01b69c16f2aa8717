"""Points that models answer with, as actions of the task.

Models count as robots do: x ahead, y to the left, in metres. The local controller's turns and steps along the points
are the answer, as many as the model's loop carries out before it is asked again.
"""

import math
from collections.abc import Sequence

from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.messages import Action, MotionSpec, TaskInterface
from nav_eval.errors import ConfigError
from nav_eval.simulator.controller import BodyPoint, plan_actions

MAX_POINTS = 1000
MAX_METRES = 1000.0

__all__ = ["BodyPoint", "decode_points", "make_walk"]


def decode_points(rows: object) -> list[BodyPoint]:
    """The points of `[[x, y, …], …]`; a batch of one trajectory is that trajectory."""
    if isinstance(rows, list) and len(rows) == 1 and _is_table(rows[0]):
        rows = rows[0]
    if not isinstance(rows, list) or len(rows) > MAX_POINTS:
        raise ProtocolError("A trajectory is a list of points [x, y, …], in metres ahead and to the left.")
    return [_decode_point(row) for row in rows]


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _decode_point(row: object) -> BodyPoint:
    if not isinstance(row, list) or len(row) < 2 or not all(_is_length(number) for number in row[:2]):
        raise ProtocolError(
            f"A trajectory has the point {row!r:.60}; it is [x, y, …], in metres ahead and to the left."
        )
    return BodyPoint(forward=float(row[0]), left=float(row[1]))


def _is_length(number: object) -> bool:
    return (
        isinstance(number, int | float)
        and not isinstance(number, bool)
        and math.isfinite(number)
        and abs(number) <= MAX_METRES
    )


def make_walk(points: Sequence[BodyPoint], *, task: TaskInterface, limit: int) -> list[Action]:
    """The first actions along the points; a model that points to where it stands has arrived."""
    step, turn = _get_motion(task, "move_forward"), _get_motion(task, "turn_left")
    names = plan_actions(points, step_size=step.forward_metres, turn_angle=turn.left_degrees, limit=limit)
    return [Action(name=name) for name in names] or [Action(name="stop")]


def _get_motion(task: TaskInterface, name: str) -> MotionSpec:
    spec = task.actions.get(name)
    if spec is None or spec.motion is None:
        raise ConfigError(f"Points are walked to with turns and steps, and this task has no {name!r}.")
    return spec.motion
