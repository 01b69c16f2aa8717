"""The streams of a pod's container over a real WebSocket: in order, in pieces, and over when they are over."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.server import ServerConnection, serve

from nav_eval_worker.runtime.pods.attachment import PROTOCOL, STDERR, STDOUT, TROUBLE, Attachment

pytestmark = pytest.mark.integration


@contextmanager
def served(handler: Callable[[ServerConnection], None]) -> Iterator[str]:
    with serve(handler, "127.0.0.1", 0, subprotocols=[PROTOCOL]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/attach"
        server.shutdown()


def attached(url: str, *, seconds: float = 5.0) -> Attachment:
    return Attachment(url, trust=ssl.create_default_context(), token="a token", seconds=seconds)


def test_what_is_sent_arrives_and_answers_come_by_stream() -> None:
    heard = bytearray()

    def cluster(connection: ServerConnection) -> None:
        assert connection.request is not None
        assert connection.request.headers["Authorization"] == "Bearer a token"
        while len(heard) < 100_000:
            frame = connection.recv()
            assert isinstance(frame, bytes)
            assert frame[0] == 0
            heard.extend(frame[1:])
        connection.send(b"\x01one\n")
        connection.send([b"\x01tw", b"o\n"])  # one message in two pieces
        connection.ping()
        connection.send(b"\x02complaint")
        connection.send(b"\x01" + b"x" * 300_000)

    with served(cluster) as url:
        attachment = attached(url)
        attachment.send(b"y" * 100_000)
        said = list(attachment.messages())
        attachment.close()
    assert heard == b"y" * 100_000
    assert said == [(STDOUT, b"one\n"), (STDOUT, b"two\n"), (STDERR, b"complaint"), (STDOUT, b"x" * 300_000)]


def test_closing_wakes_who_listens() -> None:
    with served(lambda connection: connection.recv()) as url:
        attachment = attached(url)
        ended = threading.Event()

        def listen() -> None:
            try:
                list(attachment.messages())
            except TROUBLE:
                pass
            finally:
                ended.set()

        threading.Thread(target=listen, daemon=True).start()
        time.sleep(0.1)
        attachment.close()
        assert ended.wait(60)


def test_a_cluster_that_does_not_answer_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        attached(f"ws://127.0.0.1:{silent.getsockname()[1]}/attach", seconds=0.3)


def test_a_cluster_that_refuses_is_trouble() -> None:
    with serve(
        lambda connection: None, "127.0.0.1", 0, process_request=lambda connection, _: connection.respond(403, "no")
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(TROUBLE, match="403"):
            attached(f"ws://127.0.0.1:{server.socket.getsockname()[1]}/attach")
        server.shutdown()
