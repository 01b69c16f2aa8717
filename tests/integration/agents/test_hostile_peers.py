"""Peers that speak HTTP/2 just well enough to hurt: the evaluator says what happened, and leaves."""

import socket
import struct
import threading
import time
from pathlib import Path

import pytest
from agent_support import TASK, an_episode

from nav_eval.agents.client import ClientSettings
from nav_eval.agents.failures import AgentFailure
from nav_eval.agents.grpc_client import CLOSE_SECONDS, GrpcAgentClient

pytestmark = pytest.mark.integration
PREFACE = 24
SETTINGS, HEADERS = 4, 1
END_HEADERS, END_STREAM = 4, 1
DESCRIBE = 3  #: the number of its stream, behind that of the health check
#: HPACK: ":status 200", "content-type application/grpc", "grpc-status 12" (not implemented)
TRAILERS = b"\x88" + b"\x00\x0ccontent-type\x10application/grpc" + b"\x00\x0bgrpc-status\x0212"


def frame(kind: int, payload: bytes = b"", *, flags: int = 0, stream: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Flooder:
    """Implements neither health check nor Describe; in its first episode it sends settings and reads nothing."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self.flooding = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        peer.sendall(frame(SETTINGS))
        self._read(peer, PREFACE)
        while True:
            size, kind, stream = self._read_header(peer)
            self._read(peer, size)
            if kind == HEADERS and stream <= DESCRIBE:
                peer.sendall(frame(HEADERS, TRAILERS, flags=END_HEADERS | END_STREAM, stream=stream))
            elif kind == HEADERS:
                break
        self.flooding.set()
        flood = frame(SETTINGS, struct.pack(">HI", 4, 65535)) * 1000
        while True:
            peer.sendall(flood)

    def _read_header(self, peer: socket.socket) -> tuple[int, int, int]:
        raw = self._read(peer, 9)
        return int.from_bytes(raw[:3], "big"), raw[3], int.from_bytes(raw[5:], "big")

    @staticmethod
    def _read(peer: socket.socket, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += peer.recv(size - len(data))
        return data


@pytest.fixture
def flooder(tmp_path: Path) -> tuple[Flooder, Path]:
    path = tmp_path / "agent.sock"
    return Flooder(path), path


def test_a_peer_that_floods_and_does_not_read_cannot_hold_us(flooder: tuple[Flooder, Path]) -> None:
    peer, path = flooder
    client = GrpcAgentClient(f"unix:{path}", ClientSettings(connect_timeout=5.0, reset_timeout=2.0, retries=0))
    client.describe(TASK)
    with pytest.raises(AgentFailure):
        client.open_episode(an_episode())
    assert peer.flooding.is_set()
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < CLOSE_SECONDS + 20


def test_a_channel_that_cannot_be_closed_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a peer does to the library below us."""
    client = GrpcAgentClient(f"unix:{tmp_path / 'agent.sock'}", ClientSettings())
    released = threading.Event()

    class StuckChannel:
        close = released.wait

    monkeypatch.setattr(client, "_channel", StuckChannel())
    client.close()
    assert not released.is_set()
    released.set()
