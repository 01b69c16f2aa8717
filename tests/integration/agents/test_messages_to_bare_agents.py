"""What an agent hears that was written from docs/protocol.md alone: what it sent, and what to send instead."""

import json
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from typing import Any

import grpc
import pytest
from agent_support import TASK, an_episode, free_port, observations, serve_http
from websockets.sync.client import connect as dial

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import AgentClient, ClientSettings
from nav_eval.agents.failures import AgentFailure, AgentStartTimeout
from nav_eval.agents.grpc_sessions import to_failure
from nav_eval.agents.messages import Action, check_actions
from nav_eval.records.geometry import Pose
from nav_eval.records.results import Cause
from nav_eval_sdk import Task
from nav_eval_sdk.check.rest_probe import RestProbe

pytestmark = pytest.mark.integration

SETTINGS = ClientSettings(
    connect_timeout=60.0, reset_timeout=60.0, action_timeout=60.0, end_timeout=60.0, backoff=0.01, retries=0
)


def serve(answer: Callable[[str], bytes], heard: list[dict[str, Any]] | None = None) -> AbstractContextManager[str]:
    """An HTTP server whose body is what `answer` says for a path; what it is sent is kept in `heard`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404)
            self.end_headers()

        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if heard is not None:
                heard.append(document)
            body = answer(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return serve_http(Handler)


def fail(description: dict[str, Any], act: bytes = b'{"action": "stop"}') -> AgentFailure:
    """How an agent fails that describes itself and acts like this."""
    said = {"/describe": json.dumps(description).encode(), "/episode/act": act}
    with serve(lambda path: said.get(path, b"{}")) as address, connect(address, SETTINGS) as client:
        with pytest.raises(AgentFailure) as failed:
            play(client)
        return failed.value


def play(client: AgentClient) -> None:
    client.describe(TASK)
    client.open_episode(an_episode()).act(next(iter(observations(0))))


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (b"move_forward", "The agent sent move_forward, which is no JSON (JSON is malformed: invalid character"),
        (b"move_forward", 'Answer an object, such as {"action": "move_forward"}.'),
        (b'{"action": {"action": "stop"}}', "the name alone, such as 'move_forward'. Arguments stand beside it"),
        (b'{"action": [0, 1, 0, 0]}', "Actions are names, not numbers"),
    ],
)
def test_a_reply_is_quoted_and_the_right_one_shown(act: bytes, said: str) -> None:
    failure = fail({"sensors": ["gps"]}, act)
    assert failure.cause is Cause.PROTOCOL_ERROR
    assert said in str(failure)


def test_an_encoding_that_nobody_sends_is_no_silent_png() -> None:
    failure = fail({"sensors": {"rgb": ["jpg"]}})
    assert "Describe wants 'rgb' as jpg, which nobody sends. Did you mean 'jpeg'?" in str(failure)


def test_an_encoding_of_the_future_may_stand_before_one_of_ours() -> None:
    said = {"/describe": json.dumps({"sensors": {"rgb": ["webp", "jpeg"]}}).encode()}
    with serve(lambda path: said.get(path, b"{}")) as address, connect(address, SETTINGS) as client:
        assert client.describe(TASK).sensors["rgb"] == ("jpeg",)


def test_who_describes_itself_late_starts_late() -> None:
    """To make `act` faster would not help it."""
    called = threading.Event()

    def wait(path: str) -> bytes:
        called.wait(60)
        return b"{}"

    with serve(wait) as address, connect(address, ClientSettings(connect_timeout=0.5, retries=0)) as client:
        with pytest.raises(AgentStartTimeout, match="No reply to /describe"):
            client.describe(TASK)
        called.set()


def test_a_message_that_is_no_object_is_quoted() -> None:
    port = free_port()
    with connect(f"ws://127.0.0.1:{port}", SETTINGS) as client, dial(f"ws://127.0.0.1:{port}") as socket:
        socket.send('{"type": "connect", "sensors": ["gps"]}')
        client.describe(TASK)
        session = client.open_episode(an_episode())
        socket.send('"move_forward"')
        with pytest.raises(AgentFailure, match=r'A message is "move_forward"; it must be an object with a `type`'):
            session.act(next(iter(observations(0))))


class _Refusal(grpc.RpcError):
    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNIMPLEMENTED

    def details(self) -> str:
        return ""


def test_a_refusal_without_a_word_ends_without_a_comma() -> None:
    assert str(to_failure(_Refusal(), doing="answering Act 3")).endswith("Act 3: UNIMPLEMENTED")


def test_poses_belong_to_more_than_one_action() -> None:
    with pytest.raises(AgentFailure, match="'stop' carries poses, and takes none"):
        check_actions([Action(name="stop", poses=(Pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)),))], task=TASK, most=1)


def test_the_check_ends_an_episode_with_every_key_that_the_protocol_names() -> None:
    """An agent that reads `num_steps` must not fail in the check alone."""
    heard: list[dict[str, Any]] = []
    with serve(lambda path: b'{"action": "stop"}' if path == "/episode/act" else b"{}", heard) as address:
        episode = RestProbe(address, timeout=60.0).open(Task(name="vln"), instruction="Stop.")
        episode.sequence = 1
        assert episode.end()
    assert heard[-1] == {
        "session_id": episode.session_id, "status": "success", "metrics": {}, "num_steps": 1, "reason": ""
    }  # fmt: skip
