"""Whatever one episode does to us, the run ends, the cause is named, and the others keep their scores."""

import json
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.runner import NotWritten, RunCallbacks
from nav_eval.orchestrator import EvaluationOrchestrator

pytestmark = pytest.mark.integration

MakeBenchmark = Callable[..., BenchmarkConfig]

AGENT = """
import os, signal, time
from pathlib import Path


class Agent:
    def reset(self, episode):
        self.episode = episode.episode_id

    def act(self, observation):
        if self.episode == "b":
            {fault}
        return "stop"
"""

FAULTS = {
    "raises": ('raise ValueError("I am confused")', "agent_crash", "I am confused"),
    "hangs": ("time.sleep(60)", "agent_timeout", "within"),
    "unknown_action": ('return "fly"', "protocol_error", "no action 'fly'"),
    "no_action": ("return []", "protocol_error", "no action"),
    "nonsense": ("return 42", "protocol_error", "42"),
    "too_many": ('return ["stop", "stop"]', "protocol_error", "2 actions"),
    "arguments": (
        'return {"action": "move_forward", "action_args": {"step_size": float("nan")}}',
        "protocol_error",
        "step_size",
    ),
    "out_of_memory": ('raise MemoryError("too big")', "agent_oom", "too big"),
}


def write_agent(folder: Path, fault: str) -> str:
    path = folder / "faulty.py"
    path.write_text(AGENT.replace("{fault}", fault))
    return f"{path}:Agent"


def run(benchmark: BenchmarkConfig, agent: str, out: Path, *, workers: int = 1) -> dict[str, dict[str, Any]]:
    EvaluationOrchestrator(cache=out.parent / "cache", workers=workers).run_benchmark(benchmark, agent=agent, out=out)
    lines = (out / "episodes.jsonl").read_text().splitlines()
    return {line["episode_id"]: line for line in map(json.loads, lines)}


@pytest.mark.parametrize("name", FAULTS)
def test_an_agents_fault_ends_its_episode_only(name: str, room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    fault, cause, said = FAULTS[name]
    benchmark = room_benchmark("demo_lh_vln", "evaluation.step_timeout=1.0")
    results = run(benchmark, write_agent(tmp_path, fault), tmp_path / "run")
    assert {name: line["status"] for name, line in results.items() if name != "b"} == dict.fromkeys("acd", "completed")
    assert results["b"]["cause"] == cause
    assert said in results["b"]["detail"]
    assert results["b"]["metrics"]["isr"] == 0.0


def test_a_killed_worker_loses_nothing(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    once = f"Path({str(marker)!r}).exists() or (Path({str(marker)!r}).touch(), os.kill(os.getpid(), signal.SIGKILL))"
    results = run(room_benchmark(), write_agent(tmp_path, once), tmp_path / "run", workers=2)
    assert marker.exists()
    assert {line["status"] for line in results.values()} == {"completed"}
    assert sorted(results) == ["a", "b", "c", "d"]


def test_what_kills_every_worker_is_given_up(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    always = "os.kill(os.getpid(), signal.SIGKILL)"
    results = run(room_benchmark(), write_agent(tmp_path, always), tmp_path / "run", workers=2)
    assert results["b"]["cause"] == "infrastructure"
    assert "exit code -9" in results["b"]["detail"]
    assert {name: line["status"] for name, line in results.items() if name != "b"} == dict.fromkeys("acd", "completed")


def test_a_scene_that_is_not_there_is_our_fault(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    benchmark = room_benchmark("demo_lh_vln", f"dataset.scene_path={tmp_path / 'nothing'}", "dataset.episodes=1")
    results = run(benchmark, "baseline:stop", tmp_path / "run")
    assert results["a"]["cause"] == "infrastructure"
    assert "room.glb" in results["a"]["detail"]
    assert results["a"]["metrics"] == {}


def test_no_room_on_the_disk(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    """A limit on file sizes stands for a full disk: the write fails in the same way."""
    out, benchmark = tmp_path / "run", room_benchmark()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill_the_disk(result: Any, _: Any) -> None:
        size = (out / "episodes.jsonl").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limits[1]))

    orchestrator = EvaluationOrchestrator(cache=tmp_path / "cache")
    try:
        with pytest.raises(NotWritten, match="What is finished is kept"):
            orchestrator.run_benchmark(
                benchmark, agent="baseline:oracle", out=out, callbacks=RunCallbacks(on_result=fill_the_disk)
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    results = run(benchmark, "baseline:oracle", out)
    assert {line["status"] for line in results.values()} == {"completed"}
    assert sorted(results) == ["a", "b", "c", "d"]
