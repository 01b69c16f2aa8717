"""Goals that an agent names instead of actions: waypoints, pixels of a camera, trajectories; and how they are walked.

A goal is resolved once, where the agent stands when it names it, and then walked by the local controller in the
task's own turns and steps. Each of these is an action like any other: it costs a step, it is logged, and a replay
needs nothing but them. A task allows a goal by listing it among its actions; `max_distance` and `max_actions` are its
limits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nav_eval.config.schema import TaskConfig
from nav_eval.config.schema.task import GOALS
from nav_eval.errors import ConfigError
from nav_eval.records.geometry import Vec3, get_unit_vector, to_microdegrees
from nav_eval.simulator.controller import BodyPoint, LocalController, is_stuck, place_point
from nav_eval.simulator.motion import ActionRefused, AgentState, Direction, turn_direction

WAYPOINT, PIXEL_GOAL, TRAJECTORY = "waypoint", "pixel_goal", "trajectory"
FindPoint = Callable[[str, float, float], Vec3 | None]
"""The place that a pixel (u, v) of a camera shows; None where there is nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoalRequest:
    """What an agent asked for."""

    name: str  #: one of GOALS
    arguments: Mapping[str, float]
    camera: str = ""  #: whose pixel it is
    points: Sequence[Vec3] = ()  #: of a trajectory, in the body's frame: x right, y up, −z ahead


@dataclass(frozen=True, slots=True)
class WalkTarget:
    """A place to reach, or a direction to face."""

    place: Vec3 | None = None
    direction: Direction | None = None

    def choose_action(self, controller: LocalController, state: AgentState) -> str | None:
        if self.place is not None:
            return controller.choose_action(state, self.place)
        return None if self.direction is None else controller.choose_turn(state, self.direction)


class GoalWalk:
    """One goal under way."""

    def __init__(self, controller: LocalController, targets: Sequence[WalkTarget], *, limit: int) -> None:
        self._controller = controller
        self._targets = list(targets)
        self._left = limit
        self._before: AgentState | None = None

    def choose_action(self, state: AgentState) -> str | None:
        """The next turn or step; None once the goal is reached, given up, or has cost as much as it may."""
        while self._targets and self._left:
            target = self._targets[0]
            if self._before is not None and target.place and is_stuck(self._before, state, target.place):
                return None
            action = target.choose_action(self._controller, state)
            if action is not None:
                self._left -= 1
                self._before = state if action == "move_forward" else None
                return action
            self._targets.pop(0)
            self._before = None
        return None


def make_controller(task: TaskConfig) -> LocalController | None:
    """The controller of a task that allows goals; None for all others."""
    if not any(task.action(name) for name in GOALS):
        return None
    step, turn = task.action("move_forward"), task.action("turn_left")
    if step is None or turn is None or task.action("turn_right") is None:
        raise ConfigError("Waypoints, pixels and trajectories are walked with move_forward, turn_left and turn_right.")
    return LocalController(step_size=step.params["step_size"], turn_angle=turn.params["turn_angle"])


class GoalFollower:
    """Resolves goals by the rules of one task."""

    def __init__(self, task: TaskConfig, controller: LocalController) -> None:
        self._task, self._controller = task, controller

    def start(self, request: GoalRequest, state: AgentState, find_point: FindPoint) -> GoalWalk:
        """The walk to a goal from where the agent stands; refuses what the task does not allow."""
        rule = self._task.action(request.name)
        if rule is None:
            raise ActionRefused(f"This task takes no {request.name}; it has {_join(self._task)}.")
        places = self._find_places(request, state, find_point)
        for place in places:
            _check_distance(request.name, state, place, rule.params["max_distance"])
        targets = [WalkTarget(place=place) for place in places]
        if "heading" in request.arguments:
            turned = to_microdegrees(request.arguments["heading"])
            targets.append(WalkTarget(direction=turn_direction(state.forward, turned)))
        return GoalWalk(self._controller, targets, limit=int(rule.params["max_actions"]))

    def _find_places(self, request: GoalRequest, state: AgentState, find_point: FindPoint) -> list[Vec3]:
        if request.name == TRAJECTORY:
            return [place_point(state, BodyPoint(forward=-z, left=-x)) for x, _, z in request.points]
        if request.name == PIXEL_GOAL:
            return [_find_pixel(request, find_point)]
        return [place_point(state, make_body_point(request.arguments))]


def _join(task: TaskConfig) -> str:
    return ", ".join(action.name for action in task.actions)


def _find_pixel(request: GoalRequest, find_point: FindPoint) -> Vec3:
    if not {"u", "v"} <= set(request.arguments):
        raise ActionRefused("pixel_goal needs u and v, the pixel counted from the upper left corner.")
    u, v = request.arguments["u"], request.arguments["v"]
    place = find_point(request.camera, u, v)
    if place is None:
        raise ActionRefused(f"The pixel ({u:g}, {v:g}) of {request.camera!r} shows nothing that one could go to.")
    return place


def make_body_point(arguments: Mapping[str, float]) -> BodyPoint:
    """A waypoint's place: by `forward` and `left`, or by `distance` and `bearing`."""
    metric, polar = {"forward", "left"} & set(arguments), {"distance", "bearing"} & set(arguments)
    if metric and polar:
        raise ActionRefused("A waypoint has forward and left, or distance and bearing, not both.")
    if polar:
        cosine, sine = get_unit_vector(to_microdegrees(arguments.get("bearing", 0.0)))
        distance = arguments.get("distance", 0.0)
        return BodyPoint(forward=distance * cosine, left=distance * sine)
    return BodyPoint(forward=arguments.get("forward", 0.0), left=arguments.get("left", 0.0))


def _check_distance(name: str, state: AgentState, place: Vec3, most: float) -> None:
    x, z = place[0] - state.position[0], place[2] - state.position[2]
    away = math.sqrt(x * x + z * z)
    if not away <= most:
        raise ActionRefused(f"{name} points {away:.6g} m away; this task allows {most:g} m.")
