"""`check` as the evaluator that an agent connects to by WebSocket."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from contextlib import suppress

from nav_eval_sdk.agent import Observation, Task
from nav_eval_sdk.check.checks import Probe, ProbeDescription, ProbeEpisode, ProbeError, ProbeReply, Readiness
from nav_eval_sdk.check.rest_probe import decode_description, decode_reply
from nav_eval_sdk.errors import BadRequest, Disconnected, SdkError
from nav_eval_sdk.json_messages import Document, encode_end, encode_observation, encode_reset
from nav_eval_sdk.websocket_agent import DocumentSocket, listen


class WebSocketProbe(Probe):
    """Opens the port that the agent is to connect to."""

    protocol = "websocket"

    def __init__(self, host: str, port: int, *, timeout: float) -> None:
        super().__init__(timeout=timeout)
        self.hello: Document = {}
        self._all: list[_AgentConnection] = []
        self._idle: queue.Queue[_AgentConnection] = queue.Queue()
        self._server = listen(self._serve, host, port)
        self.port = self._server.socket.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def wait_until_ready(self, seconds: float) -> Readiness:
        started = time.monotonic()
        self._idle.put(self._take(seconds))
        return Readiness(time.monotonic() - started, has_health=True)

    def describe(self, task: Task) -> ProbeDescription:
        return decode_description(self.hello, repr(sorted(self.hello.items(), key=str)).encode())

    def open(self, task: Task, *, instruction: str, shared: bool = False) -> ProbeEpisode:
        return _WebSocketEpisode(self, self._take(self.timeout), task, instruction)

    def is_serving(self) -> bool:
        try:
            self._idle.put(self._take(self.timeout))
        except ProbeError:
            return False
        return True

    def release(self, connection: _AgentConnection) -> None:
        if self.hello.get("keep_alive"):
            self._idle.put(connection)
        else:
            connection.close()

    def close(self) -> None:
        for connection in self._all:
            with suppress(SdkError):
                connection.send({"type": "disconnect", "reason": "the check is over"})
            connection.close()
        self._server.shutdown()

    def _take(self, seconds: float) -> _AgentConnection:
        try:
            return self._idle.get(timeout=seconds)
        except queue.Empty:
            raise ProbeError(f"the agent did not connect to port {self.port} within {seconds:g} s") from None

    def _serve(self, socket: DocumentSocket) -> None:
        """The life of one connection, in a thread of its own."""
        connection = _AgentConnection(socket)
        with suppress(SdkError, TimeoutError):
            hello = connection.receive(self.timeout)
            if hello.get("type") != "connect":
                return
            self.hello = hello
            connection.send({"type": "connected", "session_id": uuid.uuid4().hex, "heartbeat_interval": 30.0})
            self._all.append(connection)
            self._idle.put(connection)
            connection.closed.wait()


class _AgentConnection:
    """One connection of the agent, without its heartbeats."""

    def __init__(self, socket: DocumentSocket) -> None:
        self.closed = threading.Event()
        self._socket = socket
        self.send = socket.send

    def receive(self, seconds: float) -> Document:
        while True:
            document = self._socket.receive(seconds)
            if document.get("type") != "heartbeat":
                return document

    def close(self) -> None:
        self._socket.close()
        self.closed.set()


class _WebSocketEpisode(ProbeEpisode):
    def __init__(self, probe: WebSocketProbe, connection: _AgentConnection, task: Task, instruction: str) -> None:
        super().__init__()
        self._probe = probe
        self._connection = connection
        self._send({"type": "reset_episode", **encode_reset(self.session_id, task, instruction)})

    def ask(self, observation: Observation) -> ProbeReply:
        plain = self._probe.hello.get("observations", "plain") == "plain"
        answers_ready = self._probe.hello.get("first_action") == "episode_ready"
        message = {
            "session_id": self.session_id,
            "sequence": self.sequence,
            "observation": encode_observation(observation, plain),
        }
        started = time.monotonic()
        if self.sequence == 1:
            self._send({"type": "episode_ready", **message})
        if self.sequence > 1 or not answers_ready:
            self._send({"type": "get_action", **message})
        answer = self._receive()
        if answer.get("type") != "action":
            raise ProbeError(
                f"the agent sends {answer.get('type')!r} instead of an action: {answer.get('message', '')}"
            )
        return decode_reply(answer, time.monotonic() - started)

    def end(self) -> bool:
        self._send({"type": "episode_end", "session_id": self.session_id, **encode_end(self.sequence)})
        self._probe.release(self._connection)
        return True

    def abandon(self) -> None:
        self._connection.close()

    def _send(self, document: Document) -> None:
        try:
            self._connection.send(document)
        except Disconnected as error:
            raise ProbeError(f"the agent hung up: {error}") from None

    def _receive(self) -> Document:
        try:
            return self._connection.receive(self._probe.timeout)
        except TimeoutError:
            raise ProbeError(f"no reply within {self._probe.timeout:g} s") from None
        except (Disconnected, BadRequest) as error:
            raise ProbeError(str(error)) from None
