"""The project of `nav-eval-sdk init` plays every task that is walked, whatever the task calls its sensors."""

import sys
from pathlib import Path

import pytest
from env_fixtures import CAMERAS

from nav_eval.evaluation.run_folder import load_run
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval_sdk.project import create_project

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("task", CAMERAS)
def test_a_first_submission_fails_nowhere(task: str, task_benchmark, tmp_path: Path) -> None:
    create_project(tmp_path / "agent")
    benchmark = task_benchmark(task, "evaluation.max_steps=6")
    command = f"{sys.executable} {tmp_path / 'agent/agent.py'}"
    orchestrator = EvaluationOrchestrator(cache=tmp_path / "cache")
    orchestrator.run_benchmark(benchmark, agent=command, out=tmp_path / "run")
    outcomes = load_run(tmp_path / "run").outcomes
    assert outcomes
    assert {outcome.cause for outcome in outcomes} == {None}
    assert all(outcome.num_steps == 6 for outcome in outcomes)
