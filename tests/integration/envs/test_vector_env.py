"""Vector environments in real processes, held against Gymnasium's own."""

import os
import signal
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import nav_eval.envs
from nav_eval.envs import NavEnv
from nav_eval.envs.lerobot import LeRobotCompat
from nav_eval.envs.lerobot import make_env as make_lerobot_env
from nav_eval.envs.rollout import NeedsReset
from nav_eval.envs.spaces import NoSuchAction
from nav_eval.envs.vector import NavVectorEnv, WorkerFailed
from nav_eval.errors import ConfigError

pytestmark = pytest.mark.integration
assert nav_eval.envs.TASK_IDS  # importing it registers the ids

SENSORS = ["rgb_front", "depth_front", "semantic_front", "instruction", "pose", "categories"]


def assert_same(first: Any, second: Any, where: str = "") -> None:
    assert type(first) is type(second), where
    if isinstance(first, dict):
        assert set(first) == set(second), where
        for key, value in first.items():
            assert_same(value, second[key], f"{where}/{key}")
    elif isinstance(first, tuple) or (isinstance(first, np.ndarray) and first.dtype == object):
        assert len(first) == len(second), where
        for index, (one, other) in enumerate(zip(first, second, strict=True)):
            assert_same(one, other, f"{where}[{index}]")
    elif isinstance(first, np.ndarray):
        assert (first.dtype, first.shape) == (second.dtype, second.shape), where
        np.testing.assert_array_equal(first, second, err_msg=where)
    else:
        assert first == second, where


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_it_is_what_gymnasium_would_do(mode, task_benchmark, tmp_path) -> None:
    benchmark = task_benchmark("lh_vln", "evaluation.max_steps=6")
    settings = {"benchmark": benchmark, "sensors": SENSORS, "cache": tmp_path / "cache"}
    ours = gymnasium.make_vec("NavEval/LHVLN-v0", num_envs=3, workers=2, autoreset_mode=mode, **settings)
    theirs = SyncVectorEnv(
        [lambda: gymnasium.make("NavEval/LHVLN-v0", **settings) for _ in range(3)], autoreset_mode=mode
    )
    assert isinstance(ours.unwrapped, NavVectorEnv)
    assert ours.metadata["autoreset_mode"] is mode
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    assert_same(theirs.reset(seed=5), ours.reset(seed=5))
    draw = np.random.default_rng(0)
    ends = 0
    for _ in range(20):
        actions = draw.integers(0, 4, 3)
        expected = theirs.step(actions)
        assert_same(expected, ours.step(actions))
        over = expected[2] | expected[3]
        ends += int(over.sum())
        if mode is AutoresetMode.DISABLED and over.any():
            asked = [{"reset_mask": over.copy()} for _ in range(2)]  # gymnasium empties what it is given
            assert_same(theirs.reset(options=asked[0]), ours.reset(options=asked[1]))
    assert ends >= 6
    ours.close()
    theirs.close()


@pytest.fixture
def vector(task_benchmark, tmp_path):
    made: list[NavVectorEnv] = []

    def make(*overrides: str, num_envs: int = 2, workers: int = 2, **settings: Any) -> NavVectorEnv:
        benchmark = task_benchmark("lh_vln", *overrides)
        cache = tmp_path / "cache"
        made.append(NavVectorEnv(benchmark, num_envs=num_envs, workers=workers, cache=cache, **settings))
        return made[-1]

    yield make
    for env in made:
        env.close()


def test_the_number_of_workers_changes_nothing(vector) -> None:
    one, three = (vector(num_envs=3, workers=n, sensors=["rgb_front", "pose"]) for n in (1, 3))
    assert_same(one.reset(seed=1), three.reset(seed=1))
    for actions in ([2, 2, 2], [1, 2, 3], [2, 0, 2]):
        assert_same(one.step(actions), three.step(actions))


def test_every_environment_can_get_its_own_episode(vector) -> None:
    env = vector("evaluation.max_steps=1", num_envs=3, sensors=["pose"], autoreset_mode="Disabled")
    _, infos = env.reset(options={"episode_ids": ["d", "a", None]})
    assert infos["episode_id"][:2].tolist() == ["d", "a"]
    env.step([2, 2, 2])
    mask = np.array([False, True, False])
    _, infos = env.reset(options={"reset_mask": mask, "episode_ids": [None, "c", None]})
    assert infos["episode_id"].tolist() == [None, "c", None]
    assert infos["_episode_id"].tolist() == mask.tolist()
    with pytest.raises(NeedsReset, match="reset them: 0, 2"):
        env.step([2, 2, 2])


def test_what_is_out_of_turn_or_of_shape_is_refused(vector) -> None:
    env = vector(sensors=["rgb_front"], copy=False)
    assert env.render() is None
    with pytest.raises(NeedsReset):
        env.step([2, 2])
    first, _ = env.reset(seed=0)
    before = first["rgb_front"].copy()
    env.step_async([1, 1])
    with pytest.raises(NeedsReset, match="step_wait"):
        env.reset()
    second, *_, infos = env.step_wait()
    assert infos["step"].tolist() == [1, 1]
    with pytest.raises(NeedsReset, match="step_async"):
        env.step_wait()
    assert second["rgb_front"] is first["rgb_front"]  # without copies the next step overwrites
    assert not np.array_equal(first["rgb_front"], before)
    for actions in ([1], [1, 2, 3], [0.5, 0.5], [[1, 1]]):
        with pytest.raises(NoSuchAction, match="one action per environment"):
            env.step(actions)
    for mask in ([True, False], np.array([1, 0]), np.array([True]), np.zeros(2, bool)):
        with pytest.raises(ConfigError, match="reset_mask"):
            env.reset(options={"reset_mask": mask})
    with pytest.raises(ConfigError, match="seed must have one entry per environment"):
        env.reset(seed=[1])
    with pytest.raises(WorkerFailed, match="no action"):
        env.step([9, 1])


def test_a_killed_worker_is_named(vector) -> None:
    env = vector(num_envs=4, sensors=["pose"])
    env.reset()
    os.kill(env._workers._workers[1].process.pid, signal.SIGKILL)
    with pytest.raises(WorkerFailed, match="environments 2 to 3 ended with exit code -9"):
        env.step([2, 2, 2, 2])
    env.close()
    env.close()


def test_a_missing_scene_is_told_by_name(vector, tmp_path) -> None:
    env = vector(f"dataset.scene_path={tmp_path}", sensors=["pose"])
    with pytest.raises(WorkerFailed, match=r"room\.glb"):
        env.reset()


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"num_envs": 0}, "num_envs is 0"), ({"order": "random"}, "order"), ({"sensors": ["sonar"]}, "sonar")],
)
def test_wrong_settings_are_refused_before_anything_starts(settings, said, task_benchmark) -> None:
    with pytest.raises(ConfigError, match=said):
        NavVectorEnv(task_benchmark("lh_vln"), **settings)


def test_render_gives_a_picture_each(vector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nav_eval.envs.vector.PATIENCE", 120.0)  # a busy machine takes its time
    env = vector(sensors=["rgb_front"], render_mode="rgb_array", num_envs=3)
    env.reset(options={"episode_ids": ["a", "b", "c"]})
    pictures = env.render()
    assert [picture.shape for picture in pictures] == [pictures[0].shape] * 3
    assert not np.array_equal(pictures[0], pictures[1])
    processes = [worker.process for worker in env._workers._workers]
    env.close()
    assert [process.exitcode for process in processes] == [0, 0]  # they leave when their parent is done


def test_gymnasiums_own_processes_can_play_it_too(task_benchmark, tmp_path) -> None:
    """Without its shared memory, which never refreshes texts (Gymnasium 1.4)."""
    benchmark = task_benchmark("lh_vln")
    settings = {"benchmark": benchmark, "sensors": ["instruction", "rgb_front"], "cache": tmp_path / "cache"}
    env = AsyncVectorEnv([lambda: NavEnv(**settings)] * 2, context="spawn", shared_memory=False)
    observations, _ = env.reset(seed=0)
    assert observations["instruction"] == ("Go to the table, then to the chair.",) * 2
    env.close()


@pytest.mark.parametrize("use_async_envs", [False, True])
def test_lerobots_convention(use_async_envs, task_benchmark, tmp_path) -> None:
    benchmark = task_benchmark("lh_vln", "evaluation.max_steps=4")
    env = make_lerobot_env(n_envs=2, use_async_envs=use_async_envs, benchmark=benchmark, cache=tmp_path / "cache")
    observations, _ = env.reset(seed=[1, 2])
    assert set(observations["pixels"]) == {"rgb_left", "rgb_front", "rgb_right"}
    np.testing.assert_array_equal(observations["agent_pos"], np.zeros((2, 4)))
    assert env.call("_max_episode_steps")[0] == 4
    assert env.call("task_description")[0] == "Go to the table, then to the chair."
    assert env.call("task")[0] == "lh_vln"
    for _ in range(4):
        observations, _, terminated, truncated, infos = env.step(np.array([[0.2, 0.0, 0.1], [0.0, -0.5, 0.0]]))
        assert env.observation_space.contains(observations)
    assert truncated.all()
    assert not terminated.any()
    assert infos["final_info"]["is_success"].tolist() == [False, False]
    env.close()


def test_a_single_camera_is_just_pixels(make_env) -> None:
    env = LeRobotCompat(make_env("vln", sensors=["rgb", "gps"]))
    observation, _ = env.reset(seed=0)
    assert observation["pixels"].shape == (24, 32, 3)
    observation, *_ = env.step(np.array([0.25, 0.0, 0.0], np.float32))
    np.testing.assert_allclose(observation["agent_pos"], [0.25, 0, 0, 0], atol=1e-6)
    *_, terminated, _, info = env.step(np.array([0.0, 0.0, 1.0], np.float32))
    assert terminated
    assert isinstance(info["is_success"], bool)
    with pytest.raises(ConfigError, match="colour"):
        LeRobotCompat(make_env("vln", sensors=["gps"]))
    with pytest.raises(ConfigError, match="our own"):
        LeRobotCompat(gymnasium.make("CartPole-v1"))
