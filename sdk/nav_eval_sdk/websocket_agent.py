"""The agent's end of the WebSocket protocol: it connects to the evaluator, again and again.

One connection per episode that may run at once. A connection that breaks in the middle of an episode is
opened anew under the same session_id, and the evaluator asks again.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import Any

from nav_eval_sdk.agent import Outcome
from nav_eval_sdk.documents import (
    Document,
    decode,
    description_document,
    encode,
    episode_of,
    observation_of,
    outcome_of,
    reply_document,
)
from nav_eval_sdk.errors import AgentError, SdkError
from nav_eval_sdk.hosting import Host
from nav_eval_sdk.websocket import Disconnected, WebSocket, connect

SUBPROTOCOLS = {"msgpack": "nav.msgpack.v1", "json": "nav.json.v1"}
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0


class WebSocketAgent:
    """Serves an evaluator until it says goodbye, or until it is stopped."""

    def __init__(self, host: Host, url: str, *, encoding: str = "msgpack") -> None:
        self._host = host
        self._url = url
        self._subprotocol = SUBPROTOCOLS[encoding]
        self._stopped = threading.Event()
        self._lines: list[_Line] = []

    def wait(self) -> None:
        """Start as many connections as there may be episodes, and wait for their end."""
        self._lines = [
            _Line(self._host, self._url, self._subprotocol, self._stopped)
            for _ in range(self._host.describe().max_episodes)
        ]
        for line in self._lines:
            line.start()
        for line in self._lines:
            while line.is_alive():
                line.join(0.2)  # a little at a time: signals are handled in between

    def stop(self) -> None:
        self._stopped.set()
        for line in self._lines:
            line.hang_up()


class _Line(threading.Thread):
    """One connection after another."""

    def __init__(self, host: Host, url: str, subprotocol: str, stopped: threading.Event) -> None:
        super().__init__(name="nav-eval-websocket", daemon=True)
        self._host = host
        self._url = url
        self._subprotocol = subprotocol
        self._binary = subprotocol == SUBPROTOCOLS["msgpack"]
        self._stopped = stopped
        self._socket: WebSocket | None = None
        self._session = ""

    def run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopped.is_set():
            try:
                if self._serve():
                    return
                pause = FIRST_PAUSE
            except (Disconnected, TimeoutError) as error:
                if pause == FIRST_PAUSE:
                    print(f"nav-eval-sdk: {error} Trying again.", file=sys.stderr)
            except SdkError as error:
                print(f"nav-eval-sdk: {error}", file=sys.stderr)
                return
            self._stopped.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def hang_up(self) -> None:
        if self._socket is not None:
            with suppress(SdkError):
                self._say({"type": "disconnect", "session_id": self._session})
            self._socket.close()

    def _serve(self) -> bool:
        """Talk over one connection; True when the evaluator needs nothing more."""
        self._socket = connect(self._url, subprotocols=(self._subprotocol,))
        try:
            self._binary = self._socket.subprotocol == SUBPROTOCOLS["msgpack"]
            connected = self._introduce()
            timeout = float(connected.get("heartbeat_timeout", 60.0))
            with _Heart(self, float(connected.get("heartbeat_interval", 30.0))):
                return self._converse(timeout)
        finally:
            self._socket.close()

    def _introduce(self) -> Document:
        description = description_document(self._host.describe())
        resumed = {"session_id": self._session} if self._session else {}
        self._say(
            {
                **description,
                **resumed,
                "type": "connect",
                "agent_id": description["name"],
                "protocol_version": "1.0",
                "first_action": "episode_ready",
                "keep_alive": True,
            }
        )
        answer = self._hear(10.0)
        if answer.get("type") != "connected":
            raise SdkError(f"The evaluator refused the connection: {answer.get('message', answer)}")
        if answer.get("session_id") != self._session:
            self._forget()
        return answer

    def _converse(self, timeout: float) -> bool:
        while True:
            message = self._hear(timeout)
            kind = message.get("type")
            if kind == "reset_episode":
                self._session = str(message.get("session_id", ""))
                self._safely(lambda message=message: self._host.reset(episode_of(message)))
            elif kind in ("episode_ready", "get_action"):
                self._safely(lambda message=message: self._act(message))
            elif kind == "episode_end":
                session, self._session = self._session, ""
                self._safely(lambda message=message, session=session: self._host.end(session, outcome_of(message)))
            elif kind == "disconnect":
                return True
            elif kind == "error":
                print(f"nav-eval-sdk: the evaluator says: {message.get('message')}", file=sys.stderr)

    def _act(self, message: Document) -> None:
        sequence = int(message.get("sequence", 0))
        observation = observation_of(message, self._host.session(self._session).episode)
        actions = self._host.act(self._session, sequence, observation)
        self._say({"type": "action", "session_id": self._session, **reply_document(sequence, actions)})

    def _safely(self, work: Any) -> None:  # noqa: ANN401
        """Tell the evaluator of what went wrong; the next episode is another one."""
        try:
            work()
        except Disconnected:
            raise
        except SdkError as error:
            memory = isinstance(error, AgentError) and error.out_of_memory
            code = "agent_oom" if memory else "agent_crash"
            self._say({"type": "error", "session_id": self._session, "code": code, "message": str(error)})

    def _forget(self) -> None:
        session, self._session = self._session, ""
        if session:
            with suppress(SdkError):
                self._host.end(session, Outcome(status="cancelled", reason="the connection was lost"))

    def _say(self, document: Document) -> None:
        if self._socket is not None:
            self._socket.send(encode(document, binary=self._binary), text=not self._binary)

    def _hear(self, timeout: float) -> Document:
        if self._socket is None:
            raise Disconnected("There is no connection.")
        return decode(self._socket.receive(timeout), binary=self._binary)


class _Heart:
    """A sign of life in every interval, also while the agent thinks."""

    def __init__(self, line: _Line, interval: float) -> None:
        self._line = line
        self._interval = interval
        self._over = threading.Event()

    def __enter__(self) -> None:
        threading.Thread(target=self._beat, name="nav-eval-heartbeat", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(self._interval):
            with suppress(SdkError):
                self._line._say({"type": "heartbeat", "timestamp": time.time()})
