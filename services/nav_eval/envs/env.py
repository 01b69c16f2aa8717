"""A benchmark as a Gymnasium environment: the researcher's bits are the evaluator's bits."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loader import TaskDataset
from nav_eval.envs.rollout import RewardOptions, Rollout, Stepped
from nav_eval.envs.spaces import make_action_reader, make_observation_space
from nav_eval.errors import ConfigError
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.sensors import ImageGoalSensor, SensorValue, TextValue
from nav_eval.simulator.base import ObservationBuffers, Observations, SimulatorSetup

Observed = dict[str, Any]
Info = dict[str, Any]

RENDER_MODES = ("rgb_array",)

EpisodeOrder: TypeAlias = Literal["shuffled", "by_scene", "benchmark"]
"""Drawn anew each time round; drawn scene by scene, which loads each scene once; or as an evaluation plays them."""


class NavEnv(gymnasium.Env[Observed, Any]):
    """Plays the episodes of a benchmark, one per `reset`.

    `terminated` is the agent's own (last) stop, `truncated` the step limit. `info` has `step`,
    `distance_to_goal`, `collided` and `is_success` at every step, `episode_id` and `scene_id` after a reset,
    and `metrics`, the benchmark's own, once the episode is over.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES), "render_fps": 10}  # type: ignore[misc]

    def __init__(
        self,
        benchmark: BenchmarkConfig | str | Path,
        *,
        task: str | None = None,
        overrides: Sequence[str] = (),
        sensors: Sequence[str] | None = None,
        control: str | None = None,
        reward: RewardOptions | Mapping[str, float] | None = None,
        order: EpisodeOrder = "shuffled",
        run_seed: int = 0,
        cache: Path | str | None = None,
        render_mode: str | None = None,
    ) -> None:
        """`sensors` are the ones that are delivered, and therefore drawn; all of the benchmark's if None."""
        if render_mode not in (None, *RENDER_MODES):
            raise ConfigError(f"render_mode is {render_mode!r}; it is one of {', '.join(RENDER_MODES)}.")
        self.render_mode = render_mode
        self.benchmark = open_benchmark(benchmark, task=task, overrides=overrides)
        cache = Path(cache) if cache else get_cache_folder()
        provide_data(self.benchmark, cache=cache)
        self.episodes: TaskDataset = load_episodes(self.benchmark)
        self.observation_space: spaces.Dict = make_observation_space(self.benchmark, self.episodes, sensors=sensors)
        self.actions = make_action_reader(self.benchmark.task, control=control)
        self.action_space = self.actions.space
        self._coming = EpisodeIterator(self.episodes, order=order)
        setup = SimulatorSetup(benchmark=self.benchmark, cache=cache, run_seed=run_seed)
        self._rollout = Rollout(setup, sensors=list(self.observation_space), options=RewardOptions.of(reward))
        suite = self.benchmark.sensors()
        #: the simulator takes a goal's picture once, and hands out the same array at every step
        self._kept = {name for name, sensor in suite.items() if isinstance(sensor, ImageGoalSensor)}
        self._last: Observed = {}
        self._screen: Any = None  # needs pillow, so it is made by the first `render`
        #: arrays that observations are written into, instead of fresh ones; the last of an episode may have its own
        self.places: ObservationBuffers | None = None
        self.last_places: ObservationBuffers | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observed, Info]:
        """Begin the next episode, or the one that `options["episode_id"]` names; a seed begins a new order."""
        super().reset(seed=seed)
        if seed is not None:
            self._coming.restart()
        episode = self._choose_episode(options or {})
        observations = self._rollout.begin(episode, out=self.places)
        self._last = self._deliver(observations, self.places)
        info = {"episode_id": episode.episode_id, "scene_id": episode.scene_id}
        return dict(self._last), info | self._info(is_success=False)

    def step(self, action: Any) -> tuple[Observed, float, bool, bool, Info]:  # noqa: ANN401 - whatever a policy returns
        return self.finish_step(self.begin_step(action))

    def begin_step(self, action: Any) -> Stepped:  # noqa: ANN401
        """Act, without looking."""
        return self._rollout.act(*self.actions.read(action))

    def choose_places(self, stepped: Stepped) -> ObservationBuffers | None:
        """Where the observation after such a step goes."""
        return self.last_places if stepped.over and self.last_places is not None else self.places

    def finish_step(self, stepped: Stepped) -> tuple[Observed, float, bool, bool, Info]:
        """Look at what the step led to."""
        places = self.choose_places(stepped)
        self._last = self._deliver(self._rollout.observe(out=places), places)
        info = self._info(is_success=stepped.success)
        if stepped.over:
            info["metrics"] = self._metrics()
        return dict(self._last), stepped.reward, stepped.terminated, stepped.truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """The cameras and the map, height × width × 3."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing: make the environment with render_mode='rgb_array'.")
            return None
        play = self._rollout.play
        from nav_eval.envs.render_frame import Scenery, Screen

        self._screen = self._screen or Screen(self.benchmark)
        goals = tuple(goal for subtask in play.episode.subtasks for goal in subtask.goals) or play.episode.goals
        scenery = Scenery(
            cameras=self._last,
            ground=play.ground,
            path=play.log.trajectory,
            state=play.state,
            goals=[goal.position for goal in goals],
        )
        picture: NDArray[np.uint8] = self._screen.draw(scenery)
        return picture

    def close(self) -> None:
        """May be called again and again."""
        self._rollout.close()
        self._last = {}

    @property
    def episode(self) -> Episode:
        """The current episode, private half included."""
        return self._rollout.episode

    @property
    def rollout(self) -> Rollout:
        """What the environment plays: the agent's exact state, the ground, the distance to the goal."""
        return self._rollout

    def _choose_episode(self, options: dict[str, Any]) -> Episode:
        name = options.get("episode_id")
        return self._coming.next(self.np_random) if name is None else self.episodes.by_id(name)

    def _deliver(self, observations: Observations, places: ObservationBuffers | None) -> Observed:
        """Readings as the spaces have them, each in an array of its own or in its place."""
        given = places or {}
        return {name: self._place_reading(name, observations[name], given.get(name)) for name in self.observation_space}

    def _place_reading(self, name: str, value: SensorValue, place: NDArray[Any] | None) -> str | NDArray[Any]:
        if isinstance(value, TextValue):
            return value.text
        if place is None:
            return value.copy() if name in self._kept else value
        if value is not place:  # it was not written there in the first place
            np.copyto(place, value)
        return place

    def _info(self, *, is_success: bool) -> Info:
        play = self._rollout.play
        return {
            "step": play.progress.steps,
            "distance_to_goal": self._rollout.distance,
            "collided": play.state.collided,
            "is_success": is_success,
        }

    def _metrics(self) -> dict[str, float]:
        """Those that have a value; the clock is left out, so that equal seeds give equal infos."""
        metrics = self._rollout.play.progress.result().metrics
        return {name: float(v) for name, v in metrics.items() if v is not None and math.isfinite(v) and name != "time"}


class EpisodeIterator:
    """Which episode comes next, again and again. It depends on the seed of `reset` and on nothing else."""

    def __init__(self, episodes: Sequence[Episode], *, order: EpisodeOrder) -> None:
        if order not in get_args(EpisodeOrder):
            raise ConfigError(f"order is {order!r}; it is one of {', '.join(get_args(EpisodeOrder))}.")
        self._episodes = episodes
        self._order = order
        self._coming: list[int] = []

    def restart(self) -> None:
        """The next episode is the first of a new round."""
        self._coming.clear()

    def next(self, random: np.random.Generator) -> Episode:
        if not self._coming:
            self._coming = self._order_round(random)[::-1]
        return self._episodes[self._coming.pop()]

    def _order_round(self, random: np.random.Generator) -> list[int]:
        count = len(self._episodes)
        if self._order == "benchmark":
            return list(range(count))
        drawn: list[int] = random.permutation(count).tolist()
        if self._order == "shuffled":
            return drawn
        by_scene: dict[str, list[int]] = defaultdict(list)
        for index in drawn:
            by_scene[self._episodes[index].scene_id].append(index)
        return [index for scene in by_scene.values() for index in scene]


def open_benchmark(
    benchmark: BenchmarkConfig | str | Path, *, task: str | None, overrides: Sequence[str] = ()
) -> BenchmarkConfig:
    """A benchmark by name, by file, or as it is; refuses one of another task."""
    if isinstance(benchmark, BenchmarkConfig):
        if overrides:
            raise ConfigError("Overrides change a benchmark that is loaded by name or file, not a resolved one.")
        config = benchmark
    else:
        config = load_benchmark(str(benchmark), overrides=overrides)
    if task is not None and config.task.type != task:
        raise ConfigError(f"This environment plays {task!r}; the benchmark {config.name!r} is {config.task.type!r}.")
    return config


def provide_data(benchmark: BenchmarkConfig, *, cache: Path) -> None:
    """Make what the benchmark generates, if it is not there; every worker process looks, hardly one needs the maker."""
    wanted = benchmark.dataset.data_path
    if benchmark.dataset.generate is not None and wanted is not None and not Path(wanted).exists():
        from nav_eval.generators import ensure_generated

        ensure_generated(benchmark, cache=cache)
