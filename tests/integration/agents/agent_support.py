"""The task that the agents of these tests are asked to do, and an episode played against one."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from nav_eval.agents.client import AgentClient
from nav_eval.agents.messages import Action, ActionSpec, EpisodeEnd, Observation, TaskInterface
from nav_eval.dataset.episode import Instruction, PublicEpisode
from nav_eval.sensors import SensorSpec

HERE = Path(__file__).parent
SENSORS = {
    "rgb": SensorSpec(kind="rgb", dtype="uint8", shape=(48, 64, 3)),
    "depth": SensorSpec(kind="depth", dtype="float32", shape=(48, 64)),
    "gps": SensorSpec(kind="gps", dtype="float32", shape=(2,)),
    "compass": SensorSpec(kind="compass", dtype="float32", shape=()),
}
ACTIONS = {
    "stop": ActionSpec(),
    "move_forward": ActionSpec(arguments={"step_size": (0.05, 0.5)}),
    "turn_left": ActionSpec(),
    "turn_right": ActionSpec(),
}
TASK = TaskInterface(name="vln", sensors=SENSORS, actions=ACTIONS, max_steps=50)


@contextmanager
def serve_http(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address at which `handler` answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def an_episode(number: int = 0) -> PublicEpisode:
    instruction = Instruction(text=f"Geh {number} Meter, dann 左转.", tokens=("Geh", "Meter"), language="de")
    return PublicEpisode(episode_id=f"ep_{number}", instruction=instruction)


def observations(seed: int, steps: int = 20) -> list[Observation]:
    random = np.random.default_rng(seed)
    return [
        Observation(
            step=step,
            sensors={
                "rgb": random.integers(0, 256, (48, 64, 3), dtype=np.uint8),
                "depth": random.random((48, 64), dtype=np.float32),
                "gps": random.random(2, dtype=np.float32),
                "compass": np.asarray(random.random(), np.float32),
            },
        )
        for step in range(steps)
    ]


def play(client: AgentClient, seed: int = 0) -> list[Action]:
    """One whole episode against the agent."""
    session = client.open_episode(an_episode(seed))
    done: list[Action] = []
    try:
        for observation in observations(seed):
            done += session.act(observation)
    finally:
        session.end(EpisodeEnd(steps=len(done)))
    return done


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
