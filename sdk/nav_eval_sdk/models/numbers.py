"""Whole numbers that models answer with, as actions; and points, as turns and steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from nav_eval_sdk.agent import Task
from nav_eval_sdk.errors import BadAnswer

ACTION_NAMES = ("stop", "move_forward", "turn_left", "turn_right", "look_up", "look_down")


def name_actions(numbers: Iterable[Any]) -> list[str]:
    """The names of Habitat's discrete actions; none at all means that there is nothing more to do: stop."""
    return [_name_action(number) for number in numbers] or ["stop"]


def _name_action(number: Any) -> str:  # noqa: ANN401
    try:
        index = int(number)
    except (TypeError, ValueError, OverflowError):
        raise BadAnswer(f"The model answered {number!r:.60}; its actions are whole numbers.") from None
    if index != number or not 0 <= index < len(ACTION_NAMES):
        raise BadAnswer(f"The model answered action {number!r:.60}; known are 0 to {len(ACTION_NAMES) - 1}.")
    return ACTION_NAMES[index]


def plan_walk(points: Sequence[Sequence[float]], task: Task, *, limit: int) -> list[str]:
    """The first turns and steps along points (x ahead, y left, metres) where nothing is in the way.

    As the evaluator's controller `turn_then_go` decides: turn towards a point that is farther to the side than half a
    turn, otherwise step; closer than half a step is there. Pointing to where one stands means stop.
    """
    step = task.motions["move_forward"].forward_metres
    turn = math.radians(task.motions["turn_left"].left_degrees)
    x = y = 0.0
    turns = 0
    actions: list[str] = []
    for target_x, target_y in ((float(point[0]), float(point[1])) for point in points):
        while len(actions) < limit and math.hypot(target_x - x, target_y - y) > step / 2:
            heading = turns * turn
            side = math.remainder(math.atan2(target_y - y, target_x - x) - heading, 2 * math.pi)
            if abs(side) > turn / 2 + 1e-9:
                turns += 1 if side > 0 else -1
                actions.append("turn_left" if side > 0 else "turn_right")
            else:
                x, y = x + step * math.cos(heading), y + step * math.sin(heading)
                actions.append("move_forward")
    return actions or ["stop"]
