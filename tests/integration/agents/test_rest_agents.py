"""REST: agents written without the SDK, and all that an HTTP server can do wrong."""

import base64
import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from agent_support import TASK, an_episode, free_port, observations, play
from PIL import Image

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import ClientSettings
from nav_eval.agents.failures import AgentFailure
from nav_eval.agents.messages import EpisodeEnd
from nav_eval.records.results import Cause
from support.load import measure_slowdown

pytestmark = pytest.mark.integration

SETTINGS = ClientSettings(
    connect_timeout=2.0, reset_timeout=1.0, action_timeout=1.0, backoff=0.01, max_reply_bytes=1 << 20
)


class TinyAgent(BaseHTTPRequestHandler):
    """What a team writes in an afternoon: two paths, JSON, no health, no description."""

    seen: list[dict] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append({"path": self.path, **body})
        if self.path == "/episode/reset":
            self.answer({"status": "ready"})
        elif self.path == "/episode/act":
            self.answer({"action": "move_forward", "action_args": {"step_size": 0.1}})
        else:
            self.send_error(404)

    def answer(self, document: dict) -> None:
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def tiny() -> Iterator[tuple[str, list[dict]]]:
    TinyAgent.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), TinyAgent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", TinyAgent.seen
    server.shutdown()


def test_two_paths_are_enough(tiny: tuple[str, list[dict]]) -> None:
    address, seen = tiny
    with connect(address, SETTINGS) as client:
        description = client.describe(TASK)
        assert (description.max_episodes, description.max_actions, description.shared_memory) == (1, 1, False)
        done = play(client)
    assert {(action.name, action.arguments["step_size"]) for action in done} == {("move_forward", 0.1)}
    reset = next(message for message in seen if message["path"] == "/episode/reset")
    assert reset["episode"]["instruction"]["text"] == "Geh 0 Meter, dann 左转."
    assert set(reset["episode"]) == {"episode_id", "instruction"}  # nothing that only the evaluator may know


def test_plain_observations_can_be_read_with_any_image_library(tiny: tuple[str, list[dict]]) -> None:
    address, seen = tiny
    with connect(address, SETTINGS) as client:
        client.describe(TASK)
        play(client, seed=3)
    first = next(message for message in seen if message["path"] == "/episode/act")["observation"]
    truth = observations(3)[0].sensors
    assert np.array_equal(picture(first["rgb"]), truth["rgb"])
    assert np.abs(picture(first["depth"]) / 1000 - truth["depth"]).max() <= 0.0005001
    assert first["gps"] == pytest.approx(truth["gps"].tolist())
    assert first["compass"] == pytest.approx(float(truth["compass"]))
    assert first["instruction"]["tokens"] == ["Geh", "Meter"]
    assert first["step"] == 0


def picture(text: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


Speak = Callable[[socket.socket, str], None]


def reply(data: bytes, *, status: str = "200 OK", kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


def says(data: bytes) -> Speak:
    return lambda sock, path: sock.sendall(data)


def drips(sock: socket.socket, path: str) -> None:
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(100):
        sock.sendall(b" ")
        time.sleep(0.1)


def drips_headers(sock: socket.socket, path: str) -> None:
    for letter in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100:
        sock.sendall(bytes([letter]))
        time.sleep(0.1)


def floods(sock: socket.socket, path: str) -> None:
    sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    for _ in range(100):
        sock.sendall(chunk)


def vanishes(sock: socket.socket, path: str) -> None:
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    sock.shutdown(socket.SHUT_RDWR)


def announces(length: str) -> Speak:
    """A byte of a body that is said to be larger than anything."""
    return says(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nx".encode())


BELOW_NOTHING = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nx"
ABSURD: dict[str, Speak] = {
    "a length that no memory has": announces("1" + "0" * 15),
    "a length that is no number of a machine": announces("1" + "0" * 30),
    "a chunk below nothing": says(BELOW_NOTHING),
}
FAULTS: list[tuple[str, Speak, Cause, str]] = [
    ("hangs", lambda sock, path: time.sleep(5), Cause.AGENT_TIMEOUT, "observation 1 within 1 s"),
    ("drips", drips, Cause.AGENT_TIMEOUT, "observation 1 within 1 s"),
    ("drips headers", drips_headers, Cause.AGENT_TIMEOUT, "observation 1 within 1 s"),
    ("floods", floods, Cause.PROTOCOL_ERROR, "larger than 1048576 bytes"),
    ("100 MB", says(reply(bytes(100 << 20))), Cause.PROTOCOL_ERROR, "larger than"),
    ("vanishes", vanishes, Cause.AGENT_CRASH, "broke"),
    ("closes", lambda sock, path: sock.close(), Cause.AGENT_CRASH, "broke"),
    ("no HTTP", says(b"hello there\r\n\r\n"), Cause.PROTOCOL_ERROR, "does not speak HTTP"),
    ("no JSON", says(reply(b"{action: stop}")), Cause.PROTOCOL_ERROR, "no JSON"),
    ("nested", says(reply(b"[" * 100_000)), Cause.PROTOCOL_ERROR, "no JSON"),
    ("no msgpack", says(reply(b"\xc1\x00", kind="application/msgpack")), Cause.PROTOCOL_ERROR, "no msgpack"),
    ("a list", says(reply(b'["stop"]')), Cause.PROTOCOL_ERROR, "Answer an object"),
    ("no action", says(reply(b'{"act": "stop"}')), Cause.PROTOCOL_ERROR, "no `action`, but act"),
    ("a number", says(reply(b'{"action": 3}')), Cause.PROTOCOL_ERROR, "Actions are names"),
    ("unknown", says(reply(b'{"action": "fly"}')), Cause.PROTOCOL_ERROR, "no action 'fly'"),
    ("NaN", says(reply(b'{"action": "stop", "action_args": {"x": NaN}}')), Cause.PROTOCOL_ERROR, "NaN or Infinity"),
    ("text argument", says(reply(b'{"action": "stop", "action_args": {"x": "1"}}')), Cause.PROTOCOL_ERROR, "number"),
    ("true argument", says(reply(b'{"action": "stop", "action_args": {"x": true}}')), Cause.PROTOCOL_ERROR, "number"),
    (
        "huge number",
        says(reply(b'{"action":"stop","action_args":{"x":1' + b"0" * 400 + b"}}")),
        Cause.PROTOCOL_ERROR,
        "",
    ),
    ("many actions", says(reply(b'{"actions": ["stop", "stop"]}')), Cause.PROTOCOL_ERROR, "2 actions"),
    ("empty actions", says(reply(b'{"actions": []}')), Cause.PROTOCOL_ERROR, "no action"),
    ("poses of words", says(reply(b'{"poses": ["here"]}')), Cause.PROTOCOL_ERROR, "pose must be an object"),
    ("another request", says(reply(b'{"action": "stop", "sequence": 9}')), Cause.PROTOCOL_ERROR, "request 9"),
    ("redirect", says(reply(b"", status="302 Found")), Cause.PROTOCOL_ERROR, "status 302"),
    ("refuses", says(reply(b"what?", status="400 Bad Request")), Cause.PROTOCOL_ERROR, "what?"),
    ("crashes", says(reply(b"boom", status="500 Oops")), Cause.AGENT_CRASH, "boom"),
    ("out of memory", says(reply(b"oom", status="507 Full")), Cause.AGENT_OOM, "oom"),
    ("a length that no memory has", announces("1" + "0" * 15), Cause.PROTOCOL_ERROR, "larger than"),
    ("a length that is no number of a machine", announces("1" + "0" * 30), Cause.PROTOCOL_ERROR, "larger than"),
    ("a chunk below nothing", says(BELOW_NOTHING), Cause.PROTOCOL_ERROR, "does not speak HTTP"),
]


@pytest.mark.parametrize("name", ABSURD)
def test_no_answer_to_the_end_stops_the_evaluator(name: str) -> None:
    """The episode is over by then, and has its result: an error here would count as ours."""
    server = raw_server(ABSURD[name], path="/episode/end")
    with server as port, connect(f"http://127.0.0.1:{port}", SETTINGS) as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        session.end(EpisodeEnd())


@pytest.mark.parametrize(("name", "speak", "cause", "words"), FAULTS, ids=[name for name, *_ in FAULTS])
def test_a_fault_over_http_has_a_name_in_time(name: str, speak: Speak, cause: Cause, words: str) -> None:
    with raw_server(speak) as port, connect(f"http://127.0.0.1:{port}", SETTINGS) as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        started = time.monotonic()
        with pytest.raises(AgentFailure) as caught:
            session.act(observations(0, 1)[0])
        assert (caught.value.cause, words in str(caught.value)) == (cause, True), str(caught.value)
        assert time.monotonic() - started < 3.0 * measure_slowdown()
        session.end(EpisodeEnd())


class raw_server:  # noqa: N801
    """Everything goes well until an observation (or another path) is to be answered."""

    def __init__(self, speak: Speak, *, path: str = "/episode/act") -> None:
        self._speak, self._path = speak, path
        self._socket = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> int:
        threading.Thread(target=self._run, daemon=True).start()
        port: int = self._socket.getsockname()[1]
        return port

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _run(self) -> None:
        while True:
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        stream = sock.makefile("rb")
        try:
            while line := stream.readline():
                size = 0
                while (header := stream.readline().strip()) and header:
                    if header.lower().startswith(b"content-length:"):
                        size = int(header.split(b":")[1])
                stream.read(size)
                path = line.split()[1].decode()
                if path == self._path:
                    self._speak(sock, path)
                    return
                sock.sendall(reply(b"{}"))
        except OSError:
            pass
        finally:
            sock.close()


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"max_episodes": -1}, "max_episodes"),
        ({"max_episodes": 10**6}, "max_episodes"),
        ({"sensors": 5}, "sensors"),
        ({"sensors": ["x_ray"]}, "x_ray"),
        ({"observations": "pickle"}, "pickle"),
        ({"protocol_versions": [7]}, "version 7"),
        ([], "description"),
    ],
)
def test_a_description_is_checked(description: object, words: str) -> None:
    class Describes(TinyAgent):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(description)  # type: ignore[arg-type]

    server = ThreadingHTTPServer(("127.0.0.1", 0), Describes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with connect(f"http://127.0.0.1:{server.server_address[1]}", SETTINGS) as client:
        with pytest.raises(AgentFailure, match=words) as caught:
            client.describe(TASK)
        assert caught.value.cause is Cause.PROTOCOL_ERROR
    server.shutdown()


def test_nobody_there_is_a_start_timeout() -> None:
    with connect(f"http://127.0.0.1:{free_port()}", ClientSettings(connect_timeout=0.5)) as client:
        with pytest.raises(AgentFailure, match="does not answer") as caught:
            client.describe(TASK)
        assert caught.value.cause is Cause.AGENT_START_TIMEOUT


class Slow(TinyAgent):
    """Slower to act than it may be to reset."""

    def do_POST(self) -> None:
        if self.path == "/episode/act":
            time.sleep(0.6)
        super().do_POST()


def test_each_question_has_its_own_time() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    limits = ClientSettings(connect_timeout=2.0, reset_timeout=0.3, action_timeout=5.0)
    with connect(f"http://127.0.0.1:{server.server_address[1]}", limits) as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        assert session.act(observations(0, 1)[0])[0].name == "move_forward"
        session.end(EpisodeEnd())
    server.shutdown()


class Flaky(TinyAgent):
    """Closes the connection instead of its first answer to each observation, and remembers what it did."""

    done: dict[tuple[str, int], int] = {}  # noqa: RUF012

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/describe":
            self.answer({"repeats_replies": True, "observations": "tensor"})
        elif self.path == "/episode/act":
            key = body["session_id"], body["sequence"]
            self.done[key] = self.done.get(key, 0) + 1
            if self.done[key] == 1:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.answer({"action": "turn_left", "sequence": body["sequence"]})
        else:
            self.answer({})


def test_a_lost_answer_is_asked_for_again_if_the_agent_repeats_replies() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with connect(f"http://127.0.0.1:{server.server_address[1]}", SETTINGS) as client:
        client.describe(TASK)
        assert len(play(client)) == 20
    assert set(Flaky.done.values()) == {2}
    server.shutdown()
