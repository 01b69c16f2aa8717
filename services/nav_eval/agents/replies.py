"""A reply is hostile until it has passed here: right number, known names, finite arguments, real poses."""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence

from nav_eval.agents.description import short
from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.interface import TaskInterface
from nav_eval.agents.messages import ANSWER, Action
from nav_eval.dataset.episode import Pose

MAX_POSES = 3
MAX_COORDINATE = 1e6  #: metres; the same bound as every coordinate of a dataset


def checked_actions(actions: Sequence[Action], *, task: TaskInterface, most: int) -> list[Action]:
    """The actions if the task allows them all; otherwise the first thing that is wrong."""
    if not actions:
        raise ProtocolError("The reply has no action; answer every observation with at least one.")
    if len(actions) > most:
        raise ProtocolError(
            f"The reply has {len(actions)} actions, and the agent may give {most} at once; say more in Describe."
        )
    for action in actions:
        _check(action, task)
    return list(actions)


def pose(*, position: Sequence[float], rotation: Sequence[float]) -> Pose:
    """A guess of a localization task, or what is wrong with it."""
    if len(position) != 3 or len(rotation) != 4:
        raise ProtocolError(
            f"A pose has {len(position)} numbers for its position and {len(rotation)} for its rotation; "
            "it takes 3 (x, y, z) and 4 (x, y, z, w)."
        )
    if not all(math.isfinite(number) and abs(number) <= MAX_COORDINATE for number in (*position, *rotation)):
        raise ProtocolError(f"A pose has numbers that are no metres: {[*position, *rotation]}.")
    if not any(rotation):
        raise ProtocolError("A pose has the rotation 0, 0, 0, 0, which is none; no turn at all is 0, 0, 0, 1.")
    x, y, z = map(float, position)
    i, j, k, w = map(float, rotation)
    return Pose((x, y, z), (i, j, k, w))


def _check(action: Action, task: TaskInterface) -> None:
    if action.name not in task.actions:
        raise ProtocolError(_unknown_action(action.name, task.actions))
    _check_arguments(action, task.actions[action.name].arguments)
    if (action.name == ANSWER) != bool(action.poses):
        raise ProtocolError(
            "The answer has no pose; give one to three."
            if action.name == ANSWER
            else f"The action {action.name!r} carries poses, which belong to {ANSWER!r} alone."
        )
    if len(action.poses) > MAX_POSES:
        raise ProtocolError(f"The answer has {len(action.poses)} poses; give at most {MAX_POSES}.")


def _check_arguments(action: Action, bounds: Mapping[str, tuple[float, float]]) -> None:
    for name, value in action.arguments.items():
        if name not in bounds:
            takes = ", ".join(sorted(bounds)) or "none"
            raise ProtocolError(f"{action.name} does not take the argument {short(name)!r}; it takes: {takes}.")
        low, high = bounds[name]
        if not math.isfinite(value) or not low <= value <= high:
            raise ProtocolError(f"{action.name}: {name} = {value} is not within [{low:g}, {high:g}].")


def _unknown_action(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name[:100], list(known), n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"The task has no action {short(name)!r}.{hint} It has: {', '.join(sorted(known))}."
