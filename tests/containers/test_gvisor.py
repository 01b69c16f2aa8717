"""Agents in gVisor: the walls are measured, a run is scored as under runc. Ways out are tried in test_escapes.py."""

import re
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from nav_eval.config.schema.competition import LimitsConfig
from nav_eval.evaluation.shard_protocol import Ended, Message, Played
from nav_eval_worker.runtime.base import AgentImage, RuntimeUnavailable, ShardWork
from nav_eval_worker.runtime.containers.engine import DockerSettings
from nav_eval_worker.runtime.docker import DockerRuntime
from support.engine import DockerEngine

LIMITS = LimitsConfig(memory_gb=0.6, cpus=1.0, shm_gb=0.05, pids=256, log_kb=16, start_seconds=60, step_seconds=20)


@pytest.fixture
def settings(engine: DockerEngine, settings: DockerSettings) -> DockerSettings:
    engine.add_gvisor()
    return replace(settings, runtime="runsc")


WALKER = """
from nav_eval_sdk import Agent, serve

class Walker(Agent):
    sensors = ["depth"]
    def act(self, observation):
        return "move_forward" if observation["depth"][80:140, 80:140].min() > 0.5 else "turn_left"

if __name__ == "__main__":
    serve(Walker)
"""


def play(runtime: DockerRuntime, work: ShardWork) -> tuple[str, float]:
    """What was scored, without what is measured in seconds; and how long it took from the start to the end."""
    began = time.monotonic()
    with runtime.run(work) as pair:
        heard: list[Message] = list(pair.messages())
    assert heard[-1] == Ended(), heard[-1]
    line = next(bytes(message.line).decode() for message in heard if isinstance(message, Played))
    return re.sub(r'"timing":\{[^}]*\}', "", line), time.monotonic() - began


def test_a_run_is_scored_in_gvisor_as_under_runc(
    runtime: DockerRuntime,
    settings: DockerSettings,
    admitted: Callable[..., AgentImage],
    work: Callable[..., ShardWork],
) -> None:
    runtime.probe()
    image = admitted(WALKER)
    plain = DockerRuntime(runtime._folder, settings=replace(settings, runtime=""))
    outside, outside_seconds = play(plain, work(image, limits=LIMITS))
    inside, inside_seconds = play(runtime, work(image, limits=LIMITS))
    print(f"an episode of 12 steps, from start to end: {outside_seconds:.1f} s, in gVisor {inside_seconds:.1f} s")
    assert inside == outside


def test_a_runtime_that_is_not_there_is_refused(runtime: DockerRuntime, settings: DockerSettings) -> None:
    with pytest.raises(RuntimeUnavailable):
        DockerRuntime(runtime._folder, settings=replace(settings, runtime="no-such-runtime")).probe()
