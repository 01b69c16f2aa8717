"""What `act` returned, as actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nav_eval_sdk.agent import Action, Pose
from nav_eval_sdk.errors import BadAnswer


def actions_of(answer: object) -> tuple[Action, ...]:
    """One or several actions; anything else is refused with what would be right."""
    if isinstance(answer, (list, tuple)):
        if not answer:
            raise BadAnswer("act returned an empty list; answer every observation with at least one action.")
        return tuple(_action(item) for item in answer)
    return (_action(answer),)


def _action(item: object) -> Action:
    if isinstance(item, Action):
        return item
    if isinstance(item, str):
        return Action(item)
    if isinstance(item, Mapping):
        return _from_mapping(item)
    raise BadAnswer(
        f"act returned {item!r:.200}; return the action's name, such as 'move_forward', an Action, or a list of them."
    )


def _from_mapping(item: Mapping[str, Any]) -> Action:
    poses = tuple(_pose(pose) for pose in item.get("poses", ()))
    name = item.get("action", "answer" if poses else None)
    arguments = item.get("action_args") or {}
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        raise BadAnswer(f"act returned {dict(item)!r:.200}; a mapping needs 'action' and may have 'action_args'.")
    return Action(name, {str(key): float(value) for key, value in arguments.items()}, poses)


def _pose(pose: object) -> Pose:
    if isinstance(pose, Pose):
        return pose
    if isinstance(pose, Mapping) and "position" in pose:
        return Pose(_numbers(pose["position"]), _numbers(pose.get("rotation", (0, 0, 0, 1))))  # type: ignore[arg-type]
    raise BadAnswer(f"{pose!r:.200} is no pose; give Pose(position, rotation).")


def _numbers(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
