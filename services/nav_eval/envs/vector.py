"""Many environments at once, in several processes, with one copy of a picture at most.

A worker's renderer draws straight into shared memory; `step` returns a copy of that memory, or with
`copy=False` the memory itself, valid until the next call. Everything else is what Gymnasium's own vector
environments do, so that `NavVectorEnv` and `SyncVectorEnv` of the same environments agree to the last bit.
"""

import contextlib
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig
from nav_eval.envs.env import EpisodeIterator, EpisodeOrder, NavEnv, open_benchmark, provide_data
from nav_eval.envs.rollout import NeedsReset, RewardOptions
from nav_eval.envs.spaces import NoSuchAction, make_action_reader, make_observation_space
from nav_eval.envs.vector_worker import (
    ACTION,
    FINAL,
    INFO,
    OBSERVATION,
    STEP,
    Command,
    EpisodeBegan,
    EpisodeEnded,
    Layout,
    Reply,
    ResetRequest,
    SharedArrays,
    WorkerPipe,
    WorkerSetup,
    make_layout,
    run_worker,
)
from nav_eval.errors import ConfigError, SimulatorError
from nav_eval.evaluation.episodes import load_episodes

PATIENCE = 5.0  #: seconds for a worker to end by itself
_RENDER = msgspec.json.encode(Command(name="render"))


class WorkerFailed(SimulatorError):
    """A worker process of a vector environment failed; the message says why."""


class _Worker(NamedTuple):
    process: BaseProcess
    channel: WorkerPipe
    envs: range


class Workers:
    """Processes that share one memory, with the environments dealt out in equal runs."""

    def __init__(self, layout: Layout, *, count: int, order: dict[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.memory = SharedArrays.create(layout, context)
        self._workers: list[_Worker] = []
        for envs in _deal(layout.num_envs, count):
            ours, theirs = WorkerPipe.make_pair(context)
            made = WorkerSetup(envs=list(envs), num_envs=layout.num_envs, arrays=layout.arrays, **order)
            arguments = (theirs, self.memory.memory, msgspec.json.encode(made))
            process = context.Process(target=run_worker, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._workers.append(_Worker(process, ours, envs))

    def greet(self) -> None:
        """Wait until all are ready."""
        self.collect()

    def reset(self, commands: Sequence[Command]) -> None:
        """One command per worker, in order."""
        for worker, command in zip(self._workers, commands, strict=True):
            _send(worker, msgspec.json.encode(command))

    def step(self) -> None:
        """All environments, with the actions that are in memory."""
        for worker in self._workers:
            with contextlib.suppress(OSError):  # it died; hearing from it says why
                worker.channel.nudge()

    def collect(self) -> list[Reply]:
        """What the workers have to tell about the last command; most steps leave nothing to tell."""
        heard = [_receive(worker) for worker in self._workers]
        return [_parse_reply(message) for message in heard if message is not None]

    def render(self) -> list[NDArray[np.uint8]]:
        for worker in self._workers:
            _send(worker, _RENDER)
        return [picture for worker in self._workers for picture in _receive_pictures(worker)]

    @property
    def runs(self) -> list[range]:
        """Which environments each worker has."""
        return [worker.envs for worker in self._workers]

    def close(self) -> None:
        for worker in self._workers:
            worker.channel.close()  # the end of its input is the end of its work
        for worker in self._workers:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()


def _send(worker: _Worker, message: bytes) -> None:
    with contextlib.suppress(OSError):  # it died; hearing from it says why
        worker.channel.send(message)


def _receive(worker: _Worker) -> bytes | None:
    try:
        return worker.channel.receive()
    except (EOFError, OSError) as error:
        worker.process.join(PATIENCE)
        raise WorkerFailed(
            f"The worker of environments {worker.envs.start} to {worker.envs.stop - 1} ended with exit code "
            f"{worker.process.exitcode}; −9 is often a machine out of memory: use fewer environments."
        ) from error


def _parse_reply(message: bytes) -> Reply:
    reply = msgspec.json.decode(message, type=Reply)
    if reply.refusal is not None:
        raise WorkerFailed(reply.refusal)
    return reply


def _receive_pictures(worker: _Worker) -> Iterator[NDArray[np.uint8]]:
    for height, width in _parse_reply(_receive(worker) or b"").pictures:
        yield np.frombuffer(bytearray(_receive(worker) or b""), np.uint8).reshape(height, width, 3)


def _deal(environments: int, workers: int) -> list[range]:
    """Runs that differ in length by one at most."""
    ends = [environments * n // workers for n in range(workers + 1)]
    return [range(start, end) for start, end in pairwise(ends)]


Batch = dict[str, Any]
Stepped = tuple[Batch, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class NavVectorEnv(VectorEnv[Batch, ArrayLike, NDArray[Any]]):
    """`num_envs` environments of one benchmark in `workers` processes (by default one per core)."""

    def __init__(
        self,
        benchmark: BenchmarkConfig | str | Path,
        *,
        num_envs: int = 1,
        workers: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
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
        config = open_benchmark(benchmark, task=task, overrides=overrides)
        cache = Path(cache) if cache else get_cache_folder()
        provide_data(config, cache=cache)
        episodes = load_episodes(config)
        EpisodeIterator(episodes, order=order)  # refuses a wrong order here rather than in every worker
        self.num_envs = _check_count("num_envs", num_envs)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.copy = copy
        self.render_mode = render_mode
        self.metadata = {**NavEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space: spaces.Dict = make_observation_space(config, episodes, sensors=sensors)
        self.single_action_space = make_action_reader(config.task, control=control).space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._texts = {
            name: [""] * num_envs
            for name, space in self.single_observation_space.items()
            if isinstance(space, spaces.Text)
        }
        self._waiting = np.ones(num_envs, np.bool_)  #: for a reset; none do, so `step` may be called, if `_ready`
        self._ready = False
        self._everywhere = np.ones(num_envs, np.bool_)
        self._pending = False
        options = RewardOptions.of(reward)
        env = {
            "sensors": list(self.single_observation_space),
            "control": control,
            "reward": {name: getattr(options, name) for name in options.__dataclass_fields__},
            "order": order,
            "run_seed": run_seed,
            "cache": str(cache),
            "render_mode": render_mode,
        }
        self._workers = Workers(
            make_layout(
                num_envs,
                self.single_observation_space,
                self.single_action_space,
                with_final=self.autoreset_mode is AutoresetMode.SAME_STEP,
            ),
            count=min(_check_count("workers", workers or os.cpu_count() or 1), num_envs),
            order={"benchmark": config.model_dump(mode="json"), "env": env, "autoreset": self.autoreset_mode.value},
        )
        self._memory = self._workers.memory
        self._actions = self._memory[ACTION]
        self._arrays = self._memory.under(OBSERVATION)
        self._sensors = list(self.single_observation_space)
        self._numeric = [(name, f"_{name}", self._memory[name]) for name in INFO]
        self._workers.greet()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Batch, dict[str, Any]]:
        """Begin episodes everywhere, or where `options["reset_mask"]` is true.

        Environment `i` gets the seed `seed + i`, or the i-th of several. `options["episode_ids"]` names an
        episode, or None, per environment.
        """
        self._refuse_pending()
        mask = self._mask(options or {})
        names = _as_many(self.num_envs, "episode_ids", (options or {}).get("episode_ids"))
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        seeds = _as_many(self.num_envs, "seed", seeds)
        requests = [ResetRequest(env=i, seed=seeds[i], episode_id=names[i]) for i in np.flatnonzero(mask).tolist()]
        self._workers.reset(
            [Command(name="reset", requests=[s for s in requests if s.env in run]) for run in self._workers.runs]
        )
        began = [event for reply in self._workers.collect() for event in reply.began]
        self._wait_for_reset(self._waiting & ~mask)
        infos = self._numbers(mask)
        self._note_beginnings(infos, began)
        return self._observations(), infos

    def step(self, actions: ArrayLike) -> Stepped:
        """One action per environment."""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: ArrayLike) -> None:
        """Let the environments step while you do something else."""
        self._refuse_pending()
        if not self._ready:
            which = ", ".join(map(str, np.flatnonzero(self._waiting)))
            raise NeedsReset(f"The episodes of these environments are over or have not begun, reset them: {which}.")
        np.copyto(self._actions, self._check_actions(actions))
        self._workers.step()
        self._pending = True

    def step_wait(self) -> Stepped:
        """What came of `step_async`."""
        if not self._pending:
            raise NeedsReset("step_wait has nothing to wait for; call step_async first.")
        self._pending = False
        replies = self._workers.collect()
        reward, terminated, truncated = [self._memory[name].copy() for name in STEP]
        if self.autoreset_mode is AutoresetMode.DISABLED:
            self._wait_for_reset(terminated | truncated)
        infos = self._numbers(self._everywhere)
        for reply in replies:
            self._note_endings(infos, reply.ended)
        for reply in replies:
            self._note_beginnings(infos, reply.began)
        return self._observations(), reward, terminated, truncated, infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """One picture per environment."""
        self._refuse_pending()
        return None if self.render_mode is None else tuple(self._workers.render())

    def close_extras(self, **_: object) -> None:
        """End the processes."""
        if hasattr(self, "_workers"):  # a constructor that refuses has none
            self._workers.close()

    def _observations(self) -> Batch:
        """Pictures and numbers from memory, texts as they were last sent; in the order of the space."""
        return {
            name: tuple(self._texts[name]) if name in self._texts else self._given(self._arrays[name])
            for name in self._sensors
        }

    def _given(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy() if self.copy else array

    def _numbers(self, mask: NDArray[np.bool_]) -> dict[str, Any]:
        """The numeric infos of the environments in the mask."""
        infos: dict[str, Any] = {}
        for name, flag, array in self._numeric:
            infos[name] = array.copy()
            infos[flag] = mask.copy()
            if mask is not self._everywhere:
                infos[name][~mask] = 0
        return infos

    def _wait_for_reset(self, waiting: NDArray[np.bool_]) -> None:
        self._waiting = waiting
        self._ready = not waiting.any()

    def _note_beginnings(self, infos: dict[str, Any], began: Sequence[EpisodeBegan]) -> None:
        for event in began:
            for name, text in event.texts.items():
                self._texts[name][event.env] = text
            self._add_info(infos, {"episode_id": event.episode_id, "scene_id": event.scene_id}, event.env)

    def _note_endings(self, infos: dict[str, Any], ended: Sequence[EpisodeEnded]) -> None:
        """What episodes ended with: apart from what the next ones begin with, where that is the same step."""
        for event in ended:
            info: dict[str, Any] = {"metrics": event.metrics}
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                numbers = {name: self._memory[FINAL + name][event.env].item() for name in INFO}
                info = {"final_info": numbers | info, "final_obs": self._final(event.env)}
            self._add_info(infos, info, event.env)

    def _final(self, env: int) -> Batch:
        arrays = self._memory.row(FINAL + OBSERVATION, env)
        return {
            name: self._texts[name][env] if name in self._texts else self._given(arrays[name]) for name in self._sensors
        }

    def _check_actions(self, actions: ArrayLike) -> NDArray[Any]:
        given = np.asarray(actions)
        room = self._actions
        fits = given.dtype == room.dtype or np.can_cast(given.dtype, room.dtype, "same_kind")
        if given.shape != room.shape or not fits:
            raise NoSuchAction(
                f"step wants one action per environment, {room.dtype}{room.shape}; got {given.dtype}{given.shape}."
            )
        return given

    def _mask(self, options: dict[str, Any]) -> NDArray[np.bool_]:
        mask = options.get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ConfigError(f"reset_mask must be a bool array of shape ({self.num_envs},), got {mask!r}.")
        if not mask.any():
            raise ConfigError("reset_mask names no environment; leave the call out.")
        return mask.copy()

    def _refuse_pending(self) -> None:
        if self._pending:
            raise NeedsReset("A step is under way; call step_wait first.")


def _check_count(name: str, value: int) -> int:
    if value < 1:
        raise ConfigError(f"{name} is {value}; it must be at least 1.")
    return value


def _as_many(count: int, name: str, values: Sequence[Any] | None) -> Sequence[Any]:
    """One value per environment; None for all where nothing is given."""
    if values is None:
        return [None] * count
    if len(values) != count:
        raise ConfigError(f"{name} must have one entry per environment, {count}; got {len(values)}.")
    return values
