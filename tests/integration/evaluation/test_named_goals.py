"""Agents that name where to go: oracles reach every goal, runs verify, hostile values are protocol errors."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.verification import verify
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.results import Cause, EpisodeResult

pytestmark = pytest.mark.integration

Make = Callable[..., BenchmarkConfig]
CACHE = get_cache_folder()


@pytest.fixture
def benchmark(room_benchmark: Make) -> BenchmarkConfig:
    return room_benchmark(
        "demo_vln_goals",
        "evaluation.success_distance=1.0",
        "evaluation.max_steps=200",
        "output.save_trajectories=false",
    )


def evaluate(benchmark: BenchmarkConfig, agent: str, out: Path) -> RunFolder:
    EvaluationOrchestrator(cache=CACHE).run_benchmark(benchmark, agent=agent, out=out)
    return RunFolder(out)


@pytest.mark.parametrize(
    ("oracle", "goal"), [("waypoint", "waypoint"), ("trajectory", "trajectory"), ("pixel", "pixel_goal")]
)
def test_an_oracle_that_names_goals_reaches_them_all(
    benchmark: BenchmarkConfig, tmp_path: Path, oracle: str, goal: str
) -> None:
    run = evaluate(benchmark, f"baseline:{oracle}_oracle", tmp_path)
    results = run.results()
    assert [result.metrics["success"] for result in results] == [1.0] * len(results)
    asked = [entry["goal"]["action"] for result in results for entry in result.actions if isinstance(entry, dict)]
    assert set(asked) == {goal}
    assert all(result.num_steps == len(result.actions) for result in results)  # in primitive steps
    assert run.manifest().controller == {
        "name": "turn_then_go",
        "step_size": 0.25,
        "turn_angle": 15.0,
        "arrival": 0.125,
    }
    assert verify(tmp_path, cache=CACHE).equal


def test_another_goal_in_the_log_is_found(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    evaluate(benchmark, "baseline:waypoint_oracle", tmp_path)
    lines = (tmp_path / "episodes.jsonl").read_text().replace('"waypoint"', '"trajectory"')
    (tmp_path / "episodes.jsonl").write_text(lines)
    assert not verify(tmp_path, cache=CACHE).equal


AGENT = """
class Once:
    sensors = ("rgb", "gps")
    def describe(self):
        from types import SimpleNamespace
        return SimpleNamespace(name="once", version="", sensors=("rgb", "gps"), max_episodes=1, max_actions=3,
                               wants_between=False, metadata={})
    def reset(self, episode):
        self.asked = False
    def act(self, observation):
        if self.asked:
            return "stop"
        self.asked = True
        return ANSWER
"""


def play(benchmark: BenchmarkConfig, answer: Any, folder: Path) -> EpisodeResult:
    folder.mkdir(exist_ok=True)
    text = json.dumps(answer)  # NaN and Infinity too
    (folder / "once_agent.py").write_text(
        f"from math import nan, inf\nNaN, Infinity = nan, inf\nANSWER = {text}\n".replace("null", "None") + AGENT
    )
    one = benchmark.model_copy(update={"dataset": benchmark.dataset.model_copy(update={"episodes": 1})})
    run = evaluate(one, f"{folder / 'once_agent.py'}:Once", folder / "run")
    assert verify(folder / "run", cache=CACHE).equal
    return run.results()[0]


def poses(*points: tuple[float, float, float]) -> list[dict[str, Any]]:
    return [{"position": list(point), "rotation": [0, 0, 0, 1]} for point in points]


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "waypoint", "action_args": {"forward": math.nan, "left": 0}},
        {"action": "waypoint", "action_args": {"distance": math.inf}},
        {"action": "waypoint", "action_args": {"forward": 1e300}},
        {"action": "waypoint", "action_args": {"forward": 4.9, "left": 4.9}},  # 6.9 m, and 5 are allowed
        {"action": "waypoint", "action_args": {"forward": 1, "distance": 1}},
        {"action": "waypoint", "action_args": {"height": 1}},
        {"action": "pixel_goal", "action_args": {"u": 10, "v": 10}},  # of which camera?
        {"action": "pixel_goal", "action_args": {"u": 10, "v": 10}, "camera": "gps"},
        {"action": "pixel_goal", "action_args": {"u": 10, "v": 10}, "camera": "depth"},  # not asked for
        {"action": "pixel_goal", "action_args": {"u": 224, "v": 10}, "camera": "rgb"},  # outside
        {"action": "pixel_goal", "action_args": {"u": 10}, "camera": "rgb"},
        {"action": "pixel_goal", "action_args": {"u": 112, "v": 1}, "camera": "rgb"},  # above the walls: nothing
        {"action": "trajectory"},
        {"action": "trajectory", "poses": poses(*[(0, 0, -0.1)] * 101)},
        {"action": "trajectory", "poses": poses((0, 0, -6))},
        {"action": "trajectory", "poses": poses((0, 0, math.nan))},
        {"action": "teleport", "action_args": {"forward": 1}},  # this task does not declare it
        {"action": "stay"},  # a word of the log alone
    ],
)
def test_hostile_goals_are_protocol_errors(benchmark: BenchmarkConfig, tmp_path: Path, answer: Any) -> None:
    result = play(benchmark, answer, tmp_path / "hostile")
    assert result.cause == Cause.PROTOCOL_ERROR


@pytest.mark.parametrize(
    ("answer", "actions"),
    [
        (
            {"action": "waypoint", "action_args": {"distance": 0.5, "bearing": 30}},
            ["turn_left"] * 2 + ["move_forward"] * 2,
        ),
        (
            {"action": "waypoint", "action_args": {"forward": 0.5, "heading": -45}},
            ["move_forward"] * 2 + ["turn_right"] * 3,
        ),
        ({"action": "waypoint", "action_args": {"heading": 15}}, ["turn_left"]),
        ({"action": "waypoint", "action_args": {}}, ["stay"]),  # asks for nothing, and costs a step
        ({"action": "trajectory", "poses": poses((0, 0, -0.25), (0, 0, -0.5))}, ["move_forward"] * 2),
    ],
)
def test_what_goals_become(benchmark: BenchmarkConfig, tmp_path: Path, answer: Any, actions: list[str]) -> None:
    result = play(benchmark, answer, tmp_path / "goal")
    names = [entry if isinstance(entry, str) else entry["action"] for entry in result.actions]
    assert names == [*actions, "stop"]
    assert result.actions[0]["goal"]["action"] == answer["action"]


def test_reasoning_is_kept_within_its_budget_and_verifies(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    thought = "Ich sehe 一张桌子 " * 400  # more than an action may say
    said = play(benchmark, {"action": "turn_left", "text": thought}, tmp_path / "said").actions[0]
    assert said["action"] == "turn_left"
    assert thought.startswith(said["text"])
    assert 2045 <= len(said["text"].encode()) <= 2048
    walked = play(
        benchmark, {"action": "waypoint", "action_args": {"forward": 0.5}, "text": "There."}, tmp_path / "walked"
    )
    assert walked.actions[0]["text"] == "There."
    assert walked.actions[1] == "move_forward"


def test_teleport_only_where_a_task_declares_it(room_benchmark: Make, tmp_path: Path) -> None:
    actions = "[{name: stop}, {name: move_forward}, {name: teleport, params: {max_distance: 2.0}}]"
    declared = room_benchmark("demo_vln", f"task.actions={actions}", "output.save_trajectories=false")
    result = play(declared, {"action": "teleport", "action_args": {"forward": 1.0}}, tmp_path / "there")
    assert result.trajectory is not None
    assert math.dist(result.trajectory[0], result.trajectory[1]) == pytest.approx(1.0, abs=1e-6)
    walled = play(declared, {"action": "teleport", "action_args": {"left": 2.0}}, tmp_path / "wall")
    assert walled.cause == Cause.PROTOCOL_ERROR
    far = play(declared, {"action": "teleport", "action_args": {"forward": 2.0, "left": 1.0}}, tmp_path / "far")
    assert far.cause == Cause.PROTOCOL_ERROR
