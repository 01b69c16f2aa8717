"""Actions and poses as numbers: the same for exports and for the LeRobot wrapper."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.config.schema import TaskConfig
from nav_eval.dataset.action_vectors import ActionVectors, compute_relative_states
from nav_eval.errors import ConfigError


def task(*actions: object) -> TaskConfig:
    return TaskConfig.model_validate({"type": "vln", "actions": list(actions), "metrics": ["success"]})


WALK = task("stop", {"name": "move_forward", "params": {"step_size": 0.4}}, "turn_left", "turn_right")
LOOK = task("stop", "move_forward", "look_up", "look_down")
DRIVE = task("stop", {"name": "velocity_control", "params": {"max_linear_speed": 0.5, "time_step": 0.5}})


@pytest.mark.parametrize(
    ("config", "action", "arguments", "vector"),
    [
        (WALK, "stop", {}, [0, 0, 1]),
        (WALK, "move_forward", {}, [0.4, 0, 0]),
        (WALK, "move_forward", {"step_size": 0.1}, [0.1, 0, 0]),
        (WALK, "turn_left", {}, [0, math.radians(15), 0]),
        (WALK, "turn_right", {}, [0, -math.radians(15), 0]),
        (LOOK, "look_up", {}, [0, 0, 0, math.radians(15)]),
        (LOOK, "look_down", {}, [0, 0, 0, -math.radians(15)]),
        (DRIVE, "velocity_control", {"linear_velocity": 0.5, "angular_velocity": -30}, [0.25, -math.radians(15), 0]),
    ],
)
def test_encoding(config, action, arguments, vector) -> None:
    np.testing.assert_allclose(ActionVectors(config).encode(action, arguments), vector, rtol=1e-6)


@pytest.mark.parametrize("config", [WALK, LOOK])
def test_every_action_comes_back(config) -> None:
    vectors = ActionVectors(config)
    for action in vectors.action_names:
        assert vectors.decode(vectors.encode(action, {})) == (action, {})
    assert [vectors.index(action) for action in vectors.action_names] == list(range(len(vectors.action_names)))


@pytest.mark.parametrize(
    ("vector", "action"),
    [
        ([0.35, 0.02, 0.1], "move_forward"),  # a policy is never exact
        ([0.1, 0.2, 0.0], "turn_left"),  # most of a turn beats a quarter of a step
        ([0.1, -0.2, 0.0], "turn_right"),
        ([0.2, 0.1, 0.9], "stop"),
        ([9.0, 0.0, 0.0], "move_forward"),  # farther than any step is still a step
    ],
)
def test_the_nearest_action_is_meant(vector, action) -> None:
    assert ActionVectors(WALK).decode(vector)[0] == action


@given(st.floats(-0.5, 0.5), st.floats(-60, 60))
def test_velocities_come_back(linear: float, angular: float) -> None:
    vectors = ActionVectors(DRIVE)
    asked = {"linear_velocity": linear, "angular_velocity": angular}
    name, got = vectors.decode(vectors.encode("velocity_control", asked))
    assert name == "velocity_control"
    assert got == pytest.approx(asked, abs=1e-4)
    assert vectors.decode([9.0, -9.0, 0.0])[1] == {"linear_velocity": 0.5, "angular_velocity": -60.0}
    assert vectors.decode([0.2, 0.0, 0.7]) == ("stop", {})


def test_foreign_actions_are_refused() -> None:
    with pytest.raises(ConfigError, match="'jump'"):
        ActionVectors(task("stop", {"name": "jump"}))


def test_states_are_in_the_frame_of_the_first() -> None:
    yaw = math.pi / 2  # faces −X
    states = compute_relative_states([(5, 1, 5), (3, 1.5, 5), (5, 1, 8)], [yaw, yaw + 0.5, yaw - 2 * math.pi])
    np.testing.assert_allclose(states, [[0, 0, 0, 0], [2, 0, 0.5, 0.5], [0, 3, 0, 0]], atol=1e-6)


def test_states_are_what_gps_and_compass_say(make_env) -> None:
    env = make_env("vln", sensors=["gps", "compass"])
    env.reset(seed=2)
    positions, yaws, read = [env.rollout.state.position], [env.rollout.state.yaw], []
    for action in (1, 2, 1, 2, 1, 3, 1):
        observation, *_ = env.step(action)
        positions.append(env.rollout.state.position)
        yaws.append(env.rollout.state.yaw)
        (forward, right), (turned,) = observation["gps"], observation["compass"]
        read.append([forward, -right, positions[-1][1] - positions[0][1], turned])
    np.testing.assert_allclose(compute_relative_states(positions, yaws)[1:], read, atol=1e-5)
