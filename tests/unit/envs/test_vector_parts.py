"""The parts of the vector environment in one process: who writes where, and how often a picture is copied."""

import multiprocessing
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from nav_eval.config import BenchmarkConfig
from nav_eval.envs import vector
from nav_eval.envs.env import NavEnv
from nav_eval.envs.vector import NavVectorEnv, _deal
from nav_eval.envs.vector_worker import ALIGNMENT, Command, Layout, Reply, SharedArrays, WorkerEnvs, WorkerPipe
from nav_eval.simulator.rendering import Renderer


class WorkersHere:
    """`Workers` without processes, so that addresses can be compared."""

    def __init__(self, layout: Layout, *, count: int, order: dict[str, Any]) -> None:
        self.memory = SharedArrays.create(layout, multiprocessing.get_context("spawn"))
        self.runs = [range(layout.num_envs)]
        benchmark = BenchmarkConfig.model_validate(order["benchmark"])
        envs = {index: NavEnv(benchmark, **order["env"]) for index in self.runs[0]}
        self._crew = WorkerEnvs(envs, self.memory, AutoresetMode(order["autoreset"]))
        self._replies: list[Reply] = []

    def greet(self) -> None:
        pass

    def reset(self, commands: list[Command]) -> None:
        self._replies = [self._crew.reset(command.requests) for command in commands]

    def step(self) -> None:
        reply = self._crew.step()
        self._replies = [] if reply is None else [reply]

    def collect(self) -> list[Reply]:
        return [msgspec.json.decode(msgspec.json.encode(reply), type=Reply) for reply in self._replies]

    def close(self) -> None:
        self._crew.close()


@pytest.fixture
def here(monkeypatch, task_benchmark, tmp_path) -> Callable[..., NavVectorEnv]:
    monkeypatch.setattr(vector, "Workers", WorkersHere)

    def make(*overrides: str, **settings: Any) -> NavVectorEnv:
        return NavVectorEnv(task_benchmark("lh_vln", *overrides), cache=tmp_path / "cache", **settings)

    return make


def address(array: np.ndarray) -> int:
    return array.ctypes.data


@pytest.mark.parametrize(("copy", "copies"), [(True, 1), (False, 0)])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_picture_is_copied_at_most_once(copy, copies, mode, here, monkeypatch) -> None:
    """Follow every picture from where the renderer wrote it to where the user reads it."""
    drawn: list[int] = []
    paint = Renderer._paint

    def spy(self, cameras, wanted, frames):
        paint(self, cameras, wanted, frames)
        drawn.extend(address(a) for frame in frames for a in (frame.rgb, frame.depth, frame.semantic) if a is not None)

    monkeypatch.setattr(Renderer, "_paint", spy)
    cameras = ["rgb_left", "rgb_front", "depth_front", "semantic_front"]
    env = here(num_envs=2, sensors=cameras, copy=copy, autoreset_mode=mode)
    env.reset(seed=0)
    for _ in range(3):
        drawn.clear()
        observations, *_ = env.step(np.array([2, 1]))
        assert len(drawn) == 2 * len(cameras)
        for name in cameras:
            for index in range(2):
                in_memory = address(env._memory[f"observation/{name}"][index])
                assert in_memory in drawn  # no copy on the way into shared memory
                journey = {in_memory, address(observations[name][index])}
                assert len(journey) - 1 == copies
    env.close()


def test_small_pictures_of_one_scene_are_drawn_together(here, task_benchmark, tmp_path, monkeypatch) -> None:
    """All environments of a worker in one submission for each set of channels; what they see is what one alone sees."""
    submissions: list[int] = []
    paint = Renderer._paint

    def spy(self, cameras, wanted, frames):
        submissions.append(len(cameras))
        paint(self, cameras, wanted, frames)

    monkeypatch.setattr(Renderer, "_paint", spy)
    cameras = ["rgb_left", "rgb_right", "depth_front", "rgb_front"]
    overrides = ("evaluation.max_steps=4",)
    env = here(*overrides, num_envs=3, sensors=cameras, autoreset_mode="NextStep")
    alone = [NavEnv(task_benchmark("lh_vln", *overrides), sensors=cameras, cache=tmp_path / "cache") for _ in range(3)]
    for single, name in zip(alone, "aca", strict=True):
        single.reset(seed=0, options={"episode_id": name})
    env.reset(options={"episode_ids": ["a", "c", "a"]})
    for step in range(3):
        actions = [(2, 1, 3)[(index + step) % 3] for index in range(3)]
        submissions.clear()
        observations, *_ = env.step(np.array(actions))
        assert sorted(submissions) == [3, 6], "colour and depth of three fronts, colour of six sides"
        for index, single in enumerate(alone):
            seen, *_ = single.step(actions[index])
            assert all(np.array_equal(seen[name], observations[name][index]) for name in cameras)
    env.close()
    for single in alone:
        single.close()


def test_the_last_picture_of_an_episode_has_its_own_place(here) -> None:
    env = here("evaluation.max_steps=2", num_envs=1, sensors=["rgb_front"], copy=False, autoreset_mode="SameStep")
    env.reset(seed=0)
    env.step(np.array([1]))
    observations, _, _, truncated, infos = env.step(np.array([1]))
    assert truncated[0]
    final = infos["final_obs"][0]["rgb_front"]
    assert address(final) == address(env._memory["final/observation/rgb_front"][0])
    assert not np.array_equal(final, observations["rgb_front"][0])


def test_rows_do_not_share_cache_lines() -> None:
    layout = Layout(num_envs=3, arrays={"a": ("bool", ()), "b": ("float64", (2, 5)), "c": ("uint8", (7,))})
    memory = SharedArrays(layout, bytearray(layout.size))
    assert all(offset % ALIGNMENT == 0 for offset in layout.offsets.values())
    for value, name in enumerate(layout.arrays, start=1):
        memory[name][:] = value == 1 or value
    assert memory["a"].all()
    assert (memory["b"] == 2).all()
    assert (memory["c"] == 3).all()
    assert memory["b"].shape == (3, 2, 5)


@pytest.mark.parametrize("environments", [1, 2, 5, 16])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_environments_are_deal_out_evenly(environments, workers) -> None:
    runs = _deal(environments, min(workers, environments))
    assert [index for run in runs for index in run] == list(range(environments))
    assert max(map(len, runs)) - min(map(len, runs)) <= 1


def test_a_step_needs_no_words() -> None:
    """Bytes on the line: one for a step, and one for its answer unless an episode has begun or ended."""
    parent, worker = WorkerPipe.make_pair(multiprocessing.get_context("spawn"))
    parent.nudge()
    assert worker.receive() is None
    worker.send(b"an episode has ended")
    worker.nudge()
    assert [parent.receive(), parent.receive()] == [b"an episode has ended", None]
    worker.close()
    with pytest.raises(EOFError):
        parent.receive()
    with pytest.raises(BrokenPipeError):
        parent.nudge()
    parent.close()


def test_only_beginnings_and_endings_are_told(here) -> None:
    env = here("evaluation.max_steps=3", num_envs=2, sensors=["pose"])
    env.reset(seed=0)
    told = []
    for _ in range(5):
        env.step(np.array([2, 2]))
        told.append([(len(reply.ended), len(reply.began)) for reply in env._workers.collect()])
    assert told == [[], [], [(2, 0)], [(0, 2)], []]


def test_continuous_actions_travel_too(here) -> None:
    env = here("task.actions=[{name: stop}, {name: velocity_control}]", num_envs=2, sensors=["pose"])
    assert env.action_space.shape == (2, 3)
    first, _ = env.reset(seed=0)
    ahead_and_stop = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], np.float32)
    observations, *_ = env.step(ahead_and_stop)
    moved = [not np.array_equal(a, b) for a, b in zip(first["pose"], observations["pose"], strict=True)]
    assert moved == [True, False]
    _, _, terminated, _, _ = env.step(ahead_and_stop)  # LH-VLN: a stop for each of two sub-tasks
    assert terminated.tolist() == [False, True]
    env.close()
