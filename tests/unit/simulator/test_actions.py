"""The action space of a task, on a plane without walls."""

import math
from typing import Any

import pytest

from nav_eval.config.schema import TaskConfig
from nav_eval.errors import ConfigError
from nav_eval.records.geometry import Pose
from nav_eval.scene.navigation import OpenPlane
from nav_eval.simulator.motion import ActionRefused, Body


def body(**task: Any) -> Body:
    settings = {
        "type": "vln",
        "actions": ["stop", "move_forward", {"name": "turn_left", "params": {"turn_angle": 30}}, "look_down"],
        "metrics": ["success"],
    }
    return Body(TaskConfig.model_validate(settings | task), OpenPlane(), sliding=True)


ORIGIN = Pose((0.0, 0.0, 0.0))


def test_amounts_come_from_the_task() -> None:
    agent = body()
    state = agent.start(ORIGIN)
    for action in ("move_forward", "turn_left", "turn_left", "turn_left", "move_forward", "look_down"):
        state = agent.apply(state, action, {})
    assert state.position == pytest.approx((-0.25, 0.0, -0.25))
    assert state.yaw == pytest.approx(math.pi / 2)
    assert state.tilt < 0


ADJUSTABLE = {
    "allow_action_args": True,
    "actions": ["stop", {"name": "move_forward", "params": {"step_size": 0.25}, "bounds": {"step_size": [0.1, 0.5]}}],
}


def test_arguments_within_bounds_are_followed() -> None:
    agent = body(**ADJUSTABLE)
    state = agent.apply(agent.start(ORIGIN), "move_forward", {"step_size": 0.5})
    assert state.position == pytest.approx((0.0, 0.0, -0.5))


@pytest.mark.parametrize(
    ("task", "action", "arguments", "said"),
    [
        ({}, "fly", {}, "'fly' is not part of this task"),
        ({}, "turn_right", {}, "'turn_right' is not part of this task"),
        ({}, "move_forward", {"step_size": 5.0}, "does not allow"),
        (ADJUSTABLE, "move_forward", {"step_size": 5.0}, "outside"),
        (ADJUSTABLE, "move_forward", {"step_size": 0.01}, "outside"),
        (ADJUSTABLE, "move_forward", {"step_size": math.nan}, "not finite"),
        (ADJUSTABLE, "move_forward", {"speed": 0.2}, "does not take the argument 'speed'"),
        (ADJUSTABLE, "stop", {"step_size": 0.2}, "does not take"),
        ({}, "velocity_control", {}, "not part of this task"),
    ],
    ids=str,
)
def test_what_a_task_does_not_allow_is_refused(
    task: dict[str, Any], action: str, arguments: dict[str, float], said: str
) -> None:
    agent = body(**task)
    with pytest.raises(ActionRefused, match=said):
        agent.apply(agent.start(ORIGIN), action, arguments)


VELOCITY = {"actions": ["stop", {"name": "velocity_control", "params": {"time_step": 1.0}}]}


def test_velocity_moves_for_the_time_step() -> None:
    agent = body(**VELOCITY)
    state = agent.apply(agent.start(ORIGIN), "velocity_control", {"linear_velocity": 0.5})
    assert state.position == pytest.approx((0.0, 0.0, -0.5))
    state = agent.apply(state, "velocity_control", {"angular_velocity": 60.0})
    assert state.yaw == pytest.approx(math.radians(60))


@pytest.mark.parametrize(
    "arguments", [{"linear_velocity": 99.0}, {"angular_velocity": math.inf}, {"lift": 1.0}], ids=str
)
def test_velocities_are_bounded(arguments: dict[str, float]) -> None:
    agent = body(**VELOCITY)
    with pytest.raises(ActionRefused):
        agent.apply(agent.start(ORIGIN), "velocity_control", arguments)


def test_an_action_without_an_effect_is_a_mistake_in_the_task() -> None:
    with pytest.raises(ConfigError, match="no action 'jump'"):
        body(actions=["stop", {"name": "jump"}])
