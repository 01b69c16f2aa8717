"""A planner that fits actions to the shortest way, greedily: turn some times, then step, whichever gains most."""

import math
from collections.abc import Callable
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np

from habitat_sim.errors import GreedyFollowerError
from habitat_sim.nav.path_finder import PathFinder
from habitat_sim.nav.paths import ShortestPath
from habitat_sim.scene_graph import SceneNode
from magnum.quaternions import Numbers
from nav_eval_habitat.points import to_position

Move = Callable[[SceneNode], bool]

TURN_COST, COLLISION_COST, CLOSE_COST = 0.0125, 0.25, 0.05
CLOSE = 0.2  #: metres; nearer to an obstacle costs
GOOD_ENOUGH = 0.99
MOST_ACTIONS = 5000


class GreedyFollowerCodes(Enum):
    ERROR = -2
    STOP = -1
    FORWARD = 0
    LEFT = 1
    RIGHT = 2


_TURNS = (GreedyFollowerCodes.LEFT, GreedyFollowerCodes.RIGHT)


class VectorGreedyCodes(list[GreedyFollowerCodes]):
    """A list of codes."""


class GreedyGeodesicFollowerImpl:
    """The planner, for nodes that three functions move."""

    def __init__(
        self,
        pathfinder: PathFinder,
        move_forward: Move,
        turn_left: Move,
        turn_right: Move,
        goal_dist: float,
        forward_amount: float,
        turn_amount: float,
        fix_thrashing: bool = True,
        thrashing_threshold: int = 16,
    ) -> None:
        self._pathfinder = pathfinder
        self._moves = {
            GreedyFollowerCodes.FORWARD: move_forward,
            GreedyFollowerCodes.LEFT: turn_left,
            GreedyFollowerCodes.RIGHT: turn_right,
        }
        self._goal_dist, self._step, self._most_turns = goal_dist, forward_amount, count_turns(turn_amount)
        self._fix_thrashing, self._threshold = fix_thrashing, thrashing_threshold
        self._path = ShortestPath()
        self._taken: list[GreedyFollowerCodes] = []
        self._planned: list[GreedyFollowerCodes] = []  #: against thrashing, the next one last

    def reset(self) -> None:
        self._taken, self._planned = [], []

    def next_action_along(self, rotation: Any, position: Any, end: Any) -> GreedyFollowerCodes:
        node = _make_node(position, rotation.numbers)
        self._path.requested_end = end
        action = self._planned.pop() if self._fix_thrashing and self._planned else self._choose(node)
        self._taken.append(action)
        return action

    def _choose(self, node: SceneNode) -> GreedyFollowerCodes:
        plan = self._plan(node)
        if not plan:
            return GreedyFollowerCodes.ERROR
        if self._fix_thrashing and self._is_thrashing():
            self._planned = plan[:0:-1]
        return plan[0]

    def find_path(self, rotation: Any, position: Any, end: Any) -> list[GreedyFollowerCodes]:
        """All actions up to the stop; empty if there is no way, or none that is short enough."""
        node = _make_node(position, rotation.numbers)
        self._path.requested_end = end
        while len(self._taken) < MOST_ACTIONS:
            plan = self._plan(node)
            if not plan or plan == [GreedyFollowerCodes.ERROR]:
                return []
            self._taken += plan
            if plan == [GreedyFollowerCodes.STOP]:
                return list(self._taken)
            for action in plan:
                self._moves[action](node)
        return []

    def _measure(self, node: SceneNode) -> float:
        self._path.requested_start = node.place
        self._pathfinder.find_path(self._path)
        return self._path.geodesic_distance

    def _plan(self, node: SceneNode) -> list[GreedyFollowerCodes]:
        """The best of all turns to one side followed by a step."""
        distance = self._measure(node)
        if math.isinf(distance):
            return [GreedyFollowerCodes.ERROR]
        if distance < self._goal_dist:
            return [GreedyFollowerCodes.STOP]
        best, plan = -COLLISION_COST, []
        sides = {side: _make_node(node.place, node.turn) for side in _TURNS}
        for turns in range(self._most_turns + 1):
            if best > GOOD_ENOUGH:
                break
            for side, copy in sides.items():
                gain = self._rate(copy, distance, turns)
                if gain > best:
                    best, plan = gain, [side] * turns + [GreedyFollowerCodes.FORWARD]
                if turns == 0:  # both sides still look the same way
                    break
            for side, copy in sides.items():
                self._moves[side](copy)
        return plan

    def _rate(self, node: SceneNode, before: float, turns: int) -> float:
        copy = _make_node(node.place, node.turn)
        collided = self._moves[GreedyFollowerCodes.FORWARD](copy)
        gained = (before - self._measure(copy)) / self._step
        is_close = self._pathfinder.distance_to_closest_obstacle(copy.place, 1.1 * CLOSE) < CLOSE
        return gained - TURN_COST * turns - COLLISION_COST * collided - CLOSE_COST * is_close

    def _is_thrashing(self) -> bool:
        """Were the last actions turns to alternating sides?"""
        last = self._taken[-self._threshold :]
        if len(last) < self._threshold or any(action not in _TURNS for action in last):
            return False
        return all(first is not second for first, second in pairwise(last))


def count_turns(angle: float) -> int:
    """How many turns (radians) stay below half a circle, added up in single precision as Habitat does: 12 of 15°."""
    step, half_circle = np.float32(angle), np.float32(math.pi)
    turns, turned = 0, step
    while 0 < turned < half_circle:
        turns, turned = turns + 1, np.float32(turned + step)
    return turns


def _make_node(place: Any, turn: Numbers) -> SceneNode:
    node = SceneNode()
    node.place, node.turn = to_position(place), turn
    return node


class GreedyGeodesicFollower:
    """Plans with the agent's own perfect actions, and answers with keys of its action space."""

    def __init__(
        self,
        pathfinder: PathFinder,
        agent: Any,
        goal_radius: float | None = None,
        *,
        stop_key: Any = None,
        forward_key: Any = None,
        left_key: Any = None,
        right_key: Any = None,
        fix_thrashing: bool = True,
        thrashing_threshold: int = 16,
    ) -> None:
        self.pathfinder, self.agent = pathfinder, agent
        self.last_goal: Any = None
        forward, self.forward_spec = self._find_action("move_forward")
        left, self.left_spec = self._find_action("turn_left")
        right, self.right_spec = self._find_action("turn_right")
        self.action_mapping = {
            GreedyFollowerCodes.STOP: stop_key,
            GreedyFollowerCodes.FORWARD: forward if forward_key is None else forward_key,
            GreedyFollowerCodes.LEFT: left if left_key is None else left_key,
            GreedyFollowerCodes.RIGHT: right if right_key is None else right_key,
        }
        self.goal_radius = 0.75 * self.forward_spec.amount if goal_radius is None else goal_radius
        self.impl = GreedyGeodesicFollowerImpl(
            pathfinder,
            lambda node: self._move(node, "move_forward", self.forward_spec),
            lambda node: self._move(node, "turn_left", self.left_spec),
            lambda node: self._move(node, "turn_right", self.right_spec),
            self.goal_radius,
            self.forward_spec.amount,
            np.deg2rad(self.left_spec.amount),
            fix_thrashing,
            thrashing_threshold,
        )

    def _find_action(self, name: str) -> tuple[Any, Any]:
        found = [
            (key, spec.actuation) for key, spec in self.agent.agent_config.action_space.items() if spec.name == name
        ]
        assert len(found) == 1, f"The follower needs one {name} action in the action space; there are {len(found)}"
        return found[0]

    def _move(self, node: SceneNode, name: str, spec: Any) -> bool:
        collided: bool = self.agent.controls.action(node, name, spec, True)
        return collided

    def next_action_along(self, goal_pos: Any) -> Any:
        """The key of the next action; the stop key at the goal."""
        if self.last_goal is None or not np.allclose(goal_pos, self.last_goal):
            self.reset()
            self.last_goal = goal_pos
        node = self.agent.scene_node
        action = self.impl.next_action_along(node.rotation, node.place, goal_pos)
        if action is GreedyFollowerCodes.ERROR:
            raise GreedyFollowerError
        return self.action_mapping[action]

    def find_path(self, goal_pos: Any) -> list[Any]:
        """The keys of all actions to the goal, the stop key last; only for agents without noise."""
        self.reset()
        node = self.agent.scene_node
        found = self.impl.find_path(node.rotation, node.place, goal_pos)
        if not found:
            raise GreedyFollowerError
        return [self.action_mapping[action] for action in found]

    def reset(self) -> None:
        self.impl.reset()
        self.last_goal = None
