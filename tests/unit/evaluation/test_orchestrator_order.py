"""A mistyped agent is told at once, not after the minutes that houses take."""

from pathlib import Path

import pytest

from nav_eval.config import load_benchmark
from nav_eval.errors import NavEvalError
from nav_eval.orchestrator import EvaluationOrchestrator


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("agent", ["baseline:orcale", "nothing/agent.py:Agent", "no-such-command --serve"])
def test_the_agent_is_met_before_houses_are_made(agent: str, workers: int, tmp_path: Path) -> None:
    benchmark = load_benchmark(
        "demo_vln",
        overrides=[f"dataset.data_path={tmp_path}/data/e.jsonl", f"dataset.scene_path={tmp_path}/houses"],
    )
    orchestrator = EvaluationOrchestrator(cache=tmp_path / "cache", workers=workers)
    said: list[str] = []
    with pytest.raises(NavEvalError):
        orchestrator.run_benchmark(benchmark, agent=agent, out=tmp_path / "run", say=said.append)
    assert said == []
    assert not (tmp_path / "houses").exists()


def test_who_is_waited_for_is_said(tmp_path: Path) -> None:
    """A port that nobody listens on looks like an agent that loads its weights."""
    benchmark = load_benchmark("demo_vln", overrides=["agent_service.connect_timeout=5", "agent_service.type=remote"])
    said: list[str] = []
    with pytest.raises(NavEvalError, match="does not answer"):
        EvaluationOrchestrator(cache=tmp_path / "cache").run_benchmark(
            benchmark, agent="grpc://127.0.0.1:9", out=tmp_path / "run", say=said.append
        )
    assert said == ["Waiting for the agent, grpc://127.0.0.1:9: for at most 5 s."]
