"""What a step costs in CPU on both ends, for colour and depth of 640 × 480, by the way the pixels travel.

The same client and the same SDK agent in every row. `shared` is what an evaluation does: the renderer
draws into the ring (`EpisodeSession.buffers`). `shared_copied` copies finished arrays into it first.
The rounds of all rows alternate, and the median counts, so that a busy machine is unfair to nobody.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nav_eval.agents.client import ClientSettings, EpisodeSession
from nav_eval.agents.grpc_client import GrpcAgentClient
from nav_eval.agents.messages import ActionSpec, EpisodeEnd, Observation, TaskInterface
from nav_eval.agents.process_client import AgentProcess
from nav_eval.agents.rest_client import RestAgentClient
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.sensors import SensorSpec

ROUNDS = 9
WARM_UP = 5

AGENT = """
import sys, time
from nav_eval_sdk import Action, Agent, serve

class Bench(Agent):
    max_episodes = 8

    def act(self, observation):
        return Action("move_forward", {"cpu": time.process_time()} if observation.texts else {})

serve(Bench, address=sys.argv[1], protocol=sys.argv[2])
"""

TASK = TaskInterface(
    name="bench",
    sensors={
        "rgb": SensorSpec(kind="rgb", dtype="uint8", shape=(480, 640, 3)),
        "depth": SensorSpec(kind="depth", dtype="float32", shape=(480, 640)),
    },
    actions={"move_forward": ActionSpec(arguments={"cpu": (0.0, 1e9)})},
)


class Row(NamedTuple):
    """One way to send a step."""

    session: EpisodeSession
    steps: int  #: per round
    in_place: bool


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        script, grpc_socket = Path(scratch) / "agent.py", Path(scratch) / "grpc.sock"
        script.write_text(AGENT)
        port = _free_port()
        agents = [
            AgentProcess([sys.executable, str(script), f"unix:{grpc_socket}", "grpc"], environment={}),
            AgentProcess([sys.executable, str(script), f"127.0.0.1:{port}", "rest"], environment={}),
        ]
        try:
            return _figures(_rows(f"unix:{grpc_socket}", f"http://127.0.0.1:{port}"))
        finally:
            for agent in agents:
                agent.stop()


def _rows(grpc: str, rest: str) -> dict[str, Row]:
    inline = ClientSettings(shared_memory=False)
    stream, unary = GrpcAgentClient(grpc, inline), GrpcAgentClient(grpc, inline, streams=False)
    shared, shared_unary = (
        GrpcAgentClient(grpc, ClientSettings()),
        GrpcAgentClient(grpc, ClientSettings(), streams=False),
    )
    plan = {
        "shared": (shared, 200, True),
        "shared_copied": (shared, 200, False),
        "shared_unary": (shared_unary, 200, True),
        "stream": (stream, 40, False),
        "unary": (unary, 40, False),
        "rest_binary": (RestAgentClient(rest, inline), 40, False),
    }
    rows = {}
    for name, (client, steps, in_place) in plan.items():
        if name != "shared_copied":  # the client of the row before
            client.describe(TASK)
        rows[name] = Row(client.open_episode(PublicEpisode(episode_id=name)), steps, in_place)
    return rows


def _figures(rows: dict[str, Row]) -> dict[str, object]:
    random = np.random.default_rng(0)
    pixels = {
        "rgb": random.integers(0, 256, (480, 640, 3), dtype=np.uint8),
        "depth": random.random((480, 640), dtype=np.float32),
    }
    cost: dict[str, list[float]] = {name: [] for name in rows}
    for turn in range(ROUNDS + 1):
        for name, row in rows.items():
            milliseconds = _round(row, pixels, row.steps if turn else WARM_UP)
            if turn:
                cost[name].append(milliseconds)
    for row in rows.values():
        row.session.end(EpisodeEnd())
    median = {name: statistics.median(values) for name, values in cost.items()}
    return {
        **{f"{name}_cpu_ms_per_step": round(value, 3) for name, value in median.items()},
        "unary_over_shared_ratio": median["unary"] / median["shared"],
        "stream_over_shared_ratio": median["stream"] / median["shared"],
        "unary_over_shared_copied_ratio": median["unary"] / median["shared_copied"],
        "stream_over_shared_copied_ratio": median["stream"] / median["shared_copied"],
    }


def _round(row: Row, pixels: dict[str, np.ndarray], steps: int) -> float:
    """CPU milliseconds of both ends for one step."""
    started = time.process_time() + _agent_seconds(row)
    for step in range(steps):
        sensors = row.session.buffers() if row.in_place else pixels
        row.session.act(Observation(step=step, sensors=sensors))
    ended = _agent_seconds(row) + time.process_time()
    return (ended - started) / steps * 1000


def _agent_seconds(row: Row) -> float:
    (action,) = row.session.act(Observation(step=0, sensors={}, texts={"report": "cpu"}))
    return float(action.arguments["cpu"])


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    for key, value in run().items():
        print(f"{key:<40} {value}")
