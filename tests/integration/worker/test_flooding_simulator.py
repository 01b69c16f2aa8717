"""A simulator that was taken over and floods its worker: the worker stays as small as it was, and is not held."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from nav_eval.child_process import ReapedProcess
from nav_eval.evaluation.shard_protocol import Beat, Message, Played
from nav_eval_worker.jobs.agent_session import AgentSession
from nav_eval_worker.jobs.inbox import MOST_BYTES, MOST_MESSAGES, Inbox
from nav_eval_worker.lease_keeper import LeaseKeeper
from nav_eval_worker.runtime.output import LineBuffer
from nav_eval_worker.runtime.process import ProcessPair
from support.load import measure_slowdown

pytestmark = pytest.mark.integration

FLOOD = """
import sys
kind, count = sys.argv[1], int(sys.argv[2])
line = b'{"type":"beat"}\\n' if kind == "beats" else b'{"type":"played","line":"' + b"x" * (1 << 20) + b'"}\\n'
for _ in range(count):
    sys.stdout.buffer.write(line)
sys.stdout.buffer.write(b'{"type":"ended"}\\n')
"""
ENDLESS = 1 << 60


def measure_memory() -> int:
    """Bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def settle(measure: Callable[[], int]) -> int:
    """What it is once it does not change any more."""
    patience = 20 * measure_slowdown()
    last, since, began = measure(), time.monotonic(), time.monotonic()
    while time.monotonic() - since < 1.0:
        assert time.monotonic() - began < patience, "it goes on and on"
        time.sleep(0.1)
        if (now := measure()) != last:
            last, since = now, time.monotonic()
    return last


class Flood(AgentSession):
    """A session whose simulator is the program above; nobody takes what it says until a test does."""

    def __init__(self, kind: str, count: int) -> None:
        pair = ProcessPair()
        pair.simulator = ReapedProcess(
            [sys.executable, "-c", FLOOD, kind, str(count)], environment={"PATH": os.environ["PATH"]}, errors=False
        )
        pair.listen()
        self.signs = 0
        held = SimpleNamespace(check=lambda: None, record_activity=self._hear, reason=None, lease=SimpleNamespace(id=1))
        super().__init__(pair, cast(LeaseKeeper, held))

    def _hear(self) -> None:
        self.signs += 1

    def waiting(self) -> int:
        return len(self._inbox)

    def received(self) -> Iterator[tuple[Message, bytes]]:
        return self._receive()


@contextmanager
def flooded(kind: str, count: int) -> Iterator[tuple[Flood, Iterator[tuple[Message, bytes]]]]:
    """Somebody who took one message, and is busy with it."""
    session = Flood(kind, count)
    try:
        received = session.received()
        next(received)
        yield session, received
    finally:
        session.close()
        session.pair.stop()


def test_messages_that_nobody_has_dealt_with_are_counted() -> None:
    with flooded("beats", ENDLESS) as (session, _):
        assert settle(session.waiting) == MOST_MESSAGES
        before = session.signs
        time.sleep(2.5)
        assert session.signs > before  # it waits for us: nobody may think that it hangs


def test_large_messages_are_weighed() -> None:
    before = measure_memory()
    with flooded("lines", 600) as (session, _):
        waiting = settle(session.waiting)
        grown = measure_memory() - before
    assert waiting == MOST_BYTES // (1 << 20) - 1
    assert grown < 2 * MOST_BYTES  # 600 MB were on their way


def test_nothing_is_lost_by_waiting() -> None:
    with flooded("lines", 300) as (session, received):
        settle(session.waiting)
        kinds = [type(message) for message, _ in received]
    assert kinds.count(Played) == 299
    assert kinds[-1].__name__ == "Ended"


@pytest.mark.parametrize("how", ["stopped", "left"])
def test_who_waits_is_let_go(how: str) -> None:
    """The pair is ended (cancelled, lease lost), or whoever listened has gone."""
    before = threading.active_count()
    with flooded("beats", ENDLESS) as (session, received):
        settle(session.waiting)
        if how == "stopped":
            session.pair.stop()
            assert all(isinstance(message, Beat) for message, _ in received)  # and it ends
    assert settle(threading.active_count) == before


def test_lines_wait_for_room_and_none_is_lost() -> None:
    """As a container's output is taken: a thread reads the process and writes into the buffer."""
    program = "import sys\nfor n in range(200_000): sys.stdout.write(f'{n} ' + 'x' * 100 + '\\n')"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    lines = LineBuffer(longest=1 << 16)
    thread = threading.Thread(target=pump, args=(process, lines), daemon=True)
    thread.start()
    assert settle(lambda: len(lines)) <= 2 << 16
    assert process.poll() is None
    numbers = [int(line.split()[0]) for line in lines]
    assert numbers == list(range(200_000))
    assert process.wait() == 0


def pump(process: "subprocess.Popen[bytes]", lines: LineBuffer) -> None:
    assert process.stdout is not None
    while data := os.read(process.stdout.fileno(), 1 << 14):
        lines.write(data)
    lines.close()


def test_a_line_without_end_ends_the_stream() -> None:
    lines = LineBuffer(longest=1 << 16)
    process = subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE)
    thread = threading.Thread(target=pump, args=(process, lines), daemon=True)
    thread.start()
    settle(lambda: len(lines))
    assert list(lines) == []
    process.kill()
    process.wait()
    thread.join(10 * measure_slowdown())
    assert not thread.is_alive()


def test_a_writer_is_let_go_when_the_buffer_is_closed() -> None:
    lines = LineBuffer(longest=100)
    writer = threading.Thread(target=lambda: lines.write(b"a line\n" * 1000), daemon=True)
    writer.start()
    assert settle(lambda: len(lines)) <= 200
    lines.close()
    writer.join(10 * measure_slowdown())
    assert not writer.is_alive()
    assert all(line == b"a line\n" for line in lines)


def test_an_inbox_takes_one_item_of_any_size() -> None:
    inbox: Inbox[str] = Inbox(most_bytes=10)
    assert inbox.put("large", size=1000)
    inbox.close()
    assert not inbox.put("late", size=1)
    assert list(inbox) == ["large"]
