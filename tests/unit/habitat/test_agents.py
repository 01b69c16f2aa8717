"""Agents on a bare scene graph: states, controls, constraints, noise."""

import math

import numpy as np
import pytest
import quaternion as qt

import habitat_sim
import magnum as mn
from habitat_sim.utils.common import quat_from_angle_axis, quat_rotate_vector


@pytest.fixture
def agent():
    config = habitat_sim.AgentConfiguration()
    config.sensor_specifications = [habitat_sim.CameraSensorSpec()]
    config.action_space |= {
        "look_up": habitat_sim.ActionSpec("look_up", habitat_sim.ActuationSpec(30.0, 45.0)),
        "fly": habitat_sim.ActionSpec("fly", habitat_sim.ActuationSpec(1.0)),
    }
    return habitat_sim.Agent(habitat_sim.SceneGraph().get_root_node().create_child(), config)


def test_a_state_is_single_precision_and_knows_its_sensors(agent):
    agent.state = habitat_sim.AgentState(position=[1.0, 2.0, 3.0], rotation=[0.0, 1.0, 0.0, 0.0])
    state = agent.get_state()
    assert state.position.dtype == np.float32
    assert isinstance(state.rotation, qt.quaternion)
    assert state.sensor_states["rgba_camera"].position.tolist() == [1.0, 3.5, 3.0]


@pytest.mark.parametrize(
    "state",
    [
        {"position": np.array([np.nan, 0, 0])},
        {"rotation": qt.quaternion(1.001, 0, 0, 0)},
        {"rotation": [0.0, 0.0, 0.0, 2.0]},
    ],
)
def test_what_is_no_state_is_refused(agent, state):
    with pytest.raises(ValueError, match=next(iter(state))):
        habitat_sim.AgentState(**state)
    late = habitat_sim.AgentState()
    for name, value in state.items():
        setattr(late, name, value)
    with pytest.raises(ValueError, match=next(iter(state))):
        agent.set_state(late)


@pytest.mark.parametrize(("action", "moved", "ahead"), [
    ("move_forward", (0, 0, -0.25), (0, 0, -1)),
    ("turn_left", (0, 0, 0), (-math.sin(math.radians(10)), 0, -math.cos(math.radians(10)))),
    ("turn_right", (0, 0, 0), (math.sin(math.radians(10)), 0, -math.cos(math.radians(10)))),
])  # fmt: skip
def test_the_three_actions(agent, action, moved, ahead):
    assert agent.act(action) is False
    state = agent.get_state()
    assert np.allclose(state.position, moved)
    assert np.allclose(quat_rotate_vector(state.rotation, habitat_sim.geo.FRONT), ahead)


def test_a_full_circle_comes_back(agent):
    for _ in range(36):
        agent.act("turn_left")
    assert abs(agent.state.rotation.w) == pytest.approx(1.0)


def test_looks_turn_the_sensors_up_to_their_constraint(agent):
    agent.act("look_up")
    agent.act("look_up")  # 60°, but 45° is all there is
    assert agent.state.rotation == qt.quaternion(1, 0, 0, 0)
    sensor = agent.state.sensor_states["rgba_camera"]
    assert np.allclose(quat_rotate_vector(sensor.rotation, habitat_sim.geo.FRONT), [0, math.sqrt(0.5), -math.sqrt(0.5)])


def test_unknown_actions_and_controls_are_assertions(agent):
    with pytest.raises(AssertionError):
        agent.act("sing")
    with pytest.raises(AssertionError):
        agent.act("fly")


def test_what_the_ground_takes_away_is_a_collision(agent):
    agent.controls.move_filter_fn = lambda start, end: (np.asarray(start) + np.asarray(end)) / 2
    assert agent.act("move_forward") is True
    assert np.allclose(agent.state.position, [0, 0, -0.125])


def test_orientation_is_about_x_then_y_then_z_of_the_parent():
    spec = habitat_sim.CameraSensorSpec()
    spec.position, spec.orientation = [0, 1, 0], [math.pi / 2, math.pi / 2, 0]
    config = habitat_sim.AgentConfiguration(sensor_specifications=[spec])
    agent = habitat_sim.Agent(habitat_sim.SceneGraph().get_root_node().create_child(), config)
    ahead = agent.sensors["rgba_camera"].node.rotation.transform_vector((0, 0, -1))
    assert ahead == mn.Vector3(0, 1, 0)  # up stays up when turned about y


def test_sensor_states_count_only_when_they_are_not_inferred(agent):
    state = agent.get_state()
    state.sensor_states["rgba_camera"].position = np.array([5.0, 5.0, 5.0])
    agent.set_state(state)
    assert agent.state.sensor_states["rgba_camera"].position.tolist() == [0.0, 1.5, 0.0]
    agent.set_state(state, infer_sensor_states=False)
    assert agent.state.sensor_states["rgba_camera"].position.tolist() == [5.0, 5.0, 5.0]


def test_a_deleted_sensor_is_gone(agent):
    del agent._sensors["rgba_camera"]
    assert not agent.sensors


def test_noise_overshoots_forwards_and_backwards():
    np.random.seed(0)
    spec = habitat_sim.PyRobotNoisyActuationSpec(amount=1.0, robot="LoCoBot-Lite")
    shifts = {}
    for name in ("pyrobot_noisy_move_forward", "pyrobot_noisy_move_backward"):
        control = habitat_sim.registry.get_move_fn(name)
        nodes = [habitat_sim.SceneNode() for _ in range(100)]
        for node in nodes:
            control(node, spec)
        shifts[name] = np.mean([node.translation.z for node in nodes])
    assert shifts["pyrobot_noisy_move_forward"] < -1.0
    assert shifts["pyrobot_noisy_move_backward"] > 1.0
    with pytest.raises(AssertionError):
        habitat_sim.PyRobotNoisyActuationSpec(amount=1.0, robot="Roomba")


def test_rotations_of_lists_start_with_x():
    turned = quat_from_angle_axis(math.pi, np.array([0.0, 2.0, 0.0]))
    assert habitat_sim.utils.common.quat_to_coeffs(turned) == pytest.approx([0, 1, 0, 0])
