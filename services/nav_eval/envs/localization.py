"""Localization as an environment of one step: read where you are said to be, and say where that is."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loader import TaskDataset
from nav_eval.envs.env import EpisodeIterator, EpisodeOrder, Info, Observed, open_benchmark, provide_data
from nav_eval.envs.rollout import NeedsReset
from nav_eval.envs.spaces import NoSuchAction, make_sensor_space
from nav_eval.errors import ConfigError
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.records.geometry import Pose
from nav_eval.scene.navigation import OpenPlane
from nav_eval.tasks.base import build_task
from nav_eval.tasks.localization import is_in_metric_frame

FARTHEST = 1e6  #: metres from zero; no coordinate is farther
MOST_GUESSES = 3


class LocalizationEnv(gymnasium.Env[Observed, NDArray[np.float32]]):
    """Every `reset` tells a situation, and the one `step` after it ends the episode.

    An action has a row per guess: position, and the heading in radians about the axis that is up in the frame of
    the episode's dataset (z for SQA3D, y for everything else). The reward is the mean of the benchmark's accuracies.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self,
        benchmark: BenchmarkConfig | str | Path,
        *,
        task: str | None = "localization",
        overrides: Sequence[str] = (),
        guesses: int = 1,
        order: EpisodeOrder = "shuffled",
        cache: Path | str | None = None,
        render_mode: None = None,
    ) -> None:
        self.render_mode = render_mode  # there is nothing to be seen
        if not 1 <= guesses <= MOST_GUESSES:
            raise ConfigError(f"guesses is {guesses}; a localization answer has 1 to {MOST_GUESSES}.")
        self.benchmark = open_benchmark(benchmark, task=task, overrides=overrides)
        provide_data(self.benchmark, cache=Path(cache) if cache else get_cache_folder())
        self.episodes: TaskDataset = load_episodes(self.benchmark)
        self._sensor = next(name for name, s in self.benchmark.sensors().items() if s.kind == "instruction")
        config = self.benchmark.sensors()[self._sensor]
        self.observation_space = spaces.Dict({self._sensor: make_sensor_space(self._sensor, config, self.episodes)})
        high = np.broadcast_to(np.array([FARTHEST] * 3 + [math.pi], np.float32), (guesses, 4)).copy()
        self.action_space = spaces.Box(-high, high, dtype=np.float32)
        self._coming = EpisodeIterator(self.episodes, order=order)
        self._task = build_task(self.benchmark.task, self.benchmark.evaluation)
        self._episode: Episode | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observed, Info]:
        """Tell the next situation, or the one that `options["episode_id"]` names; a seed begins a new order."""
        super().reset(seed=seed)
        if seed is not None:
            self._coming.restart()
        name = (options or {}).get("episode_id")
        episode = self._coming.next(self.np_random) if name is None else self.episodes.by_id(name)
        self._episode = episode
        info = {"episode_id": episode.episode_id, "scene_id": episode.scene_id, "is_success": False}
        return self._observe(episode), info

    def step(self, action: ArrayLike) -> tuple[Observed, float, bool, bool, Info]:
        if self._episode is None:
            raise NeedsReset
        guesses = np.asarray(action, np.float32)
        if not self.action_space.contains(guesses):
            raise NoSuchAction(f"{action!r} is no answer; give rows of x, y, z and heading within {self.action_space}.")
        episode, self._episode = self._episode, None
        progress = self._task.start(episode, OpenPlane())  # nobody walks, so it takes neither scene nor simulator
        is_z_up = is_in_metric_frame(episode)
        progress.answer([_make_pose(*row, is_z_up=is_z_up) for row in guesses.astype(float).tolist()])
        metrics = {name: float(value or 0.0) for name, value in progress.result().metrics.items()}
        reward = math.fsum(metrics.values()) / max(1, len(metrics))
        return self._observe(episode), reward, True, False, {"is_success": reward == 1.0, "metrics": metrics}

    def _observe(self, episode: Episode) -> Observed:
        return {self._sensor: episode.instruction.text if episode.instruction else ""}


def _make_pose(x: float, y: float, z: float, heading: float, *, is_z_up: bool) -> Pose:
    """Turned about the axis that is up."""
    sine, cosine = math.sin(heading / 2), math.cos(heading / 2)
    return Pose((x, y, z), (0.0, 0.0, sine, cosine) if is_z_up else (0.0, sine, 0.0, cosine))
