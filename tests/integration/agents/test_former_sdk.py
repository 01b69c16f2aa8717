"""Agents of the SDK 0.1.0 still play: the SDK itself where git has it, and what it once answered, byte for byte.

`tests/data/sdk_0_1_0.json` holds the gRPC replies of such an agent, recorded by the last test (`NAV_EVAL_RECORD=1`
writes it again from git's history). A server that knows nothing but these bytes plays them here.
"""

import base64
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import grpc
import pytest
from agent_support import HERE, TASK, free_port, play

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import ClientSettings
from nav_eval.agents.messages import ActionSpec, MotionSpec, TaskInterface

pytestmark = pytest.mark.integration

ROOT = HERE.parents[2]
LAST_0_1 = "953b3d2^"  #: before the house of 0.2.0
VECTOR = ROOT / "tests/data/sdk_0_1_0.json"
SERVICE = "nav_eval.v1.Agent"
SETTINGS = ClientSettings(connect_timeout=60.0, reset_timeout=30.0, action_timeout=30.0)
#: with what came after 0.1: motion, texts, budgets, rigs
NEWER = TaskInterface(
    name="vln",
    sensors=TASK.sensors,
    actions={
        **TASK.actions,
        "turn_left": ActionSpec(motion=MotionSpec(left_degrees=15.0)),
        "ask": ActionSpec(takes_text=True, budget=3),
    },
    max_steps=50,
    rigs={"only": TaskInterface(name="vln", sensors=TASK.sensors, actions=TASK.actions, max_steps=50)},
)


@pytest.fixture(scope="module")
def former_sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the SDK 0.1.0, with its messages built from its own proto."""
    folder = tmp_path_factory.mktemp("sdk_0_1_0")
    packed = subprocess.run(["git", "archive", LAST_0_1, "sdk", "protos"], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip("the history of git is not here; the recorded bytes are played all the same")
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    target = folder / "sdk/nav_eval_sdk/_generated"
    subprocess.run([sys.executable, str(folder / "protos/build.py"), "--target", str(target)], check=True)
    return folder / "sdk"


@contextmanager
def serve_agent(sdk: Path, protocol: str, address: str) -> Iterator[None]:
    environment = {**os.environ, "PYTHONPATH": str(sdk), "NAV_EVAL_SHM_DIR": "/nowhere"}
    said = subprocess.run(
        [sys.executable, "-c", "import nav_eval_sdk; print(nav_eval_sdk.__version__)"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.strip() == "0.1.0"
    command = [sys.executable, "-m", "nav_eval_sdk", "serve", str(HERE / "fifteen_lines.py") + ":Walker"]
    process = subprocess.Popen([*command, "--protocol", protocol, "--address", address], env=environment)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=120)


def list_decisions() -> list[str]:
    """What the agent decides with the SDK of today, in this process."""
    with connect(f"{HERE / 'fifteen_lines.py'}:Walker") as client:
        client.describe(TASK)
        return [action.name for action in play(client, seed=7)]


@pytest.mark.parametrize("task", [TASK, NEWER], ids=["plain", "newer"])
@pytest.mark.parametrize(("protocol", "scheme"), [("grpc", "grpc"), ("rest", "http"), ("websocket", "ws")])
def test_an_agent_of_0_1_plays(former_sdk: Path, protocol: str, scheme: str, task: TaskInterface) -> None:
    place = f"127.0.0.1:{free_port()}"
    address = f"{scheme}://{place}"
    served = address if protocol == "websocket" else place
    with connect(address, SETTINGS) as client, serve_agent(former_sdk, protocol, served):
        client.describe(task)
        assert [action.name for action in play(client, seed=7)] == list_decisions()


@contextmanager
def serve_bytes(answer: Callable[[str, Iterator[bytes]], Iterator[bytes]]) -> Iterator[str]:
    """A gRPC server of bytes: a method's name and the requests in, replies out."""

    class Handlers(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            service, _, method = details.method.lstrip("/").partition("/")
            if service != SERVICE:
                return None
            if method == "Episode":
                return grpc.stream_stream_rpc_method_handler(lambda requests, _: answer(method, requests))
            return grpc.unary_unary_rpc_method_handler(lambda request, _: next(answer(method, iter([request]))))

    server = grpc.server(ThreadPoolExecutor(4), handlers=[Handlers()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def play_grpc(place: str) -> list[str]:
    with connect(f"grpc://{place}", SETTINGS) as client:
        assert client.describe(TASK).name == "Walker"
        return [action.name for action in play(client, seed=7)]


def test_what_an_agent_of_0_1_answered_is_understood() -> None:
    recorded = json.loads(VECTOR.read_text())

    def answer(method: str, requests: Iterator[bytes]) -> Iterator[bytes]:
        replies = iter(recorded[method])
        for _ in requests:
            yield base64.b64decode(next(replies))

    with serve_bytes(answer) as place:
        assert play_grpc(place) == list_decisions()


def test_what_was_recorded_is_what_it_says(former_sdk: Path) -> None:
    """Between the evaluator and an agent of 0.1.0, everything that the agent says is written down."""
    spoken: dict[str, list[str]] = {}
    place = f"127.0.0.1:{free_port()}"
    with serve_agent(former_sdk, "grpc", place), grpc.insecure_channel(place) as channel:
        grpc.channel_ready_future(channel).result(60)

        def relay(method: str, requests: Iterator[bytes]) -> Iterator[bytes]:
            for reply in (
                channel.stream_stream(f"/{SERVICE}/{method}")(requests)
                if method == "Episode"
                else [channel.unary_unary(f"/{SERVICE}/{method}")(next(requests))]
            ):
                spoken.setdefault(method, []).append(base64.b64encode(reply).decode())
                yield reply

        with serve_bytes(relay) as between:
            play_grpc(between)
    if "NAV_EVAL_RECORD" in os.environ:
        VECTOR.write_text(json.dumps(spoken, indent=1) + "\n")
    assert spoken == json.loads(VECTOR.read_text())
