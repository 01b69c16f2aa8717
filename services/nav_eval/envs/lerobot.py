"""A benchmark as LeRobot's evaluation expects environments: `pixels`, `agent_pos`, one float vector as action.

`agent_pos` and `action` are those of a LeRobot export of ours (`nav_eval.dataset.action_vectors`). For the Hub, an
`env.py` with `from nav_eval.envs.lerobot import make_env` is all that is needed.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from nav_eval.dataset.action_vectors import STATE_NAMES, ActionVectors, compute_relative_states
from nav_eval.envs.env import Info, NavEnv, Observed
from nav_eval.errors import ConfigError
from nav_eval.sensors import RgbSensor
from nav_eval.sensors.position import FARTHEST

PIXELS, AGENT_POS = "pixels", "agent_pos"


class LeRobotCompat(gymnasium.Wrapper[Observed, NDArray[np.float32], Observed, Any]):
    """Several cameras become `pixels: {name: picture}`, a single one just `pixels`."""

    def __init__(self, env: "gymnasium.Env[Observed, Any]") -> None:
        super().__init__(env)
        base = env.unwrapped
        if not isinstance(base, NavEnv):
            raise ConfigError(f"LeRobotCompat wraps our own environments, not {type(base).__name__}.")
        self._base = base
        suite = base.benchmark.sensors()
        self._cameras = [n for n in base.observation_space if isinstance(suite[n], RgbSensor)]
        if not self._cameras:
            raise ConfigError("LeRobot policies look at colour pictures; add an rgb camera to `sensors`.")
        self._vectors = ActionVectors(base.benchmark.task)
        low = -self._vectors.limits
        low[self._vectors.names.index("stop")] = 0.0
        self.action_space = spaces.Box(low, self._vectors.limits, dtype=np.float32)
        self.observation_space = spaces.Dict({PIXELS: self._pixel_space(), AGENT_POS: _make_pose_space()})
        self._max_episode_steps = base.benchmark.evaluation.max_steps
        self._poses: list[tuple[tuple[float, float, float], float]] = []

    @property
    def task(self) -> str:
        return self._base.benchmark.task.type

    @property
    def task_description(self) -> str:
        """What the agent is told in the current episode."""
        if not self._poses:
            return self._base.benchmark.description
        public = self._base.episode.public
        if public.instruction is not None:
            return public.instruction.text
        return f"Find: {public.object_category}" if public.object_category else self._base.benchmark.description

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observed, Info]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._poses = [self._pose()]
        return self._seen(observation), info

    def step(self, action: NDArray[np.float32]) -> tuple[Observed, float, bool, bool, Info]:
        name, arguments = self._vectors.decode(action)
        observation, reward, terminated, truncated, info = self.env.step(self._base.actions.write(name, arguments))
        return self._seen(observation), float(reward), terminated, truncated, info

    def _seen(self, observation: Observed) -> Observed:
        pictures = {name: observation[name] for name in self._cameras}
        poses = [self._poses[0], self._pose()]
        state = compute_relative_states([position for position, _ in poses], [yaw for _, yaw in poses])[1]
        return {PIXELS: pictures if len(pictures) > 1 else pictures[self._cameras[0]], AGENT_POS: state}

    def _pose(self) -> tuple[tuple[float, float, float], float]:
        state = self._base.rollout.state
        return state.position, state.yaw

    def _pixel_space(self) -> "spaces.Space[Any]":
        boxes = {name: self._base.observation_space[name] for name in self._cameras}
        return spaces.Dict(boxes) if len(boxes) > 1 else boxes[self._cameras[0]]


def make_env(
    n_envs: int = 1, use_async_envs: bool = False, *, env_id: str = "NavEval/Benchmark-v0", **settings: object
) -> "VectorEnv[Any, Any, Any]":
    """Vectorised as LeRobot wants it; `settings` are those of `gymnasium.make(env_id, …)`."""
    makers: list[Callable[[], gymnasium.Env[Any, Any]]] = [lambda: _make(env_id, settings)] * n_envs
    mode = AutoresetMode.SAME_STEP  # LeRobot reads `final_info`
    if use_async_envs:
        return AsyncVectorEnv(makers, autoreset_mode=mode, context="spawn")
    return SyncVectorEnv(makers, autoreset_mode=mode)


def _make(env_id: str, settings: dict[str, Any]) -> "gymnasium.Env[Any, Any]":
    return LeRobotCompat(gymnasium.make(f"nav_eval.envs:{env_id}", **settings))


def _make_pose_space() -> spaces.Box:
    high = np.array([FARTHEST, FARTHEST, FARTHEST, np.pi], np.float32)
    assert len(high) == len(STATE_NAMES)
    return spaces.Box(-high, high, dtype=np.float32)
