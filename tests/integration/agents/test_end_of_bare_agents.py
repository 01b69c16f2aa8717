"""Agents written from agent.proto and docs/protocol.md alone, each with one mistake: they hear of the end as well."""

import json
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import grpc
import pytest
from agent_support import TASK, an_episode, free_port, observations, serve_http
from websockets.sync.client import connect as dial

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import AgentClient, ClientSettings
from nav_eval.agents.failures import AgentFailure, ProtocolError
from nav_eval.agents.messages import EpisodeEnd
from nav_eval.records.results import Cause
from nav_eval_sdk._generated import agent_pb2 as pb

pytestmark = pytest.mark.integration

SETTINGS = ClientSettings(
    connect_timeout=60.0, reset_timeout=60.0, action_timeout=60.0, end_timeout=60.0, backoff=0.01, retries=0
)


def play_to_the_fault(client: AgentClient) -> AgentFailure:
    """An episode that fails, and the farewell that an evaluator says."""
    client.describe(TASK)
    try:
        session = client.open_episode(an_episode())
    except AgentFailure as failure:
        return failure
    try:
        for observation in observations(0):
            session.act(observation)
    except AgentFailure as failure:
        session.end(EpisodeEnd.from_failure(failure))
        return failure
    raise AssertionError("nothing failed")


class BareGrpc:
    """The service by its names on the wire, as any library serves it."""

    def __init__(self, mistake: str, *, streams: bool = True) -> None:
        self.heard: queue.Queue[Any] = queue.Queue()
        self._mistake, self._streams = mistake, streams

    @contextmanager
    def serve(self) -> Iterator[str]:
        unary = grpc.unary_unary_rpc_method_handler
        handlers: dict[str, Any] = {
            "Describe": unary(lambda _, __: b""),
            "Reset": unary(self._reset),
            "Act": unary(lambda request, context: self._act(pb.ActRequest.FromString(request)).SerializeToString()),
            "End": unary(lambda request, _: self._end(pb.EndRequest.FromString(request))),
        }
        if self._streams:
            handlers["Episode"] = grpc.stream_stream_rpc_method_handler(self._episode)
        server = grpc.server(ThreadPoolExecutor(4))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("nav_eval.v1.Agent", handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"grpc://127.0.0.1:{port}"
        finally:
            server.stop(None)

    def _reset(self, _request: bytes, context: grpc.ServicerContext) -> bytes:
        if self._mistake == "breaks in Reset":
            context.abort(grpc.StatusCode.UNKNOWN, "no weights")
        return b""

    def _act(self, request: pb.ActRequest) -> pb.ActReply:
        if self._mistake == "breaks in Act":
            raise ValueError("a bug")
        size = 2_000_000 if self._mistake == "says too much" else 0
        return pb.ActReply(sequence=request.sequence, actions=[pb.Action(name="turn_left", text="x" * size)])

    def _episode(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        for data in requests:
            request = pb.EpisodeRequest.FromString(data)
            if request.HasField("reset"):
                self._reset(b"", context)
                yield pb.EpisodeReply(reset=pb.ResetReply()).SerializeToString()
            elif request.HasField("end"):
                self._end(request.end)
                yield pb.EpisodeReply(end=pb.EndReply()).SerializeToString()
            elif self._mistake == "hangs up":
                return
            else:
                reply = pb.EpisodeReply(act=self._act(request.act)).SerializeToString()
                yield from [reply] * (2 if self._mistake == "answers twice" else 1)

    def _end(self, request: pb.EndRequest) -> bytes:
        self.heard.put((request.status, request.reason))
        return b""


@pytest.mark.parametrize(
    ("mistake", "cause"),
    [
        ("breaks in Reset", Cause.AGENT_CRASH),
        ("breaks in Act", Cause.AGENT_CRASH),
        ("hangs up", Cause.PROTOCOL_ERROR),
        ("answers twice", Cause.PROTOCOL_ERROR),
        ("says too much", Cause.PROTOCOL_ERROR),
    ],
)
def test_a_stream_that_broke_is_ended(mistake: str, cause: Cause) -> None:
    agent = BareGrpc(mistake)
    with agent.serve() as address, connect(address, SETTINGS) as client:
        failure = play_to_the_fault(client)
        assert failure.cause is cause
        assert agent.heard.get(timeout=60) == (pb.END_STATUS_FAILED, str(failure))


def test_calls_that_broke_are_ended() -> None:
    agent = BareGrpc("breaks in Reset", streams=False)
    with agent.serve() as address, connect(address, SETTINGS) as client:
        failure = play_to_the_fault(client)
        assert agent.heard.get(timeout=60) == (pb.END_STATUS_FAILED, str(failure))


def serve_mistake(mistake: str, heard: "queue.Queue[Any]") -> AbstractContextManager[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._say({})

        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/episode/end":
                heard.put((said["status"], said["reason"]))
            if (mistake, self.path) == ("hangs up", "/episode/act"):
                self.close_connection = True
                return
            broken = (mistake, self.path) == ("breaks in Reset", "/episode/reset")
            self._say({"action": "turn_left"}, status=500 if broken else 200)

        def _say(self, document: dict[str, Any], *, status: int = 200) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return serve_http(Handler)


@pytest.mark.parametrize("mistake", ["breaks in Reset", "hangs up"])
def test_a_server_that_broke_is_told(mistake: str) -> None:
    heard: queue.Queue[Any] = queue.Queue()
    with serve_mistake(mistake, heard) as address, connect(address, SETTINGS) as client:
        failure = play_to_the_fault(client)
        assert failure.cause is Cause.AGENT_CRASH
        assert heard.get(timeout=60) == ("error", str(failure))


def answer_over_a_socket(port: int, answer: Callable[[dict[str, Any]], str], heard: "queue.Queue[Any]") -> None:
    with dial(f"ws://127.0.0.1:{port}", open_timeout=60) as socket, suppress(Exception):
        socket.send('{"type": "connect", "protocol_version": "1.0", "sensors": ["gps"]}')
        while True:
            message = json.loads(socket.recv(timeout=60))
            if message["type"] == "get_action":
                socket.send(answer(message))
            if message["type"] == "episode_end":
                heard.put((message["status"], message["reason"]))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _: '{"type": "action", "action": "stop", "action_args": {"x": NaN}}', "NaN or Infinity"),
        (lambda _: "stop", "The agent sent stop, which is no JSON"),
        (lambda _: "", "sent nothing"),
        (lambda _: '{"type": "Action", "action": "stop"}', "does not send 'Action'"),
        (lambda _: '{"type": "action", "session_id": "of another", "action": "stop"}', 'session "of another"'),
    ],
)
def test_a_message_that_is_none_ends_the_episode_and_not_the_talk(
    answer: Callable[[dict[str, Any]], str], said: str
) -> None:
    heard: queue.Queue[Any] = queue.Queue()
    port = free_port()
    with connect(f"ws://127.0.0.1:{port}", SETTINGS) as client:
        agent = threading.Thread(target=answer_over_a_socket, args=(port, answer, heard))
        agent.start()
        failure = play_to_the_fault(client)
        assert failure.cause is Cause.PROTOCOL_ERROR
        assert said in str(failure)
        assert heard.get(timeout=60) == ("error", str(failure))
        agent.join(60)


def test_a_wrong_sensor_is_told_to_whoever_asked_for_it() -> None:
    port = free_port()
    with connect(f"ws://127.0.0.1:{port}", SETTINGS) as client, dial(f"ws://127.0.0.1:{port}") as socket:
        socket.send('{"type": "connect", "sensors": ["x_ray"]}')
        socket.recv(timeout=60)
        with pytest.raises(ProtocolError, match="x_ray"):
            client.describe(TASK)
        assert "x_ray" in json.loads(socket.recv(timeout=60))["message"]


def test_one_who_never_says_who_it_is_was_there() -> None:
    port = free_port()
    brief = ClientSettings(connect_timeout=1.0)
    with (
        connect(f"ws://127.0.0.1:{port}", brief) as client,
        dial(f"ws://127.0.0.1:{port}"),
        pytest.raises(AgentFailure, match="send `connect` first"),
    ):
        client.describe(TASK)
