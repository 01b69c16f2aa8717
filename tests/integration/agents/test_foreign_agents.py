"""Agents that do not know our SDK: from agent.proto alone, in Python and in another language; openpi servers."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from agent_support import HERE, TASK, play
from websockets.sync.server import ServerConnection, serve

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import AgentClient, ClientSettings
from nav_eval.agents.failures import AgentFailure
from nav_eval.agents.openpi_client import pack, unpack
from nav_eval.agents.process_client import ProcessAgentClient
from nav_eval.records.results import Cause
from support.tools import absent

pytestmark = pytest.mark.integration

ROOT = HERE.parents[2]
SETTINGS = ClientSettings(connect_timeout=30.0, reset_timeout=5.0, action_timeout=5.0)


def expected() -> list[str]:
    with connect(f"{HERE / 'fifteen_lines.py'}:Walker") as client:
        client.describe(TASK)
        return names(client)


def names(client: AgentClient) -> list[str]:
    return [action.name for action in play(client, seed=7)]


@pytest.mark.parametrize(("style", "shared", "several"), [("stream", True, 4), ("unary", True, 4), ("least", False, 1)])
def test_an_agent_from_the_proto_alone_is_evaluated(style: str, shared: bool, several: int) -> None:
    command = f"{sys.executable} {HERE / 'proto_only.py'} {ROOT / 'protos/nav_eval/v1'} {style}"
    with connect(command, SETTINGS) as client:
        description = client.describe(TASK)
        assert (description.shared_memory, description.max_episodes) == (shared, several)
        assert names(client) == expected()


def test_an_agent_built_from_the_first_published_proto_still_plays() -> None:
    """`tests/data/protos/published_0_1`: what agents in the field were built from."""
    command = f"{sys.executable} {HERE / 'proto_only.py'} {ROOT / 'tests/data/protos/published_0_1'} stream"
    with connect(command, SETTINGS) as client:
        client.describe(TASK)
        assert names(client) == expected()


def test_code_that_owns_the_loop_is_an_agent() -> None:
    with connect(f"{sys.executable} {HERE / 'loop_agent.py'}", SETTINGS) as client:
        assert client.describe(TASK).name == "loop"
        for _ in range(2):  # one episode after the other
            assert names(client) == expected()


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that the JavaScript agent needs; a machine that cannot get them must not be CI."""
    home = tmp_path_factory.mktemp("node")
    shutil.copytree(HERE / "node_agent", home, dirs_exist_ok=True)
    npm = shutil.which("npm")
    done = npm and subprocess.run(
        [npm, "install", "--no-audit", "--no-fund"], cwd=home, capture_output=True, timeout=300, check=False
    )
    if not done or done.returncode:
        reason = f"npm cannot install @grpc/grpc-js: {done.stderr.decode()[-500:]}" if done else "there is no npm"
        absent(reason)
    return home


def test_an_agent_in_another_language_is_evaluated(node_modules: Path) -> None:
    command = f"node {node_modules / 'agent.js'} {ROOT / 'protos/nav_eval/v1/agent.proto'}"
    with ProcessAgentClient(command, SETTINGS) as client:
        description = client.describe(TASK)
        assert (description.name, description.shared_memory) == ("node agent", False)
        assert names(client) == expected()


MAPPING = """
observation:
  observation/image: {{sensor: rgb, resize: [224, 224]}}
  observation/state: {{concat: [gps, compass]}}
  prompt: {{text: instruction}}
  step: {{number: step}}
action:
  decode: argmax
  names: [stop, move_forward, turn_left, turn_right]
  execute: {execute}
"""


class PolicyServer:
    """An openpi-style server, as policies ship it."""

    def __init__(self, **metadata: object) -> None:
        self.metadata = metadata
        self.requests: list[dict] = []
        self.fails = ""
        self._server = serve(self._talk, "127.0.0.1", 0, compression=None, max_size=None, close_timeout=0.5)
        self.port: int = self._server.socket.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()

    def _talk(self, line: ServerConnection) -> None:
        line.send(pack(self.metadata))
        for message in line:
            request = unpack(message)  # type: ignore[arg-type]
            self.requests.append(request)
            if self.fails:
                line.send(self.fails)
                line.close(1011)
                return
            if request.get("endpoint") == "reset":
                line.send("reset successful")
            else:
                scores = np.zeros((8, 4), np.float32)
                scores[np.arange(8), np.arange(8) % 3 + 1] = 1.0
                line.send(pack({"actions": scores, "server_timing": {"infer_ms": 1.5}}))


@pytest.fixture
def policy() -> Iterator[PolicyServer]:
    server = PolicyServer(name="pi0", needs_session_id=True)
    yield server
    server.close()


def reach(policy: PolicyServer, tmp_path: Path, *, execute: int) -> AgentClient:
    file = tmp_path / "mapping.yaml"
    file.write_text(MAPPING.format(execute=execute))
    return connect(f"openpi://127.0.0.1:{policy.port}?mapping={file}", SETTINGS)


def test_an_openpi_policy_is_evaluated_through_a_mapping(policy: PolicyServer, tmp_path: Path) -> None:
    with reach(policy, tmp_path, execute=4) as client:
        description = client.describe(TASK)
        assert (description.name, set(client.task.sensors)) == ("pi0", {"rgb", "gps", "compass"})
        done = names(client)
    assert done[:4] == ["move_forward", "turn_left", "turn_right", "move_forward"]
    assert len(done) == 80
    assert policy.requests[0] == {"endpoint": "reset", "session_id": policy.requests[0]["session_id"]}
    first = policy.requests[1]
    assert first["observation/image"].shape == (224, 224, 3)
    assert not first["observation/image"][0].any(), "the picture is padded, not stretched"
    assert first["observation/image"][112].any()
    assert first["observation/state"].dtype == np.float32
    assert first["observation/state"].shape == (3,)
    assert first["prompt"].startswith("Geh")
    assert (first["endpoint"], first["step"]) == ("infer", 0)


def test_a_traceback_of_a_policy_server_is_a_crash(policy: PolicyServer, tmp_path: Path) -> None:
    policy.metadata = {}
    policy.fails = "Traceback (most recent call last): KeyError: 'observation/wrist'"
    with reach(policy, tmp_path, execute=1) as client:
        client.describe(TASK)
        with pytest.raises(AgentFailure, match="observation/wrist") as caught:
            play(client)
    assert caught.value.cause is Cause.AGENT_CRASH
