"""How often a picture is copied on its way from the renderer to an agent that reads our memory: counted, in a real run.

The executor, the simulator, the gRPC client and the agent's process are the real ones. Every picture passes
`Slot.put` on its way out, which says whether it was drawn there; and tracemalloc sees every array that somebody
makes on the way, so that a copy that nobody thought of shows too.
"""

import sys
import tracemalloc
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from nav_eval.agents.grpc_sessions import StreamSession
from nav_eval.agents.messages import Action, Array, Observation
from nav_eval.agents.shared_memory import Slot
from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.executor import EpisodeExecutor, open_agent
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.records.results import EpisodeResult
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval.tasks.base import build_task

pytestmark = pytest.mark.integration

AGENT = """
import zlib
from nav_eval_sdk import Agent

NAMES = ["move_forward", "turn_left", "turn_right"]


class Looker(Agent):
    sensors = ("rgb_front", "depth_front", "pose")
    max_actions = {chunk}
    wants_between = {chunk} > 1

    def reset(self, episode):
        self.memory = 0

    def act(self, observation):
        for seen in (*observation.between, observation):
            for name in self.sensors:
                self.memory = zlib.crc32(seen[name].tobytes(), self.memory)
        return [NAMES[(self.memory >> shift) % 3] for shift in range({chunk})]
"""
SMALLEST_PICTURE = 366 * 366 * 3  #: bytes of a colour picture of LH-VLN's cameras


class PictureWatch:
    """Counts, for every picture that is sent, how often its pixels were copied since they were drawn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.copies: dict[str, list[int]] = defaultdict(list)
        self.in_messages: list[str] = []
        self.allocated: list[int] = []  #: the most bytes that were taken at once, from one request to the next
        put, act = Slot.put, StreamSession.act

        def watch_put(slot: Slot, name: str, array: Array) -> int | None:
            offset = put(slot, name, array)
            if offset is None:
                self.in_messages.append(name)
            else:
                self.copies[name].append(int(array is not slot.arrays[name]))
            return offset

        def watch_act(session: StreamSession, observation: Observation) -> list[Action]:
            actions = act(session, observation)
            current, peak = tracemalloc.get_traced_memory()
            self.allocated.append(peak - current)
            tracemalloc.reset_peak()
            return actions

        monkeypatch.setattr(Slot, "put", watch_put)
        monkeypatch.setattr(StreamSession, "act", watch_act)


def run_first_episode(benchmark: BenchmarkConfig, agent: str, cache: Path) -> EpisodeResult:
    episodes = load_episodes(benchmark)
    setup = SimulatorSetup(benchmark=benchmark, cache=cache)
    with open_agent(agent, benchmark, episodes) as client, open_simulator(setup) as simulator:
        description = client.describe(make_task_interface(benchmark))
        task = build_task(benchmark.task, benchmark.evaluation)
        between = description.wants_between
        executor = EpisodeExecutor(task=task, simulator=simulator, client=client, wants_between=between)
        return executor.run(next(iter(episodes)))


@pytest.mark.parametrize("chunk", [1, 3])
def test_a_picture_is_copied_once_at_most(
    chunk: int, room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = room_benchmark("demo_lh_vln", "evaluation.max_steps=30")
    agent = tmp_path / "looker.py"
    agent.write_text(AGENT.format(chunk=chunk))
    here = run_first_episode(benchmark, f"{agent}:Looker", tmp_path / "cache")
    watch = PictureWatch(monkeypatch)
    tracemalloc.start()
    try:
        command = f"{sys.executable} -m nav_eval_sdk serve {agent}:Looker"
        there = run_first_episode(benchmark, command, tmp_path / "cache")
    finally:
        tracemalloc.stop()
    assert there.cause is None, there.detail
    assert there.action_digest == here.action_digest, "the agent saw other pictures"
    assert set(watch.in_messages) == {"pose"}
    for name in ("rgb_front", "depth_front"):
        first, *others = watch.copies[name]
        assert first == 1, "it is drawn before the agent has said that it is ready"
        assert others == [0] * (29 if chunk == 1 else 27), "the last reply's steps are not looked at"
    assert max(watch.allocated[2:]) < SMALLEST_PICTURE, "somebody makes another picture on the way"
