"""Somebody who knows the way, and walks it with the same actions as everybody else.

The expert never plans a path of its own: it asks a distance field how far it still is. From where it
stands it tries, in its head, every direction it can turn to and a few steps ahead in it, and takes the
one that gains the most metres per step, a turn counting as a fraction of one. Walls, sliding and coarse
turns are thereby in the plan, because the trials use the real motion.
"""

from collections.abc import Iterator
from typing import NamedTuple

from nav_eval.records.geometry import FULL_TURN, to_microdegrees
from nav_eval.scene.navigation import DistanceField
from nav_eval.simulator.motion import NO_ARGUMENTS, AgentState, Body

STEPS_AHEAD = 4
COST_OF_A_DEGREE = 1 / 240
"""In steps: turning right round costs less than a detour of a step."""


class ExpertPlan(NamedTuple):
    """A few actions and what they gain."""

    actions: tuple[str, ...]
    gain: float  #: metres nearer to the goal per step


class Expert:
    """Chooses actions towards the goals of a field."""

    def __init__(self, body: Body, *, turn_angle: float) -> None:
        self._body = body
        self._turns = FULL_TURN // to_microdegrees(turn_angle)
        self._turn_cost = turn_angle * COST_OF_A_DEGREE

    def choose_actions(self, state: AgentState, field: DistanceField, *, near: float) -> tuple[str, ...]:
        """What to do now: the turns and first step of the best plan, or nothing once closer than `near`.

        Also nothing where no plan comes nearer: then the goal cannot be reached with these actions.
        """
        distance = field.distance(state.position)
        if distance < near:
            return ()
        best = max(self._iterate_plans(state, field, distance), key=lambda plan: plan.gain)
        if best.gain <= 0.0:
            return ()
        return best.actions[: best.actions.index("move_forward") + 1]

    def walk(self, state: AgentState, field: DistanceField, *, near: float, limit: int) -> "ExpertWalk":
        """All the way, or as far as `limit` actions lead."""
        actions: list[str] = []
        states = [state]
        while len(actions) < limit:
            following = self.choose_actions(state, field, near=near)
            if not following:
                break
            for action in following:
                state = self._body.apply(state, action, NO_ARGUMENTS)
                actions.append(action)
                states.append(state)
        return ExpertWalk(tuple(actions), tuple(states), arrived=field.distance(state.position) < near)

    def _iterate_plans(self, state: AgentState, field: DistanceField, distance: float) -> Iterator[ExpertPlan]:
        """Fewest turns first, left before right, so that equal gains always give the same plan."""
        for turns in range(self._turns // 2 + 1):
            for side in ("turn_left", "turn_right") if turns else ("turn_left",):
                yield from self._plan_ahead(state, field, distance, turned=(side,) * turns)

    def _plan_ahead(
        self, state: AgentState, field: DistanceField, distance: float, *, turned: tuple[str, ...]
    ) -> Iterator[ExpertPlan]:
        for action in turned:
            state = self._body.apply(state, action, NO_ARGUMENTS)
        actions = turned
        for steps in range(1, STEPS_AHEAD + 1):
            after = self._body.apply(state, "move_forward", NO_ARGUMENTS)
            if after.position == state.position:
                return
            state, actions = after, (*actions, "move_forward")
            cost = steps + self._turn_cost * len(turned)
            yield ExpertPlan(actions, (distance - field.distance(state.position)) / cost)


class ExpertWalk(NamedTuple):
    """The way an expert went."""

    actions: tuple[str, ...]
    states: tuple[AgentState, ...]  #: one more than actions: the start is the first
    arrived: bool
