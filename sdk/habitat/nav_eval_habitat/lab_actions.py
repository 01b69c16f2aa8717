"""What an agent of habitat-lab's answers, as an action of ours."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nav_eval.errors import NavEvalError

ORDER = ("stop", "move_forward", "turn_left", "turn_right", "look_up", "look_down")
"""What numbers mean, as far as a task has them."""
VELOCITY = "velocity_control"
_SLOWEST = {"linear_velocity": 0.1, "angular_velocity": 0.1}  #: of the range; slower in both is a stop


class UnknownAnswer(NavEvalError):
    """The agent answered something that is no action; the message shows it."""


def translate_action(answer: Any, task: Any) -> dict[str, Any]:
    """By name or number, alone or in a dictionary, with arguments or without."""
    if isinstance(answer, Mapping):
        name, arguments = answer.get("action"), answer.get("action_args") or {}
    else:
        name, arguments = answer, {}
    if isinstance(name, tuple | list) and len(name) == 1:
        name = name[0]
    named = _name_action(name, task)
    if named == VELOCITY:
        return _translate_velocity(arguments, task)
    return {"action": named, "action_args": {}}


def _name_action(name: Any, task: Any) -> str:
    if isinstance(name, tuple) and VELOCITY in name:
        return VELOCITY
    if isinstance(name, str):
        return name.lower()
    if isinstance(name, np.ndarray) and name.size == 1:
        name = name.item()
    known = [action for action in ORDER if action in task.actions]
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= int(name) < len(known):
        return known[int(name)]
    raise UnknownAnswer(
        f"act() returned {str(name)[:80]!r}; return one of {', '.join(known)}, its number from 0 to {len(known) - 1}, "
        "or {'action': …, 'action_args': {…}}."
    )


def _translate_velocity(arguments: Mapping[str, Any], task: Any) -> dict[str, Any]:
    """From [−1, 1] to the task's speeds; slower than a threshold in both is a stop, as in the lab."""
    asked = {name: float(np.clip(np.asarray(value).reshape(-1)[0], -1.0, 1.0)) for name, value in arguments.items()}
    speeds = {name: asked.get(name, 0.0) for name in _SLOWEST}
    if all(abs(speeds[name]) < least for name, least in _SLOWEST.items()) and "stop" in task.actions:
        return {"action": "stop", "action_args": {}}
    ranges = _get_ranges(task.actions[VELOCITY])
    scaled = {name: _scale(value, ranges.get(name, (-1.0, 1.0))) for name, value in speeds.items()}
    return {"action": VELOCITY, "action_args": scaled}


def _get_ranges(spec: Any) -> Mapping[str, tuple[float, float]]:
    ranges: Mapping[str, tuple[float, float]] = getattr(spec, "arguments", None) or getattr(spec, "bounds", None) or {}
    return ranges if not isinstance(spec, Mapping) else spec


def _scale(value: float, bounds: tuple[float, float]) -> float:
    low, high = bounds
    return low + (value + 1.0) / 2.0 * (high - low)
