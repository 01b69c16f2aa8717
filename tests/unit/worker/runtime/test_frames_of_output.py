"""The engine's frames, however the network cuts them."""

import socket
import struct
import threading

import pytest

from nav_eval_worker.runtime.containers.pair import LOG_READS_PER_SECOND, compute_pause, read_frames


def frame(stream: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", stream, len(data)) + data


def received(data: bytes, *, piece: int) -> list[tuple[int, bytes]]:
    """What comes out when DATA arrives in pieces; neighbours of one stream joined."""
    ours, theirs = socket.socketpair()

    def send() -> None:
        with theirs:
            for start in range(0, len(data), piece):
                theirs.sendall(data[start : start + piece])

    threading.Thread(target=send, daemon=True).start()
    joined: list[tuple[int, bytes]] = []
    with ours:
        for stream, part in read_frames(ours):
            if joined and joined[-1][0] == stream:
                joined[-1] = stream, joined[-1][1] + part
            else:
                joined.append((stream, part))
    return joined


def test_bytes_that_came_one_by_one_are_handed_out_together() -> None:
    """An agent that writes byte by byte must not cost us a wake-up each."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(frame(1, b"x") * 5000)
        theirs.shutdown(socket.SHUT_WR)
        parts = [part for _, part in read_frames(ours)]
    assert b"".join(parts) == b"x" * 5000
    assert len(parts) < 50


def test_the_pace_is_limited_by_bytes_and_by_reads() -> None:
    assert compute_pause(1) == pytest.approx(1 / LOG_READS_PER_SECOND)
    assert compute_pause(8 << 20) == pytest.approx(1.0)


@pytest.mark.parametrize("piece", [1, 3, 8, 9, 1000, 1 << 20])
def test_output_and_errors_come_in_their_order(piece: int) -> None:
    data = frame(1, b"one\n") + frame(2, b"oh\n") + frame(1, b"") + frame(1, b"t" * 3000) + frame(1, b"wo")
    assert received(data, piece=piece) == [(1, b"one\n"), (2, b"oh\n"), (1, b"t" * 3000 + b"wo")]


@pytest.mark.parametrize("cut", [1, 4, 9])
def test_a_connection_that_breaks_off_gives_what_came(cut: int) -> None:
    data = frame(1, b"whole") + frame(2, b"cut off")
    assert received(data[:-cut], piece=64)[:1] == [(1, b"whole")]
    assert received(data[:4], piece=64) == []


def test_a_file_like_connection_is_read_as_well() -> None:
    """Which is what the SDK gives for an engine without TLS."""
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(frame(1, b"hello"))
    with ours, ours.makefile("rb", buffering=0) as connection:
        assert list(read_frames(connection)) == [(1, b"hello")]
