"""One agent of fifteen lines, every protocol, the same results to the last bit."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.orchestrator import EvaluationOrchestrator
from support.load import measure_slowdown

pytestmark = pytest.mark.integration

AGENT = """
import zlib
from nav_eval_sdk import Agent


class Looker(Agent):
    sensors = ("rgb_front", "depth_front", "pose")

    def reset(self, episode):
        self.memory = zlib.crc32(episode.instruction.encode())

    def act(self, observation):
        for name in self.sensors:
            self.memory = zlib.crc32(observation[name].tobytes(), self.memory)
        return "stop" if observation.step % 15 == 14 else ["move_forward", "turn_left", "turn_right"][self.memory % 3]
"""


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    file = tmp_path / "looker.py"
    file.write_text(AGENT)
    return file


@pytest.fixture
def serve(agent_file: Path) -> Iterator[Callable[..., None]]:
    started: list[subprocess.Popen[bytes]] = []

    def start(protocol: str, address: str) -> None:
        command = [sys.executable, "-m", "nav_eval_sdk", "serve", f"{agent_file}:Looker"]
        started.append(subprocess.Popen([*command, "--protocol", protocol, "--address", address], env=os.environ))

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=120)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def played(benchmark: BenchmarkConfig, agent: str, out: Path) -> dict[str, Any]:
    EvaluationOrchestrator(cache=out.parent / "cache").run_benchmark(benchmark, agent=agent, out=out)
    results = RunFolder(out).results()
    assert {result.cause for result in results} == {None}, results[0].detail
    return {result.episode_id: (result.action_digest, result.metrics, result.actions) for result in results}


def test_the_same_scores_under_every_protocol(
    room_benchmark: Callable[..., BenchmarkConfig], agent_file: Path, serve: Callable[..., None], tmp_path: Path
) -> None:
    benchmark = room_benchmark("demo_lh_vln", "evaluation.max_steps=40", "dataset.episodes=2")
    here = played(benchmark, f"{agent_file}:Looker", tmp_path / "local")
    assert len({digest for digest, _, _ in here.values()}) == 2
    grpc, rest, ws = (f"127.0.0.1:{free_port()}" for _ in range(3))
    serve("grpc", grpc)
    assert played(benchmark, f"grpc://{grpc}", tmp_path / "grpc") == here
    serve("rest", rest)
    assert played(benchmark, f"http://{rest}", tmp_path / "rest") == here
    serve("websocket", f"ws://{ws}")
    assert played(benchmark, f"ws://{ws}", tmp_path / "ws") == here
    command = f"{sys.executable} -m nav_eval_sdk serve {agent_file}:Looker"
    assert played(benchmark, command, tmp_path / "command") == here


@pytest.mark.parametrize("baseline", ["StopAgent", "RandomAgent", "ForwardAgent"])
def test_baselines_are_agents_of_their_own(
    baseline: str, room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path
) -> None:
    benchmark = room_benchmark("demo_lh_vln", "dataset.episodes=2")
    name = {"StopAgent": "stop", "RandomAgent": "random", "ForwardAgent": "forward"}[baseline]
    command = f"{sys.executable} -m nav_eval_sdk serve nav_eval.agents.baselines:{baseline}"
    began = time.monotonic()
    served = played(benchmark, command, tmp_path / "served")
    assert served == played(benchmark, f"baseline:{name}", tmp_path / "here")
    assert time.monotonic() - began < 60 * measure_slowdown()
