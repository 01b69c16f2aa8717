"""What was prepared for one shard is prepared for every other one that has the same episodes."""

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval_worker.runtime.base import ShardWork
from nav_eval_worker.runtime.prepared_episodes import PreparedEpisodes


@pytest.fixture
def work(room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path) -> Callable[..., ShardWork]:
    def make(*episodes: str, steps: int = 10) -> ShardWork:
        benchmark = room_benchmark("demo_vln", f"evaluation.max_steps={steps}")
        name = uuid.uuid4().hex
        return ShardWork(
            run=name, worker="w", image=None, benchmark=benchmark, episode_ids=episodes, folder=tmp_path / name
        )

    return make


def test_shards_are_drawn_anew_and_their_episodes_stay_prepared(tmp_path: Path, work: Callable[..., ShardWork]) -> None:
    prepared = PreparedEpisodes(tmp_path / "prepared")
    assert not prepared.has_all(work("a", "b"))
    prepared.add(work("a", "b"))
    prepared.add(work("c", "../d"))
    known = PreparedEpisodes(tmp_path / "prepared")  # by the next worker
    assert known.has_all(work("b", "c"))
    assert known.has_all(work("../d"))
    assert not known.has_all(work("a", "e"))
    assert not known.has_all(work("a", "b", steps=11)), "another benchmark has other scenes"
    assert {path.name for path in tmp_path.iterdir()} == {"prepared"}
