"""One model process, many episodes: what batching gains for a model whose cost is that of a batch (fixed + per item).

The same SDK agent, the same evaluator's client and the same episodes, one at a time and sixteen at once, over every
protocol. The model sleeps for its cost, as a GPU would be busy: the CPU is free meanwhile.
Decisions depend on the episode and the step alone, and must be equal.
"""

import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import AgentClient, ClientSettings
from nav_eval.agents.messages import ActionSpec, EpisodeEnd, Observation, TaskInterface
from nav_eval.agents.process_client import AgentProcess
from nav_eval.dataset.episode import Instruction, PublicEpisode
from nav_eval.sensors import SensorSpec

AT_ONCE = 16
STEPS = 12
ALONE = 3  #: episodes one after the other: enough to know the rate
NAMES = ("move_forward", "turn_left", "turn_right")

AGENT = """
import sys, time, zlib
from nav_eval_sdk import Agent, serve

class Model(Agent):
    max_episodes = 16

    def act_batch(self, observations):
        time.sleep(0.08 + 0.002 * len(observations))
        return [self.decide(observation) for observation in observations]

    def decide(self, observation):
        drawn = zlib.crc32(f"{observation.instruction}/{observation.step}".encode())
        return ("move_forward", "turn_left", "turn_right")[drawn % 3]

serve(Model, address=sys.argv[1], protocol=sys.argv[2])
"""

TASK = TaskInterface(
    name="vln",
    sensors={"rgb": SensorSpec(kind="rgb", dtype="uint8", shape=(64, 64, 3))},
    actions={name: ActionSpec() for name in ("stop", *NAMES)},
)


def play(client: AgentClient, number: int) -> list[str]:
    """One episode; what was decided in it."""
    episode = PublicEpisode(episode_id=str(number), instruction=Instruction(text=f"Episode {number}."))
    session = client.open_episode(episode)
    picture = np.full((64, 64, 3), number, np.uint8)
    done = [session.act(Observation(step=step, sensors={"rgb": picture}))[0].name for step in range(STEPS)]
    session.end(EpisodeEnd(steps=STEPS))
    return done


def measure(client: AgentClient, *, episodes: int, at_once: int) -> tuple[float, dict[int, list[str]]]:
    """Episodes per hour, and every decision."""
    began = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        decided = dict(
            zip(range(episodes), pool.map(lambda number: play(client, number), range(episodes)), strict=True)
        )
    return episodes * 3600 / (time.monotonic() - began), decided


def run_protocol(protocol: str, folder: Path) -> dict[str, object]:
    script = folder / "agent.py"
    script.write_text(AGENT)
    place = f"127.0.0.1:{_find_port()}"
    address = {"grpc": f"unix:{folder}/agent.sock", "rest": f"http://{place}", "websocket": f"ws://{place}"}[protocol]
    served = place if protocol == "rest" else address
    with connect(address, ClientSettings()) as client:  # before the agent: over WebSocket it is the agent who dials
        process = AgentProcess([sys.executable, str(script), served, protocol], environment={})
        try:
            client.describe(TASK)
            alone, one = measure(client, episodes=ALONE, at_once=1)
            together, many = measure(client, episodes=AT_ONCE, at_once=AT_ONCE)
        finally:
            process.stop()
    equal = all(many[number] == actions for number, actions in one.items())
    return {
        f"{protocol}_episodes_per_hour_alone": round(alone),
        f"{protocol}_episodes_per_hour_16_at_once": round(together),
        f"{protocol}_batching_ratio": together / alone,
        f"{protocol}_equal_decisions": equal,
    }


def _find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run() -> dict[str, object]:
    figures: dict[str, object] = {}
    for protocol in ("grpc", "rest", "websocket"):
        with tempfile.TemporaryDirectory() as folder:
            figures |= run_protocol(protocol, Path(folder))
    return figures
