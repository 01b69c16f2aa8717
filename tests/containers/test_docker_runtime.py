"""The Docker runtime on a real engine: a pair plays, failures get their cause, nothing is left behind."""

import json
from collections.abc import Callable
from pathlib import Path

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.orchestrator import EvaluationOrchestrator
from nav_eval.evaluation.shard_protocol import Ended, Played
from nav_eval_worker.runtime.base import AgentEnd, Image, Pair, ShardWork
from nav_eval_worker.runtime.docker import DockerRuntime
from support.engine import DockerEngine

Admit = Callable[..., Image]
Work = Callable[..., ShardWork]

WALKER = """
from nav_eval_sdk import Agent, serve

class Walker(Agent):
    name = "walker"
    sensors = ["rgb", "depth"]
    def reset(self, episode):
        print("New episode:", episode.instruction, flush=True)
    def act(self, observation):
        ahead = observation["depth"][80:140, 80:140].min()
        bright = int(observation["rgb"].sum()) % 2
        return "move_forward" if ahead > 0.5 else "turn_left" if bright else "turn_right"

if __name__ == "__main__":
    serve(Walker)
"""


def play(pair: Pair) -> tuple[list[dict[str, object]], Ended | None]:
    lines, ended = [], None
    for message in pair.messages():
        if isinstance(message, Played):
            lines.append(json.loads(bytes(message.line)))
        if isinstance(message, Ended):
            ended = message
    return lines, ended


def outcome(runtime: DockerRuntime, work: ShardWork) -> tuple[list[dict[str, object]], Ended | None, AgentEnd | None]:
    with runtime.run(work) as pair:
        lines, ended = play(pair)
        return lines, ended, pair.agent_end()


def left_behind(engine: DockerEngine, run: str) -> list[str]:
    label = {"label": f"nav-eval.run={run}"}
    containers = engine.client.containers.list(all=True, filters=label)
    return [c.name for c in containers] + [v.name for v in engine.client.volumes.list(filters=label)]


def test_scores_in_containers_equal_those_at_home_to_the_last_bit(
    engine: DockerEngine,
    runtime: DockerRuntime,
    admitted: Admit,
    work: Work,
    room_benchmark: Callable[..., BenchmarkConfig],
    tmp_path: Path,
) -> None:
    order = work(admitted(WALKER), episodes=("a", "b"))
    with runtime.run(order) as pair:
        lines, ended = play(pair)
        log, usage = pair.take_log().decode(), pair.usage()
    assert ended == Ended()
    assert "New episode: Go to the table" in log
    assert usage.memory_bytes is None or usage.memory_bytes > 10_000_000
    assert left_behind(engine, order.run) == []

    agent = tmp_path / "walker.py"
    agent.write_text(WALKER)
    at_home = room_benchmark("demo_vln", "evaluation.max_steps=12", "dataset.episode_ids=[a,b]")
    EvaluationOrchestrator(cache=tmp_path / "cache").run_benchmark(
        at_home, agent=f"{agent}:Walker", out=tmp_path / "run"
    )
    there = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    same = ("episode_id", "status", "metrics", "num_steps", "actions", "trajectory")
    assert [{key: line.get(key) for key in same} for line in sorted(lines, key=_id)] == [
        {key: line.get(key) for key in same} for line in sorted(there, key=_id)
    ]


def _id(line: dict[str, object]) -> str:
    return str(line["episode_id"])
