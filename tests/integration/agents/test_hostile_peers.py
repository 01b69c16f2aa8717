"""Peers that speak HTTP/2 just well enough to hurt: the evaluator says what happened, and leaves."""

import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from agent_support import TASK, an_episode

from nav_eval.agents.client import ClientSettings
from nav_eval.agents.failures import AgentFailure
from nav_eval.agents.grpc_client import CLOSE_SECONDS, GrpcAgentClient
from nav_eval.config.schema import AgentServiceConfig
from nav_eval.evaluation.shard_protocol import Ended, Played, TimeLimits, decode_message, order_for
from support.load import measure_slowdown
from support.worker import room_benchmark_config

pytestmark = pytest.mark.integration
PREFACE = 24
SETTINGS, HEADERS = 4, 1
END_HEADERS, END_STREAM = 4, 1
ANSWERS = 2  #: to the health check and to Describe
#: HPACK: ":status 200", "content-type application/grpc", "grpc-status 12" (not implemented)
TRAILERS = b"\x88" + b"\x00\x0ccontent-type\x10application/grpc" + b"\x00\x0bgrpc-status\x0212"


def frame(kind: int, payload: bytes = b"", *, flags: int = 0, stream: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Flooder:
    """Implements neither health check nor Describe; in its first episode it sends settings and reads nothing."""

    def __init__(self, path: Path, *, speaks_after: float = 0.0) -> None:
        self._speaks_after = speaks_after
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self.flooding = threading.Event()
        self._answered = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while not self.flooding.is_set():
            peer, _ = self._listener.accept()
            with suppress(OSError):  # who was busy for long connects again
                self._talk(peer)

    def _talk(self, peer: socket.socket) -> None:
        time.sleep(self._speaks_after)
        peer.sendall(frame(SETTINGS))
        self._read(peer, PREFACE)
        while True:
            size, kind, stream = self._read_header(peer)
            self._read(peer, size)
            if kind == HEADERS and self._answered < ANSWERS:
                self._answered += 1
                peer.sendall(frame(HEADERS, TRAILERS, flags=END_HEADERS | END_STREAM, stream=stream))
            elif kind == HEADERS:
                break
        self.flooding.set()
        flood = frame(SETTINGS, struct.pack(">HI", 4, 65535)) * 1000
        while True:  # until the other side has left
            peer.sendall(flood)

    def _read_header(self, peer: socket.socket) -> tuple[int, int, int]:
        raw = self._read(peer, 9)
        return int.from_bytes(raw[:3], "big"), raw[3], int.from_bytes(raw[5:], "big")

    @staticmethod
    def _read(peer: socket.socket, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not (more := peer.recv(size - len(data))):
                raise ConnectionError
            data += more
        return data


@pytest.fixture
def flooder(tmp_path: Path) -> tuple[Flooder, Path]:
    path = tmp_path / "agent.sock"
    return Flooder(path), path


def test_a_peer_that_is_slow_to_speak_is_not_left(tmp_path: Path) -> None:
    """Its process may be loading weights on a busy machine: who hangs up and calls again calls for ever."""
    path = tmp_path / "agent.sock"
    Flooder(path, speaks_after=1.5)
    client = GrpcAgentClient(f"unix:{path}", ClientSettings(connect_timeout=20.0))
    client.describe(TASK)
    client.close()


def test_a_peer_that_floods_and_does_not_read_cannot_hold_us(flooder: tuple[Flooder, Path]) -> None:
    peer, path = flooder
    client = GrpcAgentClient(
        f"unix:{path}",
        ClientSettings(connect_timeout=5.0 * measure_slowdown(), reset_timeout=2.0 * measure_slowdown(), retries=0),
    )
    client.describe(TASK)
    with pytest.raises(AgentFailure):
        client.open_episode(an_episode())
    assert peer.flooding.is_set()
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < (CLOSE_SECONDS + 20) * measure_slowdown()


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


def test_the_simulators_program_says_its_last_word_and_ends(
    flooder: tuple[Flooder, Path], tmp_path: Path, room_data: Path
) -> None:
    """A whole process against a peer that floods and reads nothing: the result first, then the end, then it is gone."""
    peer, path = flooder
    benchmark, slowdown = room_benchmark_config(tmp_path, room_data), measure_slowdown()
    order = order_for(
        benchmark.model_copy(update={"agent_service": AgentServiceConfig(reset_timeout=3.0 * slowdown)}),
        episode_ids=("a", "c"),
        agent=f"unix:{path}",
        cache=tmp_path / "cache",
        time_limits=TimeLimits(start=30 * slowdown, step=2 * slowdown, episode=10 * slowdown),
    )
    command = [sys.executable, "-m", "nav_eval.evaluation.shard", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(order))
        process.stdin.close()
        try:
            messages = []
            while line := process.stdout.readline():
                messages.append(decode_message(line))
                if isinstance(messages[-1], Ended):
                    break
            told_at = time.monotonic()
            assert process.wait((CLOSE_SECONDS + 20) * measure_slowdown()) != 0
            assert time.monotonic() - told_at < (CLOSE_SECONDS + 20) * measure_slowdown()
        finally:
            process.kill()
    assert peer.flooding.is_set()
    assert [type(message) for message in messages if isinstance(message, Played | Ended)] == [Played, Ended]
    assert messages[-1].cause is not None
    assert not messages[-1].cause.is_ours
