"""Agents see opaque episode ids, which differ from run to run; results keep the dataset's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.aliases import EpisodeAliases, derive_home_seed, draw_order, draw_sample, draw_seed
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.executor import make_aliases
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.verification import verify
from nav_eval.orchestrator import EvaluationOrchestrator

NAMES = [f"scene_{n % 3}/ep_{n}" for n in range(40)]


class Spy:
    """Writes down what it is told, and stops."""

    sensors = ("instruction",)
    told: ClassVar[list[Any]] = []

    def reset(self, episode: Any) -> None:
        Spy.told.append(episode)

    def act(self, observation: Any) -> str:
        return "stop"


def test_aliases_say_nothing_and_differ_by_run() -> None:
    one, other = EpisodeAliases(draw_seed()), EpisodeAliases(draw_seed())
    names = {one.get_alias(name) for name in NAMES}
    assert len(names) == len(NAMES)
    assert not names & {other.get_alias(name) for name in NAMES}
    assert not any(part in alias for alias in names for part in ("scene", "ep_"))
    assert {len(alias) for alias in names} == {19}
    assert one.get_alias("a") == EpisodeAliases(one.seed).get_alias("a")


def test_the_order_and_the_sample_are_drawn_from_the_seed(room_benchmark: Callable[..., BenchmarkConfig]) -> None:
    benchmark = room_benchmark("demo_vln")
    episodes = list(load_episodes(benchmark))
    seeds = [f"{n:032x}" for n in range(20)]
    orders = [tuple(draw_order(episodes, seed, benchmark.evaluation)) for seed in seeds]
    assert {frozenset(order) for order in orders} == {frozenset("abcd")}
    assert len(set(orders)) > 5
    assert {order[0] for order in orders} == set("abcd")
    assert orders[3] == tuple(draw_order(episodes[::-1], seeds[3], benchmark.evaluation))
    samples = {draw_sample(NAMES, seed, 5) for seed in seeds}
    assert len(samples) == len(seeds)
    assert all(len(set(sample)) == 5 for sample in samples)
    assert set(draw_sample(("a", "b"), seeds[0], 5)) == {"a", "b"}


def test_baselines_of_ours_have_the_dataset_itself() -> None:
    assert make_aliases("baseline:oracle", draw_seed()) is None
    assert make_aliases("grpc://localhost:1", None) is None
    assert make_aliases("grpc://localhost:1", "00") == EpisodeAliases("00")


def test_a_run_at_home_hides_the_ids_and_verifies(
    room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the wire there is nothing of the dataset but what the episode says; the folder keeps the seed."""
    monkeypatch.setattr(Spy, "told", [])
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    benchmark = room_benchmark("demo_vln", "evaluation.max_steps=3")
    folder = tmp_path / "run"
    orchestrator = EvaluationOrchestrator(cache=tmp_path / "cache")
    orchestrator.run_benchmark(benchmark, agent="test_aliases:Spy", out=folder)
    import test_aliases

    told = [episode.episode_id for episode in test_aliases.Spy.told]
    seed = RunFolder(folder).manifest().episode_seed
    assert seed == derive_home_seed(benchmark, 0)
    assert told == [EpisodeAliases(seed).get_alias(name) for name in "abcd"]
    assert "room.glb" not in repr(test_aliases.Spy.told)
    assert [result.episode_id for result in RunFolder(folder).results()] == list("abcd")
    assert verify(folder, cache=tmp_path / "cache").equal
    only = verify(folder, only=["c", "a"], cache=tmp_path / "cache")
    assert (only.equal, only.episodes) == (True, 2)
