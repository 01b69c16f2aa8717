"""A running pair: what the simulator says, what the agent prints, how the agent ended.

Both containers are listened to from before their start, so nothing is missed. An agent that prints without end
fills no disk: it is read at a steady pace and waits when it is faster, and what is kept has a limit.
"""

import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, cast

import docker
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from requests.exceptions import RequestException

from nav_eval.evaluation.shard_protocol import Message, decode_message
from nav_eval_worker.runtime.agent_end import LOG_TAIL, AgentEnd, blame_ourselves, describe_container_end
from nav_eval_worker.runtime.base import Pair, Usage
from nav_eval_worker.runtime.output import CappedLog, LineBuffer

SIMULATOR_LOG = 64 << 10
LOG_BYTES_PER_SECOND = 8 << 20
LOG_READS_PER_SECOND = 100
"""An agent that writes byte by byte costs us no more: what it wrote meanwhile comes in one piece."""
SAMPLE_SECONDS = 2.0
_TROUBLE = (DockerException, RequestException, OSError)
_KILLED = 137
"""Exit code of a process that was killed: 128 + SIGKILL."""


class DockerPair(Pair):
    """Two containers; or a simulator alone."""

    def __init__(self, *, streams: docker.APIClient, log_limit: int = 0) -> None:
        """`streams` is a client without a time limit, for what lasts as long as the run."""
        self._streams = streams
        self._log, self._simulator_log = CappedLog(log_limit), CappedLog(SIMULATOR_LOG)
        self._stopped = threading.Event()
        self._lines = LineBuffer()
        self._agent: Container | None = None
        self._simulator: Container | None = None
        self._agent_reader: threading.Thread | None = None
        self._usage = Usage()

    def listen_to_agent(self, container: Container) -> None:
        """Call it before the start of the container."""
        self._agent = container
        self._agent_reader = self._listen(container, on_output=self._agent_says, on_error=self._agent_says)
        self._thread(self._sample, "usage")

    def listen_to_simulator(self, container: Container) -> None:
        self._simulator = container
        self._listen(
            container, on_output=self._lines.write, on_error=self._simulator_log.write, at_end=self._lines.close
        )

    def messages(self) -> Iterator[Message]:
        for line in self._lines:
            if self._stopped.is_set():
                return
            yield decode_message(line)

    def agent_end(self, *, patience: float = 1.0) -> AgentEnd | None:
        if self._agent is None or self._stopped.is_set():
            return None
        if (state := self._wait_for_end(self._agent, patience=patience)) is None:
            return None
        if state["ExitCode"] is None or self._was_killed(state):
            return blame_ourselves("container")
        if self._agent_reader is not None:
            self._agent_reader.join(timeout=0.5)
        code = state["ExitCode"]
        assert isinstance(code, int)
        noted = bool(state.get("OOMKilled"))
        out_of_memory = noted or (code == _KILLED and self._has_seen(state, "oom", otherwise=False))
        return describe_container_end(code, self._log.read_tail(LOG_TAIL), out_of_memory=out_of_memory)

    def take_log(self, *, whole_lines: bool = False) -> bytes:
        return self._log.take(whole_lines=whole_lines)

    def simulator_log(self) -> bytes:
        return self._simulator_log.read_tail(SIMULATOR_LOG)

    def usage(self) -> Usage:
        return self._usage

    def stop(self) -> None:
        self._stopped.set()
        for container in (self._simulator, self._agent):
            if container is not None:
                with suppress(*_TROUBLE):
                    container.kill()
        self._lines.close()

    def _agent_says(self, data: bytes) -> None:
        self._log.write(data)
        time.sleep(compute_pause(len(data)))

    def _listen(
        self,
        container: Container,
        *,
        on_output: Callable[[bytes], None],
        on_error: Callable[[bytes], None],
        at_end: Callable[[], None] = lambda: None,
    ) -> threading.Thread:
        wanted = {"stdout": 1, "stderr": 1, "stream": 1}
        connection = self._streams.attach_socket(str(container.id), params=wanted)

        def pump() -> None:
            try:
                for stream, data in read_frames(connection):
                    (on_error if stream == STANDARD_ERROR else on_output)(data)
            except _TROUBLE as trouble:  # the engine is gone, and with it the pair: a stream that has no end
                self._simulator_log.write(f"\n{type(trouble).__name__}: {trouble}\n".encode())
            finally:
                at_end()

        return self._thread(pump, "output")

    def _was_killed(self, state: dict[str, object]) -> bool:
        """Whether somebody ended the agent through the engine; from inside, nobody can make it look so."""
        return self._has_seen(state, "kill", otherwise=True)

    def _has_seen(self, state: dict[str, object], event: str, *, otherwise: bool) -> bool:
        """Whether the engine told of it until a second after the end: an "oom" may come later than what it is of.

        OTHERWISE is what an engine that does not answer means.
        """
        assert self._agent is not None
        about = {"container": str(self._agent.id), "event": event}
        by_its_clock = datetime.fromisoformat(str(state["FinishedAt"]))
        ended = int(by_its_clock.timestamp())
        with suppress(*_TROUBLE):
            return any(True for _ in self._streams.events(since=0, until=ended + 1, filters=about))
        return otherwise

    def _sample(self) -> None:
        """What the agent uses can be asked only while it lives."""
        assert self._agent is not None
        while not self._stopped.wait(SAMPLE_SECONDS):
            try:
                stats = cast(dict[str, Any], self._agent.stats(stream=False, one_shot=True))
            except _TROUBLE:
                return
            memory, processor = stats.get("memory_stats") or {}, (stats.get("cpu_stats") or {}).get("cpu_usage") or {}
            if not memory.get("usage"):
                continue  # it has not begun, or has ended
            peak = max(int(memory.get("max_usage") or memory["usage"]), self._usage.memory_bytes or 0)
            self._usage = Usage(cpu_seconds=int(processor.get("total_usage") or 0) / 1e9, memory_bytes=peak)

    @staticmethod
    def _wait_for_end(container: Container, *, patience: float) -> dict[str, object] | None:
        last = time.monotonic() + patience
        while True:
            try:
                container.reload()
            except NotFound:
                return {"ExitCode": None}
            except (APIError, *_TROUBLE):
                return None
            state: dict[str, object] = container.attrs["State"]
            if state["Status"] in ("exited", "dead"):
                return state
            if time.monotonic() > last:
                return None
            time.sleep(0.05)

    @staticmethod
    def _thread(work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"docker-{name}", daemon=True)
        thread.start()
        return thread


def compute_pause(size: int) -> float:
    """How long to wait after SIZE bytes of an agent's output, before more is read."""
    return max(size / LOG_BYTES_PER_SECOND, 1 / LOG_READS_PER_SECOND)


_HEADER = struct.Struct(">BxxxL")
_CHUNK = 1 << 16
STANDARD_ERROR = 2


def read_frames(connection: Any) -> Iterator[tuple[int, bytes]]:  # noqa: ANN401 (a socket, or what is left of one)
    """Which stream, and some of its bytes; ends with the container, or when the connection breaks off.

    A frame may be as small as a byte: those that came together are handed out together.
    """
    receive: Callable[[int], bytes] = connection.recv if hasattr(connection, "recv") else connection.read
    reader = _FrameReader()
    while data := receive(_CHUNK):
        yield from reader.split(data)


class _FrameReader:
    """Takes the stream in pieces of any size."""

    def __init__(self) -> None:
        self._buffer = b""
        self._stream = self._left = 0

    def split(self, data: bytes) -> list[tuple[int, bytes]]:
        """What DATA adds, neighbours of one stream joined."""
        found: list[tuple[int, list[bytes]]] = []
        data, at = self._buffer + data, 0
        while True:
            if not self._left:
                if len(data) - at < _HEADER.size:
                    break
                self._stream, self._left = _HEADER.unpack_from(data, at)
                at += _HEADER.size
                continue
            part = data[at : at + self._left]
            if not part:
                break
            at, self._left = at + len(part), self._left - len(part)
            if not found or found[-1][0] != self._stream:
                found.append((self._stream, []))
            found[-1][1].append(part)
        self._buffer = data[at:]
        return [(stream, b"".join(parts)) for stream, parts in found]
