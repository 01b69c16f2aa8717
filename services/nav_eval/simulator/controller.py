"""`turn_then_go`: the local controller that walks to a point with the task's own turns and steps.

It looks at one thing: where the point lies from here. Farther to the side than half a turn: turn towards it;
otherwise a step ahead; closer than half a step: there. It plans no way around anything: walls stop it or let it slide
like everybody, and when a step is stopped and brings it no nearer, it gives up. Only + − × ÷ √ and comparisons
decide, so a replay decides alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nav_eval.records.geometry import Vec3, get_cosine
from nav_eval.scene.navigation import OpenPlane
from nav_eval.simulator.motion import AgentState, Direction, DiscreteMotion, make_standard_actions

LEAST_GAIN = 1e-3  #: metres that a step against a wall must bring one nearer


@dataclass(frozen=True, kw_only=True, slots=True)
class BodyPoint:
    """A place seen from the body: metres ahead and to the left; perhaps a direction to face there."""

    forward: float
    left: float
    heading: float | None = None  #: degrees to the left of where the body faces now


def place_point(state: AgentState, point: BodyPoint) -> Vec3:
    """The place in the world, at the height where the agent stands."""
    x, y, z = state.position
    ahead_x, ahead_z = state.forward
    return (x + point.forward * ahead_x + point.left * ahead_z, y, z + point.forward * ahead_z - point.left * ahead_x)


class LocalController:
    """Chooses the next action towards a place or a direction."""

    name = "turn_then_go"

    def __init__(self, *, step_size: float, turn_angle: float) -> None:
        self.step_size, self.turn_angle = step_size, turn_angle
        self._cosine = get_cosine(turn_angle / 2)

    @property
    def settings(self) -> dict[str, float]:
        """What a record needs to repeat its decisions."""
        return {"step_size": self.step_size, "turn_angle": self.turn_angle, "arrival": self.step_size / 2}

    def choose_action(self, state: AgentState, target: Vec3) -> str | None:
        """One turn or step towards the place; None once it is closer than half a step."""
        away = (target[0] - state.position[0], target[2] - state.position[2])
        distance = math.sqrt(away[0] * away[0] + away[1] * away[1])
        if distance <= self.step_size / 2:
            return None
        return self._choose_side(state, away, distance) or "move_forward"

    def choose_turn(self, state: AgentState, direction: Direction) -> str | None:
        """One turn towards a unit direction (x, z); None once it is within half a turn."""
        return self._choose_side(state, direction, 1.0)

    def _choose_side(self, state: AgentState, away: Direction, length: float) -> str | None:
        ahead_x, ahead_z = state.forward
        if ahead_x * away[0] + ahead_z * away[1] >= self._cosine * length:
            return None
        return "turn_left" if ahead_z * away[0] - ahead_x * away[1] >= 0.0 else "turn_right"


def is_stuck(before: AgentState, after: AgentState, target: Vec3) -> bool:
    """Whether a step ran into something and brought nothing."""
    return after.collided and _measure(before.position, target) - _measure(after.position, target) < LEAST_GAIN


def _measure(first: Vec3, second: Vec3) -> float:
    x, z = first[0] - second[0], first[2] - second[2]
    return math.sqrt(x * x + z * z)


def plan_actions(points: Sequence[BodyPoint], *, step_size: float, turn_angle: float, limit: int) -> list[str]:
    """The first `limit` actions along these points where nothing is in the way."""
    controller = LocalController(step_size=step_size, turn_angle=turn_angle)
    motion = DiscreteMotion(OpenPlane(), make_standard_actions(step_size=step_size, turn_angle=turn_angle))
    start = state = AgentState((0.0, 0.0, 0.0), (0.0, -1.0))
    actions: list[str] = []
    for point in points:
        target = place_point(start, point)
        while len(actions) < limit and (chosen := controller.choose_action(state, target)) is not None:
            actions.append(chosen)
            state = motion.apply(state, chosen)
    return actions
