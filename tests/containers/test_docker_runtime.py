"""The Docker runtime on a real engine: a pair plays, failures get their cause, nothing is left behind."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import make_manifest
from nav_eval.evaluation.shard_protocol import Beat, Checked, Ended, Filmed, Message, Played, Purpose, Ready
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.results import Cause
from nav_eval.replay.model import decode_replay
from nav_eval_worker.runtime.agent_end import AgentEnd
from nav_eval_worker.runtime.base import AgentImage, Pair, ReplayWork, ShardWork
from nav_eval_worker.runtime.docker import DockerRuntime
from support.engine import DockerEngine

Admit = Callable[..., AgentImage]
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


def test_an_agent_that_is_killed_from_outside_has_not_crashed(
    engine: DockerEngine, runtime: DockerRuntime, admitted: Admit, work: Work
) -> None:
    order = work(admitted(WALKER))
    with runtime.run(order) as pair:
        for message in pair.messages():
            if isinstance(message, Ready):
                engine.client.containers.get(f"nav-eval-{order.run}-agent").kill()
                break
        end = pair.agent_end()
    assert end is not None
    assert end.cause is Cause.INFRASTRUCTURE


def test_a_run_is_checked_and_filmed_by_a_simulator_alone(
    engine: DockerEngine,
    runtime: DockerRuntime,
    work: Work,
    room_benchmark: Callable[..., BenchmarkConfig],
    tmp_path: Path,
) -> None:
    order = work(None, baseline="baseline:forward", episodes=("a", "b", "c", "d"))
    with runtime.run(order) as pair:
        lines, _ = play(pair)
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    manifest = make_manifest(order.benchmark, load_episodes(room_benchmark("demo_vln")), agent={})
    (run / "run.json").write_bytes(msgspec.json.encode(manifest))
    (run / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def again(purpose: Purpose, episodes: int) -> list[Message]:
        work = ReplayWork(run=uuid.uuid4().hex, worker="tester", folder=run, purpose=purpose, episodes=episodes)
        with runtime.replay(work) as simulation:
            said = [message for message in simulation.messages() if not isinstance(message, Beat)]
            assert said[-1] == Ended(), simulation.simulator_log().decode()
        assert left_behind(engine, work.run) == []
        return said[:-1]

    (checked,) = again(Purpose.CHECK, 4)
    assert isinstance(checked, Checked)
    assert (checked.episodes, checked.differences) == (4, ())
    (film,) = again(Purpose.FILM, 1)
    assert isinstance(film, Filmed)
    assert decode_replay(bytes(film.replay), where="the film").views[0].frames


def _id(line: dict[str, object]) -> str:
    return str(line["episode_id"])
