"""The room as a benchmark of every task, with cameras small enough for a test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.dataset.episode import Episode, Goal, GoalImage
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.envs import NavEnv
from nav_eval.records.geometry import Pose

MakeBenchmark = Callable[..., BenchmarkConfig]

CAMERAS = {
    "lh_vln": ["rgb_left", "rgb_front", "rgb_right", "depth_left", "depth_front", "depth_right", "semantic_front"],
    "vln": ["rgb", "depth", "semantic"],
    "objectnav": ["rgb", "depth", "semantic"],
    "imagenav": ["rgb", "depth"],
    "pointnav": ["rgb", "depth"],
}


def small_cameras(task: str, *, width: int = 32, height: int = 24) -> list[str]:
    return [f"task.sensors.{c}.{k}={v}" for c in CAMERAS[task] for k, v in (("width", width), ("height", height))]


def with_goal_picture(episode: Episode) -> Episode:
    image = GoalImage(pose=Pose((2.0, 1.0, 1.0)), hfov=90.0, width=20, height=16)
    goal = Goal(position=episode.goals[0].position, image=image)
    return msgspec.structs.replace(episode, private=msgspec.structs.replace(episode.private, goals=(goal,)))


@pytest.fixture
def room_episodes(room_data: Path) -> list[Episode]:
    return list(load_dataset(DatasetRequest(format="nav_eval", path=room_data / "val.json.gz")))


@pytest.fixture
def task_benchmark(room_data: Path, tmp_path: Path, room_episodes: list[Episode]) -> MakeBenchmark:
    """`task_benchmark("vln", "evaluation.max_steps=5")`: that task in the room."""

    def make(task: str = "lh_vln", *overrides: str) -> BenchmarkConfig:
        write_episodes(tmp_path / "val.json.gz", [with_goal_picture(episode) for episode in room_episodes])
        place = [f"dataset.data_path={tmp_path / 'val.json.gz'}", f"dataset.scene_path={room_data}"]
        name = "pointnav_base" if task == "pointnav" else f"demo_{task}"
        settings = [*place, "dataset.format=nav_eval", *small_cameras(task), *overrides]
        return load_benchmark(name, overrides=settings, environ={})

    return make


@pytest.fixture
def make_env(task_benchmark: MakeBenchmark, tmp_path: Path) -> Callable[..., NavEnv]:
    """`make_env("vln", "evaluation.max_steps=5", sensors=["gps"])`."""

    def make(task: str = "lh_vln", *overrides: str, **settings: Any) -> NavEnv:
        return NavEnv(task_benchmark(task, *overrides), cache=tmp_path / "cache", **settings)

    return make
