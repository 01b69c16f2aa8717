"""An environment keeps Gymnasium's contract and the benchmark's scores."""

import math
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import nav_eval.envs
from nav_eval.envs import RewardOptions
from nav_eval.envs.render_frame import AGENT, GOAL
from nav_eval.envs.rollout import NeedsReset
from nav_eval.errors import ConfigError, DatasetError
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.tasks.base import is_success

STOP, LEFT, AHEAD, RIGHT = range(4)  # LH-VLN's order
IDS = {task: f"NavEval/{name}-v0" for name, task in nav_eval.envs.TASK_IDS.items() if task}


@pytest.mark.parametrize("task", sorted(IDS))
def test_gymnasiums_own_checks(task, task_benchmark, tmp_path) -> None:
    env = gymnasium.make(IDS[task], benchmark=task_benchmark(task), cache=tmp_path, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_continuous_control_passes_them_too(task_benchmark, tmp_path) -> None:
    velocity = "task.actions=[{name: stop}, {name: velocity_control}]"
    env = gymnasium.make(IDS["vln"], benchmark=task_benchmark("vln", velocity), cache=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.reset(seed=0)
    before = env.unwrapped.rollout.state
    env.step(np.array([1.0, 0.0, 0.0], np.float32))
    after = env.unwrapped.rollout.state
    assert math.dist(before.position, after.position) == pytest.approx(0.25)  # 0.5 m/s for half a second
    *_, terminated, truncated, _ = env.step(np.array([1.0, 1.0, 1.0], np.float32))
    assert (terminated, truncated) == (True, False)


def test_an_id_plays_its_own_task_only(task_benchmark) -> None:
    with pytest.raises(ConfigError, match="plays 'lh_vln'"):
        gymnasium.make(IDS["lh_vln"], benchmark=task_benchmark("vln"))
    gymnasium.make("NavEval/Benchmark-v0", benchmark=task_benchmark("vln")).close()


def test_a_stop_terminates_and_the_limit_truncates(make_env) -> None:
    env = make_env("vln", "evaluation.max_steps=3", sensors=["gps"])
    env.reset(options={"episode_id": "a"})
    *_, terminated, truncated, info = env.step(0)
    assert (terminated, truncated, info["is_success"]) == (True, False, False)
    env.reset()
    endings = [env.step(2)[2:4] for _ in range(3)]
    assert endings == [(False, False), (False, False), (False, True)]


def test_long_horizon_ends_with_the_last_stop(make_env) -> None:
    env = make_env("lh_vln", sensors=["pose"])
    env.reset(options={"episode_id": "a"})
    assert env.step(STOP)[2:4] == (False, False)
    assert env.step(STOP)[2:4] == (True, False)


@pytest.mark.parametrize("when", ["before", "after"])
def test_steps_belong_between_reset_and_end(when, make_env) -> None:
    env = make_env("vln", sensors=["gps"])
    if when == "after":
        env.reset()
        env.step(0)
    with pytest.raises(NeedsReset, match="reset"):
        env.step(1)


def walk(env, episode: str):
    """Play an episode by the expert; returns the rewards and the last info."""
    from nav_eval.agents.baselines import BaselineContext, make_baseline

    observation, info = env.reset(options={"episode_id": episode})
    context = BaselineContext(benchmark=env.benchmark, episodes={e.episode_id: e for e in env.episodes})
    oracle = make_baseline("oracle", context)
    oracle.reset(env.episode.public)
    infos, rewards, over = [info], [], False
    while not over:
        observation, reward, terminated, truncated, info = env.step(env.actions.write(oracle.act(observation), {}))
        rewards.append(reward)
        infos.append(info)
        over = terminated or truncated
    return rewards, infos


def test_a_good_walk_is_a_success(make_env, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    env = make_env("vln", sensors=["gps"], reward={"success": 7.0, "progress": 1.0, "slack": -0.5})
    rewards, infos = walk(env, "a")
    assert [info["is_success"] for info in infos] == [False] * (len(infos) - 1) + [True]
    assert infos[-1]["metrics"]["success"] == 1.0
    nearer = infos[0]["distance_to_goal"] - infos[-1]["distance_to_goal"]
    assert sum(rewards) == pytest.approx(7.0 + nearer - 0.5 * len(rewards))


def test_every_leg_pays(make_env, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    options = RewardOptions(success=100.0, subtask=10.0, progress=0.0, slack=0.0)
    rewards, infos = walk(make_env("lh_vln", sensors=["pose"], reward=options), "b")
    assert sorted(reward for reward in rewards if reward) == [10.0, 110.0]
    assert infos[-1]["metrics"]["sr"] == 1.0


def test_progress_is_towards_the_goal_of_the_moment(make_env) -> None:
    env = make_env("lh_vln", sensors=["pose"], reward={"progress": 1.0, "slack": 0.0, "wrong_stop": -3.0})
    _, info = env.reset(options={"episode_id": "a"})
    first = info["distance_to_goal"]
    _, reward, *_, info = env.step(STOP)  # gives the first leg up
    assert reward == -3.0
    assert info["distance_to_goal"] > first  # now to the chair, in the other half of the room
    second = info["distance_to_goal"]
    _, reward, *_, info = env.step(AHEAD)
    assert reward == pytest.approx(second - info["distance_to_goal"])


def test_walls_can_cost(make_env) -> None:
    env = make_env("lh_vln", sensors=["pose"], reward={"progress": 0.0, "slack": 0.0, "collision": -0.25})
    env.reset(options={"episode_id": "c"})
    outcomes = [env.step(AHEAD) for _ in range(6)]  # it starts half a metre from a wall
    assert [reward for _, reward, *_ in outcomes] == [-0.25 if info["collided"] else 0.0 for *_, info in outcomes]
    assert any(info["collided"] for *_, info in outcomes)


@pytest.mark.parametrize("task", ["lh_vln", "vln"])
def test_the_scores_are_the_evaluators(task, make_env, tmp_path) -> None:
    """The actions of a run lead to the same places and the same metrics, bit for bit."""
    env = make_env(task, "evaluation.max_steps=50", sensors=["instruction"])
    run = tmp_path / "run"
    orchestrator = EvaluationOrchestrator(cache=tmp_path / "cache")
    orchestrator.run_benchmark(env.benchmark, agent="baseline:noisy_oracle?skill=0.9", out=run)
    for result in RunFolder(run).results():
        env.reset(options={"episode_id": result.episode_id})
        outcomes = [env.step(env.actions.write(action, {})) for action in result.actions]
        *_, terminated, truncated, info = outcomes[-1]
        assert terminated or truncated
        assert env.rollout.play.log.trajectory == result.trajectory
        assert env.rollout.play.log.digest == result.action_digest
        assert {name: info["metrics"].get(name) for name in result.metrics} == result.metrics
        assert info["is_success"] == is_success(result)


@pytest.mark.parametrize(
    ("reward", "said"),
    [({"sucess": 1.0}, "no reward 'sucess'"), ({"success": "much"}, "must be a number"), ({"slack": math.nan}, "must")],
)
def test_wrong_rewards_are_refused(reward, said) -> None:
    with pytest.raises(ConfigError, match=said):
        RewardOptions.of(reward)


def order_of(env, count: int, seed: int | None) -> list[str]:
    first = env.reset(seed=seed)[1]["episode_id"]
    return [first, *(env.reset()[1]["episode_id"] for _ in range(count - 1))]


def test_the_seed_is_the_order(make_env) -> None:
    env = make_env("vln", sensors=["gps"])
    rounds = order_of(env, 8, seed=4)
    assert order_of(env, 8, seed=4) == rounds
    assert sorted(rounds[:4]) == sorted(rounds[4:]) == ["a", "b", "c", "d"]
    assert any(order_of(env, 8, seed=seed) != rounds for seed in range(3))


def test_other_orders(make_env) -> None:
    assert order_of(make_env("vln", sensors=["gps"], order="benchmark"), 5, seed=1) == ["a", "b", "c", "d", "a"]
    with pytest.raises(ConfigError, match="order is 'random'"):
        make_env("vln", order="random")


def test_an_unknown_episode_is_refused(make_env) -> None:
    with pytest.raises(DatasetError, match="'z'"):
        make_env("vln", sensors=["gps"]).reset(options={"episode_id": "z"})


def test_observations_are_yours_to_keep(make_env) -> None:
    env = make_env("imagenav")
    first, _ = env.reset(seed=0)
    kept = {name: np.copy(value) for name, value in first.items()}
    second, *_ = env.step(2)
    second["imagegoal"][:] = 0  # must not reach the simulator's own
    third, *_ = env.step(2)
    assert third["imagegoal"].any()
    for name, value in kept.items():
        np.testing.assert_array_equal(first[name], value)


def test_render_shows_cameras_and_map(make_env) -> None:
    env = make_env("lh_vln", render_mode="rgb_array")
    env.reset(options={"episode_id": "a"})
    picture = env.render()
    assert (picture.shape[0], picture.shape[2], picture.dtype) == (240, 3, np.uint8)
    assert picture.shape[1] == 3 * 320 + 240
    for colour in (AGENT, GOAL):
        assert (picture[:, -240:] == colour).all(axis=2).any()
    env.step(AHEAD)
    assert not np.array_equal(env.render(), picture)


def test_render_without_a_mode_says_so(make_env) -> None:
    env = make_env("vln", sensors=["gps"])
    env.reset()
    with pytest.warns(UserWarning, match="rgb_array"):
        assert env.render() is None
    with pytest.raises(ConfigError, match="render_mode"):
        make_env("vln", render_mode="human")


def test_close_may_be_called_twice(make_env) -> None:
    env = make_env("vln")
    env.reset()
    env.close()
    env.close()
