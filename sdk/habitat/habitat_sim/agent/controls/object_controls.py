"""Applies a control to a node, and what the ground makes of it."""

from collections.abc import Callable
from typing import Any

import attr

from habitat_sim.registry import registry
from habitat_sim.scene_graph import SceneNode
from nav_eval_habitat.points import to_position

EPS = 1e-5  #: m²; a step counts as a collision if it is shorter by more


def _keep_end(start: Any, end: Any) -> Any:
    return end


@attr.s(auto_attribs=True)
class ObjectControls:
    """`move_filter_fn(start, end)` says where a step really ends."""

    move_filter_fn: Callable[[Any, Any], Any] = attr.ib(default=_keep_end)

    @staticmethod
    def is_body_action(action_name: str) -> bool:
        move = registry.get_move_fn(action_name)
        assert move is not None, f"No control is registered under the name {action_name!r}"
        return bool(move.body_action)  # type: ignore[attr-defined]

    def action(self, obj: SceneNode, action_name: str, actuation_spec: Any, apply_filter: bool = True) -> bool:
        """Move the node; true if the ground did not let it go all the way."""
        move = registry.get_move_fn(action_name)
        assert move is not None, f"No control is registered under the name {action_name!r}"
        if not apply_filter:
            move(obj, actuation_spec)
            return False
        start = obj.find_pose()[0]
        move(obj, actuation_spec)
        end = obj.find_pose()[0]
        if end == start:  # a turn: the ground has no say
            return False
        return self._correct(obj, start, end)

    def _correct(self, obj: SceneNode, start: Any, end: Any) -> bool:
        filtered = self.move_filter_fn(start, end)
        real = filtered if type(filtered) is tuple else to_position(filtered)
        if real != end:
            obj.place = (
                obj.place[0] + real[0] - end[0],
                obj.place[1] + real[1] - end[1],
                obj.place[2] + real[2] - end[2],
            )
        return _square(start, real) + EPS < _square(start, end)

    __call__ = action


def _square(start: Any, end: Any) -> float:
    x, y, z = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    return float(x * x + y * y + z * z)
