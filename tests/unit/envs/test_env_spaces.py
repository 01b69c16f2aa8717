"""What the spaces promise is what the sensors deliver."""

import math

import msgspec
import numpy as np
import pytest
from gymnasium import spaces

from nav_eval.dataset.episode import Episode, Instruction
from nav_eval.envs.spaces import AnyText, NoSuchAction, make_action_reader, make_observation_space, make_sensor_space
from nav_eval.errors import ConfigError
from nav_eval.sensors import CompassSensor, DepthSensor, GpsSensor, ImageGoalSensor, PointGoalSensor, PoseSensor

TASKS = ["lh_vln", "vln", "objectnav", "imagenav", "pointnav"]


@pytest.mark.parametrize("task", TASKS)
def test_every_reading_is_in_its_space(task, make_env) -> None:
    env = make_env(task)
    observation, _ = env.reset(seed=3)
    for action in (1, 2, 1, 3):
        for name, space in env.observation_space.items():
            assert space.contains(observation[name]), name
        observation, *_ = env.step(action)


def test_pictures_keep_their_type_and_shape(make_env) -> None:
    space = make_env("lh_vln").observation_space
    assert (space["rgb_front"].shape, space["rgb_front"].dtype) == ((24, 32, 3), np.uint8)
    assert (space["depth_left"].shape, space["depth_left"].dtype) == ((24, 32), np.float32)
    assert (space["semantic_front"].shape, space["semantic_front"].dtype) == ((24, 32), np.int32)
    assert isinstance(space["instruction"], spaces.Text)


@pytest.mark.parametrize(
    ("config", "low", "high"),
    [
        (DepthSensor(min_depth=0.5, max_depth=5.0), 0.5, 5.0),
        (DepthSensor(min_depth=0.5, max_depth=5.0, normalize=True), 0.0, 1.0),
        (CompassSensor(), -math.pi, math.pi),
        (CompassSensor(type="vector"), -1.0, 1.0),
        (PointGoalSensor(), [0.0, -math.pi], [4e6, math.pi]),
        (PointGoalSensor(dimensionality=3), [0.0, -math.pi, -math.pi / 2], [4e6, math.pi, math.pi / 2]),
        (GpsSensor(), -4e6, 4e6),
        (PoseSensor(rotation="quaternion"), [-4e6] * 3 + [-1.0] * 4, [4e6] * 3 + [1.0] * 4),
    ],
)
def test_bounds(config, low, high) -> None:
    space = make_sensor_space("sensor", config, [])
    assert isinstance(space, spaces.Box)
    np.testing.assert_array_equal(space.low, np.broadcast_to(np.float32(low), space.shape))
    np.testing.assert_array_equal(space.high, np.broadcast_to(np.float32(high), space.shape))


def test_only_the_chosen_sensors(task_benchmark, room_episodes) -> None:
    space = make_observation_space(task_benchmark("vln"), room_episodes, sensors=["gps", "instruction"])
    assert set(space) == {"gps", "instruction"}
    with pytest.raises(ConfigError, match="no sensor 'sonar'"):
        make_observation_space(task_benchmark("vln"), room_episodes, sensors=["sonar"])
    with pytest.raises(ConfigError, match="at least one"):
        make_observation_space(task_benchmark("vln"), room_episodes, sensors=[])


def test_instructions_in_any_script(task_benchmark, room_episodes) -> None:
    text = "走到椅子旁边。 Go — naïvely!"
    public = msgspec.structs.replace(room_episodes[0].public, instruction=Instruction(text=text))
    episodes: list[Episode] = [msgspec.structs.replace(room_episodes[0], public=public)]
    space = make_observation_space(task_benchmark("vln"), episodes, sensors=["instruction"])["instruction"]
    assert space.contains(text)
    assert "椅" in space.character_set  # so that gymnasium's own shared memory can hold it
    assert not space.contains(text + "!")
    assert not space.contains(7)


def test_any_text_is_bounded_only_in_length() -> None:
    assert AnyText(3, min_length=0, charset="a").contains("xyz")
    assert not AnyText(3, min_length=0, charset="a").contains("wxyz")


def test_goal_pictures_of_two_sizes_are_refused(room_episodes) -> None:
    with pytest.raises(ConfigError, match=r"goal\.width"):
        make_sensor_space("goal", ImageGoalSensor(), room_episodes)
    fixed = make_sensor_space("goal", ImageGoalSensor(width=10, height=8), room_episodes)
    assert fixed.shape == (8, 10, 3)


def test_discrete_actions_are_numbered_as_in_the_task(task_benchmark) -> None:
    reader = make_action_reader(task_benchmark("lh_vln").task)
    assert [reader.read(index)[0] for index in range(4)] == ["stop", "turn_left", "move_forward", "turn_right"]
    assert reader.read(np.int64(2))[0] == "move_forward"
    assert reader.write("turn_right", {}) == 3
    for wrong in (4, -1, 1.5, "stop", None):
        with pytest.raises(NoSuchAction):
            reader.read(wrong)


VELOCITY = "task.actions=[{name: stop}, {name: velocity_control, params: {max_linear_speed: 0.4}}]"


def test_velocity_control(task_benchmark) -> None:
    reader = make_action_reader(task_benchmark("vln", VELOCITY).task)
    assert reader.space.contains(np.array([-1, 1, 0], np.float32))
    name, arguments = reader.read(np.array([0.5, -1, 0], np.float32))
    assert (name, arguments) == ("velocity_control", {"linear_velocity": 0.2, "angular_velocity": -60.0})
    assert reader.read([0, 0, 0.9]) == ("stop", {})
    np.testing.assert_allclose(reader.write(name, arguments), [0.5, -1, 0])
    for wrong in ([2, 0, 0], [0, 0], [math.nan, 0, 0]):
        with pytest.raises(NoSuchAction):
            reader.read(wrong)


def test_a_task_with_both_kinds_of_control_chooses(task_benchmark) -> None:
    both = "task.actions=[{name: stop}, {name: move_forward}, {name: velocity_control}]"
    task = task_benchmark("vln", both).task
    assert isinstance(make_action_reader(task).space, spaces.Discrete)
    assert isinstance(make_action_reader(task, control="velocity").space, spaces.Box)
    with pytest.raises(ConfigError, match="no 'velocity' control"):
        make_action_reader(task_benchmark("vln").task, control="velocity")


def test_localization_has_an_environment_of_its_own(room_benchmark) -> None:
    with pytest.raises(ConfigError, match="answered, not walked"):
        make_action_reader(room_benchmark("demo_localization").task)


def test_robots_with_different_sensors_are_refused(task_benchmark, room_episodes) -> None:
    robots = "scenario_config.robots=[{name: one}, {name: two, sensors: {sonar: {kind: rgb}}}]"
    benchmark = task_benchmark("vln", robots)
    private = msgspec.structs.replace(room_episodes[0].private, robot="two")
    other = msgspec.structs.replace(room_episodes[0], private=private)
    assert "sonar" in make_observation_space(benchmark, [other]).spaces
    assert "rgb" in make_observation_space(benchmark, [other, room_episodes[1]], sensors=["rgb"]).spaces
    with pytest.raises(ConfigError, match="different sensors"):
        make_observation_space(benchmark, [other, room_episodes[1]])
