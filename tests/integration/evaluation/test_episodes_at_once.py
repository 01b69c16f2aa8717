"""Several episodes at once over gRPC are played by one thread; each of them ends as if it were alone."""

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.executor import _Dialogue
from nav_eval.orchestrator import EvaluationOrchestrator

pytestmark = pytest.mark.integration

MakeBenchmark = Callable[..., BenchmarkConfig]

AGENT = """
import itertools, os, time, zlib
from nav_eval_sdk import Agent, serve


class Walker(Agent):
    max_episodes = 3
    numbers = itertools.count()

    def reset(self, episode):
        self.is_faulty = next(self.numbers) == 1

    def act(self, observation):
        if self.is_faulty and observation.step == 5:
            FAULT
        value = zlib.crc32(observation.sensors["rgb_front"].tobytes())
        return ("move_forward", "turn_left", "turn_right")[value % 3]


serve(Walker)
"""

FAULTS = {
    "is_confused": ('raise ValueError("I am confused")', "agent_crash", "I am confused"),
    "is_silent": ("time.sleep(15)", "agent_timeout", "No reply to observation 6 within 8 s."),
    "says_nonsense": ('return "fly"', "protocol_error", "no action 'fly'"),
}
STEPS = 20


def make_benchmark(make: MakeBenchmark, *, at_once: int) -> BenchmarkConfig:
    return make(
        "demo_lh_vln",
        f"evaluation.max_steps={STEPS}",
        "evaluation.step_timeout=8",
        f"evaluation.concurrent_episodes={at_once}",
    )


def run(benchmark: BenchmarkConfig, out: Path, *, fault: str = "pass") -> dict[str, dict[str, Any]]:
    """The lines of an evaluation by episode, with an agent that does `fault` in the second episode that it begins."""
    out.mkdir()
    agent = out / "agent.py"
    agent.write_text(AGENT.replace("FAULT", fault))
    EvaluationOrchestrator(cache=out.parent / "cache").run_benchmark(
        benchmark, agent=f"{sys.executable} {agent}", out=out / "run"
    )
    lines = map(json.loads, (out / "run" / "episodes.jsonl").read_text().splitlines())
    return {line["episode_id"]: line | {"timing": None} for line in lines}


@pytest.fixture
def players(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the threads in which episodes are played, beginning and end apart."""
    names: set[str] = set()
    go_on = _Dialogue.go_on

    def watch(dialogue: _Dialogue) -> None:
        names.add(threading.current_thread().name)
        go_on(dialogue)

    monkeypatch.setattr(_Dialogue, "go_on", watch)
    return names


def test_one_thread_plays_them_all_to_the_same_lines(
    room_benchmark: MakeBenchmark, tmp_path: Path, players: set[str]
) -> None:
    alone = run(make_benchmark(room_benchmark, at_once=1), tmp_path / "alone")
    players.clear()
    together = run(make_benchmark(room_benchmark, at_once=3), tmp_path / "together")
    assert together == alone
    assert {line["num_steps"] for line in alone.values()} == {STEPS}
    assert players == {"dialogues"}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_ends_its_own_episode(name: str, room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    fault, cause, detail = FAULTS[name]
    alone = run(make_benchmark(room_benchmark, at_once=1), tmp_path / "alone")
    together = run(make_benchmark(room_benchmark, at_once=3), tmp_path / "together", fault=fault)
    (chosen,) = (episode_id for episode_id, line in together.items() if line.get("cause"))
    faulty = together.pop(chosen)
    assert faulty["cause"] == cause
    assert detail in faulty["detail"]
    assert faulty["num_steps"] == 5
    assert together == {episode_id: line for episode_id, line in alone.items() if episode_id != chosen}


def test_an_agent_that_dies_ends_all_that_it_played(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    fault = "os.write(2, b'help!'); os._exit(7)"
    lines = run(make_benchmark(room_benchmark, at_once=3), tmp_path / "run", fault=fault)
    assert {line["cause"] for line in lines.values()} == {"agent_crash"}
    assert all("exit code 7" in line["detail"] for line in lines.values())
    assert any("help!" in line["detail"] for line in lines.values())
