"""Localization through Gymnasium: one answer, judged as an evaluation judges it."""

import math
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from nav_eval.envs.localization import LocalizationEnv
from nav_eval.envs.rollout import NeedsReset
from nav_eval.envs.spaces import NoSuchAction
from nav_eval.errors import ConfigError
from nav_eval.records.geometry import get_yaw


def make(benchmark, **settings) -> LocalizationEnv:
    made = gymnasium.make("nav_eval.envs:NavEval/Localization-v0", benchmark=benchmark, **settings).unwrapped
    assert isinstance(made, LocalizationEnv)
    return made


@pytest.fixture
def env(room_benchmark) -> LocalizationEnv:
    return make(room_benchmark("demo_localization"))


@pytest.mark.parametrize("guesses", [1, 3])
def test_gymnasiums_own_checks(guesses: int, room_benchmark) -> None:
    env = make(room_benchmark("demo_localization"), guesses=guesses)
    assert env.action_space.shape == (guesses, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


@pytest.mark.parametrize(
    ("aside", "turned", "reward"),
    [
        (0.0, 0.0, 1.0),
        (0.7, 0.0, 0.75),  # farther than half a metre
        (0.0, math.radians(20), 0.75),  # farther than 15°
        (9.0, math.pi / 2, 0.0),
    ],
)
def test_an_answer_is_worth_its_accuracies(aside: float, turned: float, reward: float, env: LocalizationEnv) -> None:
    _, info = env.reset(seed=0)
    truth = env.episodes.by_id(info["episode_id"]).private.start
    x, y, z = truth.position
    answer = np.array([[x + aside, y, z, get_yaw(truth.rotation) + turned]], np.float32)
    answer[0, 3] = math.remainder(answer[0, 3], math.tau)
    _, got, terminated, truncated, info = env.step(answer)
    assert (got, terminated, truncated) == (reward, True, False)
    assert info["is_success"] is (reward == 1.0)
    assert np.mean(list(info["metrics"].values())) == reward
    with pytest.raises(NeedsReset):
        env.step(answer)


def test_what_is_no_answer_is_refused(env: LocalizationEnv, room_benchmark) -> None:
    env.reset(seed=0)
    for wrong in ([0, 0, 0, 0], [[0, 0, 0, math.nan]], [[0, 0, 0, 9.0]]):
        with pytest.raises(NoSuchAction):
            env.step(wrong)
    with pytest.raises(ConfigError, match="1 to 3"):
        LocalizationEnv(room_benchmark("demo_localization"), guesses=4)
    with pytest.raises(ConfigError, match="plays 'localization'"):
        LocalizationEnv(room_benchmark("demo_vln"))
