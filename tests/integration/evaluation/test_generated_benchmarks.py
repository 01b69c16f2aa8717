"""The demo benchmarks from nothing: data are made, the oracle is perfect on them, and agents without eyes are not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.report import Report
from nav_eval.evaluation.verification import verify
from nav_eval.generators import ensure_generated
from nav_eval.orchestrator import EvaluationOrchestrator

pytestmark = pytest.mark.integration

GENERATE = """
import sys
from pathlib import Path
from nav_eval.config import load_benchmark
from nav_eval.generators import ensure_generated
made = ensure_generated(load_benchmark(sys.argv[1], overrides=sys.argv[3:]), cache=Path(sys.argv[2]))
print("made" if made else "there")
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


def settings(work: Path, task: str, *, data: str = "data", episodes: int = 3) -> list[str]:
    return [
        f"dataset.data_path={work / data / task}.json.gz",
        f"dataset.scene_path={work / 'scenes'}",
        "dataset.generate.houses=1",
        f"dataset.generate.episodes={episodes}",
        "dataset.generate.seed=12",
    ]


def benchmark(work: Path, task: str) -> BenchmarkConfig:
    return load_benchmark(f"demo_{task}", overrides=settings(work, task))


def played(work: Path, task: str, agent: str) -> Report:
    orchestrator = EvaluationOrchestrator(cache=work / "cache")
    out = work / "runs" / f"{task}_{agent}"
    return orchestrator.run_benchmark(benchmark(work, task), agent=f"baseline:{agent}", out=out)


def generating(name: str, work: Path, data: str, hash_seed: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", GENERATE, name, str(work / f"cache_{hash_seed}")]
    return subprocess.Popen(
        [*command, *settings(work, "lh_vln", data=data)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )


def test_two_processes_at_once_make_everything_once_and_a_third_makes_the_same(work: Path) -> None:
    first, second = (generating("demo_lh_vln", work, "data", seed) for seed in ("1", "2"))
    assert sorted([first.communicate(timeout=300)[0].strip(), second.communicate(timeout=300)[0].strip()]) == [
        "made",
        "there",
    ]
    third = generating("demo_lh_vln", work, "elsewhere", "3")
    assert third.communicate(timeout=300)[0].strip() == "made"
    assert (work / "data/lh_vln.json.gz").read_bytes() == (work / "elsewhere/lh_vln.json.gz").read_bytes()


def test_the_oracle_is_perfect_on_generated_errands(work: Path) -> None:
    report = played(work, "lh_vln", "oracle")
    perfect = ("sr", "osr", "isr", "csr", "cgt", "tar", "score")
    assert {name: report.scores[name] for name in perfect} == dict.fromkeys(perfect, 1.0)
    assert (report.scores["spl"] or 0.0) > 0.95
    assert verify(work / "runs/lh_vln_oracle", cache=work / "cache").equal


@pytest.mark.parametrize("task", ["vln", "objectnav", "imagenav"])
def test_the_oracle_always_succeeds(work: Path, task: str) -> None:
    assert played(work, task, "oracle").aggregated["success"].mean == 1.0


@pytest.mark.parametrize("agent", ["random", "forward"])
def test_agents_without_eyes_get_nowhere(work: Path, agent: str) -> None:
    report = played(work, "lh_vln", agent)
    assert report.scores["sr"] == 0.0
    assert (report.scores["isr"] or 0.0) <= 0.25


def test_situations_are_generated_too(work: Path) -> None:
    config = benchmark(work, "localization")
    assert ensure_generated(config, cache=work / "cache")
    episodes = list(load_episodes(config))
    assert len(episodes) == 3
    assert {episode.private.info["frame"] for episode in episodes} == {"nav_eval"}
    assert not ensure_generated(config, cache=work / "cache")


def test_a_benchmark_without_a_recipe_generates_nothing(tmp_path: Path) -> None:
    config = load_benchmark("lh_vln_base", overrides=[f"dataset.data_path={tmp_path / 'none.json'}"])
    assert not ensure_generated(config, cache=tmp_path)
    assert list(tmp_path.iterdir()) == []
