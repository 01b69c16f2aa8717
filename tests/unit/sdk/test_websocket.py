"""Documents over a WebSocket: both ends on this machine, and peers that break the rules."""

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from nav_eval_sdk import websocket_agent
from nav_eval_sdk.errors import BadRequest, Disconnected, SdkError
from nav_eval_sdk.websocket_agent import SUBPROTOCOLS, DocumentSocket, connect, listen

Pair = tuple[DocumentSocket, DocumentSocket]


@pytest.fixture(params=["msgpack", "json"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    accepted: list[DocumentSocket] = []
    came, over = threading.Event(), threading.Event()

    def handle(server: DocumentSocket) -> None:
        accepted.append(server)
        came.set()
        over.wait()

    server = listen(handle, "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = connect(f"ws://127.0.0.1:{server.socket.getsockname()[1]}/x?y=1", subprotocol=SUBPROTOCOLS[request.param])
    assert came.wait(60.0)
    yield client, accepted[0]
    over.set()
    client.close()
    server.shutdown()


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 3_000_000])
def test_documents_of_every_size_arrive(pair: Pair, size: int) -> None:
    text = np.random.default_rng(size).bytes(size // 2 + 1).hex()[:size]
    for sender, receiver in (pair, pair[::-1]):
        thread = threading.Thread(target=sender.send, args=({"data": text},))
        thread.start()
        assert receiver.receive(5.0) == {"data": text}
        thread.join()


def test_a_closed_connection_says_so(pair: Pair) -> None:
    client, server = pair
    with pytest.raises(TimeoutError):
        server.receive(0.01)
    client.close()
    with pytest.raises(Disconnected):
        server.receive(1.0)
    with pytest.raises(Disconnected):
        server.send({})


def test_what_is_no_address_is_not_tried_again() -> None:
    for url in ("http://127.0.0.1:1", "127.0.0.1:1", "ws://"):
        with pytest.raises(SdkError, match="no WebSocket address") as caught:
            connect(url, subprotocol=SUBPROTOCOLS["json"])
        assert not isinstance(caught.value, Disconnected)


def test_nobody_there_is_worth_another_try() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Disconnected, match="Cannot connect"):
        connect(f"ws://127.0.0.1:{port}", subprotocol=SUBPROTOCOLS["json"])


def serve_raw(answer: Callable[[socket.socket, bytes], None]) -> str:
    """A server that does what it likes after the request."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        sock, _ = listener.accept()
        with sock, listener:
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                request += sock.recv(1000)
            answer(sock, request)
            sock.recv(1000)

    threading.Thread(target=serve, daemon=True).start()
    return f"ws://127.0.0.1:{listener.getsockname()[1]}"


def test_who_does_not_speak_websocket_is_named() -> None:
    url = serve_raw(lambda sock, request: sock.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
    with pytest.raises(Disconnected, match="does not speak WebSocket"):
        connect(url, subprotocol=SUBPROTOCOLS["json"])


def upgrade(request: bytes) -> bytes:
    from websockets.utils import accept_key

    key = next(line.split(b": ")[1] for line in request.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
    return "\r\n".join([*lines, f"Sec-WebSocket-Accept: {accept_key(key.decode())}", "", ""]).encode()


HOSTILE = {
    "masked by a server": b"\x81\x82" + os.urandom(4) + b"{}",
    "a continuation of nothing": b"\x80\x02{}",
    "an unknown opcode": b"\x83\x02{}",
    "reserved bits": b"\xf1\x02{}",
    "a ping too long": b"\x89\x7e" + struct.pack(">H", 126) + bytes(126),
    "larger than allowed": b"\x82\x7f" + struct.pack(">Q", websocket_agent.MAX_BYTES + 1),
    "text that is no UTF-8": b"\x81\x02\xff\xff",
    "a close": b"\x88\x02" + struct.pack(">H", 1000),
}


@pytest.mark.parametrize("frame", HOSTILE.values(), ids=HOSTILE)
def test_a_frame_against_the_rules_ends_the_connection(frame: bytes) -> None:
    url = serve_raw(lambda sock, request: sock.sendall(upgrade(request) + frame))
    client = connect(url, subprotocol=SUBPROTOCOLS["json"])
    with pytest.raises(Disconnected):
        client.receive(2.0)
    client.close()


def test_a_ping_is_answered_and_is_no_message() -> None:
    heard: list[bytes] = []

    def answer(sock: socket.socket, request: bytes) -> None:
        sock.sendall(upgrade(request) + b"\x89\x02hi")
        heard.append(sock.recv(8))
        sock.sendall(b"\x81\x08" + b'{"x": 1}')

    client = connect(serve_raw(answer), subprotocol=SUBPROTOCOLS["json"])
    assert client.receive(2.0) == {"x": 1}
    assert heard[0][:2] == b"\x8a\x82", "a pong, masked"
    client.close()


@pytest.mark.parametrize("frame", [b"\x81\x02[]", b"\x81\x02{]", b"\x82\x01\xc1"])
def test_a_frame_that_is_no_document_is_a_bad_request(frame: bytes) -> None:
    client = connect(
        serve_raw(lambda sock, request: sock.sendall(upgrade(request) + frame)), subprotocol=SUBPROTOCOLS["json"]
    )
    with pytest.raises(BadRequest):
        client.receive(2.0)
    client.close()
