"""One agent, every protocol: the same observations give the same actions."""

import sys
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from agent_support import HERE, SENSORS, TASK, an_episode, free_port, observations, play

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, EpisodeSession
from nav_eval.agents.failures import AgentFailure
from nav_eval.agents.grpc_client import GrpcAgentClient
from nav_eval.agents.grpc_sessions import StreamSession, UnarySession
from nav_eval.agents.messages import ANSWER, ActionSpec, EpisodeEnd, Observation, TaskInterface
from nav_eval.records.geometry import Pose
from nav_eval.sensors import TEXT, SensorSpec

pytestmark = pytest.mark.integration

SETTINGS = ClientSettings(connect_timeout=20.0, reset_timeout=10.0, action_timeout=10.0)
INLINE = ClientSettings(connect_timeout=20.0, reset_timeout=10.0, action_timeout=10.0, shared_memory=False)
AGENT = "fifteen_lines.py"


def in_process() -> AgentClient:
    return connect(f"{HERE / AGENT}:Walker", SETTINGS)


@pytest.fixture(scope="module")
def expected() -> list[str]:
    with in_process() as client:
        client.describe(TASK)
        return [action.name for action in play(client, seed=7)]


def over_socket(spawn: Callable, tmp_path: Path, *, streams: bool = True, shared: bool = True) -> AgentClient:
    socket = tmp_path / "agent.sock"
    spawn(AGENT, NAV_EVAL_SOCKET=str(socket))
    return GrpcAgentClient(f"unix:{socket}", SETTINGS if shared else INLINE, streams=streams)


def over_tcp(spawn: Callable, tmp_path: Path) -> AgentClient:
    port = free_port()
    spawn(AGENT, NAV_EVAL_ADDRESS=f"127.0.0.1:{port}")
    return connect(f"grpc://127.0.0.1:{port}", SETTINGS)


def over_rest(spawn: Callable, tmp_path: Path) -> AgentClient:
    port = free_port()
    spawn(AGENT, NAV_EVAL_ADDRESS=f"127.0.0.1:{port}", NAV_EVAL_PROTOCOL="rest")
    return connect(f"http://127.0.0.1:{port}", SETTINGS)


def over_websocket(spawn: Callable, tmp_path: Path, encoding: str) -> AgentClient:
    port = free_port()
    client = connect(f"ws://127.0.0.1:{port}", SETTINGS)
    spawn(AGENT, NAV_EVAL_ADDRESS=f"ws://127.0.0.1:{port}", NAV_EVAL_PROTOCOL="websocket", NAV_EVAL_ENCODING=encoding)
    return client


WAYS: dict[str, Callable[..., AgentClient]] = {
    "grpc stream, shared memory": over_socket,
    "grpc stream, inline": lambda spawn, path: over_socket(spawn, path, shared=False),
    "grpc unary, shared memory": lambda spawn, path: over_socket(spawn, path, streams=False),
    "grpc unary, inline": lambda spawn, path: over_socket(spawn, path, streams=False, shared=False),
    "grpc over TCP": over_tcp,
    "rest": over_rest,
    "websocket msgpack": lambda spawn, path: over_websocket(spawn, path, "msgpack"),
    "websocket json": lambda spawn, path: over_websocket(spawn, path, "json"),
    "command": lambda spawn, path: connect(f"{sys.executable} {HERE / AGENT}", SETTINGS),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_actions(way: str, spawn: Callable, tmp_path: Path, expected: list[str]) -> None:
    with WAYS[way](spawn, tmp_path) as client:
        description = client.describe(TASK)
        assert description.name == "Walker"
        assert client.health_check() is AgentHealth.SERVING
        for _ in range(2):  # the second episode finds nothing left of the first
            assert [action.name for action in play(client, seed=7)] == expected
    assert len(set(expected)) == 4, "the episode shows too little"
    assert not [thread for thread in threading.enumerate() if thread.name == "nav-eval-websocket" and not thread.daemon]


@pytest.mark.parametrize(("streams", "kind"), [(True, StreamSession), (False, UnarySession)])
def test_shared_memory_is_agreed_on_by_itself(spawn: Callable, tmp_path: Path, streams: bool, kind: type) -> None:
    with over_socket(spawn, tmp_path, streams=streams) as client:
        assert client.describe(TASK).shared_memory
        assert type(client.open_episode(an_episode())) is kind


CHUNKS = """
import zlib
from nav_eval_sdk import Agent, serve

class Chunks(Agent):
    max_actions = 3
    wants_between = True

    def act(self, observation):
        seen = [*observation.between, observation]
        crc = zlib.crc32(b"".join(moment["rgb"].tobytes() for moment in seen)) % 1000
        return ["turn_left", {"action": "move_forward", "action_args": {"step_size": 0.05 + crc / 10000}}]

serve(Chunks)
"""


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_what_is_seen_between_two_questions_arrives(
    in_place: bool, shared: bool, spawn: Callable, tmp_path: Path
) -> None:
    socket = tmp_path / "agent.sock"
    spawn(CHUNKS, NAV_EVAL_SOCKET=str(socket))
    with connect(f"unix:{socket}", SETTINGS if shared else INLINE) as client:
        description = client.describe(TASK)
        assert (description.max_actions, description.wants_between, description.shared_memory) == (3, True, shared)
        session = client.open_episode(an_episode())
        for first in range(0, 18, 3):
            moments = observations(first, 3)
            seen = [drawn(session, moment) if in_place else moment for moment in moments]
            turn, move = session.act(replace(seen[-1], between=tuple(seen[:-1])))
            pixels = b"".join(moment.sensors["rgb"].tobytes() for moment in moments)
            assert turn.name == "turn_left"
            assert move.arguments["step_size"] == pytest.approx(0.05 + zlib.crc32(pixels) % 1000 / 10000)
        session.end(EpisodeEnd())


def drawn(session: EpisodeSession, moment: Observation) -> Observation:
    """The moment, rendered into the memory that the session offers, if it offers any."""
    buffers = session.buffers()
    for name, buffer in buffers.items():
        buffer[...] = moment.sensors[name]
    return replace(moment, sensors={**moment.sensors, **buffers})


LOCALIZER = """
import zlib
from nav_eval_sdk import Action, Agent, Pose, serve

class Localizer(Agent):
    sensors = {"rgb": ["png"], "goal": [], "depth": ["jpeg", "png"]}

    def act(self, observation):
        assert observation.texts == {"goal": "椅子"} and set(observation) == {"rgb", "depth"}
        assert observation.episode.task.sensors["goal"].dtype == "text"
        x = zlib.crc32(observation["rgb"].tobytes()) % 1000 / 7
        z = zlib.crc32(observation["depth"].tobytes()) % 1000 / 7
        return Action("answer", poses=(Pose((x, 0.5, z), (0.0, 0.6, 0.0, 0.8)), Pose((0.0, 0.0, 0.0))))

serve(Localizer)
"""


@pytest.mark.parametrize("protocol", ["grpc", "rest", "websocket"])
def test_words_pictures_and_poses_arrive_as_they_are(protocol: str, spawn: Callable) -> None:
    port = free_port()
    scheme = {"grpc": "grpc", "rest": "http", "websocket": "ws"}[protocol]
    goal = SensorSpec(kind="objectgoal", dtype=TEXT)
    task = TaskInterface(name="localization", sensors={**SENSORS, "goal": goal}, actions={ANSWER: ActionSpec()})
    told = f"ws://127.0.0.1:{port}" if protocol == "websocket" else f"127.0.0.1:{port}"
    with connect(f"{scheme}://127.0.0.1:{port}", INLINE) as client:
        spawn(LOCALIZER, NAV_EVAL_PROTOCOL=protocol, NAV_EVAL_ADDRESS=told)
        client.describe(task)
        assert set(client.task.sensors) == {"rgb", "depth", "goal"}
        session = client.open_episode(an_episode())
        (moment,) = observations(5, 1)
        sensors = {name: moment.sensors[name] for name in ("rgb", "depth")}
        (answer,) = session.act(replace(moment, sensors=sensors, texts={"goal": "椅子"}))
        session.end(EpisodeEnd())
    x, z = (zlib.crc32(sensors[name].tobytes()) % 1000 / 7 for name in ("rgb", "depth"))
    assert answer.poses == (Pose((x, 0.5, z), (0.0, 0.6, 0.0, 0.8)), Pose((0.0, 0.0, 0.0)))


def test_an_agent_that_is_stuck_still_ends_when_told(spawn: Callable, tmp_path: Path) -> None:
    socket = tmp_path / "agent.sock"
    process = spawn(
        "import time\nfrom nav_eval_sdk import Agent, serve\n"
        "class Stuck(Agent):\n    def act(self, o): time.sleep(60)\nserve(Stuck)\n",
        NAV_EVAL_SOCKET=str(socket),
    )
    with connect(f"unix:{socket}", replace(SETTINGS, action_timeout=0.5)) as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        with pytest.raises(AgentFailure, match=r"within 0\.5 s"):
            session.act(observations(0, 1)[0])
    process.terminate()
    assert process.wait(60) == 0


BATCHING = """
from nav_eval_sdk import Agent, serve

class Batching(Agent):
    max_episodes = 4
    largest = 0

    def act_batch(self, observations):
        self.largest = max(self.largest, len(observations))
        return [{"action": "stop" if o.step == 19 else "move_forward"} for o in observations]

    def end(self, episode, outcome):
        print("largest", self.largest, flush=True)

serve(Batching, batch_window=0.2)
"""


@pytest.mark.parametrize("protocol", ["grpc", "rest", "websocket"])
def test_concurrent_episodes_are_answered_in_batches(protocol: str, spawn: Callable, tmp_path: Path) -> None:
    place, log = f"127.0.0.1:{free_port()}", tmp_path / "largest"
    code = BATCHING.replace(
        'print("largest", self.largest, flush=True)', f"open({str(log)!r}, 'a').write(f'{{self.largest}} ')"
    )
    address = {"grpc": "grpc", "rest": "http", "websocket": "ws"}[protocol] + f"://{place}"
    with connect(address, SETTINGS) as client:  # before the agent: over WebSocket it is the agent who dials
        spawn(code, NAV_EVAL_ADDRESS=address if protocol == "websocket" else place, NAV_EVAL_PROTOCOL=protocol)
        assert client.describe(TASK).max_episodes == 4
        with ThreadPoolExecutor(4) as pool:
            done = list(pool.map(lambda seed: play(client, seed), range(4)))
    assert [len(actions) for actions in done] == [20] * 4
    assert "4" in log.read_text().split()


COUNTING = """
from nav_eval_sdk import Agent, serve

class Counting(Agent):
    max_episodes = 3

    def reset(self, episode):
        self.count = 0

    def act(self, observation):
        self.count += 1
        assert observation.step == self.count - 1, (observation.step, self.count)
        return "stop" if self.count == 20 else "turn_left"

serve(Counting)
"""


@pytest.mark.parametrize("protocol", ["grpc", "rest", "websocket"])
def test_concurrent_episodes_do_not_mix(protocol: str, spawn: Callable, tmp_path: Path) -> None:
    port = free_port()
    address = {"grpc": "grpc", "rest": "http", "websocket": "ws"}[protocol] + f"://127.0.0.1:{port}"
    if protocol == "websocket":
        client = connect(address, SETTINGS)
    told = address if protocol == "websocket" else f"127.0.0.1:{port}"
    spawn(COUNTING, NAV_EVAL_ADDRESS=told, NAV_EVAL_PROTOCOL=protocol)
    if protocol != "websocket":
        client = connect(address, SETTINGS)
    with client:
        assert client.describe(TASK).max_episodes == 3
        with ThreadPoolExecutor(3) as pool:
            done = list(pool.map(lambda seed: play(client, seed), range(6)))
    assert [actions[-1].name for actions in done] == ["stop"] * 6
