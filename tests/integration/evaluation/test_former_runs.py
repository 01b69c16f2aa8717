"""Runs that nav-eval 0.1.0 wrote: they still verify, and playing them again writes the same lines.

`tests/data/run_0_1_0` was written by that version, in its own folder as the working directory: paths are relative.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.verification import verify
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.replay.builder import ReplayBuilder
from support.paths import TESTS

pytestmark = pytest.mark.integration

FORMER = TESTS / "data" / "run_0_1_0"


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FORMER)


@pytest.mark.parametrize(("task", "steps"), [("lh_vln", 134), ("vln", 62), ("localization", 4)])
def test_a_run_of_the_former_version_verifies(task: str, steps: int, tmp_path: Path) -> None:
    report = verify(FORMER / task, cache=tmp_path)
    assert report.equal, report.summary()
    assert (report.episodes, report.missing, report.steps) == (4, 0, steps)


def read_lines(run: Path) -> dict[str, Any]:
    """Everything but the clock."""
    lines = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    return {line["episode_id"]: line | {"timing": None} for line in lines}


@pytest.mark.parametrize(("task", "agent"), [("lh_vln", "baseline:noisy_oracle?skill=0.9"), ("vln", "baseline:oracle")])
def test_playing_it_again_writes_the_same_lines(task: str, agent: str, tmp_path: Path) -> None:
    benchmark = BenchmarkConfig.model_validate(RunFolder(FORMER / task).manifest().config)
    orchestrator = EvaluationOrchestrator(cache=tmp_path / "cache")
    orchestrator.run_benchmark(benchmark, agent=agent, out=tmp_path / "run")
    assert read_lines(tmp_path / "run") == read_lines(FORMER / task)


@pytest.mark.parametrize("task", ["lh_vln", "vln", "localization"])
def test_its_episodes_can_be_replayed(task: str, tmp_path: Path) -> None:
    with ReplayBuilder(FORMER / task, cache=tmp_path, sensors=()) as builder:
        for episode_id, result in builder.results.items():
            replay = builder.replay(episode_id)
            assert replay.differences == []
            assert replay.last_step == result.num_steps
